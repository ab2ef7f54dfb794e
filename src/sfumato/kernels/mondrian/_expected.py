"""The split that most reduces the expected width of the groups still to come.

The width of a large node says little about the groups it will end in: one outlier makes it wide.
Here a node is as wide as a group of q rows drawn from it at random is on average, q being the first
power of two from 2k on, about the size of the groups that Mondrian makes. With F the share of rows
up to a value and p the share of one value or of one tree node:

- ordered: the sum over gaps between neighbouring values of gap * (1 - F^q - (1 - F)^q);
- value set: the sum over values of 1 - (1 - p)^q, less one (the rarefaction of Hurlbert 1971);
- tree: the cost of the lowest common node, less the sum over nodes below it of
  (cost of the parent - cost of the node) * p^q.

Nodes of fewer than 8k rows are about to become groups: there each column proposes its best split
and the one with the smallest exact width over all columns is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sfumato.kernels.mondrian._cut import (
    BRANCH,
    CARVE,
    LOOKAHEAD,
    MARKS,
    NONE,
    Scratch,
    Split,
    branches,
    distinct,
    lub,
    set_width,
    span,
)
from sfumato.kernels.mondrian._layout import (
    INNER,
    NOMINAL,
    ORDERED,
    TREE,
    Codes,
    Columns,
    Ints,
    Whole,
)

# Typed, because a function is compiled once more for a literal argument.
ZERO, ONE, ALL = np.int64(0), np.int64(1), np.int64(-1)
Proposal = tuple[Any, Split]  # what a split gains, and the split
CUTS = 16  # as many cuts per column are compared, so that a column of many values stays cheap


@njit(**INNER)
def _power(share: float, squarings: Whole) -> float:
    for _ in range(squarings):
        share *= share
    return share


@njit(**INNER)
def _ordered(
    columns: Columns,
    j: Whole,
    begin: Whole,
    end: Whole,
    n: Whole,
    squarings: Whole,
    scratch: Scratch,
) -> float:
    """Expected width of an ordered column over the distinct codes begin..end-1, n rows."""
    if columns.span[j] == 0.0:
        return 0.0
    pos, value, count = columns.pos[columns.start[j] :], scratch.value, scratch.tally
    total = 0.0
    below = 0
    for t in range(begin, end - 1):
        below += count[t]
        share = below / n
        crossed = (1.0 - _power(share, squarings)) - _power(1.0 - share, squarings)
        total += (pos[value[t + 1]] - pos[value[t]]) * crossed
    return float(columns.weight[j] * (total / columns.span[j]))


@njit(**INNER)
def _nominal(
    columns: Columns,
    j: Whole,
    begin: Whole,
    end: Whole,
    without: Whole,
    n: Whole,
    squarings: Whole,
    scratch: Scratch,
) -> float:
    """Expected width of a value set over the distinct codes begin..end-1, one of them left out."""
    if columns.size[j] < 2:
        return 0.0
    total = 0.0
    for t in range(begin, end):
        if t != without:
            total += 1.0 - _power(1.0 - scratch.tally[t] / n, squarings)
    return float(columns.weight[j] * ((total - 1.0) / (columns.size[j] - 1)))


@njit(**INNER)
def _list_nodes(
    columns: Columns, top: Whole, begin: Whole, found: Whole, scratch: Scratch
) -> Whole:
    """Tree nodes below `top` that have rows, breadth first, into the scratch; returns how many."""
    value, count = scratch.value, scratch.tally
    node, first, last, rows = scratch.node, scratch.begin, scratch.end, scratch.rows
    listed, head = 0, -1
    parent, t, end = top, begin, found
    while True:
        for c in range(columns.child_ptr[parent], columns.child_ptr[parent + 1]):
            if t == end:
                break
            child = columns.child[c]
            start: Whole = t
            total: Whole = 0
            while t < end and value[t] <= columns.last[child]:
                total += count[t]
                t += 1
            if total > 0:
                node[listed], rows[listed] = child, total
                first[listed], last[listed] = start, t
                listed += 1
        head += 1
        if head == listed:
            return listed
        parent, t, end = node[head], first[head], last[head]


@njit(**INNER)
def _tree(
    columns: Columns,
    j: Whole,
    top: Whole,
    listed: Whole,
    part: Whole,
    n: Whole,
    squarings: Whole,
    scratch: Scratch,
) -> float:
    """Expected width of a tree column over the listed nodes, all or those of one branch."""
    total = columns.cost[top]
    for w in range(listed):
        if part < 0 or scratch.part[scratch.value[scratch.begin[w]]] == part:
            v = scratch.node[w]
            drop = columns.cost[columns.parent[v]] - columns.cost[v]
            total -= drop * _power(scratch.rows[w] / n, squarings)
    return float(columns.weight[j] * total)


@njit(**INNER)
def _tree_carved(
    columns: Columns,
    j: Whole,
    top: Whole,
    listed: Whole,
    carved: Whole,
    n: Whole,
    squarings: Whole,
    scratch: Scratch,
) -> tuple[float, float]:
    """Expected widths of the rows of one listed node and of all the other rows."""
    begin, end, rows = scratch.begin, scratch.end, scratch.rows
    size = rows[carved]
    inner = outer = columns.cost[top]
    for w in range(listed):
        if begin[w] >= begin[carved] and end[w] <= end[carved]:
            inside = rows[w]
        elif begin[w] <= begin[carved] and end[w] >= end[carved]:
            inside = size
        else:
            inside = 0
        v = scratch.node[w]
        drop = columns.cost[columns.parent[v]] - columns.cost[v]
        if inside > 0:
            inner -= drop * _power(inside / size, squarings)
        if rows[w] > inside:
            outer -= drop * _power((rows[w] - inside) / (n - size), squarings)
    return float(columns.weight[j] * inner), float(columns.weight[j] * outer)


@njit(**INNER)
def _propose_tree(
    columns: Columns, j: Whole, found: Whole, n: Whole, k: Whole, squarings: Whole, scratch: Scratch
) -> Proposal:
    """Best split of a tree column without missing: into branches, or one node against the rest."""
    top = lub(columns, j, np.int64(scratch.value[0]), np.int64(scratch.value[found - 1]))
    listed = _list_nodes(columns, top, ZERO, found, scratch)
    whole = _tree(columns, j, top, listed, ALL, n, squarings, scratch)
    best = -np.inf
    split: Split = (NONE, j, 0, 0, 0)
    parts = branches(columns, j, found, k, scratch)
    if parts > 1:
        won = n * whole
        for p in range(parts):
            size = scratch.size[p]
            won -= size * _tree(columns, j, top, listed, p, size, squarings, scratch)
        best, split = won, (BRANCH, j, 0, 0, 0)
    for w in range(listed):
        size = scratch.rows[w]
        if size >= k and n - size >= k and CUTS * size >= n:
            inner, outer = _tree_carved(columns, j, top, listed, w, n, squarings, scratch)
            won = n * whole - size * inner - (n - size) * outer
            if won > best:
                v = scratch.node[w]
                best, split = won, (CARVE, j, columns.first[v], columns.last[v], size)
    return best, split


@njit(**INNER)
def _propose_cut(
    columns: Columns, j: Whole, found: Whole, n: Whole, k: Whole, squarings: Whole, scratch: Scratch
) -> Proposal:
    """Best split of an ordered or nominal column without missing."""
    value, count = scratch.value, scratch.tally
    nominal = columns.kind[j] == NOMINAL
    if nominal:
        whole = _nominal(columns, j, ZERO, found, ALL, n, squarings, scratch)
    else:
        whole = _ordered(columns, j, ZERO, found, n, squarings, scratch)
    best = -np.inf
    split: Split = (NONE, j, 0, 0, 0)
    allowable, left = 0, 0
    for t in range(found - 1):
        left += count[t]
        if left >= k and n - left >= k:
            allowable += 1
    step, left = 1, 0
    for t in range(found - 1):
        left += count[t]
        if left < k:
            continue
        if n - left < k:
            break
        if allowable > CUTS:  # only the first cut from each 17th of the rows on
            if (CUTS + 1) * left < step * n:
                continue
            step = (CUTS + 1) * left // n + 1
        if nominal:
            lower = _nominal(columns, j, ZERO, t + 1, ALL, left, squarings, scratch)
            upper = _nominal(columns, j, t + 1, found, ALL, n - left, squarings, scratch)
        else:
            lower = _ordered(columns, j, ZERO, t + 1, left, squarings, scratch)
            upper = _ordered(columns, j, t + 1, found, n - left, squarings, scratch)
        won = n * whole - left * lower - (n - left) * upper
        if won > best:
            best, split = won, (CARVE, j, 0, np.int64(value[t]), left)
    if nominal:
        for t in range(found):
            size = np.int64(count[t])
            if size >= k and n - size >= k and CUTS * size >= n:
                rest = _nominal(columns, j, ZERO, found, t, n - size, squarings, scratch)
                won = n * whole - (n - size) * rest
                if won > best:
                    code = np.int64(value[t])
                    best, split = won, (CARVE, j, code, code, size)
    return best, split


@njit(**INNER)
def _propose(
    columns: Columns, j: Whole, found: Whole, n: Whole, k: Whole, squarings: Whole, scratch: Scratch
) -> Proposal:
    """Best split of one column, from its distinct codes in the scratch, and what it gains."""
    if scratch.value[0] > 0:
        if columns.kind[j] == TREE:
            won, split = _propose_tree(columns, j, found, n, k, squarings, scratch)
        else:
            won, split = _propose_cut(columns, j, found, n, k, squarings, scratch)
        return won, split
    present = n - np.int64(scratch.tally[0])
    if present < k or n - present < k:
        return -np.inf, (NONE, j, 0, 0, 0)
    if columns.kind[j] == TREE:
        top = lub(columns, j, np.int64(scratch.value[1]), np.int64(scratch.value[found - 1]))
        listed = _list_nodes(columns, top, ONE, found, scratch)
        rest = _tree(columns, j, top, listed, ALL, present, squarings, scratch)
    elif columns.kind[j] == ORDERED:
        rest = _ordered(columns, j, ONE, found, present, squarings, scratch)
    else:
        rest = _nominal(columns, j, ONE, found, ALL, present, squarings, scratch)
    share = present / n
    all_present = _power(share, squarings)
    some = (1.0 - all_present) - _power(1.0 - share, squarings)
    whole = columns.weight[j] * some + all_present * rest
    return n * whole - present * rest, (CARVE, j, 0, 0, n - present)


@njit(**INNER)
def _exact_loss(
    x: Codes,
    a: Whole,
    b: Whole,
    low: Codes,
    high: Codes,
    columns: Columns,
    split: Split,
    worst: float,
    scratch: Scratch,
) -> float:
    """Rows times width over all columns and parts of a split; may stop once above `worst`."""
    n = b - a
    how, column, least, most, _ = split
    owner, size, bottom, top = scratch.owner, scratch.size, scratch.low, scratch.high
    parts = 2
    for i in range(n):
        code = np.int64(x[a + i, column])
        owner[i] = scratch.part[code] if how == BRANCH else 0 if least <= code <= most else 1
        parts = max(parts, owner[i] + 1)
    size[:parts] = 0
    for i in range(n):
        size[owner[i]] += 1
    loss = 0.0
    for j in range(columns.kind.size):
        if low[j] == high[j]:
            continue
        for p in range(parts):
            bottom[p], top[p] = high[j], low[j]
        for i in range(n):
            p, code = owner[i], np.int64(x[a + i, j])
            bottom[p], top[p] = min(bottom[p], code), max(top[p], code)
        for p in range(parts):
            if columns.kind[j] == NOMINAL and bottom[p] > 0:
                values = _values(x, a, j, p, owner, n, scratch)
                loss += size[p] * set_width(columns, j, values)
            else:
                loss += size[p] * span(columns, j, bottom[p], top[p])
        if loss > worst:
            break
    return loss


@njit(**INNER)
def _values(
    x: Codes, a: Whole, j: Whole, part: Whole, owner: Ints, n: Whole, scratch: Scratch
) -> Whole:
    """Number of distinct codes among the rows of one part of a small node."""
    stamp = scratch.stamp
    stamp[0] += 1  # code 0 is missing and never counted here, so its place keeps the tally
    values = 0
    for i in range(n):
        if owner[i] == part:
            code = np.int64(x[a + i, j])
            if stamp[code] != stamp[0]:
                stamp[code] = stamp[0]
                values += 1
    return values


@njit(**INNER)
def expected(
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
    """The allowable split that most reduces the expected width (see the module's docstring)."""
    n = b - a
    squarings = 0
    while 1 << squarings < 2 * k:
        squarings += 1
    best = -np.inf
    split: Split = (NONE, 0, 0, 0, 0)
    for j in range(columns.kind.size):
        if low[j] == high[j] or (j < MARKS and (dead >> j) & 1) or columns.weight[j] == 0.0:
            continue
        least, most = np.int64(low[j]), np.int64(high[j])
        if columns.kind[j] == ORDERED and span(columns, j, least, most) == 0.0:
            continue
        found = distinct(x, a, b, j, least, most, scratch)
        largest: Whole = 0
        for t in range(found):
            largest = max(largest, np.int64(scratch.tally[t]))
        if n - largest < k:  # no part without that code can have k rows, here or further down
            if j < MARKS:
                dead |= 1 << j
            continue
        won, own = _propose(columns, j, found, n, k, squarings, scratch)
        if own[0] == NONE:
            continue
        if n < LOOKAHEAD * k:
            won = -_exact_loss(x, a, b, low, high, columns, own, -best, scratch)
        if won > best:
            best, split = won, own
    return split, dead
