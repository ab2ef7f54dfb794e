"""Cells that can only move together, taken as one: the table that linear programs look at.

Where all but two cells of a relation are published in any case, these two move together: an empty
region leaves a total with one part. Hierarchies over sparse data are full of such pairs, and a
program without them is a fraction of the size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ..cells.relations import Relations
from ..lists import by_group, entries_of
from ..threats.problem import Problem

COMMON = 1.0
"""Only cells that move by the same amount, up or down, are merged: no rounding."""


@dataclass(frozen=True, eq=False)
class Merged:
    """The cells of a problem in groups that move together.

    A group's move m moves each cell of it by sign * m. Cells that cannot move at all are in none.
    """

    group: Ints
    """The group of each cell; -1 for cells that cannot move."""
    sign: Floats
    relations: Relations
    """Between groups; in every relation the groups come by rising cost."""
    up: Floats
    """How far each group can move, ..."""
    down: Floats
    costs: Floats
    """What hiding a whole group costs, sensitive cells aside."""
    primary: Bools
    """Groups with a sensitive cell."""

    @property
    def n(self) -> int:
        """How many groups there are."""
        return int(self.up.size)

    @cached_property
    def members(self) -> tuple[Ints, Ints]:
        """The cells of each group: starts, cells."""
        return by_group(self.group, self.n)

    def cells(self, groups: Ints) -> tuple[Ints, Ints]:
        """The cells of some groups: (which of the groups, cell)."""
        starts, cells = self.members
        ends, entries = entries_of(starts, groups)
        return np.repeat(np.arange(groups.size), np.diff(ends)), cells[entries]

    def whole(self, hidden: Bools) -> Bools:
        """Groups of which every cell is hidden; in the others nothing can be uncertain."""
        out = np.ones(self.n, bool)
        movable = self.group >= 0
        out[self.group[movable & ~hidden]] = False
        return out

    def spread(self, hidden: Bools) -> Bools:
        """The cells of these groups."""
        out = np.zeros(self.group.size, bool)
        movable = self.group >= 0
        out[movable] = hidden[self.group[movable]]
        return out


def merge(problem: Problem) -> Merged:
    """Take the cells together that can only move together."""
    n = problem.n
    up, down = problem.upper - problem.values, problem.values - problem.lower
    pinned = problem.fixed | ((up <= 0) & (down <= 0))
    lead, sign = np.arange(n), np.ones(n)
    relations = problem.relations
    row, cell, coef = relations.rows, relations.cells, relations.coefs
    while True:
        row, cell, coef = _live(row, cell, coef, lead, sign, pinned)
        counts = np.bincount(row, minlength=len(relations))
        alone = cell[counts[row] == 1]
        pinned[alone] = True
        joined = _join(row, cell, coef, counts, pinned, lead, sign)
        if not alone.size and not joined:
            break
    found, group = np.unique(lead, return_inverse=True)
    kept = ~pinned[found]
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    group = number[group]
    count = int(kept.sum())
    room_up, room_down = np.full(count, np.inf), np.full(count, np.inf)
    costs, primary = np.zeros(count), np.zeros(count, bool)
    at = np.flatnonzero(group >= 0)
    np.minimum.at(room_up, group[at], np.where(sign[at] > 0, up[at], down[at]))
    np.minimum.at(room_down, group[at], np.where(sign[at] > 0, down[at], up[at]))
    np.add.at(costs, group[at], np.where(problem.primary[at], 0.0, problem.costs[at]))
    primary[group[at[problem.primary[at]]]] = True
    here = np.full(n, -1)
    here[found] = number
    return Merged(
        group,
        sign,
        _distinct(row, here[cell], coef, costs),
        np.maximum(room_up, 0.0),
        np.maximum(room_down, 0.0),
        costs,
        primary,
    )


def _live(
    row: Ints, cell: Ints, coef: Floats, lead: Ints, sign: Floats, pinned: Bools
) -> tuple[Ints, Ints, Floats]:
    """The entries in terms of leading cells, those of one relation added up."""
    coef, cell = coef * sign[cell], lead[cell]
    kept = ~pinned[cell]
    row, cell, coef = row[kept], cell[kept], coef[kept]
    order = np.lexsort((cell, row))
    row, cell, coef = row[order], cell[order], coef[order]
    if not row.size:
        return row, cell, coef
    first = np.flatnonzero(
        np.concatenate(([True], (row[1:] != row[:-1]) | (cell[1:] != cell[:-1])))
    )
    coef = np.add.reduceat(coef, first)
    row, cell = row[first], cell[first]
    there = np.abs(coef) > 1e-12
    return row[there], cell[there], coef[there]


def _join(
    row: Ints,
    cell: Ints,
    coef: Floats,
    counts: Ints,
    pinned: Bools,
    lead: Ints,
    sign: Floats,
) -> bool:
    """Join the two cells of every relation that has only two; whether there were any."""
    at = np.flatnonzero(counts[row] == 2)[::2]
    if not at.size:
        return False
    ratio = -coef[at] / coef[at + 1]
    equal = np.abs(ratio) == COMMON
    if not equal.any():
        return False
    above: dict[int, tuple[int, float]] = {}

    def root(i: int) -> tuple[int, float]:
        s = 1.0
        while i in above:
            i, more = above[i]
            s *= more
        return i, s

    for a, b, r in zip(
        cell[at[equal]].tolist(), cell[at[equal] + 1].tolist(), ratio[equal].tolist(), strict=True
    ):
        # move_b = r * move_a
        (i, s), (j, t) = root(a), root(b)
        if i == j:
            if t != r * s:
                pinned[i] = True
        else:
            above[max(i, j)] = (min(i, j), r * s * t)
    if not above:
        return True
    target, factor = np.arange(lead.size), np.ones(lead.size)
    for i in above:
        target[i], factor[i] = root(i)
    for i in above:
        if pinned[i]:
            pinned[target[i]] = True
    sign *= factor[lead]
    lead[:] = target[lead]
    return True


def _distinct(row: Ints, cell: Ints, coef: Floats, costs: Floats) -> Relations:
    """The relations without repeats, cheap cells first."""
    n = costs.size
    order = np.lexsort((cell, row))
    row, cell, coef = row[order], cell[order], coef[order]
    if not row.size:
        return Relations.of(row, cell, coef, n)
    first = np.flatnonzero(np.concatenate(([True], row[1:] != row[:-1])))
    sizes = np.diff(np.concatenate((first, [row.size])))
    number = np.repeat(np.arange(first.size), sizes)
    coef = coef / coef[first][number]
    # Two relations that agree in a random combination of their cells are the same one.
    mark = np.random.default_rng(0).random((2, n))
    marks = np.column_stack([np.add.reduceat(coef * m[cell], first) for m in mark] + [sizes])
    _, chosen = np.unique(marks.round(9), axis=0, return_index=True)
    kept = np.zeros(first.size, bool)
    kept[chosen] = True
    renumber = np.cumsum(kept) - 1
    there = kept[number]
    number, cell, coef = renumber[number[there]], cell[there], coef[there]
    order = np.lexsort((cell, costs[cell], number))
    return Relations.of(number[order], cell[order], coef[order], n)
