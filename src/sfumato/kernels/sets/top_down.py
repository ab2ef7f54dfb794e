"""Sets cut from the top of a hierarchy down: each class by which children of one node its sets hold
(He & Naughton 2009).

Sets hold what stands above their items. All records are one class that shows nothing. A node that a
class shows is opened: records that hold the same of its children form new classes, which show them.
Classes below k stay together with that node shut; where they are fewer than k themselves, records
of the new classes that show least join them, as far as those have more than k, or else the whole
of the class that shows least. Of all nodes the one is opened whose children publish most utility,
of equals the one for which most records leave, then the first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from .rows import Items, Words, frozen

ROOT = -1


def _mixed(d: int) -> Words:
    """A word for each item; the exclusive or of some of them tells which they are."""
    found = np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))


@njit(cache=True, nogil=True)
def _held(
    starts: Ints, items: Items, parents: Ints, worth: Floats, mixed: Words, rows: Ints, slot: Ints,
    keys: Words, gains: Floats,
) -> None:  # fmt: skip
    """For each record and open node which of its children are held, and what they are worth."""
    for i in range(rows.size):
        for e in range(starts[rows[i]], starts[rows[i] + 1]):
            item = np.int64(items[e])
            s = slot[parents[item] + 1]
            if s >= 0:
                keys[s, i] ^= mixed[item]
                gains[s, i] += worth[item]


@njit(cache=True, nogil=True)
def _parted(keys: Words, gains: Floats, k: int, part: Ints) -> tuple[float, int]:
    """Fill `part` with the class of each record, -1 where the node stays shut; the utility that
    this publishes, and how many records leave."""
    order = np.argsort(keys, kind="mergesort")
    n = order.size
    begin, count = np.empty(n + 1, np.int64), 0
    for i in range(n):
        if i == 0 or keys[order[i]] != keys[order[i - 1]]:
            begin[count] = i
            count += 1
    begin[count] = n
    small, spare = 0, 0
    first = np.empty(count)
    for c in range(count):
        size = begin[c + 1] - begin[c]
        # Cheapest first, and of equals the one whose first record comes first.
        first[c] = order[begin[c]]
        if size < k:
            small += size
        else:
            spare += size - k
    lacking = k - small if 0 < small < k else 0
    cheap = np.argsort(first, kind="mergesort")
    cheap = cheap[np.argsort(gains[order[begin[cheap]]], kind="mergesort")]
    gain, left, number = 0.0, 0, 0
    part[:] = -1
    for c in cheap:
        size = begin[c + 1] - begin[c]
        if size < k:
            continue
        taken = min(lacking, size - k)
        if lacking > spare:
            taken, lacking = size, 0  # the whole of the cheapest
        else:
            lacking -= taken
        if taken < size:
            for at in range(begin[c], begin[c + 1] - taken):
                part[order[at]] = number
            number += 1
            left += size - taken
            gain += (size - taken) * gains[order[begin[c]]]
    return gain, left


@njit(cache=True, nogil=True)
def _split(keys: Words, gains: Floats, k: int, part: Ints) -> int:
    """The open node to split by, with the class of each record in `part`; -1 if none can."""
    best, most, gone = -1, -1.0, 0
    tried = np.empty(part.size, np.int64)
    for s in range(keys.shape[0]):
        gain, left = _parted(keys[s], gains[s], k, tried)
        if left > 0 and (gain > most or (gain == most and left > gone)):
            best, most, gone = s, gain, left
            part[:] = tried
    return best


def set_top_down(
    starts: Ints,
    items: Items,
    utilities: Floats,
    parents: Ints,
    k: int,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> Ints:
    """Labels of classes of at least k records. There are at least k records.

    `parents[a]` is the item above item a, -1 for none; whoever holds an item holds its parent.

    >>> starts, items = np.array([0, 2, 4, 6]), np.array([0, 2, 1, 2, 1, 2], dtype=np.uint16)
    >>> set_top_down(starts, items, np.ones(3), np.array([2, 2, -1]), 2).tolist()
    [0, 0, 0]
    """
    d, n = utilities.size, starts.size - 1
    inner = np.zeros(d + 1, dtype=bool)
    inner[parents + 1] = True
    mixed, slot = _mixed(d), np.full(d + 1, -1, dtype=np.int64)
    given = frozen(starts), frozen(items), frozen(parents), frozen(utilities), mixed
    labels, groups, done = np.empty(n, dtype=np.int64), 0, 0
    waiting = [(np.arange(n), np.array([ROOT]))]
    while waiting:
        rows, nodes = waiting.pop()
        keys = np.zeros((nodes.size, rows.size), dtype=np.uint64)
        gains = np.zeros(keys.shape)
        slot[nodes + 1] = np.arange(nodes.size)
        _held(*given, rows, slot, keys, gains)
        slot[nodes + 1] = -1
        part = np.empty(rows.size, dtype=np.int64)
        best = _split(keys, gains, k, part)
        if best < 0:
            labels[rows], groups, done = groups, groups + 1, done + rows.size
            tell(done, n)
            continue
        shut = np.delete(nodes, best)
        for number in range(-1, int(part.max()) + 1):
            some = rows[part == number]
            if some.size:
                own = items[starts[some[0]] : starts[some[0] + 1]].astype(np.int64)
                opened = own[(parents[own] == nodes[best]) & inner[own + 1]]
                more = opened if number >= 0 else opened[:0]
                waiting.append((some, np.sort(np.concatenate([shut, more]))))
    return labels


def unclosed(starts: Ints, items: NDArray[np.integer], parents: Ints) -> int:
    """An item that some set holds without its parent; -1 where there is none."""
    d = parents.size
    row = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    held = row * d + items
    below = np.flatnonzero(parents[items] >= 0)
    wanted = row[below] * d + parents[items[below]]
    at = np.minimum(np.searchsorted(held, wanted), held.size - 1)
    lacking = below[held[at] != wanted] if below.size else below
    return int(items[lacking[0]]) if lacking.size else -1
