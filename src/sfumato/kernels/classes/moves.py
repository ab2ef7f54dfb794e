"""Partitions into groups of k to 2k - 1 records, and what moving and swapping records costs.

The cost of a group is its size times what its least upper bound costs; that of a partition is the
sum. A least upper bound has no inverse, hence each group also keeps, for each of its members, the
bound of the others: a move or a swap then takes one join a column. Groups are small, and what they
keep is made afresh from their members when they change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Ints
from ..joins.lub import ORDER, States
from ..joins.prices import ANY, KIND, TABLE, WIDTH, Prices, join_cell, join_into, joined, units


class Groups(NamedTuple):
    """A partition, in arrays that the functions below change in place.

    Group g has the records member[g, :size[g]]; names whose size is 0 are free, and the first
    `counts[0]` of `free` list them. Record i is its group's member number place[i].
    """

    prices: Prices
    states: States  # (n, d) the records
    k: int
    label: Ints
    place: Ints
    size: Ints
    member: Ints  # (g, 2k)
    bound: States  # (g, d) least upper bound of each group
    others: States  # (g * 2k, d) the same without each member
    cost: Ints  # (g,) of all its records
    free: Ints
    counts: Ints


def groups_of(prices: Prices, states: States, labels: Ints, k: int) -> Groups:
    """The state of a partition whose groups, 0..g-1, have k to 2k - 1 records."""
    n, d = states.shape
    most = max(n // k, 1)
    size = np.bincount(labels, minlength=most).astype(np.int64)
    used = int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n) - (np.cumsum(size) - size)[labels[order]]
    member = np.zeros((most, 2 * k), np.int64)
    member[labels, place] = np.arange(n)
    free = np.zeros(most, np.int64)
    free[: most - used] = np.arange(most - 1, used - 1, -1)
    found = Groups(
        prices=prices,
        states=states,
        k=k,
        label=labels.astype(np.int64),
        place=place,
        size=size,
        member=member,
        bound=np.zeros((most, d), np.int64),
        others=np.zeros((most * 2 * k, d), np.int64),
        cost=np.zeros(most, np.int64),
        free=free,
        counts=np.array([most - used], np.int64),
    )
    _refresh_all(found)
    return found


@njit(cache=True, nogil=True)
def _refresh_all(s: Groups) -> None:
    for g in range(s.size.size):
        if s.size[g] > 0:
            refresh(s, g)


@njit(cache=True, nogil=True)
def refresh(s: Groups, g: int) -> None:
    """Make afresh what group g keeps, from its members."""
    p, x, others, size = s.prices, s.states, s.others, s.size[g]
    first = 2 * s.k * g
    for m in range(size):
        s.label[s.member[g, m]] = g
        s.place[s.member[g, m]] = m
    if size == 1:
        i = s.member[g, 0]
        for j in range(x.shape[1]):
            s.bound[g, j] = x[i, j]
            others[first, j] = x[i, j]  # of nobody; never asked for
        s.cost[g] = units(p, s.bound, g)
        return
    for j in range(x.shape[1]):
        is_order, table, width = p.head[j, KIND] == ORDER, p.head[j, TABLE], p.head[j, WIDTH]
        # From the left the bound of the members before m; then from the right of those behind it.
        state = x[s.member[g, 0], j]
        for m in range(1, size):
            others[first + m, j] = state
            other = x[s.member[g, m], j]
            if is_order:
                state = p.nodes[table + state * width + other]
            else:
                state = join_cell(p, j, state, other)
        s.bound[g, j] = state
        state = x[s.member[g, size - 1], j]
        for m in range(size - 2, 0, -1):
            other = x[s.member[g, m], j]
            if is_order:
                others[first + m, j] = p.nodes[table + others[first + m, j] * width + state]
                state = p.nodes[table + state * width + other]
            else:
                others[first + m, j] = join_cell(p, j, others[first + m, j], state)
                state = join_cell(p, j, state, other)
        others[first, j] = state
    s.cost[g] = size * units(p, s.bound, g)


@njit(cache=True, nogil=True)
def move_change(s: Groups, i: int, b: int) -> int:
    """How the cost changes when record i moves to group b."""
    a = s.label[i]
    left = (s.size[a] - 1) * units(s.prices, s.others, 2 * s.k * a + s.place[i])
    right = (s.size[b] + 1) * joined(s.prices, s.bound, b, s.states, i, ANY)
    return int(left + right - s.cost[a] - s.cost[b])


@njit(cache=True, nogil=True)
def swap_change(s: Groups, i: int, r: int, limit: int) -> int:
    """How the cost changes when the records i and r of different groups change places.

    From `limit` on it may come out smaller than it is, but not below `limit`.
    """
    a, b = s.label[i], s.label[r]
    before = s.cost[a] + s.cost[b]
    enough = ANY
    if limit < ANY - before:
        enough = (limit + before) // s.size[a] + 1
    left = s.size[a] * joined(s.prices, s.others, 2 * s.k * a + s.place[i], s.states, r, enough)
    if left - before >= limit:
        return int(left - before)
    if enough < ANY:
        enough = (limit + before - left) // s.size[b] + 1
    right = s.size[b] * joined(s.prices, s.others, 2 * s.k * b + s.place[r], s.states, i, enough)
    return int(left + right - before)


@njit(cache=True, nogil=True)
def move(s: Groups, i: int, b: int) -> None:
    """Move record i to group b, which has room."""
    a, m = s.label[i], s.place[i]
    s.size[a] -= 1
    s.member[a, m] = s.member[a, s.size[a]]
    s.member[b, s.size[b]] = i
    s.size[b] += 1
    refresh(s, a)
    refresh(s, b)


@njit(cache=True, nogil=True)
def swap(s: Groups, i: int, r: int) -> None:
    """Let two records of different groups change places."""
    a, b = s.label[i], s.label[r]
    s.member[a, s.place[i]] = r
    s.member[b, s.place[r]] = i
    refresh(s, a)
    refresh(s, b)


@njit(cache=True, nogil=True)
def bounds_of(p: Prices, states: States, labels: Ints, groups: int) -> tuple[States, Ints, Ints]:
    """The least upper bound of each group of any partition, its size, and what one of its records
    costs."""
    bound = np.empty((groups, states.shape[1]), np.int64)
    size, cost = np.zeros(groups, np.int64), np.empty(groups, np.int64)
    for i in range(labels.size):
        g = labels[i]
        if size[g] == 0:
            bound[g] = states[i]
        else:
            join_into(p, bound, g, states, i)
        size[g] += 1
    for g in range(groups):
        cost[g] = units(p, bound, g)
    return bound, size, cost


def total_cost(prices: Prices, states: States, labels: Ints) -> int:
    """The cost of any partition, from its labels 0..g-1."""
    _, size, cost = bounds_of(prices, states, labels, int(labels.max()) + 1)
    return int(size @ cost)


@njit(cache=True, nogil=True)
def cheapest_join(
    p: Prices, bound: States, size: Ints, cost: Ints, g: int, start: int, limit: int
) -> tuple[int, int]:
    """The group, of those from `start` on with records, whose join with g raises the cost least,
    the first of equals; and by how much. -1 where none raises it by less than `limit`."""
    best, least = -1, limit
    own = size[g] * cost[g]
    for h in range(start, size.size):
        if size[h] == 0 or h == g:
            continue
        both, before = size[g] + size[h], own + size[h] * cost[h]
        enough = ANY
        if least < ANY:
            # Joined, a record costs no less than before: then there is no need to look.
            if both * max(cost[h], cost[g]) - before >= least:
                continue
            enough = (least + before + both - 1) // both
        price = joined(p, bound, g, bound, h, enough)
        if both * price - before < least:
            best, least = h, both * price - before
    return best, least


@njit(cache=True, nogil=True)
def join_chosen(p: Prices, states: States, labels: Ints, groups: int, chosen: Ints) -> Ints:
    """Join each chosen group, unless another has joined it already, with the one that raises the
    cost least; returns a label for each group, with gaps."""
    bound, size, cost = bounds_of(p, states, labels, groups)
    into, grown = np.arange(groups), np.zeros(groups, np.bool_)
    for c in range(chosen.size):
        g = chosen[c]
        if grown[g]:
            continue
        best, _ = cheapest_join(p, bound, size, cost, g, 0, ANY)
        if best < 0:
            break
        into[g] = best
        grown[best] = True
        join_into(p, bound, best, bound, g)
        cost[best] = units(p, bound, best)
        size[best] += size[g]
        size[g] = 0
    for g in range(groups):
        to = into[g]
        while into[to] != to:
            to = into[to]
        into[g] = to
    return into
