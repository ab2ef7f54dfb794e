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

# Entries of `Search.counts`: head and length of the queue; lengths of `touched`, `free`, `stale`;
# the last stamp given; steps done; times the best was lowered; first step and length of the cycle;
# whether the cycle is an odd one.
HEAD, QUEUED, TOUCHED, FREE, STALE, STAMP, STEPS, IMPROVED, CYCLE, LENGTH, ODD = range(11)
# Entries of `Search.loss`: of the current and of the best partition; the mean squared distance of a
# record to the centroid of all, in which rounding is measured; of the median group of the best when
# the cycle began.
NOW, BEST, UNIT, MEDIAN = range(4)

LEAST = 1e-12
"""A gain counts when it exceeds this share of the losses compared: below, it may be rounding."""


class Search(NamedTuple):
    """The state of a search, in arrays that the compiled functions change in place."""

    x: Floats  # (n, d) points, d a multiple of four
    near: NDArray[np.int32]  # (n, t) nearest other records of each record, nearest first
    k: int
    label: Ints  # (n,) group of each record
    own: Floats  # (n,) squared distance of each record to its group's centroid
    size: Ints  # (g,) records in each group; 0 where the name is free
    member: Ints  # (g, 2k) the records of each group
    centre: Floats  # (g, d)
    sse: Floats  # (g,) squared distances of the members to the centroid, summed
    free: Ints  # names of groups that are free: the first counts[FREE]
    place: Ints  # where a free name stands in `free`
    queue: Ints  # ring of groups still to be examined
    queued: NDArray[np.bool_]
    touched: Ints  # groups changed in this step: the first counts[TOUCHED]
    is_touched: NDArray[np.bool_]
    old_size: Ints  # the journal: size, members and loss of the touched groups before the step
    old_member: Ints
    old_sse: Floats
    seen: Ints  # stamp of the last list that each group was put on
    around: Ints  # scratch: the groups near a group
    pool: Ints  # scratch: the records of a pool
    gap: Floats  # scratch: distances of a pool, or of two groups to each other's centroid
    best_size: Ints  # the groups of the lowest loss found so far
    best_member: Ints
    stale: Ints  # groups that may differ from the best: the first counts[STALE]
    is_stale: NDArray[np.bool_]
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
    size = s.size[g]
    d = s.x.shape[1]
    for c in range(d):
        s.centre[g, c] = 0.0
    for m in range(size):
        i = s.member[g, m]
        s.label[i] = g
        for c in range(d):
            s.centre[g, c] += s.x[i, c]
    total = 0.0
    if size > 0:
        share = 1.0 / size
        for c in range(d):
            s.centre[g, c] *= share
        for m in range(size):
            i = s.member[g, m]
            s.own[i] = squared(s.x, i, s.centre, g)
            total += s.own[i]
    s.sse[g] = total


@njit(cache=True, nogil=True)
def touch(s: Search, g: int) -> None:
    """Note in the journal what group g is, once in a step and before it changes."""
    if s.is_touched[g]:
        return
    s.is_touched[g] = True
    s.touched[s.counts[TOUCHED]] = g
    s.counts[TOUCHED] += 1
    s.old_size[g] = s.size[g]
    s.old_sse[g] = s.sse[g]
    for m in range(s.size[g]):
        s.old_member[g, m] = s.member[g, m]


@njit(cache=True, nogil=True)
def enqueue(s: Search, g: int) -> None:
    """Have group g examined, unless it already waits."""
    if s.queued[g]:
        return
    s.queued[g] = True
    place = s.counts[HEAD] + s.counts[QUEUED]
    if place >= s.queue.size:
        place -= s.queue.size
    s.queue[place] = g
    s.counts[QUEUED] += 1


@njit(cache=True, nogil=True)
def dequeue(s: Search) -> int:
    """The group that has waited longest."""
    g: int = s.queue[s.counts[HEAD]]
    s.queued[g] = False
    s.counts[HEAD] += 1
    if s.counts[HEAD] == s.queue.size:
        s.counts[HEAD] = 0
    s.counts[QUEUED] -= 1
    return g


@njit(cache=True, nogil=True)
def _list_free(s: Search, g: int) -> None:
    s.free[s.counts[FREE]] = g
    s.place[g] = s.counts[FREE]
    s.counts[FREE] += 1


@njit(cache=True, nogil=True)
def name_group(s: Search) -> int:
    """A free name, to be used at once; it is in the journal."""
    s.counts[FREE] -= 1
    g: int = s.free[s.counts[FREE]]
    touch(s, g)
    return g


@njit(cache=True, nogil=True)
def drop_group(s: Search, g: int) -> None:
    """Free the name of group g, whose members have gone elsewhere; it is in the journal."""
    s.size[g] = 0
    s.sse[g] = 0.0
    _list_free(s, g)


@njit(cache=True, nogil=True)
def change(s: Search) -> float:
    """Loss of the touched groups now, less their loss before the step."""
    now = before = 0.0
    for t in range(s.counts[TOUCHED]):
        g = s.touched[t]
        now += s.sse[g]
        before += s.old_sse[g]
    return now - before


@njit(cache=True, nogil=True)
def _close(s: Search) -> None:
    for t in range(s.counts[TOUCHED]):
        s.is_touched[s.touched[t]] = False
    s.counts[TOUCHED] = 0


@njit(cache=True, nogil=True)
def keep(s: Search) -> None:
    """Let what was done in this step stay; take it as the best so far if it is."""
    s.loss[NOW] += change(s)
    for t in range(s.counts[TOUCHED]):
        g = s.touched[t]
        if not s.is_stale[g]:
            s.is_stale[g] = True
            s.stale[s.counts[STALE]] = g
            s.counts[STALE] += 1
    _close(s)
    if s.loss[NOW] < s.loss[BEST] - LEAST * s.loss[UNIT]:
        s.loss[BEST] = s.loss[NOW]
        s.counts[IMPROVED] += 1
        for t in range(s.counts[STALE]):
            g = s.stale[t]
            s.is_stale[g] = False
            s.best_size[g] = s.size[g]
            for m in range(s.size[g]):
                s.best_member[g, m] = s.member[g, m]
        s.counts[STALE] = 0


@njit(cache=True, nogil=True)
def go_back_to_best(s: Search) -> None:
    """Make the best partition so far the current one; the journal must be closed."""
    for t in range(s.counts[STALE]):
        g = s.stale[t]
        touch(s, g)
        # The journal is what `undo` returns to: hand it the best instead of the present.
        s.old_size[g] = s.best_size[g]
        for m in range(s.best_size[g]):
            s.old_member[g, m] = s.best_member[g, m]
        s.is_stale[g] = False
    s.counts[STALE] = 0
    undo(s)
    s.loss[NOW] = s.loss[BEST]


@njit(cache=True, nogil=True)
def undo(s: Search) -> None:
    """Give every touched group what it had before the step."""
    for t in range(s.counts[TOUCHED]):
        g = s.touched[t]
        if s.old_size[g] > 0 and s.size[g] == 0:  # the step freed this name: take it off the list
            s.counts[FREE] -= 1
            last = s.free[s.counts[FREE]]
            s.free[s.place[g]] = last
            s.place[last] = s.place[g]
        elif s.old_size[g] == 0 and s.size[g] > 0:  # the step took this name: give it back
            _list_free(s, g)
    for t in range(s.counts[TOUCHED]):
        g = s.touched[t]
        s.size[g] = s.old_size[g]
        for m in range(s.old_size[g]):
            s.member[g, m] = s.old_member[g, m]
        refresh(s, g)
    _close(s)
