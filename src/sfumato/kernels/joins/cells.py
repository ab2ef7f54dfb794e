"""Joins (lub.py) with the costs of all pairs, for the innermost loops of local recoding.

The local search asks for the cost of a join some hundred million times a second: where a column has
a small table of pairs, what each pair costs is looked up directly.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .lub import COST as COST
from .lub import COUNT, MANY, ORDER, SCATTERED, STEPS, TABLE, Joins, join_at
from .lub import KIND as KIND
from .lub import WIDTH as WIDTH
from .lub import addresses as addresses
from .lub import cost_at as cost_at
from .lub import cost_of as cost_of
from .lub import number_at as number_at
from .value_sets import MOST_LISTED, holds

Cells = Joins
"""Joins whose ORDER columns have a cost for each pair of states, not for each state; SCATTERED are
those whose table of costs would be too large. MANY columns have lists of values."""

MOST_PAIRS = 1 << 21
"""Entries of a table whose costs are looked up directly."""


def make_cells(joins: Joins, lists: int = 0, longest: int = 0) -> Cells:
    """The joins, with costs pair by pair where there is a small table of pairs, and with room for
    so many lists of values in every MANY column.

    >>> head = np.array([[ORDER, 0, 2, 2, 0, 0, 0, 0]])
    >>> joins = Joins(head, np.array([0, 1, 1, 1], np.int32), np.array([0.0, 1.0, 1.0]))
    >>> make_cells(joins).cost.tolist()
    [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    """
    head, costs, end = joins.head.copy(), [joins.cost], joins.cost.size
    for j in np.flatnonzero(joins.kind == ORDER).tolist():
        if joins.head[j, WIDTH] ** 2 > MOST_PAIRS:
            head[j, KIND] = SCATTERED
            continue
        costs.append(joins.costs(j)[joins.pairs(j)].ravel())
        head[j, COST], end = end, end + costs[-1].size
    nodes, many = joins.nodes, np.flatnonzero(joins.kind == MANY)
    if many.size and lists:
        # Less than a state's bits, for groups are no larger than their pool.
        longest = min(longest, MOST_LISTED)
        room = (lists + 1) * longest
        head[many, TABLE] = nodes.size + room * np.arange(many.size)
        head[many, STEPS] = longest
        nodes = np.concatenate([nodes, np.zeros(room * many.size, np.int32)])
    return Cells(head, nodes, np.concatenate(costs))


@njit(cache=True, nogil=True)
def _pair(head: int, cost: int, nodes: int, j: int, a: int, b: int) -> float:
    if number_at(head, 8 * j) == MANY and (a < 0) != (b < 0):
        # A set and a value: the only case in which the list of a set is asked for.
        listed, code = min(a, b), max(a, b)
        if -listed > COUNT and holds(head, nodes, j, listed, code):
            return cost_of(head, cost, nodes, j, listed)
    return cost_of(head, cost, nodes, j, join_at(head, nodes, j, a, b))


@njit(cache=True, nogil=True)
def joined(head: int, nodes: int, j: int, a: int, b: int) -> int:
    """The least upper bound of two states of column j."""
    return a if a == b else join_at(head, nodes, j, a, b)


@njit(cache=True, nogil=True, inline="always")
def pair_cost(head: int, cost: int, nodes: int, j: int, a: int, b: int) -> float:
    """What the least upper bound of two states of column j costs."""
    if number_at(head, 8 * j) == ORDER:
        row = number_at(head, 8 * j + COST) + a * number_at(head, 8 * j + WIDTH)
        found = cost_at(cost, row + b)
    else:
        found = _pair(head, cost, nodes, j, a, b)
    return found
