"""How far down each row can meet another set when items are dropped from it.

Below that no set that differs from a beginning of the row by one item begins any other row, so the
row loses its last items without looking around: of a thousand lookups per record all but a few
dozen are spared. A set's key is the sum of random words of its items, so that dropping one is a
subtraction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ...arrays import Codes, Ints
from ..rows import Items, Words, even_cuts, in_parts
from ._rows import Rows

_MOST_WORKERS = 8
ID = np.uint64(0xFFFFFFFF)
MARK = np.uint64(0xFFFFFFFF00000000)


def item_words(d: int) -> Words:
    """A fixed random word for each item (splitmix64; Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        word = np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def put(table: Words, mask: Any, word: Any, number: int) -> None:
    """Enter a number under a set's key: its upper half is a mark, its lower half the slot."""
    slot = np.int64(word & mask)
    while table[slot] != 0:
        slot = (slot + 1) & np.int64(mask)
    table[slot] = (word & MARK) | np.uint64(number + 1)


@njit(cache=True, nogil=True)
def _enter_nodes(
    starts: Ints, ranks: Items, head: Ints, shared: Codes, longest: Codes, words: Words,
    table: Words,
) -> None:  # fmt: skip
    mask, rows = np.uint64(table.size - 1), head.size - 1
    for c in range(rows):
        at = starts[head[c]]
        deepest = min(starts[head[c] + 1] - at, longest[c] + 1)
        word = np.uint64(0)
        for s in range(deepest):
            word += words[ranks[at + s]]
            if s >= shared[c]:  # those above are entered already
                put(table, mask, word, c if s == longest[c] else rows)


@njit(cache=True, nogil=True)
def _reach(
    starts: Ints, ranks: Items, head: Ints, longest: Codes, words: Words, table: Words, room: int,
    low: int, high: int, reach: Codes, met: Codes,
) -> None:  # fmt: skip
    """`reach[c]`: the longest beginning of row c that lacks one item to begin another row, at
    least; `met[q]`: the longest one of row q that another comes to. No row has more than `room`."""
    mask, wrap, rows = np.uint64(table.size - 1), np.int64(table.size - 1), head.size - 1
    alive = np.empty(room, dtype=np.int64)
    seen = np.empty(room, dtype=np.uint64)
    for c in range(low, high):
        at = starts[head[c]]
        size = starts[head[c] + 1] - at
        best, count, word = min(size, longest[c] + 1), 0, np.uint64(0)
        for s in range(size):
            if count == 0 and s > longest[c]:
                break
            # The beginning of s + 1 items; `alive` are those of which all others begin some row.
            word += words[ranks[at + s]]
            for a in range(count):
                seen[a] = table[np.int64((word - words[ranks[at + alive[a]]]) & mask)]
            kept = 0
            for a in range(count):
                entry = seen[a]
                if entry == 0:
                    continue
                target = word - words[ranks[at + alive[a]]]
                slot, inner = np.int64(target & mask), False
                # To the end of the run: marks may be equal by chance, and none may be missed.
                while entry != 0:
                    if (entry ^ target) & MARK == 0:
                        q = np.int64(entry & ID) - 1
                        if q == rows:
                            inner = True
                        else:
                            # From here on only row q could be met: compare it to its end.
                            t, other = s + 1, starts[head[q]] - 1
                            stop = min(size, starts[head[q] + 1] - other)
                            while t < stop and ranks[at + t] == ranks[other + t]:
                                t += 1
                            best = max(best, t)
                            met[q] = max(met[q], t - 1)
                    slot = (slot + 1) & wrap
                    entry = table[slot]
                if inner:
                    best = max(best, s + 1)
                    alive[kept] = alive[a]
                    kept += 1
            count = kept
            if s <= longest[c]:
                alive[count] = s
                count += 1
        reach[c] = best


def reach_of(rows: Rows, words: Words, threads: int) -> Codes:
    """The longest beginning of each distinct row that another set can meet, at least."""
    starts, ranks, head, shared = rows.starts, rows.ranks, rows.head, rows.shared
    sizes = np.diff(starts)[head[:-1]]
    # Items at its beginning that a distinct row shares with any other.
    longest = np.maximum(shared[:-1], shared[1:])
    # The beginnings that two rows share, and the first that only one has.
    nodes = int(np.maximum(np.minimum(sizes, longest + 1) - shared[:-1], 0).sum())
    table = np.zeros(max(2, 1 << int(np.ceil(np.log2(1.4 * nodes + 2)))), dtype=np.uint64)
    _enter_nodes(starts, ranks, head, shared, longest, words, table)
    reach, room = np.zeros(sizes.size, dtype=np.int32), int(sizes.max(initial=0))
    workers = min(threads, _MOST_WORKERS)

    def run(low: int, high: int) -> Codes:
        met = np.zeros(sizes.size, dtype=np.int32)
        _reach(starts, ranks, head, longest, words, table, room, low, high, reach, met)
        return met

    found = in_parts(run, even_cuts(sizes.size, workers), workers)
    return np.maximum.reduce([reach, *found])
