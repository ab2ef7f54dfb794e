"""Random sets: items drawn one after another by weight, each kept once.

A record that draws a Poisson number of items holds each item independently of the others, with the
chance 1 - exp(-rate), so that rare and frequent items cost the same.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from .packing import _DE_BRUIJN, _PLACE
from .rows import Items, Words

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

Small = NDArray[np.int32]


@njit(cache=True, nogil=True)
def alias_table(weights: Floats) -> tuple[Words, Small]:
    """Walker's tables (Vose 1991): place i is kept where 32 bits lie below keep[i], else other[i]
    is taken."""
    m = weights.size
    total = weights.sum()
    share = weights * (m / total)
    keep = np.full(m, np.uint64(1) << np.uint64(32), dtype=np.uint64)
    other = np.arange(m).astype(np.int32)
    small, large = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    few, many = 0, 0
    for i in range(m):
        if share[i] < 1.0:
            small[few] = i
            few += 1
        else:
            large[many] = i
            many += 1
    while few > 0 and many > 0:
        few -= 1
        i, j = small[few], large[many - 1]
        keep[i] = np.uint64(share[i] * 4294967296.0)
        other[i] = j
        share[j] -= 1.0 - share[i]
        if share[j] < 1.0:
            many -= 1
            small[few] = j
            few += 1
    return keep, other


@njit(cache=True, nogil=True, inline="always")
def _mixed(state: np.uint64) -> np.uint64:
    """The number that belongs to a state (SplitMix64; Steele, Lea & Flood 2014)."""
    z = (state ^ (state >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _chosen(bits: np.uint64, begin: int, end: int, keep: Words, other: Small) -> int:
    """The place begin..end that 64 random bits fall on."""
    low32 = np.uint64(0xFFFFFFFF)
    place = begin + np.int64(((bits >> np.uint64(32)) * np.uint64(end - begin)) >> np.uint64(32))
    if (bits & low32) < keep[place]:
        return int(place)
    return int(begin + other[place])


@njit(cache=True, nogil=True)
def draw_sets(
    seed: int,
    counts: Ints,
    tastes: Ints,
    share: float,
    at: Ints,
    members: Items,
    keep: Words,
    other: Small,
    topic_keep: Words,
    topic_other: Small,
    d: int,
) -> tuple[Ints, Items]:
    """Compressed rows of counts.size records; record i draws counts[i] times.

    Tables lie end to end: those of table t are at[t]..at[t + 1], and members[place] is the item.
    Table 0 is everybody's; record i has tastes[i] others, picked by the topics' own table. A draw
    is from table 0 with the chance `share`, and else from one of the record's others.
    """
    n = counts.size
    room = 0
    for i in range(n):
        room += min(counts[i], d)
    items = np.empty(room, dtype=members.dtype)
    starts = np.zeros(n + 1, dtype=np.int64)
    words = np.zeros((d + 63) // 64, dtype=np.uint64)
    most = 1
    for i in range(n):
        most = max(most, tastes[i])
    mine = np.zeros(most, dtype=np.int64)
    state = np.uint64(seed)
    common = np.uint64(min(share, 1.0) * 4294967295.0)
    one = np.uint64(1)
    at_item = 0
    for i in range(n):
        for t in range(tastes[i]):
            state += _GOLDEN
            mine[t] = 1 + _chosen(_mixed(state), 0, topic_keep.size, topic_keep, topic_other)
        for _ in range(counts[i]):
            table = 0
            if tastes[i] > 0:
                state += _GOLDEN
                bits = _mixed(state)
                if (bits & np.uint64(0xFFFFFFFF)) > common:
                    which = ((bits >> np.uint64(32)) * np.uint64(tastes[i])) >> np.uint64(32)
                    table = mine[np.int64(which)]
            state += _GOLDEN
            place = _chosen(_mixed(state), at[table], at[table + 1], keep, other)
            item = np.int64(members[place])
            words[item >> 6] |= one << np.uint64(item & 63)
        for w in range(words.size):
            word = words[w]
            words[w] = 0
            while word != 0:
                lowest = word & (~word + one)
                items[at_item] = 64 * w + _PLACE[(lowest * _DE_BRUIJN) >> np.uint64(58)]
                at_item += 1
                word ^= lowest
        starts[i + 1] = at_item
    return starts, items[:at_item].copy()
