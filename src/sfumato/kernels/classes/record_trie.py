"""A trie of records: the cheapest record to join with a set, found without looking at all.

Records are paths, one step for each column, the column with the fewest values first. The cost of a
least upper bound is a sum over columns, none of them negative, so that the sum over the first
columns already tells that no record below is cheap enough, and the whole branch is skipped. The
rest of the sum is bounded by the least that each column costs with any of its values. Nothing else
is asked of the measure: it need not be monotone.

Equal costs are decided by the lowest row. That is exact only where sums do not depend on the order
of their terms; `exact_costs` rounds the costs to a grid on which they do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..joins.lub import INTERVAL, KIND, STAR, Joins, States, cell_cost, join

TABLED = 256
"""Values of a column whose joins with a set are all worked out before the search."""
NEAR = 6
"""Neighbours on either side that are looked at first: they make branches dear from the start."""
_DIGITS = 48


class Trie(NamedTuple):
    """Nodes level by level; a level is a column, `column[level]`.

    Children of a node are the nodes `child[node]` to `stop[node]`; those of the last level, the
    leaves, are the distinct records, and their children are places in `rows`. `value` is the number
    of a node's state among `states[state_at[level]:]`; `least` the lowest row below a node.
    """

    column: Ints
    level_at: Ints
    state_at: Ints
    states: States
    value: Ints
    parent: Ints
    child: Ints
    stop: Ints
    least: Ints
    rows: Ints
    leaf: Ints
    """The leaf of each row."""
    tabled: Ints
    """By level: whether it has few values."""


class Left(NamedTuple):
    """Which records are left: counts below each node, the first place of each leaf, marks of rows.

    Leaves come last among the nodes, and `first` has an entry for each of them.
    """

    below: Ints
    first: Ints
    used: Ints


class Scratch(NamedTuple):
    """What a search needs room for."""

    table: Floats
    rest: Floats
    cursor: Ints
    end: Ints
    sums: Floats


def exact_costs(joins: Joins) -> Joins:
    """The same joins with costs on a grid so coarse that sums of them are exact, in any order.

    One step of the grid is about 2^-48 of what the dearest record costs, which nobody could tell.
    """
    others = np.delete(joins.cost, joins.head[:, STAR])
    dearest = float(np.abs(joins.star).sum()) + float(np.abs(others).max(initial=0.0))
    if not dearest:
        return joins
    grid = 2.0 ** (np.ceil(np.log2(dearest)) - _DIGITS)
    return joins._replace(cost=np.round(joins.cost / grid) * grid)


def build_trie(states: np.ndarray) -> Trie:
    """The trie of a table's records, (n, d) states with at least one column."""
    n, d = states.shape
    found = [np.unique(states[:, j], return_inverse=True) for j in range(d)]
    column = np.array(sorted(range(d), key=lambda j: found[j][0].size), dtype=np.int64)
    codes = [found[j][1].reshape(-1) for j in column]
    order = np.lexsort((np.arange(n), *codes[::-1]))
    starts = np.zeros(n, dtype=bool)
    starts[:1] = True
    value, parent, least, firsts = [], [], [], []
    node_of = np.zeros(n, dtype=np.int64)
    base, above = 0, None
    for code in codes:
        arranged = code[order]
        starts[1:] |= arranged[1:] != arranged[:-1]
        at = np.flatnonzero(starts)
        firsts.append(at)
        value.append(arranged[at])
        parent.append(np.full(at.size, -1) if above is None else above[at])
        least.append(np.minimum.reduceat(order, at) if n else at)
        node_of = base + np.cumsum(starts) - 1
        above, base = node_of, base + at.size
    level_at = np.concatenate(([0], np.cumsum([v.size for v in value]))).astype(np.int64)
    child, stop = _children(firsts, level_at, n)
    leaf = np.empty(n, dtype=np.int64)
    leaf[order] = node_of
    sizes = [found[j][0].size for j in column]
    return Trie(
        column=column,
        level_at=level_at,
        state_at=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        states=np.concatenate([found[j][0] for j in column]).astype(np.int64),
        value=np.concatenate(value).astype(np.int64),
        parent=np.concatenate(parent).astype(np.int64),
        child=child,
        stop=stop,
        least=np.concatenate(least).astype(np.int64),
        rows=order.astype(np.int64),
        leaf=leaf,
        tabled=(np.array(sizes) <= TABLED).astype(np.int64),
    )


def _children(firsts: list[np.ndarray], level_at: np.ndarray, n: int) -> tuple[Ints, Ints]:
    """Where the children of each node begin and end, from where each node begins among the rows."""
    child, stop = [], []
    for level, at in enumerate(firsts):
        ends = np.append(at[1:], n)
        if level + 1 < len(firsts):
            below = firsts[level + 1]
            begin, end = np.searchsorted(below, at), np.searchsorted(below, ends)
            child.append(level_at[level + 1] + begin)
            stop.append(level_at[level + 1] + end)
        else:
            child.append(at)
            stop.append(ends)
    return np.concatenate(child).astype(np.int64), np.concatenate(stop).astype(np.int64)


