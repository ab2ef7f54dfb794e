"""CREST's cutting: the least rise of divergence for the length of the edge comes first.

The edges that are still open in a group are a list in preorder, which starts at the group's topmost
place: `after` leads from each to the next, and to n at the end. What hangs below an edge is a run
of places, so a cut takes a piece out of the list.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.micro.trees._cut_tree import Flags, Floats, Ints, take_off

GRID = 2.0**30  # a rise of divergence is told apart down to 1/GRID record bits: below is rounding


@njit(cache=True, nogil=True)
def _spread(counts: Ints, less: Ints, share: Floats, slope: Floats) -> float:
    """Size times Jensen-Shannon divergence from `share` of the records `counts - less`.

    This is convex and grows in proportion to the counts, so its slope at one place bounds it
    from below everywhere: spread(c) >= slope . c, with equality where the slope was taken.
    """
    n, lift, total = 0, 0.0, 0.0
    for c in range(counts.size):
        n += counts[c] - less[c]
    for c in range(counts.size):
        own, all_own = float(counts[c] - less[c]), n * share[c]
        slope[c] = 0.0
        if own > 0.0:
            slope[c] = 0.5 * np.log2(2.0 * own / (own + all_own))
            total += own * slope[c]
        if all_own > 0.0:
            term = 0.5 * np.log2(2.0 * all_own / (own + all_own))
            total += all_own * term
            lift += share[c] * term
    for c in range(counts.size):
        slope[c] += lift
    return total


@njit(cache=True, nogil=True)
def slopes_of(counts: Ints, share: Floats) -> Floats:
    slopes = np.empty(counts.shape)
    nothing = np.zeros(share.size, np.int64)
    for p in range(len(counts)):
        _spread(counts[p], nothing, share, slopes[p])
    return slopes


@njit(cache=True, nogil=True)
def _after(length: float, edge: int, other_length: float, other_edge: int) -> bool:
    """Whether an edge comes after another: the longer one first, of equals the lower number."""
    return length < other_length or (length == other_length and edge > other_edge)


@njit(cache=True, nogil=True)
def cut_by_ratio(
    up: Ints, edge: Ints, stop: Ints, lengths: Floats, share: Floats, m: int, budget: int,
    top: Flags, counts: Ints, after: Ints, slopes: Floats, stack: Ints, done: Ints,
) -> None:  # fmt: skip
    """Cut the groups on the stack (done[0] of them) until some `budget` edges were looked at.

    An edge that leaves m records on both sides raises the divergence by spread(below) + spread(rest
    of the group) - spread(group), where spread(rest) >= spread(group) - trend . below for the slope
    `trend` at the group, and spread(below) >= slope . below for the slope at what once hung below.
    Only edges for which these bounds do not settle the matter are worked out in full.
    """
    n, classes = counts.shape
    nothing, trend, sink = np.zeros(classes, np.int64), np.empty(classes), np.empty(classes)
    looked = 0
    while done[0] > 0 and looked < budget:
        root = stack[done[0] - 1]
        size = 0
        for c in range(classes):
            size += counts[root, c]
        spread = _spread(counts[root], nothing, share, trend)
        # What a bound may be off by: half a grid step, and rounding in sums over `size` records.
        slack = 1.0 / GRID + 1e-14 * size
        best, before, ratio, length = -1, -1, np.inf, 0.0
        last, v = root, after[root]
        while v < n:
            looked += 1
            below, bound = 0, -slack
            for c in range(classes):
                below += counts[v, c]
                bound += (slopes[v, c] - trend[c]) * counts[v, c]
            if below < m or size - below < m:
                v = after[v]
                after[last] = v
                continue
            own = lengths[v]
            divisor = own if own > 0.0 else 1.0
            first = best < 0 or (own > 0.0 and length == 0.0)
            if first or not (
                bound > ratio * divisor
                or (own == 0.0 and length > 0.0)
                or (ratio == 0.0 and _after(own, edge[v], length, edge[best]))
            ):
                rise = _spread(counts[v], nothing, share, slopes[v])
                rise += _spread(counts[root], counts[v], share, sink) - spread
                found = max(0.0, np.rint(rise * GRID) / GRID) / divisor
                if (
                    first
                    or found < ratio
                    or (found == ratio and not _after(own, edge[v], length, edge[best]))
                ):
                    best, before, ratio, length = v, last, found, own
            last, v = v, after[v]
        if best < 0:
            done[0] -= 1
            done[1] += size
        else:
            take_off(best, up, top, counts)
            end, last = after[best], best
            while end < stop[best]:
                last, end = end, after[end]
            after[before], after[last] = end, n
            stack[done[0]] = best
            done[0] += 1
