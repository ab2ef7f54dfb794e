"""What a release on demand asks of sets. Groups of records are rows of bits, one bit a record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Ints
from ..coverage.containment import _ones

Items = NDArray[Any]
Words = NDArray[np.uint64]


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


@njit(cache=True, nogil=True)
def size_within(group: Words, other: Words) -> int:
    """How many records are in both."""
    found = 0
    for w in range(group.size):
        found += _ones(group[w] & other[w])
    return found


@njit(cache=True, nogil=True)
def occurrences(
    starts: Ints, items: Items, place: Ints, kept: int, group: Words, step: int
) -> Ints:
    """How many records of a group have each item that has a place, and in the last entry how many
    were asked: those of every `step`-th word."""
    counts = np.zeros(kept + 1, dtype=np.int64)
    for w in range(0, group.size, step):
        word = group[w]
        while word:
            lowest = word & (~word + np.uint64(1))
            row = 64 * w + _ones(lowest - np.uint64(1))
            word ^= lowest
            counts[kept] += 1
            for e in range(starts[row], starts[row + 1]):
                at = place[items[e]]
                if at >= 0:
                    counts[at] += 1
    return counts
