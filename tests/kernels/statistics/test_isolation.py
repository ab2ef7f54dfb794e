"""How often predicates would fit exactly one of another number of people."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.statistics.isolation import _gamma, isolation
from tests.oracle import guessing as oracle

PREDICATES = 20_000


def means(kind: str, rng: np.random.Generator) -> np.ndarray:
    """How many of the people in the data are expected to fit each predicate."""
    if kind == "even":
        return rng.uniform(0.0, 2.0, PREDICATES)
    if kind == "nobody or one":
        return np.where(rng.random(PREDICATES) < 0.7, 0.001, 1.0)
    if kind == "one":
        return np.ones(PREDICATES)
    return rng.gamma(0.4, 1.0, PREDICATES)


@pytest.mark.parametrize("kind", ["even", "nobody or one", "one", "gamma"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.0, 3.0])
def test_on_average_it_is_what_the_people_in_the_data_would_show(kind: str, share: float) -> None:
    rng = np.random.default_rng(0)
    u = means(kind, rng)
    counts = rng.poisson(share * u).astype(float)
    found = isolation(counts, 1_000, round(1_000 * share))
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    # A share of 0.2 tells little of how means differ that are not a gamma's.
    error = 0.01 if kind == "gamma" or share >= 0.5 else 0.04
    assert found.mean() == pytest.approx((u * np.exp(-u)).mean(), abs=error)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_it_is_the_integral_over_what_is_left_open(share: float) -> None:
    rng = np.random.default_rng(1)
    counts = rng.poisson(share * rng.gamma(0.7, 1.5, 2_000)).astype(float)
    shape, rate = _gamma(counts, share)
    found = isolation(counts, 10_000, round(10_000 * share))
    for count in range(5):
        at = np.flatnonzero(counts == count)
        if at.size:
            wanted = oracle.isolated_after(count, share, shape, rate)
            assert found[at] == pytest.approx(wanted, abs=1e-6)


def test_the_means_are_found_again() -> None:
    rng = np.random.default_rng(2)
    counts = rng.poisson(0.5 * rng.gamma(0.6, 2.0, 50_000)).astype(float)
    shape, rate = _gamma(counts, 0.5)
    assert shape == pytest.approx(0.6, rel=0.1)
    assert shape / rate == pytest.approx(1.2, rel=0.05)


def test_at_equal_numbers_nothing_is_corrected() -> None:
    counts = np.array([0.0, 1.0, 2.0, 30.5, 1.0])
    assert isolation(counts, 50, 50).tolist() == [0.0, 1.0, 0.0, 0.0, 1.0]


def test_what_is_drawn_of_many_is_as_often_alone_as_counted() -> None:
    """1,000 of 3,000 people, four of whom fit."""
    rng = np.random.default_rng(3)
    fit = rng.hypergeometric(4, 2_996, 1_000, 100_000)
    assert isolation(np.array([4.0]), 1_000, 3_000)[0] == pytest.approx(
        (fit == 1).mean(), abs=0.005
    )


@pytest.mark.parametrize("counts", [[], [0.0], [0.0, 0.0, 0.0], [40.0], [9.0, 0.0]])
def test_of_few_predicates_it_stays_a_probability(counts: list[float]) -> None:
    for others in (1, 10, 99, 200):
        found = isolation(np.array(counts), 100, others)
        assert found.size == len(counts)
        assert ((found >= 0.0) & (found <= 1.0)).all()
