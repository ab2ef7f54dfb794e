"""Joins (lub.py) with costs in whole units, for records that are named by array and row.

Costs are whole numbers of a small unit, so that sums and differences are exact and depend neither
on their order nor on the machine. A compiled function that is handed slices spends its time on
handing them over.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numba import njit

from .lub import COST, KIND, ORDER, STAR, TABLE, WIDTH, Joins, States, cell_cost, join

Prices = Joins

WHOLE = 1 << 32
"""Units of a record that is suppressed whole: a table of 2 ** 30 records cannot overflow."""
ANY = cast("int", np.int64(np.iinfo(np.int64).max))
"""The bound of whoever wants to know every cost."""
NOBODY, ZERO = cast("int", np.int64(-1)), cast("int", np.int64(0))
"""No record or group, and none so far: a plain number would have whoever takes it compiled once
more."""


def in_units(joins: Joins) -> Prices:
    """The joins, their costs scaled so that a wholly suppressed record costs `WHOLE` units."""
    whole = float(joins.star.sum())
    scale = WHOLE / whole if whole > 0 else 0.0
    cost = joins.cost * scale
    cost[joins.head[:, STAR]] = np.rint(joins.star * scale)
    return joins._replace(cost=cost)


@njit(cache=True, nogil=True, inline="always")
def cell_units(p: Prices, j: int, state: int) -> int:
    """What publishing a state of column j costs."""
    return int(cell_cost(p, j, state) + 0.5)


@njit(cache=True, nogil=True, inline="always")
def joined_cell(p: Prices, j: int, a: int, b: int) -> int:
    """What the least upper bound of two states of column j costs."""
    return cell_units(p, j, join(p, j, a, b))


@njit(cache=True, nogil=True)
def units(p: Prices, x: States, i: int) -> int:
    """What publishing record x[i] costs."""
    total = 0
    for j in range(x.shape[1]):
        if p.head[j, KIND] == ORDER:
            total += int(p.cost[p.head[j, COST] + x[i, j]] + 0.5)
        else:
            total += cell_units(p, j, x[i, j])
    return total


@njit(cache=True, nogil=True)
def joined(p: Prices, x: States, i: int, y: States, r: int, enough: int) -> int:
    """What the least upper bound of the records x[i] and y[r] costs; from `enough` on it may come
    out smaller than it is, since nobody asks."""
    total = 0
    head, nodes, cost = p.head, p.nodes, p.cost
    for j in range(x.shape[1]):
        # Most columns are small hierarchies: no call for those.
        if head[j, KIND] == ORDER:
            node = nodes[head[j, TABLE] + x[i, j] * head[j, WIDTH] + y[r, j]]
            total += int(cost[head[j, COST] + node] + 0.5)
        else:
            total += joined_cell(p, j, x[i, j], y[r, j])
        if total >= enough:
            break
    return total


@njit(cache=True, nogil=True)
def join_into(p: Prices, x: States, i: int, y: States, r: int) -> None:
    """Record x[i] becomes the least upper bound of x[i] and y[r]."""
    for j in range(x.shape[1]):
        if x[i, j] != y[r, j]:
            if p.head[j, KIND] == ORDER:
                x[i, j] = p.nodes[p.head[j, TABLE] + x[i, j] * p.head[j, WIDTH] + y[r, j]]
            else:
                x[i, j] = join(p, j, x[i, j], y[r, j])
