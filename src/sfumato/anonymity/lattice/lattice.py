"""The lattice of full-domain generalizations: what a node publishes, suppresses and costs.

A node is one level for each column. Its classes are rolled up from those of a finer node that was
looked at before. Figures are whole numbers, so that they do not depend on the order in which nodes
are visited: for measures of cells, what the published records have left is counted in fractions of
2**-60 of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import cast

import numpy as np

from ...criteria.classes import Grouping
from ...data.partition import SUPPRESSED_LABEL
from ...data.table import Table
from ...kernels.lattice.nodes import nearest_below, node_number
from ...kernels.lattice.rollup import Rolled, Tally, class_worth, distinct, layout, roll_up, tally
from ...protocols import Criterion
from .columns import CellMeasure, Ladder, publish
from .terms import Judged, Levels, Seen, Settled, Terms

WHOLE = 1 << 60
SNAPSHOTS = 512
"""Nodes whose classes are kept to roll up from."""
ROOM = 8
"""Classes that are kept for every distinct tuple of the table."""


class Lattice:
    """The generalizations of a table, and what is known of them.

    `count` says how many records each row stands for, where that is not one.
    """

    def __init__(
        self,
        table: Table,
        ladders: Sequence[Ladder],
        terms: Terms,
        count: np.ndarray | None = None,
    ) -> None:
        self.table, self.ladders, self.terms = table, tuple(ladders), terms
        self.count = np.ones(table.height, dtype=np.int64) if count is None else count
        self.n = int(self.count.sum())
        self.shape = np.array([ladder.levels for ladder in ladders], dtype=np.int64)
        self.size = int(np.prod(self.shape.astype(object)))
        self.bottom: Levels = (0,) * len(ladders)
        self.top: Levels = tuple((self.shape - 1).tolist())
        self.fields = layout([ladder.groups for ladder in ladders])
        self.tuples, self.member = distinct(
            [ladder.values for ladder in ladders], self.fields, self.count
        )
        self._seen: dict[int, Seen] = {}
        self._judged: dict[int, Judged] = {}
        self._lock = Lock()
        self._kept: list[Rolled] = [self.tuples]
        self._kept_levels = np.zeros((SNAPSHOTS, len(ladders)), dtype=np.int64)
        self._kept_sizes = np.zeros(SNAPSHOTS, dtype=np.int64)
        self._kept_sizes[0] = len(self.tuples)
        self._oldest, self._held = 1, 0
        self._worth, self._worth_at = self._worths()

    @property
    def by_cells(self) -> bool:
        """Whether the measure is a sum over cells, known without any grouping but for
        suppression."""
        return self.terms.measure in ("loss", "precision", "entropy")

    def _worths(self) -> tuple[np.ndarray, np.ndarray]:
        """What a record of each group of each level is worth, and where each level's begin."""
        at = np.zeros((len(self.ladders), int(self.shape.max())), dtype=np.int64)
        weights = np.array(self.terms.importance or (1.0,) * len(self.ladders))
        weights = weights / weights.sum()
        parts: list[np.ndarray] = []
        end = 0
        for j, ladder in enumerate(self.ladders):
            for level in range(ladder.levels):
                at[j, level] = end
                end += ladder.open[level].size
                if not self.by_cells:
                    parts.append(np.zeros(ladder.open[level].size, dtype=np.int64))
                    continue
                measure = cast(CellMeasure, self.terms.measure)
                one = 1.0 if measure == "entropy" else 1.0 / self.n
                kept = ladder.kept(measure, level) * one * weights[j]
                parts.append(np.floor(kept * WHOLE).astype(np.int64))
        return np.concatenate(parts), at

    @cached_property
    def level_costs(self) -> list[np.ndarray]:
        """For each column and level, what it costs if nothing is suppressed (int64)."""
        out = []
        for j, ladder in enumerate(self.ladders):
            counts = self._counts(ladder)
            kept = []
            for level, group in enumerate(ladder.groups):
                worth = self._worth[self._worth_at[j, level] + group]
                kept.append(int(counts @ worth))
            out.append(kept[0] - np.array(kept, dtype=np.int64))
        return out

    def _counts(self, ladder: Ladder) -> np.ndarray:
        """int64: how many records have each value of a column."""
        return np.bincount(ladder.values, self.count, ladder.groups[0].size).astype(np.int64)

    @cached_property
    def ground(self) -> int:
        """The figure of the ungeneralized table: what earlier steps took."""
        if self.terms.measure not in ("loss", "precision"):
            return 0  # entropy is that of the values as they come
        kept = 0
        for j, ladder in enumerate(self.ladders):
            counts = self._counts(ladder)
            at = self._worth_at[j, 0]
            kept += int(counts @ self._worth[at : at + counts.size])
        return WHOLE - kept

    def floor(self, levels: Levels) -> int:
        """What the node costs at least; nothing is grouped to say so."""
        if self.by_cells:
            costs = zip(self.level_costs, levels, strict=True)
            return self.ground + sum(int(cost[level]) for cost, level in costs)
        cells = 1
        for ladder, level in zip(self.ladders, levels, strict=True):
            cells = min(cells * ladder.open[level].size, len(self.tuples))
        if self.terms.measure == "average-class-size":
            return -cells
        # By Cauchy's inequality the squares are least when all classes are of one size.
        return max(-(-self.n * self.n // max(cells, 1)), self.n)

    def published(self, value: int) -> float:
        """A figure as it is told: 0 to 1, or a count."""
        if self.by_cells:
            return value / WHOLE
        if self.terms.measure == "average-class-size":
            return self.n / max(-value, 1)
        return float(value)

    def roll(self, levels: Levels) -> Rolled:
        """The node's classes, from the smallest node at or below it that is kept."""
        wanted = np.array(levels, dtype=np.int64)
        with self._lock:
            i = nearest_below(wanted, self._kept_levels, self._kept_sizes, len(self._kept))
            source, low = self._kept[i], self._kept_levels[i].tolist()
        found, _ = roll_up(source, self.fields, low, levels)
        if found is not source:
            with self._lock:
                self._keep(wanted, found)
        return found

    def _keep(self, levels: np.ndarray, found: Rolled) -> None:
        if len(self._kept) < SNAPSHOTS and self._held + len(found) <= ROOM * len(self.tuples):
            i = len(self._kept)
            self._kept.append(found)
        elif len(self._kept) > 1:
            self._oldest = self._oldest if self._oldest < len(self._kept) else 1
            i = self._oldest
            if self._held - len(self._kept[i]) + len(found) > (ROOM + 1) * len(self.tuples):
                return
            self._held -= len(self._kept[i])
            self._kept[i] = found
            self._oldest += 1
        else:
            return
        self._held += len(found)
        self._kept_levels[i], self._kept_sizes[i] = levels, len(found)

    def _places(self, levels: Levels) -> np.ndarray:
        return self._worth_at[np.arange(len(levels)), np.array(levels, dtype=np.int64)]

    def see(self, levels: Levels) -> Seen:
        """Group the records at these levels and count."""
        number = node_number(levels, self.shape)
        known = self._seen.get(number)
        if known is not None:
            return known
        found = self.roll(levels)
        k, measure = self.terms.k, self.terms.measure
        counted = tally(found, self.fields, k, self._worth, self._places(levels))
        at = self._hidden(levels, found)
        hidden = int(found.counts[at]) if at >= 0 else 0
        # Fewer than k of them need company, which there is none of without suppression.
        if hidden >= k:
            counted = counted._replace(kept=counted.kept - 1)
        elif hidden and self.terms.most:
            short, pairs = counted.short - hidden, counted.pairs - hidden**2
            counted = counted._replace(short=short, pairs=pairs)
        value, owed, least = self._figures(levels, counted, len(found), hidden)
        if measure == "average-class-size":
            owed = 0
        seen = Seen(levels, number, len(found), counted.short, hidden, value, owed, least)
        self._seen[number] = seen
        return seen

    def _hidden(self, levels: Levels, found: Rolled) -> int:
        """The class of records that have nothing but "*" left; -1 if there is none."""
        stars = [one.stars[level] for one, level in zip(self.ladders, levels, strict=True)]
        if min(stars) < 0:
            return -1
        key = np.zeros(self.fields.words, dtype=np.int64)
        for j, star in enumerate(stars):
            key[self.fields.word[j]] |= star << int(self.fields.shift[j])
        alike = (found.keys.reshape(-1, self.fields.words) == key).all(axis=1)
        return int(np.argmax(alike)) if alike.any() else -1

    def _figures(
        self, levels: Levels, counted: Tally, classes: int, hidden: int
    ) -> tuple[int, int, int]:
        if self.by_cells:
            floor = self.floor(levels)
            return floor + counted.price, counted.price, floor
        if self.terms.measure == "average-class-size":
            return -(counted.kept + (counted.short + hidden > 0)), 0, -classes
        n, k = self.n, self.terms.k
        value = counted.squares - counted.pairs + n * counted.short + (n - hidden) * hidden
        return value, counted.short * max(n - k + 1, 0), counted.squares

    def seen(self) -> list[Seen]:
        """What was counted so far."""
        return list(self._seen.values())

    @property
    def looked_at(self) -> int:
        """Nodes whose records were grouped."""
        return len(self._seen)

    def judge(self, levels: Levels) -> Judged:
        """Whether the node can be published, with which suppression, and its figure."""
        seen = self.see(levels)
        if seen.short > self.terms.most:
            return Judged(False, closed=True)
        found = self._judged.get(seen.number)
        if found is None:
            found = self._judge(seen)
            self._judged[seen.number] = found
        return found

    def _judge(self, seen: Seen) -> Judged:
        if not self.terms.rules and not 0 < seen.short + seen.hidden < self.terms.k:
            return Judged(True, seen.value, seen.short)
        settled = self.settle(seen.levels)
        if isinstance(settled, Judged):
            return settled
        gone, sizes, worth, hidden = settled
        suppressed = int(sizes[gone].sum())
        if self.by_cells:
            value = self.floor(seen.levels) + int(worth[gone].sum())
            return Judged(True, value, suppressed)
        alike = sizes[gone].sum() + (sizes[hidden] if hidden >= 0 else 0)
        own = ~gone & (np.arange(gone.size) != hidden)
        if self.terms.measure == "average-class-size":
            value = -(int(own.sum()) + int(alike > 0))
        else:
            value = int((sizes[own] ** 2).sum()) + self.n * int(alike)
        return Judged(True, value, suppressed)

    def settle(self, levels: Levels) -> Settled | Judged:
        """Which classes of a node are suppressed; or that it cannot be published.

        The suppressed records are published alike, together with those that have nothing but "*"
        left anyhow, and so are a class themselves: it has k records and keeps the rules, or there
        is none. Where they are fewer than k the class joins them that costs least.
        """
        rolled, place = self._from_tuples(levels)
        hidden = self._hidden(levels, rolled)
        there = int(rolled.counts[hidden]) if hidden >= 0 else 0
        sizes, k, most = rolled.counts, self.terms.k, self.terms.most
        worth = class_worth(rolled.keys, sizes, self.fields, self._worth, self._places(levels))
        gone = sizes < k
        own = np.arange(gone.size) != hidden
        gone &= own
        broken = None
        again = False
        if self.terms.rules:
            kept, broken = self._keeps(levels, place, gone, hidden)
            if most == 0 and broken is not None:
                return Judged(False, closed=broken.monotone)
            kept |= ~own
            again = bool((~kept & ~gone).any())
            gone = gone | ~kept
        suppressed = int(sizes[gone].sum())
        if suppressed > most:
            return Judged(False)
        if 0 < suppressed + there < k:
            fitting = np.flatnonzero(~gone & own & (sizes + suppressed <= most))
            if not fitting.size:
                return Judged(False)
            price = worth if self.by_cells else sizes * (self.n - sizes)
            order = np.lexsort((fitting, sizes[fitting], price[fitting]))
            gone[fitting[order[0]]] = again = True
        if self.terms.rules and again:
            broken = self._keeps(levels, place, gone, hidden)[1]
        if broken is not None:
            return Judged(False)
        return Settled(gone, sizes, worth, hidden)

    def _from_tuples(self, levels: Levels) -> tuple[Rolled, np.ndarray]:
        """The node's classes, and the class of each distinct tuple."""
        return roll_up(self.tuples, self.fields, self.bottom, levels, members=True)

    def _keeps(
        self, levels: Levels, place: np.ndarray, gone: np.ndarray, hidden: int
    ) -> tuple[np.ndarray, Criterion | None]:
        """Which classes keep every rule when these are suppressed, and a rule that one breaks."""
        own = np.cumsum(~gone) - 1
        # Suppressed records are one class.
        own[gone] = own[hidden] if hidden >= 0 else int((~gone).sum())
        labels = own[place][self.member]

        def shown() -> Table:
            first = np.zeros(int(labels.max()) + 1, dtype=np.int64)
            first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
            ladders = [replace(one, values=one.values[first]) for one in self.ladders]
            names = {one.name for one in ladders}
            few = self.table.without([name for name in self.table.names if name not in names])
            return publish(few.take(first), ladders, levels, gone[place][self.member][first])

        grouping = Grouping.of(self.table, labels, shown)
        kept, broken = np.ones(gone.size, dtype=bool), None
        for rule in self.terms.rules:
            keeps = rule.keeps(grouping)
            if not keeps.all():
                broken = rule if broken is None or rule.monotone else broken
            kept[~gone] &= keeps[own[~gone]]
        return kept, broken

    def classes(self, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """The keys of a node's classes, and each one's number as it is published; -1 for a
        suppressed one."""
        settled = self.settle(levels)
        assert not isinstance(settled, Judged)
        gone = settled.gone.copy()
        if settled.hidden >= 0 and gone.any():
            gone[settled.hidden] = True  # published alike
        own = np.where(gone, SUPPRESSED_LABEL, np.cumsum(~gone) - 1)
        return self._from_tuples(levels)[0].keys, own

    def labels(self, levels: Levels) -> np.ndarray:
        """The class of each row as it is published; -1 for a suppressed one."""
        found: np.ndarray = self.classes(levels)[1][self._from_tuples(levels)[1]][self.member]
        return found

    def least_suppression(self, levels: Levels) -> float:
        """The share of the records whose class fails k or a rule at this node."""
        rolled, place = self._from_tuples(levels)
        gone = rolled.counts < self.terms.k
        if self.terms.rules:
            hidden = self._hidden(levels, rolled)
            gone = gone | ~self._keeps(levels, place, np.zeros_like(gone), hidden)[0]
        return int(rolled.counts[gone].sum()) / max(self.n, 1)

    def number(self, levels: Levels) -> int:
        """The node's number."""
        return node_number(levels, self.shape)
