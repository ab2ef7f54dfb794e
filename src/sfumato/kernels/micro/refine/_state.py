"""What the local search of `refine` keeps: groups, their centroids and losses, and a journal.

A group's centroid and loss are summed afresh from its members whenever the group changes (it has
fewer than 2k, so that costs no more than an update would): no rounding accumulates, however many
steps are taken. The journal holds each group as it was before the step, so that a step that does
not pay is undone at the cost of the groups that it touched, not of the file.

Coordinates are padded with zeros to a multiple of four and squared distances are added in four
interleaved sums: wide registers can be used, and yet the order of summation is written down here
and does not change with the machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Floats, Ints

# Rows of `Search.group`, of all groups: how many records (0 where the name is free); the names that
# are free, and where a free name stands among them; a ring of groups still to be examined, and
# whether a group is on it; groups changed in this step, whether a group is among them, and how many
# records it had before; the stamp of the last list that a group was put on; how many records it had
# in the best partition so far; groups that may differ from the best, and whether one is among them.
(
    SIZE, FREED, PLACE, QUEUE, IS_QUEUED, CHANGED, IS_CHANGED, OLD_SIZE, SEEN, BEST_SIZE, DIFFERING,
    IS_STALE,
) = range(12)  # fmt: skip
# Parts of `Search.member` and `Search.sse`: groups as they are, as they were before the step and,
# for members, as they are in the best partition so far.
HERE, BEFORE, KEPT = range(3)
# Entries of `Search.counts`: head and length of the queue; lengths of the lists of changed, of free
# and of differing groups; the last stamp given; steps done; times the best was lowered; first step
# and length of the cycle; whether the cycle is an odd one.
HEAD, QUEUED, TOUCHED, FREE, STALE, STAMP, STEPS, IMPROVED, CYCLE, LENGTH, ODD = range(11)
# Entries of `Search.loss`: of the current and of the best partition; the mean squared distance of a
# record to the centroid of all, in which rounding is measured; of the median group of the best when
# the cycle began.
NOW, BEST, UNIT, MEDIAN = range(4)

LEAST = 1e-12
"""A gain counts when it exceeds this share of the losses compared: below, it may be rounding."""


class Search(NamedTuple):
    """The state of a search, in arrays that the compiled functions change in place.

    Few and wide ones: the time to compile grows with every array.
    """

    x: Floats  # (n, d) points, d a multiple of four
    near: NDArray[np.int32]  # (n, t) nearest other records of each record, nearest first
    k: int
    label: Ints  # (n,) group of each record
    own: Floats  # (n,) squared distance of each record to its group's centroid
    group: Ints  # (12, g) see SIZE and the others
    member: Ints  # (3, g, 2k) the records of each group
    centre: Floats  # (g, d)
    sse: Floats  # (2, g) squared distances of the members to the centroid, summed
    around: Ints  # scratch: the groups near a group
    pool: Ints  # scratch: the records of a pool
    gap: Floats  # scratch: distances of a pool, or of two groups to each other's centroid
    random: NDArray[np.uint64]  # (1,) state of the generator
    counts: Ints
    loss: Floats


@njit(cache=True, nogil=True, inline="always")
def squared(a: Floats, i: int, b: Floats, j: int) -> float:
    """Squared distance of row i of `a` and row j of `b`, in four interleaved sums."""
    s0 = s1 = s2 = s3 = 0.0
    for c in range(0, a.shape[1], 4):
        d0 = a[i, c] - b[j, c]
        d1 = a[i, c + 1] - b[j, c + 1]
        d2 = a[i, c + 2] - b[j, c + 2]
        d3 = a[i, c + 3] - b[j, c + 3]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
    return (s0 + s1) + (s2 + s3)


@njit(cache=True, nogil=True)
def refresh(s: Search, g: int) -> None:
    """Centroid, distances and loss of group g, from its members; labels too."""
    size = s.group[SIZE, g]
    d = s.x.shape[1]
    for c in range(d):
        s.centre[g, c] = 0.0
    for m in range(size):
        i = s.member[HERE, g, m]
        s.label[i] = g
        for c in range(d):
            s.centre[g, c] += s.x[i, c]
    total = 0.0
    if size > 0:
        share = 1.0 / size
        for c in range(d):
            s.centre[g, c] *= share
        for m in range(size):
            i = s.member[HERE, g, m]
            s.own[i] = squared(s.x, i, s.centre, g)
            total += s.own[i]
    s.sse[HERE, g] = total


@njit(cache=True, nogil=True)
def touch(group: Ints, member: Ints, sse: Floats, counts: Ints, g: int) -> None:
    """Note in the journal what group g is, once in a step and before it changes."""
    if group[IS_CHANGED, g] > 0:
        return
    group[IS_CHANGED, g] = 1
    group[CHANGED, counts[TOUCHED]] = g
    counts[TOUCHED] += 1
    group[OLD_SIZE, g] = group[SIZE, g]
    sse[BEFORE, g] = sse[HERE, g]
    for m in range(group[SIZE, g]):
        member[BEFORE, g, m] = member[HERE, g, m]


@njit(cache=True, nogil=True)
def enqueue(group: Ints, counts: Ints, g: int) -> None:
    """Have group g examined, unless it already waits."""
    if group[IS_QUEUED, g] > 0:
        return
    group[IS_QUEUED, g] = 1
    place = counts[HEAD] + counts[QUEUED]
    if place >= group.shape[1]:
        place -= group.shape[1]
    group[QUEUE, place] = g
    counts[QUEUED] += 1


@njit(cache=True, nogil=True)
def list_free(group: Ints, counts: Ints, g: int) -> None:
    """Put the name of a group on the list of free ones."""
    group[FREED, counts[FREE]] = g
    group[PLACE, g] = counts[FREE]
    counts[FREE] += 1


@njit(cache=True, nogil=True)
def change(group: Ints, sse: Floats, counts: Ints) -> float:
    """Loss of the touched groups now, less their loss before the step."""
    now = before = 0.0
    for t in range(counts[TOUCHED]):
        g = group[CHANGED, t]
        now += sse[HERE, g]
        before += sse[BEFORE, g]
    return now - before


@njit(cache=True, nogil=True)
def keep(s: Search) -> None:
    """Let what was done in this step stay; take it as the best so far if it is."""
    group, counts, loss = s.group, s.counts, s.loss
    loss[NOW] += change(group, s.sse, counts)
    for t in range(counts[TOUCHED]):
        g = group[CHANGED, t]
        group[IS_CHANGED, g] = 0
        if group[IS_STALE, g] == 0:
            group[IS_STALE, g] = 1
            group[DIFFERING, counts[STALE]] = g
            counts[STALE] += 1
    counts[TOUCHED] = 0
    if loss[NOW] < loss[BEST] - LEAST * loss[UNIT]:
        loss[BEST] = loss[NOW]
        counts[IMPROVED] += 1
        for t in range(counts[STALE]):
            g = group[DIFFERING, t]
            group[IS_STALE, g] = 0
            group[BEST_SIZE, g] = group[SIZE, g]
            for m in range(group[SIZE, g]):
                s.member[KEPT, g, m] = s.member[HERE, g, m]
        counts[STALE] = 0


@njit(cache=True, nogil=True)
def undo(s: Search) -> None:
    """Give every touched group what it had before the step."""
    group, counts = s.group, s.counts
    for t in range(counts[TOUCHED]):
        g = group[CHANGED, t]
        if group[OLD_SIZE, g] > 0 and group[SIZE, g] == 0:
            # The step freed this name: take it off the list.
            counts[FREE] -= 1
            last = group[FREED, counts[FREE]]
            group[FREED, group[PLACE, g]] = last
            group[PLACE, last] = group[PLACE, g]
        elif group[OLD_SIZE, g] == 0 and group[SIZE, g] > 0:  # it took this name: give it back
            list_free(group, counts, g)
    for t in range(counts[TOUCHED]):
        g = group[CHANGED, t]
        group[SIZE, g] = group[OLD_SIZE, g]
        for m in range(group[OLD_SIZE, g]):
            s.member[HERE, g, m] = s.member[BEFORE, g, m]
        group[IS_CHANGED, g] = 0
        refresh(s, g)
    counts[TOUCHED] = 0
