"""Reading a person's confidential class off the nearest group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ..data.classes import ClassCodes, class_codes
from ..data.exact import each
from ..data.linkage.linked import TOLERANCE, Known
from ..data.linkage.linking import KnownColumns, Sample, drawn, require_records, require_reference
from ..data.pair import Pair
from ..data.table import Table
from ..errors import MeasureError
from ..kernels.neighbours.linkage import nearest
from ..measurement import Depends
from ..protocols import Attack, Context, Measurement


class NearestCentroid(Attack):
    """Guess a person's confidential class as that of the nearest published group.

    The intruder knows a person's quasi-identifiers, goes to the nearest published point (after
    microaggregation the centroid of a group, in units of the released file) and takes the class
    that most of the records there have; classes equally frequent share the credit. The figure is
    the share of people whose class is guessed right. Nobody need know which record is whose, nor
    whether the person is in the data. Several confidential columns form one compound class, numbers
    and dates are cut into `classes`, and a missing value is a class of its own.

    The baseline is the chance of whoever does not look: the share of the release's most frequent
    class. The naive guess is the class of a single record at the nearest point, drawn at random.
    `detail["certain"]` is the share of people whose nearest group has one class only,
    `detail["certain_right"]` how often that is theirs, and the control the same guesses for people
    who are not in the data: what similar people have anyway is not learnt from being in it.
    """

    name: ClassVar[str] = "nearest-centroid"
    compares: ClassVar[str | None] = "tables"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = ("baseline",)
    paper: ClassVar[str] = (
        "Li & Sarkar 2013, Class restricted clustering and micro-perturbation for data privacy, "
        "Management Science 59(4), section 1 and figure 1"
    )

    columns: KnownColumns = ()
    confidential: tuple[str, ...] = Field(
        (), description="columns whose class is guessed; all confidential ones unless given"
    )
    classes: int = Field(
        4, ge=2, le=1000, description="quantile classes of a confidential number or date"
    )
    sample: Sample = 50_000

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        names = self._secrets(pair)
        file = Known.of(pair, self.columns)
        coded, parts = _classes(pair, context.reference, names, self.classes)
        points = Points.of(file, parts[0], len(coded.labels))
        rows = drawn(pair.original.height, self.sample, context.rng)
        found = points.guess(file, pair.original, rows, parts[1])
        control = None
        if context.reference is not None:
            require_reference(context.reference, names)
            others = drawn(context.reference.height, self.sample, context.rng)
            control = float(points.guess(file, context.reference, others, parts[2]).majority.mean())
        detail: dict[str, Any] = {
            "confidential": list(names),
            "columns": list(file.names),
            "certain": float(found.certain.mean()),
            "baseline": "the most frequent class of the release",
        }
        if found.certain.any():
            detail["certain_right"] = float(found.majority[found.certain].mean())
        if coded.cut:
            detail["cut_into_quantiles"] = coded.cut
        if file.left_out:
            detail["left_out"] = dict(file.left_out)
        per_record = np.full(pair.original.height, np.nan)
        per_record[rows] = found.majority
        return self.outcome(
            float(found.majority.mean()),
            naive=float(found.single.mean()),
            baseline=float(np.bincount(parts[0]).max() / pair.masked.height),
            control=control,
            detail=detail,
            per_record=per_record,
            per_record_of="original",
        )

    def _secrets(self, pair: Pair) -> tuple[str, ...]:
        """The columns whose classes are guessed."""
        names = self.confidential or tuple(pair.original.schema.confidential)
        if not names:
            raise MeasureError(
                f"{self.name} guesses a confidential class, and the table has none",
                remedy='give a column the role "confidential", or name it in `confidential`',
            )
        for name in names:
            _ = pair.original.schema[name]  # an unknown name is told with the nearest known one
            if name in self.columns:
                raise MeasureError(
                    f"{self.name} cannot guess {name!r}, which the intruder knows",
                    remedy="take it out of `columns` or out of `confidential`",
                )
            if name not in pair.masked.schema or pair.masked.schema[name].generalized:
                raise MeasureError(
                    f"{self.name} reads the classes of {name!r}, whose values are not published",
                    remedy="name columns in `confidential` that are published as they were",
                )
        return names


def _classes(
    pair: Pair, reference: Table | None, names: Sequence[str], quantiles: int
) -> tuple[ClassCodes, list[np.ndarray]]:
    """One numbering of the classes of the masked, the original and the reference table."""
    tables = [pair.masked, pair.original, *([] if reference is None else [reference])]
    for table in tables[2:]:
        require_reference(table, names)
    frames = [table.frame.select(each(names)) for table in tables]
    try:
        stacked = pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        stacked = pl.concat([frame.cast(pl.String) for frame in frames])
    coded = class_codes(Table(stacked, pair.original.schema.only(list(names))), names, quantiles)
    return coded, np.split(coded.codes, np.cumsum([table.height for table in tables])[:-1])


@dataclass(frozen=True, eq=False)
class Guessed:
    """What the guesses achieved, person by person."""

    majority: np.ndarray
    """Credit of the most frequent class there."""
    single: np.ndarray
    """The chance that one record there has the person's class."""
    certain: np.ndarray
    """bool: whether all records there have one class."""


@dataclass(frozen=True, eq=False)
class Points:
    """The distinct published points, and how often each class occurs there."""

    numbers: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    """int64 (points, classes)"""

    @classmethod
    def of(cls, file: Known, classes: np.ndarray, count: int) -> Points:
        numbers, codes = file.numbers.shown, file.categories.masked
        gone = np.isnan(numbers)
        cells = np.column_stack([np.where(gone, 0.0, numbers), gone, codes])
        _, first, label = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        counts = np.zeros((first.size, count), dtype=np.int64)
        np.add.at(counts, (label.reshape(-1), classes), 1)
        order = np.argsort(first)  # of points equally near, that of the first record counts
        return cls(numbers[first[order]], codes[first[order]], counts[order])

    def guess(self, file: Known, table: Table, rows: np.ndarray, classes: np.ndarray) -> Guessed:
        """The class of each of some people, read off the point that is nearest to them."""
        found = nearest(
            file.numbers.as_published(file.numbers.of(table)[rows]),
            self.numbers,
            codes_a=file.categories.of(table)[rows],
            codes_b=self.codes,
            tolerance=TOLERANCE,
        )
        there, truth = self.counts[found.first], classes[rows]
        at = np.arange(rows.size)
        most = there == there.max(axis=1, keepdims=True)
        right = there[at, truth]
        return Guessed(
            np.where(most[at, truth], 1.0 / most.sum(axis=1), 0.0),
            right / there.sum(axis=1),
            (there > 0).sum(axis=1) == 1,
        )
