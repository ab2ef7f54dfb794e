"""What the columns of a Mondrian node hold: distinct codes with their counts, median and lowest.

The records of a node are rows that lie here, or records elsewhere that were counted there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from sfumato.kernels.mondrian._layout import (
    BEGIN,
    END,
    HIGH,
    INNER,
    INSIDE,
    LOW,
    NOMINAL,
    TREE,
    Codes,
    Columns,
    Ints,
    Records,
    Rows,
    Whole,
)

BINS = 1 << 16  # a histogram this long still lies in the second-level cache
FEW = 24  # codes that insertion sorts soonest
DIGITS = 256  # that sort more codes than few, one after the other
LOOKAHEAD = 8  # nodes below this many times k rows look at all columns in "expected"


SLOT = np.dtype(
    [
        ("size", np.int64),  # of a part: its rows,
        ("low", np.int64),  # its lowest and highest code in the column that is split,
        ("high", np.int64),
        ("edge", np.int64),  # where it begins among the rows,
        ("place", np.int64),  # and where its next row goes
        ("node", np.int64),  # tree nodes in breadth-first order, with their rows,
        ("rows", np.int64),
        ("begin", np.int64),  # the slice of `value` below each,
        ("end", np.int64),
        ("part", np.int64),  # the branch it is in,
        ("drop", np.float64),  # and how much less it costs than its parent
        ("width", np.float64),  # of a column
    ],
    align=True,
)


Slots = Records  # SLOT


class Scratch(NamedTuple):
    """Working memory of one thread, made once and used by every node."""

    hist: Rows  # all zero between uses
    value: Codes  # distinct codes of a column, ascending
    tally: Rows  # and how many rows have each
    part: Ints  # part of a leaf of a tree, valid for those that are present
    slot: Slots
    reach: Codes  # lowest and highest code of each part in each column
    owner: Ints  # part of a row, for small nodes
    stamp: Ints  # of a nominal code: the last value set in which it was counted


def make_scratch(columns: Columns, x: Codes, ids: Rows, most: int, k: int) -> Scratch:
    """Working memory for nodes of at most `most` rows of the buffers x and ids."""
    kind, size = columns.column["kind"], columns.column["size"]
    codes = int(size.max()) + 2
    distinct = min(codes, most + 1)
    branches = int((columns.node["end"] - columns.node["begin"]).max(initial=1))
    parts = min(branches + 1, most // k + 2) + 1
    return Scratch(
        hist=np.zeros(max(min(codes, max(4 * most + 64, BINS)), DIGITS), dtype=ids.dtype),
        value=np.empty(distinct, dtype=x.dtype),
        tally=np.empty(distinct, dtype=ids.dtype),
        part=np.empty(size.max(initial=0, where=kind == TREE) + 1, dtype=np.int64),
        slot=np.empty(max(columns.node.size + LOOKAHEAD, size.size), dtype=SLOT),
        reach=np.empty((2, parts, x.shape[-1]), dtype=x.dtype),
        owner=np.empty(min(most, LOOKAHEAD * k), dtype=np.int64),
        stamp=np.zeros(size.max(initial=0, where=kind == NOMINAL) + 1, dtype=np.int64),
    )


@njit(**INNER)
def _sort(value: Codes, spare: Rows, hist: Rows, n: Whole, low: Whole, reach: Whole) -> None:
    """Sort the first n codes, all in low..low + reach: by insertion, or digit by digit if many."""
    for i in range(1, n if n <= FEW else 0):
        code, at = value[i], i
        while at > 0 and value[at - 1] > code:
            value[at] = value[at - 1]
            at -= 1
        value[at] = code
    shift = 0
    while n > FEW and reach >> shift > 0:
        for i in range(n):
            hist[((np.int64(value[i]) - low) >> shift) & (DIGITS - 1)] += 1
        place = 0
        for t in range(DIGITS):
            place += hist[t]
            hist[t] = place - hist[t]
        for i in range(n):
            t = ((np.int64(value[i]) - low) >> shift) & (DIGITS - 1)
            spare[hist[t]] = value[i]
            hist[t] += 1
        for i in range(n):
            value[i] = spare[i]
        for t in range(DIGITS):
            hist[t] = 0
        shift += 8


@njit(**INNER)
def _distinct_rows(x: Codes, node: Ints, j: Whole, scratch: Scratch) -> Whole:
    a, b, low, high = node[BEGIN], node[END], node[LOW + 2 * j], node[HIGH + 2 * j]
    n, bins = b - a, high - low + 1
    value, count, hist = scratch.value, scratch.tally, scratch.hist
    found = 0
    if bins <= 4 * n + 64:
        for i in range(a, b):
            hist[np.int64(x[i, j]) - low] += 1
        for t in range(bins):
            if hist[t] > 0:
                value[found] = low + t
                count[found] = hist[t]
                hist[t] = 0
                found += 1
        return found
    for i in range(n):
        value[i] = x[a + i, j]
    _sort(value, count, hist, n, low, high - low)
    for i in range(n):
        if found > 0 and value[i] == value[found - 1]:
            count[found - 1] += 1
        else:
            value[found] = value[i]
            count[found] = 1
            found += 1
    return found


@njit(**INNER)
def _median_row(x: Codes, node: Ints, j: Whole, scratch: Scratch) -> tuple[Whole, Whole, Whole]:
    """A histogram of leading digits finds the interval of the median, then again inside it: nothing
    is sorted, and where the codes are no more than a few times the rows one pass is enough."""
    a, b, low, high = node[BEGIN], node[END], node[LOW + 2 * j], node[HIGH + 2 * j]
    n, hist = b - a, scratch.hist
    middle = n // 2
    below = np.int64(0)
    limit = min(max(4 * n, 64), BINS)
    while True:
        shift = 0
        while (high - low) >> shift >= limit:
            shift += 1
        bins = ((high - low) >> shift) + 1
        for i in range(a, b):
            code = np.int64(x[i, j])
            if low <= code <= high:
                hist[(code - low) >> shift] += 1
        t = 0
        while below + hist[t] <= middle:
            below += hist[t]
            t += 1
        upto = below + hist[t]
        for bin in range(bins):
            hist[bin] = 0
        if shift == 0:
            return low + t, below, upto
        low += t << shift
        high = min(high, low + (1 << shift) - 1)


@njit(**INNER)
def _lowest_row(x: Codes, node: Ints, j: Whole) -> tuple[Whole, Whole]:
    low, missing = node[LOW + 2 * j], np.int64(0)
    if low == 0:
        low = node[HIGH + 2 * j]
        for i in range(node[BEGIN], node[END]):
            code = np.int64(x[i, j])
            if code == 0:
                missing += 1
            elif code < low:
                low = code
    return low, missing


class Histograms(NamedTuple):
    """The records of a node that are somewhere else: what each column holds of them.

    Of column j, `value[start[j]:start[j + 1]]` are the distinct codes, ascending, and `tally` says
    how many records have each.
    """

    value: Codes
    tally: Rows
    start: Ints


@njit(**INNER)
def _distinct_counted(held: Histograms, node: Ints, j: Whole, scratch: Scratch) -> Whole:
    begin = held.start[j]
    found = held.start[j + 1] - begin
    for t in range(found):
        scratch.value[t] = held.value[begin + t]
        scratch.tally[t] = held.tally[begin + t]
    return found


@njit(**INNER)
def _median_counted(
    held: Histograms, node: Ints, j: Whole, scratch: Scratch
) -> tuple[Whole, Whole, Whole]:
    middle, t = (node[END] - node[BEGIN]) // 2, held.start[j]
    below: Whole = np.int64(0)
    while below + held.tally[t] <= middle:
        below += held.tally[t]
        t += 1
    return np.int64(held.value[t]), below, below + held.tally[t]


@njit(**INNER)
def _lowest_counted(held: Histograms, node: Ints, j: Whole) -> tuple[Whole, Whole]:
    low, at = node[LOW + 2 * j], held.start[j]
    missing: Whole = np.int64(0)
    if low == 0:
        missing += held.tally[at]
        low = np.int64(held.value[at + 1]) if at + 1 < held.start[j + 1] else np.int64(0)
    return low, missing


# What a node is split by depends on its columns' histograms alone, unless it is small: the same
# code decides over rows that lie here and over records that are counted where they are.


def distinct(source: Codes | Histograms, node: Ints, j: Whole, scratch: Scratch) -> Whole:
    """Distinct codes of a column with their counts, into the scratch; returns how many."""
    raise NotImplementedError  # compiled code has it


def median(
    source: Codes | Histograms, node: Ints, j: Whole, scratch: Scratch
) -> tuple[Whole, Whole, Whole]:
    """The code in the middle of the sorted column, the rows below it, and those up to it."""
    raise NotImplementedError  # compiled code has it


def lowest(source: Codes | Histograms, node: Ints, j: Whole) -> tuple[Whole, Whole]:
    """The lowest code of a column that is not missing, 0 where all are, and how many are."""
    raise NotImplementedError  # compiled code has it


@overload(distinct, strict=False, jit_options=INSIDE)
def _distinct(source: Any, node: Any, j: Any, scratch: Any) -> Any:
    if isinstance(source, types.Array):
        return lambda source, node, j, scratch: _distinct_rows(source, node, j, scratch)
    return lambda source, node, j, scratch: _distinct_counted(source, node, j, scratch)


@overload(median, strict=False, jit_options=INSIDE)
def _median(source: Any, node: Any, j: Any, scratch: Any) -> Any:
    if isinstance(source, types.Array):
        return lambda source, node, j, scratch: _median_row(source, node, j, scratch)
    return lambda source, node, j, scratch: _median_counted(source, node, j, scratch)


@overload(lowest, strict=False, jit_options=INSIDE)
def _lowest(source: Any, node: Any, j: Any) -> Any:
    if isinstance(source, types.Array):
        return lambda source, node, j: _lowest_row(source, node, j)
    return lambda source, node, j: _lowest_counted(source, node, j)
