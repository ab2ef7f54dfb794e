"""What criteria on confidential values share: which values count, and how a finding is worded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ..data.pair import Pair
from ..data.people.repeated import with_people
from ..data.schema import SUPPRESSED, Column, Schema
from ..data.table import Table
from ..protocols import Criterion, Finding
from .classes import Grouping, ValueCounts, confidential_column
from .item_counts import held_by_all
from .joined import gap_of_sets, joined
from .value_groups import settled

ROUNDING = 1e-12
"""What the rounding of a share can amount to: a figure of exactly the limit is allowed."""


class Judged(NamedTuple):
    """How each class does, and how the finding on them is worded."""

    figures: np.ndarray
    kept: np.ndarray
    subject: str
    limit: float
    detail: Mapping[str, Any]
    at_least: bool = False
    part: int = 0
    """Which of several limits this is."""


class OfClasses(Criterion):
    """A criterion that judges every class: a search hears which are kept, a finding tells why."""

    letter: ClassVar[str] = ""
    """What the field calls the limit; accepted in place of its name."""

    @model_validator(mode="before")
    @classmethod
    def _by_its_letter(cls, given: Any) -> Any:
        letter, name = cls.letter, cls.shorthand
        if letter and isinstance(given, Mapping) and letter in given and name not in given:
            return {name if key == letter else key: value for key, value in given.items()}
        return given

    @abstractmethod
    def _judged(self, grouping: Grouping) -> Judged:
        """How the classes do. Records that a search leaves out are not part of the whole that they
        are compared with: count again at the end."""

    def keeps(self, grouping: Grouping) -> np.ndarray:
        return self._judged(grouping).kept if len(grouping) else np.zeros(0, dtype=bool)

    def check(self, table: Table) -> Finding:
        return self._found(Grouping.published(table))

    def check_pair(self, pair: Pair) -> Finding:
        return self._found(Grouping.published(*with_people(pair)))

    def check_people(self, table: Table, key: str) -> Finding:
        return self._found(Grouping.published(table, key))

    def _found(self, grouping: Grouping) -> Finding:
        return verdict(self, grouping, self._judged(grouping))

    def gap(self, schema: Schema) -> str:
        return super().gap(schema) or gap_of_sets(self, schema)

    def joined(self, findings: Sequence[Finding], records: Sequence[int]) -> Finding:
        return joined(findings, records)


class OfValues(OfClasses):
    """A criterion on the values of one confidential column."""

    settles: ClassVar[bool] = True
    """Whether a group stands for a value below it. Against shares in the whole that need not be:
    two values together gain no more than the one of them that gains most."""
    column: str = Field("", description="confidential column; the only one unless given")
    missing: Literal["ignore", "value"] = Field(
        "ignore", description="whether a missing confidential value counts as a value"
    )

    def _of(self, grouping: Grouping) -> tuple[Column, ValueCounts]:
        """The column, and the counts of the values that count."""
        column = confidential_column(grouping.table, self.column, self.name)
        counts = grouping.counts(column.name)
        if self.missing == "value":
            return column, counts
        return column, telling(counts, settle=self.settles)


class OfRelease(Criterion):
    """A limit to one figure of the whole release: a search hears the same of every class."""

    beside_cover: ClassVar[bool] = True
    shorthand: ClassVar[str] = "at_most"
    subject: ClassVar[str]
    """What the finding speaks of."""

    at_most: float

    @abstractmethod
    def _figure(self, grouping: Grouping) -> tuple[float, dict[str, Any]]:
        """The figure, and what else the finding says."""

    def keeps(self, grouping: Grouping) -> np.ndarray:
        return np.full(len(grouping), self._figure(grouping)[0] <= self.at_most)

    def check(self, table: Table) -> Finding:
        return self._found(Grouping.published(table))

    def check_pair(self, pair: Pair) -> Finding:
        return self._found(Grouping.published(*with_people(pair)))

    def check_people(self, table: Table, key: str) -> Finding:
        return self._found(Grouping.published(table, key))

    def _found(self, grouping: Grouping) -> Finding:
        figure, said = self._figure(grouping)
        return self._of_figure(figure, len(grouping), grouping.table.height, said)

    def _of_figure(
        self, figure: float, classes: int, records: int, said: Mapping[str, Any]
    ) -> Finding:
        met = figure <= self.at_most
        return Finding(
            requirement=self.name,
            subject=self.subject,
            value=figure,
            limit=self.at_most,
            met=met,
            at_least=False,
            broken=0 if met else classes,
            of=classes,
            detail={"classes": classes, "records": records, **said},
        )


def telling(counts: ValueCounts, *, settle: bool = True) -> ValueCounts:
    """The counts without missing values and without what readers take for missing: "" and "*".

    To `settle` them, a value that is a group of another one of its class counts as that.
    """
    silent = np.zeros(len(counts.values), dtype=bool)
    if counts.values.dtype in (pl.String, pl.Categorical, pl.Enum):
        silent = counts.values.cast(pl.String).is_in(["", SUPPRESSED]).to_numpy()
    known = counts.only(np.concatenate(([False], ~silent)))
    if not settle or not known.groups:
        return known
    cls, code, count = settled(known.cls, known.code, known.count, known.groups)
    return replace(known, cls=cls, code=code, count=count)


def shares(counts: ValueCounts, classes: int) -> np.ndarray:
    """The share that each pair's value has of its class's records that count."""
    known = _counted(counts, classes)
    found: np.ndarray = counts.count / known[counts.cls]
    return found


def whole_shares(counts: ValueCounts) -> np.ndarray:
    """The share of each code in all classes together."""
    total = counts.total
    if counts.holders is None:
        everybody = float(total.sum())
    else:
        everybody = float(counts.holders.known.sum() + total[0])
    return total / max(everybody, 1.0)


def _counted(counts: ValueCounts, classes: int) -> np.ndarray:
    """Each class's records that count; of sets, a record may count for several items."""
    if counts.holders is None:
        return np.bincount(counts.cls, weights=counts.count, minlength=classes)
    missing = counts.code == 0
    absent = np.bincount(counts.cls[missing], weights=counts.count[missing], minlength=classes)
    return counts.holders.known + absent


