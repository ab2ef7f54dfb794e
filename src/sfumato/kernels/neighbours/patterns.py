"""Agreement patterns of all pairs of records, counted without listing the pairs.

Probabilistic record linkage (Fellegi & Sunter 1969) sees of a pair only which of v columns agree:
one of 2^v patterns. Per column the masked records that agree with a record are a run of places in
the sorted column (see `rank_windows`). For one record at a time the bits of a small vector, one
pattern for each masked record, are set along these runs; then the vector is counted and forgotten.
Memory is O(m + 2^v) for each thread, and the time that of reading n times m bytes.

A second pass, when every pattern has its weight, finds for each record the best pattern there is,
the masked records that have it, and whether its own is one of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.neighbours.rank_windows import Places, Windows, apart
from sfumato.kernels.threads import in_parts

MOST_COLUMNS = 16
"""2^16 patterns fit the caches; beyond, a pattern has hardly a pair, and says nothing of m."""
_NARROW = 8


class Best(NamedTuple):
    """The masked records of highest weight for each record."""

    level: Ints
    """the highest level of weight that a masked record has"""
    own: Ints
    """the level of the record's own, -1 where it has none"""
    ties: Ints
    """masked records of the highest level (the nearest of them, where distances are given)"""
    own_tied: NDArray[np.bool_]
    """whether its own is one of those"""


@njit(cache=True, nogil=True)
def _patterns(
    order: Places, low: Places, high: Places, tail: Ints, one: Any, out: NDArray[np.uint32]
) -> None:
    """The pattern of each masked record with one record; bit j says that column j agrees."""
    out[:] = 0
    for j in range(order.shape[0]):
        bit = one << j
        for k in range(low[j], high[j]):
            out[order[j, k]] |= bit
        for k in range(max(tail[j], high[j]), order.shape[1]):
            out[order[j, k]] |= bit


@njit(cache=True, nogil=True)
def _count(
    order: Places, low: Places, high: Places, tail: Ints, one: Any, out: NDArray[np.uint32],
    start: int, stop: int, counts: Ints,
) -> None:  # fmt: skip
    m = out.size
    lanes = np.zeros((4, counts.size), np.int64)
    for i in range(start, stop):
        _patterns(order, low[i], high[i], tail, one, out)
        # Four tallies: neighbours mostly have one pattern, and would wait for one another.
        for k in range(0, m - 3, 4):
            lanes[0, out[k]] += 1
            lanes[1, out[k + 1]] += 1
            lanes[2, out[k + 2]] += 1
            lanes[3, out[k + 3]] += 1
        for k in range(m - m % 4, m):
            lanes[0, out[k]] += 1
    for lane in range(4):
        counts += lanes[lane]


@njit(cache=True, nogil=True)
def _best(
    order: Places, low: Places, high: Places, tail: Ints, one: Any, out: NDArray[np.uint32],
    levels: Ints, za: Floats, zb: Floats, tolerance: float, own: Ints, start: int, stop: int,
    best: Ints, own_level: Ints, ties: Ints, own_tied: NDArray[np.bool_],
) -> None:  # fmt: skip
    rows, reached = np.empty(out.size, np.int64), np.empty(out.size)
    for i in range(start, stop):
        _patterns(order, low[i], high[i], tail, one, out)
        top = np.int64(-1)
        for k in range(out.size):
            top = max(top, levels[out[k]])
        best[i] = top
        if own[i] >= 0:
            own_level[i] = levels[out[own[i]]]
        if za.shape[1] == 0:
            for k in range(out.size):
                ties[i] += levels[out[k]] == top
            own_tied[i] = own_level[i] == top
            continue
        found, least = 0, np.inf
        for k in range(out.size):
            if levels[out[k]] == top:
                here = apart(za[i], zb[k])
                # What lies beyond the least so far, tolerance included, cannot be nearest.
                if here <= least * (1.0 + tolerance):
                    least = min(least, here)
                    rows[found], reached[found] = k, here
                    found += 1
        limit = least * (1.0 + tolerance)
        for k in range(found):
            if reached[k] <= limit:
                ties[i] += 1
                own_tied[i] |= rows[k] == own[i]


