"""A large table as many small ones: the parts without hierarchy, or bunches of relations.

Whatever protects the whole table protects every part of it, because a table that an attacker cannot
rule out cannot be ruled out by fewer relations either. The converse does not hold.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ..cells.cube import CubeShape, Dimension
from ..cells.relations import Relations
from ..lists import by_group
from ..threats.problem import Problem, Threats

LARGEST = 400
"""Cells of a bunch of relations, about."""


@dataclass(frozen=True, eq=False)
class Subtable:
    """Some cells of a table, and relations that hold among them."""

    cells: Ints
    relations: Relations
    """Over these cells alone, numbered as in `cells`."""
    turn: int
    """Subtables of one turn share no cells; the turns go from the top of the table down."""

    def problem(self, whole: Problem, hidden: Bools, threats: Threats, costs: Floats) -> Problem:
        """The part of the whole problem: cells hidden already are given, and cost nothing."""
        cells = self.cells
        return Problem(
            values=whole.values[cells],
            relations=self.relations,
            lower=whole.lower[cells],
            upper=whole.upper[cells],
            primary=hidden[cells],
            fixed=whole.fixed[cells] & ~hidden[cells],
            costs=np.where(hidden[cells], 0.0, costs[cells]),
            threats=threats,
        )


@dataclass(frozen=True, eq=False)
class Parts:
    """All subtables of a problem."""

    tables: tuple[Subtable, ...]
    n: int

    @cached_property
    def of_cell(self) -> tuple[Ints, Ints]:
        """The subtables that each cell lies in: starts (n + 1), subtables."""
        sizes = [table.cells.size for table in self.tables]
        cells = np.concatenate([*(table.cells for table in self.tables), np.empty(0, np.int64)])
        starts, order = by_group(cells, self.n)
        return starts, np.repeat(np.arange(len(self.tables), dtype=np.int64), sizes)[order]

    def with_cells(self, cells: Ints) -> Ints:
        """The subtables that any of these cells lies in."""
        starts, which = self.of_cell
        found = [which[starts[c] : starts[c + 1]] for c in cells]
        return np.unique(np.concatenate([*found, np.empty(0, np.int64)]))

    @cached_property
    def shares(self) -> Ints:
        """How many subtables each cell lies in."""
        return np.diff(self.of_cell[0])


def parts(problem: Problem, largest: int = LARGEST) -> Parts:
    """The subtables of a problem: of its cubes, or bunches of relations where it has none."""
    # Cells that are known to be zero take part in nothing.
    gone = problem.fixed & (problem.values == 0)
    if problem.cubes:
        found = [table for cube in problem.cubes for table in _of_cube(cube, gone)]
        # Cubes in turn, level by level, so that each sees what the others hide above it.
        turns = {turn: i for i, turn in enumerate(sorted({t[0] for t in found}))}
        merged = _apart([(turns[turn], cells, rel) for turn, cells, rel in found], problem)
        return Parts(merged, problem.n)
    return Parts(_bunches(problem.relations, problem.values, gone, largest), problem.n)


def _of_cube(cube: CubeShape, gone: Bools) -> list[tuple[tuple[int, ...], Ints, Relations]]:
    """One subtable to every combination of codes that have children, one code per dimension."""
    found = []
    above = [
        [code for code, below in enumerate(d.children) if below.size] or [0]
        for d in cube.dimensions
    ]
    for codes in itertools.product(*above):
        pairs = list(zip(cube.dimensions, codes, strict=True))
        chosen = [np.concatenate(([code], d.children[code])) for d, code in pairs]
        block = cube.cells[np.ix_(*chosen)]
        cells = np.unique(block[block >= 0])
        if cells.size < 2:
            continue
        # Two blocks with their codes at the same depths have no cell in common.
        depths = tuple(int(d.depth[code]) for d, code in pairs)
        local = np.where(block >= 0, np.searchsorted(cells, block), -1)
        flat = tuple(
            _flat(d.name, size) for d, size in zip(cube.dimensions, block.shape, strict=True)
        )
        relations = CubeShape(flat, local).relations(cells.size)
        kept, relations = _without(relations, gone[cells])
        if len(relations):
            found.append(((sum(depths), *depths), cells[kept], relations))
    return found


def _flat(name: str, size: int) -> Dimension:
    """A total over size - 1 parts."""
    parent = np.zeros(size, np.int64)
    parent[0] = -1
    return Dimension(name, ("",) * size, parent)


def _without(relations: Relations, gone: Bools) -> tuple[Ints, Relations]:
    """The relations without some cells, numbered anew: (cells that are left, relations)."""
    stays = ~gone[relations.cells]
    row = np.unique(relations.rows[stays], return_inverse=True)[1]
    used, cell = np.unique(relations.cells[stays], return_inverse=True)
    return used, Relations.of(row, cell, relations.coefs[stays], used.size)


def _apart(found: list[tuple[int, Ints, Relations]], problem: Problem) -> tuple[Subtable, ...]:
    """Subtables in turns; those of one turn that share a cell (linked cubes) take turns too."""
    found.sort(key=lambda entry: entry[0])
    made: list[Subtable] = []
    turn = 0
    for _, group in itertools.groupby(found, key=lambda entry: entry[0]):
        rounds: list[Bools] = []
        for _, cells, relations in group:
            at = next((i for i, taken in enumerate(rounds) if not taken[cells].any()), len(rounds))
            if at == len(rounds):
                rounds.append(np.zeros(problem.n, bool))
            rounds[at][cells] = True
            made.append(Subtable(cells, relations, turn + at))
        turn += len(rounds)
    return tuple(sorted(made, key=lambda table: table.turn))


def _bunches(
    relations: Relations, values: Floats, gone: Bools, largest: int
) -> tuple[Subtable, ...]:
    """Relations that cross one another, taken together until a bunch is large.

    Each bunch starts at the relation with the largest numbers that is in none yet, takes in the
    relation that shares most of its cells with it, again and again, and at last every other one
    that has no cell outside. So every relation is in a bunch.
    """
    starts, crossing, _ = relations.by_cell
    size = np.zeros(len(relations))
    np.maximum.at(size, relations.rows, np.abs(values[relations.cells]))
    free = np.bincount(relations.rows[~gone[relations.cells]], minlength=len(relations))
    covered = free == 0
    made: list[Subtable] = []
    for seed in np.argsort(-size, kind="stable"):
        if covered[seed]:
            continue
        inside = np.zeros(relations.n, bool)
        taken = np.zeros(len(relations), bool)
        shared = np.zeros(len(relations), np.int64)
        count, at = 0, int(seed)
        while True:
            taken[at] = True
            row = relations.cells[relations.starts[at] : relations.starts[at + 1]]
            for c in row[~inside[row] & ~gone[row]]:
                inside[c] = True
                count += 1
                np.add.at(shared, crossing[starts[c] : starts[c + 1]], 1)
            share = np.where(taken | covered | (shared == 0), 0.0, shared / np.maximum(free, 1))
            at = int(np.argmax(share))
            if share[at] == 0 or count + free[at] - shared[at] > largest:
                break
        taken = (shared == free) & (free > 0)
        covered |= taken
        chosen = taken[relations.rows] & ~gone[relations.cells]
        cells, local = np.unique(relations.cells[chosen], return_inverse=True)
        rows = np.unique(relations.rows[chosen], return_inverse=True)[1]
        made.append(
            Subtable(
                cells, Relations.of(rows, local, relations.coefs[chosen], cells.size), len(made)
            )
        )
    return tuple(made)
