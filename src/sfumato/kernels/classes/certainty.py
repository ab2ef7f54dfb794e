"""Weighted certainty penalty: groups joined from the bottom up, or split from the top down.

(Xu, Wang, Pei, Wang, Shi & Fu 2006.) The penalty of a group is its size times the cost of its least
upper bound, in which the columns' weights are.

Bottom up, equal records are a group from the start. In each round every group that is still too
small, in order, joins the one that raises the penalty least, and groups of 2k or more are then cut
in two. Top down, a set is divided around two far-apart records, every other one going where it
raises the penalty less; parts may fall below k as long as one does not. Each small group that is
left over then does the cheaper of two things: it joins another group, or it takes from one that has
enough as many records as it lacks, cheapest first. Of equals the first is taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from ..arrays import Ints
from ..joins.lub import States
from ..joins.prices import ANY, Prices, join_into, joined, units
from ..neighbours.blocks import distinct_rows
from .moves import cheapest_join, ends, numbered, priced_groups
from .regroup import SWEEPS, cut_in_two, cut_large

Report = Callable[[int, int], None]


def _nobody(done: int, of: int) -> None:
    """Hears of progress and does nothing."""


def bottom_up(prices: Prices, states: States, k: int, report: Report = _nobody) -> Ints:
    """Labels 0..g-1 of groups joined until all have k."""
    n = states.shape[0]
    _, labels = distinct_rows(states, np.empty((n, 0), np.int32))
    by_spread = _dearest_first(prices, states)
    head = prices._replace(head=np.ascontiguousarray(prices.head[by_spread]))
    x = np.ascontiguousarray(states[:, by_spread])
    while True:
        labels = cut_large(head, x, labels, k)
        bound, size, cost = priced_groups(head, x, labels)
        groups = size.size
        if groups == 1 or size.min() >= k:
            return labels
        into = np.arange(groups)
        for start in range(0, groups, 512):
            _join_small(head, bound, size, cost, k, start, min(start + 512, groups), into)
            report(start, groups)
        labels = numbered(ends(into)[labels])


def _dearest_first(prices: Prices, states: States) -> Ints:
    """The columns from the one whose joins cost most to the one whose cost least: sums that pass a
    bound pass it sooner."""
    some = states[np.linspace(0, len(states) - 1, min(len(states), 1000)).astype(np.int64)]
    usual = []
    for j in range(states.shape[1]):
        pairs = np.ascontiguousarray(np.column_stack([some[:-1, j], some[1:, j]]).reshape(-1, 1))
        of_pair = np.repeat(np.arange(len(some) - 1), 2)
        usual.append(int(priced_groups(prices.column(j), pairs, of_pair)[2].sum()))
    return np.argsort(-np.array(usual, dtype=np.float64), kind="stable")


@njit(cache=True, nogil=True)
def _join_small(
    p: Prices, bound: States, size: Ints, cost: Ints, k: int, start: int, stop: int, into: Ints
) -> None:
    """Each of the groups start..stop that is too small takes in the one that is cheapest."""
    for g in range(start, stop):
        if size[g] == 0 or size[g] >= k:
            continue
        best, _ = cheapest_join(p, bound, size, cost, g)
        if best < 0:
            return
        join_into(p, bound, g, bound, best)
        cost[g] = units(p, bound, g)
        size[g] += size[best]
        size[best] = 0
        into[best] = g


def _split(p: Prices, states: States, k: int, sweeps: int) -> Ints:
    """Labels of parts that were divided as long as one side kept k."""
    labels = np.zeros(len(states), np.int64)
    stack, count = [np.arange(len(states))], 0
    while stack:
        rows = stack.pop()
        if rows.size > k:
            second = cut_in_two(p, states, rows, rows.size, sweeps)
            ones, twos = rows[~second], rows[second]
            if max(ones.size, twos.size) >= k:
                stack += [twos, ones]
                continue
        labels[rows] = count
        count += 1
    return labels


@njit(cache=True, nogil=True)
def _borrow(
    p: Prices, states: States, rows: Ints, bound: States, g: int, have: int, k: int, taken: Ints
) -> tuple[int, int]:
    """Choose for group g, cheapest first, as many of `rows` as it lacks; `taken` marks the order.

    Returns what its k records will cost, and what the others will.
    """
    grown = np.empty((2, states.shape[1]), np.int64)
    grown[0] = bound[g]
    taken[: rows.size] = 0
    for turn in range(k - have):
        best, least = -1, ANY
        for q in range(rows.size):
            if taken[q] == 0:
                price = joined(p, grown, 0, states, rows[q], least)
                if price < least:
                    best, least = q, price
        taken[best] = turn + 1
        join_into(p, grown, 0, states, rows[best])
    left = 0
    for q in range(rows.size):
        if taken[q] == 0:
            if left == 0:
                grown[1] = states[rows[q]]
            else:
                join_into(p, grown, 1, states, rows[q])
            left += 1
    return k * units(p, grown, 0), left * units(p, grown, 1)


@njit(cache=True, nogil=True)
def _repair(
    p: Prices, states: States, labels: Ints, k: int, order: Ints, starts: Ints,
    bound: States, size: Ints, cost: Ints,
) -> None:  # fmt: skip
    """Join or fill up every group below k; changes `labels`. `order` has the records group by
    group, group g from starts[g] on."""
    groups = size.size
    members = [order[starts[g] : starts[g + 1]].copy() for g in range(groups)]
    taken, chosen = np.zeros(labels.size, np.int64), np.zeros(labels.size, np.int64)
    for g in range(groups):
        if size[g] == 0 or size[g] >= k:
            continue
        have, own = size[g], size[g] * cost[g]
        partner, least = cheapest_join(p, bound, size, cost, g)
        lender = -1
        for h in range(groups):
            # Whatever it lends, all k records will cost what the group's cost now, and more.
            if h == g or size[h] < 2 * k - have:
                continue
            if k * cost[g] - own - size[h] * cost[h] >= least:
                continue
            mine, theirs = _borrow(p, states, members[h], bound, g, have, k, taken)
            raised = mine + theirs - own - size[h] * cost[h]
            if raised < least:
                lender, least = h, raised
                chosen[: size[h]] = taken[: size[h]]
        if lender >= 0:
            lent = chosen[: size[lender]] > 0
            members[g] = np.concatenate((members[g], members[lender][lent]))
            members[lender] = members[lender][~lent]
            changed = np.array([g, lender])
        elif partner >= 0:
            members[partner] = np.concatenate((members[partner], members[g]))
            members[g] = members[g][:0]
            size[g] = 0
            changed = np.array([partner])
        else:
            return
        for c in range(changed.size):
            h = changed[c]
            size[h] = members[h].size
            bound[h] = states[members[h][0]]
            for q in range(1, size[h]):
                join_into(p, bound, h, states, members[h][q])
            cost[h] = units(p, bound, h)
            for q in range(size[h]):
                labels[members[h][q]] = h


def top_down(prices: Prices, states: States, k: int, order: Ints, sweeps: int = SWEEPS) -> Ints:
    """Labels 0..g-1 of parts divided while one side keeps k; records are taken in `order`."""
    x = np.ascontiguousarray(states[order])
    labels = _split(prices, x, k, sweeps)
    starts = np.append(0, np.cumsum(np.bincount(labels)))
    by_part = np.argsort(labels, kind="stable")
    _repair(prices, x, labels, k, by_part, starts, *priced_groups(prices, x, labels))
    found = np.empty(labels.size, np.int64)
    found[order] = cut_large(prices, x, numbered(labels), k)
    return found
