"""Linkage to a generalized file: which published records cover a record, and which are nearest.

Equal published records are given once, with the number of their copies. Most of them are passed
over unseen, block by block (`cover_blocks`), which changes no bit of the answer. Rows of the result
do not depend on one another, nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Codes, Floats, Ints
from ..neighbours.blocks import distinct_rows
from ..threads import cores
from .blocks import (
    BLOCK,
    GROUP,
    Arranged,
    Published,
    Queries,
    Records,
    Summary,
    Tables,
    arrange,
    bounds,
    check,
    distance_to,
)


class Found(NamedTuple):
    """What `cover_nearest` finds for each query."""

    distance: Floats
    """the least distance to any published record"""
    ties: Ints
    """published records at that distance, copies counted"""
    own_tied: NDArray[np.bool_]
    """whether the query's own published record is among them (False where it has none)"""
    own: Floats
    """the distance to its own published record; infinite where it has none"""


@njit(cache=True, nogil=True)
def _search(
    records: Records, copies: Ints, tables: Tables, summary: Summary,
    runs: Codes, sets: Codes, x: Floats, start: Floats, tolerance: float, first: int, last: int,
    distance: Floats, ties: Ints,
) -> None:  # fmt: skip
    """Fill distance and ties for the queries first..last.

    start[i] is a distance that some published record has to query i, or infinity.
    """
    m, width = records[0].shape[0], tables[2]
    blocks = (m + BLOCK - 1) // BLOCK
    groups = (blocks + GROUP - 1) // GROUP
    far, near = np.empty(groups), np.empty(GROUP)
    for i in range(first, last):
        code, item, value = runs[i], sets[i], x[i]
        bounds(summary, width, code, item, value, np.int64(0), groups, far)
        seed = 0
        for g in range(1, groups):
            if far[g] < far[seed]:
                seed = g
        best = limit = start[i]
        count = 0
        # The most promising group first: it makes the others easy to pass over. Then, with the
        # least distance known, all of them once more, to count.
        for turn in range(2 * groups + 1):
            counting = turn > groups
            if turn == groups + 1:
                best = limit
                limit = best + tolerance * best
            g = seed if turn == 0 else (turn - 1) % groups
            if far[g] > limit or (far[g] == limit and not counting):
                continue
            b0, b1 = g * GROUP, min((g + 1) * GROUP, blocks)
            bounds(summary, width, code, item, value, groups + b0, groups + b1, near)
            for b in range(b0, b1):
                if near[b - b0] > limit or (near[b - b0] == limit and not counting):
                    continue
                for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                    here = distance_to(records, tables, c, code, item, value, limit)
                    if not counting:
                        limit = min(limit, here)
                    elif here <= limit:
                        count += copies[c]
        distance[i], ties[i] = best, count


@njit(cache=True, nogil=True)
def _count(
    records: Records, tables: Tables, summary: Summary,
    runs: Codes, sets: Codes, x: Floats, many: Ints, first: int, last: int, out: Ints,
) -> None:  # fmt: skip
    """Add to out[c] the queries first..last that published record c covers in every column."""
    m, width = records[0].shape[0], tables[2]
    blocks = (m + BLOCK - 1) // BLOCK
    groups = (blocks + GROUP - 1) // GROUP
    far, near = np.empty(groups), np.empty(GROUP)
    for i in range(first, last):
        code, item, value = runs[i], sets[i], x[i]
        bounds(summary, width, code, item, value, np.int64(0), groups, far)
        for g in range(groups):
            if far[g] > 0.0:
                continue
            b0, b1 = g * GROUP, min((g + 1) * GROUP, blocks)
            bounds(summary, width, code, item, value, groups + b0, groups + b1, near)
            for b in range(b0, b1):
                if near[b - b0] > 0.0:
                    continue
                for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                    here = distance_to(records, tables, c, code, item, value, 0.0)
                    if here == 0.0:
                        out[c] += many[i]


def _to_own(found: Arranged, queries: Queries, own: Ints) -> Floats:
    """The distance of each query to its own published record; infinite where it has none."""
    has = own >= 0
    low, high, labels = (part[own[has]] for part in found.records[:3])
    numbers, price = (part[own[has]] for part in found.records[3:])
    x = queries.numbers[has]
    runs, sets = queries.runs[has], queries.sets[has]
    words, start, width = found.tables
    covers = words[start + labels * width + (sets >> 6)] >> (sets & 63).astype(np.uint64)
    total = price + np.count_nonzero((runs < low) | (runs > high), axis=1)
    total += np.count_nonzero(covers & np.uint64(1) == 0, axis=1)
    for j in range(x.shape[1]):
        step = x[:, j] - numbers[:, j]
        apart = np.where(np.isnan(step), np.isnan(x[:, j]) != np.isnan(numbers[:, j]), step * step)
        total += np.where(np.isinf(numbers[:, j]), 0.0, apart)
    out = np.full(own.size, np.inf)
    out[has] = total
    return out


