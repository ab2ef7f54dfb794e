"""Optimal means optimal: against all subsets on tiny tables, and the known optima of real ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.table_data import as_table, csplib, tau
from sfumato.errors import MethodError
from sfumato.tabular.audit.audit import audit
from sfumato.tabular.audit.witness import proven
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.suppression.optimal import OptimalSuppression, solve
from sfumato.tabular.threats.problem import Problem, Threats, Unprotectable
from tests.oracle.tables import brute_optimum, is_safe, random_problem

SEEDS = st.integers(0, 2**32 - 1)


def small(values: list[float], triplets: list[tuple[int, int, float]], **parts: object) -> Problem:
    """A problem from values and relations; all may be hidden, nothing is negative."""
    n = len(values)
    relation, cell, coef = (np.array(part) for part in zip(*triplets, strict=True))
    start = Problem(
        values=np.array(values),
        relations=Relations.of(relation, cell, coef.astype(float), n),
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        primary=np.zeros(n, bool),
        fixed=np.zeros(n, bool),
        costs=np.array(values),
        threats=Threats.of([], [], []),
    )
    return start.with_(**parts)


def square() -> Problem:
    """Two by two with margins; cell 0 is sensitive: rows (0, 1 | 2), (3, 4 | 5), (6, 7 | 8)."""
    triplets = [
        (row, cell, coef)
        for row, cells in enumerate(
            [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)]
        )
        for cell, coef in zip(cells, (1.0, 1.0, -1.0), strict=True)
    ]
    return small(
        [10, 20, 30, 5, 40, 45, 15, 60, 75],
        triplets,
        primary=np.arange(9) == 0,
        threats=Threats.of([0], [3.0], [3.0]),
    )


def big(rng: np.random.Generator, rows: int = 30, columns: int = 30) -> Problem:
    """A table with margins and many sensitive cells."""
    inner = rng.integers(1, 1000, (rows, columns)).astype(float)
    full = np.zeros((rows + 1, columns + 1))
    full[:-1, :-1] = inner
    full[-1, :-1], full[:-1, -1], full[-1, -1] = inner.sum(0), inner.sum(1), inner.sum()
    number = np.arange(full.size).reshape(full.shape)
    triplets = [
        (r, int(c), -1.0 if i == line.size - 1 else 1.0)
        for r, line in enumerate([*number, *number.T])
        for i, c in enumerate(line)
    ]
    primary = np.zeros(full.size, bool)
    primary[rng.choice(number[:-1, :-1].ravel(), 60, replace=False)] = True
    at = np.flatnonzero(primary)
    need = 0.3 * full.ravel()[at]
    return small(
        full.ravel().tolist(), triplets, primary=primary, threats=Threats.of(at, need, need)
    )


def check(problem: Problem) -> None:
    best = brute_optimum(problem)
    if best is None:
        with pytest.raises(MethodError, match="cannot be protected"):
            solve(problem, seconds=20)
        return
    found = solve(problem, seconds=20)
    assert is_safe(problem, found.hidden)
    assert found.proven
    assert found.cost == pytest.approx(best[1], abs=1e-6)
    assert found.cost == pytest.approx(problem.costs[found.hidden & ~problem.primary].sum())
    assert best[1] - 1e-6 <= found.bound + 1e-6 <= found.cost + 2e-6
    lower, upper = problem.known_bounds(found.hidden)
    up, down = proven(
        found.witnesses, problem.relations, problem.values, lower, upper, problem.threats
    )
    # Every threat, not only one of several alike, is proven by movements alone.
    threats = problem.threats
    above = (problem.upper - problem.values)[threats.cell]
    below = (problem.values - problem.lower)[threats.cell]
    slack = 1e-6
    assert (up >= (1 - slack) * np.minimum(threats.up, above)).all()
    assert (down >= (1 - slack) * np.minimum(threats.down, below)).all()
    assert (up + down >= (1 - slack) * np.minimum(threats.slide, above + below)).all()


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_equals_the_best_of_all_subsets(seed: int) -> None:
    check(random_problem(np.random.default_rng(seed), hideable=8))


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_equals_the_best_of_all_subsets_for_any_relations(seed: int) -> None:
    check(random_problem(np.random.default_rng(seed), general=True, negative=True))


@settings(max_examples=25, deadline=None)
@given(SEEDS, SEEDS)
def test_any_start_leads_to_the_same_cost(seed: int, other: int) -> None:
    problem = random_problem(np.random.default_rng(seed), hideable=8)
    rng = np.random.default_rng(other)
    start = rng.random(problem.n) < 0.5
    try:
        plain = solve(problem, seconds=20)
    except MethodError:
        return
    started = solve(problem, seconds=20, start=start & ~problem.fixed, rng=rng)
    assert started.cost == pytest.approx(plain.cost, abs=1e-6)
    assert is_safe(problem, started.hidden)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_without_time_it_still_protects_and_the_bound_still_holds(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), hideable=8)
    best = brute_optimum(problem)
    if best is None:
        return
    found = solve(problem, seconds=1e-6)
    assert is_safe(problem, found.hidden)
    assert found.bound <= best[1] + 1e-6 <= found.cost + 2e-6


def test_two_by_two() -> None:
    found = solve(square())
    assert np.flatnonzero(found.hidden).tolist() == [0, 1, 3, 4]
    assert found.cost == found.bound == 65
    assert found.proven


def test_a_known_cell_forces_another_way_round() -> None:
    problem = square()
    insider = problem.with_(
        threats=Threats.of([0, 0], [3.0, 3.0], [3.0, 3.0], known=[[], [3]]), costs=np.ones(9)
    )
    hidden = solve(insider).hidden
    assert is_safe(insider, hidden)
    # Who knows cell 3 must find another cell of that column hidden.
    assert hidden[6]


def test_what_cannot_be_protected_is_named() -> None:
    problem = square().with_(fixed=np.isin(np.arange(9), [1, 2]))
    table = as_table(problem)
    with pytest.raises(Unprotectable) as caught:
        OptimalSuppression().protect(table, problem, np.random.default_rng(0))
    assert "cell=0" in str(caught.value.named(table))


def test_the_method_reports_cost_bound_and_proof() -> None:
    problem = square()
    table = as_table(problem)
    found = OptimalSuppression().protect(table, problem, np.random.default_rng(0))
    assert found.cost == found.bound == 65
    assert found.gap == 0.0
    assert found.facts == {"proven cheapest": True}
    assert found.private == {"secondary cells": 3}
    assert not found.warnings
    assert audit(problem, found.lower, found.upper).safe


def test_cells_that_move_together_are_hidden_together() -> None:
    """A row with one cell that is not fixed: total and cell are one, and both are paid for."""
    problem = square().with_(fixed=np.isin(np.arange(9), [4]), costs=np.ones(9))
    found = solve(problem)
    assert is_safe(problem, found.hidden)
    assert found.hidden[3] == found.hidden[5]
    assert found.hidden[1] == found.hidden[7]
    best = brute_optimum(problem)
    assert best is not None
    assert found.cost == found.bound == best[1]


def test_a_sensitive_cell_without_a_threat_need_not_move() -> None:
    """Cell 5 moves with cell 3 alone; hiding it does not mean hiding that one."""
    problem = square().with_(
        primary=np.isin(np.arange(9), [0, 5]),
        fixed=np.isin(np.arange(9), [4]),
        costs=np.where(np.arange(9) == 3, 1000.0, 1.0),
    )
    found = solve(problem)
    best = brute_optimum(problem)
    assert best is not None
    assert found.hidden[5]
    assert not found.hidden[3]
    assert found.cost == found.bound == best[1]


@pytest.mark.parametrize("seconds", [1e-6, 0.3])
def test_the_time_is_kept_and_the_result_protects(seconds: float) -> None:
    problem = big(np.random.default_rng(5))
    began = time.monotonic()
    found = solve(problem, seconds=seconds)
    # It would go on for minutes; a loaded machine may need a few seconds for what it must do.
    assert time.monotonic() - began < seconds + 60
    lower, upper = problem.known_bounds(found.hidden)
    assert audit(problem, lower, upper).safe
    assert found.bound <= found.cost
    assert not found.proven


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "cost", "count"),
    [
        ("targus", 1_016_578, 8),
        ("table8", 103, 5),
        ("size-region", 521_926, 6),
        pytest.param("industry-region", 819_864, 127, marks=pytest.mark.heavy),
        pytest.param("table1", 116_974_452, 51, marks=pytest.mark.heavy),
    ],
)
def test_known_optima(
    name: str,
    cost: float,
    count: int,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    """CSPLIB (lower protection levels equal to the upper ones, costs are values) and tau_testW."""
    shared_data("tables")
    problem = tau(name) if "-" in name else csplib(name)
    found = solve(problem, seconds=300)
    secondary = int((found.hidden & ~problem.primary).sum())
    golden_record(f"{name}: least cost of secondary suppression", cost, round(found.cost))
    golden_record(f"{name}: secondary cells", count, secondary)
    assert found.proven
    assert round(found.cost) == cost
    assert secondary == count
    lower, upper = problem.known_bounds(found.hidden)
    assert audit(problem, lower, upper, witnesses=found.witnesses).safe
