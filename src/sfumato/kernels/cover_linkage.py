"""Linkage to a generalized file: which published records cover a record, and which come nearest to it.

A published record is a row of labels, and each label covers some of its column's values: a run of codes low..high
where values have an order in which that is so, else a set, one bit for each value. A column whose label does not
cover the value adds 1 to the distance; columns that were left as numbers add their squared difference.

Equal published records are given once, with the number of their copies. They are arranged in small blocks; what any
label of a block covers is known for the block as a whole, and for groups of blocks, so that most of them are
passed over unseen. Such a bound is added up in the order of the distance itself, hence never exceeds it in
floating point either. Rows of the result do not depend on one another, nor on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .blocks import Codes, Floats, Ints, distinct_rows, order_in_blocks

Words = NDArray[np.uint64]

BLOCK = 8  # published records to a block
GROUP = 32  # blocks to a group, which is looked at before its blocks are


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
    c: int, runs: Codes, sets: Codes, x: Floats, limit: float,
) -> float:  # fmt: skip
    """The distance of one record to published record c; no further than `limit` is looked at."""
    total = 0.0
    for j in range(runs.size):
        if runs[j] < low[c, j] or runs[j] > high[c, j]:
            total += 1.0
            if total > limit:
                return total
    for j in range(sets.size):
        if not _has(words, start[j] + labels[c, j] * width[j], sets[j]):
            total += 1.0
            if total > limit:
                return total
    for j in range(x.size):
        step = x[j] - numbers[c, j]
        if np.isinf(numbers[c, j]):
            continue
        if not np.isnan(step):
            total += step * step
        elif np.isnan(x[j]) != np.isnan(numbers[c, j]):
            total += 1.0
    return total


@njit(cache=True, nogil=True)
def _summarize(
    low: Codes, high: Codes, labels: Codes, numbers: Floats, words: Words, start: Ints, width: Ints,
    size: int,
) -> tuple[Codes, Codes, Words, Floats, Floats, Codes]:  # fmt: skip
    """What each run of `size` records covers as a whole: runs, sets, and boxes of numbers.

    `gaps` adds up 1 where a number of a column is missing and 2 where one is suppressed.
    """
    m = low.shape[0]
    blocks = (m + size - 1) // size
    least = np.full((low.shape[1], blocks), np.iinfo(np.int32).max, np.int32)
    most = np.full((low.shape[1], blocks), -1, np.int32)
    union = np.zeros((width.sum(), blocks), np.uint64)
    below = np.full((numbers.shape[1], blocks), np.inf)
    above = np.full((numbers.shape[1], blocks), -np.inf)
    gaps = np.zeros((numbers.shape[1], blocks), np.int32)
    for c in range(m):
        b = c // size
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
    of: tuple[Codes, Codes, Words, Floats, Floats, Codes], width: Ints,
    runs: Codes, sets: Codes, x: Floats, first: int, last: int, out: Floats,
) -> None:  # fmt: skip
    """The least distance that each of the blocks first..last can have to one record."""
    least, most, union, below, above, gaps = of
    n = last - first
    out[:n] = 0.0
    for j in range(runs.size):
        code, low, high = runs[j], least[j], most[j]
        for b in range(n):
            out[b] += 1.0 if code < low[first + b] or code > high[first + b] else 0.0
    at = 0
    for j in range(sets.size):
        word, bit = union[at + (sets[j] >> 6)], np.uint64(sets[j] & 63)
        for b in range(n):
            out[b] += 1.0 if (word[first + b] >> bit) & np.uint64(1) == 0 else 0.0
        at += width[j]
    for j in range(x.size):
        value, missing = x[j], np.isnan(x[j])
        for b in range(n):
            gap = gaps[j, first + b]
            if gap & 2:
                continue
            if missing:
                out[b] += 0.0 if gap else 1.0
            else:
                step = max(below[j, first + b] - value, value - above[j, first + b], 0.0)
                out[b] += min(step * step, 1.0) if gap else step * step


@njit(cache=True, nogil=True)
def _search(
    records: tuple[Codes, Codes, Codes, Floats], copies: Ints, tables: tuple[Words, Ints, Ints],
    fine: tuple[Codes, Codes, Words, Floats, Floats, Codes],
    coarse: tuple[Codes, Codes, Words, Floats, Floats, Codes],
    runs: Codes, sets: Codes, x: Floats, start: Floats, tolerance: float, first: int, last: int,
    distance: Floats, ties: Ints,
) -> None:  # fmt: skip
    """Fill distance and ties for the queries first..last.

    start[i] is a distance that some published record has to query i, or infinity.
    """
    low, high, labels, numbers = records
    words, offset, width = tables
    m = low.shape[0]
    blocks = (m + BLOCK - 1) // BLOCK
    groups = (blocks + GROUP - 1) // GROUP
    far, near = np.empty(groups), np.empty(GROUP)
    for i in range(first, last):
        code, item, value = runs[i], sets[i], x[i]
        best = start[i]
        _bounds(coarse, width, code, item, value, 0, groups, far)
        if best > 0.0:
            seed = np.argmin(far)
            # The most promising group first: it makes the others easy to pass over.
            for turn in range(groups + 1):
                g = seed if turn == 0 else turn - 1
                if far[g] >= best:
                    continue
                b0, b1 = g * GROUP, min((g + 1) * GROUP, blocks)
                _bounds(fine, width, code, item, value, b0, b1, near)
                for b in range(b0, b1):
                    if near[b - b0] >= best:
                        continue
                    for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                        here = _distance(
                            low, high, labels, numbers, words, offset, width, c, code, item, value, best,
                        )  # fmt: skip
                        best = min(best, here)
        limit = best + tolerance * best
        count = 0
        for g in range(groups):
            if far[g] > limit:
                continue
            b0, b1 = g * GROUP, min((g + 1) * GROUP, blocks)
            _bounds(fine, width, code, item, value, b0, b1, near)
            for b in range(b0, b1):
                if near[b - b0] > limit:
                    continue
                for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                    here = _distance(
                        low, high, labels, numbers, words, offset, width, c, code, item, value, limit,
                    )  # fmt: skip
                    if here <= limit:
                        count += copies[c]
        distance[i], ties[i] = best, count


@njit(cache=True, nogil=True)
def _count(
    records: tuple[Codes, Codes, Codes, Floats], tables: tuple[Words, Ints, Ints],
    fine: tuple[Codes, Codes, Words, Floats, Floats, Codes],
    coarse: tuple[Codes, Codes, Words, Floats, Floats, Codes],
    runs: Codes, sets: Codes, x: Floats, many: Ints, first: int, last: int, out: Ints,
) -> None:  # fmt: skip
    """Add to out[c] the queries first..last that published record c covers in every column."""
    low, high, labels, numbers = records
    words, offset, width = tables
    m = low.shape[0]
    blocks = (m + BLOCK - 1) // BLOCK
    groups = (blocks + GROUP - 1) // GROUP
    far, near = np.empty(groups), np.empty(GROUP)
    for i in range(first, last):
        code, item, value = runs[i], sets[i], x[i]
        _bounds(coarse, width, code, item, value, 0, groups, far)
        for g in range(groups):
            if far[g] > 0.0:
                continue
            b0, b1 = g * GROUP, min((g + 1) * GROUP, blocks)
            _bounds(fine, width, code, item, value, b0, b1, near)
            for b in range(b0, b1):
                if near[b - b0] > 0.0:
                    continue
                for c in range(b * BLOCK, min((b + 1) * BLOCK, m)):
                    here = _distance(
                        low, high, labels, numbers, words, offset, width, c, code, item, value, 0.0,
                    )  # fmt: skip
                    if here == 0.0:
                        out[c] += many[i]


@njit(cache=True, nogil=True)
def _to_own(
    records: tuple[Codes, Codes, Codes, Floats], tables: tuple[Words, Ints, Ints],
    runs: Codes, sets: Codes, x: Floats, own: Ints,
) -> Floats:  # fmt: skip
    """The distance of each query to its own published record; infinite where it has none."""
    low, high, labels, numbers = records
    words, offset, width = tables
    out = np.full(own.size, np.inf)
    for i in range(own.size):
        c = own[i]
        if c >= 0:
            code, item, value = runs[i], sets[i], x[i]
            out[i] = _distance(
                low, high, labels, numbers, words, offset, width, c, code, item, value, np.inf,
            )  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def _middles(table: Words) -> Floats:
    """The mean code that each row of bits covers: labels near one another cover near values."""
    out = np.zeros(table.shape[0])
    for i in range(table.shape[0]):
        count = 0
        for code in range(64 * table.shape[1]):
            if (table[i, code >> 6] >> np.uint64(code & 63)) & np.uint64(1):
                count += 1
                out[i] += code
        out[i] /= max(count, 1)
    return out


class _Arranged(NamedTuple):
    """Published records in blocks, as the compiled functions take them."""

    order: Ints
    records: tuple[Any, ...]
    tables: tuple[Any, ...]
    fine: tuple[Any, ...]
    coarse: tuple[Any, ...]


def _arrange(published: Published) -> _Arranged:
    m = len(published.low)
    # Labels near one another should share a block: the middle of what one covers says where it lies.
    parts = [(published.low.astype(np.float64) + published.high) / 2.0]
    for j, table in enumerate(published.bits):
        parts.append(_middles(table)[published.sets[:, j], None])
    middle = np.column_stack(parts)
    spread = middle.std(axis=0)
    numbers = np.where(np.isinf(published.numbers), np.nan, published.numbers)
    where = np.column_stack((middle / np.where(spread > 0, spread, 1.0), numbers))
    no_codes, no_weights = np.empty((m, 0), np.int32), np.empty(0)
    rows = np.arange(m, dtype=np.int64)
    order = order_in_blocks(np.ascontiguousarray(where), no_codes, no_weights, rows, BLOCK)
    records = tuple(
        np.ascontiguousarray(part[order])
        for part in (published.low, published.high, published.sets, published.numbers)
    )
    width = np.array([table.shape[1] for table in published.bits], dtype=np.int64)
    sizes = np.array([table.size for table in published.bits], dtype=np.int64)
    start = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64)
    words = np.concatenate([np.zeros(0, np.uint64), *(t.reshape(-1) for t in published.bits)])
    tables = (words, start, width)
    fine = _summarize(*records, *tables, BLOCK)
    return _Arranged(order, records, tables, fine, _summarize(*records, *tables, BLOCK * GROUP))


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
    parts = tuple(map(np.ascontiguousarray, queries))
    to_own = _to_own(found.records, found.tables, *parts, moved)
    # Queries that are alike are searched once; only their own records differ.
    codes = np.ascontiguousarray(np.column_stack((queries.runs, queries.sets)), dtype=np.int32)
    bits = np.where(np.isnan(parts[2]), np.nan, parts[2] + 0.0).view(np.int64)
    first, member = distinct_rows(bits, codes)
    some = tuple(part[first] for part in parts)
    least, count = np.empty(first.size), np.empty(first.size, dtype=np.int64)

    def work(_: int, start: int, stop: int) -> None:
        _search(
            found.records, copies, found.tables, found.fine, found.coarse,
            *some, to_own[first], tolerance, start, stop, least, count,
        )  # fmt: skip

    _in_threads(work, first.size, threads)
    distance, ties = least[member], count[member]
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
            found.records, found.tables, found.fine, found.coarse,
            *map(np.ascontiguousarray, queries), weights, first, last, parts[task],
        )  # fmt: skip

    _in_threads(work, n, threads)
    out = np.zeros(found.order.size, dtype=np.int64)
    out[found.order] = sum(parts.values(), np.zeros(found.order.size, dtype=np.int64))
    return out
