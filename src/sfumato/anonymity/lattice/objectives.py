"""What the best node of a lattice has least of, and how little the others can have.

An objective is a figure of a node, a whole number so that it does not depend on the order in which
nodes are visited. It also tells, without grouping, what a node has at least (`floor`), and of a
node that was grouped what all nodes below owe beside their floors (`owed`: what is suppressed above
is suppressed below) and what all nodes above have at least (`least`). Those bounds are what rules
nodes out; a measure without a good one is searched node by node, and no less right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from ...kernels.lattice.rollup import Tally, added, majorities
from .terms import Figures, Levels, Node

if TYPE_CHECKING:
    from .lattice import Lattice

WHOLE = 1 << 60
"""Everything, in the units of measures of cells."""


class Objective(ABC):
    """One measure on one lattice."""

    members: bool = False
    """Whether it must know the class of each distinct tuple."""
    upward: bool = True
    """Whether a node says more of those above it than their floors do."""
    exact: bool = True
    """Whether `figures` is the figure where nothing but short classes is suppressed."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice, self.terms, self.n = lattice, lattice.terms, lattice.n
        ladders = lattice.ladders
        self.at = np.zeros((len(ladders), int(lattice.shape.max())), dtype=np.int64)
        parts, end = [], 0
        for j, ladder in enumerate(ladders):
            for level in range(ladder.levels):
                self.at[j, level] = end
                parts.append(self.worths(j, level))
                end += parts[-1].size
        self.worth = np.concatenate(parts)
        """int64: the figure of a record of each group, column by column and level by level."""

    def worths(self, j: int, level: int) -> np.ndarray:
        """int64: a figure of each group of a column's level that adds up over columns."""
        return np.zeros(self.lattice.ladders[j].open[level].size, dtype=np.int64)

    def places(self, levels: Levels) -> np.ndarray:
        """Where the figures of these levels begin."""
        return self.at[np.arange(len(levels)), np.array(levels, dtype=np.int64)]

    @property
    def record(self) -> int:
        """What one more suppressed record costs about, for walks that look ahead."""
        return 1

    @abstractmethod
    def floor(self, levels: Levels) -> int:
        """What the node costs at least; nothing is grouped to say so."""

    @abstractmethod
    def floors(self) -> np.ndarray:
        """int64: the same for all nodes, by their numbers."""

    def climbs(self) -> list[np.ndarray]:
        """For each column what a step up costs about, for choosing a way (int64)."""
        sizes = [[kept.size for kept in ladder.open] for ladder in self.lattice.ladders]
        return [np.round(-np.diff(np.log2(of)) * 2**32).astype(np.int64) for of in sizes]

    @abstractmethod
    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        """Of a node whose short classes are suppressed; perhaps others, too, unless `fixed`."""

    @abstractmethod
    def settled(self, node: Node, gone: np.ndarray) -> int:
        """The figure if these classes are suppressed."""

    def prices(self, node: Node) -> np.ndarray:
        """What suppressing each class costs."""
        found: np.ndarray = node.sizes * (self.n - node.sizes)
        return found

    def joins(self, node: Node, gone: np.ndarray, fitting: np.ndarray) -> int:
        """Which of the fitting classes costs least if it is suppressed as well."""
        price = self.prices(node)[fitting]
        return int(fitting[np.lexsort((fitting, node.sizes[fitting], price))[0]])

    def bound(self) -> int:
        """What no node can be below."""
        return self.floor(self.lattice.bottom)

    @abstractmethod
    def published(self, value: int) -> float:
        """A figure as people read it."""


class Additive(Objective):
    """An objective whose floor adds up over the columns."""

    level_costs: list[np.ndarray]
    """For each column and level, its part of the floor (int64)."""
    ground: int = 0
    """What the levels do not tell."""

    def floor(self, levels: Levels) -> int:
        costs = zip(self.level_costs, levels, strict=True)
        return self.ground + sum(int(cost[level]) for cost, level in costs)

    def floors(self) -> np.ndarray:
        out = np.array([self.ground], dtype=np.int64)
        for cost in self.level_costs:
            out = (out[:, None] + cost).ravel()
        return out

    def climbs(self) -> list[np.ndarray]:
        return [np.diff(cost) for cost in self.level_costs]