def different(counts: ValueCounts, classes: int) -> np.ndarray:
    """How many different values each class holds.

    Of sets: different items, and one more where somebody holds none; but no more than there are
    different sets, and 1 where an item is held by everybody, for then it is known of everybody.
    """
    found: np.ndarray = np.bincount(counts.cls, minlength=classes)
    if counts.holders is None:
        return found
    found = np.minimum(found + (counts.holders.none > 0), counts.holders.different)
    found[held_by_all(counts) & (found > 1)] = 1
    return found


def largest(cls: np.ndarray, figure: np.ndarray, classes: int) -> np.ndarray:
    """The largest figure of each class; 0 where it has none."""
    found = np.zeros(classes)
    np.maximum.at(found, cls, figure)
    return found


def verdict(criterion: Criterion, grouping: Grouping, judged: Judged) -> Finding:
    """The finding on classes."""
    figures, kept, at_least = judged.figures, judged.kept, judged.at_least
    return Finding(
        requirement=criterion.name,
        subject=judged.subject,
        value=float(figures.min() if at_least else figures.max()),
        limit=float(judged.limit),
        met=bool(kept.all()),
        at_least=at_least,
        part=judged.part,
        broken=int((~kept).sum()),
        of=len(grouping),
        detail={
            "classes": len(grouping),
            "records_in_broken_classes": int(grouping.sizes[~kept].sum()),
            **judged.detail,
        },
    )


def all_of(parts: Sequence[Judged]) -> Judged:
    """What keeps every part; the first part that is broken is told, the first where none is."""
    number = next((i for i, part in enumerate(parts) if not part.kept.all()), 0)
    kept = np.logical_and.reduce([part.kept for part in parts])
    return parts[number]._replace(kept=kept, part=number)


def and_of_size(judged: Judged, grouping: Grouping, k: int, name: str) -> Judged:
    """The same with classes of k people: where only these are missing, it is their size that is
    told."""
    sizes = grouping.people
    large = sizes >= k
    if judged.kept.all() and not large.all():
        subject = f"the smallest class under {name}"
        return Judged(sizes, large, subject, k, judged.detail, at_least=True, part=1)
    return judged._replace(kept=judged.kept & large)
