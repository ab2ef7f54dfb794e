"""How far each record's k-th nearest neighbour is: a measure of the density around it.

Records lie in blocks of neighbours with their bounding boxes (blocks.py). A record looks through
the blocks from the nearest box on and stops when the next box is further away than its k-th
neighbour so far: the answer is exact. In many dimensions a million records would look through most
blocks; with `visits` they stop after so many, and the answer is an upper bound.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..threads import in_parts
from .blocks import box_distances, in_blocks, order_in_blocks, ranked, select

BLOCK = 64


@njit(cache=True, nogil=True)
def _beyond(x: Floats, box: Floats, b: int, limit: float) -> bool:
    """Whether a box is so far from a record or farther."""
    total = 0.0
    for j in range(x.size):
        step = max(x[j] - box[1, j, b], box[0, j, b] - x[j], 0.0)
        total += step * step
    return total >= limit


@njit(cache=True, nogil=True)
def _search(
    rows: Floats, points: Floats, box: Floats, k: int, visits: int, start: int, stop: int,
    out: Floats,
) -> None:  # fmt: skip
    """Fill `out` with the squared distances for the records of blocks start..stop."""
    blocks, p, _ = points.shape
    best, distance, bound = np.empty(k), np.empty(BLOCK), np.empty(blocks)
    few, keys = np.empty(blocks, np.int64), np.empty(blocks)
    for g in range(start, stop):
        box_distances(box[0, :, g].copy(), box[1, :, g].copy(), box, bound)
        bound[g] = -1.0  # its own block comes first
        for h in range(blocks):
            few[h], keys[h] = h, bound[h]
        if visits < blocks:
            select(keys, few, 0, blocks, visits)
        order = ranked(keys[:visits])
        for i in range(g * BLOCK, min((g + 1) * BLOCK, out.size)):
            row = rows[i]
            best[:] = np.inf
            for s in order:
                h = few[s]
                if bound[h] >= best[k - 1]:
                    break
                if _beyond(row, box, h, best[k - 1]):
                    continue
                distance[:] = 0.0
                for j in range(p):
                    for r in range(BLOCK):
                        distance[r] += (row[j] - points[h, j, r]) ** 2
                for r in range(min(BLOCK, out.size - h * BLOCK)):
                    # Nobody is their own neighbour.
                    if distance[r] < best[k - 1] and h * BLOCK + r != i:
                        at = k - 1
                        while at > 0 and best[at - 1] > distance[r]:
                            best[at] = best[at - 1]
                            at -= 1
                        best[at] = distance[r]
            out[i] = best[k - 1]


def kth_neighbour(
    x: np.ndarray, k: int, *, visits: int | None = None, threads: int | None = None
) -> Floats:
    """The distance of each row to its k-th nearest other row (Euclidean, no missing values).

    With `visits`, an upper bound from so many blocks of 64 rows. `threads` never alters the result.

    >>> kth_neighbour(np.array([[0.0], [1.0], [3.0], [7.0]]), 2).tolist()
    [3.0, 2.0, 3.0, 6.0]
    """
    n = x.shape[0]
    if not 1 <= k < max(n, 2):
        raise ValueError(f"k is from 1 to one less than the {n} records")
    if np.isnan(x).any():
        raise ValueError("a missing value has no distance")
    points = np.ascontiguousarray(x, dtype=np.float64)
    order: Ints = order_in_blocks(points, np.empty(0), np.arange(n), BLOCK)
    blocks, box = in_blocks(points, order, BLOCK)
    # Enough blocks that k others are among them.
    least = -(-(k + 1) // BLOCK) + 1
    most = len(blocks) if visits is None else min(len(blocks), max(visits, least))
    squares, rows = np.empty(n), points[order]

    def work(start: int, stop: int) -> None:
        _search(rows, blocks, box, k, most, start, stop, squares)

    in_parts(work, len(blocks), threads)
    found = np.empty(n)
    found[order] = np.sqrt(squares)
    return found
