"""Boruvka's rounds: every part of a forest takes the shortest edge that leaves it.

Edges are in one strict order, by (squared length, lower number, higher number), so that a minimum
spanning tree is unique and rounds may join parts in any sequence. For one point that order is the
order of (distance, number of the other point).

A point knows its nearest others up to a limit: its list, and once that is used up a pair (distance,
number) that no point outside its part comes before. A part is settled if its best edge comes before
the limits of all its points; the best edges of settled parts are edges of the tree (Boruvka 1926).
The other parts have to be searched, but never the largest: the edges that leave the rest suffice.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.micro.trees._mst_blocks import distances, point_distances
from sfumato.kernels.neighbours.blocks import box_distances, ranked

Flags = NDArray[np.bool_]

NONE = np.iinfo(np.int64).max


@njit(cache=True, nogil=True)
def find(parent: Ints, i: int) -> int:
    """The point that stands for i's part."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, nogil=True)
def _before(dist: float, a: int, b: int, dist2: float, a2: int, b2: int) -> bool:
    """Whether edge (a, b) comes before edge (a2, b2), lower ends first."""
    if dist != dist2:
        return dist < dist2
    return a < a2 or (a == a2 and b < b2)


@njit(cache=True, nogil=True)
def _offer(part: int, dist: float, i: int, j: int, length: Floats, ends: Ints) -> None:
    """Edge (i, j) leaves `part`: keep it if it comes before the part's best."""
    a, b = min(i, j), max(i, j)
    if _before(dist, a, b, length[part], ends[part, 0], ends[part, 1]):
        length[part], ends[part, 0], ends[part, 1] = dist, a, b


@njit(cache=True, nogil=True)
def _open(i: int, limit: float, beyond: int, length: float, ends: Ints) -> bool:
    """Whether an edge from i that is not known may come before the best edge of its part.

    Unknown edges from i lead to (distance, number) after (limit, beyond).
    """
    if limit != length:
        return limit < length
    if beyond == NONE:
        return False
    other = beyond + 1
    return _before(limit, min(i, other), max(i, other), length, ends[0], ends[1])


@njit(cache=True, nogil=True)
def best_edges(
    parent: Ints, order: Ints, far: Floats, who: Ints, used: Ints, limit: Floats, beyond: Ints,
    part: Ints, size: Ints, length: Floats, ends: Ints, settled: Flags,
) -> int:  # fmt: skip
    """Best known edge of each part, and whether it is settled; returns the largest part.

    `far`, `who`, `used`, `limit`, `beyond` and `part` are by place, the others by point.
    """
    n = order.size
    length[:], ends[:], settled[:], size[:] = np.inf, NONE, True, 0
    for p in range(n):
        part[p] = find(parent, order[p])
        size[part[p]] += 1
    for p in range(n):
        own = part[p]
        while used[p] < far.shape[1] and (
            who[p, used[p]] == NONE or find(parent, who[p, used[p]]) == own
        ):
            used[p] += 1
        if used[p] < far.shape[1]:
            i, j = order[p], who[p, used[p]]
            _offer(own, far[p, used[p]], i, j, length, ends)
            _offer(find(parent, j), far[p, used[p]], i, j, length, ends)
    largest = part[0]
    for p in range(n):
        own = part[p]
        if size[own] > size[largest]:
            largest = own
        if used[p] == far.shape[1] and _open(order[p], limit[p], beyond[p], length[own], ends[own]):
            settled[own] = False
    return largest


