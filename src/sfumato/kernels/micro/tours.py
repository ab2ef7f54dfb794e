"""Orderings of records in which neighbours are alike, for `ordering.cut_ordering` to cut.

- `nearest_point_tour` (NPN, nearest point next): start at the record farthest from the centroid and
  go to the nearest record that was not visited.
- `group_tour`: the records of a partition group by group, so that cutting it is never worse than
  the partition itself. Groups follow one another by their centroids' nearest-point tour. Inside a
  group those nearest to the group before come first and those nearest to the group after last: by
  the difference of the squared distances to the two centroids, then by row.
- `projection_order`: by the position along a direction.

The first two after Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz & Sebe (2006), "Efficient
multivariate data-oriented microaggregation", VLDB Journal 15, who leave the order inside groups
open; the last is Torra's projected microaggregation. A tie goes to the lowest row.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.groups import group_means
from sfumato.kernels.neighbours.remaining import (
    NOBODY,
    Remaining,
    checked,
    from_centroid,
    nearest,
    plant,
    take,
)
from sfumato.progress import report

STRIDE = 20_000  # steps between two reports


@njit(cache=True, nogil=True)
def _walk(tree: Remaining, x: Floats, order: Ints, at: int, until: int) -> None:
    """Fill order[at:until], coming from order[at - 1]."""
    key, found = np.empty(1), np.empty(1, np.int64)
    for i in range(at, until):
        key[0], found[0] = np.inf, NOBODY
        nearest(tree, x[order[i - 1]], key, found)
        order[i] = found[0]
        take(tree, found[0])


def nearest_point_tour(points: ArrayLike) -> NDArray[np.int64]:
    """Rows in the order of a walk to the nearest record not yet visited.

    >>> nearest_point_tour(np.array([[0.0], [9.0], [0.5], [8.0]])).tolist()
    [1, 3, 2, 0]
    """
    x = checked(points, 1)
    n = len(x)
    order = np.empty(n, np.int64)
    left = np.ones(n, np.bool_)
    order[0] = np.argmax(from_centroid(x))
    at = 1
    while at < n:
        left[order[:at]] = False
        tree = plant(x, np.flatnonzero(left))
        # A tree that has lost half of its records is slower than a new one.
        stop = n if n - at <= 1000 else at + (n - at) // 2
        while at < stop:
            until = min(at + STRIDE, stop)
            _walk(tree, x, order, at, until)
            at = until
            report("walking to the nearest record", at, n)
    return order


def group_tour(points: ArrayLike, labels: ArrayLike) -> NDArray[np.int64]:
    """Rows group by group, each group followed by one near it.

    >>> x = np.array([[0.0], [9.0], [1.0], [8.0], [3.0], [4.0]])
    >>> group_tour(x, [0, 1, 0, 1, 2, 2]).tolist()
    [1, 3, 5, 4, 2, 0]
    """
    x = checked(points, 1)
    group = np.asarray(labels, dtype=np.int64)
    centres = group_means(group, x)
    chain = nearest_point_tour(centres)
    place = np.empty(len(chain), np.int64)
    place[chain] = np.arange(len(chain))
    before = chain[np.maximum(np.arange(len(chain)) - 1, 0)]
    after = chain[np.minimum(np.arange(len(chain)) + 1, len(chain) - 1)]
    at = place[group]
    nearer = _to(x, centres, before[at]) - _to(x, centres, after[at])
    return np.lexsort((nearer, at)).astype(np.int64)


def _to(x: Floats, centres: Floats, which: Ints) -> Floats:
    """Squared distance of each record to one centre."""
    out = np.zeros(len(x))
    for j in range(x.shape[1]):
        step = x[:, j] - centres[which, j]
        out += step * step
    return out


@njit(cache=True, nogil=True)
def _scatter(x: Floats, mean: Floats) -> Floats:
    """Sums of products about the mean; row by row, so that threads have no say in the rounding."""
    d = x.shape[1]
    out = np.zeros((d, d))
    for i in range(x.shape[0]):
        for a in range(d):
            step = x[i, a] - mean[a]
            for b in range(a + 1):
                out[a, b] += step * (x[i, b] - mean[b])
    for a in range(d):
        for b in range(a):
            out[b, a] = out[a, b]
    return out


def principal_direction(points: ArrayLike) -> Floats:
    """The first principal component; its greatest coordinate (of equals the first) is positive.

    >>> principal_direction(np.array([[0.0, 0.0], [3.0, -4.0], [-3.0, 4.0]])).round(6).tolist()
    [-0.6, 0.8]
    """
    x = checked(points, 1)
    if x.shape[1] == 0:
        return np.empty(0)
    mean = group_means(np.zeros(len(x), np.int64), x)[0]
    vector = np.linalg.eigh(_scatter(x, mean))[1][:, -1]
    size = np.abs(vector)
    lead = int(np.argmax(size >= size.max() * (1 - 1e-9)))  # equal up to rounding
    return np.ascontiguousarray(vector if vector[lead] > 0 else -vector)


def projection_order(points: ArrayLike, direction: ArrayLike) -> NDArray[np.int64]:
    """Rows by their position along a direction.

    >>> projection_order(np.array([[1.0, 5.0], [3.0, 0.0], [2.0, 1.0]]), [1.0, 1.0]).tolist()
    [1, 2, 0]
    """
    x = checked(points, 1)
    vector = np.asarray(direction, dtype=np.float64)
    if vector.shape != (x.shape[1],) or not np.isfinite(vector).all():
        raise ValueError(f"a direction has a finite number for each of {x.shape[1]} coordinates")
    position = np.zeros(len(x))
    for j in range(x.shape[1]):
        position += x[:, j] * vector[j]
    return np.argsort(position, kind="stable").astype(np.int64)
