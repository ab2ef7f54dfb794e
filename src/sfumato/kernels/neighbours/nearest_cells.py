"""The released records nearest to each person, where cells may stand for several values.

Gower's distance (1971): columns are added, a number by its difference in units of the column's
range, a category by 0 or 1. A cell that stands for several values is at no distance from what it
covers, and otherwise lies in its middle. A missing value is at distance 1 from all but another one.
How far a suppressed cell is from a person's value is told by the caller.

Equal records are collapsed. The distinct ones lie in the leaves of a k-d tree (Friedman, Bentley &
Finkel 1977), each node of which has the bounds of what is below it. Of equally near records those
earlier in a given order count as nearer, so a node that holds none of these is passed over. The
answer is that of a plain scan: bounds are added in the order of a distance, which rounding keeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Codes, Floats, Ints
from ..threads import in_parts
from .blocks import distinct_rows, order_in_blocks

LEAF = 16
Flags = NDArray[np.uint8]


class People(NamedTuple):
    """Those who are looked for."""

    x: Floats
    """(n, numbers): NaN is missing"""
    codes: Codes
    """(n, categories)"""
    far: Floats
    """(n, numbers + categories): how far a suppressed cell is from such a value"""


class Released(NamedTuple):
    """Released records; suppressed are numbers from -inf to inf, and categories of -1."""

    low: Floats
    """(m, numbers), in units of each column's range, as the people's"""
    high: Floats
    codes: Codes
    """(m, categories): from `counts[c]` on, labels"""
    counts: Ints
    covers: Flags
    """whether a cell covers a category: at starts[c] + place * counts[c] + category"""
    starts: Ints


class _Tree(NamedTuple):
    """Distinct records in leaves, and the nodes above them."""

    first: Ints
    """(nodes, 2): the run of distinct records below each"""
    below: Ints
    """(nodes,): the first of its two children, which is followed by the other; -1 of a leaf"""
    low: Floats
    """(nodes, numbers): over cells that are numbers"""
    high: Floats
    least: Codes
    """(nodes, categories)"""
    most: Codes
    gaps: Flags
    """(nodes, columns): 1 where a number is missing, 2 where a cell is suppressed, 3 both"""
    rank: Ints
    """(nodes,): the earliest rank"""


@njit(cache=True, nogil=True, inline="always")
def _number(x: float, low: float, high: float, far: float) -> float:
    if np.isinf(low):
        return far
    if np.isnan(x) or np.isnan(low):
        return 0.0 if np.isnan(x) and np.isnan(low) else 1.0
    return 0.0 if low <= x <= high else abs(x - (low / 2 + high / 2))


@njit(cache=True, nogil=True, inline="always")
def _category(b: Released, c: int, x: int, place: int, far: float) -> float:
    if place < 0:
        return far
    if place < b.counts[c]:
        return 0.0 if place == x else 1.0
    return 0.0 if b.covers[b.starts[c] + place * b.counts[c] + x] > 0 else 1.0


@njit(cache=True, nogil=True)
def _bound(a: People, b: Released, t: _Tree, i: int, node: int) -> float:
    """The least distance that a record below a node can have."""
    total, p = 0.0, a.x.shape[1]
    for j in range(p):
        x, gaps = a.x[i, j], t.gaps[node, j]
        if np.isnan(x):
            least = 0.0 if gaps & 1 else 1.0
        else:
            least = max(t.low[node, j] - x, x - t.high[node, j], 0.0)
            if gaps & 1:
                least = min(least, 1.0)
        total += min(least, a.far[i, j]) if gaps & 2 else least
    for c in range(a.codes.shape[1]):
        x, low, high = a.codes[i, c], t.least[node, c], t.most[node, c]
        least = 0.0
        if low == high:
            least = _category(b, c, x, low, a.far[i, p + c])
        elif high < b.counts[c] and (x < low or x > high):
            least = 1.0
        total += min(least, a.far[i, p + c]) if t.gaps[node, p + c] & 2 else least
    return total


@njit(cache=True, nogil=True)
def _search(
    a: People, b: Released, t: _Tree, starts: Ints, ranks: Ints, begin: int, end: int,
    found: Ints, apart: Floats,
) -> None:  # fmt: skip
    """Fill in the k nearest, by rank, of the people begin..end; b holds the distinct records."""
    p, q, k = a.x.shape[1], a.codes.shape[1], found.shape[1]
    nodes, bounds = np.empty(128, np.int64), np.empty(128)
    for i in range(begin, end):
        nodes[0], bounds[0], top = 0, _bound(a, b, t, i, 0), 1
        while top > 0:
            top -= 1
            node, worst, last = nodes[top], apart[i, k - 1], found[i, k - 1]
            if bounds[top] > worst or (bounds[top] == worst and t.rank[node] > last):
                continue
            if t.below[node] >= 0:
                near, far = t.below[node], t.below[node] + 1
                to_near, to_far = _bound(a, b, t, i, near), _bound(a, b, t, i, far)
                if to_far < to_near or (to_far == to_near and t.rank[far] < t.rank[near]):
                    near, far, to_near, to_far = far, near, to_far, to_near
                nodes[top], bounds[top] = far, to_far
                nodes[top + 1], bounds[top + 1] = near, to_near
                top += 2
                continue
            for u in range(t.first[node, 0], t.first[node, 1]):
                total = 0.0
                for j in range(p):
                    total += _number(a.x[i, j], b.low[u, j], b.high[u, j], a.far[i, j])
                for c in range(q):
                    total += _category(b, c, a.codes[i, c], b.codes[u, c], a.far[i, p + c])
                    if total > apart[i, k - 1]:
                        break
                if total > apart[i, k - 1]:
                    continue
                for at in range(starts[u], starts[u + 1]):
                    rank, s = ranks[at], k - 1
                    if total > apart[i, s] or (total == apart[i, s] and rank > found[i, s]):
                        break
                    while s > 0 and (
                        apart[i, s - 1] > total
                        or (apart[i, s - 1] == total and found[i, s - 1] > rank)
                    ):
                        apart[i, s], found[i, s] = apart[i, s - 1], found[i, s - 1]
                        s -= 1
                    apart[i, s], found[i, s] = total, rank


@njit(cache=True, nogil=True)
def _planted(low: Floats, high: Floats, codes: Codes, rank: Ints) -> _Tree:
    """The tree of distinct records that lie in the order of k-d splits."""
    m, p, q = rank.size, low.shape[1], codes.shape[1]
    room = 4 * (m // LEAF + 2)
    t = _Tree(
        np.zeros((room, 2), np.int64), np.full(room, -1), np.full((room, p), np.inf),
        np.full((room, p), -np.inf), np.zeros((room, q), np.int32), np.zeros((room, q), np.int32),
        np.zeros((room, p + q), np.uint8), np.zeros(room, np.int64),
    )  # fmt: skip
    t.first[0, 1], used, node = m, 1, 0
    while node < used:
        start, stop = t.first[node]
        blocks = (stop - start + LEAF - 1) // LEAF
        if blocks > 1:
            middle = start + LEAF * (blocks // 2)
            t.below[node] = used
            t.first[used, 0], t.first[used, 1] = start, middle
            t.first[used + 1, 0], t.first[used + 1, 1] = middle, stop
            used += 2
        node += 1
    for node in range(used - 1, -1, -1):
        start, stop = t.first[node]
        t.rank[node] = rank[start:stop].min() if t.below[node] < 0 else 0
        if t.below[node] >= 0:
            x, y = t.below[node], t.below[node] + 1
            t.rank[node] = min(t.rank[x], t.rank[y])
            t.low[node], t.high[node] = (
                np.minimum(t.low[x], t.low[y]),
                np.maximum(t.high[x], t.high[y]),
            )
            t.least[node], t.most[node] = (
                np.minimum(t.least[x], t.least[y]),
                np.maximum(t.most[x], t.most[y]),
            )
            t.gaps[node] = t.gaps[x] | t.gaps[y]
            continue
        t.least[node], t.most[node] = codes[start], codes[start]
        for u in range(start, stop):
            for j in range(p):
                if np.isnan(low[u, j]):
                    t.gaps[node, j] |= 1
                elif np.isinf(low[u, j]):
                    t.gaps[node, j] |= 2
                else:
                    t.low[node, j] = min(t.low[node, j], low[u, j])
                    t.high[node, j] = max(t.high[node, j], high[u, j])
            for c in range(q):
                t.least[node, c] = min(t.least[node, c], codes[u, c])
                t.most[node, c] = max(t.most[node, c], codes[u, c])
                if codes[u, c] < 0:
                    t.gaps[node, p + c] |= 2
    return t


class Index(NamedTuple):
    """Released records, ready to be searched."""

    records: Released
    """the distinct ones"""
    tree: _Tree
    starts: Ints
    ranks: Ints
    """the ranks of each distinct record's rows, rising"""
    rows: Ints
    """the row of each rank"""
    group: Ints
    """of each row, which distinct record it is"""


