"""Sets in compressed rows: `items[starts[i]:starts[i + 1]]` are the items of record i, sorted, each
once. What all searches for sets need of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..threads import cores

Items = NDArray[Any]
"""uint16, or int32 where there are more than 65,536 different items."""
Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def pack(starts: Ints, items: Items, d: int) -> Words:
    """uint64[n, words]: each record's items as bits; for tables that fit in memory that way."""
    n = starts.size - 1
    words = np.zeros((n, max((d + 63) // 64, 1)), dtype=np.uint64)
    for i in range(n):
        for e in range(starts[i], starts[i + 1]):
            item = np.int64(items[e])
            words[i, item >> 6] |= np.uint64(1) << np.uint64(item & 63)
    return words


@njit(cache=True, nogil=True)
def _occurrences(items: Items, low: int, high: int, counts: Ints) -> None:
    for e in range(low, high):
        counts[items[e]] += 1


def occurrences(items: Items, d: int) -> Ints:
    """How often each item occurs. (np.bincount would first make eight bytes of each two.)"""
    parts = cores()
    counts = np.zeros((parts, d), dtype=np.int64)
    cuts = np.linspace(0, items.size, parts + 1).astype(np.int64)
    with ThreadPoolExecutor(parts) as pool:
        list(
            pool.map(
                lambda part: _occurrences(
                    items, int(cuts[part]), int(cuts[part + 1]), counts[part]
                ),
                range(parts),
            )
        )
    total: Ints = counts.sum(axis=0)
    return total


@njit(cache=True, nogil=True)
def weights_of(starts: Ints, items: Items, utilities: Floats) -> Floats:
    """Each record's utility: the sum of those of its items."""
    n = starts.size - 1
    found = np.zeros(n)
    for i in range(n):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += utilities[items[e]]
        found[i] = total
    return found


@njit(cache=True, nogil=True)
def _shared(
    starts: Ints, items: Items, order: Ints, bounds: Ints, low: int, high: int, sizes: Ints
) -> Items:
    """The common items of groups low..high, end to end; `sizes[g]` says how many each has."""
    room = 0
    for g in range(low, high):
        if bounds[g] < bounds[g + 1]:
            first = order[bounds[g]]
            room += starts[first + 1] - starts[first]
    found = np.empty(room, dtype=items.dtype)
    used = 0
    for g in range(low, high):
        if bounds[g] == bounds[g + 1]:
            sizes[g] = 0
            continue
        first = order[bounds[g]]
        size = starts[first + 1] - starts[first]
        found[used : used + size] = items[starts[first] : starts[first + 1]]
        for m in range(bounds[g] + 1, bounds[g + 1]):
            if size == 0:
                break
            record = order[m]
            e, stop, kept = starts[record], starts[record + 1], 0
            for a in range(size):
                item = found[used + a]
                while e < stop and items[e] < item:
                    e += 1
                if e < stop and items[e] == item:
                    found[used + kept] = item
                    kept += 1
            size = kept
        sizes[g] = size
        used += size
    return found[:used].copy()


def common_items(starts: Ints, items: Items, order: Ints, bounds: Ints) -> tuple[Ints, Items]:
    """The intersection of each group's sets, as compressed rows of the groups.

    Group g holds the records `order[bounds[g]:bounds[g + 1]]`. Groups may overlap.
    """
    groups = bounds.size - 1
    sizes = np.zeros(groups, dtype=np.int64)
    parts = min(max(1, groups // 1024), 4 * cores())
    # Parts with about as many records each: groups differ in size.
    cuts = np.searchsorted(bounds, np.linspace(bounds[0], bounds[-1], parts + 1))
    cuts[0], cuts[-1] = 0, groups

    def run(part: int) -> Items:
        return _shared(starts, items, order, bounds, int(cuts[part]), int(cuts[part + 1]), sizes)

    with ThreadPoolExecutor(cores()) as pool:
        found = list(pool.map(run, range(parts)))
    ends = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends, np.concatenate(found)


@njit(cache=True, nogil=True)
def _copied(
    starts: Ints, items: Items, rows: Ints, ends: Ints, low: int, high: int, out: Items
) -> None:
    for i in range(low, high):
        row = rows[i]
        if row >= 0:
            out[ends[i] : ends[i + 1]] = items[starts[row] : starts[row + 1]]


def take_rows(starts: Ints, items: Items, rows: Ints) -> tuple[Ints, Items]:
    """Compressed rows of `rows`, in that order; -1 is an empty set."""
    sizes = np.where(rows >= 0, np.diff(starts)[rows], 0) if starts.size > 1 else 0 * rows
    ends = np.zeros(rows.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    out = np.empty(int(ends[-1]), dtype=items.dtype)
    cuts = np.linspace(0, rows.size, cores() + 1).astype(np.int64)
    with ThreadPoolExecutor(cores()) as pool:
        list(
            pool.map(
                lambda part: _copied(
                    starts, items, rows, ends, int(cuts[part]), int(cuts[part + 1]), out
                ),
                range(cores()),
            )
        )
    return ends, out
