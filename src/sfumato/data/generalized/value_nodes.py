"""Intervals and nested levels as nodes, so that every published value has a figure of its own.

A measure by value asks what each published value tells. Trees and partial orders have nodes to put
the answer to; an interval and a level have not, but few enough of them can be numbered.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ...poset.nodes import LevelNodes
from ...structure import Structure
from ..classes import equal_ranges
from ..codec import Coded, Matrix
from .parts import PartMatrix

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


class NodeMatrix(PartMatrix):
    """Columns whose intervals and levels are nodes; all others stay as they are.

    Every part of a value is weighed as a column of its own.
    """

    def __init__(self, x: Matrix, rare: int) -> None:
        super().__init__(x, "ncp")
        self.shares = [1.0] * len(self.columns)
        for at, found in enumerate(self._found):
            nodes = _nodes(found, rare)
            if nodes is not None:
                self._found[at] = replace(found, instead=nodes)


def _nodes(found: Coded, rare: int) -> Structure | None:
    poset, structure = found.poset, found.structure
    if structure.unchanged or structure.node_costs is not None or structure.bits is not None:
        return None
    if structure.levels is not None:
        return Structure(ancestors=LevelNodes(structure.levels.level_ids))
    if poset.spans and structure.traits is None:
        counts = np.bincount(found.codes, minlength=poset.positions.size)
        return Structure(pairs=IntervalNodes(counts, rare))
    return None
