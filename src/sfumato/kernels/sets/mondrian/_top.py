"""The first splits of a large table of sets, by all cores at once.

A table is split level by level where it lies: each record carries the number of its class, and all
classes of a level are split in one pass over slices of the records. Only then the records move,
once, each to its class; from there on the classes are split apart from each other.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ..rows import Items, occurrences
from ._choice import EVEN, by_count, by_utility
from ._grow import Buffer, Classes, renumber, tally

NodeOf = NDArray[np.uint8]
NODES = 255


@njit(cache=True, nogil=True)
def _descend(
    starts: Ints, items: Items, node: NodeOf, split: Ints, child: Ints, slot: Ints,
    counted: NDArray[np.bool_], slots: int, d: int, low: int, high: int,
) -> Ints:  # fmt: skip
    """Send each record to its side; returns the counts of the smaller sides."""
    found = np.zeros((slots, d), dtype=np.int64)
    for i in range(low, high):
        v = node[i]
        item = split[v]
        if item < 0:
            continue
        e, stop = starts[i], starts[i + 1]
        f = e
        while f < stop and items[f] < item:
            f += 1
        has = f < stop and items[f] == item
        if has:
            node[i] = child[v]
        if has == counted[v]:
            tally(items[e:stop], found[slot[v]])
    return found


@njit(cache=True, nogil=True)
def _measure(
    starts: Ints, items: Items, node: NodeOf, new: NDArray[np.int32], low: int, high: int
) -> Ints:
    """How many records, and items of theirs that stay live, each class has in a slice."""
    found = np.zeros((new.shape[0], 2), dtype=np.int64)
    for i in range(low, high):
        row = new[node[i]]
        live = 0
        for item in items[starts[i] : starts[i + 1]]:
            live += row[item] >= 0
        found[node[i], 0] += 1
        found[node[i], 1] += live
    return found


@njit(cache=True, nogil=True)
def _load(
    starts: Ints, items: Items, node: NodeOf, new: NDArray[np.int32], buffer: Buffer, place: Ints,
    low: int, high: int,
) -> None:  # fmt: skip
    to_items, to_lens, to_ids = buffer[0][0], buffer[1][0], buffer[2][0]
    for i in range(low, high):
        v = node[i]
        row = new[v]
        at, put = place[v, 0], place[v, 1]
        # The place behind the last may belong to another slice: nothing is written there.
        to = to_items[put:]
        live = np.uint64(0)
        for item in items[starts[i] : starts[i + 1]]:
            code = row[item]
            if code >= 0:
                to[live] = code
                live += np.uint64(1)
        to_lens[at] = live
        to_ids[at] = i
        place[v, 0], place[v, 1] = at + 1, put + np.int64(live)


class _Node:
    def __init__(self, n: int, counts: Ints) -> None:
        self.n, self.counts = n, counts


def _split_item(
    node: _Node, k: int, choice: int, names: Ints, utilities: Floats, table: Floats
) -> int:
    if node.n < 2 * k:
        return -1
    if choice == EVEN:
        return int(by_count(node.counts, node.n, k))
    return int(by_utility(node.counts, node.n, k, names, utilities, np.empty(0), table))


class _Slices:
    """Slices of the records, with about as many items each, that threads take in turn."""

    def __init__(self, starts: Ints, slices: int, pool: Executor) -> None:
        cuts = np.searchsorted(starts, np.linspace(0, starts[-1], slices + 1).astype(np.int64))
        cuts[0], cuts[-1] = 0, starts.size - 1
        self.bounds = list(pairwise(np.maximum.accumulate(cuts).tolist()))
        self.pool = pool

    def each(self, work: Callable[..., Any], *given: Any, own: Any = None) -> list[Any]:
        """What `work` returns for each slice; `own[s]` is given to the one of slice s only."""

        def run(s: int) -> Any:
            return work(*given, *(() if own is None else (own[s],)), *self.bounds[s])

        return list(self.pool.map(run, range(len(self.bounds))))


def first_classes(
    starts: Ints, items: Items, utilities: Floats, table: Floats, k: int, choice: int,
    relaxed: bool, levels: int, least: int, pool: Executor, slices: int,
    told: Callable[[list[int]], None],
) -> tuple[Buffer, list[Classes], Ints]:  # fmt: skip
    """The table after up to `levels` levels of splits of classes of `least` records and more.

    `told` hears the sizes of the classes after each level. Returns the records moved to their
    classes, the classes that may be split further, and the first and the end of each class that is
    finished.
    """
    n, d = starts.size - 1, utilities.size
    parts = _Slices(starts, slices, pool)
    node_of = np.zeros(n, dtype=np.uint8)
    nodes = [_Node(n, occurrences(items, d))]
    order, names = [0], np.arange(d)
    for _ in range(levels):
        split, child = np.full(NODES + 1, -1), np.zeros(NODES + 1, dtype=np.int64)
        slot, counted = np.zeros(NODES + 1, dtype=np.int64), np.zeros(NODES + 1, dtype=bool)
        made: list[tuple[int, _Node]] = []
        for v in list(order):
            parent = nodes[v]
            if parent.n < least or len(nodes) + len(made) >= NODES:
                continue
            item = _split_item(parent, k, choice, names, utilities, table)
            if item < 0:
                continue
            having = int(parent.counts[item])
            split[v], child[v], slot[v] = item, len(nodes) + len(made), len(made)
            counted[v] = having <= parent.n - having
            order.insert(order.index(v), int(child[v]))
            made.append((v, _Node(having, parent.counts)))
        if not made:
            break
        found = parts.each(
            _descend, starts, items, node_of, split, child, slot, counted, len(made), d
        )
        small = np.sum(found, axis=0)
        for s, (v, new) in enumerate(made):
            parent = nodes[v]
            rest = parent.counts - small[s]
            new.counts, parent.counts = (small[s], rest) if counted[v] else (rest, small[s])
            parent.n -= new.n
            nodes.append(new)
        told([node.n for node in nodes])
    return _moved(starts, items, node_of, nodes, order, k, relaxed, parts)


def _moved(
    starts: Ints, items: Items, node_of: NodeOf, nodes: list[_Node], order: list[int], k: int,
    relaxed: bool, parts: _Slices,
) -> tuple[Buffer, list[Classes], Ints]:  # fmt: skip
    n, d = starts.size - 1, nodes[0].counts.size
    new = np.empty((len(nodes), d), dtype=np.int32)
    for v, node in enumerate(nodes):
        if not renumber(node.counts, node.n, k, relaxed, new[v]):
            new[v] = -1
    # By slice and class, records and items; classes come in the order of the tree.
    sizes = np.array(parts.each(_measure, starts, items, node_of, new))
    total = sizes.sum(axis=0)
    first = np.zeros_like(total)
    first[order] = np.cumsum(total[order], axis=0) - total[order]
    number = np.int32 if n < 2**31 else np.int64
    buffer = (
        np.empty((2, int(total[:, 1].sum())), dtype=items.dtype),
        np.empty((2, n), dtype=number),
        np.empty((2, n), dtype=number),
    )
    places = first + np.cumsum(sizes, axis=0) - sizes
    parts.each(_load, starts, items, node_of, new, buffer, own=places)
    classes: list[Classes] = []
    finished: list[tuple[int, int]] = []
    for v in order:
        names = np.flatnonzero(new[v] >= 0)
        low, at = first[v].tolist()
        if names.size:
            place = np.array([low, low + nodes[v].n, at, 0, names.size])
            classes.append((place, np.array([names, nodes[v].counts[names]])))
        else:
            finished.append((low, low + nodes[v].n))
    return buffer, classes, np.array(finished, dtype=np.int64).reshape(-1, 2)
