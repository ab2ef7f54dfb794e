"""Information loss read off equivalence classes: their sizes, and what most of a class are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...criteria.classes import Classes, equivalence_classes
from ...data.generalized.information import QUANTILES, target_codes, target_column
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.table import Table
from ...engines.counts import Counts, Sizes
from ...errors import MeasureError
from ...measurement import Depends
from ...protocols import Context, Measurement
from ..cells import dropped_records, untold
from ..loss import TableLoss

_BEFORE = "the same figure before masking"


class Discernibility(TableLoss):
    """Sum of squared class sizes.

    Each record costs the number of records that it cannot be told from: those that are published
    alike, sets with the same items. A suppressed record, dropped from the table or published with
    every quasi-identifier suppressed, cannot be told from any and costs the size of the original.
    Sets that show nothing are a class like others. `detail["share"]` is the figure divided by its
    largest value, the squared size of the original.

    >>> import sfumato as sf
    >>> original, masked = {"q": ["a", "b", "c", "d"]}, {"q": ["ab", "ab", "cd", "cd"]}
    >>> sf.measure("discernibility", sf.table(original, quasi="q"), masked).value
    8.0
    """

    name: ClassVar[str] = "discernibility"
    paper: ClassVar[str] = (
        "Bayardo & Agrawal (2005), Data privacy through optimal k-anonymization, ICDE"
    )
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "release"
    usual: ClassVar[bool] = True

    by_counts: ClassVar[bool] = True

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        classes, before = equivalence_classes(pair.masked), equivalence_classes(pair.original)
        hidden = untold(pair, classes.columns)
        own = classes.of_records(classes.sizes)
        found = self._of(
            Sizes.of(classes.columns, classes.sizes),
            Sizes.of(before.columns, before.sizes),
            int(hidden.sum()),
            int(own[hidden].sum()),
        )
        cost = np.where(hidden, pair.original.height, own)
        return replace(found, per_record=cost.astype(np.float64))

    def from_counts(self, counts: Counts) -> Measurement:
        hidden = _untold(counts)
        return self._of(counts.sizes("masked"), counts.sizes("original"), hidden, hidden**2)

    def _of(self, after: Sizes, before: Sizes, hidden: int, squares: int) -> Measurement:
        """The figure, where so many records tell nothing, whose classes have these squares."""
        n = before.records
        dropped = max(n - after.records, 0)
        # Whole numbers of any length: a sum of squares may have more than 64 bits.
        value = _squares(after) - squares + n * (hidden + dropped)
        detail = {
            "classes": after.classes,
            "records": after.records,
            "suppressed_records": dropped + hidden,
            "share": value / n**2,
            "baseline": _BEFORE,
        }
        return self.result(float(value), baseline=float(_squares(before)), detail=detail)


class AverageClassSize(TableLoss):
    """Mean number of records per class; in multiples of k, where that is given.

    1 is the least that k-anonymous classes can have, if k is given.

    >>> import sfumato as sf
    >>> original, masked = {"q": ["a", "b", "c", "d"]}, {"q": ["ab", "ab", "cd", "cd"]}
    >>> sf.measure("average-class-size", sf.table(original, quasi="q"), masked, k=2).value
    1.0
    """

    name: ClassVar[str] = "average-class-size"
    paper: ClassVar[str] = (
        "LeFevre, DeWitt & Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE"
    )
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "release"
    usual: ClassVar[bool] = True

    k: int = Field(1, ge=1, description="the k to divide by: 1 leaves the mean as it is")

    by_counts: ClassVar[bool] = True

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        both = (equivalence_classes(table) for table in (pair.masked, pair.original))
        return self._of(*(Sizes.of(one.columns, one.sizes) for one in both))

    def from_counts(self, counts: Counts) -> Measurement:
        return self._of(counts.sizes("masked"), counts.sizes("original"))

    def _of(self, after: Sizes, before: Sizes) -> Measurement:
        detail: dict[str, Any] = {
            "classes": after.classes,
            "records": after.records,
            "k": self.k,
            "baseline": _BEFORE,
        }
        if after.records < before.records:
            detail["dropped_records"] = before.records - after.records
        return self.result(
            after.records / after.classes / self.k,
            baseline=before.records / before.classes / self.k,
            detail=detail,
        )


def _squares(sizes: Sizes) -> int:
    """The sum of the squared sizes."""
    listed = zip(sizes.size.tolist(), sizes.many.tolist(), strict=True)
    return sum(size * size * many for size, many in listed)


def _untold(counts: Counts) -> int:
    """Records of which every quasi-identifier is suppressed."""
    names = counts.masked.schema.quasi
    return sum(counts.masked.fold(names, partial(_untold_in, names))) if names else 0


def _untold_in(names: list[str], part: Table, numbers: np.ndarray) -> int:
    return int(np.logical_and.reduce([part.suppressed(name) for name in names]).sum())


class ClassificationMetric(TableLoss):
    """Share of records whose class is not the majority of their equivalence class.

    Iyengar's CM: a record costs 1 if the class of its target is not the most frequent one among the
    records published like it, sets with the same items, or if it is suppressed, dropped or
    published with every quasi-identifier suppressed; else 0. The classes are the original's where
    it is known which record became which, else those that the release publishes. Numbers are cut
    into `quantiles` classes; missing is a class of its own. The baseline is the figure before
    masking.

    >>> import sfumato as sf
    >>> rows = {"q": ["a", "b", "c", "d"], "ill": ["flu", "flu", "flu", "cut"]}
    >>> original = sf.table(rows, quasi="q", confidential="ill")
    >>> masked = {**rows, "q": ["{a, b}", "{a, b}", "{c, d}", "{c, d}"]}
    >>> sf.measure("classification-metric", original, masked).value
    0.25
    """

    name: ClassVar[str] = "classification-metric"
    depends: ClassVar[Depends | None] = "records"
    paper: ClassVar[str] = (
        "Iyengar (2002), Transforming data to satisfy privacy constraints, KDD; "
        "Nergiz & Clifton (2007), Thoughts on k-anonymization, DKE 63(3)"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    target: str = Field("", description="the class; the target, else the first confidential column")
    quantiles: int = Field(
        QUANTILES, ge=2, le=1000, description="classes that a target of numbers is cut into"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        target = target_column(pair.original, self.target, self.name)
        names = [name for name in pair.original.schema.quasi if name != target]
        answers, source = self._answers(pair, target)
        published = [name for name in names if name in pair.masked.schema]
        classes = equivalence_classes(pair.masked, published)
        hidden = untold(pair, published)
        known = answers >= 0
        wrong = np.ones(pair.masked.height, dtype=bool)
        wrong[known] = _wrong(classes.labels[known], answers[known])
        cost = (wrong | hidden).astype(np.float64)
        dropped = dropped_records(pair)
        before: Classes = equivalence_classes(pair.original, names)
        truth = target_codes(pair.original, target, self.quantiles) + 1
        detail: dict[str, Any] = {
            "target": target,
            "classes_of_the_target": int(np.unique(truth).size),
            "taken_from": source,
            "equivalence_classes": len(classes),
            "suppressed_records": dropped + int(hidden.sum()),
            "most_frequent_class_alone": float(_wrong(np.zeros_like(truth), truth).mean()),
            "baseline": "before masking",
        }
        return self.result(
            (float(cost.sum()) + dropped) / (cost.size + dropped),
            baseline=float(_wrong(before.labels, truth).mean()),
            per_record=cost,
            detail=detail,
        )

    def _answers(self, pair: Pair, target: str) -> tuple[np.ndarray, str]:
        """The class of each masked record, -1 where nobody knows, and whose it is."""
        if pair.rows is not None:
            truth = target_codes(pair.original, target, self.quantiles) + 1
            return np.where(pair.rows >= 0, truth[pair.rows], -1), "the original"
        if target not in pair.masked.schema:
            raise MeasureError(
                f"classification-metric needs column {target!r}, which the release does not have, "
                "and nobody knows which record became which",
                remedy='align="position" or align="KEY"',
            )
        return target_codes(pair.masked, target, self.quantiles) + 1, "the release"


def _wrong(labels: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Which records do not have the most frequent answer of their class; the first, if several."""
    if not labels.size:
        return np.zeros(0, dtype=bool)
    width = int(answers.max()) + 1
    keys, counts = np.unique(labels.astype(np.int64) * width + answers, return_counts=True)
    group, answer = np.divmod(keys, width)
    best = np.lexsort((answer, -counts, group))
    first = best[np.concatenate(([True], np.diff(group[best]) > 0))]
    majority = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    majority[group[first]] = answer[first]
    return np.asarray(majority[labels] != answers)
