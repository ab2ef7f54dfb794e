"""Draws from the table of a category given others.

A table is the counts of a code within each group of records; codes and groups are small integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Table(NamedTuple):
    """The cells of a two-way table that are not empty, sorted by group and code."""

    groups: Ints
    """the keys of the groups that occur, rising"""
    start: Ints
    """where the cells of each group begin, and the end"""
    code: Ints
    upto: Floats
    """running sum of the counts"""

    @property
    def totals(self) -> Floats:
        """The records of each group."""
        ends = np.append(0.0, self.upto)[self.start]
        return np.diff(ends)


def tabulate(group: Ints, code: Ints) -> Table:
    """The table of the codes within the groups (keys of any kind, not negative).

    >>> found = tabulate(np.array([7, 7, 2, 7]), np.array([1, 0, 3, 1]))
    >>> found.groups.tolist(), found.code.tolist(), found.upto.tolist(), found.totals.tolist()
    ([2, 7], [3, 0, 1], [1.0, 2.0, 4.0], [1.0, 3.0])
    """
    width = int(code.max(initial=0)) + 1
    groups, which = np.unique(group, return_inverse=True)
    cells, counts = np.unique(which.reshape(-1) * width + code, return_counts=True)
    start = np.searchsorted(cells, np.arange(groups.size + 1) * width)
    return Table(groups, start, cells % width, np.cumsum(counts, dtype=np.float64))


def place_of(table: Table, group: Ints) -> Ints:
    """Where each group stands in the table; -1 if it is not there."""
    if not table.groups.size:
        return np.full(group.size, -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(table.groups, group), table.groups.size - 1)
    return np.where(table.groups[at] == group, at, -1)


def draw_codes(table: Table, place: Ints, u: Floats) -> Ints:
    """A code for each place, drawn in proportion to the group's counts; u is uniform on [0, 1).

    >>> found = tabulate(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2]))
    >>> draw_codes(found, np.array([0, 0, 1]), np.array([0.6, 0.7, 0.5])).tolist()
    [0, 1, 2]
    """
    before = np.append(0.0, table.upto)[table.start]
    target = before[place] + u * (before[place + 1] - before[place])
    cell = np.searchsorted(table.upto, target, side="right")
    # Rounding must not lead into the next group.
    cell = np.clip(cell, table.start[place], table.start[place + 1] - 1)
    return table.code[cell]


def information(group: Ints, code: Ints) -> float:
    """What the group tells of the code: mutual information in bits, from the counts.

    Counts of few records always seem to tell something. Miller and Madow's correction takes off
    what a table with so many cells would seem to tell by chance, so that a column with very many
    values does not win for that alone.

    >>> x = np.arange(4000) % 2
    >>> information(x, x) > 0.999, abs(information(np.arange(4000) // 2 % 2, x)) < 1e-3
    (True, True)
    """
    n = group.size
    width = int(code.max(initial=0)) + 1
    counted = [
        np.unique(part, return_counts=True)[1] for part in (group, code, group * width + code)
    ]
    entropies = [
        _entropy(counts / n) + (counts.size - 1) / (2 * n * np.log(2)) for counts in counted
    ]
    return float(entropies[0] + entropies[1] - entropies[2])


def _entropy(share: Floats) -> float:
    return float(-(share * np.log2(share)).sum())
