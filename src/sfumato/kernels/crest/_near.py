"""The nearest neighbours of tree vertices, kept while the tree grows, and what they mean.

N(u) holds the first b - 2 vertices that a breadth-first search from u meets: ordered by degree of
separation, then by Euclidean distance to u, then by row. In a tree that only grows leaves a degree
of separation never changes, so N(u) changes only by a better vertex coming in. And a new leaf that
is too far from w to come into N(w) is also too far from everything beyond w: N(w) lies within some
degree r of w, hence N(w') within r + 1 of a vertex w' next to w. So one search from the leaf, which
stops where it is too far, finds every neighbourhood that changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.crest._divergence import class_term

GRAIN = 2.0**-32
"""Divergences are rounded to multiples of this, so that two which are equal in exact arithmetic
(classes of equal size with their counts swapped) are equal here as well."""


class Near(NamedTuple):
    """N(u) for each vertex, best first."""

    rows: Ints  # (n, b - 2)
    level: Ints  # (n, b - 2): degree of separation
    squared: Floats  # (n, b - 2)
    size: Ints  # (n,)


class Classes(NamedTuple):
    """The class of each record, what share each has overall, and room to count them."""

    of: Ints  # (n,)
    shares: Floats  # (C,)
    first: Floats  # (C,): the term of a class that has one of b records
    counts: Ints  # (C,): zero between calls
    touched: Ints  # (C,)


def new_near(n: int, b: int) -> Near:
    """Empty neighbourhoods."""
    return Near(
        np.empty((n, b - 2), np.int64),
        np.empty((n, b - 2), np.int64),
        np.empty((n, b - 2)),
        np.zeros(n, np.int64),
    )


def new_classes(of: Ints, shares: Floats, b: int) -> Classes:
    """Room to count."""
    first = np.array([class_term(1.0 / b, share) for share in shares.tolist()])
    room = np.zeros(shares.size, np.int64)
    return Classes(of, shares, first, room, room.copy())


@njit(cache=True, nogil=True)
def reach(near: Near, u: int) -> int:
    """How many degrees from u a new vertex may be to come into N(u); -1 for any number."""
    size = near.size[u]
    if size < near.rows.shape[1]:
        return -1
    return near.level[u, size - 1] if size > 0 else 0


@njit(cache=True, nogil=True)
def offer(near: Near, u: int, row: int, level: int, squared: float) -> int:
    """Put `row` into N(u) if it belongs there. Returns the vertex that had to leave, -1 if none
    had to, -2 if `row` does not come in."""
    capacity, at = near.rows.shape[1], near.size[u]
    left = -1
    if at == capacity:
        if capacity == 0:
            return -2
        at -= 1
        if not _before(level, squared, row, near, u, at):
            return -2
        left = near.rows[u, at]
    else:
        near.size[u] += 1
    while at > 0 and _before(level, squared, row, near, u, at - 1):
        near.rows[u, at] = near.rows[u, at - 1]
        near.level[u, at] = near.level[u, at - 1]
        near.squared[u, at] = near.squared[u, at - 1]
        at -= 1
    near.rows[u, at], near.level[u, at], near.squared[u, at] = row, level, squared
    return left


@njit(cache=True, nogil=True)
def _before(level: int, squared: float, row: int, near: Near, u: int, at: int) -> bool:
    if level != near.level[u, at]:
        return level < near.level[u, at]
    if squared != near.squared[u, at]:
        return squared < near.squared[u, at]
    return row < near.rows[u, at]


@njit(cache=True, nogil=True)
def offsets(near: Near, classes: Classes, u: int, weight: float, out: Floats) -> None:
    """For each class, `weight` times the divergence of {u, v} and N(u) where v is of that class."""
    counts, touched, shares = classes.counts, classes.touched, classes.shares
    size = near.size[u] + 2.0
    full = near.size[u] == near.rows.shape[1]
    kinds = 0
    for i in range(-1, near.size[u]):
        c = classes.of[u if i < 0 else near.rows[u, i]]
        if counts[c] == 0:
            touched[kinds] = c
            kinds += 1
        counts[c] += 1
    # Twice the divergence before v comes in: the classes that are there, and those that are not.
    there, lacking = 0.0, 1.0
    for i in range(kinds):
        c = touched[i]
        there += class_term(counts[c] / size, shares[c])
        lacking -= shares[c]
    for c in range(shares.size):
        if counts[c] == 0:
            term = classes.first[c] if full else class_term(1.0 / size, shares[c])
            total = there + lacking - shares[c] + term
        else:
            total = there + lacking - class_term(counts[c] / size, shares[c])
            total += class_term((counts[c] + 1.0) / size, shares[c])
        out[c] = weight * (np.floor(0.5 * total / GRAIN + 0.5) * GRAIN)
    for i in range(kinds):
        counts[touched[i]] = 0
