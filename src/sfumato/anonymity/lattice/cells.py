"""Objectives that cells make: loss, precision and entropy, added up or taken column by column.

What the published records have left is counted in fractions of 2**-60 of everything. A record has
left in a column what its group leaves it (`Ladder.kept`), or what the average of its class does
(`averaged.py`); suppressed it has nothing. Generalization and suppression may weigh differently:
with the factors g and s a cell that keeps the share r of what it was costs g (1 - r), and a
suppressed one s. So a node costs what its levels do, g (1 - r) for all, and every suppressed record
g r + (s - g) more. Where s < g that may be less than nothing: floors then take off what suppressing
as many records as possible could save.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, cast

import numpy as np

from ...kernels.lattice.rollup import Tally, added, class_worth, column_worths
from ...kernels.statistics.attacker_economics import attacked
from .averaged import Averages
from .objectives import WHOLE, Additive, Objective
from .terms import CellMeasure, Figures, Levels, Node

if TYPE_CHECKING:
    from .lattice import Lattice

FINE = 1 << 44
"""The geometric mean is counted in fractions of 2**-44; its last digits are the machine's."""
ROUGH = 1 << 10
"""What rounding may take off a bound, at most."""


class Cells(Objective):
    """Figures of columns, and what becomes of them together."""

    def __init__(self, lattice: Lattice) -> None:
        terms, ladders = lattice.terms, lattice.ladders
        measure = "loss" if terms.measure == "payout" else terms.measure
        self.measure = cast(CellMeasure, measure)
        given = np.array(terms.importance or (1.0,) * len(ladders))
        self.weights: np.ndarray = given / given.sum()
        self.scale = self.scales(lattice)
        """What a whole column counts in its own figure."""
        self.g, self.s = terms.factors
        self.averages = Averages(lattice)
        super().__init__(lattice)
        self.column_costs = [self._column_costs(j) for j in range(len(ladders))]
        """For each column and level what it costs if nothing is suppressed (int64)."""
        self.more = [self._more(j) for j in range(len(ladders))]
        """For each column what a suppressed record costs beyond what it had left: the same for all,
        or the sum over the records of each distinct tuple."""
        self.relief = np.array([self._relief(j) for j in range(len(ladders))], dtype=np.int64)
        """What suppressing as many as possible could save in each column: 0 or less."""
        self.upward, self.exact = bool(self.averages.columns), self.averages.exact
        self.members = self.upward or any(isinstance(one, np.ndarray) for one in self.more)

    def scales(self, lattice: Lattice) -> np.ndarray:
        """What a whole column counts in its own figure."""
        return np.ones(len(lattice.ladders))

    @property
    def record(self) -> int:
        return WHOLE // self.n

    def worths(self, j: int, level: int) -> np.ndarray:
        ladder = self.lattice.ladders[j]
        if j in self.averages.columns:
            return super().worths(j, level)
        one = 1.0 if self.measure == "entropy" else 1.0 / self.n
        kept = ladder.kept(self.measure, level) * one * self.scale[j]
        return np.asarray(np.floor(kept * self.g * WHOLE), dtype=np.int64)

    def _column_costs(self, j: int) -> np.ndarray:
        ladder = self.lattice.ladders[j]
        counts = self.lattice.counts(ladder)
        kept = [
            int(counts @ self.worth[self.at[j, level] + group])
            for level, group in enumerate(ladder.groups)
        ]
        whole = math.floor(self.g * self.scale[j] * WHOLE)
        if j in self.averages.columns:
            whole = 0
        elif self.measure == "entropy":
            # That of the values as they come.
            whole = kept[0] if ladder.first == 0 else whole * bool(ladder.fine[1].any())
        return np.asarray(whole - np.array(kept, dtype=np.int64))

    def _more(self, j: int) -> int | np.ndarray:
        if self.s == self.g or j in self.averages.columns:
            return 0
        by = (self.s - self.g) * float(self.scale[j]) * WHOLE
        if self.measure != "entropy":
            return round(by / self.n)
        values, shares = self.lattice.ladders[j].fine
        each = np.rint(shares * by).astype(np.int64)[values]
        return added(self.lattice.member, each * self.lattice.count, len(self.lattice.tuples))

    def _relief(self, j: int) -> int:
        more = self.more[j]
        if isinstance(more, int):
            return min(0, more * self.terms.most)
        return int(np.minimum(more, 0).sum()) if self.terms.most else 0

    def extras(self, node: Node) -> np.ndarray:
        """int64 (classes, d): what the records of each class cost more if they are suppressed."""
        found: np.ndarray = column_worths(
            node.keys, node.sizes.size, self.lattice.fields, self.worth, self.places(node.levels)
        )
        found *= node.sizes[:, None]
        for j, more in enumerate(self.more):
            if isinstance(more, int):
                found[:, j] += more * node.sizes
            else:
                assert node.place is not None
                found[:, j] += added(node.place, more, node.sizes.size)
        for j, lost in self.averages.lost(node, exact=True).items():
            found[:, j] += self.unit(j, self.s) * node.sizes - self._whole(j, self.g, lost)
        return found

    def unit(self, j: int, factor: float) -> int:
        """What an averaged cell costs that has lost everything."""
        return round(factor * float(self.scale[j]) * WHOLE / self.n)

    def _whole(self, j: int, factor: float, lost: np.ndarray) -> np.ndarray:
        whole = np.rint(lost * (factor * self.scale[j] * WHOLE / self.n))
        return np.asarray(whole, dtype=np.int64)

    def column_figures(self, node: Node, gone: np.ndarray) -> np.ndarray:
        """int64 (d,): the figure of each column if these classes are suppressed."""
        found: np.ndarray = self._by_levels(node.levels) + self.extras(node)[gone].sum(axis=0)
        for j, lost in self.averages.lost(node, exact=True).items():
            found[j] += self._whole(j, self.g, lost).sum()
        return found

    def _by_levels(self, levels: Levels) -> np.ndarray:
        costs = zip(self.column_costs, levels, strict=True)
        return np.array([cost[level] for cost, level in costs], dtype=np.int64)

    def bounds(self, node: Node, *, fixed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """int64 (d,) each: value, owed and least (`Figures`), column by column."""
        base = self._by_levels(node.levels)
        short = (node.sizes < self.terms.k) & node.own
        many = int(node.sizes[short].sum())
        worth = column_worths(
            node.keys, node.sizes.size, self.lattice.fields, self.worth, self.places(node.levels)
        )
        price = (worth * node.sizes[:, None])[short].sum(axis=0)
        more = np.zeros_like(price)
        for j, one in enumerate(self.more):
            if isinstance(one, int):
                more[j] = one * many
            else:
                assert node.place is not None
                more[j] = added(node.place, one, node.sizes.size)[short].sum()
        sure = fixed or self.s >= self.g
        value = base + price + (more if sure else self.relief)
        owed, least = price + np.maximum(more, 0), base + self.relief
        low = min(self.g, self.s)
        for j, lost in self.averages.lost(node).items():
            kept = self._whole(j, self.g if sure else low, lost[~short]).sum()
            value[j] = kept + self.unit(j, self.s) * many
            owed[j] = self.unit(j, self.s) * many
            # Rounded down, class by class: those above may be fewer.
            least[j] = max(0, int(self._whole(j, low, lost).sum()) - node.sizes.size)
        return value, owed, least


class CellSum(Cells, Additive):
    """The columns' figures added up, by their weights."""

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        self.level_costs, self.ground = self.column_costs, int(self.relief.sum())
        self.quick = not self.members
        """Whether sizes and groups of the classes are all there is to know."""
        self.each = sum(one for one in self.more if isinstance(one, int))

    def scales(self, lattice: Lattice) -> np.ndarray:
        return self.weights

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        if not self.quick:
            value, owed, least = (int(one.sum()) for one in self.bounds(node, fixed=fixed))
            return Figures(value, owed, least)
        floor, more = self.floor(node.levels), self.each * counted.short
        sure = fixed or self.each >= 0
        value = floor + counted.price + (more - self.ground if sure else 0)
        return Figures(value, counted.price + max(more, 0), floor)

    def settled(self, node: Node, gone: np.ndarray) -> int:
        if not self.quick:
            return int(self.column_figures(node, gone).sum())
        return self.floor(node.levels) - self.ground + int(self._lost(node)[gone].sum())

    def prices(self, node: Node) -> np.ndarray:
        return self._lost(node)

    def _lost(self, node: Node) -> np.ndarray:
        """int64: by how much more each class loses if it is suppressed."""
        if not self.quick:
            found: np.ndarray = self.extras(node).sum(axis=1)
            return found
        places = self.places(node.levels)
        worth = class_worth(node.keys, node.sizes, self.lattice.fields, self.worth, places)
        return np.asarray(worth + self.each * node.sizes)

    def published(self, value: int) -> float:
        return max(value, 0) / WHOLE


class Payout(CellSum):
    """What publishing does not pay of all that it could, if attackers act for money.

    A published record pays the benefit but for the share of it that is lost, less the penalty
    weighed by the chance of being found, 1 / class size, where an attack pays (Wan et al. 2015): a
    class that is worth attacking costs one penalty. A record that tells nothing pays nothing.
    """

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        share = self._most(lattice) - 1.0
        self.fine = round(share / (1.0 + share) * WHOLE / self.n)

    @staticmethod
    def _most(lattice: Lattice) -> float:
        """What a record costs at most, in benefits."""
        return 1.0 + lattice.terms.economics.penalty / lattice.terms.economics.benefit

    def scales(self, lattice: Lattice) -> np.ndarray:
        return np.asarray(self.weights / self._most(lattice))

    def _fined(self, node: Node) -> np.ndarray:
        """bool: the classes that are worth attacking, if they are published and tell something."""
        pays = attacked(1.0 / node.sizes, self.terms.economics)
        return np.asarray(pays & node.own & (self._lost(node) > 0))

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        found = super().figures(node, counted, fixed=fixed)
        if not fixed:
            return found
        fined = self._fined(node) & (node.sizes >= self.terms.k)
        return found._replace(value=found.value + self.fine * int(fined.sum()))

    def settled(self, node: Node, gone: np.ndarray) -> int:
        return super().settled(node, gone) + self.fine * int((self._fined(node) & ~gone).sum())

    def prices(self, node: Node) -> np.ndarray:
        return np.asarray(super().prices(node) - self.fine * self._fined(node))

    def published(self, value: int) -> float:
        """What a record pays on average, as a share of the benefit."""
        return 1.0 - value / WHOLE * self._most(self.lattice)


class Columns(Cells):
    """The largest figure of a column, or a mean of them that no column alone can make small."""

    @abstractmethod
    def combined(self, figures: np.ndarray) -> np.ndarray:
        """int64: of figures (..., d), which rounding may have made negative."""

    @abstractmethod
    def added_at_least(self, owed: np.ndarray) -> int:
        """By how much the figure grows at least where those of the columns grow by so much."""

    def floor(self, levels: Levels) -> int:
        return int(self.combined(self._by_levels(levels) + self.relief))

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        value, owed, least = self.bounds(node, fixed=fixed)
        # Floors that were raised to 0 owe nothing.
        owes = 0 if self.relief.any() else self.added_at_least(owed)
        found, lower = int(self.combined(value)), int(self.combined(least))
        return Figures(found, owes, max(lower - ROUGH, 0))

    def settled(self, node: Node, gone: np.ndarray) -> int:
        return int(self.combined(self.column_figures(node, gone)))

    def joins(self, node: Node, gone: np.ndarray, fitting: np.ndarray) -> int:
        figures = self.column_figures(node, gone) + self.extras(node)[fitting]
        order = np.lexsort((fitting, node.sizes[fitting], self.combined(figures)))
        return int(fitting[order[0]])

    def climbs(self) -> list[np.ndarray]:
        return [np.diff(cost) for cost in self.column_costs]


class Maximum(Columns):
    """The largest figure of a column, each by its weight relative to the largest weight."""

    def combined(self, figures: np.ndarray) -> np.ndarray:
        share = self.weights / self.weights.max()
        return np.asarray((np.maximum(figures, 0) * share).max(axis=-1)).astype(np.int64)

    def added_at_least(self, owed: np.ndarray) -> int:
        return max(int((owed * (self.weights / self.weights.max())).min()) - ROUGH, 0)

    def floors(self) -> np.ndarray:
        share = self.weights / self.weights.max()
        out = np.zeros(1)
        for j, cost in enumerate(self.column_costs):
            own = np.maximum(cost + self.relief[j], 0) * share[j]
            out = np.maximum(out[:, None], own).ravel()
        return out.astype(np.int64)

    def published(self, value: int) -> float:
        return value / WHOLE


class GeometricMean(Columns):
    """The geometric mean of 1 + the columns' figures, less 1: no column that loses nothing hides
    what the others lose. Weights are exponents."""

    @property
    def record(self) -> int:
        return FINE // self.n

    def combined(self, figures: np.ndarray) -> np.ndarray:
        logs = np.log1p(np.maximum(figures, 0) / WHOLE) @ self.weights
        return np.asarray(np.floor(np.expm1(logs) * FINE)).astype(np.int64)

    def added_at_least(self, owed: np.ndarray) -> int:
        # The geometric mean of a sum is that of the parts, or more (Minkowski).
        if (owed <= 0).any():
            return 0
        return max(int(np.exp(np.log(owed / WHOLE) @ self.weights) * FINE) - ROUGH, 0)

    def floors(self) -> np.ndarray:
        out = np.zeros(1)
        for j, cost in enumerate(self.column_costs):
            own = np.log1p(np.maximum(cost + self.relief[j], 0) / WHOLE) * self.weights[j]
            out = (out[:, None] + own).ravel()
        whole = np.floor(np.expm1(out) * FINE).astype(np.int64)
        return np.asarray(np.maximum(whole - ROUGH, 0))

    def floor(self, levels: Levels) -> int:
        return max(super().floor(levels) - ROUGH, 0)

    def published(self, value: int) -> float:
        return value / FINE
