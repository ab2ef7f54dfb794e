"""Protection part by part: the parts make up the table, and the whole is protected."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.table_data import as_table
from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.suppression.modular import (
    ModularSuppression,
    least_cost,
    protect_modular,
)
from sfumato.tabular.suppression.subtables import parts
from sfumato.tabular.threats.problem import Problem, Threats
from tests.oracle.tables import brute_optimum, is_safe, random_problem


@cache
def solvable(count: int, cubes: bool | None = None) -> list[Problem]:
    """Tiny tables that can be protected."""
    found: list[Problem] = []
    seed = 0
    while len(found) < count:
        general = None if cubes is None else not cubes
        problem = random_problem(np.random.default_rng(seed), hideable=7, general=general)
        seed += 1
        if is_safe(problem, problem.primary | ~problem.fixed):
            found.append(problem)
    return found


def rows(relations: Relations, cells: np.ndarray, gone: np.ndarray) -> set[tuple]:
    """Every relation as its cells with coefficients, without what is gone."""
    found = set()
    for r in range(len(relations)):
        at = slice(relations.starts[r], relations.starts[r + 1])
        row = zip(cells[relations.cells[at]].tolist(), relations.coefs[at].tolist(), strict=True)
        left = tuple(sorted((c, a) for c, a in row if not gone[c]))
        if left:
            found.add(left)
    return found


@pytest.mark.parametrize("cubes", [True, False])
def test_the_parts_have_every_relation_and_no_other(cubes: bool) -> None:
    for seed in range(30):
        problem = random_problem(np.random.default_rng(seed), general=not cubes)
        gone = problem.fixed & (problem.values == 0)
        found = parts(problem, largest=6)
        whole = rows(problem.relations, np.arange(problem.n), gone)
        made: set[tuple] = set()
        for part in found.tables:
            assert (np.diff(part.cells) > 0).all()
            made |= rows(part.relations, part.cells, gone)
        assert made == whole
        for turn in {part.turn for part in found.tables}:
            cells = np.concatenate([p.cells for p in found.tables if p.turn == turn])
            assert np.unique(cells).size == cells.size


def test_a_cube_has_a_part_to_every_combination_of_codes_with_others_below() -> None:
    deep = Dimension("a", ("T", "x", "y", "x1", "x2", "y1", "y2"), np.array([-1, 0, 0, 1, 1, 2, 2]))
    flat = Dimension("b", ("T", "1", "2"), np.array([-1, 0, 0]))
    shape = CubeShape((deep, flat), np.arange(21).reshape(7, 3))
    values = np.ones(21)
    problem = Problem(
        values=values,
        relations=shape.relations(21),
        lower=np.zeros(21),
        upper=np.full(21, np.inf),
        primary=np.zeros(21, bool),
        fixed=np.zeros(21, bool),
        costs=values,
        threats=Threats.of([], [], []),
        cubes=(shape,),
    )
    found = parts(problem)
    assert [part.cells.size for part in found.tables] == [9, 9, 9]
    assert [part.turn for part in found.tables] == [0, 1, 1]
    assert (found.shares == np.array([1, 2, 2, 1, 1, 1, 1]).repeat(3)).all()
    assert found.with_cells(np.array([3])).tolist() == [0, 1]


@pytest.mark.parametrize("small", [0, 60])
def test_every_threat_is_met_at_no_less_than_the_least_cost(small: int) -> None:
    for problem in solvable(12):
        best = brute_optimum(problem)
        assert best is not None
        hidden, witnesses, _ = protect_modular(problem, small=small, largest=8)
        assert not (hidden & problem.fixed & ~problem.primary).any()
        assert is_safe(problem, hidden)
        assert problem.costs[hidden & ~problem.primary].sum() >= best[1] - 1e-9
        assert witnesses is not None
        if small:
            assert least_cost(problem, largest=8) <= best[1] + 1e-6


def test_subtables_may_be_looked_at_again() -> None:
    for problem in solvable(12):
        hidden, _, facts = protect_modular(problem, small=0, sweeps=5, largest=8)
        assert is_safe(problem, hidden)
        assert facts["subtables"] >= 1


def linked(rng: np.random.Generator) -> Problem:
    """Two cubes that share the margin of their common dimension."""
    sizes = (3, 3, 2)
    names = [
        Dimension(n, tuple(f"{n}{i}" for i in range(s + 1)), np.array([-1] + [0] * s))
        for n, s in zip("abc", sizes, strict=True)
    ]
    leaf = rng.integers(1, 10, sizes).astype(float)
    full = leaf
    for axis in range(3):
        full = np.concatenate((full.sum(axis, keepdims=True), full), axis)
    ab = np.arange(16).reshape(4, 4)
    ac = np.concatenate((ab[:, :1], 16 + np.arange(8).reshape(4, 2)), 1)
    values = np.concatenate((full[:, :, 0].ravel(), full[:, 0, 1:].ravel()))
    cubes = (CubeShape((names[0], names[1]), ab), CubeShape((names[0], names[2]), ac))
    both = [cube.relations(24) for cube in cubes]
    primary = np.zeros(24, bool)
    primary[rng.choice(24, 3, replace=False)] = True
    need = np.full(3, 1.0)
    return Problem(
        values=values,
        relations=Relations.of(
            np.concatenate((both[0].rows, both[1].rows + len(both[0]))),
            np.concatenate([r.cells for r in both]),
            np.concatenate([r.coefs for r in both]),
            24,
        ),
        lower=np.zeros(24),
        upper=np.full(24, np.inf),
        primary=primary,
        fixed=np.zeros(24, bool),
        costs=values,
        threats=Threats.of(np.flatnonzero(primary), need, need),
        cubes=cubes,
    )


def test_linked_cubes_are_protected_together() -> None:
    for seed in range(6):
        problem = linked(np.random.default_rng(seed))
        assert np.abs(problem.relations.sums(problem.values)).max() == 0
        found = parts(problem)
        assert len(found.tables) == 2
        assert len({part.turn for part in found.tables}) == 2
        assert is_safe(problem, protect_modular(problem)[0])


def test_threads_do_not_matter() -> None:
    for problem in solvable(12, True):
        one, two = (protect_modular(problem, threads=n, small=0)[0] for n in (1, 2))
        assert (one == two).all()


def test_the_method_says_where_there_is_no_cube() -> None:
    for problem in (solvable(3, True)[0], solvable(3, False)[0]):
        before = problem.values.copy()
        made = ModularSuppression().protect(as_table(problem), problem, np.random.default_rng(0))
        assert is_safe(problem, made.hidden)
        assert (problem.values == before).all()
        assert bool(made.warnings) == (not problem.cubes)
        assert made.cost == pytest.approx(problem.costs[made.hidden & ~problem.primary].sum())
