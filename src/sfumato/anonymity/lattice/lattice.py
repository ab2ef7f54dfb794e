"""The lattice of full-domain generalizations: what a node publishes, suppresses and costs.

A node is one level for each column. Its classes are rolled up from those of a finer node that was
looked at before. What it costs is its objective's to say (`objectives.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

import numpy as np

from ...criteria.classes import Grouping
from ...data.partition import SUPPRESSED_LABEL
from ...data.table import Table
from ...kernels.lattice.nodes import nearest_below, node_number
from ...kernels.lattice.rollup import Rolled, distinct, layout, roll_up, tally
from ...protocols import Criterion
from .columns import Ladder, publish
from .measures import objective_of
from .terms import Judged, Levels, Node, Seen, Settled, Terms

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
        self.objective = objective_of(self)

    def counts(self, ladder: Ladder) -> np.ndarray:
        """int64: how many records have each value of a column."""
        return np.bincount(ladder.values, self.count, ladder.groups[0].size).astype(np.int64)

    def floor(self, levels: Levels) -> int:
        """What the node costs at least; nothing is grouped to say so."""
        return self.objective.floor(levels)

    def published(self, value: int) -> float:
        """A figure as it is told."""
        return self.objective.published(value)

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

    def see(self, levels: Levels) -> Seen:
        """Group the records at these levels and count."""
        number = node_number(levels, self.shape)
        known = self._seen.get(number)
        if known is not None:
            return known
        objective, k = self.objective, self.terms.k
        if objective.members:
            found, place = self._from_tuples(levels)
        else:
            found, place = self.roll(levels), None
        node = Node(levels, found.keys, found.counts, self.hidden(levels, found), place)
        counted = tally(found, self.fields, k, objective.worth, objective.places(levels))
        hidden = node.untold
        # Fewer than k of them need company, which there is none of without suppression.
        if hidden >= k:
            counted = counted._replace(kept=counted.kept - 1)
        elif hidden and self.terms.most:
            short, pairs = counted.short - hidden, counted.pairs - hidden**2
            counted = counted._replace(short=short, pairs=pairs)
        figures = objective.figures(node, counted, fixed=self._fixed(counted.short, hidden))
        seen = Seen(levels, number, len(found), counted.short, hidden, *figures)
        self._seen[number] = seen
        return seen

    def _fixed(self, short: int, hidden: int) -> bool:
        """Whether the short classes are all that must be suppressed."""
        return not self.terms.rules and not 0 < short + hidden < self.terms.k

    def hidden(self, levels: Levels, found: Rolled) -> int:
        """The class of records that have nothing but "*" left; -1 if there is none."""
        stars = [one.stars[level] for one, level in zip(self.ladders, levels, strict=True)]
        if min(stars) < 0:
            return -1
        key = np.zeros(self.fields.words, dtype=np.int64)
        for j, star in enumerate(stars):
            key[self.fields.word[j]] |= star << int(self.fields.shift[j])
        alike = (found.keys.reshape(-1, self.fields.words) == key).all(axis=1)
        return int(np.argmax(alike)) if alike.any() else -1

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
        if self.objective.exact and self._fixed(seen.short, seen.hidden):
            return Judged(True, seen.value, seen.short)
        settled = self.settle(seen.levels)
        if isinstance(settled, Judged):
            return settled
        node, gone = settled
        return Judged(True, self.objective.settled(node, gone), int(node.sizes[gone].sum()))

    def settle(self, levels: Levels) -> Settled | Judged:
        """Which classes of a node are suppressed; or that it cannot be published.

        The suppressed records are published alike, together with those that have nothing but "*"
        left anyhow, and so are a class themselves: it has k records and keeps the rules, or there
        is none. Where they are fewer than k the class joins them that costs least.
        """
        node = self.node(levels)
        sizes, k, most = node.sizes, self.terms.k, self.terms.most
        own = node.own
        gone = (sizes < k) & own
        broken = None
        again = False
        if self.terms.rules:
            kept, broken = self._keeps(node, gone)
            if most == 0 and broken is not None:
                return Judged(False, closed=broken.monotone)
            kept |= ~own
            again = bool((~kept & ~gone).any())
            gone = gone | ~kept
        suppressed = int(sizes[gone].sum())
        if suppressed > most:
            return Judged(False)
        if 0 < suppressed + node.untold < k:
            fitting = np.flatnonzero(~gone & own & (sizes + suppressed <= most))
            if not fitting.size:
                return Judged(False)
            gone[self.objective.joins(node, gone, fitting)] = again = True
        if self.terms.rules and again:
            broken = self._keeps(node, gone)[1]
        if broken is not None:
            return Judged(False)
        return Settled(node, gone)

    def node(self, levels: Levels) -> Node:
        """The node's classes, and the class of each distinct tuple."""
        found, place = self._from_tuples(levels)
        return Node(levels, found.keys, found.counts, self.hidden(levels, found), place)

    def _from_tuples(self, levels: Levels) -> tuple[Rolled, np.ndarray]:
        return roll_up(self.tuples, self.fields, self.bottom, levels, members=True)

    def _keeps(self, node: Node, gone: np.ndarray) -> tuple[np.ndarray, Criterion | None]:
        """Which classes keep every rule when these are suppressed, and a rule that one breaks."""
        place, hidden = node.place, node.hidden
        assert place is not None
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
            return publish(few.take(first), ladders, node.levels, gone[place][self.member][first])

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
        node, gone = settled.node, settled.gone.copy()
        if node.hidden >= 0 and gone.any():
            gone[node.hidden] = True  # published alike
        return node.keys, np.where(gone, SUPPRESSED_LABEL, np.cumsum(~gone) - 1)

    def labels(self, levels: Levels) -> np.ndarray:
        """The class of each row as it is published; -1 for a suppressed one."""
        found: np.ndarray = self.classes(levels)[1][self._from_tuples(levels)[1]][self.member]
        return found

    def least_suppression(self, levels: Levels) -> float:
        """The share of the records whose class fails k or a rule at this node."""
        node = self.node(levels)
        gone = node.sizes < self.terms.k
        if self.terms.rules:
            gone = gone | ~self._keeps(node, np.zeros_like(gone))[0]
        return int(node.sizes[gone].sum()) / max(self.n, 1)

    def number(self, levels: Levels) -> int:
        """The node's number."""
        return node_number(levels, self.shape)
