"""Which records have the same set: by a hash of it, and exactly, since equal hashes are compared.

The sets are `items[starts[i]:starts[i + 1]]`, in any order and with repeats. Records are dealt out
by their hashes into parts whose tables fit the cache, and each record is then compared with the
first of its hash.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Bools, Ints
from ..threads import cores
from .packing import ascending, tidied
from .rows import Items, Words, even_cuts, frozen, in_parts

_PART = 14
"""About 2 ** 14 records go to a part."""


def as_sets(starts: Ints, items: Items) -> tuple[Ints, Items]:
    """The same sets sorted, each item once; what is so already is given back as it is."""
    if ascending(starts, items):
        return starts, items
    number = np.arange(int(items.max()) + 1)
    return tidied(starts, items, number, np.empty_like(items))[:2]


@njit(cache=True, nogil=True)
def _hashed(starts: Ints, items: Items, missing: Bools, low: int, high: int, out: Words) -> None:
    for i in range(low, high):
        key = np.uint64(0x243F6A8885A308D3) if missing[i] else np.uint64(1469598103934665603)
        for e in range(starts[i], starts[i + 1]):
            key = (key ^ np.uint64(items[e])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        key *= np.uint64(0xBF58476D1CE4E5B9)
        out[i] = key ^ (key >> np.uint64(32))


@njit(cache=True, nogil=True)
def _dealt(hashes: Words, shift: int, parts: int) -> tuple[Ints, Ints]:
    """The records by the part that their hash belongs to, in order, and where each part begins."""
    begin = np.zeros(parts + 1, dtype=np.int64)
    for i in range(hashes.size):
        begin[(hashes[i] >> np.uint64(shift)) + np.uint64(1)] += 1
    for p in range(parts):
        begin[p + 1] += begin[p]
    place = begin[:-1].copy()
    order = np.empty(hashes.size, dtype=np.int64)
    for i in range(hashes.size):
        p = hashes[i] >> np.uint64(shift)
        order[place[p]] = i
        place[p] += 1
    return order, begin


@njit(cache=True, nogil=True)
def _joined(hashes: Words, order: Ints, begin: Ints, low: int, high: int, first: Ints) -> None:
    """For the records of some parts, the first one with the same hash."""
    most = 0
    for p in range(low, high):
        most = max(most, begin[p + 1] - begin[p])
    size = 16
    while size < 2 * most:
        size *= 2
    mask = np.uint64(size - 1)
    table, keys = np.empty(size, np.int64), np.empty(size, np.uint64)
    for p in range(low, high):
        table[:] = -1
        for a in range(begin[p], begin[p + 1]):
            i = order[a]
            key = hashes[i]
            slot = key & mask
            while table[slot] >= 0 and keys[slot] != key:
                slot = (slot + np.uint64(1)) & mask
            if table[slot] < 0:
                table[slot], keys[slot] = i, key
            first[i] = table[slot]


@njit(cache=True, nogil=True)
def _unlike(
    starts: Ints, items: Items, missing: Bools, low: int, high: int, first: Ints, apart: Bools
) -> None:
    """Mark the records of a span whose first one is not the same set, for all its hash."""
    for i in range(low, high):
        r, e, length = first[i], 0, starts[i + 1] - starts[i]
        apart[i] = missing[r] != missing[i] or starts[r + 1] - starts[r] != length
        if r == i or apart[i]:
            continue
        while e < length and items[starts[i] + e] == items[starts[r] + e]:
            e += 1
        apart[i] = e < length


def first_equal_sets(
    starts: Ints, items: Items, missing: Bools, *, hashes: Words | None = None
) -> Ints:
    """For each record the first one with the same set; a missing set is the same as another one.

    `hashes` are for tests: whatever they are, the answer is exact.

    >>> first_equal_sets(np.array([0, 2, 4, 7]), np.array([1, 2, 3, 2, 2, 1, 2]), np.zeros(3, bool))
    array([0, 1, 0])
    """
    n = starts.size - 1
    starts, items = map(frozen, as_sets(starts, items))
    missing = frozen(missing)
    first, apart = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    keys = np.empty(n, dtype=np.uint64) if hashes is None else hashes
    bits, spans = max(1, (n >> _PART).bit_length()), even_cuts(n, 8 * cores())
    if hashes is None:
        in_parts(lambda low, high: _hashed(starts, items, missing, low, high, keys), spans)
    order, begin = _dealt(keys, 64 - bits, 1 << bits)
    cuts = even_cuts(1 << bits, 8 * cores())
    in_parts(lambda low, high: _joined(keys, order, begin, low, high, first), cuts)
    in_parts(lambda low, high: _unlike(starts, items, missing, low, high, first, apart), spans)
    # Records that share no more than a hash with another set find their own first one.
    seen: dict[tuple[int, int, bytes], int] = {}
    for i in np.flatnonzero(apart).tolist():
        row = items[starts[i] : starts[i + 1]].tobytes()
        first[i] = seen.setdefault((int(first[i]), int(missing[i]), row), i)
    return first
