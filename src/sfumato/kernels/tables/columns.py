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


@njit(cache=True, nogil=True)
def program(
    cells: Ints, cell_starts: Ints, cell_rows: Ints, cell_coefs: Floats, local: Codes
) -> tuple[Codes, Codes, Floats, int]:
    """The program of these cells: (starts, rows, coefs, rows used), columns for their moves up
    first, then for their moves down.

    `local` maps relations to local rows; it holds -1 before and after.
    """
    total = 0
    for cell in cells:
        total += cell_starts[cell + 1] - cell_starts[cell]
    m = cells.size
    starts = np.zeros(2 * m + 1, np.int32)
    index, value = np.empty(2 * total, np.int32), np.empty(2 * total)
    used, at = 0, 0
    for i in range(m):
        for e in range(cell_starts[cells[i]], cell_starts[cells[i] + 1]):
            row = cell_rows[e]
            if local[row] < 0:
                local[row] = used
                used += 1
            index[at], index[at + total] = local[row], local[row]
            value[at], value[at + total] = cell_coefs[e], -cell_coefs[e]
            at += 1
        starts[i + 1] = at
        starts[m + i + 1] = at + total
    for i in range(m):
        for e in range(cell_starts[cells[i]], cell_starts[cells[i] + 1]):
            local[cell_rows[e]] = -1
    return starts, index, value, used
