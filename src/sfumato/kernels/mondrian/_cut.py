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

from typing import Any

import numpy as np
from numba import njit

from sfumato.kernels.mondrian._counts import Histograms, Scratch, distinct, lowest, median
from sfumato.kernels.mondrian._layout import (
    BEGIN,
    DEAD,
    END,
    HIGH,
    INNER,
    LOW,
    MARKS,
    TREE,
    Codes,
    Columns,
    Ints,
    Whole,
)

NONE, CARVE, HALVES, BRANCH = 0, 1, 2, 3

Split = tuple[Whole, Whole, Whole, Whole, Whole]


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
    x: Codes | Histograms, node: Ints, columns: Columns, k: Whole, strict: bool, scratch: Scratch
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
            code, below, upto = median(x, node, j, scratch)
            if not strict:
                return HALVES, j, code, n // 2 - below, n // 2
            lower, upper = below >= k, n - upto >= k  # n - below, upto >= n // 2 >= k
            if lower and (not upper or n - 2 * below <= 2 * upto - n):
                return CARVE, j, 0, code - 1, below
            if upper:
                return CARVE, j, 0, code, upto
            if j < MARKS:
                node[DEAD] |= 1 << j