@njit(cache=True, nogil=True)
def _shortlist(
    order: Places, low: Places, high: Places, tail: Ints, one: Any, out: NDArray[np.uint32],
    levels: Ints, offsets: Ints, start: int, stop: int, rows: Places, sizes: Ints, cut: Ints,
) -> None:  # fmt: skip
    m, limit = out.size, rows.shape[1]
    tally = np.zeros(levels.max() + 1, np.int64)
    for i in range(start, stop):
        _patterns(order, low[i], high[i], tail, one, out)
        tally[:] = 0
        for k in range(m):
            tally[levels[out[k]]] += 1
        level, above = tally.size - 1, 0
        while level > 0 and above + tally[level] < limit:
            above += tally[level]
            level -= 1
        room, found = limit - above, 0
        cut[i] = max(0, tally[level] - room)
        for s in range(m):
            k = (s + offsets[i]) % m
            here = levels[out[k]]
            if here > level or (here == level and room > 0):
                room -= here == level
                rows[i, found] = k
                found += 1
        sizes[i] = found


def _workspace(windows: Windows) -> tuple[Any, Any]:
    """The bit to shift and the type of a pattern."""
    columns, m = windows.order.shape
    if columns > MOST_COLUMNS:
        raise ValueError(f"{columns} columns have too many patterns; {MOST_COLUMNS} are the most")
    kind = np.uint8 if columns <= _NARROW else np.uint32
    return kind(1), (m, kind)


def count_patterns(windows: Windows, *, threads: int | None = None) -> Ints:
    """How many of all pairs have each of the 2^v patterns; bit j of a pattern is column j.

    >>> from sfumato.kernels.neighbours.rank_windows import gather, sort_column, value_windows
    >>> column, zero = sort_column(np.array([1.0, 2.0, 2.0])), np.zeros(2)
    >>> runs = value_windows(np.array([2.0, 5.0]), column, zero, zero)
    >>> count_patterns(gather([column], [runs])).tolist()
    [4, 2]
    """
    one, (m, kind) = _workspace(windows)
    order, _, low, high, tail = windows

    def work(start: int, stop: int) -> Ints:
        counts = np.zeros(2 ** len(order), np.int64)
        _count(order, low, high, tail, one, np.empty(m, kind), start, stop, counts)
        return counts

    return np.sum(in_parts(work, len(low), threads), axis=0, dtype=np.int64)


def best_patterns(
    windows: Windows,
    levels: Ints,
    own: Ints,
    *,
    za: Floats | None = None,
    zb: Floats | None = None,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> Best:
    """For each record the masked records whose pattern has the highest level.

    `levels[pattern]` orders the patterns; equal levels tie. Where standardized numbers `za` of the
    records and `zb` of the masked records are given, the nearest of those count alone.
    """
    one, (m, kind) = _workspace(windows)
    order, _, low, high, tail = windows
    n = len(low)
    none = np.empty((0, 0))
    a = np.empty((n, 0)) if za is None else np.ascontiguousarray(za, np.float64)
    b = none if zb is None else np.ascontiguousarray(zb, np.float64)
    mine, rank = np.ascontiguousarray(own, np.int64), np.ascontiguousarray(levels, np.int64)
    if rank.size != 2 ** len(order) or (rank.size and rank.min() < 0) or mine.shape != (n,):
        raise ValueError("one level (0 or more) per pattern and one own row per record are needed")
    found = Best(
        np.empty(n, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
    )  # fmt: skip

    def work(start: int, stop: int) -> None:
        _best(order, low, high, tail, one, np.empty(m, kind), rank, a, b, tolerance, mine,
              start, stop, *found)  # fmt: skip

    in_parts(work, n, threads)
    return found


def shortlist(
    windows: Windows, levels: Ints, limit: int, offsets: Ints, *, threads: int | None = None
) -> tuple[Places, Ints, Ints]:
    """For each record up to `limit` masked records of the highest levels, how many those are, and
    how many of the last level were left out for the limit.

    Of a level that is too large for the limit the first ones are taken, counted from
    `offsets[i]` round the masked file: the caller draws the offsets, or all would take the same.
    """
    one, (m, kind) = _workspace(windows)
    order, _, low, high, tail = windows
    n = len(low)
    rows = np.full((n, min(limit, m)), -1, np.int32)
    sizes, cut = np.zeros(n, np.int64), np.zeros(n, np.int64)
    starts, rank = np.ascontiguousarray(offsets, np.int64), np.ascontiguousarray(levels, np.int64)

    def work(start: int, stop: int) -> None:
        _shortlist(order, low, high, tail, one, np.empty(m, kind), rank, starts, start, stop,
                   rows, sizes, cut)  # fmt: skip

    in_parts(work, n, threads)
    return rows, sizes, cut
