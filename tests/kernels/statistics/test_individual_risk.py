"""Individual risk: every digit, at every f and p, and that it falls as classes join."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.statistics.individual_risk import (
    approximate_risk,
    highest_allowed,
    household_risk,
    individual_risk,
    people_needed,
)
from tests.oracle import individual_risk as oracle

# f, F, r: (p / f) 2F1(1, 1; f + 1; q) by mpmath 1.4.1 with 60 digits.
DIGITS = [
    (1, 999999999.9999999, 2.0723265857669679365e-8),
    (1, 1000000.0, 0.000013815524373488647593),
    (2, 1999999999.9999998, 9.9999998027673424182e-10),
    (3, 9.000900090009, 0.13731473900166112185),
    (3, 8.998200359928015, 0.13735012940356790721),
    (20, 20000000.0, 5.2631576023392156863e-8),
    (20, 60.006000600060005, 0.01722928820863778995),
    (21, 21000000.0, 4.9999997368421345029e-8),
    (40, 4000.0, 0.0002563428164703511562),
    (1_000, 10000.0, 0.00010009007204139417437),
    (1_000_000, 1000000000000000.0, 1.000001000000999001e-15),
    (1_000_000, 2000000.0, 5.0000024999999999988e-7),
    (5_000_000, 5000005.000005, 1.9999980000003998932e-7),
    (1, 1.000000001, 0.99999999949999995896),
    (7, 7.000000000007, 0.14285714285701786189),
]
shares = st.one_of(st.floats(1e-4, 1.0), st.sampled_from([1.0, 1 / 3, 0.3334, 1 - 1e-9]))


def risk(f: int, people: float) -> float:
    return float(individual_risk(np.array([f]), np.array([people]))[0])


def test_the_known_figures() -> None:
    f = np.array([1, 2, 3, 5, 10])
    found = individual_risk(f, f / 0.1)
    assert found.round(5).tolist() == [0.25584, 0.08268, 0.04637, 0.02424, 0.01098]
    assert individual_risk(f, f).tolist() == (1 / f).tolist()
    # The population holds the sample, whatever the weights say.
    assert individual_risk(f, f / 2).tolist() == (1 / f).tolist()


@pytest.mark.parametrize(("f", "people", "known"), DIGITS)
def test_nearly_all_digits_hold_everywhere(f: int, people: float, known: float) -> None:
    assert risk(f, people) == pytest.approx(known, rel=2e-15)


@given(st.floats(1e-4, 1.0) | st.integers(1, 50).map(lambda k: 1 / k), st.integers(0, 60))
def test_the_weights_needed_are_just_enough(limit: float, most: int) -> None:
    needed = people_needed(most, limit)
    assert needed.shape == (most + 1,)
    assert needed[0] == 0
    for f in range(1, most + 1):
        if needed[f]:
            assert risk(f, needed[f]) <= limit * (1 + 1e-8)
            assert risk(f, needed[f] * (1 - 1e-7)) > limit
            assert f * limit < 1
        else:
            assert f * limit >= 1 - 1e-8


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
def test_the_closed_forms_of_small_classes(p: float) -> None:
    odds, log = p / (1 - p), np.log(1 / p)
    assert risk(1, 1 / p) == pytest.approx(odds * log, rel=1e-12)
    assert risk(2, 2 / p) == pytest.approx(odds - odds**2 * log, rel=1e-10)
    assert risk(3, 3 / p) == pytest.approx(odds / 2 - odds**2 + odds**3 * log, rel=1e-9)


@given(st.integers(1, 60), st.floats(2e-3, 1.0))
def test_it_is_the_mean_of_one_over_the_people(f: int, p: float) -> None:
    assert risk(f, f / p) == pytest.approx(oracle.by_definition(f, f / p), rel=1e-10)


@given(st.one_of(st.integers(1, 40), st.integers(1, 10**6)), st.floats(1e-8, 0.999))
def test_it_is_the_integral(f: int, p: float) -> None:
    assert risk(f, f / p) == pytest.approx(oracle.by_quadrature(f, f / p), rel=1e-8)


@given(st.integers(1, 500), shares, st.integers(0, 500), st.floats(0, 1e5))
def test_it_falls_as_classes_join(f: int, p: float, more: int, people: float) -> None:
    """And lies between one over the people in the population and one over those in the sample."""
    before = risk(f, f / p)
    assert p / f * (1 - 1e-14) <= before <= 1 / f * (1 + 1e-14)
    assert risk(f + more, f / p + people) <= before * (1 + 1e-14)


def test_the_approximation_differs_from_three_on() -> None:
    f, people = np.array([1, 2, 3, 10, 3]), np.array([10.0, 20, 30, 100, 3])
    p = f / people
    exact, found = individual_risk(f, people), approximate_risk(f, people)
    assert found[:2].tolist() == exact[:2].tolist()
    assert found[2:] == pytest.approx(p[2:] / (f[2:] - (1 - p[2:])))
    assert found[4] == 1 / 3
    f, p = np.arange(3, 400)[:, None], np.geomspace(1e-9, 1, 60)
    ratio = approximate_risk(f, f / p) / individual_risk(f, f / p)
    assert 1 - 1e-14 < ratio.min() < ratio.max() < 1.041


def test_a_household_is_found_by_any_of_its_members() -> None:
    risks, homes = np.array([0.5, 0.1, 0.5, 1.0, 1e-12, 1e-12]), np.array([0, 1, 0, 1, 2, 2])
    found = household_risk(risks, homes)
    assert found == pytest.approx([0.75, 1.0, 0.75, 1.0, 2e-12, 2e-12], rel=1e-9)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30), st.floats(1e-6, 1.0))
def test_the_highest_risk_allowed_is_just_inside(listed: list[float], limit: float) -> None:
    risks = np.array(listed)
    found = highest_allowed(risks, limit, np.mean)
    assert np.minimum(risks, found).mean() <= limit
    if risks.mean() > limit:
        assert np.minimum(risks, found * (1 + 1e-9)).mean() > limit * (1 - 1e-15)
    else:
        assert found == risks.max()
    # As the formula has it: those below keep theirs, and every other counts as the highest.
    above = risks > found
    assert (risks[~above].sum() + found * above.sum()) / risks.size <= limit * (1 + 1e-12)
