"""Random sets: items drawn one after another by weight, each kept once.

A record that draws a Poisson number of items holds each item independently of the others, with the
chance 1 - exp(-rate), so that rare and frequent items cost the same.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Codes, Floats, Ints
from ..random import GOLDEN, mixed
from .packing import DE_BRUIJN, PLACE
from .rows import Items, Words


def alias_table(weights: Floats) -> tuple[Words, Codes]:
    """Walker's tables (Vose 1991): place i is kept where 32 bits lie below keep[i], else other[i]
    is taken."""
    m = weights.size
    # A running sum, which adds up from the first weight on whatever their number.
    share = (weights * (m / np.cumsum(weights)[-1])).tolist()
    keep = np.full(m, 1 << 32, dtype=np.uint64)
    other = np.arange(m, dtype=np.int32)
    small = [i for i in range(m) if share[i] < 1.0]
    large = [i for i in range(m) if not share[i] < 1.0]
    while small and large:
        i, j = small.pop(), large[-1]
        keep[i], other[i] = int(share[i] * 4294967296.0), j
        share[j] -= 1.0 - share[i]
        if share[j] < 1.0:
            small.append(large.pop())
    return keep, other


@njit(cache=True, nogil=True, inline="always")
def _chosen(bits: np.uint64, begin: int, end: int, keep: Words, other: Codes) -> int:
    """The place begin..end that 64 random bits fall on."""
    low32 = np.uint64(0xFFFFFFFF)
    place = begin + np.int64(((bits >> np.uint64(32)) * np.uint64(end - begin)) >> np.uint64(32))
    if (bits & low32) < keep[place]:
        return int(place)
    return int(begin + other[place])


@njit(cache=True, nogil=True)
def draw_sets(
    seed: int, counts: Ints, tastes: Ints, share: float, at: Ints, members: Items, keep: Words,
    other: Codes, d: int,
) -> tuple[Ints, Items]:  # fmt: skip
    """Compressed rows of counts.size records; record i draws counts[i] times.

    Tables lie end to end: those of table t are at[t]..at[t + 1], and members[place] is the item.
    Table 0 is everybody's; record i has tastes[i] others, picked by the last table, which holds
    their numbers. A draw is from table 0 with the chance `share`, and else from one of the record's
    others.
    """
    n, room, most = counts.size, 0, 1
    for i in range(n):
        room += min(counts[i], d)
        most = max(most, tastes[i])
    items = np.empty(room, dtype=members.dtype)
    starts = np.zeros(n + 1, dtype=np.int64)
    words = np.zeros((d + 63) // 64, dtype=np.uint64)
    mine = np.zeros(most, dtype=np.int64)
    state = np.uint64(seed)
    common = np.uint64(min(share, 1.0) * 4294967295.0)
    one = np.uint64(1)
    at_item = 0
    for i in range(n):
        for draw in range(tastes[i] + counts[i]):
            table = 0
            if draw < tastes[i]:
                table = at.size - 2
            elif tastes[i] > 0:
                state += GOLDEN
                bits = mixed(state)
                if (bits & np.uint64(0xFFFFFFFF)) > common:
                    which = ((bits >> np.uint64(32)) * np.uint64(tastes[i])) >> np.uint64(32)
                    table = mine[np.int64(which)]
            state += GOLDEN
            item = np.int64(members[_chosen(mixed(state), at[table], at[table + 1], keep, other)])
            if draw < tastes[i]:
                mine[draw] = item
            else:
                words[item >> 6] |= one << np.uint64(item & 63)
        for w in range(words.size):
            word = words[w]
            words[w] = 0
            while word != 0:
                lowest = word & (~word + one)
                items[at_item] = 64 * w + PLACE[(lowest * DE_BRUIJN) >> np.uint64(58)]
                at_item += 1
                word ^= lowest
        starts[i + 1] = at_item
    return starts, items[:at_item].copy()
