"""Compiled functions of tables give the same bits when the interpreter runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from numba import njit

from sfumato.kernels import interpreted
from sfumato.kernels.interpreted import suited
from sfumato.kernels.tables.tally import Records, Tally, tally
from sfumato.tabular.audit.presolve import Moves, moves
from sfumato.tabular.suppression.hypercube import cover
from tests.oracle.tables import random_problem

PAIR = np.dtype([("count", "i8"), ("key", "u8"), ("size", "f8")])


@njit
def _twice(rows: np.ndarray, grid: np.ndarray, by: float) -> int:
    """Rows copied, read by one and several places, from the end, and beyond what a number holds."""
    for i in range(rows.size):
        rows[i].key += rows[i].key
        rows[i].size += by
    rows[0] = rows[-1]
    line = grid[1]
    line[0].count = 7
    grid[1, 1] = grid[1, 0]
    grid[1, 0].count += 1
    return line[0].count + line[1].count + grid.shape[1]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[bytes]]:
    """What a function gives interpreted and compiled, as bits."""

    def run(function: Callable[[], Any]) -> list[bytes]:
        found = []
        for few in (10**18, -1):
            monkeypatch.setattr(interpreted, "FEW", few)
            found.append(_bits(function()))
        return found

    return run


def _bits(found: Any) -> bytes:
    """Of arrays, and of all that is made of them."""
    if isinstance(found, tuple | list):
        return b"|".join(map(_bits, found))
    if is_dataclass(found):
        return _bits([getattr(found, field.name) for field in fields(found)])
    if hasattr(found, "indptr"):
        return _bits([found.indptr, found.indices, found.data])
    array = np.asarray(found)
    return str((array.dtype, array.shape)).encode() + array.tobytes()


def test_rows_and_grids_are_put_back(both: Callable[[Callable[[], Any]], list[bytes]]) -> None:
    def run() -> Any:
        rows, grid = np.ones(3, PAIR), np.ones((2, 2), PAIR)
        rows["key"] = 2**63 + 5
        return suited(_twice, 1)(rows, grid, np.inf), rows, grid

    one, other = both(run)
    assert one == other


def test_work_that_adds_up_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreted, "_taken", interpreted.Counter())
    half = interpreted.FEW // 2
    assert suited(_twice, half) is suited(_twice, interpreted.FEW - half) is not _twice
    assert suited(_twice, 1) is _twice
    assert suited(_twice, 0) is _twice


def _tallied(seed: int, n: int) -> Tally:
    """A random cube: holdings, weights, missing amounts, amounts that cancel, keys that wrap."""
    rng = np.random.default_rng(seed)
    parents = [np.array([-1, 0, 0, 1, 1, 2]), np.array([-1, 0, 0, 0]), np.array([-1, 0, 0])][
        : 1 + seed % 3
    ]
    leaves = [np.setdiff1d(np.arange(p.size), p) for p in parents]
    who = np.sort(rng.integers(0, n // 2, n))
    single = np.bincount(who)[who] == 1
    amount = np.round(rng.normal(0, 10.0 ** rng.integers(-8, 9, n), n), 3)
    amount[rng.random(n) < 0.1] = np.nan
    some = rng.random(3) < 0.7
    records = Records(
        leaf=np.array([rng.choice(leaf, n) for leaf in leaves], np.int32),
        amount=amount,
        who=who,
        shared=np.flatnonzero(~single),
        weight=rng.random(n) if some[0] else np.empty(0),
        asked=rng.integers(0, 2, n) * 1.0 if some[1] else np.empty(0),
        key=rng.integers(2**62, 2**64, n if some[2] else 0, np.uint64),
    )
    return tally(records, parents, 1 + seed % 4)


@pytest.mark.parametrize("n", [4, 40, 4_000])
@pytest.mark.parametrize("seed", range(8))
def test_tallies(seed: int, n: int, both: Callable[[Callable[[], Any]], list[bytes]]) -> None:
    one, other = both(lambda: _tallied(seed, n))
    assert one == other


@pytest.mark.parametrize("seed", range(25))
def test_boxes_and_moves(seed: int, both: Callable[[Callable[[], Any]], list[bytes]]) -> None:
    def run() -> Any:
        rng = np.random.default_rng(seed)
        few = seed % 5 > 0
        problem = random_problem(
            rng, primaries=3 if few else 30, hideable=10 if few else 1_000, most=9 if few else 999
        )
        hidden = problem.primary | (~problem.fixed & (rng.random(problem.n) < 0.7))
        lower, upper = problem.known_bounds(hidden)
        found: Moves = moves(problem.relations, lower - problem.values, upper - problem.values)
        laid = cover(problem, complete=False) if problem.cubes else ()
        return found, laid

    one, other = both(run)
    assert one == other
