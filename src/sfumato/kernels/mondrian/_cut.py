"""Which split a Mondrian node gets: the widest column's, or the one that gains most.

A split is five integers ``(how, column, low, high, rows of the first part)``:

- CARVE: the rows with a code in low..high against the others; a cut between values, missing against
  present, one value or one tree node against the rest. A cut from code 0 on has missing values on
  its lower side, one from code 1 on has them on its upper side.
- HALVES: the first half of the rows in the order of their codes (ties in row order); `low` is the
  code that both halves may share and `high` the number of its rows in the first half.
- BRANCH: the children of the lowest common tree node; `branches` leaves each code's part in
  ``scratch.part``. Missing values are in the part `low`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.mondrian._layout import (
    BEGIN,
    DEAD,
    END,
    HIGH,
    INNER,
    LOW,
    MARKS,
    NOMINAL,
    TREE,
    Codes,
    Columns,
    Ints,
    Records,
    Rows,
    Whole,
)

NONE, CARVE, HALVES, BRANCH = 0, 1, 2, 3
BINS = 1 << 16  # a histogram this long still lies in the second-level cache
FEW = 24  # codes that insertion sorts soonest
DIGITS = 256  # that sort more codes than few, one after the other
LOOKAHEAD = 8  # nodes below this many times k rows look at all columns in "expected"

Split = tuple[Whole, Whole, Whole, Whole, Whole]


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
def lub(columns: Columns, j: Whole, low: Whole, high: Whole) -> Whole:
    """Lowest tree node above two leaves, low <= high."""
    node = columns.leaf[columns.column[j].start + low]
    while columns.node[node].last < high:
        node = columns.node[node].parent
    return node


@njit(**INNER)
def span(columns: Columns, j: Whole, low: Whole, high: Whole) -> float:
    """Weighted width of the codes low..high, none of them missing."""
    if low == high:
        return 0.0
    column = columns.column[j]
    if column.kind == TREE:
        return float(column.weight * columns.node[lub(columns, j, low, high)].cost)
    if column.span == 0.0:
        return 0.0
    distance = columns.pos[column.start + high] - columns.pos[column.start + low]
    return float(column.weight * (distance / column.span))


@njit(**INNER)
def set_width(column: Any, values: Whole) -> float:
    """Weighted width of a value set."""
    if values <= 1:
        return 0.0
    return float(column.weight * ((values - 1) / (column.size - 1)))


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
def distinct(x: Codes, node: Ints, j: Whole, scratch: Scratch) -> Whole:
    """Distinct codes of a column with their counts, into the scratch; returns how many."""
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
def median(x: Codes, node: Ints, j: Whole, hist: Rows) -> tuple[Whole, Whole, Whole]:
    """The code in the middle of the sorted column, the rows below it, and those up to it.

    A histogram of leading digits finds the interval of the median, then again inside it: nothing is
    sorted, and where the codes are no more than a few times the rows one pass is enough.
    """
    a, b, low, high = node[BEGIN], node[END], node[LOW + 2 * j], node[HIGH + 2 * j]
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
        for bin in range(bins):
            hist[bin] = 0
        if shift == 0:
            return low + t, below, upto
        low += t << shift
        high = min(high, low + (1 << shift) - 1)


@njit(**INNER)
def lowest(x: Codes, node: Ints, j: Whole) -> tuple[Whole, Whole]:
    """The lowest code of a column that is not missing, 0 where all are, and how many are."""
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


@njit(**INNER)
def settle(columns: Columns, j: Whole, missing: Whole, parts: Whole, scratch: Scratch) -> Whole:
    """The part of a multi-way split in which missing values cost least; the first of several."""
    best, least = np.int64(0), np.inf
    for p in range(parts):
        one = scratch.slot[p]
        burden = missing * span(columns, j, one.low, one.high)
        burden += (one.size + missing) * columns.column[j].gap
        if burden < least:
            best, least = np.int64(p), burden
    return best


@njit(**INNER)
def branches(columns: Columns, j: Whole, found: Whole, k: Whole, scratch: Scratch) -> Whole:
    """Parts of the multi-way split of a tree column, missing left aside; fewer than 2: none.

    Expects `distinct` in the scratch; leaves there each code's part, and each part's size, lowest
    and highest code. The remainder, if any, is the last part.
    """
    value, count, part, slot = scratch.value, scratch.tally, scratch.part, scratch.slot
    first = np.int64(value[0] == 0)
    top = lub(columns, j, np.int64(value[first]), np.int64(value[found - 1]))
    parts, rest, t = 0, 0, first
    for c in range(columns.node[top].begin, columns.node[top].end):
        if t == found:
            break
        last = columns.node[columns.child[c]].last
        begin, rows = t, 0
        while t < found and value[t] <= last:
            rows += count[t]
            t += 1
        if rows >= k:
            slot[parts].size = rows
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
            if slot[p].size < slot[joins].size:
                joins = p
        rest += slot[joins].size
        parts -= 1
        for p in range(joins, parts):
            slot[p].size = slot[p + 1].size
        for u in range(first, found):
            p = part[value[u]]
            part[value[u]] = -1 if p == joins else p - 1 if p > joins else p
    whole = parts + 1 if rest > 0 else parts
    if whole < 2:
        return 0
    slot[parts].size = rest
    for p in range(whole):
        slot[p].low = -1
    for u in range(first, found):
        if part[value[u]] < 0:
            part[value[u]] = parts
        p = part[value[u]]
        if slot[p].low < 0:
            slot[p].low = value[u]
        slot[p].high = value[u]
    return whole


@njit(**INNER)
def _median_cut(columns: Columns, j: Whole, found: Whole, n: Whole, k: Whole, s: Scratch) -> Split:
    """Of the allowable cuts of a column with missing values that nearest the median, missing on
    the side where they cost less. Expects `distinct` in the scratch."""
    value, missing = s.value, np.int64(s.tally[0])
    low, high, gap = np.int64(value[1]), np.int64(value[found - 1]), columns.column[j].gap
    split: Split = (NONE, 0, 0, 0, 0)
    nearest, left = n + 1, np.int64(0)
    for t in range(1, found - 1):
        left += s.tally[t]
        right = n - missing - left
        below = missing * span(columns, j, low, np.int64(value[t])) + (left + missing) * gap
        above = missing * span(columns, j, np.int64(value[t + 1]), high) + (right + missing) * gap
        lower = left + missing >= k and right >= k
        if left >= k and right + missing >= k and not (lower and below <= above):
            first, rows = np.int64(1), left
        elif lower:
            first, rows = np.int64(0), left + missing
        else:
            continue
        if abs(2 * rows - n) < nearest:
            nearest, split = abs(2 * rows - n), (CARVE, j, first, np.int64(value[t]), rows)
    return split


@njit(**INNER)
def widest(
    x: Codes, node: Ints, columns: Columns, k: Whole, strict: bool, scratch: Scratch
) -> Split:
    """The first allowable split, columns taken by decreasing width (ties to the lowest).

    A value with fewer than k rows on either side keeps that in every subset of the rows: strict
    cuts give up the column in the whole subtree.
    """
    a, b = node[BEGIN], node[END]
    n = b - a
    slot, wide = scratch.slot, columns.column.size
    for c in range(wide):
        slot[c].width = 0.0
        if not (strict and c < MARKS and (node[DEAD] >> c) & 1):
            low, missing = lowest(x, node, c)
            slot[c].width = span(columns, c, low, node[HIGH + 2 * c])
            if 0 < missing < n:
                slot[c].width += columns.column[c].gap
    while True:
        # Typed, or every function that takes it is compiled once more for a literal 0.
        j: Whole = np.int64(0)
        for other in range(1, wide):
            if slot[other].width > slot[j].width:
                j = other
        if slot[j].width <= 0.0:
            return NONE, 0, 0, 0, 0
        slot[j].width = 0.0
        present = node[LOW + 2 * j] > 0
        missing = lowest(x, node, j)[1]
        if missing >= k and n - missing >= k:
            return CARVE, j, 0, 0, missing
        if columns.column[j].kind == TREE:
            found = distinct(x, node, j, scratch)
            parts = branches(columns, j, found, k, scratch)
            if parts > 1:
                into = np.int64(0) if present else settle(columns, j, missing, parts, scratch)
                if not present:
                    scratch.part[0] = into
                    slot[into].size += missing
                return BRANCH, j, into, 0, 0
        elif strict and not present:
            split = _median_cut(columns, j, distinct(x, node, j, scratch), n, k, scratch)
            if split[0] != NONE:
                return split
        else:
            code, below, upto = median(x, node, j, scratch.hist)
            if not strict:
                return HALVES, j, code, n // 2 - below, n // 2
            lower, upper = below >= k, n - upto >= k  # n - below, upto >= n // 2 >= k
            if lower and (not upper or n - 2 * below <= 2 * upto - n):
                return CARVE, j, 0, code - 1, below
            if upper:
                return CARVE, j, 0, code, upto
            if j < MARKS:
                node[DEAD] |= 1 << j
