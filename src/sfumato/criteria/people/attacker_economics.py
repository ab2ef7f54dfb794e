"""Criteria on an attacker who acts for money: nobody attacks, or every record pays all the same."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.generalized.lost_shares import lost_shares
from ...data.pair import Pair
from ...data.people.repeated import with_people
from ...data.schema import Schema
from ...data.table import Table
from ...errors import MeasureError
from ...kernels.statistics.attacker_economics import Economics, attacked, payouts, published
from ...protocols import Criterion, Finding, OnParts
from ..classes import Grouping
from ..verdict import Judged, OfClasses, verdict
from .population import People, Share, fitting

WAN = (
    "Wan, Vorobeychik, Xia, Clayton, Kantarcioglu, Ganta, Heatherly & Malin (2015), A game "
    "theoretic framework for analyzing re-identification risk, PLOS ONE 10(3) e0120592"
)
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Benefit = Annotated[
    _Positive, Field(description="what a record brings that is published as it is")
]
Penalty = Annotated[
    _Amount, Field(description="what a record costs that is attacked with success")
]
Gain = Annotated[_Positive, Field(description="what an attacker gains by a record that is found")]
Cost = Annotated[_Positive, Field(description="what one attempt costs an attacker")]
Intruder = Annotated[
    Literal["prosecutor", "journalist"],
    Field(description="who attacks: knowing who takes part, or the population alone"),
]


class _Attacked(OfClasses):
    """What both share: how likely an attempt succeeds, and what it takes."""

    paper: ClassVar[str] = WAN

    gain: Gain = 300.0
    cost: Cost = 4.0
    intruder: Intruder = "prosecutor"
    population: People = Field(
        "", description="the journalist's population, a file", json_schema_extra={"file": True}
    )
    share: Share = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.population != "" and self.share is not None:
            raise ValueError("give the population or the share of it, not both")
        if self.intruder == "prosecutor" and (self.population != "" or self.share is not None):
            raise ValueError("a prosecutor knows who takes part: no population, no share")
        return self

    def _found(self, grouping: Grouping, original: Table | None = None) -> Finding:
        if not grouping.classes.columns:
            raise MeasureError(
                f"{self.name} means nothing without quasi-identifiers",
                remedy='give the columns that others may know the role "quasi"',
            )
        return verdict(self, grouping, self._judged(grouping, original))

    @abstractmethod
    def _judged(self, grouping: Grouping, original: Table | None = None) -> Judged:
        """How the classes do; of a release whose original is at hand, by that."""

    def _success(self, grouping: Grouping) -> tuple[np.ndarray, dict[str, Any]]:
        """The chance that an attempt on a record of each class succeeds, and how it is known."""
        detail: dict[str, Any] = {
            "quasi_identifiers": list(grouping.classes.columns),
            "records": grouping.table.height,
            "intruder": self.intruder,
        }
        fits: np.ndarray = grouping.people
        if self.intruder == "journalist":
            fits, detail["population"] = fitting(
                grouping, self.population, self.share, asking=self.name
            )
        # Whom a record fits is at least the person that it is of.
        return 1.0 / np.maximum(fits, 1), detail


class NoAttack(_Attacked):
    """Nobody who acts for money attacks a record: the attempt costs as much as it brings, or more.

    An attempt on a record succeeds with the chance 1 / f where f people share its published
    quasi-identifiers (the prosecutor, who knows who takes part), or 1 / F where they fit F people
    of the population (the journalist; F is counted or estimated as `k-map` does). It pays if
    `gain` times that chance is more than `cost`. The figure is the largest expected gain: it must
    not exceed the cost. For a prosecutor that is k-anonymity with k = gain / cost, rounded up.

    The amounts are in one currency, and their ratio is all that counts. Unless given they are
    those of the paper's case study, which are nobody else's. The class of suppressed records counts
    like any other, and people are counted as by k-anonymity. `paying-attacks` is its measure.

    >>> from sfumato.data.table import table
    >>> t = table({"q": list("aaab")}, quasi=["q"])
    >>> print(NoAttack(gain=9, cost=3).check(t))
    the expected gain of an attack is 9 (limit 3) in 1 of 2 classes
    """

    name: ClassVar[str] = "no-attack"
    example: ClassVar[dict[str, Any]] = {"gain": 300.0, "cost": 4.0}
    beside_cover: ClassVar[bool] = True
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "sizes"

    def gap(self, schema: Schema) -> str:
        if self.intruder == "journalist":
            return f"{self.name} looks for the population of each class beside the release"
        return Criterion.gap(self, schema)

    def _judged(self, grouping: Grouping, original: Table | None = None) -> Judged:
        success, detail = self._success(grouping)
        pays = attacked(success, Economics(0.0, 0.0, self.gain, self.cost))
        subject = "the expected gain of an attack"
        return Judged(self.gain * success, ~pays, subject, self.cost, detail)


class PositivePayout(_Attacked):
    """Publishing pays for every record, even if those who act for money attack it.

    A record that lost the share L of its information pays `benefit` (1 - L), less `penalty` times
    the chance of success if an attack on it pays (see `no-attack`). L is the record's `ncp`, the
    mean share of the domain that its quasi-identifiers leave open. The figure is the smallest
    payout of a class, which must exceed `above`. A record of which nothing is told, all cells
    suppressed or generalized to everything, is not published, pays nothing and breaks nothing.

    To join classes lowers what an attack finds and what a record is worth, so that a search cannot
    prune by this. Of a release without its original, labels are read by what they were generalized
    with. Sets have no L of their own row: require the measure `payout` of them.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> before = table({"age": [20, 25, 40]}, quasi=["age"])
    >>> after = table({"age": ["[20, 25]", "[20, 25]", "40"]}, quasi=["age"])
    >>> found = PositivePayout(benefit=100, penalty=120, gain=10, cost=4)
    >>> print(found.check_pair(Pair.of(before, after)))
    the smallest payout is -20 (limit 0) in 1 of 2 classes
    """

    name: ClassVar[str] = "positive-payout"
    aliases: ClassVar[tuple[str, ...]] = ("payout",)
    example: ClassVar[dict[str, Any]] = {
        "benefit": 1200.0,
        "penalty": 300.0,
        "gain": 300.0,
        "cost": 4.0,
    }

    benefit: Benefit = 1200.0
    penalty: Penalty = 300.0
    above: _Amount = Field(0.0, description="what a record must pay more than")

    def gap(self, schema: Schema) -> str:
        return f"{self.name} reads what each label costs by the whole column"

    def check_pair(self, pair: Pair) -> Finding:
        return self._found(Grouping.published(*with_people(pair)), pair.original)

    def _judged(self, grouping: Grouping, original: Table | None = None) -> Judged:
        success, detail = self._success(grouping)
        # Of a search, the table that it generalizes reads the labels; of a release, the release.
        loss = lost_shares(grouping.shown, grouping.table if original is None else original)
        told = published(loss)
        amounts = Economics(self.benefit, self.penalty, self.gain, self.cost)
        paid = payouts(loss, success, amounts)
        # What is not published is no record's payout.
        figures = np.where(told, paid, paid[told].max() if told.any() else self.above)
        subject = "the smallest payout"
        return Judged(
            figures, ~told | (paid > self.above), subject, self.above, detail, at_least=True
        )
