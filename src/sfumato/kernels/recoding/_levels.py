"""Coarser and coarser keys of every column, for grouping records that agree there.

A column of any poset gets a few levels: level 0 is the value itself, the last level everything.
Records with the same key at a level have a least upper bound that is not dear there. The keys say
only who is compared with whom; what a group costs is always counted from its least upper bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..joins.lub import (
    ANCESTORS,
    GONE,
    INTERVAL,
    LEVELS,
    ORDER,
    PARENT,
    STEPS,
    TABLE,
    TREE,
    WIDTH,
    Joins,
    States,
    bounds_of,
)

HALVINGS = 6
"""An interval's levels are bins of 1/2, 1/4, ... of the domain: so many of them."""
MOST_LEVELS = 12
TRIALS = 256
"""Groups drawn to see what agreeing at a level costs."""

Keys = NDArray[np.int32]


class Levels(NamedTuple):
    """`keys[at[j] + l, t]` is the key of record t in column j at level l; at[d] is their number.

    `cost[at[j] + l]` is what a cell of a group costs on average that agrees in this key only.
    """

    keys: Keys
    at: Ints
    cost: Floats


def levels(joins: Joins, states: States, k: int, seed: int) -> Levels:
    """The levels of distinct records, cheapest first in every column."""
    rng = np.random.default_rng(seed)
    keys, at, cost = [], [0], []
    for j in range(states.shape[1]):
        values, which = np.unique(states[:, j], return_inverse=True)
        which = which.reshape(-1)
        found = _distinct(_keys_of(joins, j, values))
        for by_value in found:
            of_record = by_value[which].astype(np.int32)
            keys.append(of_record)
            cost.append(_drawn(joins, j, states, of_record, k, rng))
        at.append(len(keys))
        # A level that is dearer than one above it would be visited too late; costs are estimates.
        cost[at[-2] :] = np.maximum.accumulate(cost[at[-2] :]).tolist()
    return Levels(np.ascontiguousarray(keys, dtype=np.int32), np.array(at), np.array(cost))


def _distinct(found: list[np.ndarray]) -> list[np.ndarray]:
    """Keys 0, 1, ... of each level; levels that join nothing more than the one below left out."""
    kept: list[np.ndarray] = []
    for keys in [*found[: MOST_LEVELS - 1], np.zeros_like(found[0])]:
        numbered = np.unique(keys, return_inverse=True)[1].reshape(-1)
        if not kept or numbered.max() < kept[-1].max():
            kept.append(numbered)
    return kept


def _keys_of(joins: Joins, j: int, values: States) -> list[np.ndarray]:
    kind = joins.kind[j]
    gone = values == GONE
    if gone.all():
        return [values]
    if kind in (TREE, ANCESTORS, INTERVAL, LEVELS) and gone.any():
        # What is missing agrees with nothing else below the top.
        others = _keys_of(joins, j, values[~gone])
        both = np.full((len(others), values.size), -3)
        both[:, ~gone] = others
        return list(both)
    if kind == TREE:
        return _climb(joins, j, values)
    if kind == ORDER:
        return _cheapest_joins(joins, j, values)
    if kind == ANCESTORS:
        return _ancestors(joins, j, values)
    if kind == INTERVAL:
        return _bins(joins, j, values)
    if kind == LEVELS:
        low, high = values >> 32, values & ((1 << 32) - 1)
        width, ids = int(joins.head[j, WIDTH]), joins.nodes[joins.head[j, TABLE] :]
        found = [values]
        for level in range(int(joins.head[j, STEPS])):
            row = ids[level * width : (level + 1) * width]
            # Suppressed cells, whose ends differ, agree with nobody below the top.
            found.append(np.where(low == high, row[low], -1 - high))
        return found
    return [values]


def _climb(joins: Joins, j: int, values: States) -> list[np.ndarray]:
    found, now, at = [values], values.copy(), joins.head[j, PARENT]
    for _ in range(MOST_LEVELS - 2):
        parent = joins.nodes[at + now]
        now = np.where(parent < 0, now, parent)
        found.append(now)
    return found


def _ancestors(joins: Joins, j: int, values: States) -> list[np.ndarray]:
    """Up the lists of ancestors; a list ends at the top, which comes first in another's too."""
    at, width = int(joins.head[j, TABLE]), int(joins.head[j, WIDTH])
    starts = joins.nodes[at : at + width + 1].astype(np.int64)
    begins, ends = starts[values], starts[values + 1]
    found = [values]
    for step in range(1, MOST_LEVELS - 1):
        place = np.minimum(begins + step, ends - 1)
        found.append(joins.nodes[at + width + 1 + place].astype(np.int64))
    return found


def _cheapest_joins(joins: Joins, j: int, values: States) -> list[np.ndarray]:
    """Each value's cheapest join with any other, then that of the joins, and so on."""
    table, cost = joins.pairs(j), joins.costs(j)
    found, now = [values], values.copy()
    for _ in range(MOST_LEVELS - 2):
        distinct, which = np.unique(now, return_inverse=True)
        if distinct.size == 1:
            break
        up = np.empty(distinct.size, dtype=np.int64)
        for i, state in enumerate(distinct.tolist()):
            joined = table[state, distinct]
            joined = joined[joined != state]
            up[i] = joined[np.argmin(cost[joined])] if joined.size else state
        now = up[which.reshape(-1)]
        found.append(now)
    return found


def _bins(joins: Joins, j: int, values: States) -> list[np.ndarray]:
    low, high = values >> 32, values & ((1 << 32) - 1)
    cost = joins.costs(j)
    known = low == high
    # What is suppressed reaches up to a code that a column without values does not have.
    place = cost[np.where(known, low, 0)] / max(float(cost[-1]), 1e-300)
    found = [values]
    for halving in range(HALVINGS, 0, -1):
        bin_of = np.minimum((place * 2**halving).astype(np.int64), 2**halving - 1)
        found.append(np.where(known, np.where(low > 0, bin_of, -1), -2))
    return found


def _drawn(
    joins: Joins, j: int, states: States, keys: Keys, k: int, rng: np.random.Generator
) -> float:
    n = keys.size
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys))
    begins = np.concatenate(([0], ends[:-1]))
    first = rng.integers(n, size=TRIALS)
    size = (ends - begins)[keys[first]]
    others = begins[keys[first]][:, None] + (rng.random((TRIALS, k - 1)) * size[:, None]).astype(
        np.int64
    )
    groups = np.column_stack([first, order[others]])
    column = np.ascontiguousarray(states[groups.ravel(), j : j + 1])
    _, _, cells = bounds_of(joins.column(j), column, np.repeat(np.arange(TRIALS), k), TRIALS)
    return float(np.cumsum(cells)[-1] / TRIALS)
