"""Which split a Mondrian node gets: the widest column's, or the one that gains most.

A node is a run of rows ``x[a:b]`` with the lowest and highest code of every column. A split is five
integers ``(how, column, low, high, rows of the first part)``:

- CARVE: the rows with a code in low..high against the others; a cut between values, missing against
  present, one value or one tree node against the rest.
- HALVES: the first half of the rows in the order of their codes (ties in row order); `low` is the
  code that both halves may share and `high` the number of its rows in the first half.
- BRANCH: the children of the lowest common tree node; `branches` leaves each code's part in
  ``scratch.part``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.mondrian._layout import (
    INNER,
    NOMINAL,
    TREE,
    Codes,
    Columns,
    Floats,
    Ints,
    Rows,
    Whole,
)

NONE, CARVE, HALVES, BRANCH = 0, 1, 2, 3
BINS = 1 << 16  # a histogram this long still lies in the second-level cache
MARKS = 62  # columns that have a bit in `dead`
LOOKAHEAD = 8  # nodes below this many times k rows look at all columns in "expected"

Split = tuple[Whole, Whole, Whole, Whole, Whole]


class Scratch(NamedTuple):
    """Working memory of one thread, made once and used by every node."""

    hist: Rows  # all zero between uses
    value: Codes  # distinct codes of a column, ascending
    tally: Rows  # and how many rows have each
    part: Ints  # part of a leaf of a tree, valid for those that are present
    size: Ints  # rows of a part
    low: Ints  # lowest and highest code of a part
    high: Ints
    node: Ints  # tree nodes in breadth-first order, with the slice of `value` below each
    begin: Ints
    end: Ints
    rows: Ints
    width: Floats  # one per column
    owner: Ints  # part of a row, for small nodes
    stamp: Ints  # of a nominal code: the last value set in which it was counted


def make_scratch(columns: Columns, dtypes: tuple[Any, Any], most: int, k: int) -> Scratch:
    """Working memory for nodes of at most `most` rows, given the types of codes and row numbers."""
    code, row = dtypes
    size, kind = columns.size, columns.kind
    codes = int(size.max()) + 2
    distinct = min(codes, most + 1)
    slots = columns.first.size + LOOKAHEAD
    return Scratch(
        hist=np.zeros(min(codes, max(4 * most + 64, BINS)), dtype=row),
        value=np.empty(distinct, dtype=code),
        tally=np.empty(distinct, dtype=row),
        part=np.empty(size.max(initial=0, where=kind == TREE) + 1, dtype=np.int64),
        size=np.empty(slots, dtype=np.int64),
        low=np.empty(slots, dtype=np.int64),
        high=np.empty(slots, dtype=np.int64),
        node=np.empty(slots, dtype=np.int64),
        begin=np.empty(slots, dtype=np.int64),
        end=np.empty(slots, dtype=np.int64),
        rows=np.empty(slots, dtype=np.int64),
        width=np.empty(size.size, dtype=np.float64),
        owner=np.empty(min(most, LOOKAHEAD * k), dtype=np.int64),
        stamp=np.zeros(size.max(initial=0, where=kind == NOMINAL) + 1, dtype=np.int64),
    )


@njit(**INNER)
def lub(columns: Columns, j: Whole, low: Whole, high: Whole) -> Whole:
    """Lowest tree node above two leaves, low <= high."""
    node = columns.leaf[columns.start[j] + low]
    while columns.last[node] < high:
        node = columns.parent[node]
    return node


@njit(**INNER)
def span(columns: Columns, j: Whole, low: Whole, high: Whole) -> float:
    """Weighted width of the codes low..high; 0 is missing, and missing among others covers all."""
    if low == high:
        return 0.0
    if low == 0:
        return float(columns.weight[j])
    if columns.kind[j] == TREE:
        return float(columns.weight[j] * columns.cost[lub(columns, j, low, high)])
    if columns.span[j] == 0.0:
        return 0.0
    s = columns.start[j]
    distance = columns.pos[s + high] - columns.pos[s + low]
    return float(columns.weight[j] * (distance / columns.span[j]))


@njit(**INNER)
def distinct(
    x: Codes, a: Whole, b: Whole, j: Whole, low: Whole, high: Whole, scratch: Scratch
) -> Whole:
    """Distinct codes of a column with their counts, into the scratch; returns how many."""
    n, bins = b - a, high - low + 1
    value, count = scratch.value, scratch.tally
    found = 0
    if bins <= 4 * n + 64:
        hist = scratch.hist
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
    value[:n].sort()
    for i in range(n):
        if found > 0 and value[i] == value[found - 1]:
            count[found - 1] += 1
        else:
            value[found] = value[i]
            count[found] = 1
            found += 1
    return found


@njit(**INNER)
def count_of(x: Codes, a: Whole, b: Whole, j: Whole, code: Whole) -> Whole:
    """Rows with one code."""
    total = 0
    for i in range(a, b):
        total += x[i, j] == code
    return total


@njit(**INNER)
def median(
    x: Codes, a: Whole, b: Whole, j: Whole, low: Whole, high: Whole, hist: Rows
) -> tuple[Whole, Whole, Whole]:
    """The code in the middle of the sorted column, the rows below it, and those up to it.

    A histogram of leading digits finds the interval of the median, then again inside it: nothing is
    sorted, and where the codes are no more than a few times the rows one pass is enough.
    """
    n = b - a
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
        hist[:bins] = 0
        if shift == 0:
            return low + t, below, upto
        low += t << shift
        high = min(high, low + (1 << shift) - 1)


@njit(**INNER)
def branches(columns: Columns, j: Whole, found: Whole, k: Whole, scratch: Scratch) -> Whole:
    """Parts of the multi-way split of a tree column without missing; fewer than 2: none.

    Expects `distinct` in the scratch; leaves there each code's part, and each part's size, lowest
    and highest code. The remainder, if any, is the last part.
    """
    value, count, part = scratch.value, scratch.tally, scratch.part
    size, low, high = scratch.size, scratch.low, scratch.high
    top = lub(columns, j, np.int64(value[0]), np.int64(value[found - 1]))
    parts, rest, t = 0, 0, 0
    for c in range(columns.child_ptr[top], columns.child_ptr[top + 1]):
        if t == found:
            break
        last = columns.last[columns.child[c]]
        begin, rows = t, 0
        while t < found and value[t] <= last:
            rows += count[t]
            t += 1
        if rows >= k:
            size[parts] = rows
            for u in range(begin, t):
                part[value[u]] = parts
            parts += 1
        else:
            rest += rows
            for u in range(begin, t):
                part[value[u]] = -1
    if parts > 0 and 0 < rest < k:  # the smallest part, which has k rows or more, joins the rest
        joins = 0
        for p in range(1, parts):
            if size[p] < size[joins]:
                joins = p
        rest += size[joins]
        parts -= 1
        for p in range(joins, parts):
            size[p] = size[p + 1]
        for u in range(found):
            p = part[value[u]]
            part[value[u]] = -1 if p == joins else p - 1 if p > joins else p
    whole = parts + 1 if rest > 0 else parts
    if whole < 2:
        return 0
    size[parts] = rest
    for p in range(whole):
        low[p] = -1
    for u in range(found):
        if part[value[u]] < 0:
            part[value[u]] = parts
        p = part[value[u]]
        if low[p] < 0:
            low[p] = value[u]
        high[p] = value[u]
    return whole


@njit(**INNER)
def widest(
    x: Codes,
    a: Whole,
    b: Whole,
    low: Codes,
    high: Codes,
    columns: Columns,
    k: Whole,
    strict: bool,
    dead: Whole,
    scratch: Scratch,
) -> tuple[Split, Whole]:
    """The first allowable split, columns taken by decreasing width (ties to the lowest).

    `dead` has a bit for each of the first MARKS columns, set if it can never again be cut in this
    subtree: a value with fewer than k rows on either side keeps that in every subset of the rows.
    """
    n = b - a
    width = scratch.width
    for c in range(width.size):
        width[c] = 0.0
        if low[c] != high[c] and not (c < MARKS and (dead >> c) & 1):
            width[c] = span(columns, c, np.int64(low[c]), np.int64(high[c]))
    while True:
        # Typed, or every function that takes it is compiled once more for a literal 0.
        j: Whole = np.int64(0)
        for other in range(1, width.size):
            if width[other] > width[j]:
                j = other
        if width[j] <= 0.0:
            return (NONE, 0, 0, 0, 0), dead
        width[j] = 0.0
        least, most = np.int64(low[j]), np.int64(high[j])
        if least == 0:
            missing = count_of(x, a, b, j, 0)
            if missing >= k and n - missing >= k:
                return (CARVE, j, 0, 0, missing), dead
        if columns.kind[j] == TREE:
            if least > 0:
                found = distinct(x, a, b, j, least, most, scratch)
                if branches(columns, j, found, k, scratch) > 1:
                    return (BRANCH, j, 0, 0, 0), dead
        elif not strict:
            code, below, upto = median(x, a, b, j, least, most, scratch.hist)
            return (HALVES, j, code, n // 2 - below, n // 2), dead
        elif least > 0:
            code, below, upto = median(x, a, b, j, least, most, scratch.hist)
            lower, upper = below >= k, n - upto >= k  # n - below, upto >= n // 2 >= k
            if lower and (not upper or n - 2 * below <= 2 * upto - n):
                return (CARVE, j, 0, code - 1, below), dead
            if upper:
                return (CARVE, j, 0, code, upto), dead
            if j < MARKS:
                dead |= 1 << j


@njit(**INNER)
def gain(
    x: Codes,
    a: Whole,
    b: Whole,
    low: Codes,
    high: Codes,
    columns: Columns,
    k: Whole,
    dead: Whole,
    scratch: Scratch,
) -> tuple[Split, Whole]:
    """The allowable split that most reduces rows times width of its own column."""
    n = b - a
    best = -np.inf
    split: Split = (NONE, 0, 0, 0, 0)
    for j in range(columns.kind.size):
        if low[j] == high[j] or (j < MARKS and (dead >> j) & 1):
            continue
        least, most = np.int64(low[j]), np.int64(high[j])
        nominal = columns.kind[j] == NOMINAL
        whole = span(columns, j, least, most)
        if columns.weight[j] == 0.0 or (whole == 0.0 and not nominal):
            continue
        found = distinct(x, a, b, j, least, most, scratch)
        value, count = scratch.value, scratch.tally
        if least == 0:
            missing = np.int64(count[0])
            if missing >= k and n - missing >= k:
                rest = (
                    set_width(columns, j, found - 1)
                    if nominal
                    else span(columns, j, np.int64(value[1]), most)
                )
                won = n * whole - (n - missing) * rest
                if won > best:
                    best, split = won, (CARVE, j, 0, 0, missing)
        elif columns.kind[j] == TREE:
            parts = branches(columns, j, found, k, scratch)
            if parts > 1:
                won = n * whole
                for p in range(parts):
                    won -= scratch.size[p] * span(columns, j, scratch.low[p], scratch.high[p])
                if won > best:
                    best, split = won, (BRANCH, j, 0, 0, 0)
        else:
            if nominal:
                whole = set_width(columns, j, found)
            left, open_cuts = 0, False
            for t in range(found - 1):
                left += count[t]
                if left < k:
                    continue
                if n - left < k:
                    break
                open_cuts = True
                if nominal:
                    lower = set_width(columns, j, t + 1)
                    upper = set_width(columns, j, found - t - 1)
                else:
                    lower = span(columns, j, least, np.int64(value[t]))
                    upper = span(columns, j, np.int64(value[t + 1]), most)
                won = n * whole - left * lower - (n - left) * upper
                if won > best:
                    best, split = won, (CARVE, j, 0, np.int64(value[t]), left)
            if not open_cuts and j < MARKS:
                dead |= 1 << j
    return split, dead


@njit(**INNER)
def set_width(columns: Columns, j: Whole, values: Whole) -> float:
    """Weighted width of a value set."""
    if values <= 1:
        return 0.0
    return float(columns.weight[j] * ((values - 1) / (columns.size[j] - 1)))
