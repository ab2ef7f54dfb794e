"""Full-domain generalization: one level for each column, the best that the criteria leave."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.partition import Partition
from ...data.table import Table
from ...errors import MethodError
from ...nested import Rule
from ...protocols import Method, Outcome
from .columns import ladder, publish
from .lattice import Lattice, Terms
from .optimal import Budget, Found
from .strategies import PAPERS, search

FEWEST_TOLD = 10
"""Records from which a realised share is published, as are all the others."""


class FullDomain(Method):
    """Generalize every column to one level of its hierarchy, the best there is.

    Level 0 is the value, the last level "*". Records whose class fails k or a criterion are
    suppressed: all their quasi-identifiers become "*", and they stay in the table. They may be
    `suppress` of all records at most. Suppressed records look alike and so are a class themselves:
    it has k records and satisfies the criteria, too, or there is none; where they would be fewer
    than k, the class that costs least joins them.

    By default the level of every column is the optimum for the measure, proved: nodes of the
    lattice are looked at from cheap to dear, and most are ruled out unseen. `measure` is

    - loss: the normalized certainty penalty, a suppressed record costs 1;
    - precision: heights in the hierarchies (1 - PREC);
    - entropy: the share of the columns' entropy that is lost (non-uniform entropy);
    - discernibility: squared class sizes, a suppressed record costs as much as the table has;
    - average-class-size: records per class.

    With strategy "samarati", "incognito", "ola" or "datafly" the search of that paper chooses.
    "top-down" and "bottom-up" walk lattices that are too large for that, within `seconds` or
    `steps`; the facts say how far the result may be from the optimum.

    A column without a hierarchy has two levels, its values and "*". A missing value is a category
    of its own, and becomes "*" at the last level only.
    """

    name: ClassVar[str] = "full-domain"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    aliases: ClassVar[tuple[str, ...]] = ("optimal-lattice", "global-lattice")
    example: ClassVar[dict[str, Any]] = {"k": 5, "suppress": 0.02}
    paper: ClassVar[str] = "; ".join(
        PAPERS[name] for name in ("samarati", "incognito", "ola", "optimal")
    )

    k: int = Field(5, ge=1, description="records that must share each combination")
    suppress: float = Field(
        0.0, ge=0, le=1, description="share of the records that may be suppressed"
    )
    criteria: tuple[Rule, ...] = Field(
        (), description='further criteria: [{ use = "t-closeness", at-most = 0.2 }]'
    )
    measure: Literal["loss", "precision", "entropy", "discernibility", "average-class-size"] = (
        Field("loss", description="what the best generalization loses least of")
    )
    importance: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="weight of a column's cells (1 unless given): dear columns stay precise",
    )
    strategy: Literal[
        "optimal", "samarati", "incognito", "datafly", "ola", "top-down", "bottom-up"
    ] = Field("optimal", description="how the lattice is searched")
    seconds: float | None = Field(
        None, gt=0, description="time for optimal, top-down and bottom-up; the best so far counts"
    )
    steps: int | None = Field(
        None, ge=1, description="the same in nodes looked at, which no clock decides"
    )

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.importance and self.measure in ("discernibility", "average-class-size"):
            raise ValueError(f"importance weighs cells, and {self.measure} looks at classes only")
        limited = self.seconds is not None or self.steps is not None
        if limited and self.strategy not in ("optimal", "top-down", "bottom-up"):
            raise ValueError(
                f'{self.strategy} has no budget: seconds and steps go with strategy = "optimal", '
                '"top-down" or "bottom-up"'
            )
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        self._check(table, chosen)
        lattice = self.lattice(table, chosen)
        budget = Budget(self.seconds, self.steps)
        found = search(lattice, self.strategy, budget)
        if found.levels is None:
            raise self._none(lattice, found)
        labels = lattice.labels(found.levels)
        changed = publish(table, lattice.ladders, found.levels, labels < 0)
        flat = [one.name for one in lattice.ladders if not one.hierarchy]
        warnings = [
            f"{name} has no hierarchy of levels: it could only be kept or suppressed as a whole "
            "(give it a poset such as bins, prefix or hierarchy)"
            for name in flat
        ]
        if found.levels == lattice.top:
            warnings.append("every quasi-identifier had to be suppressed")
        return Outcome(
            changed,
            partition=Partition(labels),
            facts=self._facts(lattice, found, labels, flat, budget),
            warnings=tuple(warnings),
        )

    def lattice(self, table: Table, columns: list[str]) -> Lattice:
        """The lattice of these columns under this declaration's terms."""
        terms = Terms(
            self.k,
            # So that a third of 30 is 10, whatever the last bit says.
            min(int(self.suppress * table.height + 1e-9), table.height),
            self.criteria,
            self.measure,
            tuple(self.importance.get(name, 1.0) for name in columns),
        )
        return Lattice(table, [ladder(table, name) for name in columns], terms)

    def _check(self, table: Table, chosen: list[str]) -> None:
        if table.height < max(self.k, 1):
            raise MethodError(
                f"a table of {table.height} cannot be made {self.k}-anonymous",
                remedy="release nothing, or lower k",
            )
        stray = [name for name in self.importance if name not in chosen]
        if stray:
            raise MethodError(
                f"importance names {stray[0]!r}, which is not among the columns to generalize",
                remedy=f"the columns are {', '.join(chosen)}",
            )

    def _none(self, lattice: Lattice, found: Found) -> MethodError:
        rules = " and ".join([f"k = {self.k}", *(rule.name for rule in self.criteria)])
        broken = lattice.least_suppression(lattice.top)
        needs = (
            f"fully generalized, {broken:.1%} of the records would have to be suppressed"
            if broken < 1
            else "the whole table as one class does not satisfy them either"
        )
        # Which records to suppress for a criterion is tried one way, not every way.
        every = self.strategy == "optimal" and not found.ended
        sure = every and not (self.criteria and lattice.terms.most)
        none = "no combination of levels satisfies" if sure else "found no levels that satisfy"
        return MethodError(
            f"{none} {rules} with {self.suppress:.1%} of the records suppressed: {needs}",
            remedy="raise suppress, lower k, or loosen criteria",
        )

    def _facts(
        self,
        lattice: Lattice,
        found: Found,
        labels: np.ndarray,
        flat: list[str],
        budget: Budget,
    ) -> dict[str, Any]:
        assert found.levels is not None
        ladders = zip(lattice.ladders, found.levels, strict=True)
        facts: dict[str, Any] = {
            "strategy": self.strategy,
            "paper": PAPERS[self.strategy],
            "levels": {one.name: level for one, level in ladders},
            "highest levels": {one.name: one.levels - 1 for one in lattice.ladders},
            self.measure: round(lattice.published(found.value), 4),
            "nodes checked": lattice.looked_at,
            "nodes": lattice.size,
        }
        if flat:
            facts["without a hierarchy"] = flat
        gone = lattice.judge(found.levels).suppressed
        if min(gone, labels.size - gone) >= FEWEST_TOLD:
            # Two digits that count: of a large table even many records are a small share.
            facts["suppressed share"] = float(f"{gone / labels.size:.2g}")
        if found.ended and found.bound is not None:
            facts["ended early"] = "by the clock" if budget.by_clock else "after its steps"
            facts["lower bound"] = round(lattice.published(found.bound), 4)
            gap = lattice.published(found.value) - lattice.published(found.bound)
            facts["gap"] = round(gap, 4)
        return facts
