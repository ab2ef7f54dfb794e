"""Sets of columns to suppress, from the cheapest to the dearest.

A set is a mask: bit j stands for column j. With d columns there are 2**d of them. Where trying all
is too much work, the search is narrowed to the cheapest ones (which serve most records) and to a
greedy descent that adds one column after another; `subsets_are_complete` tells whether it is.
"""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.suppression.matches import Ints, Packed, Words, label

Floats = NDArray[np.float64]

WORK = 300_000_000
"""sets of columns times records in need, beyond which the search is narrowed"""
OVERHEAD = 20_000
"""what it takes to try a set at all, in records"""


def cheapest_subsets(costs: Floats, most: int) -> list[int]:
    """The `most` cheapest sets of columns, as masks, in order of cost.

    >>> cheapest_subsets(np.array([1.0, 5.0, 2.0]), 5)
    [0, 1, 4, 5, 2]
    """
    ranked = np.argsort(costs, kind="stable")
    found = [0]
    # Each set has one parent: drop its dearest column, or exchange it for the next cheaper one.
    waiting: list[tuple[float, int, int]] = [(float(costs[ranked[0]]), 1 << int(ranked[0]), 0)]
    while waiting and len(found) < most:
        cost, mask, last = heapq.heappop(waiting)
        found.append(mask)
        if last + 1 < costs.size:
            here, there = int(ranked[last]), int(ranked[last + 1])
            grown = mask | (1 << there)
            heapq.heappush(waiting, (cost + float(costs[there]), grown, last + 1))
            swapped = cost - float(costs[here]) + float(costs[there])
            heapq.heappush(waiting, (swapped, grown & ~(1 << here), last + 1))
    return found


def subsets_are_complete(records: int, columns: int) -> bool:
    """Whether local suppression tries every set of columns for so many records in need."""
    return (records + OVERHEAD) << columns <= WORK


def subsets_to_try(packed: Packed, must: Ints, needy: Ints, k: int, costs: Floats) -> list[int]:
    """The sets of columns to try, the empty and the full one among them, in order of cost."""
    d = costs.size
    if subsets_are_complete(needy.size, d):
        return cheapest_subsets(costs, 1 << d)
    budget = max(WORK // (needy.size + OVERHEAD), d * d)
    patterns, counts = np.unique(must[needy], return_counts=True)
    cheap = cheapest_subsets(costs, budget)
    tried = {0, (1 << d) - 1}
    for pattern, count in zip(patterns.tolist(), counts.tolist(), strict=True):
        # A record with missing cells needs sets that contain them.
        share = max(budget * count // needy.size, d + 1)
        tried.update(mask | pattern for mask in cheap[:share])
    mask = 0
    while mask != (1 << d) - 1:
        steps = [mask | (1 << j) for j in range(d) if not (mask >> j) & 1]
        tried.update(steps)
        helped = [covered(packed.words, must, needy, m, keep_of(packed, m), k) for m in steps]
        mask = steps[
            int(np.argmax([h / cost_of(costs, m) for h, m in zip(helped, steps, strict=True)]))
        ]
    return sorted(tried, key=lambda mask: (cost_of(costs, mask), mask))


def keep_of(packed: Packed, mask: int) -> Words:
    """The bits that are left when the columns of the mask are suppressed."""
    return packed.keep((mask >> np.arange(len(packed.fields))) & 1 == 1)


def cost_of(costs: Floats, mask: int) -> float:
    """Cost of one record's cells in the columns of the mask."""
    return float(sum(cost for j, cost in enumerate(costs.tolist()) if (mask >> j) & 1))


def bands(masks: list[int], costs: Floats) -> list[list[int]]:
    """The sets in runs of about the same cost: in a run it rises by less than any one column."""
    found: list[list[int]] = []
    width, limit = float(costs.min()) * (1 - 1e-9), -1.0
    for mask in masks:
        cost = cost_of(costs, mask)
        if cost > limit:
            found.append([])
            limit = cost + width
        found[-1].append(mask)
    return found


@njit(cache=True, nogil=True)
def mask_costs(costs: Floats, masks: Ints) -> Floats:
    """Cost of one record's cells in the columns of each mask, added up from the first column on."""
    total = np.zeros(masks.size, np.float64)
    for i in range(masks.size):
        for j in range(costs.size):
            if (masks[i] >> j) & 1:
                total[i] += costs[j]
    return total


def covered(words: Words, must: Ints, rows: Ints, mask: int, keep: Words, k: int) -> int:
    """How many of these records would find k - 1 others of them under this mask."""
    sizes = np.bincount(label(words, rows[must[rows] & ~mask == 0], keep)[0])
    return int(sizes[sizes >= k].sum())
