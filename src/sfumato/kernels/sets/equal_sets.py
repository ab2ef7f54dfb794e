"""Which records have the same set: by a hash of it, and exactly, since equal hashes are compared.

The sets are `items[starts[i]:starts[i + 1]]`, in any order and with repeats. Records are dealt out
by their hashes into parts whose tables fit the cache, and each record is then compared with the
first of its hash.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Ints
from ..threads import cores

Items = NDArray[Any]
Hashes = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_PART = 14
"""About 2 ** 14 records go to a part."""


@njit(cache=True, nogil=True)
def _ascending(starts: Ints, items: Items, low: int, high: int) -> bool:
    for i in range(low, high):
        for e in range(starts[i] + 1, starts[i + 1]):
            if items[e] <= items[e - 1]:
                return False
    return True


@njit(cache=True, nogil=True)
def _sorted(starts: Ints, items: Items, low: int, high: int, out: Items, sizes: Ints) -> None:
    """Sort each of the sets low..high into `out`, each item once."""
    for i in range(low, high):
        begin, end = starts[i], starts[i + 1]
        row = np.sort(items[begin:end])
        kept = 0
        for e in range(row.size):
            if e == 0 or row[e] != row[e - 1]:
                out[begin + kept] = row[e]
                kept += 1
        sizes[i] = kept


@njit(cache=True, nogil=True)
def _closed_up(starts: Ints, items: Items, ends: Ints) -> None:
    """Move the sets to the places that `ends` gives them, from the first on."""
    for i in range(starts.size - 1):
        size = ends[i + 1] - ends[i]
        for e in range(size):
            items[ends[i] + e] = items[starts[i] + e]


def as_sets(starts: Ints, items: Items) -> tuple[Ints, Items]:
    """The same sets sorted, each item once; what is so already is given back as it is."""
    n = starts.size - 1
    spans = _spans(n)
    with ThreadPoolExecutor(cores()) as pool:
        if all(pool.map(lambda s: _ascending(starts, items, s[0], s[1]), spans)):
            return starts, items
        out, sizes = np.empty_like(items), np.zeros(n, dtype=np.int64)
        list(pool.map(lambda s: _sorted(starts, items, s[0], s[1], out, sizes), spans))
    ends = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    _closed_up(starts, out, ends)
    return ends, out[: ends[-1]]


@njit(cache=True, nogil=True)
def _hashed(starts: Ints, items: Items, missing: Flags, low: int, high: int, out: Hashes) -> None:
    for i in range(low, high):
        key = np.uint64(0x243F6A8885A308D3) if missing[i] else np.uint64(1469598103934665603)
        for e in range(starts[i], starts[i + 1]):
            key = (key ^ np.uint64(items[e])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        key *= np.uint64(0xBF58476D1CE4E5B9)
        out[i] = key ^ (key >> np.uint64(32))


@njit(cache=True, nogil=True)
def _dealt(hashes: Hashes, shift: int, parts: int) -> tuple[Ints, Ints]:
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
def _joined(hashes: Hashes, order: Ints, begin: Ints, low: int, high: int, first: Ints) -> None:
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
def _same(starts: Ints, items: Items, missing: Flags, i: int, r: int) -> bool:
    length = starts[i + 1] - starts[i]
    if missing[r] != missing[i] or starts[r + 1] - starts[r] != length:
        return False
    e = 0
    while e < length and items[starts[i] + e] == items[starts[r] + e]:
        e += 1
    return bool(e == length)


@njit(cache=True, nogil=True)
def _unlike(starts: Ints, items: Items, missing: Flags, low: int, high: int, first: Ints) -> Ints:
    """The records of a span whose first one is not the same set, for all its hash."""
    many = 0
    apart = np.zeros(high - low, dtype=np.bool_)
    for i in range(low, high):
        apart[i - low] = first[i] != i and not _same(starts, items, missing, i, first[i])
        many += apart[i - low]
    found, used = np.empty(many, dtype=np.int64), 0
    for i in range(low, high):
        if apart[i - low]:
            found[used] = i
            used += 1
    return found


def first_equal_sets(
    starts: Ints, items: Items, missing: Flags, *, hashes: Hashes | None = None
) -> Ints:
    """For each record the first one with the same set; a missing set is the same as another one.

    `hashes` are for tests: whatever they are, the answer is exact.

    >>> first_equal_sets(np.array([0, 2, 4, 7]), np.array([1, 2, 3, 2, 2, 1, 2]), np.zeros(3, bool))
    array([0, 1, 0])
    """
    n = starts.size - 1
    starts, items = as_sets(starts, items)
    spans = _spans(n)
    first = np.empty(n, dtype=np.int64)
    keys = np.empty(n, dtype=np.uint64) if hashes is None else hashes
    bits = max(1, (n >> _PART).bit_length())
    with ThreadPoolExecutor(cores()) as pool:
        if hashes is None:
            list(pool.map(lambda s: _hashed(starts, items, missing, s[0], s[1], keys), spans))
        order, begin = _dealt(keys, 64 - bits, 1 << bits)
        cuts = _spans(1 << bits)
        list(pool.map(lambda s: _joined(keys, order, begin, s[0], s[1], first), cuts))
        unlike = list(pool.map(lambda s: _unlike(starts, items, missing, s[0], s[1], first), spans))
    _told_apart(starts, items, missing, np.concatenate([*unlike, order[:0]]), first)
    return first


def _told_apart(starts: Ints, items: Items, missing: Flags, unlike: Ints, first: Ints) -> None:
    """Find their own first one for records that share no more than a hash with another set."""
    seen: dict[tuple[int, int, bytes], int] = {}
    for i in unlike.tolist():
        row = items[starts[i] : starts[i + 1]].tobytes()
        first[i] = seen.setdefault((int(first[i]), int(missing[i]), row), i)


def _spans(n: int) -> list[tuple[int, int]]:
    """0..n in several pieces for each core."""
    cuts = np.linspace(0, n, 8 * cores() + 1).astype(np.int64).tolist()
    return [(a, b) for a, b in pairwise(cuts) if b > a]
