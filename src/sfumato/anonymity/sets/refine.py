"""The finisher: more utility from any other search's groups of sets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from ...data.partition import Partition
from ...errors import MethodError
from ...kernels.sets import refine as kernel
from ...kernels.sets.rows import weights_of
from ...nested import Search, named
from ...progress import report
from ...protocols import Partitioner
from .base import Sets, SetSearch, checked_start

ENOUGH = 1_000
"""Steps for each k records after which a small table is searched no further, whatever the time."""
WHOLE = 1 - 1e-12
"""Share of the utility beyond which nothing is left to win; the rest is rounding."""


class SetRefine(SetSearch):
    """Improve groups of sets by moves, swaps and new splits, as long as a budget lasts.

    Groups of 2k or more are split, which never loses. Then, step by step, two to four neighbouring
    groups are merged and grown anew around some of their sets, records move and pairs change places
    between them for as long as that pays, and it is undone if less is published than before: the
    utility is never below that of `start`. Groups have k to 2k - 1 records.

    The groups depend on the machine when `seconds` end the search; with `steps` they depend on the
    seed alone, whatever the number of cores.
    """

    name: ClassVar[str] = "set-refine"
    random: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"k": 5, "start": "set-mondrian", "seconds": 20}
    paper: ClassVar[str] = (
        "Schrimpf, Schneider, Stamm-Wilbrandt & Dueck 2000, Record breaking optimization results "
        "using the ruin and recreate principle; Hartigan 1975, Clustering algorithms (moves); on "
        "the utility of B. Podgursky: Practical k-anonymity on large datasets, 2011, chapter 3"
    )

    start: Search = named("set-mondrian", "the search whose groups are improved, with the same k")
    seconds: float = Field(
        10.0, gt=0, description="time after that of `start`; small tables end sooner"
    )
    steps: int | None = Field(
        None,
        ge=0,
        le=10**12,
        description="steps instead of a time: the groups are the same on every machine",
    )

    @field_validator("start")
    @classmethod
    def _groups_sets(cls, start: Partitioner) -> Partitioner:
        return checked_start(start, "set-refine", "set-mondrian")

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        assert isinstance(self.start, SetSearch)
        given = self.start.model_copy(update={"k": self.k}).search(sets, rng)
        if not isinstance(given, Partition):
            raise MethodError(
                f"{self.start.name} gives each record a set of its own, which cannot be refined",
                remedy='start from groups: start = "set-mondrian"',
            )
        if given.smallest < self.k:
            raise MethodError(
                f"{self.start.name} gives groups of fewer than {self.k}, which cannot be refined",
                remedy='start = "set-mondrian"',
            )
        search = kernel.begin(
            sets.starts, sets.items, sets.utilities, np.asarray(given.labels), self.k, rng
        )
        total = float(weights_of(sets.starts, sets.items, sets.utilities).sum())
        begun = time.monotonic()
        stopped = self._search(search, total, begun)
        after, labels = search.utility(), search.labels()
        if after < search.before:  # by rounding only
            after, labels = search.before, np.asarray(given.labels)
        # Two digits: more would tell, with what is published, how many items were not.
        share = 1.0 / total if total > 0 else 0.0
        facts = {
            "utility before": round(share * search.before, 2),
            "utility after": round(share * after, 2),
            "steps": search.steps,
        }
        warnings = given.warnings
        if stopped:
            warnings = (
                *warnings,
                f"{self.name} stopped after {search.steps:,} steps, when {self.seconds:g} seconds "
                f"were over: steps = {search.steps} repeats its groups",
            )
        return Partition(labels, facts, warnings)

    def _search(self, search: kernel.Search, total: float, begun: float) -> bool:
        """Take steps until time or steps are over; whether it was the clock."""
        records = search.rows.size
        most = ENOUGH * (records // self.k) if self.steps is None else self.steps
        if records < 2 * self.k:
            return False  # there is but one partition
        deadline = begun + self.seconds if self.steps is None else np.inf
        while search.steps < most and search.utility() < WHOLE * total:
            done = search.steps

            def tell(share: float, done: int = done) -> None:
                share = (done + share * (kernel.STEPS * search.sizes.size)) / most
                if self.steps is None:
                    share = max(share, (time.monotonic() - begun) / self.seconds)
                report(self.name, int(1_000 * min(share, 1.0)), 1_000)

            tell(0.0)
            if kernel.epoch(search, most - done, deadline=deadline, tell=tell):
                return True
        return False
