"""V-MDAV: groups of variable size that grow where the data are dense.

Solanas & Martinez-Balleste (2006), "V-MDAV: a multivariate microaggregation with variable group
size", COMPSTAT.

While k records or more are free: the free record farthest from the centroid of all records takes
its k - 1 nearest. Then the group is extended up to 2k - 1: of the free records, e is the one
nearest to a member of the group, at distance d_in; d_out is its distance to the nearest other free
record; e joins if d_in < gain * d_out, else the group is closed. (Where no other is free, d_out has
no value and the group is closed.) The fewer than k records left at the end go each to the group
whose centroid, as it was before any of them came, is nearest.

The paper lets these make a group larger than 2k - 1. Here such a group, of 2k to 3k - 2 records, is
split in two as MDAV would: the record farthest from its centroid and its k - 1 nearest, and the
rest. Splitting never adds to the sum of squared errors, so that all groups have k to 2k - 1
records.

Arithmetic: distances are compared by their squares, which add the coordinates in order; centroids
are exact sums divided once. A tie goes to the lowest row, between groups to the one formed first.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.device import on_card
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

STRIDE = 20_000  # records between two reports


@njit(cache=True, nogil=True)
def _group(
    tree: Remaining, x: Floats, k: int, gain: float, seed: int, free: int, members: Ints
) -> int:
    """Form one group around `seed`, take it off the tree and list it in `members`; its size."""
    keys, found = np.empty(k - 1), np.empty(k - 1, np.int64)
    members[0] = seed
    take(tree, seed)
    if k > 1:
        keys[:], found[:] = np.inf, NOBODY
        nearest(tree, x[seed], keys, found)
    for i in range(1, k):
        members[i] = found[i - 1]
        take(tree, members[i])
    size = k
    key, closest = np.empty(1), np.empty(1, np.int64)
    two_keys, two = np.empty(2), np.empty(2, np.int64)
    while size < 2 * k - 1 and free - size >= 2:
        key[0], closest[0] = np.inf, NOBODY
        for i in range(size):  # what was found near one member bounds the search of the next
            nearest(tree, x[members[i]], key, closest)
        # The nearest of all free records to one of them is itself, or its equal.
        two_keys[:], two[:] = np.inf, NOBODY
        nearest(tree, x[closest[0]], two_keys, two)
        if not key[0] < gain * gain * two_keys[1]:
            break
        members[size] = closest[0]
        take(tree, closest[0])
        size += 1
    return size


@njit(cache=True, nogil=True)
def _form(
    tree: Remaining, x: Floats, k: int, gain: float, seeds: Ints, at: int, labels: Ints,
    groups: int, free: int, until: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Form groups until fewer than k or at most `until` records are free."""
    members = np.empty(2 * k - 1, np.int64)
    while free >= k and free > until:
        while labels[seeds[at]] >= 0:
            at += 1
        size = _group(tree, x, k, gain, seeds[at], free, members)
        labels[members[:size]] = groups
        free -= size
        groups += 1
    return at, groups, free


def _split(x: Floats, rows: Ints, k: int) -> Ints:
    """The rows that leave a group of 2k or more: the farthest from its centroid and its nearest."""
    part = x[rows]
    seed = int(np.argmax(from_centroid(part)))
    distance = np.zeros(rows.size)
    for j in range(x.shape[1]):
        step = part[:, j] - part[seed, j]
        distance += step * step
    distance[seed] = -1.0
    return rows[np.argsort(distance, kind="stable")[:k]]


def finish(x: Floats, k: int, labels: Ints, groups: int) -> None:
    """Give the records left to their nearest groups, and split the groups that are too large."""
    left = np.flatnonzero(labels < 0)
    if not left.size:
        return
    centres = group_means(labels, x, groups)
    for row in left:
        distance = np.zeros(groups)
        for j in range(x.shape[1]):
            step = centres[:, j] - x[row, j]
            distance += step * step
        labels[row] = np.argmin(distance)
    for g in np.flatnonzero(np.bincount(labels, minlength=groups) >= 2 * k):
        labels[_split(x, np.flatnonzero(labels == g), k)] = groups
        groups += 1


def _on_card(x: Floats, k: int, gain: float, seeds: Ints) -> tuple[Ints, int, int] | None:
    """Labels until few records are free, how many these are, and how many groups there are."""
    from sfumato.kernels.gpu import v_mdav as card

    return card.v_mdav(x, k, gain, seeds)


def v_mdav(points: ArrayLike, k: int, gain: float = 0.2) -> NDArray[np.int64]:
    """Group of each record: groups of k to 2k - 1.

    With gain 0 no group is extended. About 0.2 suits scattered records and 1.1 records in clusters
    (Solanas & Martinez-Balleste).

    >>> x = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2]])
    >>> v_mdav(x, 3, gain=1.1).tolist()
    [1, 1, 1, 1, 0, 0, 0]
    """
    x = checked(points, k)
    if not (np.isfinite(gain) and gain >= 0):
        raise ValueError(f"gain is {gain}, not a finite number from 0")
    n, k = len(x), int(k)
    seeds = np.argsort(-from_centroid(x), kind="stable").astype(np.int64)
    labels = np.full(n, -1, np.int64)
    at, groups, free = 0, 0, n
    size = (n, n, x.shape[1], k)
    formed = on_card("v-mdav", size, lambda: _on_card(x, k, float(gain), seeds))
    if formed is not None:
        labels, free, groups = formed
    while free >= k:
        tree = plant(x, np.flatnonzero(labels < 0))
        # A tree that has lost half of its records is slower than a new one.
        stop = free // 2 if free > 1000 else 0
        while free >= k and free > stop:
            until = max(free - STRIDE, stop)
            at, groups, free = _form(
                tree, x, k, float(gain), seeds, at, labels, groups, free, until
            )
            report("forming groups", n - free, n)
    finish(x, k, labels, groups)
    return labels
