"""What searches for cheap groups share: records as states, criteria kept, and time to search."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from ..criteria.classes import Grouping
from ..data.codec import Matrix
from ..data.generalized.cell_costs import cell_costs
from ..data.partition import Partition, require_group
from ..data.table import Table
from ..errors import MethodError
from ..kernels.classes.moves import join_chosen, total_cost
from ..kernels.classes.regroup import cut_large
from ..kernels.joins.prices import WHOLE, Prices, in_units
from ..nested import Rule, Search, named
from ..progress import report
from ..protocols import Criterion, Partitioner

DIGITS = 2
"""Of published losses, in percent."""
QUICK, SLOW = 0.02, 0.1
"""Seconds of a slice of work below which the next is longer, above which it is shorter."""


@dataclass(frozen=True, eq=False)
class Priced:
    """The records of a table as states, and the price of joining them."""

    table: Table
    prices: Prices
    states: np.ndarray

    def loss(self, labels: np.ndarray) -> float:
        """The mean share of the domains, by weight, that the groups leave open, in percent."""
        return 100.0 * total_cost(self.prices, self.states, labels) / (WHOLE * len(labels))


class CheapGroups(Partitioner):
    """Groups of at least k whose least upper bounds cost little, and which keep criteria."""

    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True

    k: int = Field(5, ge=2, description="smallest group")
    importance: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="weight of a column's loss (1 unless given): dear columns stay precise",
    )
    criteria: tuple[Rule, ...] = Field(
        (), description="criteria that every group must keep; one that does not joins another"
    )

    def priced(self, x: Matrix) -> Priced:
        """The records, or an error where there are too few."""
        require_group(len(x), self.k)
        return price(x, self.importance)


def price(x: Matrix, importance: Mapping[str, float]) -> Priced:
    """The records as states, and what joining them costs."""
    found = cell_costs(x, importance=importance)
    return Priced(x.table, in_units(found.joins), found.states)


def keeping(priced: Priced, labels: np.ndarray, criteria: Sequence[Criterion]) -> np.ndarray:
    """The groups, joined until every one keeps the criteria; `MethodError` if even one group of all
    records does not."""
    labels = np.asarray(labels, dtype=np.int64)
    while criteria:
        grouping = Grouping.of(priced.table, labels)
        kept = np.ones(len(grouping), dtype=bool)
        for criterion in criteria:
            kept &= np.asarray(criterion.keeps(grouping), dtype=bool)
        if kept.all():
            break
        if len(grouping) == 1:
            broken = [c.name for c in criteria if not np.all(c.keeps(grouping))]
            raise MethodError(
                f"all records in one group do not keep {' and '.join(broken)}",
                remedy="weaken the criterion, or leave it to [require]",
            )
        labels = join_chosen(priced.prices, priced.states, labels, np.flatnonzero(~kept))
    return labels


class Improvement(CheapGroups):
    """A search that begins with another one's groups and never returns worse ones."""

    random: ClassVar[bool] = True

    start: Search = named("mondrian", "the search whose groups are improved, with the same k")
    steps: int | None = Field(
        None,
        ge=0,
        le=10**15,
        description="steps to take; unless given, some for each record, or as many as "
        "`seconds` allows",
    )
    seconds: float = Field(
        0.0,
        ge=0,
        description="time after which the search ends (0: none); the groups then depend on "
        "the machine",
    )

    usual_steps: ClassVar[float] = 10.0
    """Steps for each record, unless said."""

    @field_validator("start")
    @classmethod
    def _takes_over(cls, start: Partitioner) -> Partitioner:
        own = {"k", "importance", "criteria"} & start.model_fields_set
        if own:
            raise ValueError(f"{', '.join(sorted(own))} of {cls.name} holds for its start as well")
        return start

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        priced = self.priced(x)
        given = self._start(x, rng)
        # What the start promises is what it is without our criteria: they may have to join groups.
        start = keeping(priced, given, self.criteria)
        labels = cut_large(priced.prices, priced.states, given, self.k)
        before = priced.loss(start)
        if self.seconds:
            self._compile(priced)
        clock = Clock(self._steps(len(x)), self.seconds, self.name)
        best = start
        if len(x) >= 2 * self.k and priced.loss(labels) > 0:
            found = keeping(priced, self.improve(priced, labels, clock, rng), self.criteria)
            if priced.loss(found) < before:
                best = found
        facts: dict[str, Any] = {
            "loss before": round(before, DIGITS),
            "loss after": round(priced.loss(best), DIGITS),
            "steps": clock.done,
        }
        warnings: tuple[str, ...] = ()
        if clock.stopped:
            facts["ended by the clock"] = True
            warnings = (
                f"{self.name} ended after {clock.done:,} steps, when {self.seconds:g} seconds were "
                "over: another run may find other groups",
            )
        return Partition.of(best, facts, warnings)

    def _compile(self, priced: Priced) -> None:
        """One step on the first few records, so that no compiling is done while the clock runs."""
        few = np.arange(min(4 * self.k, len(priced.states)))
        some = Priced(priced.table, priced.prices, np.ascontiguousarray(priced.states[few]))
        if few.size >= 2 * self.k:
            labels = np.minimum(few // self.k, few.size // self.k - 1)
            self.improve(some, labels, Clock(1, 0.0, ""), np.random.default_rng(0))

    @abstractmethod
    def improve(
        self, priced: Priced, labels: np.ndarray, clock: Clock, rng: np.random.Generator
    ) -> np.ndarray:
        """Labels of the best partition found; those given have groups of k to 2k - 1."""

    def _steps(self, records: int) -> int | None:
        if self.steps is None and self.seconds == 0:
            return int(self.usual_steps * records)
        return self.steps

    def _start(self, x: Matrix, rng: np.random.Generator) -> np.ndarray:
        """Labels of the search that this one begins with, made with this one's k and weights."""
        ours = {"k": self.k, "importance": self.importance}
        ours = {
            name: given for name, given in ours.items() if name in type(self.start).model_fields
        }
        found = self.start.model_copy(update=ours).partition(x, rng)
        if not isinstance(found, Partition) or found.suppressed.any():
            raise MethodError(
                f"{self.start.name} does not put every record into one group",
                remedy='begin with another search, such as start = "mondrian"',
            )
        if found.smallest < self.k:
            raise MethodError(
                f"{self.start.name} gives groups of fewer than {self.k}",
                remedy='begin with another search, such as start = "mondrian"',
            )
        return np.array(found.labels)


class Clock:
    """Slices a search, tells of its progress, and says when it is over.

    How steps are sliced depends on the clock unless `even` slices are asked for, and so must never
    change what they do.
    """

    def __init__(self, steps: int | None, seconds: float, what: str) -> None:
        self.steps, self.seconds, self.what = steps, seconds, what
        self.done = 0
        self.stopped = False
        self.begun = np.inf

    @property
    def share(self) -> float:
        """How much of the search is over: by its steps, or else by its time."""
        if self.steps is not None:
            return min(self.done / max(self.steps, 1), 1.0)
        return min((time.monotonic() - self.begun) / self.seconds, 1.0)

    def over(self) -> bool:
        """Whether the search is at its end."""
        if self.what:
            report(self.what, int(1000 * self.share), 1000)
        if self.steps is not None and self.done >= self.steps:
            return True
        if self.seconds and time.monotonic() - self.begun >= self.seconds:
            self.stopped = True
        return self.stopped

    def run(self, take: Callable[[int, float], int], slices: int = 100) -> None:
        """Call take(steps, share of the search that is over) until the end: it returns how many it
        took. With steps, each slice is one of `slices` equal ones; without, some milliseconds."""
        size = 64 if self.steps is None else max(self.steps // slices, 1)
        self.begun = time.monotonic()
        while not self.over():
            if self.steps is not None:
                size = min(size, self.steps - self.done)
            begun = time.monotonic()
            self.done += take(size, self.share)
            if self.steps is None:
                taken = time.monotonic() - begun
                if taken < QUICK:
                    size = min(2 * size, 1 << 20)
                elif taken > SLOW:
                    size = max(1, size // 2)
