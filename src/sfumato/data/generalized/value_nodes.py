"""Intervals and nested levels as nodes, so that every published value has a figure of its own.

A measure by value asks what each published value tells. Trees and partial orders have nodes to put
the answer to; an interval and a level have not, but few enough of them can be numbered.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ...structure import Structure
from ..classes import equal_ranges
from ..codec import Coded, Matrix

MOST_ENDS = 44
"""Values of a column whose intervals are numbered one by one: 990 of them, as many as the table of
all pairs of nodes can hold."""
_PIECES = 20


class IntervalNodes:
    """All intervals of a column's values, or of its ranges where values are many or mostly rare.

    Ranges hold about equally many records. Values of one range are then one node.

    >>> found = IntervalNodes(np.array([0, 9, 9, 9]), rare=6)
    >>> found.leaf_nodes.tolist(), int(found.join_table[0, 3])
    ([0, 0, 3, 5], 1)
    """

    def __init__(self, counts: np.ndarray, rare: int) -> None:
        place = np.arange(counts.size)
        present, often = int(counts[1:].sum()), int(counts[1:][counts[1:] >= rare].sum())
        if often * 2 < present:
            place = equal_ranges(counts, min(_PIECES, present // max(rare, 1)))
        elif counts.size - 1 > MOST_ENDS:
            place = equal_ranges(counts, MOST_ENDS)
        self._ends = max(int(place.max(initial=0)), 1)
        self.leaf_nodes = self._node(np.maximum(place, 1), np.maximum(place, 1))

    def _node(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The number of an interval: by its lower end, then by its upper."""
        return np.asarray((low - 1) * self._ends - (low - 1) * (low - 2) // 2 + high - low)

    @cached_property
    def join_table(self) -> np.ndarray:
        """int32 (n, n): the smallest interval that holds two."""
        low, high = (end + 1 for end in np.triu_indices(self._ends))
        return self._node(
            np.minimum(low[:, None], low), np.maximum(high[:, None], high)
        ).astype(np.int32)  # fmt: skip


class LevelNodes:
    """The blocks of nested levels, finest first, and "*" above them all.

    >>> kept = LevelNodes(np.array([[0, 1, 2]]))
    >>> kept.leaf_nodes.tolist(), kept.ancestor_ptr.tolist(), kept.ancestor_idx.tolist()
    ([0, 0, 1], [0, 2, 4, 5], [0, 2, 1, 2, 2])
    """

    def __init__(self, level_ids: np.ndarray) -> None:
        rows, paths = 0, []
        for ids in level_ids[:, 1:]:
            found, block = np.unique(ids, return_inverse=True)
            paths.append(rows + block.reshape(-1))
            rows += found.size
        paths.append(np.full(level_ids.shape[1] - 1, rows))
        # A node's path: itself up to its own level, then what is above it.
        self._path = np.tile(np.arange(rows + 1)[:, None], len(paths))
        for level, own in enumerate(paths):
            for above in range(level, len(paths)):
                self._path[own, above] = paths[above]
        self.leaf_nodes = np.concatenate(([0], paths[0])).astype(np.int64)

    @cached_property
    def _kept(self) -> np.ndarray:
        """bool (n, levels): where a path reaches a node for the first time."""
        first = np.ones(self._path.shape, dtype=bool)
        first[:, 1:] = self._path[:, 1:] != self._path[:, :-1]
        return first

    @cached_property
    def ancestor_ptr(self) -> np.ndarray:
        """int64 (n + 1,): where each node's list of ancestors begins."""
        return np.concatenate(([0], np.cumsum(self._kept.sum(axis=1)))).astype(np.int64)

    @cached_property
    def ancestor_idx(self) -> np.ndarray:
        """The lists, each ascending from the node itself to "*"."""
        return np.asarray(self._path[self._kept])


class NodeMatrix(Matrix):
    """Columns whose intervals and levels are nodes; all others stay as they are."""

    def __init__(self, x: Matrix, rare: int) -> None:
        super().__init__(x.table, x.names)
        self._rare = rare
        self._found: dict[int, Coded] = {}

    def coded(self, j: int) -> Coded:
        """Column j as codes, and nodes in place of its intervals or levels."""
        if j not in self._found:
            found = super().coded(j)
            nodes = _nodes(found, self._rare)
            if nodes is not None:
                found = replace(found, instead=nodes)
            self._found[j] = found
        return self._found[j]


def _nodes(found: Coded, rare: int) -> Structure | None:
    poset, structure = found.poset, found.structure
    if structure.unchanged or structure.node_costs is not None:
        return None
    if structure.levels is not None:
        return Structure(ancestors=LevelNodes(structure.levels.level_ids))
    if poset.spans and structure.traits is None:
        counts = np.bincount(found.codes, minlength=poset.positions.size)
        return Structure(pairs=IntervalNodes(counts, rare))
    return None
