"""Points in blocks of neighbours, and their nearest neighbours: the ground work of spanning trees.

A block holds some points that lie close together, column by column, so that the distances from a
point to all of a block are a few vector instructions, and one comparison with the block's box may
spare them. Squared distances add the columns in order, everywhere, so that the distance of two
points is the same number whoever computes it; bounds are summed in the same order, and rounding is
monotone, so that a bound never exceeds the distances it stands for.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.neighbours.blocks import box_distances, ranked

STEP = 4  # columns added between two looks at whether a block can be given up


@njit(cache=True, nogil=True)
def point_distances(points: Floats, box: Floats, b: int, out: Floats) -> None:
    """Least squared distance between every point of a block and box b."""
    out[:] = 0.0
    for j in range(points.shape[0]):
        low, high, values = box[0, j, b], box[1, j, b], points[j]
        for i in range(out.size):
            step = max(low - values[i], values[i] - high, 0.0)
            out[i] += step * step


@njit(cache=True, nogil=True)
def distances(points: Floats, x: Floats, limit: float, out: Floats) -> int:
    """Squared distances from x to a block; how many are within `limit` (if none, unfinished)."""
    d = points.shape[0]
    out[:] = 0.0
    count = out.size
    j = 0
    while j < d:
        if j + STEP <= d:
            a, b, c, e = points[j], points[j + 1], points[j + 2], points[j + 3]
            u, v, w, z = x[j], x[j + 1], x[j + 2], x[j + 3]
            for i in range(out.size):
                total = out[i]
                total += (a[i] - u) * (a[i] - u)
                total += (b[i] - v) * (b[i] - v)
                total += (c[i] - w) * (c[i] - w)
                total += (e[i] - z) * (e[i] - z)
                out[i] = total
            j += STEP
        else:
            a, u = points[j], x[j]
            for i in range(out.size):
                out[i] += (a[i] - u) * (a[i] - u)
            j += 1
            if j < d:
                continue
        count = 0
        for i in range(out.size):
            count += out[i] <= limit
        if count == 0:
            return 0
    return count


@njit(cache=True, nogil=True)
def _insert(dist: float, name: int, far: Floats, who: Ints) -> None:
    """Put (dist, name) into a list in rising order whose last pair falls out."""
    i = far.size - 1
    while i > 0 and (far[i - 1] > dist or (far[i - 1] == dist and who[i - 1] > name)):
        far[i], who[i] = far[i - 1], who[i - 1]
        i -= 1
    far[i], who[i] = dist, name


@njit(cache=True, nogil=True)
def near_lists(
    points: Floats, box: Floats, order: Ints, first: int, last: int, far: Floats, who: Ints
) -> None:
    """Nearest others of the points in blocks first..last-1: squared distances and numbers, rising.

    Row p of `far` and `who` belongs to place p; equally far points stand by their numbers. Lists
    longer than the points are filled up with infinity and the largest integer.
    """
    blocks, d, block = points.shape
    n = order.size
    bound, reach, out = np.empty(blocks), np.empty(block), np.empty(block)
    x = np.empty(d)
    for b in range(first, last):
        size = min(block, n - b * block)
        far[b * block : b * block + size] = np.inf
        who[b * block : b * block + size] = np.iinfo(np.int64).max
        box_distances(box[0, :, b].copy(), box[1, :, b].copy(), box, bound)
        bound[b] = -1.0  # itself first: it sets the limits
        for c in ranked(bound):
            limit = 0.0
            for i in range(size):
                limit = max(limit, far[b * block + i, -1])
            if bound[c] > limit:
                break
            other = min(block, n - c * block)
            point_distances(points[b], box, c, reach)
            for i in range(size):
                place = b * block + i
                if reach[i] > far[place, -1]:
                    continue
                for j in range(d):
                    x[j] = points[b, j, i]
                if distances(points[c], x, far[place, -1], out) == 0:
                    continue
                for o in range(other):
                    if out[o] <= far[place, -1] and c * block + o != place:
                        name = order[c * block + o]
                        if out[o] < far[place, -1] or name < who[place, -1]:
                            _insert(out[o], name, far[place], who[place])
