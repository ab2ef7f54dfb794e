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
- MANY: a set of more values than there are bits: its only code, or less than zero how many there
  are (value_sets.py). Joined here it counts those of both; `bounds_of` counts each value once.

Code 0 is missing (bit 0 of VALUES, the sign of POWER). What is partly missing costs as much as "*",
unless missing is one more value (`exact` in data/generalized/cell_costs.py): then GONE is a missing
value, the bit MIXED (for POWER the sign) marks what is joined with one, and costs more by the gap
that follows the cost of "*". ORDER has nodes of its own for that; VALUES and MANY count it.

Numba counts references to every array that is handed on, which would take several times longer than
the look-up itself. So the columns are packed into three arrays, and the innermost functions take
these as addresses, mere numbers: an address is good for as long as its array lives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ..arrays import Floats, Ints

TREE, ORDER, INTERVAL, LEVELS, VALUES, POWER, ANCESTORS, SCATTERED, MANY = range(9)
MOST_BITS = 62
"""Values of a set that fit a state beside the bit of missing ones."""

Nodes = NDArray[np.int32]
States = NDArray[np.int64]

WHOLE = 1 << 62
"""A POWER state that is a set itself, not what several have in common."""
NO_SET = -(1 << 63)
"""The POWER state of a missing value."""

MIXED = 1 << 61
"""The bit of a TREE, ANCESTORS, INTERVAL or LEVELS state some of whose records have no value."""
GONE = 2 * MIXED - 1
"""Such a state none of whose records has a value."""
NO_TRAITS = NO_SET | WHOLE
"""GONE of POWER."""

KIND, COST, STAR, WIDTH, TABLE, STEPS, PARENT, DEPTH = range(8)
"""The entries of a column in `Joins.head`."""

_HIGH = (1 << 32) - 1
COUNT = (1 << 22) - 1
"""The bits of a MANY state in which values are counted."""


class Joins(NamedTuple):
    """What the functions below know of the columns: flat arrays, and where each column's begin.

    A row of `head` holds the column's kind; where its costs begin and where the cost of "*" is, in
    `cost`; its number of nodes (TREE, ORDER, ANCESTORS), of codes and one (INTERVAL, LEVELS) or of
    bits (VALUES, POWER); where its table begins, in `nodes`; its levels (LEVELS), or 1 where
    missing is one more value (VALUES); and where its parents and depths begin, in `nodes` (TREE).
    Weights are in the costs already.
    """

    head: Ints
    nodes: Nodes
    cost: Floats

    @property
    def kind(self) -> Ints:
        """The kind of each column."""
        return self.head[:, KIND]

    @property
    def star(self) -> Floats:
        """What a suppressed cell of each column costs."""
        return self.cost[self.head[:, STAR]]

    def costs(self, j: int) -> Floats:
        """The costs of a column's nodes or codes (TREE, ORDER, ANCESTORS, INTERVAL)."""
        return self.cost[self.head[j, COST] :][: self.head[j, WIDTH]]

    def column(self, j: int) -> Joins:
        """What is known of one column alone."""
        return self._replace(head=self.head[j : j + 1].copy())

    def pairs(self, j: int) -> Nodes:
        """The table of all pairs of an ORDER column."""
        width = int(self.head[j, WIDTH])
        return self.nodes[self.head[j, TABLE] :][: width * width].reshape(width, width)


def _loader(numba_type: Any, ir_type: Any) -> Any:
    def load(context: Any, address: Any, index: Any) -> Any:
        def generate(target_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir_type.as_pointer())
            return builder.load(builder.gep(pointer, [arguments[1]]))

        return numba_type(types.int64, types.int64), generate

    return intrinsic(load)


number_at = _loader(types.int64, ir.IntType(64))
cost_at = _loader(types.float64, ir.DoubleType())
node_at = _loader(types.int32, ir.IntType(32))


@njit(cache=True, nogil=True, inline="always")
def addresses(joins: Joins) -> tuple[int, int, int]:
    """Where head, costs and nodes are, as the functions below want it."""
    return joins.head.ctypes.data, joins.cost.ctypes.data, joins.nodes.ctypes.data


