"""Local recoding: the least information loss that a time budget finds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ..criteria.classes import Grouping
from ..data.codec import Matrix
from ..data.generalized.cell_costs import CostRule, cell_costs
from ..data.partition import Partition, require_group
from ..engines.relation import Tally
from ..engines.spread import Told
from ..engines.within import WithinBlocks
from ..errors import MethodError
from ..kernels import recoding as kernel
from ..kernels.joins.prices import in_units
from ..progress import report
from ..protocols import Criterion
from .cheap_groups import CheapGroups, Priced, keeping
from .constrained import counted_rules, cut_groups
from .mondrian import Mondrian

BEFORE, AFTER = "loss before", "loss after"
CLOCK, OUTLASTED = "ended by the clock", "construction outlasted the time"
DIGITS = 2
"""Of published losses, in percent."""
ENOUGH = 400
"""Steps for each record after which a small table is searched no further, whatever the time."""
HOT, COLD = 0.25, 0.04
"""Mean rise that a step may keep at the beginning and at the end, as a share of a record's cost."""
FIRST_SLICE = 256
"""Steps of each part in the first epoch of a search with a clock; then as many as time suggests."""
SHORT = 0.01
"""Share of the time below which an epoch may become longer."""
BUILDING = 0.3
"""Share of the time that the construction may take, where it can be ended."""
NEARLY = 1.2
"""How much more than the best start one may lose that promises more."""
AMPLE = 5.0
"""Seconds with which partners are looked for in as many orders as without a clock."""
LEFT = 0.5
"""Share of the time that the search has, however long the construction took."""


