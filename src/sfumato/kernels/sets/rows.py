"""Sets in compressed rows: `items[starts[i]:starts[i + 1]]` are the items of record i, sorted, each
once. What all searches for sets need of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..threads import cores

Items = NDArray[Any]
"""uint16, or int32 where there are more than 65,536 different items."""
Words = NDArray[np.uint64]
Found = TypeVar("Found")
Progress = Callable[[int, int], None]


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: arrays may be either, and each kind would be compiled by itself."""
    view = values.view()
    view.flags.writeable = False
    return view


def in_parts(
    run: Callable[[int, int], Found], cuts: NDArray[Any], threads: int | None = None,
    progress: Progress | None = None,
) -> list[Found]:  # fmt: skip
    """What `run` finds from each cut to the next, several at a time, in order."""
    ends, found = np.unique(cuts).tolist(), []
    if len(ends) == 2 and progress is None:
        return [run(*ends)]
    with ThreadPoolExecutor(cores(threads)) as pool:
        for one in pool.map(run, ends[:-1], ends[1:]):
            found.append(one)
            if progress is not None:
                progress(len(found), len(ends) - 1)
    return found


def even_cuts(n: int, parts: int) -> Ints:
    """Cuts of 0..n into parts of the same size."""
    return np.linspace(0, n, parts + 1).astype(np.int64)


def fair_cuts(bounds: Ints, parts: int) -> Ints:
    """Cuts of groups that end where the next begins into parts with about as many members each."""
    cuts = np.searchsorted(bounds, np.linspace(bounds[0], bounds[-1], parts + 1))
    cuts[0], cuts[-1] = 0, bounds.size - 1
    return cuts


def grouped(labels: NDArray[Any], groups: int) -> tuple[Ints, Ints]:
    """Records group by group, and where each of the groups 0..groups - 1 begins."""
    bounds = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(labels, minlength=groups), out=bounds[1:])
    # Numbers of two bytes are sorted by counting them.
    short = labels.astype(np.uint16) if groups <= 1 << 16 else labels
    return np.argsort(short, kind="stable"), bounds


@njit(cache=True, nogil=True)
def _occurrences(items: Items, low: int, high: int, counts: Ints) -> None:
    for e in range(low, high):
        counts[items[e]] += 1


def occurrences(items: Items, d: int, threads: int | None = None) -> Ints:
    """How often each item occurs. (np.bincount would first make eight bytes of each two.)"""
    items = frozen(items)

    def run(low: int, high: int) -> Ints:
        counts = np.zeros(d, dtype=np.int64)
        _occurrences(items, low, high, counts)
        return counts

    found = in_parts(run, even_cuts(items.size, cores(threads)), threads)
    return np.sum([np.zeros(d, dtype=np.int64), *found], axis=0)


@njit(cache=True, nogil=True)
def _weights_of(starts: Ints, items: Items, utilities: Floats) -> Floats:
    n = starts.size - 1
    found = np.empty(n)
    for i in range(n):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += utilities[items[e]]
        found[i] = total
    return found


def weights_of(starts: Ints, items: Items, utilities: Floats) -> Floats:
    """Each record's utility: the sum of those of its items."""
    return _weights_of(frozen(starts), frozen(items), frozen(utilities))


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
        size = 0
        for m in range(bounds[g], bounds[g + 1]):
            e, stop, kept = starts[order[m]], starts[order[m] + 1], 0
            if m == bounds[g]:
                for f in range(e, stop):
                    found[used + f - e] = items[f]
                size = stop - e
                continue
            if size == 0:
                break
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
    return found[:used]


def common_items(
    starts: Ints, items: Items, order: Ints, bounds: Ints, *, threads: int | None = None
) -> tuple[Ints, Items]:
    """The intersection of each group's sets, as compressed rows of the groups.

    Group g holds the records `order[bounds[g]:bounds[g + 1]]`. Groups may overlap.
    """
    groups = bounds.size - 1
    sizes = np.zeros(groups, dtype=np.int64)
    given = frozen(starts), frozen(items), frozen(order), frozen(bounds)

    def run(low: int, high: int) -> Items:
        # Without the room that was not needed.
        return _shared(*given, low, high, sizes).copy()

    parts = min(max(1, groups // 1024), 4 * cores(threads))
    found = in_parts(run, fair_cuts(bounds, parts), threads)
    ends = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends, np.concatenate([items[:0], *found])


def shared_utility(
    starts: Ints, items: Items, utilities: Floats, order: Ints, bounds: Ints
) -> float:
    """The utility that groups publish: what each has in common, as often as it has records."""
    shared = common_items(starts, items, order, bounds)
    return float(weights_of(*shared, utilities) @ np.diff(bounds))


@njit(cache=True, nogil=True)
def _copied(
    starts: Ints, items: Items, rows: Ints, ends: Ints, low: int, high: int, out: Items
) -> None:
    for i in range(low, high):
        shift = starts[rows[i]] - ends[i]
        for e in range(ends[i], ends[i + 1]):
            out[e] = items[e + shift]


def take_rows(starts: Ints, items: Items, rows: Ints) -> tuple[Ints, Items]:
    """Compressed rows of `rows`, in that order; -1 is an empty set."""
    sizes = np.where(rows >= 0, np.diff(starts)[rows], 0) if starts.size > 1 else 0 * rows
    ends = np.zeros(rows.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    out = np.empty(int(ends[-1]), dtype=items.dtype)
    given = frozen(starts), frozen(items), frozen(rows), ends

    def run(low: int, high: int) -> None:
        _copied(*given, low, high, out)

    in_parts(run, even_cuts(rows.size, cores()))
    return ends, out


def distinct_sets(starts: Ints, items: Items) -> tuple[Ints, Ints]:
    """First record of each distinct set, and for every record the number of its set."""
    ends, bytes_of = (starts * items.itemsize).tolist(), items.tobytes()
    seen: dict[bytes, int] = {}
    member = np.array(
        [seen.setdefault(bytes_of[a:b], len(seen)) for a, b in pairwise(ends)], dtype=np.int64
    )
    return np.unique(member, return_index=True)[1], member
