"""Groups of records by the set that all of them share: what the second phase of two-phase keeps.

Labels lie end to end in one array. Since k records hold each label, they are never more than a k-th
of all items; what dead labels leave behind is swept up when room runs out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Ints
from ..rows import Items, Words
from ._reach import _ID, _MARK

# Entries of `Groups.counts`: groups named so far, free names, head and length of the queue, items
# used in the array of labels, records in queued groups.
NAMED, FREE, HEAD, QUEUED, USED, WAITING = range(6)


class Groups(NamedTuple):
    """The groups, in arrays that the compiled functions change in place."""

    first: NDArray[np.int32]  # the first place of each group
    last: NDArray[np.int32]
    size: Ints  # records; 0 where the name is free
    begin: Ints  # where the label of each begins
    width: NDArray[np.int32]  # items in it
    word: Words  # its key
    follows: NDArray[np.int32]  # the place after each place in its group, or -1
    table: Words  # a power of two of slots: groups by key
    free: NDArray[np.int32]
    queue: NDArray[np.int32]
    queued: NDArray[np.bool_]
    counts: Ints


def no_groups(places: int, most: int) -> Groups:
    """Room for `most` groups."""
    slots = 2
    while slots < 2 * most:
        slots *= 2
    return Groups(
        first=np.full(most, -1, dtype=np.int32),
        last=np.full(most, -1, dtype=np.int32),
        size=np.zeros(most, dtype=np.int64),
        begin=np.zeros(most, dtype=np.int64),
        width=np.zeros(most, dtype=np.int32),
        word=np.zeros(most, dtype=np.uint64),
        follows=np.full(places, -1, dtype=np.int32),
        table=np.zeros(slots, dtype=np.uint64),
        free=np.empty(most, dtype=np.int32),
        queue=np.empty(most, dtype=np.int32),
        queued=np.zeros(most, dtype=np.bool_),
        counts=np.zeros(6, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def find(groups: Groups, labels: Items, word: Any, label: Items) -> Any:
    """The group with that label, or -1."""
    wrap = np.int64(groups.table.size - 1)
    slot = np.int64(word & np.uint64(wrap))
    while groups.table[slot] != 0:
        entry = groups.table[slot]
        if (entry ^ word) & _MARK == 0:
            g = np.int64(entry & _ID) - 1
            same, at = groups.width[g] == label.size, groups.begin[g]
            for t in range(label.size):
                if not same:
                    break
                same = labels[at + t] == label[t]
            if same:
                return g
        slot = (slot + 1) & wrap
    return np.int64(-1)


@njit(cache=True, nogil=True)
def enter(groups: Groups, g: int) -> None:
    """Put a group where `find` looks for its key."""
    wrap = np.int64(groups.table.size - 1)
    slot = np.int64(groups.word[g] & np.uint64(wrap))
    while groups.table[slot] != 0:
        slot = (slot + 1) & wrap
    groups.table[slot] = (groups.word[g] & _MARK) | np.uint64(g + 1)


@njit(cache=True, nogil=True)
def leave(groups: Groups, g: int) -> None:
    """Take a group out again; later ones of its run move up, so that no gap hides them."""
    table, wrap = groups.table, np.int64(groups.table.size - 1)
    slot = np.int64(groups.word[g] & np.uint64(wrap))
    while np.int64(table[slot] & _ID) - 1 != g:
        slot = (slot + 1) & wrap
    gap = slot
    while True:
        slot = (slot + 1) & wrap
        if table[slot] == 0:
            break
        home = np.int64(groups.word[np.int64(table[slot] & _ID) - 1] & np.uint64(wrap))
        if (slot - home) & wrap >= (slot - gap) & wrap:
            table[gap] = table[slot]
            gap = slot
    table[gap] = 0


@njit(cache=True, nogil=True)
def _swept(groups: Groups, labels: Items, more: int) -> Items:
    """The labels of live groups without gaps, and room for more."""
    counts, live = groups.counts, 0
    for g in range(counts[NAMED]):
        if groups.size[g] > 0:
            live += groups.width[g]
    swept = np.empty(live + max(live // 2, more), dtype=labels.dtype)
    at = 0
    for g in range(counts[NAMED]):
        if groups.size[g] > 0:
            width = groups.width[g]
            swept[at : at + width] = labels[groups.begin[g] : groups.begin[g] + width]
            groups.begin[g] = at
            at += width
    counts[USED] = at
    return swept


@njit(cache=True, nogil=True)
def relabel(groups: Groups, labels: Items, g: int, word: Any, label: Items) -> Items:
    """Give a group that is not entered a label, and enter it."""
    counts = groups.counts
    if counts[USED] + label.size > labels.size:
        groups.width[g] = 0
        labels = _swept(groups, labels, label.size)
    groups.begin[g], groups.width[g], groups.word[g] = counts[USED], label.size, word
    labels[counts[USED] : counts[USED] + label.size] = label
    counts[USED] += label.size
    enter(groups, g)
    return labels


@njit(cache=True, nogil=True)
def new_group(groups: Groups) -> Any:
    """A name for an empty group."""
    counts = groups.counts
    if counts[FREE] > 0:
        counts[FREE] -= 1
        return np.int64(groups.free[counts[FREE]])
    counts[NAMED] += 1
    return counts[NAMED] - 1


@njit(cache=True, nogil=True)
def give_back(groups: Groups, g: int) -> None:
    """Free the name of a group that is neither entered nor queued."""
    groups.size[g] = 0
    groups.free[groups.counts[FREE]] = g
    groups.counts[FREE] += 1


@njit(cache=True, nogil=True)
def append(groups: Groups, g: int, place: int) -> None:
    """Put a record at the end of a group."""
    if groups.size[g] == 0:
        groups.first[g] = place
    else:
        groups.follows[groups.last[g]] = place
    groups.last[g] = place
    groups.follows[place] = -1
    groups.size[g] += 1
    if groups.queued[g]:
        groups.counts[WAITING] += 1


@njit(cache=True, nogil=True)
def enqueue(groups: Groups, g: int) -> None:
    """Let a group be looked at, after all that wait already."""
    if groups.queued[g]:
        return
    counts = groups.counts
    groups.queue[(counts[HEAD] + counts[QUEUED]) % groups.queue.size] = g
    counts[QUEUED] += 1
    counts[WAITING] += groups.size[g]
    groups.queued[g] = True


@njit(cache=True, nogil=True)
def dequeue(groups: Groups) -> Any:
    """The group that waits longest."""
    counts = groups.counts
    g = np.int64(groups.queue[counts[HEAD]])
    counts[HEAD] = (counts[HEAD] + 1) % groups.queue.size
    counts[QUEUED] -= 1
    counts[WAITING] -= groups.size[g]
    groups.queued[g] = False
    return g