class LocalRecoding(WithinBlocks, CheapGroups):
    """Groups of k with the least information loss that a time budget finds.

    First the lattice of generalizations is visited from cheap to dear, and records are closed as
    groups as soon as k that are still open agree; where Mondrian's groups lose less, these are
    taken. Then, again and again, a few neighbouring groups are broken up and formed anew, and kept
    if they lose less, or by chance a little more (ruin and recreate, annealed). Each group is
    published at its least upper bound, and the loss counted is the one published (NCP). Columns may
    have any posets, and missing values.

    The groups depend on the machine when `seconds` end the search; with `steps` they depend on the
    seed alone, whatever the number of cores. t-closeness and l-diversity guide the search itself;
    groups that do not keep another criterion are joined with others at the end. `blocks` are
    searched one by one, each with its share of the time or steps.
    """

    name: ClassVar[str] = "local-recoding"
    random: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"k": 5, "seconds": 20}
    paper: ClassVar[str] = (
        "Xu, Wang, Pei, Wang, Shi & Fu 2006, Utility-based anonymization using local recoding; "
        "Schrimpf, Schneider, Stamm-Wilbrandt & Dueck 2000, Record breaking optimization results "
        "using the ruin and recreate principle; Kirkpatrick, Gelatt & Vecchi 1983, Optimization by "
        "simulated annealing"
    )

    seconds: float = Field(
        5.0,
        gt=0,
        description="time for construction and search, of which the search has half at least; "
        "small tables end sooner",
    )
    steps: int | None = Field(
        None,
        ge=0,
        le=10**12,
        description="steps of the search instead of a time: the groups are the same on every "
        "machine",
    )
    by: CostRule = Field(
        "ncp", description="what a cell loses: its share of the domain, or of the height"
    )
    suppress: float = Field(
        0.0,
        ge=0,
        le=1,
        description="largest share of records that may be suppressed, where their groups would "
        "break a criterion and joining them with others loses more",
    )

    @model_validator(mode="after")
    def _criteria_hold_for_all(self) -> LocalRecoding:
        if self.blocks and self.criteria:
            raise ValueError("criteria compare with all records: leave out `blocks` or `criteria`")
        return self

    def local_only(self) -> str:
        if reason := super().local_only():
            return reason
        return "a clock ends the search: give `steps`" if self.steps is None else ""

    def cut_weights(self) -> Mapping[str, float]:
        return self.importance

    def search_all(self, x: Matrix, rng: np.random.Generator) -> Partition:
        whole = x.columns[0].whole
        if whole is None:
            return self._found(x, rng)
        share = {"seconds": self.seconds * len(x) / whole.records}
        if self.steps is not None:
            share["steps"] = self.steps * len(x) // whole.records
        return self.model_copy(update=share)._found(x, rng)

    def counted(self, found: Partition, x: Matrix) -> Tally:
        """Losses in hundredths of a percent of each record, so that their sum is exact."""
        counts = {"records": len(x), "steps": found.facts["steps"]}
        for name in (BEFORE, AFTER):
            counts[name] = round(found.facts[name] * 10**DIGITS) * len(x)
        for name in (CLOCK, OUTLASTED):
            counts[name] = int(name in found.facts)
        return Tally(counts)

    def told(self, blocks: Any, tally: Tally) -> Told:
        total = tally.total
        facts: dict[str, Any] = {
            name: round(total[name] / total["records"] / 10**DIGITS, DIGITS)
            for name in (BEFORE, AFTER)
        }
        facts |= {"steps": total["steps"]}
        facts |= {name: True for name in (CLOCK, OUTLASTED) if total[name]}
        return Told(facts, warnings=self._late(facts) if self.steps is None else ())

    def _late(self, facts: Mapping[str, Any], building: float | None = None) -> tuple[str, ...]:
        if OUTLASTED in facts:
            took = "more seconds" if building is None else f"{building:.0f} seconds"
            return (
                f"{self.name} took {took} to form its first groups than the {self.seconds:g} it "
                f"was given, and had {LEFT * self.seconds:g} to improve them: give it more",
            )
        if CLOCK in facts:
            return (
                f"{self.name} ended when {self.seconds:g} seconds were over: another run may find "
                "other groups, unless steps are given instead",
            )
        return ()

    def _found(self, x: Matrix, rng: np.random.Generator) -> Partition:
        require_group(len(x), self.k)
        if self.steps is None:
            kernel.compile_search(ruled=counted_rules(x.table, self.criteria) is not None)
        begun = time.monotonic()
        found = cell_costs(x, by=self.by, importance=self.importance, exact=True)
        priced = Priced(x.table, in_units(found.joins), found.states)
        rules = counted_rules(x.table, self.criteria)
        seed, places = int(rng.integers(2**62)), kernel.PLACES
        if self.steps is None:
            places = int(min(places, self.seconds / AMPLE * places))
        given = kernel.records(found.joins, found.states, self.k, seed, rules, places)
        with ThreadPoolExecutor(1) as beside:
            near = beside.submit(kernel.partners, given)
            built, start = self._construct(x, priced, given, rng, begun)
            search = kernel.begin(given, built, near=near.result())
        building = time.monotonic() - begun
        # Whatever the construction took, half of the time is for the search.
        stopped = self._search(search, max(self.seconds - building, LEFT * self.seconds))
        labels = self._kept(priced, given, kernel.best_labels(search))
        before, after = _loss(given, start), _loss(given, labels)
        if after > before:
            labels, after = start, before
        facts: dict[str, Any] = {
            BEFORE: round(before, DIGITS),
            AFTER: round(after, DIGITS),
            "steps": search.steps,
        }
        if self.steps is None and building > self.seconds:
            facts[OUTLASTED] = True
        elif stopped:
            facts[CLOCK] = True
        return Partition.of(labels, facts, self._late(facts, building))

    def _construct(
        self,
        x: Matrix,
        priced: Priced,
        given: kernel.Records,
        rng: np.random.Generator,
        begun: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The groups to begin with, and the cheapest that keep the criteria: of the lattice's,
        Mondrian's and those cut under the rules."""

        def go_on(left: int) -> bool:
            report(f"{self.name}: first groups", len(x) - left, len(x))
            return self.steps is not None or (
                time.monotonic() - begun < BUILDING * self.seconds or left == len(x)
            )

        free = Mondrian(k=self.k, strict=False, importance=self.importance).partition(x, rng)
        others = cut_groups(given, np.array(free.labels), strict=False)
        # Where little time is left there is none for the lattice.
        built = [kernel.construct(given, go_on)] if go_on(len(x) - 1) else []
        starts = [*built, *others]
        kept = [(labels, self._kept(priced, given, labels)) for labels in starts]
        loss = [_loss(given, one) for _, one in kept]
        best = int(np.argmin(loss))
        # Under rules the lattice's groups lead further, though they may lose more at first.
        ruled = given.rules is not None and built
        begin = 0 if ruled and loss[0] <= NEARLY * loss[best] else best
        return kept[begin][0], kept[best][1]

    def _search(self, search: kernel.Search, seconds: float) -> bool:
        """Take steps until time or steps are over; whether it was the clock."""
        begun = time.monotonic()
        n = search.groups.label.size
        warm = search.total / n
        most = ENOUGH * n if self.steps is None else self.steps
        if n < 2 * self.k or warm <= 0:
            return False
        usual = kernel.epoch_steps(search)
        slice_size = usual if self.steps is not None else FIRST_SLICE
        with kernel.workers() as pool:
            while search.steps < most and search.total > 0:
                share = search.steps / most
                if self.steps is None:
                    share = max(share, (time.monotonic() - begun) / seconds)
                    if share >= 1:
                        return True
                report(self.name, int(1000 * share), 1000)
                wanted = min(slice_size, -(-(most - search.steps) // search.parts))
                took = time.monotonic()
                kernel.epoch(search, wanted, warm * HOT * (COLD / HOT) ** share, pool)
                took = time.monotonic() - took
                # Long enough to be worth dealing out the groups, and short beside the time given.
                if self.steps is None and took < SHORT * seconds:
                    slice_size = min(2 * slice_size, usual)
                elif self.steps is None and took > 4 * SHORT * seconds:
                    slice_size = max(slice_size // 2, 1)
        return False

    def _kept(self, priced: Priced, given: kernel.Records, labels: np.ndarray) -> np.ndarray:
        """Groups that keep the criteria: others are joined with some, or suppressed if that loses
        less. What is suppressed is published alike, and so must be a class like any other."""
        hidden = self._hidden(priced, labels)
        try:
            joined = keeping(priced, labels, self.criteria)
        except MethodError:
            if hidden is None:
                raise
            return hidden
        if hidden is not None and _loss(given, hidden) < _loss(given, joined):
            return hidden
        return joined

    def _hidden(self, priced: Priced, labels: np.ndarray) -> np.ndarray | None:
        """The labels with all groups that break a criterion suppressed, if that is allowed."""
        grouping = Grouping.of(priced.table, labels)
        kept = _sound(self.criteria, grouping)
        broken = ~kept[labels]
        if not self.k <= broken.sum() <= self.suppress * len(labels) or not kept.any():
            return None
        hidden = np.where(broken, -1, labels)
        as_class = Partition.of(np.where(broken, len(grouping), labels)).labels
        sound = _sound(self.criteria, Grouping.of(priced.table, as_class)).all()
        return Partition.of(hidden).labels if sound else None


def _sound(criteria: tuple[Criterion, ...], grouping: Grouping) -> np.ndarray:
    """Which classes keep all criteria."""
    kept = np.ones(len(grouping), dtype=bool)
    for criterion in criteria:
        kept &= np.asarray(criterion.keeps(grouping), dtype=bool)
    return kept


def _loss(given: kernel.Records, labels: np.ndarray) -> float:
    """The mean share of the domains, by weight, that the groups leave open, in percent."""
    whole = float(given.joins.star.sum()) * len(labels)
    return 100.0 * kernel.total_cost(given.joins, given.states, labels) / max(whole, 1e-300)
