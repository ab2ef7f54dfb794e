"""k-anonymity, counted under both readings of a missing value, and the risk on average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from ..data.pair import Pair
from ..data.people.repeated import Counted, carried, repeated_key
from ..data.schema import Role, Schema
from ..data.table import Table
from ..errors import MeasureError
from ..protocols import Criterion, Finding, OnParts
from .classes import Classes, Grouping, published_classes
from .gaps import Gaps
from .joined import joined, mean
from .verdict import ROUNDING, Judged, OfRelease, verdict

# The wildcard reading is also reported unasked, unless that would take more than seconds.
_PATTERNS_UNASKED = 64
_WORK_UNASKED = 20_000_000


class KAnonymity(Criterion):
    """Every combination of quasi-identifiers is shared by at least k people.

    The figure is the size of the smallest equivalence class. A missing value (and "*") is a
    category of its own; read as a wildcard it matches every value, which is not transitive, so that
    a record then has a number of records that it may be confused with rather than a class. The
    finding names both figures where they can differ. People are counted, whatever their sampling
    weights; `k-map` is what weighs them.

    A record is a person, unless an identifier repeats: then different people are counted in each
    class, for a class of five visits of one patient hides nobody (people without an identifier
    count as one together, and missing is a category). Where nobody knows which record is whose,
    records are counted, and the finding says so. `unit = "record"` counts records always.

    With `unit = "household"`, at least k different households share each combination: a class of
    five records of one family hides nobody. Households are those of the column with that role;
    records without one count as one household together. Releases do not publish that column, so
    that a release on its own cannot be counted by households, while one whose original is at hand
    can.

    >>> from sfumato.data.table import table
    >>> t = table({"sex": ["f", "f", "m", None]}, quasi=["sex"])
    >>> found = KAnonymity(k=2).check(t)
    >>> found.value, found.broken, found.detail["k_wildcard"]
    (1.0, 2, 2)
    """

    name: ClassVar[str] = "k-anonymity"
    beside_cover: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"k": 5}
    paper: ClassVar[str] = (
        "Samarati & Sweeney (1998), Protecting privacy when disclosing information: k-anonymity "
        "and its enforcement through generalization and suppression; Sweeney (2002), k-anonymity: "
        "a model for protecting privacy, IJUFKS 10(5)"
    )
    shorthand: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "sizes"

    k: int = Field(ge=1, description="smallest class allowed")
    missing: Literal["category", "wildcard"] = Field(
        "category",
        description="a missing or suppressed value is its own category, or matches any value",
    )
    unit: Literal["person", "record", "household"] = Field(
        "person",
        description="what k is counted in: different people, where an identifier repeats, records "
        "whosever they are, or different households",
    )

    @model_validator(mode="after")
    def _one_reading(self) -> Self:
        if self.unit == "household" and self.missing == "wildcard":
            raise ValueError("households are counted in classes: missing is a category")
        return self

    def keeps(self, grouping: Grouping) -> np.ndarray:
        """Classes of at least k; then the wildcard reading holds as well, which is laxer."""
        by = self._counted_by(grouping.table)
        return (grouping.sizes if by is None else grouping.units(by)) >= self.k

    def _counted_by(self, table: Table) -> str | None:
        """The column whose different values are counted; None where records are."""
        if self.unit == "household":
            return _household(table.schema)
        return repeated_key(table) if self.unit == "person" else None

    def check_pair(self, pair: Pair) -> Finding:
        masked, home = pair.masked, self.unit == "household"
        if home and masked.schema.of_role(Role.HOUSEHOLD):
            return self.check(masked)
        by = self._counted_by(pair.original)
        if by is None:
            return self.check(masked)
        if pair.rows is None or (home and (pair.rows < 0).any()):
            if home:
                raise MeasureError(
                    "households cannot be counted: nobody knows which record was whose",
                    remedy='unit = "record"',
                )
            return _with_word(self.check(masked))
        values, column = carried(pair, by)
        grouping = Grouping.published(masked.with_columns([values], [column]), column.name)
        return self._units(grouping, column.name, by)

    def check(self, table: Table) -> Finding:
        if not table.schema.quasi:
            raise MeasureError(
                "k-anonymity means nothing without quasi-identifiers",
                remedy='give the columns that others may know the role "quasi"',
            )
        if (by := self._counted_by(table)) is not None:
            return self._units(Grouping.published(table), by, by)
        classes = published_classes(table)
        matches = classes.sizes
        wildcard = _wildcard(table, classes, asked=self.missing == "wildcard")
        if self.missing == "wildcard" and wildcard.matches is not None:
            matches = wildcard.matches
        short = matches < self.k
        detail: dict[str, Any] = {
            "quasi_identifiers": list(classes.columns),
            "missing": self.missing,
            "classes": len(classes),
            "records": table.height,
            "records_in_broken_classes": int(classes.sizes[short].sum()),
        }
        if wildcard.cells:
            detail["cells_missing_or_suppressed"] = wildcard.cells
            detail["k_category"] = classes.smallest
            detail["k_wildcard"] = (
                wildcard.why_not if wildcard.matches is None else int(wildcard.matches.min())
            )
        value = int(matches.min())
        return Finding(
            requirement=self.name,
            subject="k-anonymity",
            value=float(value),
            limit=float(self.k),
            met=value >= self.k,
            at_least=True,
            broken=int(short.sum()),
            of=len(classes),
            detail=detail,
        )

    def check_people(self, table: Table, key: str) -> Finding:
        if self.unit == "record":
            return self.check(table)
        return self._units(Grouping.published(table, key), key, key)

    def gap(self, schema: Schema) -> str:
        if self.missing == "wildcard":
            return "a wildcard matches records of other classes, which lie in other parts"
        if self.unit == "household" and not schema.of_role(Role.HOUSEHOLD):
            return "households are counted by a column that the release does not publish"
        return ""

    def joined(self, findings: Sequence[Finding], records: Sequence[int]) -> Finding:
        found = joined(findings, records)
        if "k_wildcard" not in found.detail:
            return found
        # A bucket without gaps does not name its k again.
        why = "not counted: records of other parts may match"
        detail = {**found.detail, "k_category": int(found.value), "k_wildcard": why}
        return replace(found, detail=detail)

    def _units(self, grouping: Grouping, column: str, called: str) -> Finding:
        """The finding on different values of a column in each class: people, or households."""
        units = grouping.units(column)
        what = "households" if self.unit == "household" else "people"
        detail: dict[str, Any] = {
            "quasi_identifiers": list(grouping.classes.columns),
            "unit": self.unit,
            "records": grouping.table.height,
            "k_records": grouping.classes.smallest,
        }
        if self.unit == "person":
            many = grouping.table[column].drop_nulls().n_unique()
            counted = Counted(called, many, grouping.table.height)
            detail |= {"people": many, "by": called, "missing": "category", "because": str(counted)}
        judged = Judged(units, units >= self.k, f"k-anonymity of {what}", self.k, detail, True)
        return verdict(self, grouping, judged)


def _with_word(found: Finding) -> Finding:
    """The finding on records that nobody knows the people of."""
    if found.detail.get("unit") == "person":
        return found
    word = "records were counted, not people: nobody knows which records are one person's"
    return replace(found, detail={**found.detail, "unit": "record", "people": word})


def _household(schema: Schema) -> str:
    """The column that says who lives together."""
    named = schema.of_role(Role.HOUSEHOLD)
    if len(named) != 1:
        which = f"{len(named)} ({', '.join(named)})" if named else "none"
        raise MeasureError(
            f"households are counted by one column with the role household; there is {which}",
            remedy='give one column the role "household"; a release without it is counted beside '
            'its original, or with unit = "record"',
        )
    return named[0]


class _Matches(NamedTuple):
    """By the wildcard reading: the matches of each class, or why they were not counted."""

    cells: int
    matches: np.ndarray | None
    why_not: str = ""


def _wildcard(table: Table, classes: Classes, *, asked: bool) -> _Matches:
    """The records that each class may be confused with, if a missing value matches any value."""
    gaps = Gaps.of(table, classes)
    if not gaps.cells:
        return _Matches(0, classes.sizes)
    patterns = len(gaps.patterns)
    work = patterns * len(classes)
    if not asked and (patterns > _PATTERNS_UNASKED or work > _WORK_UNASKED):
        why = (
            f"not counted: {patterns:,} patterns of missing cells in {len(classes):,} "
            'classes; ask for it with missing = "wildcard"'
        )
        return _Matches(gaps.cells, None, why)
    return _Matches(gaps.cells, gaps.sums(classes.sizes)[0])


class AverageRisk(OfRelease):
    """The chance of re-identification, averaged over the records, stays below a limit.

    A record of a class of f people is found with a chance 1 / f by somebody who knows that it is in
    the release. The mean over the records is the number of classes divided by the number of records
    where each is a person's (people are counted as by k-anonymity). It is a figure of the whole
    release: a search hears the same of every class. Sampling weights do not enter, since this
    intruder knows who takes part.

    >>> from sfumato.data.table import table
    >>> t = table({"q": list("aaabb")}, quasi=["q"])
    >>> print(AverageRisk(at_most=0.2).check(t))
    the average risk is 0.4 (limit 0.2) in 2 of 2 classes
    """

    name: ClassVar[str] = "average-risk"
    example: ClassVar[dict[str, Any]] = {"at-most": 0.1}
    paper: ClassVar[str] = "El Emam (2013), Guide to the de-identification of personal health data"
    subject: ClassVar[str] = "the average risk"
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "sizes"

    at_most: float = Field(gt=0, le=1, description="largest average risk allowed")

    def joined(self, findings: Sequence[Finding], records: Sequence[int]) -> Finding:
        risk = mean([one.value for one in findings], records)
        if abs(risk - self.at_most) < ROUNDING:
            risk = self.at_most  # the same sum in another order
        classes = sum(one.of for one in findings)
        return self._of_figure(risk, classes, sum(records), {})

    def _figure(self, grouping: Grouping) -> tuple[float, dict[str, Any]]:
        sizes = grouping.sizes
        return float((sizes / grouping.people).sum()) / max(int(sizes.sum()), 1), {}
