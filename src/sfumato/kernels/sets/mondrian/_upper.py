"""The first splits of sets that are somewhere else, from counts of their items alone.

A class of more than 16k records is split by how many of its records have each item, nothing else
(``_choice``). So counts decide, by the same compiled code; one scan of the records counts for all
classes of a level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ..rows import Items, frozen
from ._choice import EVEN, HORIZON, UTILITY, by_count, by_utility, logarithms

MOST_COUNTS = 1 << 22
"""Counts of one scan: classes times items."""


class ItemCuts(NamedTuple):
    """A tree of splits; class 0 are all records."""

    item: Ints
    """The item that splits a class; -1 where none does."""
    child: Ints
    """The class of those who have it; the next one is that of the others."""


Counting = Callable[[ItemCuts, Ints], NDArray[Any]]
"""How many records of these classes have each item: (class, item)."""


@njit(cache=True, nogil=True)
def _route(starts: Ints, items: Items, item: Ints, child: Ints, node: Ints) -> None:
    for i in range(node.size):
        v = np.int64(0)
        while item[v] >= 0:
            low, high = starts[i], starts[i + 1]
            while low < high:
                middle = (low + high) // 2
                if np.int64(items[middle]) < item[v]:
                    low = middle + 1
                else:
                    high = middle
            has = low < starts[i + 1] and np.int64(items[low]) == item[v]
            v = child[v] + np.int64(not has)
        node[i] = v


@njit(cache=True, nogil=True)
def _tally(starts: Ints, items: Items, node: Ints, slot: Ints, counts: NDArray[np.int32]) -> None:
    for i in range(node.size):
        s = slot[node[i]]
        if s >= 0:
            for e in range(starts[i], starts[i + 1]):
                counts[s, np.int64(items[e])] += 1


def classes_of(starts: Ints, items: Items, cuts: ItemCuts) -> Ints:
    """The class in which each record ends."""
    node = np.empty(starts.size - 1, dtype=np.int64)
    _route(frozen(starts), frozen(items), cuts.item, cuts.child, node)
    return node


def item_counts(
    starts: Ints, items: Items, cuts: ItemCuts, nodes: Ints, d: int
) -> NDArray[np.int32]:
    """How many of these records have each item, for each of the classes."""
    slot = np.full(cuts.item.size, -1)
    slot[nodes] = np.arange(nodes.size)
    counts = np.zeros((nodes.size, d), dtype=np.int32)
    _tally(frozen(starts), frozen(items), classes_of(starts, items, cuts), slot, counts)
    return counts


def item_cuts(
    n: int, utilities: Floats, k: int, choose: str, limit: int, count: Counting
) -> tuple[ItemCuts, Ints]:
    """The splits of n records down to classes of at most `limit`, or that no item may split; and
    how many records each class has."""
    limit = max(limit, HORIZON * k)
    choice, table = (EVEN if choose == "even" else UTILITY), logarithms(n)
    names, nothing = np.arange(utilities.size), np.empty(0)
    item, child, size = [-1], [0], [n]
    open_nodes = [0] if n > limit else []
    together = max(1, MOST_COUNTS // max(utilities.size, 1))
    while open_nodes:
        now, open_nodes = open_nodes[:together], open_nodes[together:]
        cuts = ItemCuts(np.array(item), np.array(child))
        for v, found in zip(now, count(cuts, np.array(now)), strict=True):
            counts = found.astype(np.int64)
            if choice == EVEN:
                chosen = int(by_count(counts, size[v], k))
            else:
                chosen = int(by_utility(counts, size[v], k, names, utilities, nothing, table))
            if chosen < 0:
                continue
            having = int(counts[chosen])
            item[v], child[v] = chosen, len(item)
            open_nodes += [
                len(item) + side
                for side, many in enumerate((having, size[v] - having))
                if many > limit
            ]
            item, child = [*item, -1, -1], [*child, 0, 0]
            size += [having, size[v] - having]
    return ItemCuts(np.array(item), np.array(child)), np.array(size)


def cut_sets(
    starts: Ints, items: Items, utilities: Floats, k: int, choose: str, limit: int
) -> Ints:
    """The classes of sets that are here, split down to the limit."""
    n, d = starts.size - 1, utilities.size

    def count(cuts: ItemCuts, nodes: Ints) -> NDArray[Any]:
        return item_counts(starts, items, cuts, nodes, d)

    return classes_of(starts, items, item_cuts(n, utilities, k, choose, limit, count)[0])