def all_left(trie: Trie) -> Left:
    """Every record is left."""
    below = trie.stop - trie.child
    for level in range(trie.column.size - 1, 0, -1):
        at, end = trie.level_at[level : level + 2]
        above = trie.level_at[level - 1]
        counted = np.bincount(trie.parent[at:end] - above, below[at:end], at - above)
        below[above:at] = counted.astype(np.int64)
    return Left(below, trie.child[trie.level_at[-2] :].copy(), np.zeros(trie.rows.size, np.int64))


def scratch(trie: Trie) -> Scratch:
    """Room for one search at a time."""
    d = trie.column.size
    cursor, end = np.zeros((2, d), np.int64)
    return Scratch(np.zeros((d, TABLED)), np.zeros(d), cursor, end, np.zeros(d))


@njit(cache=True, nogil=True)
def take(trie: Trie, left: Left, row: int) -> None:
    """The row is no longer left."""
    left.used[row] = 1
    leaf = trie.leaf[row]
    at = leaf - trie.level_at[-2]
    place = left.first[at]
    while place < trie.stop[leaf] and left.used[trie.rows[place]]:
        place += 1
    left.first[at] = place
    while leaf >= 0:
        left.below[leaf] -= 1
        leaf = trie.parent[leaf]


@njit(cache=True, nogil=True)
def give_back(trie: Trie, left: Left, row: int) -> None:
    """The row is left again."""
    left.used[row] = 0
    leaf = trie.leaf[row]
    at = leaf - trie.level_at[-2]
    place = min(left.first[at], trie.stop[leaf] - 1)
    while place > trie.child[leaf] and trie.rows[place] > row:
        place -= 1
    while place < trie.stop[leaf] and left.used[trie.rows[place]]:
        place += 1
    left.first[at] = place
    while leaf >= 0:
        left.below[leaf] += 1
        leaf = trie.parent[leaf]


@njit(cache=True, nogil=True, inline="always")
def lowest_left(trie: Trie, left: Left, leaf: int) -> int:
    """The lowest row of a leaf that is left; there must be one."""
    return trie.rows[left.first[leaf - trie.level_at[-2]]]


@njit(cache=True, nogil=True, inline="always")
def prepare(joins: Joins, trie: Trie, monotone: Ints, state: States, work: Scratch) -> None:
    """Work out what joining `state` costs, column by column, and the least it costs from each on.

    `monotone[j]` says that joining never makes a cell of column j cheaper.
    """
    d = trie.column.size
    later = 0.0
    for level in range(d - 1, -1, -1):
        j = trie.column[level]
        work.rest[level] = later
        least = cell_cost(joins, j, state[j]) if monotone[j] else 0.0
        if trie.tabled[level]:
            at = trie.state_at[level]
            least = np.inf
            for v in range(trie.state_at[level + 1] - at):
                cost = cell_cost(joins, j, join(joins, j, state[j], trie.states[at + v]))
                work.table[level, v] = cost
                least = min(least, cost)
        later += least


@njit(cache=True, nogil=True, inline="always")
def step_cost(
    joins: Joins, trie: Trie, state: States, work: Scratch, level: int, node: int
) -> float:
    """What joining the node's value costs in its column."""
    if trie.tabled[level]:
        return work.table[level, trie.value[node]]
    j = trie.column[level]
    value = trie.states[trie.state_at[level] + trie.value[node]]
    return cell_cost(joins, j, join(joins, j, state[j], value))


@njit(cache=True, nogil=True, inline="always")
def leaf_cost(joins: Joins, trie: Trie, state: States, work: Scratch, leaf: int) -> float:
    """What joining a whole record costs, summed as the search sums it."""
    total, node = 0.0, leaf
    for level in range(trie.column.size - 1, -1, -1):
        total += step_cost(joins, trie, state, work, level, node)
        node = trie.parent[node]
    return total


@njit(cache=True, nogil=True, inline="always")
def first_within(
    joins: Joins,
    trie: Trie,
    state: States,
    work: Scratch,
    level: int,
    low: int,
    high: int,
    most: float,
) -> int:
    """Of the siblings low..high, the first that may cost no more than `most`.

    Values of a long column of intervals are sorted, and cost the less the closer they come to the
    interval from below.
    """
    j = trie.column[level]
    if trie.tabled[level] or joins.head[j, KIND] != INTERVAL:
        return low
    at = trie.state_at[level]
    while low < high:
        middle = (low + high) // 2
        value = trie.states[at + trie.value[middle]]
        if value >= state[j] or step_cost(joins, trie, state, work, level, middle) <= most:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True, inline="always")
def beyond(joins: Joins, trie: Trie, state: States, level: int, node: int) -> bool:
    """Whether all later siblings cost at least as much, being further above the interval."""
    j = trie.column[level]
    if trie.tabled[level] or joins.head[j, KIND] != INTERVAL:
        return False
    value = trie.states[trie.state_at[level] + trie.value[node]]
    return (value >> 32) > (state[j] & ((1 << 32) - 1))
