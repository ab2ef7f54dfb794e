"""Groups under rules by cutting in two, again and again, for as long as both sides keep them.

The records of a node are sorted along a column (by its levels, coarse to fine, so that neighbours
are cheap to join), and counted code by code from the first on: a cut between two different values
is allowable where both sides have k records and keep every rule. Of these the one is taken that
lowers the cost of its column most, or, `balanced`, the one nearest the median of the dearest column
that has any: neither is always the better.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..joins.lub import MANY, Joins, States, addresses, cost_of, join_at
from ._rules import Rules, broken_by, note

MOST_CUTS = 64
"""Cuts of a column whose rules are counted, evenly spread."""


@njit(cache=True, nogil=True)
def _costs(
    joins: Joins, states: States, rank: Ints, j: int, rows: Ints, turned: bool, out: Floats
) -> None:
    """What column j costs for the first 1, 2, ... of the rows (the last, if turned)."""
    head, cost, nodes = addresses(joins)
    n, many = rows.size, joins.head[j, 0] == MANY
    state, values = 0, 0
    for m in range(n):
        i = rows[n - 1 - m] if turned else rows[m]
        if m == 0:
            state = int(states[i, j])
            values = 1
        elif many:
            # Equal values are side by side: each counts once.
            before = rows[n - m] if turned else rows[m - 1]
            values += rank[j, i] != rank[j, before]
            if (state < 0 and -state > values) or states[i, j] < 0:
                state = min(state, int(states[i, j]))
            elif values > 1:
                state = -values
        else:
            state = join_at(head, nodes, j, state, int(states[i, j]))
        out[n - 1 - m if turned else m] = cost_of(head, cost, nodes, j, state)


@njit(cache=True, nogil=True)
def _cut(
    joins: Joins, states: States, rank: Ints, j: int, rows: Ints, k: int, rules: Rules,
    balanced: bool, below: Floats, above: Floats, count: Ints, whole: Ints,
) -> tuple[float, int]:  # fmt: skip
    """The best allowable cut of the sorted rows along column j: what it gains, and where; or -1."""
    n = rows.size
    _costs(joins, states, rank, j, rows, False, below)
    _costs(joins, states, rank, j, rows, True, above)
    best, at = -1.0, -1
    count[:] = 0
    rest = whole.copy()
    tried, step = 0, max((n - 2 * k) // MOST_CUTS, 1)
    for m in range(1, n - k + 1):
        note(rules, count, rows[m - 1], 1)
        note(rules, rest, rows[m - 1], -1)
        if m < k or m < tried or rank[j, rows[m]] == rank[j, rows[m - 1]]:
            continue
        tried = m + step
        gain = n * below[n - 1] - m * below[m - 1] - (n - m) * above[m]
        if balanced:
            gain = float(n - abs(2 * m - n))
        if gain > best and broken_by(rules, count, m) + broken_by(rules, rest, n - m) == 0.0:
            best, at = gain, m
    return best, at


@njit(cache=True, nogil=True)
def _best(
    joins: Joins, states: States, rank: Ints, rows: Ints, k: int, rules: Rules, balanced: bool,
    below: Floats, above: Floats, count: Ints, whole: Ints,
) -> int:  # fmt: skip
    """Sort the rows along the column that is cut, and say where; -1 where none can be."""
    n, d = rows.size, states.shape[1]
    whole[:] = 0
    for i in rows:
        note(rules, whole, i, 1)
    best, at, column = 0.0, -1, -1
    for j in range(d):
        order = rows[np.argsort(rank[j][rows], kind="mergesort")]
        if rank[j, order[0]] == rank[j, order[n - 1]]:
            continue
        gain, place = _cut(
            joins, states, rank, j, order, k, rules, balanced, below, above, count, whole
        )
        if place >= 0 and balanced:
            gain = below[n - 1]
        if place >= 0 and (column < 0 or gain > best):
            best, at, column = gain, place, j
    if column >= 0:
        rows[:] = rows[np.argsort(rank[column][rows], kind="mergesort")]
    return at


@njit(cache=True, nogil=True)
def _grow(
    joins: Joins, states: States, rank: Ints, k: int, rules: Rules, balanced: bool, rows: Ints
) -> Ints:
    n = rows.size
    labels, stack = np.zeros(n, np.int64), np.zeros((n // k + 2, 2), np.int64)
    below, above = np.empty(n), np.empty(n)
    count, whole = np.zeros(rules.share.size, np.int64), np.zeros(rules.share.size, np.int64)
    stack[0, 1] = n
    top, groups = 1, 0
    while top > 0:
        top -= 1
        a, b = stack[top, 0], stack[top, 1]
        at = -1
        if b - a >= 2 * k:
            at = _best(
                joins, states, rank, rows[a:b], k, rules, balanced, below, above, count, whole
            )
        if at < 0:
            labels[rows[a:b]] = groups
            groups += 1
            continue
        stack[top, 0], stack[top, 1] = a, a + at
        stack[top + 1, 0], stack[top + 1, 1] = a + at, b
        top += 2
    return labels


def top_down(
    joins: Joins, states: States, rank: Ints, k: int, rules: Rules, *, balanced: bool
) -> Ints:
    """Labels 0, 1, ...; `rank` (d, n) sorts the records along each column. Where even all records
    together break a rule they are one group."""
    rows = np.arange(states.shape[0])
    return np.asarray(_grow(joins, states, np.ascontiguousarray(rank), k, rules, balanced, rows))
