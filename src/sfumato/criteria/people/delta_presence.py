"""delta-presence: how sure one can be that somebody is in the release."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.table import Table
from ...errors import MeasureError
from ...protocols import Criterion, Finding
from ..classes import Grouping
from ..coverage.containment import Containment
from ..verdict import ROUNDING
from .population import People, covered_people

_WHO = "the public table"


class DeltaPresence(Criterion):
    """The chance that a member of the population is in the release stays within bounds.

    The public table holds everybody who may be in the release. Each published record is one of the
    people whom its labels cover, so that a combination with f records that covers F people makes
    each of them present with a chance f / F. Where labels of several combinations cover a person,
    their chances are added up, to 1 at most. That is an approximation: two records are two people,
    and who is one of them is not the other, so that the true chance may lie on either side. Where
    no person is covered by two combinations the figure is exact, and `exact` says so. Who is
    covered by none is absent for certain: a lower bound above 0 does not allow that.

    The figure is the largest chance of presence, or the smallest where only `at_least` is broken;
    counted are people, not classes. A missing value covers people without a value, a suppressed one
    everybody.

    A search counts the same way, by what it would publish for each class: a class keeps the bounds
    that covers nobody beyond them, and none does where somebody whom no class covers breaks
    `at_least`. Joining classes may break either bound where labels overlap.

    >>> from sfumato.data.table import table
    >>> public = table({"zip": list("aaabb")})
    >>> t = table({"zip": list("aab")}, quasi=["zip"])
    >>> print(DeltaPresence(at_most=0.5, population=public).check(t))
    the largest chance of presence is 0.6667 (limit 0.5) in 3 of 5 people
    """

    name: ClassVar[str] = "delta-presence"
    beside_cover: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"at-most": 0.5, "population": "population.csv"}
    paper: ClassVar[str] = (
        "Nergiz, Atzori & Clifton (2007), Hiding the presence of individuals from shared "
        "databases, SIGMOD"
    )

    at_most: float = Field(gt=0, le=1, description="largest chance of presence allowed")
    population: People = Field(
        description="file of everybody who may be in the release",
        json_schema_extra={"file": True},
    )
    at_least: float = Field(0.0, ge=0, lt=1, description="smallest chance of presence allowed")

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.at_least > self.at_most:
            raise ValueError("at_least lies above at_most")
        if self.population == "":
            raise ValueError("needs the population that people may be found in")
        return self

    def keeps(self, grouping: Grouping) -> np.ndarray:
        found = covered_people(grouping, self.population, who=_WHO)[1]
        fits = found.counts()
        chance = _chances(found, grouping.sizes, fits)
        broken = ~self._keeps(chance)
        if (broken & (chance == 0)).any():
            # Absent for certain: no class is to blame, and none can be published like this.
            return np.zeros(len(grouping), dtype=bool)
        result: np.ndarray = (fits >= grouping.sizes) & (found.counts_among(broken) == 0)
        return result

    def _keeps(self, chance: np.ndarray) -> np.ndarray:
        return (chance <= self.at_most + ROUNDING) & (chance >= self.at_least - ROUNDING)

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        classes = grouping.classes
        people, found = covered_people(grouping, self.population, who=_WHO)
        fits = found.counts()
        short = np.flatnonzero(fits < classes.sizes)
        if short.size:
            raise MeasureError(
                f"the public table does not hold the release: {short.size:,} published "
                "combinations have more records than it has people for them",
                remedy="give a population that everybody in the release belongs to",
            )
        chance = _chances(found, classes.sizes, fits)
        kept = self._keeps(chance)
        low = bool((chance <= self.at_most + ROUNDING).all()) and not kept.all()
        detail: dict[str, Any] = {
            "quasi_identifiers": list(classes.columns),
            "population": people.height,
            "largest": float(chance.max()),
            "smallest": float(chance.min()),
            "exact": bool(found.sums(np.ones(len(classes))).max(initial=0.0) <= 1),
        }
        return Finding(
            requirement=self.name,
            subject=f"the {'smallest' if low else 'largest'} chance of presence",
            value=float(chance.min() if low else chance.max()),
            limit=self.at_least if low else self.at_most,
            met=bool(kept.all()),
            at_least=low,
            broken=int((~kept).sum()),
            of=people.height,
            of_what="people",
            detail=detail,
        )


def _chances(found: Containment, sizes: np.ndarray, fits: np.ndarray) -> np.ndarray:
    """For each person the chance of presence."""
    result: np.ndarray = np.minimum(found.sums(sizes / np.maximum(fits, 1)), 1.0)
    return result
