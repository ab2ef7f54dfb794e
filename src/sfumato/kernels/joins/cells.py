"""Joins of cells and their costs, as kernels/joins/lub.py defines them, for the innermost loops.

The local search asks for the cost of a join some hundred million times a second. Numba counts
references to every array that is handed on, which would take several times longer than the look-up
itself; so the columns are packed into three arrays here and handed on as their addresses, which are
mere numbers. `Cells` holds the arrays: an address is good for as long as it lives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from ..arrays import Floats, Ints
from .lub import (
    ANCESTORS,
    INTERVAL,
    LEVELS,
    ORDER,
    POWER,
    TREE,
    VALUES,
    WHOLE,
    Joins,
    Nodes,
)

# Entries of a column in `Cells.columns`: its kind; where its costs begin, and the cost of "*"; its
# width as in `Joins`; where its table begins; its levels; where its parents and its depths begin.
KIND, COST, STAR, WIDTH, TABLE, DEPTHS, PARENT, DEPTH = range(8)
SCATTERED = 7
"""A kind more: ORDER with a table of joins only, where one of costs would be too large."""
MOST_PAIRS = 1 << 21
"""Entries of a table whose costs are looked up directly."""

_HIGH = (1 << 32) - 1


class Cells(NamedTuple):
    """The arrays; see above for the entries of `columns`."""

    columns: Ints
    cost: Floats
    table: Nodes


def make_cells(joins: Joins) -> Cells:
    """The columns in this form: costs pair by pair where there is a small table of pairs.

    >>> joins = Joins(*[np.array([1])] + [np.zeros(1, np.int64)] * 2 + [np.array([2])]
    ...               + [np.zeros(1, np.int64), np.ones(1)] + [np.zeros(2, np.int32)] * 2
    ...               + [np.array([0.0, 1.0]), np.array([0, 1, 1, 1], np.int32)])
    >>> make_cells(joins).cost.tolist()
    [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    """
    d = joins.kind.size
    columns = np.zeros((d, 8), dtype=np.int64)
    columns[:, KIND] = joins.kind
    columns[:, COST] = joins.at
    columns[:, STAR] = joins.cost.size + np.arange(d)
    columns[:, WIDTH] = joins.width
    columns[:, TABLE] = joins.table_at
    columns[:, DEPTHS] = joins.levels
    columns[:, PARENT] = joins.table.size + joins.at
    columns[:, DEPTH] = joins.table.size + joins.parent.size + joins.at
    costs, end = [joins.cost, joins.star], joins.cost.size + d
    for j in np.flatnonzero(joins.kind == ORDER):
        entries = int(joins.width[j]) ** 2
        if entries > MOST_PAIRS:
            columns[j, KIND] = SCATTERED
            continue
        table = joins.table[joins.table_at[j] : joins.table_at[j] + entries]
        costs.append(joins.cost[joins.at[j] + table])
        columns[j, COST], end = end, end + entries
    table = np.concatenate([joins.table, joins.parent, joins.depth])
    return Cells(columns.ravel(), np.concatenate(costs), table)


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


@njit(cache=True, nogil=True)
def _bits(state: int) -> int:
    """How many bits are set, added up in parallel (Warren 2002, Hacker's Delight)."""
    bits = state - ((state >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits += bits >> 8
    bits += bits >> 16
    bits += bits >> 32
    return bits & 127


@njit(cache=True, nogil=True)
def _join(columns: int, table: int, j: int, a: int, b: int) -> int:
    if a == b:
        return a
    kind = number_at(columns, 8 * j + KIND)
    if kind == VALUES:
        return a | b
    if kind in (INTERVAL, LEVELS):
        return (min(a >> 32, b >> 32) << 32) | max(a & _HIGH, b & _HIGH)
    if kind == POWER:
        return a & b & ~WHOLE
    if kind == TREE:
        parent = number_at(columns, 8 * j + PARENT)
        depth = number_at(columns, 8 * j + DEPTH)
        while a != b:
            if node_at(table, depth + a) >= node_at(table, depth + b):
                a = int(node_at(table, parent + a))
            else:
                b = int(node_at(table, parent + b))
        return a
    if kind == ANCESTORS:
        at = number_at(columns, 8 * j + TABLE)
        lists = at + number_at(columns, 8 * j + WIDTH) + 1
        one, other = lists + node_at(table, at + a), lists + node_at(table, at + b)
        while node_at(table, one) != node_at(table, other):
            if node_at(table, one) < node_at(table, other):
                one += 1
            else:
                other += 1
        return int(node_at(table, one))
    row = number_at(columns, 8 * j + TABLE) + a * number_at(columns, 8 * j + WIDTH)
    return int(node_at(table, row + b))


@njit(cache=True, nogil=True)
def _cost(columns: int, cost: int, table: int, j: int, state: int) -> float:
    kind = number_at(columns, 8 * j + KIND)
    at = number_at(columns, 8 * j + COST)
    if kind == VALUES:
        if state & 1 and state > 1:
            return cost_at(cost, number_at(columns, 8 * j + STAR))
        return cost_at(cost, at + _bits(state))
    if kind == POWER:
        if state < 0 or state & WHOLE:
            return 0.0
        return cost_at(cost, at + _bits(state))
    if kind in (INTERVAL, LEVELS):
        low, high = state >> 32, state & _HIGH
        if low == 0:
            return cost_at(cost, number_at(columns, 8 * j + STAR)) if high else 0.0
        if kind == INTERVAL:
            width = cost_at(cost, at + high) - cost_at(cost, at + low)
            return min(width, cost_at(cost, number_at(columns, 8 * j + STAR)))
        row = number_at(columns, 8 * j + TABLE)
        codes = number_at(columns, 8 * j + WIDTH)
        for level in range(number_at(columns, 8 * j + DEPTHS)):
            ids = row + level * codes
            if node_at(table, ids + low) == node_at(table, ids + high):
                return cost_at(cost, at + level * codes + low)
        return cost_at(cost, number_at(columns, 8 * j + STAR))
    return cost_at(cost, at + state)


@njit(cache=True, nogil=True)
def _pair(columns: int, cost: int, table: int, j: int, a: int, b: int) -> float:
    return _cost(columns, cost, table, j, _join(columns, table, j, a, b))


@njit(cache=True, nogil=True, inline="always")
def joined(columns: int, table: int, j: int, a: int, b: int) -> int:
    """The least upper bound of two states of column j."""
    return a if a == b else _join(columns, table, j, a, b)


@njit(cache=True, nogil=True, inline="always")
def pair_cost(columns: int, cost: int, table: int, j: int, a: int, b: int) -> float:
    """What the least upper bound of two states of column j costs."""
    if number_at(columns, 8 * j) == ORDER:
        row = number_at(columns, 8 * j + COST) + a * number_at(columns, 8 * j + WIDTH)
        found = cost_at(cost, row + b)
    else:
        found = _pair(columns, cost, table, j, a, b)
    return found


@njit(cache=True, nogil=True)
def addresses(cells: Cells) -> tuple[int, int, int]:
    """Where the three arrays are, as the functions above want it."""
    return cells.columns.ctypes.data, cells.cost.ctypes.data, cells.table.ctypes.data
