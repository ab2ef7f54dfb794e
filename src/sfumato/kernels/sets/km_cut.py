"""How far items must be generalized, everywhere alike, until any m that occur together are shared
by k sets (Terrovitis, Mamoulis & Kalnis 2008, the apriori-based search).

Sets hold what stands above their items, so that to generalize is to leave items out: whatever
stands below the cut goes from every set. Combinations of one item come first, then of two, up to m.
Of each that is too rare all ways to raise its items are tried, up to leaving them out altogether,
and the one is taken that loses least utility, of equals the one that raises the last items least.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from .rare_itemsets import inverted, listed_itemsets
from .rows import Items, frozen

MOST = 1 << 16
"""Rare combinations that are looked for at a time."""
Flags = NDArray[np.bool_]


def preorder(parents: Ints) -> tuple[Ints, Ints, Ints]:
    """Items in an order in which all that is below one follows it, and where each one's stretch
    begins and ends."""
    d = parents.size
    children: list[list[int]] = [[] for _ in range(d + 1)]
    for item, up in enumerate(parents.tolist()):
        children[up].append(item)
    order: list[int] = []
    low, size = np.empty(d, dtype=np.int64), np.ones(d, dtype=np.int64)
    waiting = children[-1][::-1]
    while waiting:
        item = waiting.pop()
        low[item] = len(order)
        order.append(item)
        waiting += children[item][::-1]
    for item in reversed(order):
        if parents[item] >= 0:
            size[parents[item]] += size[item]
    return np.array(order, dtype=np.int64), low, low + size


@njit(cache=True, nogil=True)
def _support(
    starts: Ints, items: Items, heads: Ints, records: Ints, wanted: Ints, count: int, k: int
) -> int:
    """How many sets hold all of the wanted items, or k if no fewer do."""
    least = 0
    for a in range(1, count):
        if (
            heads[wanted[a] + 1] - heads[wanted[a]]
            < heads[wanted[least] + 1] - heads[wanted[least]]
        ):
            least = a
    found = 0
    for at in range(heads[wanted[least]], heads[wanted[least] + 1]):
        i, all_held = records[at], True
        for a in range(count):
            low, high = starts[i], starts[i + 1]
            while low < high:
                middle = (low + high) // 2
                if np.int64(items[middle]) < wanted[a]:
                    low = middle + 1
                else:
                    high = middle
            if low == starts[i + 1] or np.int64(items[low]) != wanted[a]:
                all_held = False
                break
        found += all_held
        if found == k:
            break
    return found


@njit(cache=True, nogil=True)
def _mapped(low: Ints, from_: Ints, to: Ints, raised: Ints, count: int, wanted: Ints) -> int:
    """The items that are left of a combination when stretches of the order go, each once."""
    kept = 0
    for a in range(count):
        if raised[a] < 0:
            continue
        stays = True
        for b in range(count):
            if from_[b] <= low[raised[a]] < to[b] or (b < a and raised[b] == raised[a]):
                stays = False
        if stays:
            wanted[kept] = raised[a]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _loss(from_: Ints, to: Ints, count: int, costs: Floats) -> float:
    """The utility that goes with stretches of the order; they are apart or within one another."""
    total = 0.0
    for a in range(count):
        inside = False
        for b in range(count):
            if a != b and from_[b] <= from_[a] and to[a] <= to[b]:
                inside |= to[a] - from_[a] < to[b] - from_[b] or b < a
        if not inside:
            total += costs[from_[a] : to[a]].sum()
    return total


@njit(cache=True, nogil=True)
def _raise(
    starts: Ints, items: Items, heads: Ints, records: Ints, parents: Ints, order: Ints, low: Ints,
    high: Ints, costs: Floats, gone: Flags, rare: Ints, k: int,
) -> None:  # fmt: skip
    """Raise the items of each rare combination that still is one, at least loss."""
    m = rare.shape[1]
    now, raised = np.empty(m, np.int64), np.empty(m, np.int64)
    from_, to = np.empty(m, np.int64), np.empty(m, np.int64)
    best_from, best_to = np.empty(m, np.int64), np.empty(m, np.int64)
    wanted = np.empty(m, np.int64)
    for c in range(rare.shape[0]):
        count = 0
        for a in range(m):
            item = rare[c, a]
            while item >= 0 and gone[item]:
                item = parents[item]
            if item >= 0:
                now[count] = item
                count += 1
        if count == 0:
            continue
        raised[:count] = now[:count]
        from_[:count], to[:count] = 0, 0
        kept = _mapped(low, from_, to, raised, count, wanted)
        if _support(starts, items, heads, records, wanted, kept, k) >= k:
            continue
        least = np.inf
        while True:
            # The next way: like a number of `count` digits, the last one raised first.
            a = count - 1
            while a >= 0:
                if raised[a] >= 0:
                    up = parents[raised[a]]
                    if up >= 0:
                        from_[a], to[a] = low[up] + 1, high[up]
                    else:
                        from_[a], to[a] = low[raised[a]], high[raised[a]]
                    raised[a] = up
                    break
                raised[a] = now[a]
                from_[a], to[a] = 0, 0
                a -= 1
            if a < 0:
                break
            loss = _loss(from_, to, count, costs)
            if loss < least:
                kept = _mapped(low, from_, to, raised, count, wanted)
                if kept == 0 or _support(starts, items, heads, records, wanted, kept, k) >= k:
                    least = loss
                    best_from[:count], best_to[:count] = from_[:count], to[:count]
        for a in range(count):
            for at in range(best_from[a], best_to[a]):
                gone[order[at]] = True
                costs[at] = 0.0


def km_cut(
    starts: Ints,
    items: Items,
    utilities: Floats,
    parents: Ints,
    k: int,
    m: int,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> Flags:
    """bool[d]: the items that are left out of every set, each with all that stands below it.

    `parents[a]` is the item above item a, -1 for none; whoever holds an item holds its parent.

    >>> starts, items = np.array([0, 2, 4]), np.array([0, 2, 1, 2], dtype=np.uint16)
    >>> km_cut(starts, items, np.ones(3), np.array([2, 2, -1]), 2, 2).tolist()
    [True, True, False]
    """
    d = utilities.size
    order, low, high = preorder(parents)
    heads, records, _ = inverted(frozen(starts), frozen(items), d)
    costs = (utilities * np.diff(heads))[order]
    gone = np.zeros(d, dtype=np.bool_)
    row = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    shown_starts, shown = starts, items
    for size in range(1, m + 1):
        while True:
            rare = listed_itemsets(shown_starts, shown, d, k, size, MOST)
            if not len(rare):
                break
            _raise(
                frozen(starts), frozen(items), heads, records, frozen(parents), order, low, high,
                costs, gone, rare, k,
            )  # fmt: skip
            stay = ~gone[items]
            shown = items[stay]
            count = np.bincount(row[stay], minlength=starts.size - 1)
            shown_starts = np.concatenate(([0], np.cumsum(count)))
            tell(size - 1, m)
    return gone
