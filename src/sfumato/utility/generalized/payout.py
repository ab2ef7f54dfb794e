"""What a release pays its publisher, if attackers act for money."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...criteria.classes import Grouping
from ...criteria.people.attacker_economics import WAN, Benefit, Cost, Gain, Intruder, Penalty
from ...criteria.people.population import covered_people, fitting, weights_of
from ...data.people.repeated import COUNTED, people_hidden, with_people
from ...kernels.statistics.attacker_economics import Economics, attacked, payouts, published
from ...measurement import Direction
from ...protocols import Context, Measurement
from ..cells import certainty_penalties, dropped_records, facts, quasi_cells
from ..loss import TableLoss


class Payout(TableLoss):
    """What publishing a record pays on average, as a share of what it would bring untouched.

    A record that lost the share L of its information (its `ncp`) brings `benefit` (1 - L). If an
    attack on it pays, `gain` times the chance of success exceeding `cost`, it also costs `penalty`
    times that chance. The chance is 1 / f in a class of f people for a prosecutor, who knows who
    takes part, and 1 / F for a journalist, where the class has F people in the population: counted
    where there is a reference table, estimated by the sum of the weights where a column has that
    role, else the sample stands for the population. A record is a person unless an identifier says
    who has several; `detail["people"]` then says so. A record of which nothing is told (suppressed,
    or dropped) is not published and pays 0.

    1 is an untouched file that nobody attacks; below 0, publishing costs more than it brings.
    Amounts are in one currency; unless given they are those of the paper's case study, which are
    nobody else's. `detail["attacked_share"]` is the share of records that it pays to attack, and
    `private["total"]` the payout of all records in that currency. The baseline is what the table
    would pay as it was; the per-record vector holds each masked record's payout.

    >>> import sfumato as sf
    >>> original = sf.table({"age": [20, 30, 40]}, quasi="age")
    >>> found = sf.measure("payout", original, {"age": ["[20, 30]", "[20, 30]", "40"]},
    ...                    benefit=100, penalty=60, gain=10, cost=6)
    >>> found.per_record.tolist(), round(found.value, 3), found.baseline
    ([50.0, 50.0, 40.0], 0.467, 0.4)
    """

    name: ClassVar[str] = "payout"
    paper: ClassVar[str] = WAN
    direction: ClassVar[Direction] = "higher"
    bounds: ClassVar[tuple[float, float]] = (float("-inf"), 1.0)
    unit: ClassVar[str] = "%"
    compares: ClassVar[str | None] = "classes"

    benefit: Benefit = 1200.0
    penalty: Penalty = 300.0
    gain: Gain = 300.0
    cost: Cost = 4.0
    intruder: Intruder = "prosecutor"
    reference: Literal["non-participants", "population"] = Field(
        "non-participants",
        description="whether the reference table leaves the participants out or holds them too",
    )

    def measure(self, context: Context) -> Measurement:
        pair, amounts = context.pair, self._amounts
        cells = quasi_cells(pair, self.name)
        n, dropped = pair.masked.height, dropped_records(pair)
        loss = np.zeros(n)
        for cost in certainty_penalties(cells):
            loss += cost / len(cells)
        grouping = Grouping.published(*with_people(pair))
        success = self._success(grouping, context)
        paid = payouts(loss, success, amounts)
        # Cells that are gone, nobody knows from which records, brought nothing either.
        gone = sum(c.extra for c in cells) / len(cells)
        total = float(paid.sum()) - self.benefit * gone
        pays = attacked(success, amounts) & published(loss)
        before = self._success(Grouping.published(pair.original), context)
        raw = payouts(np.zeros(before.size), before, amounts)
        detail: dict[str, Any] = {
            **facts(cells, dropped),
            "records": n,
            "intruder": self.intruder,
            "attacked_records": int(pays.sum()),
            "attacked_share": float(pays.mean()),
            "baseline": "before masking",
        }
        if grouping.people_key is not None:
            detail["people"] = COUNTED
        found = self.result(
            total / (n + dropped) / self.benefit,
            baseline=float(raw.mean()) / self.benefit,
            per_record=paid,
            detail=detail,
            private={"total": total},
        )
        # Which records are one person's is not published, and the figure would tell of it.
        return replace(found, depends=None) if people_hidden(pair) else found

    def result(self, value: float, **more: Any) -> Measurement:
        # One record can leave one class and join another, so that attacks pay on both, or on none.
        return replace(
            super().result(value, **more), leverage=1.0 + 3.0 * self.penalty / self.benefit
        )

    @property
    def _amounts(self) -> Economics:
        return Economics(self.benefit, self.penalty, self.gain, self.cost)

    def _success(self, grouping: Grouping, context: Context) -> np.ndarray:
        """The chance that an attempt on each record succeeds."""
        people = grouping.people.astype(np.float64)
        if self.intruder == "journalist" and context.reference is not None:
            found = covered_people(grouping, context.reference, who="the reference table")[1]
            others, whole = found.counts(), self.reference == "population"
            people = np.maximum(people, others) if whole else people + others
        elif self.intruder == "journalist" and weights_of(grouping.table) is not None:
            people = np.maximum(people, fitting(grouping, "", None, asking=self.name)[0])
        return grouping.classes.of_records(1.0 / people)
