"""MD: the two most distant records take their nearest, leave, and so on.

Domingo-Ferrer & Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical
disclosure control", IEEE TKDE 14(1), section 5.1:

1. while 2k records or more are free, the two most distant of them, r and s, each form a group with
   their k - 1 nearest free records (s is left to itself when r chooses);
2. k to 2k - 1 records left over are a group; fewer join that one of the last two groups whose
   centroid is nearer to theirs.

Looking for the two anew among all pairs in every round would take n^3 / 2k steps. Records only
leave, so that how far a record's farthest was is a bound for good: a round looks again only at
records whose bound reaches the distance found, the highest bound first. Memory is linear. The first
bounds are distances from the mean, added.

Ties: of equally distant pairs the one with the lowest rows, of equally near records the lower row,
of the last two groups the one of r.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.groups import numbered
from sfumato.kernels.micro.size_repair import as_points, squared
from sfumato.kernels.neighbours.remaining import (
    NOBODY,
    Remaining,
    from_centroid,
    nearest,
    plant,
    take,
)
from sfumato.progress import report

_HAIR = 1e-12
"""Room for the rounding of the first bounds."""
STRIDE = 2000
"""Records between two reports."""


@njit(cache=True, nogil=True)
def _highest(bound: Floats, free: Ints, count: int) -> int:
    """The free record of the highest bound; of equals the lowest, for `free` ascends."""
    top = free[0]
    for i in range(1, count):
        if bound[free[i]] > bound[top]:
            top = free[i]
    return int(top)


@njit(cache=True, nogil=True)
def _most_distant(x: Floats, free: Ints, count: int, bound: Floats) -> tuple[int, int]:
    """The two free records farthest apart; `bound` becomes exact where it is looked at.

    A record whose bound is the best distance itself could only be part of a pair as far apart and
    with lower rows if one of lower row than the best pair's had been passed over, and none is.
    """
    best, low, high, looked = -1.0, NOBODY, NOBODY, False
    while True:
        i = _highest(bound, free, count)
        if bound[i] < best or (bound[i] == best and (i > low or (i == low and looked))):
            return low, high
        far, other = -1.0, -1
        for c in range(count):
            j = free[c]
            apart = squared(x[i], x[j])
            if j != i and apart > far:
                far, other = apart, j
        bound[i] = far
        one, two = min(i, other), max(i, other)
        if far > best or (far == best and (one < low or (one == low and two < high))):
            best, low, high, looked = far, one, two, False
        looked = looked or i == low


@njit(cache=True, nogil=True)
def _gather(tree: Remaining, x: Floats, seed: int, k: int, group: int, labels: Ints) -> None:
    """A group of a record, which has left the tree, and its k - 1 nearest."""
    keys, found = np.full(k - 1, np.inf), np.full(k - 1, NOBODY)
    labels[seed] = group
    if k > 1:
        nearest(tree, x[seed], keys, found)
    for row in found:
        take(tree, row)
        labels[row] = group


@njit(cache=True, nogil=True)
def _rounds(
    tree: Remaining, x: Floats, k: int, bound: Floats, free: Ints, labels: Ints, groups: int,
    until: int,
) -> tuple[int, int]:  # fmt: skip
    """Form groups two by two until fewer than 2k or at most `until` records are free."""
    count = free.size
    while count >= 2 * k and count > until:
        r, s = _most_distant(x, free, count, bound)
        take(tree, r)
        take(tree, s)
        _gather(tree, x, r, k, groups, labels)
        _gather(tree, x, s, k, groups + 1, labels)
        groups += 2
        kept = 0
        for c in range(count):
            if labels[free[c]] < 0:
                free[kept] = free[c]
                kept += 1
        count = kept
    return groups, count


def _nearer(x: Floats, labels: Ints, left: Ints, groups: int) -> int:
    """Which of the last two groups the records left over join."""
    centre = x[left].mean(axis=0)
    apart = [
        float(((x[labels == group].mean(axis=0) - centre) ** 2).sum())
        for group in (groups - 2, groups - 1)
    ]
    return groups - 2 + int(apart[1] < apart[0])


def max_distance(points: ArrayLike, k: int) -> NDArray[np.int64]:
    """Labels 0..g-1 of groups of k, one or two of them up to 2k - 1, by first appearance.

    >>> max_distance(np.array([[0.0], [1.0], [9.0], [2.0], [8.0], [9.5], [4.0]]), 3).tolist()
    [0, 0, 1, 0, 1, 1, 0]
    """
    x = as_points(points, k)
    labels, groups = np.full(len(x), -1, np.int64), 0
    radius = np.sqrt(from_centroid(x))
    bound = (radius + radius.max()) ** 2 * (1 + _HAIR) + np.finfo(np.float64).tiny
    left = np.arange(len(x))
    while left.size >= 2 * k:
        # A tree that has lost half of its records is slower than a new one.
        tree, stop = plant(x, left), left.size // 2 if left.size > 1000 else 0
        while left.size >= 2 * k and left.size > stop:
            until = max(left.size - STRIDE, stop)
            groups, count = _rounds(tree, x, k, bound, left, labels, groups, until)
            left = left[:count].copy()
            report("forming groups", len(x) - count, len(x))
    if left.size:
        apart = left.size >= k or not groups
        labels[left] = groups if apart else _nearer(x, labels, left, groups)
    return numbered(labels)
