"""The largest distance between two records of each group.

The distance is a sum over the columns. Along numbers alone it is the city-block distance, whose
largest value is found without looking at pairs: it is the largest extent along one of the sums
+-x1 +-x2 ... +-xp. So records with the same categories are one pattern with its extents, and only
patterns are compared in pairs, those that can be far from others first.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..threads import cores
from .lub import INTERVAL, KIND, ORDER, Joins, States, cell_cost, join

Flags = NDArray[np.bool_]

MOST_SUMS = 1 << 24
"""Extents that are kept: patterns times sums."""
_CLOSE = 1e-12


@njit(cache=True, nogil=True)
def _apart(joins: Joins, flat: Flags, columns: Ints, a: States, b: States) -> float:
    """The distance along these columns: the cost of the two cells' least upper bound; 1 where they
    differ in a flat column, which has no hierarchy."""
    total = 0.0
    for i in range(columns.size):
        j = columns[i]
        if a[i] != b[i]:
            total += 1.0 if flat[j] else cell_cost(joins, j, join(joins, j, a[i], b[i]))
    return total


@njit(cache=True, nogil=True)
def _reach(joins: Joins, flat: Flags, columns: Ints, rows: States) -> float:
    """What no pair is farther apart than, the sum over the columns of the largest distance."""
    total = 0.0
    for i in range(columns.size):
        j = columns[i]
        values = np.unique(rows[:, i])
        if values.size == 1:
            continue
        most = 0.0
        if flat[j]:
            most = 1.0
        elif joins.head[j, KIND] == ORDER:
            # The join of all need not be the dearest in a partial order.
            for a in range(values.size - 1):
                for b in range(a + 1, values.size):
                    most = max(most, cell_cost(joins, j, join(joins, j, values[a], values[b])))
        else:
            top = values[0]
            for a in range(1, values.size):
                top = join(joins, j, top, values[a])
            most = cell_cost(joins, j, top)
        total += most
    return total


@njit(cache=True, nogil=True)
def _widest(
    joins: Joins, flat: Flags, columns: Ints, rows: States, low: Floats, high: Floats
) -> float:
    """The diameter of one group: its patterns, and their extents along each sum."""
    n, sums = low.shape
    reach = _reach(joins, flat, columns, rows)
    least, most = low[0].copy(), high[0].copy()
    for i in range(1, n):
        for s in range(sums):
            least[s] = min(least[s], low[i, s])
            most[s] = max(most[s], high[i, s])
    best, limit = 0.0, np.empty(n)
    for i in range(n):
        far = 0.0
        for s in range(sums):
            far = max(far, high[i, s] - least[s], most[s] - low[i, s])
            best = max(best, high[i, s] - low[i, s])
        limit[i] = reach + far
    order = np.argsort(-limit)
    for i in range(n):
        g = order[i]
        if limit[g] <= best + _CLOSE:
            break
        for k in range(i + 1, n):
            h = order[k]
            if limit[h] <= best + _CLOSE:
                break
            far = 0.0
            for s in range(sums):
                far = max(far, high[g, s] - low[h, s], high[h, s] - low[g, s])
            if far + reach > best:
                best = max(best, far + _apart(joins, flat, columns, rows[g], rows[h]))
    return best


@njit(cache=True, nogil=True)
def _widest_of(
    joins: Joins,
    flat: Flags,
    columns: Ints,
    rows: States,
    low: Floats,
    high: Floats,
    starts: Ints,
    groups: Ints,
    out: Floats,
) -> None:
    for i in range(groups.size):
        g = groups[i]
        a, b = starts[g], starts[g + 1]
        if b > a:
            out[g] = _widest(joins, flat, columns, rows[a:b], low[a:b], high[a:b])


def diameters(joins: Joins, flat: np.ndarray, states: np.ndarray, labels: np.ndarray) -> Floats:
    """The diameter of each group 0..g-1; `labels` says which group a row of `states` is in.

    `flat` marks columns whose values are alike or not, at distance 0 or 1. A group costs at most
    the square of its patterns, and much less where two are as far apart as any could be.
    """
    groups = int(labels.max(initial=-1)) + 1
    out = np.zeros(groups)
    if not groups:
        return out
    lines = _lines(joins, flat, states)
    others = np.array([j for j in range(states.shape[1]) if j not in lines], dtype=np.int64)
    keys = np.column_stack([labels.astype(np.int64), states[:, others]])
    patterns, place = np.unique(keys, axis=0, return_inverse=True)
    low, high = _extents(joins, states, lines, place.reshape(-1), len(patterns))
    rows = np.ascontiguousarray(patterns[:, 1:])
    starts = np.searchsorted(patterns[:, 0], np.arange(groups + 1)).astype(np.int64)
    # The largest first, handed out in turn.
    order = np.argsort(-np.diff(starts), kind="stable").astype(np.int64)
    flags = np.ascontiguousarray(flat, dtype=np.bool_)
    workers = max(min(cores(), groups), 1)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(
                _widest_of, joins, flags, others, rows, low, high, starts,
                order[w::workers].copy(), out,
            )
            for w in range(workers)
        ]  # fmt: skip
        for job in jobs:
            job.result()
    return out


def _lines(joins: Joins, flat: np.ndarray, states: np.ndarray) -> list[int]:
    """Columns of numbers that every record has, as many as their sums can be kept of."""
    found = []
    for j in range(states.shape[1]):
        low, high = states[:, j] >> 32, states[:, j] & ((1 << 32) - 1)
        if joins.kind[j] == INTERVAL and not flat[j] and bool(((low == high) & (low > 0)).all()):
            found.append(j)
    room = max(MOST_SUMS // max(len(states), 1), 1)
    return found[: min(room.bit_length(), 8)]


def _extents(
    joins: Joins, states: np.ndarray, lines: list[int], place: np.ndarray, patterns: int
) -> tuple[Floats, Floats]:
    """The least and the greatest value of each pattern's records along each sum."""
    if not lines:
        return np.zeros((patterns, 1)), np.zeros((patterns, 1))
    codes = states[:, lines] & ((1 << 32) - 1)
    x = np.column_stack([joins.costs(j)[codes[:, i]] for i, j in enumerate(lines)])
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(patterns))
    # A sum and its negative have the same extents.
    signs = [np.array((1.0, *rest)) for rest in product((1.0, -1.0), repeat=len(lines) - 1)]
    low, high = np.empty((patterns, len(signs))), np.empty((patterns, len(signs)))
    for s, sign in enumerate(signs):
        along = (x @ sign)[order]
        low[:, s] = np.minimum.reduceat(along, starts)
        high[:, s] = np.maximum.reduceat(along, starts)
    return low, high
