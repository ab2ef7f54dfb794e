"""Linkage to a generalized file: which published records cover a record, and which come nearest to it.

A published record is a row of labels, and each label covers some of its column's values: a run of codes low..high
where values have an order in which that is so, else a set, one bit for each value. A column whose label does not
cover the value adds 1 to the distance; columns that were left as numbers add their squared difference.

Equal published records are given once, with the number of their copies. They are arranged in small blocks; what
any label of a block covers is known for the block as a whole, so that most blocks are passed over unseen. The
bound of a block is added up in the order of the distance itself, hence never exceeds it in floating point
either. Rows of the result do not depend on one another, nor on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .linkage import order_in_blocks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Words = NDArray[np.uint64]

BLOCK = 32  # published records to a block


class Queries(NamedTuple):
    """Records as they were: codes for the columns of runs and of sets, numbers for the others."""

    runs: Codes
    """(n, r): the value's code in each column of runs"""
    sets: Codes
    """(n, s): the value's code in each column of sets"""
    numbers: Floats
    """(n, p): standardized numbers, NaN where missing"""


class Published(NamedTuple):
    """Distinct published records."""

    low: Codes
    """(m, r): the first code that the label covers"""
    high: Codes
    """(m, r): the last code that it covers"""
    sets: Codes
    """(m, s): the number of the label in its column's table of bits"""
    numbers: Floats
    """(m, p): standardized numbers, NaN where missing, infinite where suppressed (covers everything)"""
    copies: Ints
    """(m,): how many published records are like this one"""
    bits: tuple[Words, ...]
    """for each column of sets, (labels, words): bit v of a row says whether the label covers code v"""


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
def _has(words: Words, start: int, code: int) -> bool:
    return (words[start + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def _distance(
    low: Codes, high: Codes, labels: Codes, numbers: Floats, words: Words, start: Ints, width: Ints,
    runs: Codes, sets: Codes, x: Floats, limit: float,
) -> float:  # fmt: skip
    """The distance of one record to one published one; no further than `limit` is looked at."""
    total = 0.0
    for j in range(runs.size):
        if runs[j] < low[j] or runs[j] > high[j]:
            total += 1.0
    if total > limit:
        return total
    for j in range(sets.size):
        if not _has(words, start[j] + labels[j] * width[j], sets[j]):
            total += 1.0
    if total > limit:
        return total
    for j in range(x.size):
        step = x[j] - numbers[j]
        if np.isinf(numbers[j]):
            total += 0.0
        elif not np.isnan(step):
            total += step * step
        elif np.isnan(x[j]) != np.isnan(numbers[j]):
            total += 1.0
    return total


@njit(cache=True, nogil=True)
def _summarize(
    low: Codes, high: Codes, labels: Codes, numbers: Floats, words: Words, start: Ints, width: Ints
) -> tuple[Codes, Codes, Words, Floats, Floats, Codes]:
    """What each block covers as a whole: runs, sets, and boxes of numbers.

    `gaps` adds up 1 where a block misses a number of a column and 2 where one of them is suppressed.
    """
    m = low.shape[0]
    blocks = (m + BLOCK - 1) // BLOCK
    least = np.full((low.shape[1], blocks), np.iinfo(np.int32).max, np.int32)
    most = np.full((low.shape[1], blocks), -1, np.int32)
    union = np.zeros((width.sum(), blocks), np.uint64)
    below = np.full((numbers.shape[1], blocks), np.inf)
    above = np.full((numbers.shape[1], blocks), -np.inf)
    gaps = np.zeros((numbers.shape[1], blocks), np.int32)
    for c in range(m):
        b = c // BLOCK
        for j in range(low.shape[1]):
            if low[c, j] <= high[c, j]:
                least[j, b] = min(least[j, b], low[c, j])
                most[j, b] = max(most[j, b], high[c, j])
        at = 0
        for j in range(labels.shape[1]):
            for w in range(width[j]):
                union[at + w, b] |= words[start[j] + labels[c, j] * width[j] + w]
            at += width[j]
        for j in range(numbers.shape[1]):
            if np.isnan(numbers[c, j]):
                gaps[j, b] |= 1
            elif np.isinf(numbers[c, j]):
                gaps[j, b] |= 2
            else:
                below[j, b] = min(below[j, b], numbers[c, j])
                above[j, b] = max(above[j, b], numbers[c, j])
    return least, most, union, below, above, gaps


@njit(cache=True, nogil=True)
def _bounds(
    least: Codes, most: Codes, union: Words, below: Floats, above: Floats, gaps: Codes, width: Ints,
    runs: Codes, sets: Codes, x: Floats, out: Floats,
) -> None:  # fmt: skip
    """The least distance that each block can have to one record."""
    out[:] = 0.0
    for j in range(runs.size):
        first, last = least[j], most[j]
        for b in range(out.size):
            out[b] += 1.0 if runs[j] < first[b] or runs[j] > last[b] else 0.0
    at = 0
    for j in range(sets.size):
        word, bit = union[at + (sets[j] >> 6)], np.uint64(sets[j] & 63)
        for b in range(out.size):
            out[b] += 1.0 if (word[b] >> bit) & np.uint64(1) == 0 else 0.0
        at += width[j]
    for j in range(x.size):
        missing = np.isnan(x[j])
        for b in range(out.size):
            if gaps[j, b] & 2:
                out[b] += 0.0
            elif missing:
                out[b] += 0.0 if gaps[j, b] else 1.0
            else:
                step = max(below[j, b] - x[j], x[j] - above[j, b], 0.0)
                square = step * step
                out[b] += min(square, 1.0) if gaps[j, b] else square


@njit(cache=True, nogil=True)
def _search(
    low: Codes, high: Codes, labels: Codes, numbers: Floats, copies: Ints,
    words: Words, start: Ints, width: Ints,
    least: Codes, most: Codes, union: Words, below: Floats, above: Floats, gaps: Codes,
    runs: Codes, sets: Codes, x: Floats, own: Ints, tolerance: float, first: int, last: int,
    distance: Floats, ties: Ints, to_own: Floats,
) -> None:  # fmt: skip
    """Fill distance, ties and to_own for the queries first..last."""
    m = low.shape[0]
    bound = np.empty((m + BLOCK - 1) // BLOCK)
    for i in range(first, last):
        c = own[i]
        to_own[i] = np.inf
        if c >= 0:
            to_own[i] = _distance(
                low[c], high[c], labels[c], numbers[c], words, start, width,
                runs[i], sets[i], x[i], np.inf,
            )  # fmt: skip
        best = to_own[i]
        _bounds(least, most, union, below, above, gaps, width, runs[i], sets[i], x[i], bound)
        if best > 0.0:
            seed = np.argmin(bound)
            # The most promising block first: it makes the others easy to pass over.
            for turn in range(bound.size + 1):
                b = seed if turn == 0 else turn - 1
                if bound[b] >= best:
                    continue
                for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                    here = _distance(
                        low[c], high[c], labels[c], numbers[c], words, start, width,
                        runs[i], sets[i], x[i], best,
                    )  # fmt: skip
                    best = min(best, here)
        limit = best + tolerance * best
        count = 0
        for b in range(bound.size):
            if bound[b] <= limit:
                for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                    here = _distance(
                        low[c], high[c], labels[c], numbers[c], words, start, width,
                        runs[i], sets[i], x[i], limit,
                    )  # fmt: skip
                    if here <= limit:
                        count += copies[c]
        distance[i], ties[i] = best, count


@njit(cache=True, nogil=True)
def _count(
    low: Codes, high: Codes, labels: Codes, numbers: Floats,
    words: Words, start: Ints, width: Ints,
    least: Codes, most: Codes, union: Words, below: Floats, above: Floats, gaps: Codes,
    runs: Codes, sets: Codes, x: Floats, many: Ints, first: int, last: int, out: Ints,
) -> None:  # fmt: skip
    """Add to out[c] the queries first..last that published record c covers in every column."""
    m = low.shape[0]
    bound = np.empty((m + BLOCK - 1) // BLOCK)
    for i in range(first, last):
        _bounds(least, most, union, below, above, gaps, width, runs[i], sets[i], x[i], bound)
        for b in range(bound.size):
            if bound[b] == 0.0:
                for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                    here = _distance(
                        low[c], high[c], labels[c], numbers[c], words, start, width,
                        runs[i], sets[i], x[i], 0.0,
                    )  # fmt: skip
                    if here == 0.0:
                        out[c] += many[i]


class _Arranged(NamedTuple):
    """Published records in blocks, as the compiled functions take them."""

    order: Ints
    records: tuple[Any, ...]
    words: tuple[Any, ...]
    blocks: tuple[Any, ...]


def _arrange(published: Published) -> _Arranged:
    m, r = published.low.shape
    # Labels near one another should share a block: the middle of a run says where it lies.
    middle = (published.low.astype(np.float64) + published.high) / 2.0
    spread = middle.std(axis=0) if m else np.ones(r)
    numbers = np.where(np.isinf(published.numbers), np.nan, published.numbers)
    where = np.column_stack((middle / np.where(spread > 0, spread, 1.0), numbers))
    weights = np.ones(published.sets.shape[1])
    order = order_in_blocks(
        np.ascontiguousarray(where), published.sets, weights, np.arange(m, dtype=np.int64), BLOCK
    )
    records = tuple(
        np.ascontiguousarray(part[order])
        for part in (published.low, published.high, published.sets, published.numbers)
    )
    width = np.array([table.shape[1] for table in published.bits], dtype=np.int64)
    sizes = np.array([table.size for table in published.bits], dtype=np.int64)
    start = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64)
    words = (
        np.concatenate([table.reshape(-1) for table in published.bits])
        if published.bits
        else np.zeros(0, dtype=np.uint64)
    )
    tables = (words, start, width)
    return _Arranged(order, records, tables, _summarize(*records, *tables))


def _check(queries: Queries, published: Published) -> None:
    n = len(queries.runs)
    if not len(published.low):
        raise ValueError("there are no published records to link to")
    for part in (queries.sets, queries.numbers):
        if len(part) != n:
            raise ValueError("every part of the queries needs the same number of rows")
    for mine, theirs in (
        (queries.runs, published.low),
        (queries.runs, published.high),
        (queries.sets, published.sets),
        (queries.numbers, published.numbers),
    ):
        if mine.shape[1] != theirs.shape[1] or len(theirs) != len(published.low):
            raise ValueError("queries and published records must have the same columns")
    if len(published.bits) != published.sets.shape[1]:
        raise ValueError("one table of bits is needed for each column of sets")
    for j, table in enumerate(published.bits):
        if queries.sets.size and int(queries.sets[:, j].max()) >= 64 * table.shape[1]:
            raise ValueError(f"the table of bits of column {j} is too narrow for its codes")
        if int(published.sets[:, j].max()) >= len(table):
            raise ValueError(f"the table of bits of column {j} lacks a label")


def _in_threads(work: Callable[[int, int, int], None], n: int, threads: int | None) -> None:
    workers = len(os.sched_getaffinity(0)) if threads is None else max(1, threads)
    cuts = np.linspace(0, n, min(max(n, 1), 8 * workers) + 1).astype(int).tolist()
    with ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(work, t, a, b) for t, (a, b) in enumerate(zip(cuts, cuts[1:], strict=False))]
        for task in tasks:
            task.result()


def cover_nearest(
    queries: Queries,
    published: Published,
    own: Ints,
    *,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> Found:
    """For each query the least distance to a published record, and how many attain it.

    `own[i]` is the distinct published record that masks query i, -1 where there is none. A record ties when its
    distance is at most (1 + `tolerance`) times the least.

    >>> runs = np.array([[2], [9]], np.int32)
    >>> none = np.empty((2, 0), np.int32)
    >>> labels = Published(np.array([[1], [3]], np.int32), np.array([[2], [4]], np.int32), none,
    ...                    np.empty((2, 0)), np.array([3, 5]), ())
    >>> found = cover_nearest(Queries(runs, none, np.empty((2, 0))), labels, np.array([0, 1]))
    >>> found.distance.tolist(), found.ties.tolist(), found.own_tied.tolist()
    ([0.0, 1.0], [3, 8], [True, True])
    """
    _check(queries, published)
    n = len(queries.runs)
    own = np.asarray(own, dtype=np.int64)
    if own.shape != (n,) or (n and (own.min() < -1 or own.max() >= len(published.low))):
        raise ValueError("own must name a published record for each query, or -1")
    found = _arrange(published)
    place = np.full(len(published.low) + 1, -1, dtype=np.int64)
    place[found.order] = np.arange(found.order.size)
    moved = place[own]
    copies = np.asarray(published.copies, dtype=np.int64)[found.order]
    distance, to_own = np.empty(n), np.empty(n)
    ties = np.empty(n, dtype=np.int64)

    def work(_: int, first: int, last: int) -> None:
        _search(
            *found.records, copies, *found.words, *found.blocks,
            *map(np.ascontiguousarray, queries), moved, tolerance, first, last, distance, ties, to_own,
        )  # fmt: skip

    _in_threads(work, n, threads)
    own_tied = (moved >= 0) & (to_own <= distance + tolerance * distance)
    return Found(distance, ties, own_tied, to_own)


def cover_counts(
    queries: Queries, published: Published, many: Ints, *, threads: int | None = None
) -> Ints:
    """How many queries each published record covers in every column; query i counts many[i] times."""
    _check(queries, published)
    n = len(queries.runs)
    found = _arrange(published)
    weights = np.asarray(many, dtype=np.int64)
    parts: dict[int, Ints] = {}

    def work(task: int, first: int, last: int) -> None:
        parts[task] = np.zeros(found.order.size, dtype=np.int64)
        _count(
            *found.records, *found.words, *found.blocks,
            *map(np.ascontiguousarray, queries), weights, first, last, parts[task],
        )  # fmt: skip

    _in_threads(work, n, threads)
    out = np.zeros(found.order.size, dtype=np.int64)
    out[found.order] = sum(parts.values(), np.zeros(found.order.size, dtype=np.int64))
    return out
