"""Rank swapping without a bound on the distance: p-distribution and p-buckets.

Nin, Herranz & Torra (2008), "Rethinking rank swapping to decrease disclosure risk", Data &
Knowledge Engineering 64(1). Plain rank swapping tells an intruder who knows p that a value cannot
have gone further; here every distance is possible, the larger the less likely.

As in rank_swap.py the positions of one sorted column are visited from the lowest, so that all
below the one visited are used up, and random numbers are an argument.
"""

from __future__ import annotations

import operator

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ._fenwick import all_free, find, free_below, take, top_step
from .rank import checked_uniforms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GRAIN = 2.0**-60
"""A share below the grain of a uniform number, 2 ** -53, is never drawn."""


@njit(cache=True, nogil=True)
def _distance_swap(distances: Floats) -> Ints:
    n = distances.size
    result = np.arange(n)
    free = np.ones(n, np.bool_)
    tree, top = all_free(n), top_step(n)
    left = n
    for i in range(n):
        if not free[i]:
            continue
        take(tree, i)
        free[i] = False
        left -= 1
        if left == 0:
            break
        # All free positions lie above i: the nearest to the one drawn is the last free one below
        # it or the first from it on.
        wanted = min(i + distances[i], float(n - 1))
        at = int(np.rint(max(wanted, i + 1.0)))
        before = free_below(tree, at)
        other = find(tree, top, min(before, left - 1))
        if before > 0 and before < left:
            lower = find(tree, top, before - 1)
            if at - lower < other - at:
                other = lower
        take(tree, other)
        free[other] = False
        left -= 1
        result[i], result[other] = other, i
    return result


def distance_swap(distances: ArrayLike) -> Ints:
    """For each position of a sorted column, the position whose value it receives.

    `distances` holds the difference of ranks that each position asks for, in case it is still free
    when its turn comes; it is swapped with the free position nearest to it, of two the higher.
    The result is its own inverse.

    >>> distance_swap([2.0, 2.0, 9.0, 1.0, 1.0]).tolist()
    [2, 3, 0, 1, 4]
    """
    wanted = np.array(distances, dtype=np.float64)
    if wanted.ndim != 1 or np.isnan(wanted).any():
        raise ValueError("distances are one column of numbers, none of them NaN")
    return _distance_swap(wanted)


@njit(cache=True, nogil=True)
def _bucket_swap(n: int, buckets: int, ratio: float, choice: Floats, inside: Floats) -> Ints:
    result = np.arange(n)
    free = np.ones(n, np.bool_)
    starts = np.empty(buckets + 1, np.int64)
    for b in range(buckets + 1):
        starts[b] = b * n // buckets
    counts = np.diff(starts)
    # members[starts[b] : starts[b] + counts[b]] are the free positions of bucket b, in any order;
    # place says where each stands, so that one leaves in O(1).
    members = np.arange(n)
    place = np.arange(n)
    for own in range(buckets):
        for i in range(starts[own], starts[own + 1]):
            if not free[i]:
                continue
            _leave(members, place, starts, counts, own, i)
            free[i] = False
            # The shares of the buckets above fall from the first that has a free position.
            first = own
            while first < buckets and counts[first] == 0:
                first += 1
            if first == buckets:
                continue
            last, total, weight = first, 0.0, 1.0
            while last < buckets and weight > _GRAIN:
                if counts[last] > 0:
                    total += weight
                weight *= ratio
                last += 1
            aim = choice[i] * total
            chosen, weight = first, 1.0
            for b in range(first, last):
                if counts[b] > 0:
                    chosen = b
                    aim -= weight
                    if aim < 0.0:
                        break
                weight *= ratio
            rank = min(int(inside[i] * counts[chosen]), counts[chosen] - 1)
            other = members[starts[chosen] + rank]
            _leave(members, place, starts, counts, chosen, other)
            free[other] = False
            result[i], result[other] = other, i
    return result


@njit(cache=True, nogil=True)
def _leave(
    members: Ints, place: Ints, starts: Ints, counts: Ints, bucket: int, position: int
) -> None:
    """Take a position off the free ones of its bucket; the last of them fills the gap."""
    counts[bucket] -= 1
    last = starts[bucket] + counts[bucket]
    moved = members[last]
    members[place[position]] = moved
    place[moved] = place[position]
    members[last] = position
    place[position] = last


def bucket_swap(
    n: int, buckets: int, choice: ArrayLike, inside: ArrayLike, ratio: float = 0.5
) -> Ints:
    """For each position of a sorted column, the position whose value it receives.

    The positions are cut into `buckets` runs of equal length, give or take one. A position of
    bucket r is swapped with one of bucket s >= r, drawn with a probability in proportion to
    ratio ** (s - r) among the buckets that have a free position; of those each is equally likely.
    `choice` picks the bucket and `inside` the position: n numbers from [0, 1) each. The result is
    its own inverse.

    >>> bucket_swap(4, 2, [0.9, 0.0, 0.0, 0.0], [0.0, 0.9, 0.0, 0.0]).tolist()
    [2, 3, 0, 1]
    """
    n, buckets = operator.index(n), operator.index(buckets)
    if n < 0 or buckets < 1:
        raise ValueError(f"n = {n} must not be negative and buckets = {buckets} at least one")
    if not 0.0 < ratio <= 1.0:
        raise ValueError(f"ratio = {ratio} must lie above 0, up to 1")
    choice, inside = checked_uniforms(choice, n), checked_uniforms(inside, n)
    return _bucket_swap(n, min(buckets, max(n, 1)), float(ratio), choice, inside)
