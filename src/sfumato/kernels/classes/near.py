"""For each distinct record some others whose join with it is cheap: where to look for exchange.

No index serves every poset, so records are sorted by their columns in many random orders, and those
that come to lie side by side are compared; then the neighbours of neighbours are (nearest
neighbour descent; Dong, Moses & Li 2011). The lists are nearly, not exactly, the nearest, which
costs a search nothing but a little luck. Time and memory grow linearly with the records.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Ints
from ..joins.lub import States
from ..joins.prices import ANY, Prices, joined
from ..neighbours.blocks import distinct_rows
from ..threads import cores

NEAR = 24
"""Records in each list."""
ORDERS, WINDOW = 12, 4
"""Random orders of the columns, and how many records on either side are compared."""
DESCENTS = 1
"""Times that neighbours of neighbours are compared."""


class Near(NamedTuple):
    """Distinct records: the lists of each, which of them each record is, and who is each of them.

    The records rows[at[p]:at[p + 1]] are equal to distinct record p; a list ends at the first -1.
    """

    lists: Ints
    of: Ints
    rows: Ints
    at: Ints


@njit(cache=True, nogil=True, inline="always")
def _offer(near: Ints, gap: Ints, i: int, other: int, cost: int) -> None:
    """Put a record into the list of i, where it belongs, unless it is there already."""
    last = near.shape[1] - 1
    for t in range(last + 1):
        if near[i, t] == other:
            return
    t = last
    while t > 0 and cost < gap[i, t - 1]:
        near[i, t] = near[i, t - 1]
        gap[i, t] = gap[i, t - 1]
        t -= 1
    near[i, t] = other
    gap[i, t] = cost


@njit(cache=True, nogil=True)
def _compare(
    p: Prices, x: States, others: Ints, near: Ints, gap: Ints, start: int, stop: int
) -> None:
    """Compare records start..stop with those that `others` lists for each; -1 is nobody."""
    last = near.shape[1] - 1
    for i in range(start, stop):
        for t in range(others.shape[1]):
            other = others[i, t]
            if other >= 0 and other != i:
                cost = joined(p, x, i, x, other, gap[i, last])
                if cost < gap[i, last]:
                    _offer(near, gap, i, other, cost)


def near_records(prices: Prices, states: States, rng: np.random.Generator) -> Near:
    """Lists of cheap neighbours for the distinct records among `states`."""
    n, d = states.shape
    first, of = distinct_rows(states, np.empty((n, 0), np.int32))
    x = np.ascontiguousarray(states[first])
    m = first.size
    rank = np.column_stack([np.unique(x[:, j], return_inverse=True)[1].ravel() for j in range(d)])
    wanted = max(1, min(NEAR, m - 1))
    near = np.full((m, wanted), -1, np.int64)
    gap = np.full((m, wanted), ANY, np.int64)
    workers = cores()
    cuts = list(pairwise(np.linspace(0, m, min(m, 4 * workers) + 1).astype(np.int64).tolist()))
    beside = np.array([away for away in range(-WINDOW, WINDOW + 1) if away])
    with ThreadPoolExecutor(workers) as pool:

        def compare(others: Ints) -> None:
            for task in [pool.submit(_compare, prices, x, others, near, gap, *cut) for cut in cuts]:
                task.result()

        for _ in range(ORDERS):
            order = np.lexsort(rank[:, rng.permutation(d)].T)
            place = np.argsort(order)[:, None] + beside
            inside = (place >= 0) & (place < m)
            compare(np.where(inside, order[np.clip(place, 0, m - 1)], -1))
        for _ in range(DESCENTS):
            old = near.copy()
            for t in range(wanted):
                compare(np.where(old[:, t, None] >= 0, old[old[:, t]], -1))
    rows = np.argsort(of, kind="stable")
    at = np.append(0, np.cumsum(np.bincount(of, minlength=m)))
    return Near(near, of, rows, at)
