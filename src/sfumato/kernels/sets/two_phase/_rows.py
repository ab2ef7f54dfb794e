"""Sets as rows from the weightiest item down, in lexicographic order: what two-phase works on.

An item's weight is its utility times the number of records that hold it. Items are numbered anew by
falling weight, so that "drop the least item" takes away the end of a row, whatever the set. All
sets that can come about by such drops are then beginnings of rows (nodes of a prefix tree), and
rows that begin alike lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...micro.mdav import lowest_lane
from ...threads import cores
from ..rows import Items, Words, take_rows

Short = NDArray[np.int32]
_PARTS = 256
"""Runs into which rows are dealt before each is sorted by itself."""
_FEW = 24


class Rows(NamedTuple):
    """Rows in order: `ranks[starts[p]:starts[p + 1]]` is the row at place p, weightiest first."""

    starts: Ints
    ranks: Items
    record: Ints  # the record of each place
    worth: Floats  # the utility of each rank
    head: Ints  # the place of the first of each distinct row, and n at the end
    shared: Short  # items that each distinct row shares with the one before; 0 at both ends


def sliced(work: Callable[[int, int], object], n: int, threads: int, parts: int = 0) -> None:
    """Do `work(low, high)` for slices of range(n), in threads."""
    cuts = np.linspace(0, n, min(max(n, 1), parts or 4 * threads) + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, low, high) for low, high in pairwise(cuts)]:
            done.result()


@njit(cache=True, nogil=True)
def _count(items: Items, low: int, high: int, found: Ints) -> None:
    for e in range(low, high):
        found[items[e]] += 1


def support(items: Items, d: int, threads: int) -> Ints:
    """The records that hold each item."""
    cuts = np.linspace(0, items.size, threads + 1).astype(np.int64)
    found = np.zeros((threads, d), dtype=np.int64)
    with ThreadPoolExecutor(threads) as pool:
        for done in [
            pool.submit(_count, items, cuts[t], cuts[t + 1], found[t]) for t in range(threads)
        ]:
            done.result()
    total: Ints = found.sum(axis=0)
    return total


@njit(cache=True, nogil=True)
def _number_anew(starts: Ints, items: Items, rank: Ints, low: int, high: int, out: Items) -> None:
    """The rows low..high in ranks, sorted: bits are set, and read in their order."""
    words = np.zeros(rank.size // 64 + 1, dtype=np.uint64)
    upper = np.zeros(words.size // 64 + 1, dtype=np.uint64)  # which words hold bits
    one = np.uint64(1)
    for i in range(low, high):
        for e in range(starts[i], starts[i + 1]):
            r = rank[items[e]]
            words[r >> 6] |= one << np.uint64(r & 63)
            upper[r >> 12] |= one << np.uint64((r >> 6) & 63)
        at = starts[i]
        for v in range(upper.size):
            full = upper[v]
            upper[v] = 0
            while full != 0:
                w = v * 64 + np.int64(lowest_lane(full))
                full &= full - one
                bits = words[w]
                words[w] = 0
                while bits != 0:
                    out[at] = w * 64 + np.int64(lowest_lane(bits))
                    at += 1
                    bits &= bits - one


@njit(cache=True, nogil=True)
def _key(starts: Ints, ranks: Items, i: int, depth: int, bits: int) -> Any:
    """As many ranks from `depth` on as one word holds; what is not there comes first."""
    key, at, stop = np.uint64(0), starts[i] + depth, starts[i + 1]
    for _ in range(64 // bits):
        key <<= np.uint64(bits)
        if at < stop:
            key |= np.uint64(ranks[at]) + np.uint64(1)
        at += 1
    return key


@njit(cache=True, nogil=True)
def _first_keys(starts: Ints, ranks: Items, bits: int, low: int, high: int, key: Words) -> None:
    for i in range(low, high):
        key[i] = _key(starts, ranks, i, 0, bits)


@njit(cache=True, nogil=True)
def _deal(key: Words, cuts: Words) -> tuple[Ints, Ints]:
    """Rows by the run that their key falls into, and where each run begins."""
    runs = cuts.size + 1
    begin = np.zeros(runs + 1, dtype=np.int64)
    of = np.empty(key.size, dtype=np.uint16)
    for i in range(key.size):
        run = np.searchsorted(cuts, key[i], side="right")
        of[i] = run
        begin[run + 1] += 1
    begin = np.cumsum(begin)
    free = begin[:-1].copy()
    order = np.empty(key.size, dtype=np.int64)
    for i in range(key.size):
        order[free[of[i]]] = i
        free[of[i]] += 1
    return order, begin


@njit(cache=True, nogil=True)
def _sort_pairs(key: Words, order: Ints, low: int, high: int) -> None:
    """Quicksort of key[low:high] with what belongs to each; equal keys by `order`."""
    todo = [(low, high)]
    while len(todo) > 0:
        a, b = todo.pop()
        while b - a > _FEW:
            # The median of three, compared as pairs: no two are alike.
            x, y, z = a, (a + b) // 2, b - 1
            if (key[y], order[y]) < (key[x], order[x]):
                x, y = y, x
            if (key[z], order[z]) < (key[y], order[y]):
                y = x if (key[z], order[z]) < (key[x], order[x]) else z
            pivot, own = key[y], order[y]
            i, j = a, b - 1
            while i <= j:
                while key[i] < pivot or (key[i] == pivot and order[i] < own):
                    i += 1
                while key[j] > pivot or (key[j] == pivot and order[j] > own):
                    j -= 1
                if i <= j:
                    key[i], key[j] = key[j], key[i]
                    order[i], order[j] = order[j], order[i]
                    i += 1
                    j -= 1
            if j + 1 - a < b - i:  # the larger part waits: the list stays short
                todo.append((i, b))
                b = j + 1
            else:
                todo.append((a, j + 1))
                a = i
        for i in range(a + 1, b):
            k, o, j = key[i], order[i], i
            while j > a and (key[j - 1] > k or (key[j - 1] == k and order[j - 1] > o)):
                key[j], order[j] = key[j - 1], order[j - 1]
                j -= 1
            key[j], order[j] = k, o


@njit(cache=True, nogil=True)
def _sort_run(starts: Ints, ranks: Items, bits: int, order: Ints, low: int, high: int) -> None:
    """Sort order[low:high] by row, equal rows by number: one word of ranks after another."""
    key = np.empty(high - low, dtype=np.uint64)
    rows = order[low:high]
    last, per = (np.uint64(1) << np.uint64(bits)) - np.uint64(1), 64 // bits
    todo = [(0, high - low, 0)]
    while len(todo) > 0:
        a, b, depth = todo.pop()
        for i in range(a, b):
            key[i] = _key(starts, ranks, rows[i], depth, bits)
        _sort_pairs(key, rows, a, b)
        i = a
        while i < b:
            j = i + 1
            while j < b and key[j] == key[i]:
                j += 1
            if j - i > 1 and key[i] & last != 0:  # they go on
                todo.append((i, j, depth + per))
            i = j


@njit(cache=True, nogil=True)
def _common(starts: Ints, ranks: Items, order: Ints, low: int, high: int, out: Short) -> None:
    """How many first items the rows at each place and before it share; -1 where they are equal."""
    for p in range(max(low, 1), high):
        a, b = starts[order[p - 1]], starts[order[p]]
        size, other = starts[order[p] + 1] - b, starts[order[p - 1] + 1] - a
        most, t = min(size, other), 0
        while t < most and ranks[a + t] == ranks[b + t]:
            t += 1
        out[p] = -1 if t == size and t == other else t


def _dealt(starts: Ints, ranks: Items, bits: int, threads: int) -> tuple[Ints, Ints]:
    """Rows in runs that are in order among each other, and where each run begins."""
    n = starts.size - 1
    key = np.empty(n, dtype=np.uint64)
    sliced(lambda low, high: _first_keys(starts, ranks, bits, low, high, key), n, threads)
    sample = np.sort(key[:: max(1, n // (64 * _PARTS))])
    return _deal(key, np.unique(sample[::64]))


def by_weight(
    starts: Ints,
    items: Items,
    utilities: Floats,
    *,
    threads: int | None = None,
    tell: Callable[[float], None] = lambda share: None,
) -> Rows:
    """The records as rows from the weightiest item down, in order. `threads` alters nothing."""
    n, d, workers = starts.size - 1, utilities.size, max(1, threads or cores())
    weight = utilities * support(items, d, workers)
    by_rank = np.lexsort((np.arange(d), -weight))
    rank = np.empty(d, dtype=np.int64)
    rank[by_rank] = np.arange(d)
    ranks = np.empty_like(items)
    sliced(lambda low, high: _number_anew(starts, items, rank, low, high, ranks), n, workers)
    tell(0.3)
    bits = max(1, int(d).bit_length())
    order, begin = _dealt(starts, ranks, bits, workers)
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(_sort_run, starts, ranks, bits, order, low, high)
            for low, high in pairwise(begin.tolist())
            if high - low > 1
        ]
        for done, task in enumerate(tasks):
            task.result()
            tell(0.4 + 0.4 * (done + 1) / len(tasks))
    common = np.zeros(n, dtype=np.int32)
    sliced(lambda low, high: _common(starts, ranks, order, low, high, common), n, workers)
    first = np.flatnonzero(common >= 0)
    tell(0.9)
    return Rows(
        *take_rows(starts, ranks, order),
        order,
        utilities[by_rank],
        np.append(first, n),
        np.append(common[first], common.dtype.type(0)),
    )
