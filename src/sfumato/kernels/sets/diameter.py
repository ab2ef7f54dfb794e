"""The largest distance between two records of each group, where some columns hold sets.

Two sets are as far apart as the share of what either holds that only one of them does, by utility
(the weighted Jaccard distance). Distances add up over the columns, other columns among them. Small
groups are searched pair by pair. In a large one the search walks from a record to the one farthest
from it, and on; what it finds is a lower bound. All distances being metrics, no pair is farther
apart than twice the distance from any record to the one farthest from it: an upper bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..joins.diameter import Flags, _apart
from ..joins.lub import INTERVAL, TREE, Joins, States
from ..threads import cores
from .rows import Items, fair_cuts, grouped, in_parts

SMALL = 256
"""Records of a group that is searched pair by pair."""
_SWEEPS = 8
_CLOSE = 1e-12


class SetColumns(NamedTuple):
    """Columns of sets, each with its rows in one array."""

    starts: Ints
    """int64 (c, n + 1)."""
    items: Items
    missing: NDArray[np.bool_]
    """(c, n)."""
    worth: Floats
    """What the items are worth; those of column c begin at `at[c]`."""
    at: Ints


class Others(NamedTuple):
    """The other columns, as `diameter.diameters` has them."""

    joins: Joins
    flat: Flags
    states: States
    """int64 (n, d)."""


@njit(cache=True, nogil=True)
def _jaccard(sets: SetColumns, c: int, a: int, b: int) -> float:
    """The distance of two sets of a column; a missing one is at 1 from all but missing ones."""
    if sets.missing[c, a] or sets.missing[c, b]:
        return 0.0 if sets.missing[c, a] and sets.missing[c, b] else 1.0
    e, last = sets.starts[c, a], sets.starts[c, a + 1]
    f, end = sets.starts[c, b], sets.starts[c, b + 1]
    one, both = 0.0, 0.0
    while e < last or f < end:
        if f == end or (e < last and sets.items[e] < sets.items[f]):
            one += sets.worth[sets.at[c] + sets.items[e]]
            e += 1
        elif e == last or sets.items[f] < sets.items[e]:
            one += sets.worth[sets.at[c] + sets.items[f]]
            f += 1
        else:
            both += sets.worth[sets.at[c] + sets.items[e]]
            e += 1
            f += 1
    return one / (one + both) if one > 0 else 0.0


@njit(cache=True, nogil=True)
def _between(sets: SetColumns, others: Others, columns: Ints, a: int, b: int) -> float:
    total = 0.0
    for c in range(sets.starts.shape[0]):
        total += _jaccard(sets, c, a, b)
    if columns.size:
        total += _apart(others.joins, others.flat, columns, others.states[a], others.states[b])
    return total


@njit(cache=True, nogil=True)
def _widest(
    sets: SetColumns, others: Others, columns: Ints, rows: Ints, small: int, metric: bool
) -> tuple[float, float]:
    """Bounds of one group's diameter, equal where it is known."""
    best, most = 0.0, float(sets.starts.shape[0] + columns.size)
    if rows.size <= small:
        for i in range(rows.size - 1):
            for k in range(i + 1, rows.size):
                best = max(best, _between(sets, others, columns, rows[i], rows[k]))
                if best >= most - _CLOSE:
                    return best, best
        return best, best
    here, limit = rows[0], most
    for _ in range(_SWEEPS):
        far, there = 0.0, here
        for i in range(rows.size):
            found = _between(sets, others, columns, here, rows[i])
            if found > far:
                far, there = found, rows[i]
        if metric:
            limit = min(limit, 2.0 * far)
        if far <= best + _CLOSE:
            break
        best = far
        if best >= most - _CLOSE:
            break
        here = there
    return best, max(min(limit, most), best)


@njit(cache=True, nogil=True)
def _widest_of(
    sets: SetColumns, others: Others, columns: Ints, rows: Ints, order: Ints, bounds: Ints,
    small: int, metric: bool, low: int, high: int, least: Floats, most: Floats,
) -> None:  # fmt: skip
    for g in range(low, high):
        members = rows[order[bounds[g] : bounds[g + 1]]]
        least[g], most[g] = _widest(sets, others, columns, members, small, metric)


def set_diameters(
    sets: SetColumns, others: Others | None, rows: Ints, labels: Ints, *, small: int = SMALL
) -> tuple[Floats, Floats]:
    """Lower and upper bounds of the diameter of each group 0..g-1, equal where it is known.

    `labels[i]` is the group that `rows[i]`, a record of the columns, is in.
    """
    groups = int(labels.max(initial=-1)) + 1
    least, most = np.zeros(groups), np.zeros(groups)
    order, bounds = grouped(labels, groups)
    metric = True
    if others is None:
        others = _nothing(sets.starts.shape[1] - 1)
    else:
        metric = bool((others.flat | np.isin(others.joins.kind, (INTERVAL, TREE))).all())
    columns = np.arange(others.states.shape[1], dtype=np.int64)

    def run(low: int, high: int) -> None:
        _widest_of(
            sets, others, columns, rows, order, bounds, small, metric, low, high, least, most
        )

    in_parts(run, fair_cuts(bounds, 8 * cores()))
    return least, most


def _nothing(n: int) -> Others:
    """No columns at all, in the types that the kernel knows."""
    joins = Joins(np.zeros((0, 8), dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
    return Others(joins, np.zeros(0, dtype=np.bool_), np.zeros((n, 0), dtype=np.int64))
