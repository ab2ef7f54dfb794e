"""The split that most reduces rows times width: the width there is, or the width to be expected.

The width of a large node says little about the groups it will end in: one outlier makes it wide.
The expected width of a node is that which a group of q rows drawn from it at random has on average,
q being the first power of two from 2k on, about the size of the groups that Mondrian makes. With F
the share of rows up to a value and p the share of one value or of one tree node:

- ordered: the sum over gaps between neighbouring values of gap * (1 - F^q - (1 - F)^q);
- value set: the sum over values of 1 - (1 - p)^q, less one (the rarefaction of Hurlbert 1971);
- tree: the cost of the lowest common node, less the sum over nodes below it of
  (cost of the parent - cost of the node) * p^q.

Where a share m of the rows is missing the others are as wide, unless all q are missing, and missing
values add their own width with probability 1 - m^q - (1 - m)^q.

`squarings` is the logarithm of q, or EXACT for the widths of the rows as they are.

Nodes of fewer than 8k rows are about to become groups: if widths are expected, each column proposes
its best split there, and the one with the smallest exact width over all columns is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sfumato.kernels.mondrian._counts import LOOKAHEAD, Histograms, Scratch, Slots, distinct
from sfumato.kernels.mondrian._cut import (
    BRANCH,
    CARVE,
    NONE,
    Split,
    branches,
    lub,
    set_width,
    settle,
    span,
)
from sfumato.kernels.mondrian._exact import exact_loss
from sfumato.kernels.mondrian._layout import (
    BEGIN,
    DEAD,
    END,
    HIGH,
    INNER,
    LOW,
    MARKS,
    NOMINAL,
    ORDERED,
    TREE,
    Codes,
    Columns,
    Floats,
    Ints,
    Rows,
    Whole,
)

EXACT = -1
# Typed, because a function is compiled once more for a literal argument.
ZERO, ALL = np.int64(0), np.int64(-1)
Proposal = tuple[Any, Split]  # what a split gains, and the split
CUTS = 16  # as many cuts per column are compared, so that a column of many values stays cheap


@njit(**INNER)
def _power(share: float, squarings: Whole) -> float:
    for _ in range(squarings):
        share *= share
    return share


@njit(**INNER)
def _width(
    column: Any,
    pos: Floats,
    value: Codes,
    count: Rows,
    begin: Whole,
    end: Whole,
    without: Whole,
    n: Whole,
    squarings: Whole,
) -> float:
    """Width of an ordered column or value set over the distinct codes begin..end-1 of n rows.

    One value of a set may be left out where the width is to be expected.
    """
    if squarings == EXACT:
        if column.kind == NOMINAL:
            return set_width(column, end - begin)
        if column.span == 0.0:
            return 0.0
        distance = pos[column.start + value[end - 1]] - pos[column.start + value[begin]]
        return float(column.weight * (distance / column.span))
    total = 0.0
    if column.kind == NOMINAL:
        if column.size < 2:
            return 0.0
        for t in range(begin, end):
            if t != without:
                total += 1.0 - _power(1.0 - count[t] / n, squarings)
        return float(column.weight * ((total - 1.0) / (column.size - 1)))
    if column.span == 0.0:
        return 0.0
    start, below = column.start, 0
    for t in range(begin, end - 1):
        below += count[t]
        share = below / n
        crossed = (1.0 - _power(share, squarings)) - _power(1.0 - share, squarings)
        total += (pos[start + value[t + 1]] - pos[start + value[t]]) * crossed
    return float(column.weight * (total / column.span))


@njit(**INNER)
def _mixed(column: Any, width: float, present: Whole, n: Whole, squarings: Whole) -> float:
    """The width of n rows of which so many have values of this width; the others are missing."""
    if present == n:
        return width
    if present == 0:
        return 0.0
    if squarings == EXACT:
        return float(width + column.gap)
    share = present / n
    none = _power(1.0 - share, squarings)
    return float(width * (1.0 - none) + column.gap * ((1.0 - _power(share, squarings)) - none))


@njit(**INNER)
def _list_nodes(
    columns: Columns, top: Whole, begin: Whole, found: Whole, scratch: Scratch
) -> Whole:
    """Tree nodes below `top` that have rows, breadth first, into the scratch; returns how many."""
    value, count, slot = scratch.value, scratch.tally, scratch.slot
    listed, head = 0, -1
    parent, t, end = top, begin, found
    while True:
        for c in range(columns.node[parent].begin, columns.node[parent].end):
            if t == end:
                break
            child = columns.child[c]
            start: Whole = t
            total: Whole = 0
            while t < end and value[t] <= columns.node[child].last:
                total += count[t]
                t += 1
            if total > 0:
                one = slot[listed]
                one.node, one.rows, one.begin, one.end = child, total, start, t
                one.drop = columns.node[parent].cost - columns.node[child].cost
                listed += 1
        head += 1
        if head == listed:
            return listed
        parent, t, end = slot[head].node, slot[head].begin, slot[head].end


@njit(**INNER)
def _tree(
    cost: float, slot: Slots, listed: Whole, part: Whole, n: Whole, squarings: Whole
) -> float:
    """Expected width of a tree over the listed nodes, all or those of one branch.

    `cost` is that of the lowest common node.
    """
    for w in range(listed):
        if part < 0 or slot[w].part == part:
            cost -= slot[w].drop * _power(slot[w].rows / n, squarings)
    return cost


@njit(**INNER)
def _tree_carved(
    cost: float, slot: Slots, listed: Whole, carved: Whole, n: Whole, squarings: Whole
) -> tuple[float, float]:
    """Expected widths of the rows of one listed node and of all the other rows."""
    one = slot[carved]
    inner = outer = cost
    for w in range(listed):
        other = slot[w]
        if other.begin >= one.begin and other.end <= one.end:
            inside = other.rows
        elif other.begin <= one.begin and other.end >= one.end:
            inside = one.rows
        else:
            inside = 0
        if inside > 0:
            inner -= other.drop * _power(inside / one.rows, squarings)
        if other.rows > inside:
            outer -= other.drop * _power((other.rows - inside) / (n - one.rows), squarings)
    return inner, outer


@njit(**INNER)
def _propose_tree(
    columns: Columns, j: Whole, found: Whole, n: Whole, k: Whole, squarings: Whole, scratch: Scratch
) -> Proposal:
    """Best split of a tree column: missing off, into branches, or one node against the rest, where
    missing is."""
    slot, weight, exact = scratch.slot, columns.column[j].weight, squarings == EXACT
    missing = scratch.value[0] == 0
    begin = np.int64(missing)
    rows = n - scratch.tally[0] if missing else n
    low, high = np.int64(scratch.value[begin]), np.int64(scratch.value[found - 1])
    top = lub(columns, j, low, high)
    cost = columns.node[top].cost
    listed = ZERO if exact else _list_nodes(columns, top, begin, found, scratch)
    apart = weight * _tree(cost, slot, listed, ALL, rows, squarings)
    whole = _mixed(columns.column[j], apart, rows, n, squarings)
    best = -np.inf
    split: Split = (NONE, j, 0, 0, 0)
    if rows >= k and n - rows >= k:
        best, split = n * whole - rows * apart, (CARVE, j, 0, 0, n - rows)
    parts = branches(columns, j, found, k, scratch)
    if parts > 1:
        into = settle(columns, j, n - rows, parts, scratch) if missing else np.int64(0)
        for w in range(listed):
            slot[w].part = scratch.part[scratch.value[slot[w].begin]]
        won = n * whole
        for p in range(parts):
            size = slot[p].size
            if exact:
                width = span(columns, j, slot[p].low, slot[p].high)
            else:
                width = weight * _tree(cost, slot, listed, p, size, squarings)
            more = n - rows if p == into else np.int64(0)
            won -= (size + more) * _mixed(columns.column[j], width, size, size + more, squarings)
        if won > best:
            best, split = won, (BRANCH, j, into, 0, 0)
    scratch.part[0] = split[2]
    for w in range(listed):
        size = slot[w].rows
        if size >= k and n - size >= k and CUTS * size >= n:
            inner, outer = _tree_carved(cost, slot, listed, w, rows, squarings)
            rest = _mixed(columns.column[j], weight * outer, rows - size, n - size, squarings)
            won = n * whole - size * (weight * inner) - (n - size) * rest
            if won > best:
                v = columns.node[slot[w].node]
                best, split = won, (CARVE, j, v.first, v.last, size)
    return best, split


@njit(**INNER)
def _propose_cut(
    columns: Columns, j: Whole, found: Whole, n: Whole, k: Whole, squarings: Whole, scratch: Scratch
) -> Proposal:
    """Best split of an ordered or nominal column: missing off, a cut with missing on either side,
    or one value of a set against the rest, where missing is."""
    column, pos, value, count = columns.column[j], columns.pos, scratch.value, scratch.tally
    missing = value[0] == 0
    rows = n - count[0] if missing else n
    first, exact = np.int64(missing), squarings == EXACT
    apart = _width(column, pos, value, count, first, found, ALL, rows, squarings)
    whole = _mixed(column, apart, rows, n, squarings)
    gone = n - rows
    best = -np.inf
    split: Split = (NONE, j, 0, 0, 0)
    if rows >= k and gone >= k:
        best, split = n * whole - rows * apart, (CARVE, j, 0, 0, gone)
    allowable, left = 0, 0
    for t in range(first, first if exact else found - 1):
        left += count[t]
        if left + gone >= k and n - left >= k:
            allowable += 1
    step, left = 1, 0
    for t in range(first, found - 1):
        left += count[t]
        if left + gone < k:
            continue
        if n - left < k:
            break
        if allowable > CUTS:  # only the first cut from each 17th on
            if (CUTS + 1) * left < step * n:
                continue
            step = (CUTS + 1) * left // n + 1
        lower = _width(column, pos, value, count, first, t + 1, ALL, left, squarings)
        upper = _width(column, pos, value, count, t + 1, found, ALL, rows - left, squarings)
        for begin in range(2 if missing else 1):
            below = left if begin else left + gone
            if below < k or n - below < k:
                continue
            won = n * whole - below * _mixed(column, lower, left, below, squarings)
            won -= (n - below) * _mixed(column, upper, rows - left, n - below, squarings)
            if won > best:
                best, split = won, (CARVE, j, begin, np.int64(value[t]), below)
    if column.kind == ORDERED or exact:
        return best, split
    for t in range(first, found):
        size = np.int64(count[t])
        if size < rows and size >= k and n - size >= k and CUTS * size >= n:
            rest = _width(column, pos, value, count, first, found, t, rows - size, squarings)
            won = n * whole - (n - size) * _mixed(column, rest, rows - size, n - size, squarings)
            if won > best:
                code = np.int64(value[t])
                best, split = won, (CARVE, j, code, code, size)
    return best, split


@njit(**INNER)
def most_gain(
    x: Codes | Histograms,
    node: Ints,
    columns: Columns,
    k: Whole,
    squarings: Whole,
    scratch: Scratch,
) -> Split:
    """The allowable split that most reduces rows times width (see the module's docstring)."""
    n = node[END] - node[BEGIN]
    best = -np.inf
    split: Split = (NONE, 0, 0, 0, 0)
    for j in range(columns.column.size):
        column = columns.column[j]
        low, high = node[LOW + 2 * j], node[HIGH + 2 * j]
        if low == high or (j < MARKS and (node[DEAD] >> j) & 1):
            continue
        if column.weight == 0.0 and (low > 0 or column.gap == 0.0):
            continue
        if column.kind == ORDERED and low > 0 and span(columns, j, low, high) == 0.0:
            continue
        found = distinct(x, node, j, scratch)
        largest: Whole = 0
        for t in range(found):
            largest = max(largest, np.int64(scratch.tally[t]))
        if n - largest < k:  # no part without that code can have k rows, here or further down
            if j < MARKS:
                node[DEAD] |= 1 << j
            continue
        if column.kind == TREE:
            won, own = _propose_tree(columns, j, found, n, k, squarings, scratch)
        else:
            won, own = _propose_cut(columns, j, found, n, k, squarings, scratch)
        if own[0] == NONE:
            if squarings == EXACT and low > 0 and column.kind != TREE and j < MARKS:
                node[DEAD] |= 1 << j  # all cuts were tried
            continue
        if squarings != EXACT and n < LOOKAHEAD * k:
            won = -exact_loss(x, node, columns, own, -best, scratch)
        if won > best:
            best, split = won, own
    return split
