"""Published labels arranged for linkage: what each covers, and what blocks of them cover together.

A published record is a row of labels, and each label covers some of its column's values: a run of
codes low..high where values have an order in which that is so, else a set, one bit for each value.
A column whose label does not cover the value adds 1 to the distance; columns that were left as
numbers add their squared difference, and what a record leaves open may have a price of its own, so
that one that could be anybody's is not the nearest to everybody.

Records are arranged in small blocks, and blocks in groups. What any label of a block covers is
known for the block as a whole, which bounds the distance of everything in it from below. A bound is
added up in the order of the distance itself, hence never exceeds it in floating point either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Codes, Floats, Ints
from ..neighbours.blocks import order_in_blocks

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Records = tuple[Codes, Codes, Codes, Floats, Floats]
"""Low, high, labels of sets, numbers, prices: published records in the order of their blocks."""
Tables = tuple[Words, Ints, Ints]
"""The bits of all columns of sets; where each column starts; the words of one of its labels."""
Summary = tuple[Codes, Codes, Words, Floats, Floats, Codes, Floats]
"""For each group and then each block: runs from and to, bits, numbers from and to, gaps, price."""

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
    """(m, p): standardized numbers, NaN where missing, infinite where suppressed"""
    copies: Ints
    """(m,): how many published records are like this one"""
    bits: tuple[Words, ...]
    """for each column of sets, (labels, words): bit v of a row: whether the label covers code v"""
    price: Floats | None = None
    """(m,): what a record's open cells add to each distance to it; nothing unless given"""

    @property
    def records(self) -> Records:
        """As the compiled functions take them, in this order."""
        price = np.zeros(len(self.low)) if self.price is None else self.price
        return self.low, self.high, self.sets, self.numbers, price

    @property
    def tables(self) -> Tables:
        """The bits of all columns of sets, one after another."""
        width = np.array([table.shape[1] for table in self.bits], dtype=np.int64)
        start = np.cumsum([0, *(table.size for table in self.bits)])[:-1].astype(np.int64)
        words = np.concatenate([np.zeros(0, np.uint64), *(t.reshape(-1) for t in self.bits)])
        return words, start, width


@njit(cache=True, nogil=True, inline="always")
def distance_to(
    records: Records, tables: Tables, c: int, runs: Codes, sets: Codes, x: Floats, limit: float
) -> float:
    """The distance of one record to published record c; no further than `limit` is looked at."""
    low, high, labels, numbers, price = records
    words, start, width = tables
    total = price[c]
    if total > limit:
        return total
    for j in range(runs.size):
        if runs[j] < low[c, j] or runs[j] > high[c, j]:
            total += 1.0
            if total > limit:
                return total
    for j in range(sets.size):
        word = words[start[j] + labels[c, j] * width[j] + (sets[j] >> 6)]
        if (word >> np.uint64(sets[j] & 63)) & np.uint64(1) == 0:
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


def _summary(records: Records, bits: tuple[Words, ...]) -> Summary:
    """What each group and each block covers as a whole: runs, sets, and boxes of numbers.

    `gaps` adds up 1 where a number of a column is missing and 2 where one is suppressed.
    """
    low, high, labels, numbers, price = records
    starts = [np.arange(0, len(low), size) for size in (BLOCK * GROUP, BLOCK)]
    some, real = low <= high, np.isfinite(numbers)

    def of_runs(reduce: np.ufunc, values: np.ndarray) -> np.ndarray:
        return np.concatenate([reduce.reduceat(values, edges).T for edges in starts], axis=-1)

    words = [
        of_runs(np.bitwise_or, table[labels[:, j], w])
        for j, table in enumerate(bits)
        for w in range(table.shape[1])
    ]
    gaps = np.isnan(numbers) + 2 * np.isinf(numbers)
    parts = (
        of_runs(np.minimum, np.where(some, low, np.iinfo(np.int32).max)),
        of_runs(np.maximum, np.where(some, high, -1)),
        np.array(words, np.uint64).reshape(-1, sum(map(len, starts))),
        of_runs(np.minimum, np.where(real, numbers, np.inf)),
        of_runs(np.maximum, np.where(real, numbers, -np.inf)),
        of_runs(np.bitwise_or, gaps.astype(np.int32)),
        of_runs(np.minimum, price),
    )
    least, most, union, below, above, lacks, cheapest = map(np.ascontiguousarray, parts)
    return least, most, union, below, above, lacks, cheapest


