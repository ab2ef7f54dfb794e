"""k-member clustering: groups that grow from far-apart records by the cheapest record.

(Byun, Kamra, Bertino & Li 2007.) The first seed is given; each next one is the record farthest from
the last seed. A group takes, k - 1 times, the record that raises its cost least; the fewer than k
that are left at the end go, one by one, where they cost least. Of equals the first is taken, equal
records counting as one place at the first of them.

A seed's costs with all records are summed once, over tables of what each value of each column would
cost, and give the next seed as well as a short list of the cheapest. A join never becomes cheaper
as the group grows, so only that list is looked at again, until its best costs as much as those left
off did. Hence about one pass over the distinct records for each group, n^2 / 2k in all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Ints
from ..joins.lub import States
from ..joins.prices import ANY, Prices, join_into, joined, joined_cell, units
from ..neighbours.blocks import distinct_rows

SHORT = 32
"""Records of a short list at least; four for each of k."""
SLICE = 256
"""Groups between two reports."""


@njit(cache=True, nogil=True)
def _fill(p: Prices, values: States, at: Ints, x: States, i: int, table: Ints) -> None:
    """What the bound of record x[i] with each value of each column costs."""
    for j in range(x.shape[1]):
        for v in range(at[j], at[j + 1]):
            table[v] = joined_cell(p, j, x[i, j], values[v])


@njit(cache=True, nogil=True)
def _scan(
    table: Ints, codes: NDArray[np.int32], alive: Ints, count: int, short: Ints, prices: Ints
) -> tuple[int, int]:
    """The dearest record of those alive (the first of equals), and how many are on `short`, which
    lists the cheapest in order."""
    farthest, most, listed = -1, -1, 0
    bar = ANY
    for q in range(count):
        i = alive[q]
        price = 0
        for j in range(codes.shape[1]):
            price += table[codes[i, j]]
        if price > most:
            farthest, most = i, price
        if price < bar or listed < short.size:
            t = min(listed, short.size - 1)
            while t > 0 and price < prices[t - 1]:
                short[t] = short[t - 1]
                prices[t] = prices[t - 1]
                t -= 1
            short[t] = i
            prices[t] = price
            listed = min(listed + 1, short.size)
            if listed == short.size:
                bar = prices[listed - 1]
    return farthest, listed


@njit(cache=True, nogil=True)
def _grow(
    p: Prices, x: States, values: States, at: Ints, codes: NDArray[np.int32], k: int,
    left: Ints, alive: Ints, counts: Ints, wanted: int, table: Ints, takes: Ints, bounds: States,
) -> None:  # fmt: skip
    """Grow `wanted` groups, or as many as there are records for.

    `counts` holds the groups so far, the records left, the length of `alive`, and the last seed
    (or, the first time, ~ the first seed). takes[g, :k] are the distinct records of group g.
    """
    short = np.empty(max(SHORT, 4 * k), np.int64)
    prices = np.empty(short.size, np.int64)
    for _ in range(wanted):
        if counts[1] < k:
            return
        g = counts[0]
        last = counts[3]
        if last < 0:
            seed = ~last
        else:
            seed = counts[4]
            if left[seed] == 0:
                _prune(left, alive, counts)
                _fill(p, values, at, x, last, table)
                seed, _listed = _scan(table, codes, alive, counts[2], short[:1], prices[:1])
        bounds[g] = x[seed]
        left[seed] -= 1
        takes[g, 0] = seed
        counts[3] = seed
        listed = -1
        for m in range(1, k):
            best, cheapest = -1, ANY
            if listed >= 0:
                for t in range(listed):
                    i = short[t]
                    if left[i] > 0:
                        price = joined(p, bounds, g, x, i, ANY)
                        if price < cheapest or (price == cheapest and i < best):
                            best, cheapest = i, price
            if listed < 0 or best < 0 or (listed == short.size and cheapest >= prices[-1]):
                _prune(left, alive, counts)
                _fill(p, values, at, bounds, g, table)
                far, listed = _scan(table, codes, alive, counts[2], short, prices)
                if m == 1:
                    counts[4] = far
                best = short[0]
            join_into(p, bounds, g, x, best)
            left[best] -= 1
            takes[g, m] = best
        counts[0] += 1
        counts[1] -= k


@njit(cache=True, nogil=True)
def _prune(left: Ints, alive: Ints, counts: Ints) -> None:
    """Take off the list whoever has been taken whole, in the same order."""
    kept = 0
    for q in range(counts[2]):
        if left[alive[q]] > 0:
            alive[kept] = alive[q]
            kept += 1
    counts[2] = kept


@njit(cache=True, nogil=True)
def _leftovers(p: Prices, x: States, left: Ints, bounds: States, size: Ints, out: Ints) -> None:
    """Hand each record that is left to the group whose cost it raises least; `out` lists the
    groups in the order of the records."""
    cost = np.empty(size.size, np.int64)
    for g in range(size.size):
        cost[g] = units(p, bounds, g)
    handed = 0
    for i in range(left.size):
        for _ in range(left[i]):
            best, least = -1, ANY
            for g in range(size.size):
                price = joined(p, bounds, g, x, i, ANY)
                raised = (size[g] + 1) * price - size[g] * cost[g]
                if raised < least:
                    best, least = g, raised
            size[best] += 1
            join_into(p, bounds, best, x, i)
            cost[best] = units(p, bounds, best)
            out[handed] = best
            handed += 1


def k_member(
    prices: Prices,
    states: States,
    k: int,
    first: int,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> Ints:
    """Labels 0..g-1; `first` is the row of the first seed."""
    n, d = states.shape
    lead, of = distinct_rows(states, np.empty((n, 0), np.int32))
    x = np.ascontiguousarray(states[lead])
    columns = [np.unique(x[:, j], return_inverse=True) for j in range(d)]
    at = np.append(0, np.cumsum([values.size for values, _ in columns])).astype(np.int64)
    codes = np.column_stack([which.ravel() + at[j] for j, (_, which) in enumerate(columns)])
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    values = np.concatenate([values for values, _ in columns])
    left = np.bincount(of, minlength=lead.size).astype(np.int64)
    rows = np.argsort(of, kind="stable")
    groups = n // k
    takes, bounds = np.empty((groups, k), np.int64), np.empty((groups, d), np.int64)
    counts = np.array([0, n, lead.size, ~int(of[first]), 0], np.int64)
    alive, table = np.arange(lead.size), np.empty(values.size, np.int64)
    while counts[0] < groups:
        _grow(
            prices, x, values, at, codes, k, left, alive, counts, SLICE, table, takes, bounds
        )  # fmt: skip
        report(int(counts[0]), groups)
    rest = np.repeat(np.arange(lead.size), left)
    handed = np.empty(rest.size, np.int64)
    _leftovers(prices, x, left, bounds, np.full(groups, k), handed)
    # The copies of a distinct record are handed out in the order of their rows.
    of_take = np.concatenate([takes.ravel(), rest])
    group = np.concatenate([np.repeat(np.arange(groups), k), handed])
    labels = np.empty(n, np.int64)
    order = np.argsort(of_take, kind="stable")
    labels[rows] = group[order]
    return labels