@njit(cache=True, nogil=True)
def search(
    points: Floats, box: Floats, order: Ints, first: int, last: int, whole: Ints, part: Ints,
    largest: int, spent: Flags, limit: Floats, beyond: Ints, length: Floats, ends: Ints,
) -> None:  # fmt: skip
    """Search from blocks first..last-1 for edges that come before the best of unsettled parts.

    Parts are numbered here. `whole` names the part that a block lies in, or -1, `spent` the places
    whose lists are used up. `length` and `ends` are brought down.
    """
    blocks, d, block = points.shape
    n = order.size
    bound, reach, out = np.empty(blocks), np.empty(block), np.empty(block)
    x, active = np.empty(d), np.empty(block, np.int64)
    near, keys = np.empty(blocks, np.int64), np.empty(blocks)
    for b in range(first, last):
        count, ceiling = 0, -1.0
        for p in range(b * block, min(n, (b + 1) * block)):
            own = part[p]
            if (
                own != largest
                and spent[p]
                and _open(order[p], limit[p], beyond[p], length[own], ends[own])
            ):
                active[count] = p
                count += 1
                ceiling = max(ceiling, length[own])
        if count == 0:
            continue
        box_distances(box[0, :, b].copy(), box[1, :, b].copy(), box, bound)
        within = 0
        for c in range(blocks):
            if bound[c] <= ceiling:
                near[within], keys[within] = c, bound[c]
                within += 1
        for s in ranked(keys[:within]):
            c = near[s]
            ceiling = -1.0
            for a in range(count):
                ceiling = max(ceiling, length[part[active[a]]])
            if bound[c] > ceiling:
                break
            point_distances(points[b], box, c, reach)
            for a in range(count):
                p = active[a]
                own = part[p]
                if whole[c] == own or reach[p - b * block] > length[own]:
                    continue
                for j in range(d):
                    x[j] = points[b, j, p - b * block]
                if distances(points[c], x, length[own], out) == 0:
                    continue
                for o in range(min(block, n - c * block)):
                    if out[o] <= length[own] and part[c * block + o] != own:
                        _offer(own, out[o], order[p], order[c * block + o], length, ends)


@njit(cache=True, nogil=True)
def whole_blocks(part: Ints, block: int) -> Ints:
    """The part that all points of a block are in, or -1."""
    n = part.size
    blocks = (n + block - 1) // block
    whole = np.empty(blocks, np.int64)
    for b in range(blocks):
        whole[b] = part[b * block]
        for p in range(b * block, min(n, (b + 1) * block)):
            if part[p] != whole[b]:
                whole[b] = -1
    return whole


@njit(cache=True, nogil=True)
def take_better(names: Ints, found: Floats, found_ends: Ints, length: Floats, ends: Ints) -> None:
    """Bring the best edges of the parts `names` down to those found."""
    for i in range(names.size):
        if found[i] <= length[names[i]]:
            _offer(names[i], found[i], found_ends[i, 0], found_ends[i, 1], length, ends)


@njit(cache=True, nogil=True)
def raise_limits(
    part: Ints, largest: int, spent: Flags, limit: Floats, beyond: Ints, length: Floats
) -> None:
    """After a search no point of the parts searched has an unknown edge before the part's best."""
    for p in range(part.size):
        if part[p] != largest and spent[p] and limit[p] < length[part[p]]:
            # Nothing is known of the numbers at that distance: all come after number -1.
            limit[p], beyond[p] = length[part[p]], -1


@njit(cache=True, nogil=True)
def join(
    parent: Ints, size: Ints, length: Floats, ends: Ints, settled: Flags, edges: Ints,
    squares: Floats, count: int,
) -> int:  # fmt: skip
    """Add the best edges of settled parts to the tree; returns how many edges it has."""
    for part in range(size.size):
        if size[part] == 0 or not settled[part] or length[part] == np.inf:
            continue
        a, b = find(parent, ends[part, 0]), find(parent, ends[part, 1])
        if a != b:
            if size[a] < size[b]:
                a, b = b, a
            parent[b] = a
            size[a] += size[b]
            edges[count, 0], edges[count, 1] = ends[part, 0], ends[part, 1]
            squares[count] = length[part]
            count += 1
    return count


@njit(cache=True, nogil=True)
def prim(x: Floats, edges: Ints, squares: Floats) -> None:
    """All distances from each point as it joins the tree (Prim 1957): best for few points."""
    n, d = x.shape
    columns = np.ascontiguousarray(x.T)
    best, link = np.full(n, np.inf), np.zeros(n, np.int64)
    out = np.empty(n)
    rest = np.arange(1, n)
    here, left = 0, n - 1
    for count in range(n - 1):
        out[:] = 0.0
        for j in range(d):
            column, value = columns[j], x[here, j]
            for i in range(n):
                out[i] += (column[i] - value) * (column[i] - value)
        at = -1
        for r in range(left):
            i = rest[r]
            a, b = min(i, here), max(i, here)
            if _before(out[i], a, b, best[i], min(i, link[i]), max(i, link[i])):
                best[i], link[i] = out[i], here
            if at < 0:
                at = r
                continue
            k = rest[at]
            if _before(
                best[i], min(i, link[i]), max(i, link[i]),
                best[k], min(k, link[k]), max(k, link[k]),
            ):  # fmt: skip
                at = r
        here = rest[at]
        edges[count, 0], edges[count, 1] = min(here, link[here]), max(here, link[here])
        squares[count] = best[here]
        left -= 1
        rest[at] = rest[left]
