"""k-Ward: Ward's method under a smallest group size, from the two most distant records.

Domingo-Ferrer & Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical
disclosure control", IEEE TKDE 14(1), after Ward (1963), "Hierarchical grouping to optimize an
objective function", JASA 58:

1. the two most distant records r and s each form a group with their k - 1 nearest (s is left to
   itself when r chooses); every other record is a group of its own;
2. the two groups whose union raises the within-group sum of squares least are joined, but never two
   that both have k records or more, until every group has k;
3. a group of 2k or more is treated in the same way again.

The pair that costs least need not be looked for among all pairs. The cost of joining, infinite for
two groups that both have k, is *reducible*: the union of two groups is nowhere nearer than the
nearer of the two was. Then any two groups that are nearest to each other may be joined at once, and
following nearest neighbours leads to such a pair (the nearest-neighbour chain; Benzecri 1982,
Murtagh 1983). All joins are the same, ties apart, in O(n^2) time and O(n) memory.

Ties: of equally distant pairs the one with the lowest rows is the start, of equally near records
the lower row is taken, of equally near groups the one the chain came from, else the smaller (so
that many equal records do not all end in one group), else the older.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.groups import numbered
from sfumato.kernels.micro.size_repair import as_points, mean_of, squared
from sfumato.kernels.neighbours.blocks import ranked
from sfumato.progress import report

BLOCK = 256  # groups compared at a time: their partial sums stay in the first cache
SLICE = 200_000_000  # coordinates compared between two reports of progress


@njit(cache=True, nogil=True)
def most_distant(points: Floats, rows: Ints) -> tuple[int, int]:
    """The two of `rows` (ascending) that are farthest apart; of equals the lowest.

    Two records are at most as far apart as their distances from the mean add up to. The outermost
    come first, and the search ends where that sum can no longer matter.
    """
    m = rows.size
    centre = np.empty(points.shape[1])
    mean_of(points, rows, centre)
    radius, inward = np.empty(m), np.empty(m)
    for i in range(m):
        radius[i] = np.sqrt(squared(points[rows[i]], centre))
        inward[i] = -radius[i]
    order = ranked(inward)
    best, low, high = -1.0, -1, -1
    for a in range(m - 1):
        for b in range(a + 1, m):
            reach = radius[order[a]] + radius[order[b]]
            # A hair of room, since radii are rounded.
            if reach * reach * (1 + 1e-12) < best:
                break
            i, j = rows[min(order[a], order[b])], rows[max(order[a], order[b])]
            apart = squared(points[i], points[j])
            if apart > best or (apart == best and (i < low or (i == low and j < high))):
                best, low, high = apart, i, j
    return low, high


@njit(cache=True, nogil=True)
def _start(points: Floats, rows: Ints, k: int) -> tuple[Ints, Floats, Ints]:
    """Starting groups: of each of `rows`, and their sums (d, groups) and sizes."""
    m = rows.size
    group = np.full(m, -1, np.int64)
    r, s = most_distant(points, rows)
    far = np.empty(m)
    for side in range(2):
        own, other = (r, s) if side == 0 else (s, r)
        for i in range(m):
            free = group[i] < 0 and rows[i] != own and rows[i] != other
            far[i] = squared(points[rows[i]], points[own]) if free else np.inf
            if rows[i] == own:
                group[i] = side
        order = ranked(far)
        for t in range(k - 1):
            group[order[t]] = side
    count = 2
    for i in range(m):
        if group[i] < 0:
            group[i] = count
            count += 1
    centre, size = np.zeros((points.shape[1], count)), np.zeros(count, np.int64)
    for i in range(m):
        size[group[i]] += 1
        for j in range(points.shape[1]):
            centre[j, group[i]] += points[rows[i], j]
    return group, centre, size


@njit(cache=True, nogil=True)
def _nearest(
    centre: Floats, size: Ints, name: Ints, live: int, tip: int, before: int, k: int, out: Floats
) -> int:
    """The place of the group that costs least to join with the one at `tip`; -1 if none may be."""
    best, least = -1, np.inf
    mine = float(size[tip])
    for low in range(0, live, BLOCK):
        high = min(low + BLOCK, live)
        out[: high - low] = 0.0
        for j in range(centre.shape[0]):
            value, column = centre[j, tip], centre[j]
            for c in range(low, high):
                step = column[c] - value
                out[c - low] += step * step
        for c in range(low, high):
            if c == tip or (size[c] >= k and size[tip] >= k):
                continue
            cost = out[c - low] * (mine * size[c] / (mine + size[c]))
            if cost == least and best >= 0 and best != before:
                older = size[c] == size[best] and name[c] < name[best]
                if c == before or size[c] < size[best] or older:
                    best = c
            elif cost < least:
                best, least = c, cost
    return best


@njit(cache=True, nogil=True)
def _join(
    centre: Floats, size: Ints, name: Ints, place: Ints, into: Ints, chain: Ints, state: Ints,
    k: int, budget: int,
) -> None:  # fmt: skip
    """Follow the chain and join until no group is small, or until the budget is spent.

    The live groups stand at places 0..live-1 of `centre`, `size` and `name`; `place` finds a name
    again, `into` names the group that a joined one became part of. `state` is (live, small, length
    of the chain), and the chain holds names.
    """
    live, small, length = state[0], state[1], state[2]
    out = np.empty(BLOCK)
    while small > 0 and budget > 0:
        if length == 0:
            start = 0
            while size[start] >= k:
                start += 1
            chain[0], length = name[start], 1
        tip = place[chain[length - 1]]
        before = place[chain[length - 2]] if length > 1 else -1
        near = _nearest(centre, size, name, live, tip, before, k, out)
        budget -= live * centre.shape[0]
        if near != before:
            chain[length] = name[near]
            length += 1
            continue
        # Nearest to each other: the younger becomes part of the older.
        length -= 2
        keep, gone = (tip, near) if name[tip] < name[near] else (near, tip)
        both = size[keep] + size[gone]
        small -= (size[keep] < k) + (size[gone] < k) - (both < k)
        for j in range(centre.shape[0]):
            centre[j, keep] = (size[keep] * centre[j, keep] + size[gone] * centre[j, gone]) / both
        size[keep] = both
        into[name[gone]] = name[keep]
        live -= 1
        for j in range(centre.shape[0]):
            centre[j, gone] = centre[j, live]
        size[gone], name[gone] = size[live], name[live]
        place[name[gone]] = gone
    state[0], state[1], state[2] = live, small, length


def _once(points: Floats, rows: Ints, k: int) -> Ints:
    """Steps 1 and 2 for 2k records or more: a group of each of `rows`."""
    group, sums, size = _start(points, rows, k)
    centre = sums / size
    count = size.size
    name, place, into = np.arange(count), np.arange(count), np.arange(count)
    # A group may stand in the chain once, so that it never holds more than all.
    chain = np.empty(count + 1, np.int64)
    state = np.array([count, np.count_nonzero(size < k), 0])
    while state[1] > 0:
        _join(centre, size, name, place, into, chain, state, k, SLICE)
        if rows.size == len(points):  # what comes after the first time is little
            report("joining groups", count - int(state[0]), len(points))
    while np.any(into[into] != into):
        into = into[into]
    return into[group]


def k_ward(points: ArrayLike, k: int) -> NDArray[np.int64]:
    """Labels 0..g-1 of groups of k to 2k - 1 records, numbered by first appearance.

    >>> import numpy as np
    >>> k_ward(np.array([[0.0], [1.0], [9.0], [2.0], [8.0], [9.5]]), 3).tolist()
    [0, 0, 1, 0, 1, 1]
    """
    x = as_points(points, k)
    label = np.empty(len(x), np.int64)
    groups = 0
    waiting = [np.arange(len(x))]
    while waiting:
        rows = waiting.pop()
        if rows.size < 2 * k:
            label[rows] = groups
            groups += 1
            continue
        found = _once(x, rows, k)
        order = np.argsort(found, kind="stable")
        ends = np.flatnonzero(np.diff(found[order])) + 1
        waiting += np.split(rows[order], ends)
    return numbered(label)