class ByClasses(Objective):
    """An objective that only the number of classes bounds."""

    @abstractmethod
    def _from_classes(self, classes: int) -> int:
        """What a node with so many classes has at least."""

    def floor(self, levels: Levels) -> int:
        cells = 1
        for ladder, level in zip(self.lattice.ladders, levels, strict=True):
            cells = min(cells * ladder.open[level].size, len(self.lattice.tuples))
        return self._from_classes(max(cells, 1))

    def floors(self) -> np.ndarray:
        cells = np.ones(1)
        for ladder in self.lattice.ladders:
            sizes = np.array([kept.size for kept in ladder.open], dtype=np.float64)
            most = float(len(self.lattice.tuples))
            cells = np.minimum((cells[:, None] * sizes).ravel(), most)
        which, place = np.unique(cells.astype(np.int64), return_inverse=True)
        each = [self._from_classes(max(one, 1)) for one in which.tolist()]
        return np.array(each, dtype=np.int64)[place.reshape(-1)]


class Discernibility(ByClasses):
    """Squared class sizes; a suppressed record costs as much as the table has."""

    @property
    def record(self) -> int:
        return self.n

    def _from_classes(self, classes: int) -> int:
        # By Cauchy's inequality the squares are least when all classes are of one size.
        return max(-(-self.n * self.n // classes), self.n)

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        n, hidden = self.n, node.untold
        value = counted.squares - counted.pairs + n * counted.short + (n - hidden) * hidden
        return Figures(value, counted.short * max(n - self.terms.k + 1, 0), counted.squares)

    def settled(self, node: Node, gone: np.ndarray) -> int:
        alike = int(node.sizes[gone].sum()) + node.untold
        return int((node.sizes[~gone & node.own] ** 2).sum()) + self.n * alike

    def bound(self) -> int:
        return self.n * min(self.terms.k, self.n)

    def published(self, value: int) -> float:
        return float(value)


class AverageClassSize(ByClasses):
    """Records per class; counted downwards, since many classes are good."""

    def _from_classes(self, classes: int) -> int:
        return -classes

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        alike = counted.short + node.untold > 0
        return Figures(-(counted.kept + alike), 0, -node.sizes.size)

    def settled(self, node: Node, gone: np.ndarray) -> int:
        alike = bool(gone.any()) or node.hidden >= 0
        return -(int((~gone & node.own).sum()) + alike)

    def bound(self) -> int:
        return -(self.n // self.terms.k)

    def published(self, value: int) -> float:
        return self.n / max(-value, 1)


class Height(Additive):
    """The sum of the levels, whatever is suppressed."""

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        self.level_costs = [
            np.arange(one.first, one.first + one.levels, dtype=np.int64) for one in lattice.ladders
        ]
        self.upward = False

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        height = self.floor(node.levels)
        return Figures(height, 0, height)

    def settled(self, node: Node, gone: np.ndarray) -> int:
        return self.floor(node.levels)

    def published(self, value: int) -> float:
        return float(value)


class Classification(ByClasses):
    """Records that are suppressed, or whose target is not the most frequent one of their class."""

    members = True

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        assert self.terms.target is not None
        self.pairs = pairs_of(lattice, self.terms.target)
        tuples = lattice.tuples
        place = np.arange(len(tuples), dtype=np.int32)
        at = lattice.hidden(lattice.bottom, tuples)
        bottom = Node(lattice.bottom, tuples.keys, tuples.counts, at, place)
        self.right = self._right(bottom)
        self.fewest = self.n - int(self.right.sum())

    def _right(self, node: Node) -> np.ndarray:
        """int64: records of each class that are as most of them; none where nothing is left."""
        assert node.place is not None
        return np.where(node.own, majorities(node.place, *self.pairs, node.sizes.size), 0)

    def _from_classes(self, classes: int) -> int:
        return self.fewest

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        assert node.place is not None
        right, short = self._right(node), (node.sizes < self.terms.k) & node.own
        least = self.n - int(right.sum())
        # The tuples below are right at most where the ungeneralized ones are.
        owed = int(added(node.place, self.right, node.sizes.size)[short].sum())
        return Figures(least + int(right[short].sum()), owed, least)

    def settled(self, node: Node, gone: np.ndarray) -> int:
        return self.n - int(self._right(node)[~gone].sum())

    def prices(self, node: Node) -> np.ndarray:
        return self._right(node)

    def published(self, value: int) -> float:
        return value / max(self.n, 1)


def pairs_of(lattice: Lattice, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct pairs of tuple and value, equal values together, and their records (int64)."""
    width = len(lattice.tuples)
    keys, inverse = np.unique(values * width + lattice.member, return_inverse=True)
    value, owner = np.divmod(keys, max(width, 1))
    count = added(inverse.reshape(-1).astype(np.int32), lattice.count, keys.size)
    return owner, value, count
