"""Loss weighed by what columns and values tell about a target that is to be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import Matrix, encode, floats
from ...data.generalized.information import (
    QUANTILES,
    RARE,
    Estimable,
    class_counts,
    column_weights,
    estimable,
    target_codes,
    target_column,
)
from ...data.generalized.label_places import Labels
from ...data.pair import Pair
from ...data.schema import ORDERED
from ...errors import MeasureError
from ...kernels.statistics.information import pointwise_information
from ...protocols import Context, Measurement
from ..cells import EXACT, Cells, dropped_records, facts, quasi_cells
from ..loss import TableLoss
from .precision import heights, weighted

_PAPER = (
    "Katirai (2006), A theory and toolkit for the mathematics of privacy: methods for anonymizing "
    "data while minimizing information loss, MIT"
)
_CELLS_AT_ONCE = 1 << 24


class _OfTarget(TableLoss):
    """What both share: the target, and how its information is estimated."""

    paper: ClassVar[str] = _PAPER
    decimals: ClassVar[int | None] = 3
    unit: ClassVar[str] = "bits"

    target: str = Field(
        "", description="what is predicted; the target, else the first confidential column"
    )
    rare: int = Field(
        RARE, ge=1, description="values that occur less often are set aside for the estimate"
    )
    quantiles: int = Field(
        QUANTILES, ge=2, le=1000, description="classes that a target of numbers is cut into"
    )


class ColumnInformation(_OfTarget):
    """Height lost in each column, weighted by what the column tells about a target.

    The mean over the records of sum_i w_i h_i / M_i over the quasi-identifiers, heights as in
    `precision`, and w_i the mutual information in bits of column i with the target, estimated from
    the original (values that occur fewer than `rare` times set aside). A target of numbers is cut
    into `quantiles` classes. 0 is no loss; the baseline, the sum of the weights, that of a table
    of stars. Columns that share their information are counted twice: a sum of bits is an index, no
    amount of information. The measure is monotone: a generalization never costs less.

    >>> import sfumato as sf
    >>> rows = {"sex": ["f", "m"] * 6, "eye": ["b", "b", "g", "g"] * 3, "ill": ["no", "yes"] * 6}
    >>> original = sf.table(rows, quasi=["sex", "eye"], confidential="ill")
    >>> sf.measure("column-information", original, {**rows, "eye": ["*"] * 12}).value
    0.0
    >>> sf.measure("column-information", original, {**rows, "sex": ["*"] * 12}).value
    1.0
    """

    name: ClassVar[str] = "column-information"
    aliases: ClassVar[tuple[str, ...]] = ("col-mi",)

    def measure(self, context: Context) -> Measurement:
        original = context.pair.original
        found = heights(context.pair, self.name)
        target = target_column(original, self.target, self.name)
        sets = _sets(found.columns, self.name)
        matrix = Matrix(original, [name for name in found.names if name not in sets])
        weights = column_weights(matrix, target, self.rare, self.quantiles)
        # What is to be predicted is no predictor of itself.
        weights = {name: 0.0 if name == target else weights.get(name, 0.0) for name in found.names}
        made = weighted(self, found, weights)
        return self.result(
            made.value,
            baseline=made.baseline,
            per_record=made.per_record,
            detail={"target": target, **made.detail, **({"left_out": sets} if sets else {})},
        )


class ValueInformation(_OfTarget):
    """What published values still tell about a target, by pointwise mutual information.

    The mean over the records of the sum over the quasi-identifiers of what the published label x
    tells: sum over the classes c of p(c|x) |log2 p(x, c) / (p(x) p(c))|, where x is "the value lies
    under this label", in bits, estimated from the original. Evidence against a class is worth as
    much as evidence for it. "*" tells nothing, and neither does a label with fewer than `rare`
    records; numbers of which most are rare are read as ranges. The baseline is what the original's
    values tell, `detail["kept"]` the share of it that is left.

    The measure is not monotone: a generalization may tell more than the value it replaced, because
    mean absolute values do not shrink as mutual information does, because rare values tell nothing
    by rule, and because every figure is an estimate. Columns count as if they were independent.

    >>> import sfumato as sf
    >>> rows = {"sex": ["f", "m"] * 6, "ill": ["no", "yes"] * 6}
    >>> original = sf.table(rows, quasi=["sex"], confidential="ill")
    >>> stars = {**rows, "sex": ["*"] * 6 + ["f", "m"] * 3}
    >>> sf.measure("value-information", original, stars).value
    0.5
    """

    name: ClassVar[str] = "value-information"
    aliases: ClassVar[tuple[str, ...]] = ("value-mi",)
    direction: ClassVar[Literal["lower", "higher"]] = "higher"

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        columns = quasi_cells(pair, self.name)
        sets = _sets(columns, self.name)
        target = target_column(pair.original, self.target, self.name)
        classes = target_codes(pair.original, target, self.quantiles)
        n, dropped = pair.masked.height, dropped_records(pair)
        by_record, baseline = np.zeros(n), 0.0
        by_column: dict[str, dict[str, float]] = {}
        for cells in columns:
            if cells.name == target or cells.name in sets:
                continue
            information = _Information(pair, cells.name, classes, self.rare)
            one = information.of(pair, cells)
            before = float(information.own.mean())
            by_record += one
            baseline += before
            # Suppressed cells without known rows tell nothing, but nobody knows which they are:
            # their empty cells are read as missing, which tells nothing either.
            by_column[cells.name] = {"before": before, "after": float(one.sum()) / (n + dropped)}
        value = float(by_record.sum()) / (n + dropped)
        detail: dict[str, Any] = {
            "target": target,
            **facts(columns, dropped),
            "by_column": by_column,
            "kept": value / baseline if baseline else 1.0,
            "baseline": "before masking",
            **({"left_out": sets} if sets else {}),
        }
        return self.result(value, baseline=baseline, per_record=by_record, detail=detail)


def _sets(columns: Sequence[Cells], measure: str) -> list[str]:
    """The columns of sets, nearly every one of which is rare: too rare to tell of a target."""
    sets = [c.name for c in columns if c.sets is not None]
    if len(sets) == len(columns):
        raise MeasureError(
            f"{measure} cannot estimate what a set tells about a target, and every "
            "quasi-identifier holds sets",
            remedy="measure classification-metric, which looks at classes of sets",
        )
    return sets


class _Information:
    """What the values and labels of one column tell about the target's classes."""

    def __init__(self, pair: Pair, name: str, classes: np.ndarray, rare: int) -> None:
        original = pair.original
        self.column = original.schema[name]
        found = encode(original[name])
        self.domain = found.domain
        self.read: Estimable = estimable(original, name, rare)
        # Numbers that were cut count by their ranges, others by their values.
        size = int(self.read.place.max(initial=0)) + 1
        codes = self.read.place[found.codes]
        self.counts = class_counts(codes, np.where(codes > 0, classes, -1), size)
        self.whole = self.counts.sum(axis=0)
        self.rare = rare
        self.of_value = pointwise_information(self.counts, self.whole, rare)
        """What each value or range tells; entry 0, missing, tells nothing."""
        self.own: np.ndarray = self.of_value[codes]

    def of(self, pair: Pair, cells: Cells) -> np.ndarray:
        """What each published cell tells."""
        if cells.dropped:
            return np.zeros(cells.place.size)
        if cells.reader is None:
            information = self._of_values(pair.masked[cells.name], pair)
            return np.where(cells.place == EXACT, information, 0.0)
        figures = self._of_labels(cells.reader, cells.labels)
        return cells.spread(figures, star=0.0)

    def _of_labels(self, reader: Labels, labels: list[str]) -> np.ndarray:
        covered = reader.coverage(reader.domain, labels)
        if covered.starts is None and not self.read.cut:
            ordered = np.zeros_like(self.counts)
            ordered[covered.ranks] = self.counts[1:]
            below = np.cumsum(ordered, axis=0)
            counts = below[np.maximum(covered.high, covered.low - 1)] - below[covered.low - 1]
            return pointwise_information(counts, self.whole, self.rare)
        place = np.zeros(len(reader.domain) + 1, dtype=np.int64)
        place[covered.ranks] = self.read.place[1:]
        out = np.zeros(len(labels))
        step = max(_CELLS_AT_ONCE // self.counts.shape[0], 1)
        for start in range(0, len(labels), step):
            stop = min(start + step, len(labels))
            under = np.zeros((stop - start, self.counts.shape[0]))
            for i in range(start, stop):
                under[i - start, place[covered.of(i)]] = 1.0
            under[:, 0] = 0.0
            out[start:stop] = pointwise_information(under @ self.counts, self.whole, self.rare)
        return out

    def _of_values(self, series: pl.Series, pair: Pair) -> np.ndarray:
        """Values that masking may have changed: by the range they lie in, or as they are."""
        if self.column.kind in ORDERED:
            masked = pair.masked.schema[self.column.name]
            numbers, known = floats(series, masked), floats(self.domain, self.column)
        else:
            place = {str(value): i for i, value in enumerate(self.domain.to_list())}
            numbers = np.array([place.get(str(v), np.nan) for v in series.to_list()])
            known = np.arange(len(place), dtype=np.float64)
        out = np.zeros(numbers.size)
        present = ~np.isnan(numbers)
        if not known.size or not present.any():
            return out
        at = np.clip(np.searchsorted(known, numbers[present]), 0, known.size - 1)
        information = self.of_value[self.read.place[at + 1]]
        if not self.read.cut:
            information = np.where(known[at] == numbers[present], information, 0.0)
        out[present] = information
        return out
