"""One-pass k-means: every record joins the nearest of n / k centroids, once, and sizes are adjusted
(Lin & Wei 2008).

Groups begin with one record each. The others come in order, join the nearest centroid, and draw it
towards them. Then groups above k give up what is farthest from their centroid, and each record that
was given up goes to the nearest group below k for as long as there is one, else to the nearest.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from .size_repair import as_points, squared


@njit(cache=True, nogil=True)
def _nearest(point: Floats, centres: Floats, sizes: Ints, below: int) -> int:
    """The nearest centre of a group of fewer than `below`; of equals the first."""
    best, least = -1, np.inf
    for g in range(sizes.size):
        if sizes[g] < below:
            apart = squared(point, centres[g])
            if apart < least:
                best, least = g, apart
    return best


@njit(cache=True, nogil=True)
def _pass(points: Floats, order: Ints, centres: Floats, sizes: Ints, labels: Ints) -> None:
    """Records without a group join the nearest, in order."""
    for i in order:
        if labels[i] < 0:
            g = _nearest(points[i], centres, sizes, points.shape[0] + 1)
            labels[i] = g
            sizes[g] += 1
            for j in range(centres.shape[1]):
                centres[g, j] += (points[i, j] - centres[g, j]) / sizes[g]


@njit(cache=True, nogil=True)
def _place(points: Floats, freed: Ints, k: int, centres: Floats, sizes: Ints, labels: Ints) -> None:
    """Records that were given up fill the groups below k, then go to the nearest."""
    lacking = np.maximum(k - sizes, 0).sum()
    for i in freed:
        g = _nearest(points[i], centres, sizes, k if lacking > 0 else points.shape[0] + 1)
        labels[i] = g
        sizes[g] += 1
        lacking -= 1


def one_pass(points: Floats, k: int, order: Ints, freed_order: Ints) -> Ints:
    """Labels of groups of at least k records; there are at least k.

    The first n // k records of `order` begin the groups, the rest comes as it says; records that
    are given up come by `freed_order`, also a permutation.

    >>> x = np.array([[0.0], [9.0], [1.0], [8.0], [2.0]])
    >>> one_pass(x, 2, np.arange(5), np.arange(5)).tolist()
    [0, 1, 0, 1, 0]
    """
    x = as_points(points, k)
    seeds = order[: len(x) // k]
    labels = np.full(len(x), -1, dtype=np.int64)
    labels[seeds] = np.arange(seeds.size)
    centres, sizes = x[seeds], np.ones(seeds.size, dtype=np.int64)
    _pass(x, order[seeds.size :], centres, sizes, labels)
    apart = np.zeros(len(x))
    for j in range(x.shape[1]):
        apart += (x[:, j] - centres[labels, j]) ** 2
    # Group by group the nearest first; those from the k-th on are given up.
    by_group = np.lexsort((apart, labels))
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    rank = np.empty(len(x), dtype=np.int64)
    rank[by_group] = np.arange(len(x)) - np.repeat(first, sizes)
    freed = freed_order[rank[freed_order] >= k]
    labels[freed] = -1
    _place(x, freed, k, centres, np.minimum(sizes, k), labels)
    return labels


def median_blocks(points: Floats, most: int, k: int) -> list[Ints]:
    """Rows of blocks of at most `most` records (and at least k): halves of halves, each time at the
    median of the coordinate that varies most."""
    x = as_points(points, k)
    found, waiting = [], [np.arange(len(x))]
    while waiting:
        rows = waiting.pop()
        if rows.size <= max(most, 2 * k - 1):
            found.append(rows)
            continue
        widest = int(x[rows].var(axis=0).argmax())
        order = rows[np.argsort(x[rows, widest], kind="stable")]
        waiting += [order[: order.size // 2], order[order.size // 2 :]]
    return found
