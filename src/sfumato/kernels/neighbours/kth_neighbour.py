"""How far each record's k-th nearest neighbour is: a measure of the density around it.

Records lie in blocks of neighbours with their bounding boxes (blocks.py). A record looks through
the blocks from the nearest box on and stops when the next box is further away than its k-th
neighbour so far: the answer is exact. In many dimensions a million records would look through most
blocks; with `visits` they stop after so many, and the answer is an upper bound.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..threads import cores
from .blocks import order_in_blocks, select

BLOCK = 64


@njit(cache=True, nogil=True)
def _blocks(x: Floats, order: Ints) -> tuple[Floats, Floats, Floats]:
    """Blocks of the rows in that order, column by column, and their least and greatest coordinates.

    What a last block lacks lies at infinity, where it is nobody's neighbour.
    """
    n, p = x.shape
    blocks = (n + BLOCK - 1) // BLOCK
    made = np.full((blocks, p, BLOCK), np.inf)
    low, high = np.full((blocks, p), np.inf), np.full((blocks, p), -np.inf)
    for i in range(n):
        b = i // BLOCK
        for j in range(p):
            value = x[order[i], j]
            made[b, j, i - b * BLOCK] = value
            low[b, j] = min(low[b, j], value)
            high[b, j] = max(high[b, j], value)
    return made, low, high


@njit(cache=True, nogil=True)
def _gap(low: Floats, high: Floats, lower: Floats, upper: Floats) -> float:
    """The least squared distance between two boxes."""
    total = 0.0
    for j in range(low.size):
        step = max(low[j] - upper[j], lower[j] - high[j], 0.0)
        total += step * step
    return total


@njit(cache=True, nogil=True)
def _search(
    x: Floats, low: Floats, high: Floats, k: int, visits: int, start: int, stop: int, out: Floats
) -> None:
    """Fill `out` with the squared distances for the records of blocks start..stop."""
    blocks, p = low.shape
    best, distance = np.empty(k), np.empty(BLOCK)
    for g in range(start, stop):
        bound = np.empty(blocks)
        for h in range(blocks):
            bound[h] = _gap(low[g], high[g], low[h], high[h])
        bound[g] = -1.0  # its own block comes first
        order = np.arange(blocks)
        if visits < blocks:
            keys = bound.copy()
            select(keys, order, 0, blocks, visits)
            order = order[:visits].copy()
        order = order[np.argsort(bound[order])]
        for i in range(min(BLOCK, out.size - g * BLOCK)):
            row = x[g, :, i].copy()
            best[:] = np.inf
            for s in range(order.size):
                h = order[s]
                if bound[h] >= best[k - 1]:
                    break
                if _gap(row, row, low[h], high[h]) >= best[k - 1]:
                    continue
                distance[:] = 0.0
                for j in range(p):
                    for r in range(BLOCK):
                        distance[r] += (row[j] - x[h, j, r]) ** 2
                if h == g:
                    distance[i] = np.inf  # nobody is their own neighbour
                for r in range(BLOCK):
                    if distance[r] < best[k - 1]:
                        at = k - 1
                        while at > 0 and best[at - 1] > distance[r]:
                            best[at] = best[at - 1]
                            at -= 1
                        best[at] = distance[r]
            out[g * BLOCK + i] = best[k - 1]


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
    no_codes = np.empty((n, 0), dtype=np.int32)
    order: Ints = order_in_blocks(points, no_codes, np.empty(0), np.arange(n), BLOCK)
    arranged, low, high = _blocks(points, order)
    # Enough blocks that k others are among them.
    least = -(-(k + 1) // BLOCK) + 1
    most = len(low) if visits is None else min(len(low), max(visits, least))
    squares = np.empty(n)
    workers = cores(threads)
    cuts = np.linspace(0, len(low), min(len(low), 8 * workers) + 1).astype(np.int64)
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(_search, arranged, low, high, k, most, start, stop, squares)
            for start, stop in pairwise(cuts.tolist())
        ]
        for task in tasks:
            task.result()
    found = np.empty(n)
    found[order] = np.sqrt(squares)
    return found
