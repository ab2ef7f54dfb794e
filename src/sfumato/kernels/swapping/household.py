"""Households that change places with a like household of another area.

The households stand sorted by match group and, in it, by area. Free ones of a group that lie
outside an area are then two runs, and a Fenwick tree counts both and finds the k-th of them, so
that every possible partner is exactly as likely as any other, in O(log n).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ._fenwick import all_free, find, free_below, take, top_step
from .rank import checked_uniforms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _runs(labels: Ints) -> tuple[Ints, Ints]:
    """Where the run of equal labels around each position starts and ends."""
    n = labels.size
    start, end = np.empty(n, np.int64), np.empty(n, np.int64)
    first = 0
    for i in range(n + 1):
        if i == n or labels[i] != labels[first]:
            start[first:i] = first
            end[first:i] = i
            first = i
    return start, end


@njit(cache=True, nogil=True)
def _swap_outside(
    group: Ints, block: Ints, visits: Ints, uniforms: Floats, area: Ints, short: Ints
) -> tuple[Ints, int]:
    n = group.size
    result = np.arange(n)
    free = np.ones(n, np.bool_)
    tree, top = all_free(n), top_step(n)
    group_start, group_end = _runs(group)
    block_start, block_end = _runs(block)
    vain = 0
    for i in visits:
        if not free[i] or short[area[i]] <= 0:
            continue
        below = free_below(tree, group_start[i])
        ahead = free_below(tree, block_start[i])
        behind = free_below(tree, block_end[i])
        beyond = free_below(tree, group_end[i])
        candidates = (ahead - below) + (beyond - behind)
        if candidates == 0:
            vain += 1
            continue
        pick = below + min(int(uniforms[i] * candidates), candidates - 1)
        if pick >= ahead:
            pick += behind - ahead
        other = find(tree, top, pick)
        for one in (i, other):
            take(tree, one)
            free[one] = False
            short[area[one]] -= 1
        result[i], result[other] = other, i
    return result, vain


def swap_outside(
    group: Ints, block: Ints, visits: Ints, uniforms: ArrayLike, pairs: int
) -> tuple[Ints, int]:
    """For each position the position that it changes places with, and how many visits were in vain.

    Positions are sorted by `group` and inside it by `block`, whose labels differ from group to
    group. They are visited in the order of `visits`, until `pairs` pairs are made. One that is
    still free is paired with a free one of its group but not of its block, each equally likely.

    >>> group, block = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2])
    >>> swap_outside(group, block, np.array([3, 1, 0, 2]), [0.0] * 4, 9)
    (array([0, 2, 1, 3]), 2)
    """
    if visits.size != group.size or pairs < 0:
        raise ValueError("each position has one visit; pairs count from 0")
    anywhere = np.zeros(group.size, np.int64)
    return swap_short(group, block, visits, uniforms, anywhere, np.array([2 * pairs]))


def swap_short(
    group: Ints, block: Ints, visits: Ints, uniforms: ArrayLike, area: Ints, short: Ints
) -> tuple[Ints, int]:
    """The same, where each area is visited until as many of its positions are paired as it is
    `short` of; partners are drawn from all areas, and count for theirs. Not all need be visited.

    >>> group, block = np.array([0, 0, 0, 0]), np.array([0, 0, 1, 2])
    >>> swap_short(group, block, np.array([3, 1]), [0.0] * 4, block, np.array([0, 0, 1]))
    (array([3, 1, 2, 0]), 0)
    """
    if not group.size == block.size == area.size:
        raise ValueError("each position has one group, one block and one area")
    ordered = (np.diff(group) > 0) | ((np.diff(group) == 0) & (np.diff(block) >= 0))
    if not ordered.all():
        raise ValueError("positions must be sorted by group and block")
    drawn = checked_uniforms(uniforms, group.size)
    return _swap_outside(group, block, visits, drawn, area, short.astype(np.int64))


@njit(cache=True, nogil=True)
def _multisets(codes: Ints, starts: Ints, order: Ints, sorted_codes: Ints) -> None:
    """The codes of each household in rising order."""
    for h in range(starts.size - 1):
        part = codes[order[starts[h] : starts[h + 1]]]
        part.sort()
        sorted_codes[starts[h] : starts[h + 1]] = part


def multiset_labels(codes: Ints, order: Ints, starts: Ints) -> Ints:
    """For each household a label that two share if their members have the same codes, in any order.

    order[starts[h] : starts[h + 1]] are the members of household h. Exact: no hashes. One code at a
    time is read off every household that has as many members, and labels are split by it.

    >>> order = np.arange(6)
    >>> multiset_labels(np.array([1, 2, 2, 1, 1, 1]), order, np.array([0, 2, 4, 6])).tolist()
    [1, 1, 0]
    """
    sizes = np.diff(starts)
    ranked = np.empty(order.size, np.int64)
    _multisets(codes, starts, order, ranked)
    by_size = np.argsort(-sizes, kind="stable")
    falling = -sizes[by_size]
    width = int(ranked.max(initial=0)) + 1
    labels = np.zeros(sizes.size, np.int64)
    for position in range(int(sizes.max(initial=0))):
        active = by_size[: int(np.searchsorted(falling, -position, side="left"))]
        if active.size == 1:
            break  # it is the only one of its size
        key = labels[active] * width + ranked[starts[active] + position]
        labels[active] = np.unique(key, return_inverse=True)[1].reshape(-1)
    # Households of one size were last split at the same position; others are told apart by size.
    _, of_size = np.unique(sizes, return_inverse=True)
    whole = of_size.reshape(-1) * np.int64(sizes.size) + labels
    return np.unique(whole, return_inverse=True)[1].reshape(-1).astype(np.int64)


def sharing_households(cells: Ints, of: Ints) -> Ints:
    """For each record how many households have a record in its cell; `of` is its household.

    >>> sharing_households(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])).tolist()
    [2, 2, 2, 1]
    """
    if not cells.size:
        return np.zeros(0, np.int64)
    width = np.int64(of.max()) + 1
    met = np.unique(cells * width + of) // width
    return np.bincount(met, minlength=int(cells.max()) + 1)[cells]
