"""Cheap partners of every distinct record, for any kinds of columns.

Records are sorted by their columns in many random orders of these, the levels of each column from
coarse to fine. Records that agree in most columns stand side by side in some of the orders: of all
those seen within a few places, the ones whose least upper bound with the record costs least are
kept.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..joins.cells import Cells, addresses, make_cells, pair_cost
from ..joins.lub import Joins, States
from ..threads import cores
from ._levels import Levels

Rows = NDArray[np.int32]


def sorted_orders(levels: Levels, orders: int, seed: int) -> Rows:
    """(orders, n): the distinct records sorted by their columns in random orders of these."""
    rng = np.random.default_rng(seed)
    n, d = levels.keys.shape[1], levels.at.size - 1
    ranks = [rank_of(levels, j) for j in range(d)]
    weight = levels.cost[levels.at[1:] - 1] + 1e-9
    found = np.empty((orders, n), dtype=np.int32)
    for o in range(orders):
        # Dear columns come first more often: partners should agree in these.
        by = np.argsort(rng.exponential(size=d) / weight)
        key, room = np.zeros(n, dtype=np.uint64), 64
        for j in by.tolist():
            bits = max(int(ranks[j].max()).bit_length(), 1)
            if bits > room:
                break
            room -= bits
            key = (key << np.uint64(bits)) | ranks[j]
        found[o] = np.argsort(key, kind="stable")
    return found


def rank_of(levels: Levels, j: int) -> NDArray[np.uint64]:
    """The place of each record's value when values are sorted by their levels, coarse to fine."""
    keys = levels.keys[levels.at[j] : levels.at[j + 1]]
    _, first, which = np.unique(keys[0], return_index=True, return_inverse=True)
    order = np.lexsort(keys[:, first])
    rank = np.empty(order.size, dtype=np.uint64)
    rank[order] = np.arange(order.size, dtype=np.uint64)
    return rank[which.reshape(-1)]


@njit(cache=True, nogil=True)
def _nearest(
    held: Cells,
    states: States,
    orders: Rows,
    place: Rows,
    window: int,
    jump: Rows,
    begin: int,
    end: int,
    near: Rows,
    low: int,
    high: int,
) -> None:
    """Fill near[:, low:high] for the records at the places begin..end of the first order.

    `jump` (2, orders, n), unless empty, is how many places to the left and right a record of
    another class is: the windows then begin there.
    """
    columns, costs, table = addresses(held)
    n, d = states.shape
    most = high - low
    gap = np.empty(most)
    apart = jump.shape[2] > 0
    for spot in range(begin, end):
        t = orders[0, spot]  # in sorted order, so that what is looked at lies close together
        found = 0
        for o in range(orders.shape[0]):
            p = place[o, t]
            for side in range(2):
                first = jump[side, o, p] if apart else 1
                for away in range(first, first + window):
                    q = p + away if side == 1 else p - away
                    if q < 0 or q >= n:
                        break
                    u = orders[o, q]
                    bound = gap[most - 1] if found == most else np.inf
                    cost = 0.0
                    for j in range(d):
                        cost += pair_cost(columns, costs, table, j, states[t, j], states[u, j])
                        if cost >= bound:
                            break
                    if cost >= bound:
                        continue
                    known = False
                    for s in range(found):
                        known = known or near[t, low + s] == u
                    if known:
                        continue
                    s = found if found < most else most - 1
                    found = min(found + 1, most)
                    while s > 0 and gap[s - 1] > cost:
                        gap[s] = gap[s - 1]
                        near[t, low + s] = near[t, low + s - 1]
                        s -= 1
                    gap[s] = cost
                    near[t, low + s] = u
        for s in range(found, most):
            near[t, low + s] = -1


@njit(cache=True, nogil=True)
def _jumps(orders: Rows, classes: Rows) -> Rows:
    """How many places to the left and right of each place the class is another for the first
    time."""
    n = orders.shape[1]
    jump = np.empty((2, orders.shape[0], n), np.int32)
    for o in range(orders.shape[0]):
        far = n
        for p in range(n):
            same = p > 0 and classes[orders[o, p]] == classes[orders[o, p - 1]]
            far = far + 1 if same else (1 if p > 0 else n)
            jump[0, o, p] = far
        far = n
        for p in range(n - 1, -1, -1):
            same = p < n - 1 and classes[orders[o, p]] == classes[orders[o, p + 1]]
            far = far + 1 if same else (1 if p < n - 1 else n)
            jump[1, o, p] = far
    return jump


def nearest(
    joins: Joins,
    states: States,
    orders: Rows,
    most: int,
    window: int,
    classes: Rows | None = None,
    threads: int | None = None,
) -> Rows:
    """(n, most): the cheapest partners seen of each record, cheapest first; -1 where too few.

    With `classes`, every second partner is one that was looked for where another class begins.
    """
    n = states.shape[0]
    place = np.empty_like(orders)
    for o in range(orders.shape[0]):
        place[o, orders[o]] = np.arange(n, dtype=np.int32)
    near = np.empty((n, most), dtype=np.int32)
    cells = make_cells(joins)
    nothing = np.zeros((2, 1, 0), dtype=np.int32)
    half = most if classes is None else most // 2
    lists = [(nothing, 0, half)]
    if classes is not None:
        lists.append((_jumps(orders, classes), half, most))
    workers = cores(threads)
    cuts = np.linspace(0, n, 4 * workers + 1).astype(np.int64)
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(
                _nearest, cells, states, orders, place, window, jump, start, stop, near, low, high
            )
            for start, stop in pairwise(cuts.tolist())
            for jump, low, high in lists
        ]
        for task in tasks:
            task.result()
    return near