@njit(cache=True, nogil=True)
def bounds(
    of: Summary, width: Ints,
    runs: Codes, sets: Codes, x: Floats, first: int | np.int64, last: int, out: Floats,
) -> None:  # fmt: skip
    """The least distance that each of the entries first..last can have to one record."""
    least, most, union, below, above, gaps, cheapest = of
    n = last - first
    out[:n] = cheapest[first:last]
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


def _middles(table: Words) -> Floats:
    """The mean code that each row of bits covers: labels near one another cover near values."""
    rows = table.astype("<u8").view(np.uint8)
    codes = [np.flatnonzero(np.unpackbits(row, bitorder="little")) for row in rows]
    return np.array([one.sum() / max(one.size, 1) for one in codes], np.float64)


class Arranged(NamedTuple):
    """Published records in blocks, as the compiled functions take them."""

    order: Ints
    records: Records
    tables: Tables
    summary: Summary


def arrange(published: Published) -> Arranged:
    """The published records in blocks of neighbours."""
    # Labels near one another should share a block: the middle of what one covers says where it is.
    parts = [(published.low.astype(np.float64) + published.high) / 2.0]
    for j, table in enumerate(published.bits):
        parts.append(_middles(table)[published.sets[:, j], None])
    middle = np.column_stack(parts)
    spread = middle.std(axis=0)
    numbers = np.where(np.isinf(published.numbers), np.nan, published.numbers)
    where = np.column_stack((middle / np.where(spread > 0, spread, 1.0), numbers))
    order = _order(np.ascontiguousarray(where), _open(published))
    low, high, sets, y, price = published.records
    records: Records = (low[order], high[order], sets[order], y[order], price[order])
    return Arranged(order, records, published.tables, _summary(records, published.bits))


def _open(published: Published) -> Flags:
    """(m, columns): cells that could be anything: these alone cover missing and a value too."""
    parts = [(published.low == 0) & (published.high > 0), np.isinf(published.numbers)]
    for j, table in enumerate(published.bits):
        first = table[:, 0]
        wide = ((first & np.uint64(1)) == 1) & ((first > 1) | (table[:, 1:] > 0).any(axis=1))
        parts.append(wide[published.sets[:, j], None])
    return np.column_stack(parts)


def _order(where: Floats, hidden: Flags) -> Ints:
    """Neighbours together, among those in which the same cells are open: one record that could be
    anything would make its whole block so."""
    patterns, which = np.unique(hidden, axis=0, return_inverse=True)
    if len(patterns) > max(1, len(where) // (4 * BLOCK)):
        which = np.zeros(len(where), dtype=np.int64)
    sorted_rows = np.argsort(which.reshape(-1), kind="stable").astype(np.int64)
    cuts = np.flatnonzero(np.diff(which.reshape(-1)[sorted_rows])) + 1
    parts = np.split(sorted_rows, cuts)
    return np.concatenate([order_in_blocks(where, np.empty(0), rows, BLOCK) for rows in parts])


def check(queries: Queries, published: Published) -> None:
    """`ValueError` where queries and published records do not fit together."""
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
    if published.price is not None and published.price.shape != (len(published.low),):
        raise ValueError("every published record has one price")
    if len(published.bits) != published.sets.shape[1]:
        raise ValueError("one table of bits is needed for each column of sets")
    for j, table in enumerate(published.bits):
        if queries.sets.size and int(queries.sets[:, j].max()) >= 64 * table.shape[1]:
            raise ValueError(f"the table of bits of column {j} is too narrow for its codes")
        if int(published.sets[:, j].max()) >= len(table):
            raise ValueError(f"the table of bits of column {j} lacks a label")
