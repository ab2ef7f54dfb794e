"""Finite partial orders: who is above whom, worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from .values.text import SUPPRESSED

MOST_PAIRS = 50_000_000
"""Pairs of a node and an ancestor that are kept: 400 megabytes while they are sorted."""


class Order:
    """The nodes of a partial order, numbered from the least measured to the top.

    `ancestors[ptr[i]:ptr[i + 1]]` are node i and all nodes above it, ascending. `measure` is 0 at
    the least and 1 at the most: the declared values, else the share of the leaves below (NCP).
    Declared values may fall upwards, as estimates do (`rising` is False); then nodes are numbered
    from the lowest to the top, since a node must come before those above it. `heights` are the
    steps up from the farthest leaf; `parents[i]` those that were declared.
    """

    def __init__(
        self, parents: Mapping[str, Sequence[str]], values: Mapping[str, float], name: str
    ) -> None:
        self.name = name
        labels, above = _edges(parents, name)
        order = _downwards(labels, above, name)
        heights = _heights(above, order)
        rows = _closure(above, order, name)
        leaf = np.ones(len(labels), dtype=bool)
        leaf[list(chain.from_iterable(above))] = False
        measure = _leaf_shares(rows, leaf, order[0])
        self.declared = bool(values)
        self.rising = True
        if values:
            measure = _declared(values, labels, leaf, order[0], name)
            self.rising = all(
                measure[parent] >= measure[node]
                for node, parents in enumerate(above)
                for parent in parents
            )
        # Heights rise along the order, so that of two nodes with one measure the lower comes first.
        by = (heights, measure) if self.rising else (measure, heights)
        by_rank = np.lexsort((np.arange(len(labels)), *by))
        rank = np.empty_like(by_rank)
        rank[by_rank] = np.arange(by_rank.size)
        self.labels: list[str] = [labels[node] for node in by_rank.tolist()]
        self.parents: list[tuple[int, ...]] = [
            tuple(sorted(rank[list(above[node])].tolist())) for node in by_rank.tolist()
        ]
        self.measure: np.ndarray = measure[by_rank]
        self.heights: np.ndarray = heights[by_rank]
        self.is_leaf: np.ndarray = leaf[by_rank]
        sizes = np.array([rows[node].size for node in by_rank.tolist()])
        self.ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        ranked = rank[np.concatenate([rows[node] for node in by_rank.tolist()])]
        owner = np.repeat(np.arange(sizes.size), sizes)
        self.ancestors = ranked[np.lexsort((ranked, owner))].astype(np.int32)
        self.node_of = {label: node for node, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def top(self) -> int:
        """The node above all others."""
        return len(self.labels) - 1

    def above(self, node: int) -> np.ndarray:
        """The node and its ancestors, the least measured first."""
        found: np.ndarray = self.ancestors[self.ptr[node] : self.ptr[node + 1]]
        return found


def _edges(
    parents: Mapping[str, Sequence[str]], name: str
) -> tuple[list[str], list[tuple[int, ...]]]:
    """The nodes in the order in which they are named, and each one's parents."""
    labels = list(dict.fromkeys(chain.from_iterable((c, *ps) for c, ps in parents.items())))
    if not labels:
        raise ValueError(f"{name} has no values -> give each value its parents")
    if "" in labels:
        raise ValueError(f"{name} has an empty label -> fill it in")
    number = {label: node for node, label in enumerate(labels)}
    above = [tuple(dict.fromkeys(number[p] for p in parents.get(c, ()))) for c in labels]
    tops = [node for node, found in enumerate(above) if not found]
    star = number.get(SUPPRESSED)
    if star is not None and above[star]:
        raise ValueError(
            f'{name}: "{SUPPRESSED}" stands below "{labels[above[star][0]]}", but it means '
            "suppressed -> rename it"
        )
    if star is None and len(tops) > 1:
        star = len(labels)
        labels.append(SUPPRESSED)
        above.append(())
    if star is not None:
        for node in tops:
            above[node] = (star,) if node != star else ()
    return labels, above


def _downwards(labels: Sequence[str], above: Sequence[tuple[int, ...]], name: str) -> list[int]:
    """The nodes so that parents come before their children; `ValueError` names a circle."""
    children: list[list[int]] = [[] for _ in above]
    waiting = [len(parents) for parents in above]
    for node, parents in enumerate(above):
        for parent in parents:
            children[parent].append(node)
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    if len(order) < len(above):
        # Going up from a node that never came free leads round, without ever leaving those.
        path = [next(node for node, count in enumerate(waiting) if count)]
        while path[-1] not in path[:-1]:
            path.append(next(parent for parent in above[path[-1]] if waiting[parent]))
        circle = " -> ".join(f'"{labels[node]}"' for node in path[path.index(path[-1]) :])
        raise ValueError(f"{name} goes in a circle: {circle} -> take one of these steps out")
    return order


def _heights(above: Sequence[tuple[int, ...]], order: Sequence[int]) -> np.ndarray:
    heights = [0] * len(above)
    for node in reversed(order):
        for parent in above[node]:
            heights[parent] = max(heights[parent], heights[node] + 1)
    return np.array(heights, dtype=np.int32)


def _closure(above: Sequence[tuple[int, ...]], order: Sequence[int], name: str) -> list[np.ndarray]:
    """Each node with all that is above it."""
    rows: list[np.ndarray] = [np.zeros(0, dtype=np.int64)] * len(above)
    shared: dict[tuple[int, ...], np.ndarray] = {}  # siblings have their ancestors in common
    total = 0
    for node in order:
        parents = above[node]
        found = shared.get(parents)
        if found is None:
            found = rows[parents[0]] if parents else rows[node]
            if len(parents) > 1:
                found = np.unique(np.concatenate([rows[parent] for parent in parents]))
            shared[parents] = found
        rows[node] = np.append(found, node)
        total += rows[node].size
        if total > MOST_PAIRS:
            raise ValueError(
                f"{name} has too many pairs of a value and an ancestor (over {MOST_PAIRS:,}) -> "
                'leave levels out, or use kind = "interval" for a lattice of ranges'
            )
    return rows


def _leaf_shares(rows: Sequence[np.ndarray], leaf: np.ndarray, top: int) -> np.ndarray:
    """(leaves below a node - 1) / (leaves - 1); the top has 1 even above a single leaf."""
    below = np.zeros(leaf.size, dtype=np.int64)
    for node in np.flatnonzero(leaf).tolist():
        below[rows[node]] += 1
    out: np.ndarray = (below - 1) / max(int(leaf.sum()) - 1, 1)
    if leaf.size > 1:
        out[top] = 1.0
    return out


def _declared(
    values: Mapping[str, float], labels: Sequence[str], leaf: np.ndarray, top: int, name: str
) -> np.ndarray:
    """The declared measures, moved and stretched so that they run from 0 to 1."""
    stray = [label for label in values if label not in set(labels)]
    if stray:
        raise ValueError(f'values names "{stray[0]}", which is not in {name} -> leave it out')
    # What is not said costs nothing, unless others cost less than nothing.
    needed = ~leaf if min(values.values()) >= 0 else np.ones(leaf.size, dtype=bool)
    for node, label in enumerate(labels):
        if label not in values and needed[node]:
            raise ValueError(f'"{label}" has no value -> give every group one in `values`')
    given = np.array([float(values.get(label, 0.0)) for label in labels])
    if np.abs(given).max() > 1e300:  # the difference of two might be no number
        given = given / 4
    found: np.ndarray = given - given.min()
    if not found.any():
        found[top] = 1.0
    return found / max(float(found.max()), 1e-300)