def index(released: Released, order: np.ndarray) -> Index:
    """Released records; of equally near ones the first in `order`, a permutation, is nearest."""
    low, high = released.low + 0.0, released.high + 0.0
    low[np.isnan(low)] = high[np.isnan(low)] = np.nan  # one kind of missing, one zero
    bits: Ints = np.ascontiguousarray(np.column_stack((low, high))).view(np.int64)
    codes = np.ascontiguousarray(released.codes, np.int32)
    first, member = distinct_rows(bits, codes)
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    # A category weighs as much as a number across its whole range.
    weights = np.ones(codes.shape[1])
    if middle.shape[1] + weights.size:
        put = order_in_blocks(np.column_stack((middle, codes)), weights, first, LEAF)
    else:
        put = first
    place = np.empty(first.size, np.int64)
    place[member[put]] = np.arange(first.size)
    group = place[member]
    rows = np.asarray(order, np.int64)
    rank = np.empty(rows.size, np.int64)
    rank[rows] = np.arange(rows.size)
    ranks = rank[np.lexsort((rank, group))]
    starts = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=first.size))))
    records = Released(low[put], high[put], codes[put], *released[3:])
    tree = _planted(records.low, records.high, records.codes, ranks[starts[:-1]])
    return Index(records, tree, starts, ranks, rows, group)


