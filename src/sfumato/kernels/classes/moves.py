"""Partitions into groups of k to 2k - 1 records, and what moving and swapping records costs.

The cost of a group is its size times what its least upper bound costs; that of a partition is the
sum. A least upper bound has no inverse, hence each group also keeps, for each of its members, the
bound of the others: a move or a swap then takes one join a column. Groups are small, and what they
keep is made afresh from their members when they change.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numba import njit

from ..arrays import Ints
from ..joins.lub import KIND, ORDER, TABLE, WIDTH, States, bounds_of, join
from ..joins.prices import ANY, NOBODY, Prices, join_into, joined, units

POOL = 3
"""Groups that are formed anew together, at most; two at least."""
TWO = cast("int", np.int64(2))


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
    bound: States  # (g + 2 POOL, d) least upper bound of each group, and of those formed anew
    others: States  # (g * 2k, d) the same without each member
    cost: Ints  # (g,) of all its records
    free: Ints
    counts: Ints
    scratch: Ints  # (3, 2k POOL)


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
        bound=np.zeros((most + 2 * POOL, d), np.int64),
        others=np.zeros((most * 2 * k, d), np.int64),
        cost=np.zeros(most, np.int64),
        free=free,
        counts=np.array([most - used], np.int64),
        scratch=np.zeros((3, 2 * k * POOL), np.int64),
    )
    refresh(found, np.arange(used), used)
    return found


@njit(cache=True, nogil=True)
def refresh(s: Groups, names: Ints, count: int) -> None:
    """Make afresh what the groups names[:count] keep, from their members."""
    p, x, others, bound, member = s.prices, s.states, s.others, s.bound, s.member
    head, nodes = p.head, p.nodes
    for f in range(count):
        g = names[f]
        size, first = s.size[g], 2 * s.k * g
        for m in range(size):
            s.label[member[g, m]] = g
            s.place[member[g, m]] = m
        for j in range(x.shape[1]):
            is_order, table, width = head[j, KIND] == ORDER, head[j, TABLE], head[j, WIDTH]
            # From the left the bound of the members before m; then from the right of those behind.
            state = x[member[g, 0], j]
            for m in range(1, size):
                others[first + m, j] = state
                other = x[member[g, m], j]
                if is_order:
                    state = nodes[table + state * width + other]
                else:
                    state = join(p, j, state, other)
            bound[g, j] = state
            state = x[member[g, size - 1], j]
            for m in range(size - 2, 0, -1):
                other = x[member[g, m], j]
                if is_order:
                    others[first + m, j] = nodes[table + others[first + m, j] * width + state]
                    state = nodes[table + state * width + other]
                else:
                    others[first + m, j] = join(p, j, others[first + m, j], state)
                    state = join(p, j, state, other)
            others[first, j] = state
        s.cost[g] = size * units(p, bound, g)


@njit(cache=True, nogil=True, inline="always")
def move_change(s: Groups, i: int, b: int) -> int:
    """How the cost changes when record i moves to group b."""
    a = s.label[i]
    left = (s.size[a] - 1) * units(s.prices, s.others, 2 * s.k * a + s.place[i])
    right = (s.size[b] + 1) * joined(s.prices, s.bound, b, s.states, i, ANY)
    return int(left + right - s.cost[a] - s.cost[b])


@njit(cache=True, nogil=True, inline="always")
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


@njit(cache=True, nogil=True, inline="always")
def move(s: Groups, i: int, b: int, r: int) -> None:
    """Move record i to group b, in exchange for its record r; for none (-1) where b has room."""
    member, size, both = s.member, s.size, s.scratch[0]
    a, m = s.label[i], s.place[i]
    if r < 0:
        size[a] -= 1
        member[a, m] = member[a, size[a]]
        member[b, size[b]] = i
        size[b] += 1
    else:
        member[a, m] = r
        member[b, s.place[r]] = i
    both[0], both[1] = a, b
    refresh(s, both, TWO)


def priced_groups(prices: Prices, states: States, labels: Ints) -> tuple[States, Ints, Ints]:
    """The least upper bound of each group 0..g-1 of any partition, its size, and what one of its
    records costs."""
    bound, size, cells = bounds_of(prices, states, labels, int(labels.max()) + 1)
    return bound, size, (cells + 0.5).astype(np.int64).sum(axis=1)


def total_cost(prices: Prices, states: States, labels: Ints) -> int:
    """The cost of any partition, from its labels 0..g-1."""
    _, size, cost = priced_groups(prices, states, labels.astype(np.int64))
    return int(size @ cost)


@njit(cache=True, nogil=True)
def cheapest_join(p: Prices, bound: States, size: Ints, cost: Ints, g: int) -> tuple[int, int]:
    """The group with records whose join with g raises the cost least, the first of equals, and by
    how much; -1 where there is none."""
    best, least = NOBODY, ANY
    own = size[g] * cost[g]
    for h in range(size.size):
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
def _join_chosen(p: Prices, bound: States, size: Ints, cost: Ints, chosen: Ints) -> Ints:
    """The group that each one joins, itself where it joins none."""
    into, grown = np.arange(size.size), np.zeros(size.size, np.int64)
    for g in chosen:
        if grown[g]:
            continue
        best, _ = cheapest_join(p, bound, size, cost, g)
        if best < 0:
            break
        into[g] = best
        grown[best] = 1
        join_into(p, bound, best, bound, g)
        cost[best] = units(p, bound, best)
        size[best] += size[g]
        size[g] = 0
    return into


def join_chosen(prices: Prices, states: States, labels: Ints, chosen: Ints) -> Ints:
    """Labels 0..g-1 after each chosen group, unless another has joined it already, has joined the
    one that raises the cost least."""
    into = _join_chosen(prices, *priced_groups(prices, states, labels.astype(np.int64)), chosen)
    return numbered(ends(into)[labels])


def ends(into: Ints) -> Ints:
    """Where each group's joins lead in the end."""
    while not np.array_equal(into[into], into):
        into = into[into]
    return into


def numbered(labels: Ints) -> Ints:
    """The labels without gaps, 0..g-1."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
