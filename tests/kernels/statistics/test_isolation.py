"""How often predicates fit exactly one of two kinds of people, of whom there are not as many."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.statistics.isolation import drawn_alone, isolation
from tests.oracle import guessing as oracle

PREDICATES = 100_000


def means(kind: str, rng: np.random.Generator) -> np.ndarray:
    """How many of the people in the data are expected to fit each predicate."""
    if kind == "even":
        return rng.uniform(0.0, 2.0, PREDICATES)
    if kind == "nobody or one":
        return np.where(rng.random(PREDICATES) < 0.7, 0.001, 1.0)
    return rng.gamma(0.4, 1.0, PREDICATES)


def alone(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of people, none of whom fits two predicates."""
    return counts.astype(float), np.where(counts > 0, np.arange(counts.size), -1)


@pytest.mark.parametrize("kind", ["even", "nobody or one", "gamma"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.0, 3.0])
def test_where_people_are_alike_both_are_alone_as_often(kind: str, share: float) -> None:
    """Within four standard errors, whatever the predicates' weights are."""
    rng = np.random.default_rng(0)
    u = means(kind, rng)
    own, theirs = alone(rng.poisson(u)), alone(rng.poisson(share * u))
    inside, outside, error = isolation(own, theirs, 10_000, round(10_000 * share))
    assert inside.mean() == pytest.approx((u * np.exp(-u)).mean(), abs=0.01)
    spread = outside.std() / np.sqrt(PREDICATES)
    if share < 1:
        assert spread <= error < 1.4 * spread
    error = np.hypot(inside.std() / np.sqrt(PREDICATES), max(spread, error))
    assert error < 0.01
    assert abs(inside.mean() - outside.mean()) < 4 * error


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0, 3.0])
def test_what_light_predicates_find_beyond_others_is_found_again(share: float) -> None:
    """A third of them was made of a person in the data; one in fifty fits somebody else, too."""
    rng = np.random.default_rng(1)
    made = rng.random(PREDICATES) < 1 / 3
    own = alone(made + rng.poisson(0.02, PREDICATES))
    theirs = alone(rng.poisson(0.02 * share, PREDICATES))
    inside, outside, _ = isolation(own, theirs, 10_000, round(10_000 * share))
    wanted = np.exp(-0.02) * (1 - 0.02) / 3
    assert inside.mean() - outside.mean() == pytest.approx(wanted, abs=0.015)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_predicates_about_the_same_people_tell_less(share: float) -> None:
    """Each of 1,000 people in the data fits five predicates alone with probability 0.3."""
    rng = np.random.default_rng(2)
    found, errors = [], []
    for _ in range(200):
        kinds = []
        for people in (1_000, round(1_000 * share)):
            who = np.where(rng.random(1_000) < 0.3 * people / 1_000, np.arange(1_000), -1)
            kinds.append((np.repeat((who >= 0).astype(float), 5), np.repeat(who, 5)))
        inside, outside, error = isolation(*kinds, 1_000, round(1_000 * share))
        found.append(inside.mean() - outside.mean())
        errors.append(error)
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(200)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.25)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
@pytest.mark.parametrize(("people", "drawn"), [(9_000, 3_000), (2_000, 1_900), (5_000, 10)])
def test_a_share_of_many_people_is_drawn(count: int, people: int, drawn: int) -> None:
    found = drawn_alone(np.array([float(count)]), drawn / people)
    assert found[0] == pytest.approx(oracle.drawn_alone(count, people, drawn), abs=2e-3)


def test_at_equal_numbers_nothing_is_corrected() -> None:
    own, theirs = alone(np.array([0, 1, 2])), (np.array([1.0, 30.5, 1.0]), np.arange(3))
    inside, outside, error = isolation(own, theirs, 50, 50)
    assert error == 0.0
    assert inside.tolist() == [0.0, 1.0, 0.0]
    assert outside.tolist() == [1.0, 0.0, 1.0]


def test_no_predicates_are_nobodys() -> None:
    nothing = alone(np.empty(0, int))
    assert [found.size for found in isolation(nothing, nothing, 5, 3)[:2]] == [0, 0]


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_where_none_of_the_others_fits_it_is_not_known_that_none_can(share: float) -> None:
    """One predicate in a hundred fits one of the people in the data."""
    own, nobody = alone(np.arange(4_000) % 100 == 0), alone(np.zeros(4_000, int))
    error = isolation(own, nobody, 10_000, round(10_000 * share))[2]
    assert error == pytest.approx(np.sqrt(0.01 / share / 4_000), rel=0.3)
