"""How cells lie in a cube: dimensions with hierarchies, and the cell at each combination."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.arrays import Ints
from .relations import Relations


@dataclass(frozen=True, eq=False)
class Dimension:
    """A classification with totals: code 0 is the grand total, each other code has a parent before
    it. Codes without children are leaves."""

    name: str
    codes: tuple[str, ...]
    parent: Ints
    """int64, -1 for code 0."""

    @cached_property
    def children(self) -> tuple[Ints, ...]:
        """The children of each code."""
        order = np.argsort(self.parent, kind="stable")
        counts = np.bincount(self.parent[1:], minlength=len(self.codes))
        ends = 1 + np.cumsum(counts)
        return tuple(order[end - c : end] for end, c in zip(ends, counts, strict=True))

    @cached_property
    def leaves(self) -> Ints:
        """The codes that have no children."""
        return np.array([i for i, below in enumerate(self.children) if not below.size], np.int64)

    @cached_property
    def depth(self) -> Ints:
        """Steps from code 0."""
        out = np.zeros(len(self.codes), np.int64)
        for i in range(1, out.size):
            out[i] = out[self.parent[i]] + 1
        return out

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class CubeShape:
    """A cube: its dimensions, and the number of the cell at every combination of codes.

    Linked tables are several cubes over one list of cells, some of which lie in more than one.
    """

    dimensions: tuple[Dimension, ...]
    cells: Ints
    """int64, one axis to a dimension; -1 where a combination has no cell."""

    def relations(self, n: int) -> Relations:
        """Every total with its addends, along each dimension; absent cells are left out."""
        relation: list[Ints] = []
        cell: list[Ints] = []
        coef: list[np.ndarray] = []
        count = 0
        for axis, dimension in enumerate(self.dimensions):
            lines = np.moveaxis(self.cells, axis, 0).reshape(len(dimension), -1)
            for parent, below in enumerate(dimension.children):
                if not below.size:
                    continue
                block = np.concatenate((lines[parent][None], lines[below]))
                # A total that is not there says nothing; its parts are then tied by nothing else.
                kept = np.flatnonzero(block[0] >= 0)
                block = block[:, kept]
                sign = np.where(np.arange(block.shape[0]) == 0, -1.0, 1.0)
                there = block.T >= 0
                number = count + np.arange(kept.size)
                relation.append(np.broadcast_to(number[:, None], there.shape)[there])
                cell.append(block.T[there])
                coef.append(np.broadcast_to(sign, there.shape)[there])
                count += kept.size
        none = np.empty(0, np.int64)
        return Relations.of(
            np.concatenate([*relation, none]),
            np.concatenate([*cell, none]),
            np.concatenate([*coef, none.astype(np.float64)]),
            n,
        )
