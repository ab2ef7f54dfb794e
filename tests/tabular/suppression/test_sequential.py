"""Sequential suppression: always protected, always proven, never dearer after cleaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import MethodError
from sfumato.kernels.tables.columns import BARRED, HIDDEN, OPEN, program, surroundings
from sfumato.tabular.audit.audit import audit
from sfumato.tabular.audit.witness import Witnesses, proven
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.cells.table import CellTable
from sfumato.tabular.suppression.merged import merge
from sfumato.tabular.suppression.sequential import Search, SequentialSuppression, clean, complete
from sfumato.tabular.threats.problem import Problem, Threats
from tests.oracle.tables import brute_optimum, is_safe, random_problem
from tests.oracle.tau import tau_table

SEEDS = range(45)


def _cost(problem: Problem, hidden: np.ndarray) -> float:
    return float(problem.costs[hidden & ~problem.primary].sum())


def _possible(problem: Problem) -> bool:
    return is_safe(problem, problem.primary | ~problem.fixed)


def _all_proven(problem: Problem, hidden: np.ndarray, witnesses: Witnesses) -> bool:
    threats = problem.threats
    up, down = proven(
        witnesses, problem.relations, problem.values, *problem.known_bounds(hidden), threats
    )
    value = problem.values[threats.cell]
    above = problem.upper[threats.cell] - value
    below = value - problem.lower[threats.cell]
    wide = np.minimum(threats.slide, above + below)
    return bool(
        (up >= np.minimum(threats.up, above) * (1 - 1e-8)).all()
        and (down >= np.minimum(threats.down, below) * (1 - 1e-8)).all()
        and (up + down >= wide * (1 - 1e-8)).all()
    )


def test_every_threat_is_met_and_the_optimum_is_near() -> None:
    ratios = []
    for seed in SEEDS:
        problem = random_problem(np.random.default_rng(seed))
        best = brute_optimum(problem)
        if best is None:
            with pytest.raises(MethodError, match="cannot be protected"):
                complete(problem, problem.primary)
            continue
        hidden, witnesses = complete(problem, problem.primary)
        assert is_safe(problem, hidden), seed
        assert _all_proven(problem, hidden, witnesses), seed
        cleaned, proofs = clean(problem, hidden, witnesses)
        assert is_safe(problem, cleaned), seed
        assert _all_proven(problem, cleaned, proofs), seed
        assert _cost(problem, cleaned) <= _cost(problem, hidden) + 1e-9, seed
        assert _cost(problem, cleaned) >= best[1] - 1e-9, seed
        if best[1] > 0:
            ratios.append(_cost(problem, cleaned) / best[1])
    print(f"cost beside the optimum: median {np.median(ratios):.3f}, mean {np.mean(ratios):.3f}")
    assert len(ratios) > 12
    assert np.median(ratios) <= 1.0 + 1e-9
    assert np.mean(ratios) < 1.15


def test_a_sliding_need_is_split_as_the_room_allows() -> None:
    for seed in (2983, *range(400, 430)):
        problem = random_problem(np.random.default_rng(seed), general=False, hideable=8)
        threats = problem.threats
        wide = np.maximum(threats.slide, 1.7 * (threats.up + threats.down))
        problem = problem.with_(threats=replace(threats, slide=wide))
        if brute_optimum(problem) is None:
            with pytest.raises(MethodError, match="cannot be protected"):
                complete(problem, problem.primary)
            continue
        hidden, witnesses = complete(problem, problem.primary)
        assert is_safe(problem, hidden), seed
        assert _all_proven(problem, hidden, witnesses), seed
        cleaned, proofs = clean(problem, hidden, witnesses)
        assert is_safe(problem, cleaned), seed
        assert _all_proven(problem, cleaned, proofs), seed


def test_the_method_is_deterministic_and_as_safe() -> None:
    table = None
    for seed in range(200, 215):
        problem = random_problem(np.random.default_rng(seed))
        if not _possible(problem):
            continue
        before = problem.primary.copy(), problem.values.copy()
        method = SequentialSuppression(rounds=3)
        first = method.protect(table, problem, np.random.default_rng(0))  # type: ignore[arg-type]
        again = method.protect(table, problem, np.random.default_rng(1))  # type: ignore[arg-type]
        assert (first.hidden == again.hidden).all()
        assert is_safe(problem, first.hidden), seed
        assert first.witnesses is not None
        assert _all_proven(problem, first.hidden, first.witnesses)
        assert (problem.primary == before[0]).all()
        assert (problem.values == before[1]).all()
        plain = SequentialSuppression(rounds=0).protect(table, problem, np.random.default_rng(0))  # type: ignore[arg-type]
        assert first.cost <= plain.cost + 1e-9


def test_any_pattern_is_repaired() -> None:
    rng = np.random.default_rng(5)
    for seed in range(25):
        problem = random_problem(np.random.default_rng(seed))
        if not _possible(problem):
            continue
        pattern = problem.primary | (~problem.fixed & (rng.random(problem.n) < 0.3))
        hidden, witnesses = complete(problem, pattern)
        assert (hidden >= pattern).all()
        assert is_safe(problem, hidden), seed
        assert _all_proven(problem, hidden, witnesses), seed


def test_false_witnesses_are_not_believed() -> None:
    for seed in range(15):
        problem = random_problem(np.random.default_rng(seed))
        if not _possible(problem):
            continue
        count = len(problem.threats)
        cell = problem.threats.cell
        lies = Witnesses(np.arange(count), np.arange(count + 1), cell, np.full(count, 1e3))
        hidden, _ = complete(problem, problem.primary, witnesses=lies)
        assert is_safe(problem, hidden), seed


def test_merged_groups_move_as_the_table_does() -> None:
    for seed in range(80):
        problem = random_problem(np.random.default_rng(seed))
        merged = merge(problem)
        stuck = problem.fixed | (problem.lower == problem.upper)
        full = problem.relations.matrix.toarray()[:, ~stuck]
        free = np.flatnonzero(~stuck).size - np.linalg.matrix_rank(full) if full.size else 0
        small = merged.relations.matrix.toarray()
        kept = merged.n - (np.linalg.matrix_rank(small) if small.size else 0)
        assert kept == free or full.size == 0, seed
        # Any move of the groups is one of the table.
        if merged.n and small.size:
            *_, v = np.linalg.svd(small, full_matrices=True)
            move = v[np.linalg.matrix_rank(small) :].sum(axis=0) if kept else np.zeros(merged.n)
            cells = np.where(merged.group >= 0, move[merged.group] * merged.sign, 0.0)
            assert np.abs(problem.relations.sums(cells)).max(initial=0.0) < 1e-9


def test_what_cannot_be_protected_is_named() -> None:
    # a + b = c with b and c published whatever happens: a follows.
    problem = Problem(
        values=np.array([3.0, 4.0, 7.0]),
        relations=Relations.of(np.zeros(3, np.int64), np.arange(3), np.array([1.0, 1.0, -1.0]), 3),
        lower=np.zeros(3),
        upper=np.full(3, np.inf),
        primary=np.array([True, False, False]),
        fixed=np.array([False, True, True]),
        costs=np.ones(3),
        threats=Threats.of([0], [1.0], [1.0]),
    )
    with pytest.raises(MethodError, match="cell 0 cannot be protected"):
        complete(problem, problem.primary)
    hidden, _ = complete(problem.with_(fixed=np.array([False, False, True])), problem.primary)
    assert hidden.tolist() == [True, True, False]
    insider = problem.with_(
        fixed=np.array([False, False, True]), threats=Threats.of([0], [1.0], [1.0], known=[[1]])
    )
    with pytest.raises(MethodError, match="who knows cell 1"):
        complete(insider, problem.primary)


def _far(start: int, relations: Relations, state: np.ndarray, depth: int) -> set[int]:
    """Cells that `depth` relations reach, by sets."""
    lines = [
        set(relations.cells[a:b].tolist())
        for a, b in zip(relations.starts[:-1], relations.starts[1:], strict=True)
    ]
    found = {start}
    for _ in range(depth):
        near = [line for line in lines if line & found]
        found |= {c for line in near for c in line if state[c] != BARRED}
    return found


def test_kernels_agree_with_plain_sets() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        merged = merge(random_problem(rng, dims=2))
        relations = merged.relations
        if not merged.n or not len(relations):
            continue
        state = rng.choice([OPEN, HIDDEN, BARRED], merged.n)
        start = int(rng.integers(merged.n))
        work = np.zeros(merged.n, np.int64), np.zeros(len(relations), np.int64)
        starts, rows, coefs = relations.by_cell
        common = (start, relations.starts, relations.cells, starts, rows, state, merged.costs)
        found = surroundings(*common, np.inf, 2, 99, merged.n + 1, *work, 1)
        assert set(found.tolist()) == _far(start, relations, state, 2)
        least = surroundings(*common, 0.0, 2, 99, merged.n + 1, *work, 2)
        assert set(least.tolist()) == _far(start, relations, np.where(state, state, BARRED), 2)
        assert surroundings(*common, np.inf, 2, 99, 1, *work, 3).tolist() == [start]
        cells = np.sort(found)
        first, index, value, used = program(cells, starts, rows, coefs, work[1])
        dense = np.zeros((used, 2 * cells.size))
        for column in range(2 * cells.size):
            at = slice(first[column], first[column + 1])
            dense[index[at], column] = value[at]
        assert (dense[:, : cells.size] == -dense[:, cells.size :]).all()
        whole = relations.matrix.toarray()[:, cells]
        whole = whole[np.abs(whole).sum(axis=1) > 0]
        assert sorted(map(tuple, whole)) == sorted(map(tuple, dense[:, : cells.size]))


def _tau_problem(table: CellTable) -> Problem:
    """Dominance (2, 85 %) and p% 10, needs on both sides, as the quoted figures have them."""
    made, sums = table.contributions, table.values
    assert made is not None
    top = made.top[:, 0] + made.top[:, 1]
    need = np.maximum(top / 0.85 - sums, 0.1 * made.top[:, 0] - (sums - top))
    primary = (made.count > 0) & (need > 1e-9 * np.maximum(sums, 1))
    at = np.flatnonzero(primary)
    return Problem(
        values=sums,
        relations=table.relations,
        lower=np.zeros(table.n),
        upper=np.full(table.n, np.inf),
        primary=primary,
        fixed=made.count == 0,
        costs=sums,
        threats=Threats.of(at, need[at], np.minimum(need, sums)[at]),
        cubes=table.cubes,
    )


@pytest.mark.golden
@pytest.mark.parametrize(
    ("task", "unity", "most"),
    [
        ("size-region", False, 6),
        ("size-region", True, 4),
        ("industry-region", False, 135),
        ("industry-region", True, 118),
        pytest.param("industry-size-region", False, 8764, marks=pytest.mark.heavy),
        pytest.param("industry-size-region", True, 8764, marks=pytest.mark.heavy),
    ],
)
def test_fewer_cells_than_other_tools_and_every_interval_wide(
    task: str,
    unity: bool,
    most: int,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    table = tau_table(shared_data("tables") / "tauargus", task)
    problem = _tau_problem(table)
    if unity:
        problem = problem.with_(costs=np.ones(problem.n))
    method = SequentialSuppression()
    found = method.protect(table, problem, np.random.default_rng(0))
    secondary = int((found.hidden & ~problem.primary).sum())
    golden_record(f"tau_testW {task}: secondaries at most", most, secondary)
    assert secondary <= most
    judged = audit(problem, found.lower, found.upper, witnesses=found.witnesses, exact=False)
    assert judged.safe
    assert found.witnesses is not None
    assert _all_proven(problem, found.hidden, found.witnesses)


def test_a_search_never_costs_more_with_every_step() -> None:
    for seed in range(300, 312):
        problem = random_problem(np.random.default_rng(seed), hideable=10, primaries=3)
        if not _possible(problem):
            continue
        search = Search(problem, problem.primary)
        search.complete()
        cost = search.cost
        for width in (0, 1, 3):
            search.clean(width, np.random.default_rng(width))
            assert search.cost <= cost + 1e-9
            cost = search.cost
            assert is_safe(problem, search.hidden()), (seed, width)
        search.widen()
        assert search.cost <= cost + 1e-9
        assert is_safe(problem, search.hidden()), seed
        assert _all_proven(problem, search.hidden(), search.ledger.witnesses()), seed
