"""What a release on demand asks of sets. Groups of records are rows of bits, one bit a record."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Ints
from ..coverage.containment import ones
from .rows import Items, Words, take_rows


@njit(cache=True, nogil=True)
def holders(starts: Ints, items: Items, place: Ints, kept: int) -> Words:
    """uint64[kept, words]: the records that have each item that has a place."""
    n = starts.size - 1
    bits = np.zeros((kept, (n + 63) >> 6), dtype=np.uint64)
    for i in range(n):
        bit = np.uint64(1) << np.uint64(i & 63)
        for e in range(starts[i], starts[i + 1]):
            at = place[items[e]]
            if at >= 0:
                bits[at, i >> 6] |= bit
    return bits


def size_within(group: Words, other: Words) -> int:
    """How many records are in both."""
    return int(np.bitwise_count(group & other).sum())


def held(
    starts: Ints, items: Items, place: Ints, kept: int, group: Words, step: int
) -> tuple[Ints, int]:
    """How many records of a group have each item that has a place, and how many were asked: those
    of every `step`-th word."""
    some = np.zeros_like(group)
    some[::step] = group[::step]
    rows = np.flatnonzero(np.unpackbits(some.view(np.uint8), bitorder="little"))
    at = place[take_rows(starts, items, rows)[1]]
    return np.bincount(at[at >= 0], minlength=kept), rows.size


@njit(cache=True, nogil=True)
def admissible_sets(bits: Words, k: int, most: int) -> int:
    """How many sets of the rows of bits, the empty one among them, have k bits in common; -1 where
    they are more than `most`."""
    items, words = bits.shape
    groups = np.empty((items + 1, words), dtype=np.uint64)
    groups[0] = ~np.uint64(0)
    after = np.zeros(items + 1, dtype=np.int64)
    found, depth = 1, 0
    while depth >= 0:
        item = after[depth]
        if item == items:
            depth -= 1
            continue
        after[depth] = item + 1
        size = 0
        for w in range(words):
            word = groups[depth, w] & bits[item, w]
            groups[depth + 1, w] = word
            size += ones(word)
        if size >= k:
            found += 1
            if found > most:
                return -1
            depth += 1
            after[depth] = item + 1
    return found