def nearest_cells(
    people: People, released: Index, k: int, *, threads: int | None = None
) -> tuple[Ints, Floats]:
    """(n, k): the released rows nearest to each person, the nearest first, and their distances.

    >>> none, nothing = np.empty((2, 0), np.int32), np.empty(0, np.int64)
    >>> ages = Released(np.array([[0.2], [0.5]]), np.array([[0.4], [0.5]]), none, *(nothing,) * 3)
    >>> who = People(np.array([[0.39], [0.44]]), none, np.zeros((2, 1)))
    >>> rows, apart = nearest_cells(who, index(ages, np.arange(2)), 1)
    >>> rows[:, 0].tolist(), apart[:, 0].round(2).tolist()
    ([0, 1], [0.0, 0.06])
    """
    m = released.rows.size
    if not 1 <= k <= m:
        raise ValueError(f"k is from 1 to the {m} released records, not {k}")
    bits: Ints = np.ascontiguousarray(people.x + 0.0).view(np.int64)
    first, member = distinct_rows(bits, np.ascontiguousarray(people.codes, np.int32))
    # Neighbours beside one another find the same leaves in memory.
    if people.x.shape[1] + people.codes.shape[1]:
        both: Floats = np.column_stack((people.x, people.codes))
        put = order_in_blocks(both, np.ones(people.codes.shape[1]), first, LEAF)
    else:
        put = first
    asked = People(people.x[put], people.codes[put], people.far[put])
    found, apart = np.full((put.size, k), m, np.int64), np.full((put.size, k), np.inf)

    def work(start: int, stop: int) -> None:
        _search(
            asked, released.records, released.tree, released.starts, released.ranks,
            start, stop, found, apart,
        )  # fmt: skip

    in_parts(work, put.size, threads, 16, "comparing")
    place = np.empty(put.size, np.int64)
    place[member[put]] = np.arange(put.size)
    where = place[member]
    return released.rows[found[where]], apart[where]
