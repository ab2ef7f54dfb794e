"""How many records those attack who act for money."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..criteria.classes import Grouping
from ..criteria.people.attacker_economics import WAN, Cost, Gain, Intruder
from ..data.people.repeated import COUNTED, people_hidden, with_people
from ..data.schema import Schema
from ..data.table import Table
from ..kernels.statistics.attacker_economics import Economics, attacked
from ..protocols import Context, Measurement
from .classes import Population, PopulationRisk, population_of


class PayingAttacks(PopulationRisk):
    """Share of records that it pays to attack.

    An attempt on a record succeeds with the chance 1 / f in a class of f people (the prosecutor),
    or 1 / F where the class has F people in the population (the journalist; F is found as for
    `journalist-risk`). It pays if `gain` times that chance exceeds `cost`, both in one currency;
    unless given they are those of the paper's case study. The class of suppressed records counts
    like any other. The per-record vector marks the records with 1.

    A record is a person unless an identifier says who has several; `detail["people"]` then says so.
    Of releases larger than memory, records are counted.

    A limit of 0 is the criterion `no-attack`, by which this measure can be called, too.

    >>> import sfumato as sf
    >>> t = sf.table({"q": list("aaab")}, quasi=["q"])
    >>> sf.measure("paying-attacks", t, t, gain=9, cost=3).value
    0.25
    """

    name: ClassVar[str] = "paying-attacks"
    aliases: ClassVar[tuple[str, ...]] = ("no-attack",)
    paper: ClassVar[str] = WAN
    limit: ClassVar[float | None] = 0.0

    gain: Gain = 300.0
    cost: Cost = 4.0
    intruder: Intruder = "prosecutor"

    def of_population(self, after: Population, before: Population) -> Measurement:
        detail: dict[str, Any] = {
            "quasi_identifiers": list(after.of.columns),
            "classes": after.of.classes,
            "records": after.of.records,
            "attacked_records": self._attacked(after),
            "intruder": self.intruder,
            **after.facts,
            "baseline": "the same figure before masking",
        }
        if self.intruder == "prosecutor":
            detail.pop("population", None)  # who knows that one takes part asks for no other
        return self.result(
            self._attacked(after) / after.of.records,
            baseline=self._attacked(before) / before.of.records,
            detail=detail,
        )

    def of_class(self, sizes: np.ndarray) -> np.ndarray:
        found = attacked(1.0 / sizes, Economics(0.0, 0.0, self.gain, self.cost))
        return found.astype(np.float64)

    def _attacked(self, found: Population) -> int:
        """The records of the classes that it pays to attack."""
        pays = self.of_class(found.sizes) > 0
        return int((found.of.size * found.of.many)[pays].sum())

    def uncounted(self, schema: Schema) -> str:
        return super().uncounted(schema) if self.intruder == "journalist" else ""

    def measure(self, context: Context) -> Measurement:
        found = super().measure(context)
        # Which records are one person's is not published, and the figure would tell of it.
        return replace(found, depends=None) if people_hidden(context.pair) else found

    def _populations(self, context: Context) -> tuple[Population, Population]:
        after = self._population(*with_people(context.pair), context)
        return after, self._population(context.pair.original, None, context)

    def _population(self, table: Table, key: str | None, context: Context) -> Population:
        grouping = Grouping.published(table, key)
        if self.intruder == "journalist":
            whole = self.reference == "population"
            found = population_of(
                context.pair, table, context.reference, holds_sample=whole, grouping=grouping
            )
        else:
            people = grouping.people.astype(np.float64)
            found = Population.by_class(grouping.classes, people, {})
        if grouping.people_key is not None:
            found.facts["people"] = COUNTED
        return found