@njit(cache=True, nogil=True, inline="always")
def bits_set(state: int) -> int:
    """How many bits of a state are set, added up in parallel (Warren 2002, Hacker's Delight)."""
    bits = state - ((state >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits += bits >> 8
    bits += bits >> 16
    bits += bits >> 32
    return bits & 127


@njit(cache=True, nogil=True, inline="always")
def first_shared(nodes: int, at: int, width: int, a: int, b: int) -> int:
    """The first node on two ascending lists of ancestors.

    From `at` on are where the lists begin, one for each node and one more, then the lists.
    """
    lists = at + width + 1
    one, other = lists + node_at(nodes, at + a), lists + node_at(nodes, at + b)
    while node_at(nodes, one) != node_at(nodes, other):
        if node_at(nodes, one) < node_at(nodes, other):
            one += 1
        else:
            other += 1
    return int(node_at(nodes, one))


@njit(cache=True, nogil=True, inline="always")
def count_of(state: int) -> int:
    """How many values a MANY state has."""
    return 1 if state >= 0 else -state & COUNT


@njit(cache=True, nogil=True)
def _shared_traits(a: int, b: int) -> int:
    """What two POWER states have in common."""
    if NO_TRAITS in (a, b):
        known = b if a == NO_TRAITS else a
        return known | NO_SET if known & ~NO_TRAITS else 0
    if a & ~NO_SET == b & ~NO_SET and a & ~NO_TRAITS:
        return a | b
    shared = a & b & ~NO_TRAITS
    return shared | NO_SET if shared and (a < 0 or b < 0) else shared


@njit(cache=True, nogil=True)
def join_at(head: int, nodes: int, j: int, a: int, b: int) -> int:
    """The least upper bound of two states of column j."""
    if a == b:
        return a
    kind = number_at(head, 8 * j + KIND)
    if kind == VALUES:
        return a | b
    if kind == POWER:
        return _shared_traits(a, b)
    if kind == MANY:
        return -min(count_of(a) + count_of(b), COUNT)
    mixed = (a | b) & MIXED
    if mixed:
        if GONE in (a, b):
            return (b if a == GONE else a) | MIXED
        a, b = a & ~MIXED, b & ~MIXED
    if kind in (INTERVAL, LEVELS):
        return (min(a >> 32, b >> 32) << 32) | max(a & _HIGH, b & _HIGH) | mixed
    if kind == TREE:
        parent = number_at(head, 8 * j + PARENT)
        depth = number_at(head, 8 * j + DEPTH)
        while a != b:
            if node_at(nodes, depth + a) >= node_at(nodes, depth + b):
                a = int(node_at(nodes, parent + a))
            else:
                b = int(node_at(nodes, parent + b))
        return a | mixed
    table, width = number_at(head, 8 * j + TABLE), number_at(head, 8 * j + WIDTH)
    if kind == ANCESTORS:
        return (a if a == b else first_shared(nodes, table, width, a, b)) | mixed
    return int(node_at(nodes, table + a * width + b))


@njit(cache=True, nogil=True)
def cost_of(head: int, cost: int, nodes: int, j: int, state: int) -> float:
    """What publishing a state of column j costs."""
    kind = number_at(head, 8 * j + KIND)
    star = number_at(head, 8 * j + STAR)
    if kind == POWER and state < 0:
        if state in (NO_SET, NO_TRAITS):
            return 0.0
        found = _cost_of_values(head, cost, nodes, j, state & ~NO_SET)
        return min(found + cost_at(cost, star + 1), cost_at(cost, star))
    if state & MIXED and kind in (TREE, ANCESTORS, INTERVAL, LEVELS):
        if state == GONE:
            return 0.0
        found = _cost_of_values(head, cost, nodes, j, state & ~MIXED)
        return min(found + cost_at(cost, star + 1), cost_at(cost, star))
    return _cost_of_values(head, cost, nodes, j, state)


@njit(cache=True, nogil=True)
def _cost_of_values(head: int, cost: int, nodes: int, j: int, state: int) -> float:
    """The same of a state none of whose records lacks a value, or all of them do."""
    kind = number_at(head, 8 * j + KIND)
    at = number_at(head, 8 * j + COST)
    if kind == VALUES:
        count, one_more = bits_set(state), number_at(head, 8 * j + STEPS) == 1
        top = number_at(head, 8 * j + WIDTH) - 1
        # "*": what is partly missing, or all values, where missing would be one more.
        partly = state & 1 and state > 1
        if (partly and not one_more) or (one_more and not state & 1 and count > 1 and count == top):
            return cost_at(cost, number_at(head, 8 * j + STAR))
        return cost_at(cost, at + count)
    if kind == POWER:
        return 0.0 if state & WHOLE else cost_at(cost, at + bits_set(state))
    if kind == MANY:
        return cost_at(cost, at + min(count_of(state), number_at(head, 8 * j + WIDTH) - 1))
    if kind in (INTERVAL, LEVELS):
        low, high = state >> 32, state & _HIGH
        if low == 0:
            return cost_at(cost, number_at(head, 8 * j + STAR)) if high else 0.0
        if kind == INTERVAL:
            width = cost_at(cost, at + high) - cost_at(cost, at + low)
            return min(width, cost_at(cost, number_at(head, 8 * j + STAR)))
        table = number_at(head, 8 * j + TABLE)
        codes = number_at(head, 8 * j + WIDTH)
        for level in range(number_at(head, 8 * j + STEPS)):
            ids = table + level * codes
            if node_at(nodes, ids + low) == node_at(nodes, ids + high):
                return cost_at(cost, at + level * codes + low)
        return cost_at(cost, number_at(head, 8 * j + STAR))
    return cost_at(cost, at + state)


@njit(cache=True, nogil=True, inline="always")
def join(joins: Joins, j: int, a: int, b: int) -> int:
    """The least upper bound of two states of column j."""
    return join_at(joins.head.ctypes.data, joins.nodes.ctypes.data, j, a, b)


@njit(cache=True, nogil=True, inline="always")
def cell_cost(joins: Joins, j: int, state: int) -> float:
    """What publishing a state of column j costs."""
    head, cost, nodes = addresses(joins)
    return cost_of(head, cost, nodes, j, state)


def bounds_of(
    joins: Joins, states: States, labels: Ints, groups: int
) -> tuple[States, Ints, Floats]:
    """The least upper bound of each group, its size, and what each cell of the bound costs; a label
    of -1 is no group."""
    bound, size = np.zeros((groups, states.shape[1]), np.int64), np.zeros(groups, np.int64)
    cells = np.zeros(bound.shape)
    _fill_bounds(joins, states, labels, bound, size, cells)
    for j in np.flatnonzero(joins.kind == MANY).tolist():
        _count_values(joins, j, states[:, j], labels, bound[:, j], cells[:, j])
    return bound, size, cells


def _count_values(
    joins: Joins, j: int, states: States, labels: Ints, bound: States, cells: Floats
) -> None:
    """The number of different values of each group, and what the set costs, in place."""
    there = labels >= 0
    pairs = np.unique(np.column_stack([labels[there], states[there]]), axis=0)
    group, first, count = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    # A suppressed cell, less than zero, comes first and could be anything.
    only = pairs[first, 1]
    bound[group] = np.where((count == 1) | (only < 0), only, -count)
    known = np.where(bound[group] < 0, -bound[group], 1)
    cells[group] = joins.costs(j)[np.minimum(known, joins.head[j, WIDTH] - 1)]


@njit(cache=True, nogil=True)
def _fill_bounds(
    joins: Joins, states: States, labels: Ints, bound: States, size: Ints, cells: Floats
) -> None:
    head, cost, nodes = addresses(joins)
    groups, d = bound.shape
    for i in range(labels.size):
        g = labels[i]
        if g < 0:
            continue
        for j in range(d):
            state = states[i, j]
            bound[g, j] = state if size[g] == 0 else join_at(head, nodes, j, bound[g, j], state)
        size[g] += 1
    for g in range(groups):
        for j in range(d):
            cells[g, j] = cost_of(head, cost, nodes, j, bound[g, j])


@njit(cache=True, nogil=True)
def settle_open(
    joins: Joins, states: States, labels: Ints, few: Ints, lub: States, size: Ints, cost: Floats
) -> None:
    """Records without a group join the one of `few` that they burden least, in place."""
    for i in range(labels.size):
        if labels[i] >= 0:
            continue
        best, lowest = few[0], np.inf
        for g in few:
            one = 0.0
            for j in range(states.shape[1]):
                one += cell_cost(joins, j, join(joins, j, lub[g, j], states[i, j]))
            rise = (size[g] + 1) * one - size[g] * cost[g]
            if rise < lowest:
                best, lowest = g, rise
        labels[i] = best
        size[best] += 1
        cost[best] = 0.0
        for j in range(states.shape[1]):
            lub[best, j] = join(joins, j, lub[best, j], states[i, j])
            cost[best] += cell_cost(joins, j, lub[best, j])
