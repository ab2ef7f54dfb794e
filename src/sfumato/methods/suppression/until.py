"""Local suppression that goes on until risks estimated by sampling weights are within limits.

Records above some risk are lowered to it. Where suppressed cells match anything nobody's risk
rises meanwhile. Where they are values of their own, who leaves a class would raise the risk of
those who stay, so that whole classes move. So a figure of all risks is within its limit once every
record above that risk is lowered to it, whatever becomes of the others. That risk is enough, and
often more than enough: the company that records get lowers the risk of others. A higher one is
enough, too, if the recount says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ...data.people.households import households
from ...data.people.repeated import people_counted
from ...data.schema import Role
from ...data.table import Table
from ...errors import MethodError
from ...kernels.arrays import Floats
from ...kernels.statistics.individual_risk import (
    highest_allowed,
    household_risk,
    individual_risk,
    settled,
)
from ...kernels.suppression.matches import class_labels
from ...kernels.suppression.searches import match_worth
from ...progress import report
from ...protocols import Outcome
from ..counts import weights_of
from .cells import Cells

Figure = Literal["individual-risk", "household-risk", "global-risk"]
Limits = dict[Figure, Annotated[float, Field(gt=0, le=1)]]
_RUNS = 10
"""Searches for a higher risk that is enough as well."""


@dataclass(frozen=True, eq=False)
class Goal:
    """Limits on figures of a table's risks, and the risk to which every record is lowered."""

    limits: Limits
    figures: dict[Figure, Callable[[Floats], Any]]
    """each as a function of the risks of all records"""
    chosen: list[str]
    wildcard: bool
    count: Floats
    """float64 (2, n): every record as one, and its weight"""
    allowed: float = 1.0

    @classmethod
    def of(
        cls, table: Table, chosen: list[str], limits: Limits, *, wildcard: bool, asking: str
    ) -> Goal:
        """The goal for a table as it is."""
        if (people := people_counted(table)) is not None:
            # Records of one person hide nobody, and the measures count people.
            raise MethodError(
                f"{asking} with until counts records as people, and {people}",
                remedy="keep one record of each person, or use mondrian or local-recoding with "
                "k-anonymity among its criteria, which counts people",
            )
        count = np.ones((2, table.height))
        if table.schema.of_role(Role.WEIGHT):
            count[1] = weights_of(table, asking)
        figures: dict[Figure, Callable[[Floats], Any]] = {}
        for name in limits:
            if name == "household-risk":
                homes = households(table, f"{asking} until {name}")
                figures[name] = partial(_worst_household, homes)
            else:
                figures[name] = _highest if name == "individual-risk" else _mean
        return cls(limits, figures, chosen, wildcard, count)

    def worth(self, sums: Floats) -> Floats:
        """How far classes with these sums are on their way: 1 and more where they are safe."""
        return np.asarray(self.allowed / individual_risk(*sums))

    def reached(self, table: Table, search: Callable[[Goal], Outcome], asking: str) -> Outcome:
        """What the search makes of the table at the highest risk that keeps all limits."""
        risk = self._risks(table)
        low = min(
            highest_allowed(risk, limit, self.figures[name]) for name, limit in self.limits.items()
        )
        high = min(float(risk.max()), self.limits.get("individual-risk", 1.0))
        least = float(individual_risk(*self.count.sum(axis=1)))
        if least > low:
            said = ", ".join(f"{name} = {limit:g}" for name, limit in self.limits.items())
            raise MethodError(
                f"{asking} cannot reach {said}: no record's risk may be above {low:.3g}, and with "
                f"every cell suppressed it is {least:.3g}",
                remedy="raise the limit, or mend the weights if they should sum to more",
            )
        found = search(replace(self, allowed=low))
        if not self._kept(found.table):
            raise RuntimeError("local-suppression left a risk above its limit; please report")
        for run in range(_RUNS if low < high else 0):
            report("raising the risk that is allowed", run, _RUNS)
            middle = float(np.sqrt(low * high))
            tried = search(replace(self, allowed=middle))
            if self._kept(tried.table):
                found, low = tried, middle
            else:
                high = middle
        return replace(found, secrets={"highest individual risk allowed": low})

    def _kept(self, table: Table) -> bool:
        """Whether all limits hold, counted on what would be published."""
        risk = self._risks(table)
        return all(self.figures[name](risk) <= limit for name, limit in self.limits.items())

    def _risks(self, table: Table) -> Floats:
        """The risk of each record, as the cells of a table are."""
        cells = Cells.of(table, self.chosen)
        if self.wildcard:
            wild = cells.missing | cells.already
            return match_worth(cells.codes, wild, self.count, lambda sums: individual_risk(*sums))
        top = int(cells.codes.max(initial=0)) + 1
        labels = class_labels(np.where(cells.already, top, cells.codes))
        return individual_risk(*(np.bincount(labels, one) for one in self.count))[labels]


def _highest(risk: Floats) -> float:
    return settled(risk.max())


def _mean(risk: Floats) -> float:
    return settled(risk.mean())


def _worst_household(homes: np.ndarray, risk: Floats) -> float:
    return settled(household_risk(risk, homes).max())
