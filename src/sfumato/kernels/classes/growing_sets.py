"""Growing one set of k records around a record: the beam, of which greedy is the narrowest.

At every step each of the sets in hand is tried with every record that is left, and the cheapest
extended sets go on. Records are sought in a trie (record_trie.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..joins.lub import Joins, States, cell_cost, join
from .record_trie import (
    NEAR,
    Left,
    Scratch,
    Trie,
    beyond,
    first_within,
    give_back,
    leaf_cost,
    lowest_left,
    prepare,
    step_cost,
    take,
)


class Sets(NamedTuple):
    """The sets of a beam: members in the order they came, least upper bounds, sums that tell
    sets apart, and how many there are."""

    members: Ints
    states: States
    marks: Ints
    held: Ints


class Pool(NamedTuple):
    """The cheapest extensions so far: cost, the set that is extended, the row that joins it.

    `kept` holds how many there are, and whether one that was left out costs as much as the last.
    """

    cost: Floats
    parent: Ints
    row: Ints
    leaf: Ints
    kept: Ints


def room_for(width: int, k: int, d: int) -> tuple[Sets, Sets, Pool]:
    """Room for a beam: its sets, the next ones, and their extensions."""

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    old, new = (Sets(ints(width, k), ints(width, d), ints(width), ints(1)) for _ in range(2))
    return old, new, Pool(np.full(width, np.inf), ints(width), ints(width), ints(width), ints(2))


@njit(cache=True, nogil=True, inline="always")
def _mark(row: int) -> int:
    """A number that scatters; sums of them tell most sets apart at once."""
    x = np.uint64(row + 1) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0xD6E8FEB86659FD93)
    return int((x ^ (x >> np.uint64(29))) >> np.uint64(1))


@njit(cache=True, nogil=True, inline="always")
def _same(sets: Sets, size: int, p: int, row: int, q: int, other: int) -> bool:
    """Whether two extended sets hold the same records."""
    if sets.marks[p] + _mark(row) != sets.marks[q] + _mark(other):
        return False
    for a in range(size + 1):
        wanted = row if a == size else sets.members[p, a]
        found = wanted == other
        for b in range(size):
            found = found or sets.members[q, b] == wanted
        if not found:
            return False
    return True


@njit(cache=True, nogil=True)
def _offer(pool: Pool, sets: Sets, size: int, cost: float, p: int, row: int, leaf: int) -> None:
    """Keep the extension if it is among the cheapest, and is not there already."""
    width, kept = pool.cost.size, pool.kept[0]
    full = kept == width
    if full and cost > pool.cost[width - 1]:
        return
    for e in range(kept):
        if pool.cost[e] == cost:
            if pool.parent[e] == p and pool.leaf[e] == leaf:
                return
            if pool.parent[e] != p and _same(sets, size, p, row, pool.parent[e], pool.row[e]):
                return
    at = kept
    while at > 0 and (
        pool.cost[at - 1] > cost
        or (
            pool.cost[at - 1] == cost
            and (pool.parent[at - 1] > p or (pool.parent[at - 1] == p and pool.row[at - 1] > row))
        )
    ):
        at -= 1
    if at == width:
        pool.kept[1] = 1
        return
    dropped = pool.cost[width - 1] if full else np.inf
    for e in range(min(kept, width - 1), at, -1):
        pool.cost[e] = pool.cost[e - 1]
        pool.parent[e] = pool.parent[e - 1]
        pool.row[e] = pool.row[e - 1]
        pool.leaf[e] = pool.leaf[e - 1]
    pool.cost[at], pool.parent[at], pool.row[at], pool.leaf[at] = cost, p, row, leaf
    if full:
        pool.kept[1] = 1 if dropped == pool.cost[width - 1] else 0
    else:
        pool.kept[0] = kept + 1


@njit(cache=True, nogil=True, inline="always")
def _hopeless(pool: Pool, cost: float, p: int, least: int) -> bool:
    """Whether no extension of set p that costs this, by a row from `least` on, matters any more."""
    last = pool.cost.size - 1
    if pool.kept[0] <= last or cost < pool.cost[last]:
        return False
    if cost > pool.cost[last]:
        return True
    if pool.kept[1] == 0:
        return False  # it may be the tie that is to be told
    return pool.parent[last] < p or pool.row[last] <= least


@njit(cache=True, nogil=True, inline="always")
def _extend(
    joins: Joins,
    trie: Trie,
    monotone: Ints,
    left: Left,
    sets: Sets,
    size: int,
    p: int,
    pool: Pool,
    work: Scratch,
) -> None:
    """Offer the records that are left, as extensions of set p, to the pool."""
    state = sets.states[p]
    prepare(joins, trie, monotone, state, work)
    leaves, last = trie.level_at[-2], trie.column.size - 1
    own = trie.leaf[sets.members[p, 0]]
    for leaf in range(max(own - NEAR, leaves), min(own + NEAR + 1, trie.value.size)):
        if left.below[leaf]:
            cost = leaf_cost(joins, trie, state, work, leaf)
            _offer(pool, sets, size, cost, p, lowest_left(trie, left, leaf), leaf)
    level = 0
    work.cursor[0], work.end[0], work.sums[0] = 0, trie.level_at[1], 0.0
    while level >= 0:
        node = work.cursor[level]
        if node == work.end[level]:
            level -= 1
            continue
        work.cursor[level] += 1
        if left.below[node] == 0:
            continue
        cost = work.sums[level] + step_cost(joins, trie, state, work, level, node)
        if _hopeless(pool, cost + work.rest[level], p, trie.least[node]):
            if cost + work.rest[level] > pool.cost[pool.cost.size - 1] and beyond(
                joins, trie, state, level, node
            ):
                work.cursor[level] = work.end[level]
            continue
        if level == last:
            _offer(pool, sets, size, cost, p, lowest_left(trie, left, node), node)
            continue
        level += 1
        most = pool.cost[pool.cost.size - 1] - cost - work.rest[level]
        low, high = trie.child[node], trie.stop[node]
        work.cursor[level] = first_within(joins, trie, state, work, level, low, high, most)
        work.end[level], work.sums[level] = high, cost


@njit(cache=True, nogil=True)
def grow(
    joins: Joins,
    trie: Trie,
    monotone: Ints,
    states: States,
    left: Left,
    seed: int,
    k: int,
    room: tuple[Sets, Sets, Pool],
    work: Scratch,
    members: Ints,
    place: int,
) -> tuple[float, int]:
    """Fill members[place] with the cheapest set of k found around a row that is left.

    Says what its least upper bound costs, and in how many steps costs alike were decided by order.
    Every row is left again afterwards.
    """
    old, new, pool = room
    ties = 0
    old.members[0, 0], old.marks[0], old.held[0] = seed, _mark(seed), 1
    for j in range(states.shape[1]):
        old.states[0, j] = states[seed, j]
    take(trie, left, seed)
    for size in range(1, k):
        pool.kept[0], pool.kept[1] = 0, 0
        for e in range(pool.cost.size):
            pool.cost[e] = np.inf
        for p in range(old.held[0]):
            for m in range(1, size):
                take(trie, left, old.members[p, m])
            _extend(joins, trie, monotone, left, old, size, p, pool, work)
            for m in range(1, size):
                give_back(trie, left, old.members[p, m])
        ties += pool.kept[1]
        for e in range(pool.kept[0]):
            p, row = pool.parent[e], pool.row[e]
            for m in range(size):
                new.members[e, m] = old.members[p, m]
            new.members[e, size] = row
            new.marks[e] = old.marks[p] + _mark(row)
            for j in range(states.shape[1]):
                new.states[e, j] = join(joins, j, old.states[p, j], states[row, j])
        new.held[0] = pool.kept[0]
        old, new = new, old
    give_back(trie, left, seed)
    cost = 0.0
    for j in range(states.shape[1]):
        cost += cell_cost(joins, j, old.states[0, j])
    for m in range(k):
        members[place, m] = old.members[0, m]
    return cost, ties
