"""Joins (lub.py) packed for the innermost loops: three arrays, and costs in whole units.

A compiled function that is handed a dozen arrays or slices spends its time on handing them over:
what these functions take is packed into few arrays, and records are named by array and row. Costs
are whole numbers of a small unit, so that sums and differences are exact and depend neither on
their order nor on the machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from .lub import (
    ANCESTORS,
    INTERVAL,
    LEVELS,
    ORDER,
    POWER,
    TREE,
    VALUES,
    Joins,
    Nodes,
    States,
    bits_set,
    first_shared,
)
from .lub import WHOLE as WHOLE_SET

WHOLE = 1 << 32
"""Units of a record that is suppressed whole: a table of 2 ** 30 records cannot overflow."""
ANY = np.iinfo(np.int64).max
"""The bound of whoever wants to know every cost."""

# Columns of `Prices.head`: kind; where costs, tables, parents and depths begin; as in lub.py the
# width and the levels; and the units of a suppressed cell.
KIND, AT, TABLE, UP, DEPTH, WIDTH, STEPS, STAR = range(8)
_LOW = (1 << 32) - 1


class Prices(NamedTuple):
    """What the functions below know of the columns."""

    head: Ints  # (d, 8)
    nodes: Nodes
    price: Floats


def in_units(joins: Joins) -> Prices:
    """The joins, their costs scaled so that a wholly suppressed record costs `WHOLE` units."""
    whole = float(joins.star.sum())
    scale = WHOLE / whole if whole > 0 else 0.0
    tables, nodes = joins.table.size, joins.parent.size
    head = np.empty((joins.kind.size, 8), np.int64)
    head[:, KIND], head[:, AT], head[:, TABLE] = joins.kind, joins.at, joins.table_at
    head[:, UP], head[:, DEPTH] = tables + joins.at, tables + nodes + joins.at
    head[:, WIDTH], head[:, STEPS] = joins.width, joins.levels
    head[:, STAR] = np.rint(joins.star * scale)
    every = np.concatenate([joins.table, joins.parent, joins.depth])
    return Prices(head, every, joins.cost * scale)


@njit(cache=True, nogil=True)
def join_cell(p: Prices, j: int, a: int, b: int) -> int:
    """The least upper bound of two states of column j."""
    kind = p.head[j, KIND]
    if a == b:
        return a
    if kind == ORDER:
        return int(p.nodes[p.head[j, TABLE] + a * p.head[j, WIDTH] + b])
    if kind in (INTERVAL, LEVELS):
        return (min(a >> 32, b >> 32) << 32) | max(a & _LOW, b & _LOW)
    if kind == VALUES:
        return a | b
    if kind == POWER:
        return a & b & ~WHOLE_SET
    if kind == ANCESTORS:
        return int(first_shared(p.nodes, p.head[j, TABLE], p.head[j, WIDTH], a, b))
    up, depth = p.head[j, UP], p.head[j, DEPTH]
    while a != b:
        if p.nodes[depth + a] >= p.nodes[depth + b]:
            a = int(p.nodes[up + a])
        else:
            b = int(p.nodes[up + b])
    return a


@njit(cache=True, nogil=True)
def cell_units(p: Prices, j: int, state: int) -> int:
    """What publishing a state of column j costs."""
    kind, at = p.head[j, KIND], p.head[j, AT]
    if kind in (ORDER, TREE, ANCESTORS):
        return int(p.price[at + state] + 0.5)
    if kind in (INTERVAL, LEVELS):
        low, high = state >> 32, state & _LOW
        if low == 0:
            return int(p.head[j, STAR]) if high > 0 else 0
        if kind == INTERVAL:
            width = p.price[at + high] - p.price[at + low]
            return min(int(width + 0.5), int(p.head[j, STAR]))
        for level in range(p.head[j, STEPS]):
            row = level * p.head[j, WIDTH]
            ids = p.head[j, TABLE] + row
            if p.nodes[ids + low] == p.nodes[ids + high]:
                return int(p.price[at + row + low] + 0.5)
        return int(p.head[j, STAR])
    if kind == VALUES and state & 1 and state > 1:
        return int(p.head[j, STAR])
    if kind == POWER and (state < 0 or state & WHOLE_SET):
        return 0
    return int(p.price[at + bits_set(state)] + 0.5)


@njit(cache=True, nogil=True)
def joined_cell(p: Prices, j: int, a: int, b: int) -> int:
    """What the least upper bound of two states of column j costs."""
    return cell_units(p, j, join_cell(p, j, a, b))


@njit(cache=True, nogil=True)
def units(p: Prices, x: States, i: int) -> int:
    """What publishing record x[i] costs."""
    total = 0
    for j in range(x.shape[1]):
        if p.head[j, KIND] == ORDER:
            total += int(p.price[p.head[j, AT] + x[i, j]] + 0.5)
        else:
            total += cell_units(p, j, x[i, j])
    return total


@njit(cache=True, nogil=True)
def joined(p: Prices, x: States, i: int, y: States, r: int, enough: int) -> int:
    """What the least upper bound of the records x[i] and y[r] costs; from `enough` on it may come
    out smaller than it is, since nobody asks."""
    total = 0
    head, nodes, price = p.head, p.nodes, p.price
    for j in range(x.shape[1]):
        # Most columns are small hierarchies: no call for those.
        if head[j, KIND] == ORDER:
            node = nodes[head[j, TABLE] + x[i, j] * head[j, WIDTH] + y[r, j]]
            total += int(price[head[j, AT] + node] + 0.5)
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
                x[i, j] = join_cell(p, j, x[i, j], y[r, j])
