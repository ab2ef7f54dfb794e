"""The second phase of two-phase: groups of more than k let records go where more is published.

A group is labelled by all that its records share. It can be left by records that hold one item
more, for the group whose label is just that set, or for a new group if k of them go; k stay behind.
The items are tried from the one that brings most utility. A group whose remaining records share
more than before gets the longer label at once, and joins the group that has it already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Bools, Codes, Floats, Ints
from ..rows import Items, Words, common_items
from ._reach import MARK, item_words
from ._rows import Rows
from ._split_state import (
    BEGIN,
    FIRST,
    FREE,
    HEAD,
    NAMED,
    QUEUE,
    QUEUED,
    SIZE,
    SPARE,
    WAITING,
    WAITS,
    WIDTH,
    Groups,
    append,
    enqueue,
    find,
    leave,
    new_group,
    no_groups,
    relabel,
)

_SLICE = 20_000_000
"""Items counted between two reports."""
_LISTED = 1 << 27
"""A group with more items than this is searched through for each item: lists of who holds it would
take too much memory. It is soon smaller."""


# Rows of `_Scratch.of`: records of the group that hold each item; the items that its records hold,
# the first so many; where the list of each item begins.
HELD, FOUND, LIST = range(3)
# Rows of `_Scratch.flags`: items of its label; items that would lead to a group that is there.
INSIDE, OPEN = range(2)


class _Scratch(NamedTuple):
    """What one group needs while it is worked on; nothing of it outlives the group."""

    of: Ints  # (3, items)
    flags: Bools  # (2, items)


@njit(cache=True, nogil=True)
def _count(starts: Ints, ranks: Items, members: Ints, size: int, scratch: _Scratch) -> int:
    """Count the items of the members; how many different ones there are."""
    found = 0
    for i in range(size):
        for e in range(starts[members[i]], starts[members[i] + 1]):
            a = ranks[e]
            if scratch.of[HELD, a] == 0:
                scratch.of[FOUND, found] = a
                found += 1
            scratch.of[HELD, a] += 1
    return found


@njit(cache=True, nogil=True)
def _lists(
    starts: Ints, ranks: Items, members: Ints, gone: Bools, all_of: int, found: int,
    scratch: _Scratch, lists: Codes,
) -> Codes:  # fmt: skip
    """For each item the members that hold it, end to end; items of the label need none."""
    total = 0
    for f in range(found):
        a = scratch.of[FOUND, f]
        scratch.of[LIST, a] = total
        total += 0 if scratch.flags[INSIDE, a] else scratch.of[HELD, a]
    if lists.size < total:
        lists = np.empty(total + total // 4, dtype=np.int32)
    for i in range(all_of):
        if gone[i]:
            continue
        for e in range(starts[members[i]], starts[members[i] + 1]):
            a = ranks[e]
            if not scratch.flags[INSIDE, a]:
                lists[scratch.of[LIST, a]] = i
                scratch.of[LIST, a] += 1
    for f in range(found):
        a = scratch.of[FOUND, f]
        scratch.of[LIST, a] -= 0 if scratch.flags[INSIDE, a] else scratch.of[HELD, a]
    return lists


@njit(cache=True, nogil=True)
def _holds(starts: Ints, ranks: Items, place: int, item: Any) -> bool:
    """Whether a row has an item; items that are looked for stand near its beginning."""
    for e in range(starts[place], starts[place + 1]):
        if ranks[e] >= item:
            return ranks[e] == item
    return False


@njit(cache=True, nogil=True)
def _with(labels: Items, begin: int, width: int, item: Any) -> Items:
    """A label and one item more."""
    made = np.empty(width + 1, dtype=labels.dtype)
    t = 0
    while t < width and labels[begin + t] < item:
        made[t] = labels[begin + t]
        t += 1
    made[t] = item
    for u in range(t, width):
        made[u + 1] = labels[begin + u]
    return made


@njit(cache=True, nogil=True)
def _look_around(
    groups: Groups, labels: Items, words: Words, g: int, found: int, scratch: _Scratch, seen: Words
) -> None:
    """Which items lead from the label to that of a group."""
    table, mask = groups.table, np.uint64(groups.table.size - 1)
    for f in range(found):  # all words first: they come from memory side by side
        seen[f] = table[np.int64((groups.word[g] + words[scratch.of[FOUND, f]]) & mask)]
    wrap = np.int64(mask)
    for f in range(found):
        a, entry = scratch.of[FOUND, f], seen[f]
        scratch.flags[OPEN, a] = False
        if entry == 0 or scratch.flags[INSIDE, a]:
            continue
        word = groups.word[g] + words[a]
        slot = np.int64(word & mask)
        while entry != 0:
            if (entry ^ word) & MARK == 0:
                label = _with(labels, groups.of[BEGIN, g], groups.of[WIDTH, g], a)
                scratch.flags[OPEN, a] = find(groups, labels, word, label) >= 0
                break
            slot = (slot + 1) & wrap
            entry = table[slot]


@njit(cache=True, nogil=True)
def _closed(
    starts: Ints, ranks: Items, words: Words, place: int, size: int, held: Ints
) -> tuple[Any, Items]:
    """What all members share, of which one is at `place`, and its key."""
    label = np.empty(starts[place + 1] - starts[place], dtype=ranks.dtype)
    width, word = 0, np.uint64(0)
    for e in range(starts[place], starts[place + 1]):
        if held[ranks[e]] == size:
            label[width] = ranks[e]
            word += words[ranks[e]]
            width += 1
    return word, label[:width]


@njit(cache=True, nogil=True)
def _best(worth: Floats, k: int, size: int, found: int, scratch: _Scratch) -> tuple[Any, bool]:
    """The item that brings most where it may be brought back, or -1; whether all share one more."""
    best, most, more = np.int64(-1), 0.0, False
    for f in range(found):
        a = scratch.of[FOUND, f]
        count = scratch.of[HELD, a]
        if scratch.flags[INSIDE, a] or count == 0:
            continue
        if count == size:
            more = True
        if scratch.flags[OPEN, a] or (size >= 2 * k and count >= k):
            gain = worth[a] * min(count, size - k)
            if gain > most or (gain == most and best >= 0 and a < best):
                best, most = a, gain
    return best, more


@njit(cache=True, nogil=True)
def _split(
    starts: Ints, ranks: Items, worth: Floats, words: Words, k: int, groups: Groups, labels: Items,
    scratch: _Scratch, at_most: int,
) -> Items:  # fmt: skip
    """Work off the queue until it is empty or enough was counted; the labels, which may move."""
    members, lists = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    gone, seen = np.empty(0, dtype=np.bool_), np.empty(worth.size, dtype=np.uint64)
    made = 0
    while groups.counts[QUEUED] > 0 and made < _SLICE:
        g = groups.of[QUEUE, groups.counts[HEAD]]
        all_of, size = groups.of[SIZE, g], groups.of[SIZE, g]
        groups.counts[HEAD] = (groups.counts[HEAD] + 1) % groups.word.size
        groups.counts[QUEUED] -= 1
        groups.counts[WAITING] -= size
        groups.of[WAITS, g] = 0
        made += 1
        if size <= k:
            continue
        if members.size < size:
            members = np.empty(2 * size, dtype=np.int64)
        place = groups.of[FIRST, g]
        for i in range(size):
            members[i] = place
            place = np.int64(groups.follows[place])
        found = _count(starts, ranks, members, size, scratch)
        entries = 0
        for f in range(found):
            entries += scratch.of[HELD, scratch.of[FOUND, f]]
        made += entries
        if gone.size < size:
            gone = np.empty(members.size, dtype=np.bool_)
        gone[:size] = False
        for t in range(groups.of[WIDTH, g]):
            scratch.flags[INSIDE, labels[groups.of[BEGIN, g] + t]] = True
        listed, more, looked, alive = False, True, False, True
        while True:
            best, more = _best(worth, k, size, found, scratch) if looked else (np.int64(-1), True)
            if more:
                stays = 0
                while gone[stays]:
                    stays += 1
                word, label = _closed(starts, ranks, words, members[stays], size, scratch.of[HELD])
                if label.size > groups.of[WIDTH, g]:
                    leave(groups, g)
                    other = find(groups, labels, word, label)
                    if other >= 0:
                        for i in range(all_of):
                            if not gone[i]:
                                append(groups, other, members[i])
                        enqueue(groups, other)
                        groups.of[SIZE, g] = 0  # its name is free
                        groups.of[FREE, groups.counts[SPARE]] = g
                        groups.counts[SPARE] += 1
                        alive = False
                        break
                    labels = relabel(groups, labels, g, word, label)
                    for t in range(label.size):
                        scratch.flags[INSIDE, label[t]] = True
                _look_around(groups, labels, words, g, found, scratch, seen)
                looked = True
                continue
            if best < 0 or size == k:
                break
            if not listed and entries <= at_most:
                lists = _lists(starts, ranks, members, gone, all_of, found, scratch, lists)
                listed = True
            word = groups.word[g] + words[best]
            label = _with(labels, groups.of[BEGIN, g], groups.of[WIDTH, g], best)
            other = find(groups, labels, word, label)
            if other < 0:
                other = new_group(groups)
                labels = relabel(groups, labels, other, word, label)
                scratch.flags[OPEN, best] = True
            least, at = max(k, size - scratch.of[HELD, best]), 0
            if listed:
                at = scratch.of[LIST, best]
            while size > least:
                which = np.int64(lists[at]) if listed else np.int64(at)
                at += 1
                if gone[which] or not (listed or _holds(starts, ranks, members[which], best)):
                    continue
                gone[which] = True
                place = members[which]
                size -= 1
                append(groups, other, place)
                for e in range(starts[place], starts[place + 1]):
                    scratch.of[HELD, ranks[e]] -= 1
                entries -= starts[place + 1] - starts[place]
            if listed:
                scratch.of[LIST, best] = at
            enqueue(groups, other)
        if alive and size < all_of:
            groups.of[SIZE, g] = 0
            for i in range(all_of):
                if not gone[i]:
                    append(groups, g, members[i])
        for f in range(found):
            a = scratch.of[FOUND, f]
            scratch.of[HELD, a], scratch.flags[INSIDE, a], scratch.flags[OPEN, a] = 0, False, False
    return labels


@njit(cache=True, nogil=True)
def _found(
    groups: Groups, labels: Items, ends: Ints, closed: Items, order: Ints, bounds: Ints,
    words: Words,
) -> Items:  # fmt: skip
    """Groups by their labels: those that share the same set are one."""
    for c in range(bounds.size - 1):
        label = closed[ends[c] : ends[c + 1]]
        word = np.uint64(0)
        for t in range(label.size):
            word += words[label[t]]
        g = find(groups, labels, word, label)
        if g < 0:
            g = new_group(groups)
            labels = relabel(groups, labels, g, word, label)
        for i in range(bounds[c], bounds[c + 1]):
            append(groups, g, order[i])
    return labels


def _enqueue_all(groups: Groups, k: int) -> None:
    many = np.flatnonzero(groups.of[SIZE, : groups.counts[NAMED]] > k)
    groups.of[QUEUE, : many.size] = many
    groups.of[WAITS, many] = 1
    groups.counts[QUEUED] = many.size
    groups.counts[WAITING] = groups.of[SIZE, many].sum()


@njit(cache=True, nogil=True)
def _labels(groups: Groups, places: int) -> Ints:
    """The group of each place, numbered without gaps."""
    found = np.empty(places, dtype=np.int64)
    number = 0
    for g in range(groups.counts[NAMED]):
        if groups.of[SIZE, g] > 0:
            place = groups.of[FIRST, g]
            for _ in range(groups.of[SIZE, g]):
                found[place] = number
                place = np.int64(groups.follows[place])
            number += 1
    return found


def _left(groups: Groups, places: int, k: int) -> float:
    """What is still to be done: a group is halved about as often as it can be."""
    waiting, queued = int(groups.counts[WAITING]), int(groups.counts[QUEUED])
    if not queued:
        return 0.0
    return waiting / places * (1 + np.log2(max(waiting / queued / k, 1.0)))


def split(
    rows: Rows, label: NDArray[Any], k: int, *, tell: Callable[[float], None] = lambda share: None
) -> Ints:
    """Split the groups of places that `label` names; the group of each place, all with k."""
    places, d = rows.record.size, rows.worth.size
    order = np.argsort(label, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(label[order], prepend=-1)), places)
    ends, closed = common_items(rows.starts, rows.ranks, order, bounds)
    groups = no_groups(places, places // k + 1)
    words = item_words(d)
    labels = np.empty(closed.size + closed.size // 2 + 16, dtype=closed.dtype)
    labels = _found(groups, labels, ends, closed, order, bounds, words)
    del ends, closed, order, bounds
    scratch = _Scratch(np.zeros((3, d), dtype=np.int64), np.zeros((2, d), dtype=np.bool_))
    _enqueue_all(groups, k)
    at_first, done = max(_left(groups, places, k), 1.0), 0.0
    # Large groups are divided fast: measured at twenty million records.
    power = 1 + (at_first - 1) / 7
    while groups.counts[QUEUED]:
        labels = _split(
            rows.starts, rows.ranks, rows.worth, words, k, groups, labels, scratch, _LISTED
        )
        done = max(done, 1 - _left(groups, places, k) / at_first)
        tell(done**power)
    return _labels(groups, places)
