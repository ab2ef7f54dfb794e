"""Refine: the lowest loss that time allows, from any other search's groups."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from ...data.codec import Matrix
from ...data.points.space import Space
from ...kernels.groups import group_means
from ...kernels.micro import refine as kernel
from ...kernels.micro.refine import Search as State
from ...nested import Search, named
from ...progress import report
from ...protocols import Partitioner
from .base import Grouping, Microaggregator

DIGITS = 2
"""As many as `sse` publishes: more would be an equation for suppressed values."""
LONGEST = 1 << 20
"""Steps of a slice at most."""
QUICK, SLOW = 0.02, 0.1
"""Seconds of a slice of work below which the next is longer, above which it is shorter."""


class Refine(Microaggregator):
    """Improve another search's groups by moves, swaps and iterated local search.

    First every move of a record and every swap of two that lowers the loss is made. Then, step by
    step, a few neighbouring groups are formed anew at random and improved again, and that is undone
    unless it paid: the groups are never worse than those of `start`. Groups have k to 2k - 1
    records. The result depends on the seed and on the number of steps, not on the machine, unless
    `seconds` cuts it short.
    """

    name: ClassVar[str] = "refine"
    random: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"k": 5, "start": "mhm", "seconds": 20}
    paper: ClassVar[str] = (
        "Lourenço, Martin & Stützle 2003, Iterated local search; Hartigan 1975, Clustering "
        "algorithms (moves); Kirkpatrick, Gelatt & Vecchi 1983, Optimization by simulated annealing"
    )

    start: Search = named("mdav", "the search whose groups are improved, with the same k")
    steps: int | None = Field(
        None,
        ge=0,
        le=10**15,
        description="steps after the descent; unless given, 100 for each k records, or as many "
        "as `seconds` allows",
    )
    seconds: float | None = Field(
        None,
        gt=0,
        description="time after which the steps end, for each set of records that miss the "
        "same values; the groups then depend on the machine",
    )

    @field_validator("start")
    @classmethod
    def _groups_points(cls, start: Partitioner) -> Partitioner:
        if not isinstance(start, Microaggregator):
            raise ValueError(f'{start.name} does not group points: start = "mdav", for example')
        own = {"k", "weights", "category_weight", "scale"} & start.model_fields_set
        if own:
            raise ValueError(f"{', '.join(sorted(own))} of refine holds for its start as well")
        return start

    def sides(self, x: Matrix) -> np.ndarray | None:
        """What the search that it starts from wants to know."""
        assert isinstance(self.start, Microaggregator)
        return self.start.sides(x)

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        points = space.points
        labels = self._start(space, rng)
        before = float(np.square(points - group_means(labels, points)[labels]).sum())
        total = float(np.square(points - points.mean(axis=0)).sum())
        search = kernel.start(points, labels, self.k, int(rng.integers(2**63)))
        stopped = self._search(search, len(space))
        done = kernel.steps_done(search)
        share = 100.0 / total if total > 0 else 0.0
        facts = {
            "loss before": round(share * before, DIGITS),
            "loss after": round(share * kernel.best_loss(search), DIGITS),
            "steps": done,
            "improvements": kernel.improvements(search),
        }
        warnings: tuple[str, ...] = ()
        if stopped:
            warnings = (
                f"refine stopped after {done:,} steps on {len(space):,} records, when "
                f"{self.seconds} seconds were over: steps = {done} without seconds repeats the "
                "groups of these records",
            )
        return Grouping(kernel.best_labels(search), facts, warnings)

    def _start(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        """Labels of the search that this one starts from, made with this one's k."""
        assert isinstance(self.start, Microaggregator)
        found = self.start.model_copy(update={"k": self.k}).groups(space, rng)
        return found.labels if isinstance(found, Grouping) else found

    def _search(self, search: State, records: int) -> bool:
        """Descend, then take the steps in slices; whether time ended them."""
        if records < 2 * self.k:
            return False  # there is but one partition
        groups = records // self.k
        slice_size = 1_000
        while waiting := kernel.settle(search, slice_size):
            report("descending", max(groups - waiting, 0), groups)
        steps = self.steps
        if steps is None and self.seconds is None:
            steps = kernel.FIRST_CYCLE * records // self.k
        if self.seconds is not None:
            kernel.compile_search()
        begun = time.monotonic()
        slice_size = 16
        while True:
            done = kernel.steps_done(search)
            spent = time.monotonic() - begun
            if steps is not None:
                report("refining", done, steps)
                if done >= steps:
                    return False
            elif self.seconds is not None:
                report("refining", int(1_000 * min(spent / self.seconds, 1.0)), 1_000)
            if self.seconds is not None and spent >= self.seconds:
                return True
            kernel.run(search, slice_size if steps is None else min(slice_size, steps - done))
            taken = time.monotonic() - begun - spent
            # How steps are sliced changes nothing but how soon one hears of them.
            if taken < QUICK:
                slice_size = min(2 * slice_size, LONGEST)
            elif taken > SLOW:
                slice_size = max(1, slice_size // 2)
