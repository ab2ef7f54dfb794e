"""Lists of items to compressed rows: `items[starts[i]:starts[i + 1]]` are those of record i,
sorted, each once.

Items come in blocks of rows with their own numbers, small enough for the type that they are kept
in. When all have come they are renumbered without gaps, and only rows that need it are sorted.
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
from .rows import Items, Words

Flags = NDArray[np.bool_]
Values = NDArray[Any]

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""Its products with the powers of two differ in their first six bits."""
_PLACE = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _PLACE[((int(_DE_BRUIJN) << _bit) & (2**64 - 1)) >> 58] = _bit

_SHORT = 48
"""Rows up to this long are sorted by insertion."""


@njit(cache=True, nogil=True)
def put_values(
    offsets: Ints,
    missing: Flags,
    values: Values,
    low: int,
    span: int,
    starts: Ints,
    row: int,
    items: Items,
) -> int:
    """Rows `row` and on from a block of lists: each value less `low`.

    Gives back -1, or the row of the block that holds a value beyond low..low + span - 1.
    """
    at = starts[row]
    for i in range(offsets.size - 1):
        if not missing[i]:
            for e in range(offsets[i], offsets[i + 1]):
                value = np.int64(values[e]) - low
                if value < 0 or value >= span:
                    return i
                items[at] = value
                at += 1
        starts[row + i + 1] = at
    return -1


@njit(cache=True, nogil=True)
def put_codes(
    offsets: Ints,
    missing: Flags,
    codes: Values,
    number: Ints,
    starts: Ints,
    row: int,
    items: Items,
) -> None:
    """Rows `row` and on from a block of lists: `number[code]` for each code."""
    at = starts[row]
    for i in range(offsets.size - 1):
        if not missing[i]:
            for e in range(offsets[i], offsets[i + 1]):
                items[at] = number[codes[e]]
                at += 1
        starts[row + i + 1] = at


@njit(cache=True, nogil=True)
def used_codes(offsets: Ints, missing: Flags, codes: Values, seen: Flags) -> None:
    """Mark the codes that lists hold which are not missing."""
    for i in range(offsets.size - 1):
        if not missing[i]:
            for e in range(offsets[i], offsets[i + 1]):
                seen[codes[e]] = True


@njit(cache=True, nogil=True)
def _mark(items: Items, low: int, high: int, seen: Flags) -> None:
    for e in range(low, high):
        seen[items[e]] = True


@njit(cache=True, nogil=True)
def _ascending(starts: Ints, items: Items, low: int, high: int) -> bool:
    for i in range(low, high):
        for e in range(starts[i] + 1, starts[i + 1]):
            if items[e] <= items[e - 1]:
                return False
    return True


@njit(cache=True, nogil=True)
def _by_bits(out: Items, begin: int, end: int, words: Words) -> int:
    """Sort a row by marking its items among all; gives back how many there are."""
    one = np.uint64(1)
    for e in range(begin, end):
        item = np.int64(out[e])
        words[item >> 6] |= one << np.uint64(item & 63)
    at = begin
    for w in range(words.size):
        word = words[w]
        words[w] = 0
        while word != 0:
            lowest = word & (~word + one)
            out[at] = 64 * w + _PLACE[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            at += 1
            word ^= lowest
    return at - begin


@njit(cache=True, nogil=True)
def _gather(names: Values, items: Items, low: int, high: int, out: Values) -> None:
    for e in range(low, high):
        out[e] = names[items[e]]


@njit(cache=True, nogil=True)
def _tidy(
    starts: Ints, items: Items, number: Ints, low: int, high: int, sizes: Ints, out: Items
) -> int:
    """Renumber rows low..high into `out`, sort those that need it, and drop repeats.

    Gives back how many items were repeats; row i keeps sizes[i] items at its old place.
    """
    repeats = 0
    words = np.zeros((number.size + 63) // 64, dtype=np.uint64)
    for i in range(low, high):
        begin, end = starts[i], starts[i + 1]
        ordered = True
        for e in range(begin, end):
            out[e] = number[items[e]]
            if e > begin and out[e] <= out[e - 1]:
                ordered = False
        if ordered:
            sizes[i] = end - begin
            continue
        if words.size <= 2 * (end - begin):
            sizes[i] = _by_bits(out, begin, end, words)
            repeats += end - begin - sizes[i]
            continue
        if end - begin <= _SHORT:
            for e in range(begin + 1, end):
                item, at = out[e], e
                while at > begin and out[at - 1] > item:
                    out[at] = out[at - 1]
                    at -= 1
                out[at] = item
        else:
            out[begin:end].sort()
        kept = begin + 1
        for e in range(begin + 1, end):
            if out[e] != out[kept - 1]:
                out[kept] = out[e]
                kept += 1
        sizes[i] = kept - begin
        repeats += end - kept
    return repeats


@njit(cache=True, nogil=True)
def _close_gaps(starts: Ints, sizes: Ints, items: Items) -> None:
    """Move rows together, each of which keeps the first sizes[i] of its items."""
    at = starts[0]
    for i in range(sizes.size):
        begin = starts[i]
        starts[i] = at
        for e in range(begin, begin + sizes[i]):
            items[at] = items[e]
            at += 1
    starts[sizes.size] = at


def _cuts(starts: Ints) -> list[int]:
    """Bounds of blocks of rows with about as many items each, a few for each core."""
    n = starts.size - 1
    parts = min(max(1, n // 1024), 4 * cores())
    cuts = np.searchsorted(starts, np.linspace(starts[0], starts[-1], parts + 1))
    cuts[0], cuts[-1] = 0, n
    return np.maximum.accumulate(np.minimum(cuts, n)).tolist()


def marked(starts: Ints, items: Items, span: int) -> Flags:
    """Which of the numbers 0..span - 1 occur."""
    parts = list(pairwise(_cuts(starts)))
    # A table for each core would not fit where there are very many numbers.
    workers = cores() if span <= 1 << 24 else 1
    tables = np.zeros((workers, span), dtype=np.bool_)

    def run(worker: int) -> None:
        for low, high in parts[worker::workers]:
            _mark(items, int(starts[low]), int(starts[high]), tables[worker])

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, range(workers)))
    found: Flags = np.logical_or.reduce(tables, axis=0)
    return found


def ascending(starts: Ints, items: Items) -> bool:
    """Whether every row is sorted and holds no item twice."""
    with ThreadPoolExecutor(cores()) as pool:
        return all(pool.map(lambda part: _ascending(starts, items, *part), pairwise(_cuts(starts))))


def tidied(starts: Ints, items: Items, number: Ints, out: Items) -> tuple[Ints, Items, int]:
    """The rows with `number[item]` for each item, sorted, each once; and how many were repeats.

    `out` may be `items` itself.
    """
    sizes = np.empty(starts.size - 1, dtype=np.int64)

    def run(part: tuple[int, int]) -> int:
        return int(_tidy(starts, items, number, *part, sizes, out))

    with ThreadPoolExecutor(cores()) as pool:
        repeats = sum(pool.map(run, pairwise(_cuts(starts))))
    if repeats:
        starts = starts.copy()
        _close_gaps(starts, sizes, out)
    return starts, out[: int(starts[-1])], repeats


def gathered(names: Values, items: Items) -> Values:
    """`names[item]` for each item; NumPy would first make eight bytes of each number."""
    out = np.empty(items.size, dtype=names.dtype)
    cuts = np.linspace(0, items.size, cores() + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(lambda part: _gather(names, items, part[0], part[1], out), pairwise(cuts)))
    return out
