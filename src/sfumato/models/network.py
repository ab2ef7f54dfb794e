"""A Bayesian network over the fields of augmented columns.

Within a column each field has the next coarser one as its parent, so that a finer state is drawn
among those below it; between columns there are links at the levels that a search finds
(structure.py). A field's table is kept without its own column's parent, which follows from the
field's state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .axis import Axis
from .records import Node, Records

if TYPE_CHECKING:
    from .inference import Engine

FEWEST = 1e-300


@dataclass(frozen=True, eq=False)
class Network:
    """Fields, links between columns, and how probable each state is."""

    axes: tuple[Axis, ...]
    nodes: tuple[Node, ...]
    parents: tuple[tuple[int, ...], ...]
    """The fields of other columns that each field depends on, as numbers of nodes."""
    tables: tuple[np.ndarray, ...]
    """(parents..., states): the probability of a state among those below its own coarser one."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """How it was learnt: links, and the score in bits for each record of the test part."""

    @cached_property
    def finest(self) -> list[int]:
        """The node of each column's finest field."""
        return [self.nodes.index(Node(a, 0)) for a in range(len(self.axes))]

    def chain(self, node: int) -> int:
        """The node of the next coarser field of the same column, -1 if there is none."""
        axis, level = self.nodes[node]
        return (
            -1 if level + 1 >= self.axes[axis].levels else self.nodes.index(Node(axis, level + 1))
        )

    def log2(self, states: np.ndarray) -> np.ndarray:
        """float64 (n,): the log2 probability of whole records, given by their finest states."""
        found = np.zeros(states.shape[0])
        for i, (axis, level) in enumerate(self.nodes):
            index = [
                self.axes[a].up[up][states[:, a]]
                for a, up in (self.nodes[p] for p in self.parents[i])
            ]
            own = self.axes[axis].up[level][states[:, axis]]
            found += np.log2(self.tables[i][(*index, own)])
        return found

    @cached_property
    def engine(self) -> Engine:
        """Exact inference in this network."""
        from .inference import Engine

        return Engine(self)

    @property
    def links(self) -> list[str]:
        """The links between columns, as text."""
        return [
            f"{self.called(p)} -> {self.called(i)}"
            for i, listed in enumerate(self.parents)
            for p in listed
        ]

    def called(self, node: int) -> str:
        """A field as text."""
        axis, level = self.nodes[node]
        return self.axes[axis].name + (f"/{level}" if level else "")


def all_nodes(axes: Sequence[Axis]) -> tuple[Node, ...]:
    """Every field, the coarser ones of a column first."""
    return tuple(
        Node(a, level) for a, axis in enumerate(axes) for level in range(axis.levels - 1, -1, -1)
    )


def backbone(axis: Axis, level: int, counts: np.ndarray) -> np.ndarray:
    """The probability of each state among those below its own coarser one, from their counts."""
    above = axis.above(level)
    branch = np.bincount(above)
    total = np.bincount(above, counts)
    # One record's worth, spread evenly: what never occurred may still occur.
    return (counts + 1.0 / branch[above]) / (total[above] + 1.0)


def conditional(
    axis: Axis, level: int, counts: np.ndarray, base: np.ndarray, strength: float
) -> np.ndarray:
    """The same, given other columns: (parents..., states) counts drawn towards the base, as if
    `strength` more records had been seen there."""
    if counts.ndim == 1:
        return base
    above = axis.above(level)
    flat = counts.reshape(-1, counts.shape[-1])
    total = np.zeros((flat.shape[0], int(above.max()) + 1))
    np.add.at(total.T, above, flat.T)
    found = (flat + strength * base) / (total[:, above] + strength)
    return np.asarray(found.reshape(counts.shape))


def fit(
    records: Records,
    nodes: Sequence[Node],
    parents: Sequence[Sequence[int]],
    strength: float,
    *,
    refine: bool = False,
) -> tuple[np.ndarray, ...]:
    """The tables of a structure, learnt from records."""
    found = []
    for i, node in enumerate(nodes):
        axis = records.axes[node.axis]
        base = backbone(axis, node.level, records.count([node]))
        if not parents[i]:
            found.append(base)
            continue
        counts = records.count([*(nodes[p] for p in parents[i]), node], refine=refine)
        found.append(conditional(axis, node.level, counts, base, strength))
    return tuple(found)