def _in_threads(work: Callable[[int, int, int], None], n: int, threads: int | None) -> None:
    workers = cores(threads)
    cuts = np.linspace(0, n, min(max(n, 1), 8 * workers) + 1).astype(int).tolist()
    with ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(work, t, a, b) for t, (a, b) in enumerate(pairwise(cuts))]
        for task in tasks:
            task.result()


def cover_nearest(
    queries: Queries,
    published: Published,
    own: Ints,
    *,
    tolerance: float = 1e-9,
    within: float = np.inf,
    threads: int | None = None,
) -> Found:
    """For each query the least distance to a published record, and how many attain it.

    `own[i]` is the distinct published record that masks query i, -1 where there is none. A record
    ties when its distance is at most (1 + `tolerance`) times the least. Records that are not nearer
    than `within` are not looked for: then that is the distance, and nothing ties.

    >>> runs = np.array([[2], [9]], np.int32)
    >>> none = np.empty((2, 0), np.int32)
    >>> labels = Published(np.array([[1], [3]], np.int32), np.array([[2], [4]], np.int32), none,
    ...                    np.empty((2, 0)), np.array([3, 5]), ())
    >>> found = cover_nearest(Queries(runs, none, np.empty((2, 0))), labels, np.array([0, 1]))
    >>> found.distance.tolist(), found.ties.tolist(), found.own_tied.tolist()
    ([0.0, 1.0], [3, 8], [True, True])
    """
    check(queries, published)
    n = len(queries.runs)
    own = np.asarray(own, dtype=np.int64)
    if own.shape != (n,) or (n and (own.min() < -1 or own.max() >= len(published.low))):
        raise ValueError("own must name a published record for each query, or -1")
    found = arrange(published)
    place = np.full(len(published.low) + 1, -1, dtype=np.int64)
    place[found.order] = np.arange(found.order.size)
    moved = place[own]
    copies = np.asarray(published.copies, dtype=np.int64)[found.order]
    runs, sets = np.ascontiguousarray(queries.runs), np.ascontiguousarray(queries.sets)
    x = np.ascontiguousarray(queries.numbers)
    to_own = _to_own(found, queries, moved)
    # Queries that are alike are searched once; only their own records differ.
    codes = np.ascontiguousarray(np.column_stack((runs, sets)), dtype=np.int32)
    bits = np.where(np.isnan(x), np.nan, x + 0.0).view(np.int64)
    first, member = distinct_rows(bits, codes)
    runs, sets, x = runs[first], sets[first], x[first]
    start = np.minimum(to_own[first], within)
    least, count = np.empty(first.size), np.empty(first.size, dtype=np.int64)

    def work(_: int, low: int, high: int) -> None:
        _search(
            found.records, copies, found.tables, found.summary,
            runs, sets, x, start, tolerance, low, high, least, count,
        )  # fmt: skip

    _in_threads(work, first.size, threads)
    distance, ties = least[member], count[member]
    own_tied = (ties > 0) & (to_own <= distance + tolerance * distance)
    return Found(distance, ties, own_tied, to_own)


def cover_counts(
    queries: Queries, published: Published, many: Ints, *, threads: int | None = None
) -> Ints:
    """How many queries each published record covers in every column; query i counts many[i] times.

    >>> none = np.empty((3, 0), np.int32)
    >>> runs = np.array([[1], [2], [9]], np.int32)
    >>> labels = Published(np.array([[1]], np.int32), np.array([[2]], np.int32), none[:1],
    ...                    np.empty((1, 0)), np.array([1]), ())
    >>> cover_counts(Queries(runs, none, np.empty((3, 0))), labels, np.array([1, 5, 7])).tolist()
    [6]
    """
    check(queries, published)
    n = len(queries.runs)
    found = arrange(published)
    weights = np.asarray(many, dtype=np.int64)
    runs, sets = np.ascontiguousarray(queries.runs), np.ascontiguousarray(queries.sets)
    x = np.ascontiguousarray(queries.numbers)
    parts: dict[int, Ints] = {}

    def work(task: int, first: int, last: int) -> None:
        parts[task] = np.zeros(found.order.size, dtype=np.int64)
        _count(
            found.records, found.tables, found.summary,
            runs, sets, x, weights, first, last, parts[task],
        )  # fmt: skip

    _in_threads(work, n, threads)
    out = np.zeros(found.order.size, dtype=np.int64)
    out[found.order] = sum(parts.values(), np.zeros(found.order.size, dtype=np.int64))
    return out
