"""The reduced system of an attack against the null space of the whole one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space

from sfumato.kernels.tables.moves import near, propagate
from sfumato.tabular.audit.feasible_ranges import stretch
from sfumato.tabular.audit.presolve import moves
from tests.oracle.tables import brute_interval, random_problem

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_presolve_keeps_every_move(seed: int) -> None:
    """Cells move together, stay, and go as far as the null space of the whole system says."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    hidden = problem.primary | (~problem.fixed & (rng.random(problem.n) < 0.7))
    lower, upper = problem.known_bounds(hidden)
    found = moves(problem.relations, lower - problem.values, upper - problem.values)
    free = np.flatnonzero(lower < upper)
    assert (found.of[np.setdiff1d(np.arange(problem.n), free)] == -1).all()
    if not free.size:
        return
    basis = null_space(problem.relations.matrix.toarray()[:, free])
    # What is said to stay does; a cell that stays for a deeper reason is left to the programs.
    for cell in free[found.of[free] == -1]:
        value = problem.values[cell]
        assert brute_interval(problem, lower, upper, int(cell)) == pytest.approx((value, value))
    live = [i for i, cell in enumerate(free) if found.of[cell] >= 0]
    for i in live:
        for j in live:
            if found.of[free[i]] == found.of[free[j]]:
                f, g = found.factor[free[i]], found.factor[free[j]]
                np.testing.assert_allclose(basis[i] * g, basis[j] * f, atol=1e-9)


def test_nearly_all_that_stays_is_found() -> None:
    """By relations alone; the rare cell that stays for a deeper reason costs a program each."""
    still = found = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng)
        hidden = problem.primary | (~problem.fixed & (rng.random(problem.n) < 0.4))
        lower, upper = problem.known_bounds(hidden)
        of = moves(problem.relations, lower - problem.values, upper - problem.values).of
        free = np.flatnonzero(lower < upper)
        basis = null_space(problem.relations.matrix.toarray()[:, free])
        stays = free[np.abs(basis).max(axis=1, initial=0.0) < 1e-10]
        still += stays.size
        found += int((of[stays] == -1).sum())
    assert still > 100
    assert found >= 0.98 * still


@given(seeds)
def test_outer_bounds_are_outer(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed))
    lower, upper = problem.known_bounds(problem.primary | ~problem.fixed)
    found = moves(problem.relations, lower - problem.values, upper - problem.values)
    cells = np.flatnonzero(lower < upper)[:4]
    for cell in cells:
        low, high = brute_interval(problem, lower, upper, int(cell))
        down = up = 0.0
        if (own := found.of[cell]) >= 0:
            ends = found.factor[cell] * np.array([found.outer_low[own], found.outer_high[own]])
            down, up = ends.min(), ends.max()
        assert problem.values[cell] + down <= low + 1e-7
        assert problem.values[cell] + up >= high - 1e-7


def test_a_relation_bounds_its_cells() -> None:
    """x + y = z with 0 <= x <= 2 and 0 <= y <= 3 leaves at most 5 to z."""
    low, high = np.array([0.0, 0.0, -np.inf]), np.array([2.0, 3.0, np.inf])
    propagate(np.array([0, 3]), np.array([0, 1, 2]), np.array([1.0, 1.0, -1.0]), low, high, 5)
    np.testing.assert_allclose((low, high), ([0, 0, 0], [2, 3, 5]), atol=1e-12)


def test_surroundings_go_by_relations() -> None:
    """A chain 0 - 1 - 2 - 3 of three relations."""
    starts, cells = np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 2, 3])
    by_starts, rows = np.array([0, 1, 3, 5, 6]), np.array([0, 0, 1, 1, 2, 2])
    assert near(starts, cells, by_starts, rows, 1, 3).tolist() == [1, 0, 2]
    assert sorted(near(starts, cells, by_starts, rows, 1, 9)) == [0, 1, 2, 3]


def test_a_move_is_stretched_to_its_bounds() -> None:
    move = np.array([1.0, -2.0])
    assert stretch(move, np.array([-3.0, -4.0]), np.array([5.0, 8.0])) == (2.0, 3.0)
    assert stretch(move[:0], move[:0], move[:0]) == (np.inf, np.inf)
