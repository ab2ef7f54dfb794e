"""Which columns a small linear program about one cell of a table takes: those around it."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Codes, Floats, Ints

OPEN, HIDDEN, BARRED = 0, 1, 2
"""A cell may be hidden at a price, is hidden, or cannot be used."""


@njit(cache=True, nogil=True)
def surroundings(
    start: int,
    row_starts: Ints,
    row_cells: Ints,
    cell_starts: Ints,
    cell_rows: Ints,
    state: Ints,
    costs: Floats,
    dearest: float,
    depth: int,
    cheapest: int,
    most: int,
    seen: Ints,
    passed: Ints,
    stamp: int,
) -> Ints:
    """Cells within `depth` relations of `start`: the hidden ones, and the `cheapest` open ones of
    every relation that cost less than `dearest` (relations list cheap cells first); `most` in all.

    `seen` and `passed` are workspaces, one number to a cell and to a relation: what they hold must
    differ from `stamp`.
    """
    found = np.empty(most, np.int64)
    seen[start] = stamp
    found[0] = start
    count, begin = 1, 0
    for _ in range(depth):
        end = count
        for i in range(begin, end):
            cell = found[i]
            for e in range(cell_starts[cell], cell_starts[cell + 1]):
                row = cell_rows[e]
                if passed[row] == stamp:
                    continue
                passed[row] = stamp
                left = cheapest
                for k in range(row_starts[row], row_starts[row + 1]):
                    other = row_cells[k]
                    if state[other] == BARRED or seen[other] == stamp:
                        continue
                    if state[other] == OPEN:
                        if left == 0 or costs[other] >= dearest:
                            continue
                        left -= 1
                    if count == most:
                        return found[:count].copy()
                    seen[other] = stamp
                    found[count] = other
                    count += 1
        begin = end
        if begin == count:
            break
    return found[:count].copy()


def program(
    cells: Ints, cell_starts: Ints, cell_rows: Ints, cell_coefs: Floats, first: Ints
) -> tuple[Codes, Codes, Floats, int]:
    """The program of these cells: (starts, rows, coefs, rows used), columns for their moves up
    first, then for their moves down.

    Relations are numbered as they come up; `first` is a workspace, one number to a relation.
    """
    sizes = cell_starts[cells + 1] - cell_starts[cells]
    ends = np.cumsum(sizes)
    at = np.arange(int(sizes.sum()))
    entries = at + np.repeat(cell_starts[cells] - ends + sizes, sizes)
    rows, coefs = cell_rows[entries], cell_coefs[entries]
    first[rows[::-1]] = at[::-1]
    number = np.cumsum(first[rows] == at)
    index = number[first[rows]] - 1
    starts = np.concatenate(([0], ends, at.size + ends))
    twice = np.concatenate((index, index)).astype(np.int32)
    return starts.astype(np.int32), twice, np.concatenate((coefs, -coefs)), int(number[-1:].sum())
