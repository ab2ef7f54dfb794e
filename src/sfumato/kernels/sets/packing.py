"""Lists of items to compressed rows: `items[starts[i]:starts[i + 1]]` are those of record i,
sorted, each once.

Items come in blocks of rows with their own numbers, small enough for the type that they are kept
in. When all have come they are renumbered without gaps, and only rows that need it are sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Bools, Ints
from ..threads import cores
from .rows import Items, even_cuts, fair_cuts, frozen, in_parts

Values = NDArray[Any]

DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""Its products with the powers of two differ in their first six bits."""
PLACE = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    PLACE[((int(DE_BRUIJN) << _bit) & (2**64 - 1)) >> 58] = _bit


@njit(cache=True, nogil=True)
def put_values(
    offsets: Ints, missing: Bools, values: Values, low: int, span: int, starts: Ints, row: int,
    items: Items,
) -> int:  # fmt: skip
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
def _mark(items: Items, low: int, high: int, seen: Bools) -> None:
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
    repeats, one = 0, np.uint64(1)
    words = np.zeros((number.size + 63) // 64, dtype=np.uint64)
    for i in range(low, high):
        begin, end = starts[i], starts[i + 1]
        ordered = True
        for e in range(begin, end):
            out[e] = number[items[e]]
            if e > begin and out[e] <= out[e - 1]:
                ordered = False
        sizes[i] = end - begin
        if ordered:
            continue
        kept = begin
        if words.size <= 2 * (end - begin):  # mark the items among all, and read them in order
            for e in range(begin, end):
                item = np.int64(out[e])
                words[item >> 6] |= one << np.uint64(item & 63)
            for w in range(words.size):
                word = words[w]
                words[w] = 0
                while word != 0:
                    lowest = word & (~word + one)
                    out[kept] = 64 * w + PLACE[(lowest * DE_BRUIJN) >> np.uint64(58)]
                    kept += 1
                    word ^= lowest
        else:  # Shell's sort, which is insertion for short rows
            gap = 1
            while 27 * gap < end - begin:
                gap = 3 * gap + 1
            while gap > 0:
                for e in range(begin + gap, end):
                    own, at = out[e], e
                    while at >= begin + gap and out[at - gap] > own:
                        out[at] = out[at - gap]
                        at -= gap
                    out[at] = own
                gap //= 3
            for e in range(begin, end):
                if e == begin or out[e] != out[kept - 1]:
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


def _cuts(starts: Ints) -> Ints:
    """Bounds of blocks of rows with about as many items each, a few for each core."""
    return fair_cuts(starts, min(max(1, (starts.size - 1) // 1024), 4 * cores()))


def marked(starts: Ints, items: Items, span: int) -> Bools:
    """Which of the numbers 0..span - 1 occur."""
    items = frozen(items)

    def run(low: int, high: int) -> Bools:
        seen = np.zeros(span, dtype=np.bool_)
        _mark(items, low, high, seen)
        return seen

    # A table for each core would not fit where there are very many numbers.
    cuts = np.linspace(starts[0], starts[-1], (cores() if span <= 1 << 24 else 1) + 1)
    tables = in_parts(run, cuts.astype(np.int64))
    return np.logical_or.reduce([np.zeros(span, dtype=np.bool_), *tables], axis=0)


def ascending(starts: Ints, items: Items) -> bool:
    """Whether every row is sorted and holds no item twice."""
    starts, items = frozen(starts), frozen(items)
    return all(in_parts(lambda low, high: _ascending(starts, items, low, high), _cuts(starts)))


def tidied(starts: Ints, items: Items, number: Ints, out: Items) -> tuple[Ints, Items, int]:
    """The rows with `number[item]` for each item, sorted, each once; and how many were repeats.

    `out` may be `items` itself.
    """
    sizes = np.empty(starts.size - 1, dtype=np.int64)
    given = frozen(starts), frozen(items), frozen(number)

    def run(low: int, high: int) -> int:
        return int(_tidy(*given, low, high, sizes, out))

    repeats = sum(in_parts(run, _cuts(starts)))
    if repeats:
        starts = starts.copy()
        _close_gaps(starts, sizes, out)
    return starts, out[: int(starts[-1])], repeats


def gathered(names: Values, items: Items) -> Values:
    """`names[item]` for each item; NumPy would first make eight bytes of each number."""
    out = np.empty(items.size, dtype=names.dtype)
    given = frozen(names), frozen(items)

    def run(low: int, high: int) -> None:
        _gather(*given, low, high, out)

    in_parts(run, even_cuts(items.size, cores()))
    return out
