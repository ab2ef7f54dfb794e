"""Groups of records by the set that all of them share: what the second phase of two-phase keeps.

Labels lie end to end in one array. Since k records hold each label, they are never more than a k-th
of all items; what dead labels leave behind is swept up when room runs out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ...arrays import Codes, Ints
from ..rows import Items, Words
from ._reach import ID, MARK, put

# Rows of `Groups.of`: the first and the last place of each group, its records (0 where the name is
# free), where its label begins and how many items it has, whether it is in the queue; the names
# that are free; the queue.
FIRST, LAST, SIZE, BEGIN, WIDTH, WAITS, FREE, QUEUE = range(8)
# Entries of `Groups.counts`: groups named so far, free names, head and length of the queue, items
# used in the array of labels, records in queued groups.
NAMED, SPARE, HEAD, QUEUED, USED, WAITING = range(6)


class Groups(NamedTuple):
    """The groups, in arrays that the compiled functions change in place."""

    of: Ints  # (8, groups)
    word: Words  # the key of each label
    follows: Codes  # the place after each place in its group, or -1
    table: Words  # a power of two of slots: groups by key
    counts: Ints


def no_groups(places: int, most: int) -> Groups:
    """Room for `most` groups."""
    return Groups(
        of=np.zeros((8, most), dtype=np.int64),
        word=np.zeros(most, dtype=np.uint64),
        follows=np.full(places, -1, dtype=np.int32),
        table=np.zeros(max(2, 1 << (2 * most - 1).bit_length()), dtype=np.uint64),
        counts=np.zeros(6, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def find(groups: Groups, labels: Items, word: Any, label: Items) -> Any:
    """The group with that label, or -1."""
    wrap = np.int64(groups.table.size - 1)
    slot = np.int64(word & np.uint64(wrap))
    while groups.table[slot] != 0:
        entry = groups.table[slot]
        if (entry ^ word) & MARK == 0:
            g = np.int64(entry & ID) - 1
            same, at = groups.of[WIDTH, g] == label.size, groups.of[BEGIN, g]
            for t in range(label.size):
                if not same:
                    break
                same = labels[at + t] == label[t]
            if same:
                return g
        slot = (slot + 1) & wrap
    return np.int64(-1)


@njit(cache=True, nogil=True)
def leave(groups: Groups, g: int) -> None:
    """Take a group out again; later ones of its run move up, so that no gap hides them."""
    table, wrap = groups.table, np.int64(groups.table.size - 1)
    slot = np.int64(groups.word[g] & np.uint64(wrap))
    while np.int64(table[slot] & ID) - 1 != g:
        slot = (slot + 1) & wrap
    gap = slot
    while True:
        slot = (slot + 1) & wrap
        if table[slot] == 0:
            break
        home = np.int64(groups.word[np.int64(table[slot] & ID) - 1] & np.uint64(wrap))
        if (slot - home) & wrap >= (slot - gap) & wrap:
            table[gap] = table[slot]
            gap = slot
    table[gap] = 0


@njit(cache=True, nogil=True)
def _swept(groups: Groups, labels: Items, more: int) -> Items:
    """The labels of live groups without gaps, and room for more."""
    counts, live = groups.counts, 0
    for g in range(counts[NAMED]):
        if groups.of[SIZE, g] > 0:
            live += groups.of[WIDTH, g]
    swept = np.empty(live + max(live // 2, more), dtype=labels.dtype)
    at = 0
    for g in range(counts[NAMED]):
        if groups.of[SIZE, g] > 0:
            width = groups.of[WIDTH, g]
            for t in range(width):
                swept[at + t] = labels[groups.of[BEGIN, g] + t]
            groups.of[BEGIN, g] = at
            at += width
    counts[USED] = at
    return swept


@njit(cache=True, nogil=True)
def relabel(groups: Groups, labels: Items, g: int, word: Any, label: Items) -> Items:
    """Give a group that is not entered a label, and enter it."""
    counts = groups.counts
    if counts[USED] + label.size > labels.size:
        groups.of[WIDTH, g] = 0
        labels = _swept(groups, labels, label.size)
    groups.of[BEGIN, g], groups.of[WIDTH, g], groups.word[g] = counts[USED], label.size, word
    for t in range(label.size):
        labels[counts[USED] + t] = label[t]
    counts[USED] += label.size
    put(groups.table, np.uint64(groups.table.size - 1), word, g)
    return labels


@njit(cache=True, nogil=True)
def new_group(groups: Groups) -> Any:
    """A name for an empty group."""
    counts = groups.counts
    if counts[SPARE] > 0:
        counts[SPARE] -= 1
        return groups.of[FREE, counts[SPARE]]
    counts[NAMED] += 1
    return counts[NAMED] - 1


@njit(cache=True, nogil=True)
def append(groups: Groups, g: int, place: int) -> None:
    """Put a record at the end of a group."""
    if groups.of[SIZE, g] == 0:
        groups.of[FIRST, g] = place
    else:
        groups.follows[groups.of[LAST, g]] = place
    groups.of[LAST, g] = place
    groups.follows[place] = -1
    groups.of[SIZE, g] += 1
    if groups.of[WAITS, g] > 0:
        groups.counts[WAITING] += 1


@njit(cache=True, nogil=True)
def enqueue(groups: Groups, g: int) -> None:
    """Let a group be looked at, after all that wait already."""
    if groups.of[WAITS, g] > 0:
        return
    counts = groups.counts
    groups.of[QUEUE, (counts[HEAD] + counts[QUEUED]) % groups.word.size] = g
    counts[QUEUED] += 1
    counts[WAITING] += groups.of[SIZE, g]
    groups.of[WAITS, g] = 1
