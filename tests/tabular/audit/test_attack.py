"""Attacks on tables whose true values are not at hand, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import MethodError
from sfumato.tabular.audit.audit import attack
from tests.oracle.tables import brute_interval, random_problem
from tests.tabular.audit.test_audit import INNER, square

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=settings().max_examples // 2)


@few
@given(seeds)
def test_an_attack_needs_no_true_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, known=False)
    hidden = problem.primary | (~problem.fixed & (rng.random(problem.n) < 0.7))
    lower, upper = problem.known_bounds(hidden)
    cells = np.flatnonzero(lower < upper)
    before = lower.copy(), upper.copy()
    found = attack(problem.relations, lower, upper, cells)
    assert found.exact.all()
    for i, cell in enumerate(cells):
        ends = brute_interval(problem, lower, upper, int(cell))
        np.testing.assert_allclose((found.low[i], found.high[i]), ends, rtol=1e-6, atol=1e-6)
        assert found.disclosed[i] == (ends[1] - ends[0] < 1e-7)
    np.testing.assert_array_equal(before, (lower, upper))


def test_a_publication_that_contradicts_itself() -> None:
    problem = square([10, 4, 20, 7])
    lower, upper = problem.known_bounds(INNER)
    lower[8] = upper[8] = 50.0
    with pytest.raises(MethodError, match="relation 2 adds up to"):
        attack(problem.relations, lower, upper, [0])
    lower, upper = problem.known_bounds(INNER)
    upper[:2] = 3.0
    with pytest.raises(MethodError, match="no table keeps"):
        attack(problem.relations, lower, upper, [0])
    with pytest.raises(MethodError, match="cell 0 is said"):
        attack(problem.relations, np.where(INNER, 9.0, lower), upper, [0])


def test_an_attack_tells_what_is_nearly_known() -> None:
    problem = square([1000, 4, 20, 7])
    lower, upper = problem.known_bounds(INNER)
    assert attack(problem.relations, lower, upper, [0], narrow=0.02).disclosed[0]
    assert not attack(problem.relations, lower, upper, [0], narrow=0.005).disclosed[0]
    # Between 993 and 1004: a width of 11 about 998.5.
    for wider, known in ((1.001, True), (0.999, False)):
        found = attack(problem.relations, lower, upper, [0], narrow=wider * 11 / 998.5)
        assert found.disclosed.tolist() == [known]


@few
@given(seeds)
def test_the_unit_of_an_attack_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, known=False)
    lower, upper = problem.known_bounds(problem.primary | (rng.random(problem.n) < 0.7))
    cells = np.flatnonzero(lower < upper)
    whole = attack(problem.relations, lower, upper, cells)
    small = attack(problem.relations, lower / 1000, upper / 1000, cells)
    np.testing.assert_allclose(small.low * 1000, whole.low, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(small.high * 1000, whole.high, rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal(small.disclosed, whole.disclosed)


def test_an_attack_says_where_time_did_not_suffice() -> None:
    problem = random_problem(np.random.default_rng(11), known=False, dims=2)
    lower, upper = problem.known_bounds(np.ones(problem.n, bool))
    cells = np.arange(problem.n)
    in_time = attack(problem.relations, lower, upper, cells, seconds=3600.0)
    assert in_time.exact.all()
    late = attack(problem.relations, lower, upper, cells, seconds=-1.0)
    assert not late.exact.all()
    assert not (late.disclosed & ~in_time.disclosed).any()
