"""Least upper bounds of records, cell by cell, and what publishing them costs.

A search that joins records needs two things of a column: the least upper bound of two cells, and
its cost. Both are wanted many millions of times, so a cell is one integer, its *state*, whatever
the column's poset:

- TREE: a node; joined by climbing.
- ORDER: a node of a small tree or of any partial order; joined by a table of all pairs.
- INTERVAL: the smallest and the largest code, `low << 32 | high`; its cost is a width, and at most
  that of "*".
- LEVELS: the same, but published as the finest level (day, month, year ...) that holds both ends.
- VALUES: the set of codes as bits; its cost depends on how many there are.
- POWER: the elements that all have in common, as bits; its cost depends on how many are left. A set
  that is published whole has the bit WHOLE, and costs nothing.
- ANCESTORS: a node of a large partial order; joined at the first ancestor that two lists share.

Code 0 is missing (bit 0 of VALUES, the sign of POWER). What is partly missing is published as "*",
and costs as much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints

TREE, ORDER, INTERVAL, LEVELS, VALUES, POWER, ANCESTORS = range(7)
MOST_BITS = 62
"""Values of a set that fit a state beside the bit of missing ones."""

Nodes = NDArray[np.int32]
States = NDArray[np.int64]

WHOLE = 1 << 62
"""A POWER state that is a set itself, not what several have in common."""
NO_SET = -(1 << 63)
"""The POWER state of a missing value."""

_HIGH = (1 << 32) - 1


class Joins(NamedTuple):
    """What the functions below know of the columns: flat arrays, and where each column's begin.

    `at` points into `parent`, `depth` and `cost`, `table_at` into `table`. `width` is the number of
    nodes (TREE, ORDER, ANCESTORS), of codes and one (INTERVAL, LEVELS) or of bits (VALUES, POWER);
    `levels` those of LEVELS. `star` is the cost of a suppressed cell. Weights are in the costs
    already.
    """

    kind: Ints
    at: Ints
    table_at: Ints
    width: Ints
    levels: Ints
    star: Floats
    parent: Nodes
    depth: Nodes
    cost: Floats
    table: Nodes


@njit(cache=True, nogil=True, inline="always")
def ends(low: int, high: int) -> int:
    """The state of an interval of codes."""
    return (low << 32) | high


@njit(cache=True, nogil=True)
def bits_set(state: int) -> int:
    """How many bits of a state are set."""
    count = 0
    while state:
        state &= state - 1
        count += 1
    return count


@njit(cache=True, nogil=True)
def first_shared(table: Nodes, at: int, width: int, a: int, b: int) -> int:
    """The first node on two ascending lists of ancestors.

    From `table[at]` on are where the lists begin, one for each node and one more, then the lists.
    """
    lists = at + width + 1
    i, j = lists + table[at + a], lists + table[at + b]
    while table[i] != table[j]:
        if table[i] < table[j]:
            i += 1
        else:
            j += 1
    return int(table[i])


@njit(cache=True, nogil=True)
def join(joins: Joins, j: int, a: int, b: int) -> int:
    """The least upper bound of two states of column j."""
    if a == b:
        return a
    kind = joins.kind[j]
    if kind == ORDER:
        return int(joins.table[joins.table_at[j] + a * joins.width[j] + b])
    if kind in (INTERVAL, LEVELS):
        return ends(min(a >> 32, b >> 32), max(a & _HIGH, b & _HIGH))
    if kind == VALUES:
        return a | b
    if kind == POWER:
        return a & b & ~WHOLE
    if kind == ANCESTORS:
        return first_shared(joins.table, joins.table_at[j], joins.width[j], a, b)
    at = joins.at[j]
    while a != b:
        if joins.depth[at + a] >= joins.depth[at + b]:
            a = int(joins.parent[at + a])
        else:
            b = int(joins.parent[at + b])
    return a


@njit(cache=True, nogil=True)
def cell_cost(joins: Joins, j: int, state: int) -> float:
    """What publishing a state of column j costs."""
    kind = joins.kind[j]
    at = joins.at[j]
    if kind in (ORDER, TREE, ANCESTORS):
        return joins.cost[at + state]
    if kind == VALUES:
        if state & 1 and state > 1:
            return joins.star[j]
        return joins.cost[at + bits_set(state)]
    if kind == POWER:
        if state < 0 or state & WHOLE:
            return 0.0
        return joins.cost[at + bits_set(state)]
    low, high = state >> 32, state & _HIGH
    if low == 0:
        return joins.star[j] if high else 0.0
    if kind == INTERVAL:
        return min(joins.cost[at + high] - joins.cost[at + low], joins.star[j])
    table, width = joins.table_at[j], joins.width[j]
    for level in range(joins.levels[j]):
        if joins.table[table + level * width + low] == joins.table[table + level * width + high]:
            return joins.cost[at + level * width + low]
    return joins.star[j]


@njit(cache=True, nogil=True)
def record_cost(joins: Joins, states: States) -> float:
    """What publishing a record costs: the sum over its cells."""
    total = 0.0
    for j in range(states.size):
        total += cell_cost(joins, j, states[j])
    return total


@njit(cache=True, nogil=True)
def join_into(joins: Joins, into: States, other: States) -> None:
    """`into` becomes the least upper bound of the two records."""
    for j in range(into.size):
        into[j] = join(joins, j, into[j], other[j])
