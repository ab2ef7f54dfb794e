"""Which group of sets another one fits best: joined, they keep most of what both publish."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from .rare_itemsets import inverted
from .rows import Items, weights_of

_LOOK = 256
"""Groups looked at for each item; a common item's list is sampled evenly."""


@njit(cache=True, nogil=True)
def _kept(starts: Ints, items: Items, utilities: Floats, a: int, b: int) -> float:
    """The utility of what two groups have in common."""
    i, j, total = starts[a], starts[b], 0.0
    while i < starts[a + 1] and j < starts[b + 1]:
        if items[i] == items[j]:
            total += utilities[items[i]]
            i += 1
            j += 1
        elif items[i] < items[j]:
            i += 1
        else:
            j += 1
    return total


@njit(cache=True, nogil=True)
def _search(
    starts: Ints, items: Items, utilities: Floats, sizes: Ints, owned: Floats, chosen: Ints,
    heads: Ints, holders: Ints, small: Ints,
) -> Ints:  # fmt: skip
    found = np.empty(chosen.size, dtype=np.int64)
    for c in range(chosen.size):
        g = chosen[c]
        mine = owned[g]
        # With nothing in common, the group with least to lose.
        best = small[0] if small[0] != g else small[1]
        gain = -mine - owned[best]
        for e in range(starts[g], starts[g + 1]):
            low, high = heads[items[e]], heads[np.int64(items[e]) + 1]
            step = max(1, (high - low) // _LOOK)
            for at in range(low, high, step):
                h = holders[at]
                if h == g:
                    continue
                both = _kept(starts, items, utilities, g, h) * (sizes[g] + sizes[h])
                change = both - mine - owned[h]
                if change > gain or (change == gain and h < best):
                    best, gain = h, change
        found[c] = best
    return found


def best_partners(starts: Ints, items: Items, utilities: Floats, sizes: Ints, chosen: Ints) -> Ints:
    """For each chosen group the other one that loses least utility by joining it.

    `items[starts[g]:starts[g + 1]]` is what group g has in common. Groups that share an item are
    compared, of common items a part; there are at least two groups.
    """
    heads, holders, _ = inverted(starts, items, utilities.size)
    owned = weights_of(starts, items, utilities) * sizes
    small = np.argsort(owned, kind="stable")[:2]
    return _search(starts, items, utilities, sizes, owned, chosen, heads, holders, small)
