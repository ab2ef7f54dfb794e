"""Cells suppressed in random order, until every record has the company of k.

Each cell has a place in a random order; at time t the first t cells are gone. Which cells those are
depends on nobody's rarity, so that their pattern gives nothing away (Lasko 2007, section 2.3.2).

Where a suppressed cell matches anything, matches only grow with time. Two records match from the
moment at which, in every column where they differ, one of the two cells is gone; a record is served
from its k-th such moment on, and the last record to be served says when to stop. Where suppressed
is a value of its own, a class comes and goes: for each record the moments are noted at which it
enters and leaves the class of its first 0, 1, 2, ... gone cells, and the first moment is taken at
which no class has fewer than k members.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.suppression.matches import Ints, Packed, label

NEVER = np.iinfo(np.int64).max


def stop_by_match(codes: Ints, place: Ints, k: int) -> int:
    """The least time at which every record matches k, itself included.

    `place` is each cell's place in the random order, int64 (n, d) from 0 on; -1 for a cell that is
    wild from the beginning.

    >>> stop_by_match(np.array([[0], [0], [1]]), np.array([[0], [2], [1]]), 2)
    1
    """
    n = len(codes)
    if n < k:
        raise ValueError(f"{n} records cannot be made {k}-anonymous")
    # Records in a mixed order: the largest of n moments in no order is renewed about log(n) times.
    mixed = (np.arange(n) * _stride(n)) % n
    return int(_stop_by_match(codes[mixed].astype(np.int64), place[mixed].astype(np.int64), k))


def _stride(n: int) -> int:
    """A step that visits all of 0..n-1."""
    step = max(1, int(n * 0.618))
    while np.gcd(step, n) != 1:
        step += 1
    return step


@njit(cache=True, nogil=True)
def _stop_by_match(codes: Ints, place: Ints, k: int) -> int:
    n, d = codes.shape
    time = 0
    first = np.empty(k, np.int64)
    emptiest = _emptiest_first(place, time)
    for i in range(n):
        got = 1  # itself
        for r in emptiest:
            if got >= k:
                break
            if r == i:
                continue
            matches = True
            for j in range(d):
                if codes[i, j] != codes[r, j] and place[i, j] >= time and place[r, j] >= time:
                    matches = False
                    break
            if matches:
                got += 1
        if got >= k:
            continue
        # Too few so far: the k least moments, the largest of them last.
        held = 0
        for r in range(n):
            moment = 0
            for j in range(d):
                if codes[i, j] != codes[r, j]:
                    moment = max(moment, min(place[i, j], place[r, j]) + 1)
            if held < k or moment < first[held - 1]:
                at = held if held < k else k - 1
                while at > 0 and first[at - 1] > moment:
                    first[at] = first[at - 1]
                    at -= 1
                first[at] = moment
                held = min(held + 1, k)
        time = first[k - 1]
        emptiest = _emptiest_first(place, time)
    return time


@njit(cache=True, nogil=True)
def _emptiest_first(place: Ints, time: int) -> Ints:
    """The records by how many of their cells are gone: those that match most others first."""
    n, d = place.shape
    start = np.zeros(d + 2, np.int64)
    left = np.zeros(n, np.int64)
    for i in range(n):
        for j in range(d):
            if place[i, j] >= time:
                left[i] += 1
        start[left[i] + 1] += 1
    for c in range(d + 1):
        start[c + 1] += start[c]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[start[left[i]]] = i
        start[left[i]] += 1
    return order


def stop_by_class(packed: Packed, place: Ints, k: int) -> int:
    """The first time at which every published record occurs k times; suppressed is a value.

    `place` as in `stop_by_match`, -1 for a cell that is suppressed already; its field is empty.

    >>> from sfumato.kernels.suppression.matches import pack
    >>> stop_by_class(pack([[0], [0], [1]]), np.array([[0], [2], [1]]), 2)
    3
    """
    n, d = place.shape
    order = np.argsort(place, axis=1, kind="stable")
    moments = np.sort(place, axis=1) + 1
    words = packed.words.copy()
    last = int(place.max(initial=-1)) + 1
    # How many more classes are short from that time on than were before it.
    change = np.zeros(last + 2, np.int64)
    everything = np.bitwise_or.reduce(packed.fields, axis=0)
    enter = np.zeros(n, np.int64)
    for stage in range(d + 1):
        leave = moments[:, stage] if stage < d else np.full(n, last + 1)
        # Nobody is in a class that is left at the moment it is entered: those cells were gone.
        rows = np.flatnonzero(leave > enter)
        if rows.size:
            labels, groups = label(words[rows], np.arange(rows.size), everything)
            _note_short(labels, groups, enter[rows], leave[rows], k, change)
        if stage < d:
            enter = np.maximum(leave, 0)
            words &= ~packed.fields[order[:, stage]]
    short = np.cumsum(change)[: last + 1]
    fine = np.flatnonzero(short == 0)
    if not fine.size:
        raise ValueError(f"{n} records cannot be made {k}-anonymous")
    return int(fine[0])


def _note_short(
    labels: Ints, groups: int, enter: Ints, leave: Ints, k: int, change: NDArray[np.int64]
) -> None:
    """Add to `change` when each class begins and ends to have some members, but fewer than k."""
    group = np.append(labels, labels)
    time = np.append(enter, leave)
    step = np.append(np.ones(enter.size, np.int64), -np.ones(leave.size, np.int64))
    order = np.lexsort((time, group))
    _sweep(group[order], time[order], step[order], k, change)


@njit(cache=True, nogil=True)
def _sweep(group: Ints, time: Ints, step: Ints, k: int, change: Ints) -> None:
    members = 0
    short = False
    for e in range(group.size):
        if e > 0 and group[e] != group[e - 1]:
            members, short = 0, False
        members += step[e]
        final = e + 1 == group.size or group[e + 1] != group[e] or time[e + 1] != time[e]
        if not final:
            continue  # several come and go at once
        now = 0 < members < k
        if now != short:
            change[time[e]] += 1 if now else -1
            short = now
