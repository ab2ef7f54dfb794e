"""The risk of a sample of a population, estimated for each record by its sampling weight.

A record that is alone in a sample may be one of many in the population. The sum of the weights of
the records that look alike estimates how many, and the risk of each is the mean of one over that
number, which is not known (kernels/statistics/individual_risk.py).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..criteria.classes import Classes, Grouping
from ..criteria.gaps import Gaps
from ..criteria.people.population import weights_of
from ..data.pair import Pair
from ..data.people.households import apart, households
from ..data.people.repeated import COUNTED, people_hidden, repeated_key, with_people
from ..data.schema import Role
from ..data.table import Table
from ..errors import MeasureError
from ..kernels.statistics.individual_risk import (
    approximate_risk,
    household_risk,
    individual_risk,
    settled,
)
from ..measurement import Depends
from ..protocols import Context, Measurement, Method
from .classes import BEFORE, SAMPLE, ClassRisk, Threshold, population_of

_MANY = 0.1
"""Share of records alone in the sample from which on weights are known to say too little."""


@dataclass(frozen=True, eq=False)
class Risks:
    """The risk of every record of a table, and how it was estimated."""

    exact: np.ndarray
    approximate: np.ndarray
    """as sdcMicro takes it"""
    facts: dict[str, Any]

    @classmethod
    def of(
        cls, classes: Classes, f: np.ndarray, people: np.ndarray, facts: dict[str, Any]
    ) -> Risks:
        """Of classes with so many people in the sample, and about so many in the population."""
        exact, approximate = individual_risk(f, people), approximate_risk(f, people)
        alone = int(classes.of_records((f == 1) & (people > f)).sum())
        if alone >= _MANY * classes.labels.size:
            # Each is taken for one of as many as its weight, and where nobody is like another
            # most are the only one: docs/risk.md has by how much.
            facts |= {
                "says": [
                    f"{alone:,} of {classes.labels.size:,} records are alone in the sample, and "
                    "the figure is then too low, often by half and more: take log-linear-risk, too"
                ]
            }
        return cls(classes.of_records(exact), classes.of_records(approximate), facts)

    def told(self) -> dict[str, Any]:
        """What is said beside every figure."""
        n, expected = int(self.exact.size), float(self.exact.sum())
        return {"records": n, "expected_reidentifications": expected, **self.facts}


class _Individual(ClassRisk):
    """What the risks of records, households and files share: how a record's is estimated."""

    paper: ClassVar[str] = (
        "Benedetti & Franconi (1998), Statistical and technological solutions for controlled data "
        "dissemination, NTTS; Franconi & Polettini (2004), Individual risk estimation in mu-Argus: "
        "a review, PSD, LNCS 3050"
    )

    missing: Literal["category", "wildcard"] = Field(
        "category",
        description="a missing or suppressed value is its own category, or matches any value",
    )
    reference: Literal["non-participants", "population"] = Field(
        "non-participants",
        description="whether the reference table leaves the participants out or holds them too",
    )

    mean: ClassVar[bool] = False
    """Whether one record moves the figure by an n-th at most."""

    @abstractmethod
    def of_risks(self, after: Risks, before: Risks, pair: Pair) -> Measurement:
        """The figure of the release, beside the same of the original."""

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        masked, key = with_people(pair)
        after = self._risks(masked, key, context, _perturbed(context))
        before = self._risks(pair.original, repeated_key(pair.original), context)
        found = self.of_risks(after, before, pair)
        if because := self._because(key, context):
            found = replace(found, detail={**found.detail, "because": because})
        if context.reference is not None and not self.mean:
            return replace(found, depends=None)  # it would tell how many others are like one record
        if people_hidden(pair):
            # Which records are one person's is not published, and the figure would tell of it.
            return replace(found, depends=None)
        return found

    def _because(self, key: str | None, context: Context) -> str:
        """Why the release may have a higher risk than its steps could know of; empty if for none of
        these reasons."""
        why = []
        if context.reference is None:
            hidden = weights_of(context.pair.original) and not weights_of(context.pair.masked)
            unknown = "the sample stands for the population: the weights are not published"
            why = [_perturbed(context) or (unknown if hidden else "")]
        why += [COUNTED] if key is not None else []
        return "; ".join(filter(None, why))

    def _risks(self, table: Table, key: str | None, context: Context, perturbed: str = "") -> Risks:
        grouping = Grouping.published(table, key)
        classes, f = grouping.classes, grouping.people.astype(np.float64)
        facts: dict[str, Any] = {
            "quasi_identifiers": list(classes.columns),
            "classes": len(classes),
            "missing": self.missing,
        }
        if key is not None:
            facts["people"] = COUNTED
        if context.reference is not None:
            sizes, told = self._counted(table, grouping, context, context.reference)
            risk = classes.of_records(1.0 / sizes)
            return Risks(risk, risk, facts | told)
        people: np.ndarray = f
        facts["population"] = perturbed or SAMPLE
        if not perturbed and (weights := weights_of(table)) is not None:
            each = weights[1] / grouping.records_each
            people = np.bincount(classes.labels, weights=each, minlength=len(classes))
            facts["population"] = f"estimated by the sum of the weights in {weights[0]}"
        if self.missing == "wildcard" and (gaps := Gaps.of(table, classes)).cells:
            if key is not None:
                raise MeasureError(
                    "people with several records are counted in classes, not by wildcards",
                    remedy='missing = "category"',
                )
            f, people = gaps.sums(f, people)
        low = int((people < f * (1 - 1e-9)).sum())
        if low:
            # The sample is in the population: no class is smaller there.
            facts["classes_with_weights_below_their_records"] = low
        return Risks.of(classes, f, people, facts)

    def _counted(
        self, table: Table, grouping: Grouping, context: Context, reference: Table
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """How many people of the population each class fits, where they can be counted."""
        if self.missing == "wildcard":
            raise MeasureError(
                "people of a reference table are counted by what labels cover, not by wildcards",
                remedy='missing = "category", or give no reference table',
            )
        holds = self.reference == "population"
        found = population_of(
            context.pair, table, reference, holds_sample=holds, grouping=grouping
        )
        return found.sizes, found.facts


def _perturbed(context: Context) -> str:
    """What is said where a step perturbed the weights; empty where none did."""
    table = context.pair.original
    weights = set(table.schema.of_role(Role.WEIGHT))
    for step in context.mechanism:
        perturbs = isinstance(step, Method) and step.perturbs is not False
        if perturbs and weights & step.touches(table):
            return f"the sample stands for the population: {step.name} perturbed the weights"
    return ""


class IndividualRisk(_Individual):
    """Chance of finding a record of a sample in its population, at worst.

    The records that look alike are f in the sample, and their sampling weights sum to F. How many
    people they are in the population is not known; taken as negative binomial with p = f / F, the
    mean of one over that number is the risk of each of them. It is computed exactly for every f;
    `detail["sdcmicro"]` is the highest by the formula that sdcMicro takes from f = 3 on,
    p / (f - 1 + p).

    Weights are those of the column with the role `weight`, as the release has it. Without one, or
    where a step perturbed it, the sample stands for the population, which is never less risky: the
    risk is then 1 / f. People of a reference table are counted instead: the risk is 1 / F.
    `detail["population"]` says which. With missing = "wildcard", f and F are those of all records
    that match, as sdcMicro counts them.

    Where many records are alone the estimate is too low, since most of them are alone in the
    population, too; `detail["says"]` then says so, and `log-linear-risk` is the better figure.

    The value is the highest risk of any record; `detail` has the share and the number of records
    above `threshold`, the mean, and how many re-identifications are to be expected.

    >>> from sfumato.data.table import table
    >>> t = table({"q": list("aab"), "w": [20, 30, 10]}, quasi=["q"], weight="w")
    >>> found = IndividualRisk().measure(Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> found.per_record.round(4).tolist(), found.detail["population"]
    ([0.0361, 0.0361, 0.2558], 'estimated by the sum of the weights in w')
    """

    name: ClassVar[str] = "individual-risk"

    threshold: Threshold = 0.2

    def of_risks(self, after: Risks, before: Risks, pair: Pair) -> Measurement:
        detail = {
            **after.told(),
            **_spread(after.exact, self.threshold),
            "sdcmicro": float(after.approximate.max()),
            "baseline": BEFORE,
        }
        return self.result(
            settled(after.exact.max()),
            baseline=settled(before.exact.max()),
            per_record=after.exact,
            detail=detail,
        )


class HouseholdRisk(_Individual):
    """Chance that anybody of a household is found, at worst.

    Whoever finds one member of a household knows the others: the risk of each member is
    1 - (1 - r1)(1 - r2)..., over the individual risks of all members, as if they were found
    independently. Households are those of the column with the role `household`; a release does not
    publish it, so that it is taken from the original and the figure is the owner's. A record
    without a household is one of its own.

    >>> from sfumato.data.table import table
    >>> t = table({"q": list("aab"), "h": [1, 2, 2]}, quasi=["q"], household="h")
    >>> found = HouseholdRisk().measure(Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> found.per_record.tolist()
    [0.5, 1.0, 1.0]
    """

    name: ClassVar[str] = "household-risk"
    depends: ClassVar[Depends | None] = "values"

    threshold: Threshold = 0.2

    def of_risks(self, after: Risks, before: Risks, pair: Pair) -> Measurement:
        homes = _homes(pair, self.name)
        risk = household_risk(after.exact, homes)
        was = household_risk(before.exact, households(pair.original, self.name))
        detail = {
            **after.told(),
            **_spread(risk, self.threshold),
            "households": int(homes.max()) + 1,
            "sdcmicro": float(household_risk(after.approximate, homes).max()),
            "baseline": BEFORE,
        }
        found = self.result(
            settled(risk.max()), baseline=settled(was.max()), per_record=risk, detail=detail
        )
        # Who lives together is not published, and the figure would tell of it.
        hidden = not pair.masked.schema.of_role(Role.HOUSEHOLD)
        return replace(found, depends=None) if hidden else found


class GlobalRisk(_Individual):
    """Expected share of the records that are found in the population.

    The sum of the individual risks, divided by the number of records; `detail` has the sum itself,
    the number of re-identifications to be expected, and the share by sdcMicro's formula.

    >>> from sfumato.data.table import table
    >>> t = table({"q": list("aab"), "w": [20, 30, 10]}, quasi=["q"], weight="w")
    >>> found = GlobalRisk().measure(Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> round(found.value, 4), round(found.detail["expected_reidentifications"], 4)
    (0.1093, 0.328)
    """

    name: ClassVar[str] = "global-risk"
    mean: ClassVar[bool] = True

    def of_risks(self, after: Risks, before: Risks, pair: Pair) -> Measurement:
        detail = {**after.told(), "sdcmicro": float(after.approximate.mean()), "baseline": BEFORE}
        return self.result(
            settled(after.exact.mean()),
            baseline=settled(before.exact.mean()),
            per_record=after.exact,
            detail=detail,
        )


def _spread(risk: np.ndarray, threshold: float) -> dict[str, Any]:
    """The risk on average, and how many records have more than a limit."""
    above = int((risk > threshold).sum())
    return {
        "mean": float(risk.mean()),
        "threshold": threshold,
        "records_at_risk": above,
        "share_at_risk": above / risk.size,
    }


def _homes(pair: Pair, asking: str) -> np.ndarray:
    """The household 0.. of each masked record."""
    if pair.masked.schema.of_role(Role.HOUSEHOLD):
        return households(pair.masked, asking)
    homes = households(pair.original, asking)
    pair.aligned_rows()  # raises where nobody knows which record is whose
    assert pair.rows is not None
    return apart(homes[pair.rows], pair.rows < 0)
