"""What all methods share that draw whole records from a model.

A drawn record stems from no single original. Columns that the model leaves out cannot stand beside
it, since they would be somebody's: they are dropped, and a warning names them.

For models of ranks, columns of a mixed table are numbers in an order. Numbers, dates and ordinals
have theirs. Two categories have either. Three or more are put in the order in which they differ
most in the other columns: along the first principal axis of their mean ranks there (for categories
beside categories that is correspondence analysis). The model keeps their association along that
one axis. Whether a value is missing is a column of its own, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import decode, encode, from_floats
from ...data.schema import ORDERED, Column, Kind
from ...data.table import Table
from ...kernels.statistics.rank_correlation import rank_scores
from ...kernels.statistics.tails import inverse
from ...protocols import Method
from ..numeric.base import finite, require_size, widened

_SHOWN = 12
"""Of another column's categories, the most frequent ones that take part in the order."""
_SHRINK = 5.0
"""Records' worth of doubt in a category's mean rank."""


@dataclass(frozen=True, eq=False)
class Marginal:
    """One column: its numbers, and how numbers become its values."""

    column: Column
    numbers: np.ndarray
    """float64; NaN is missing."""
    like: pl.Series
    domain: pl.Series | None
    """The categories in the order of their numbers 0, 1, ...; None for ordered columns."""

    @property
    def stepped(self) -> bool:
        """Whether only values that occur can be published."""
        return self.domain is not None or self.column.kind == Kind.ORDINAL

    def values_at(self, u: np.ndarray, *, smooth: bool, tail: float) -> np.ndarray:
        """The numbers at these points of the distribution."""
        smooth = smooth and not self.stepped
        return inverse(u, self.numbers, interpolate=smooth, tail=tail if smooth else 0.0)

    def published(self, values: np.ndarray, *, whole: bool) -> tuple[pl.Series, Column]:
        """Numbers as a column; NaN is missing."""
        if self.domain is not None:
            codes = np.where(np.isnan(values), 0.0, values + 1.0).astype(np.int64)
            return decode(codes, self.domain, self.column.name), self.column
        series = from_floats(values, self.column, self.like, whole=whole)
        return series, widened(self.column, series)


def marginals_of(table: Table, names: Sequence[str]) -> list[Marginal]:
    """The marginals of these columns."""
    found: list[Marginal] = []
    for name in names:
        column, series = table.schema[name], table[name]
        if column.kind in ORDERED and not column.generalized:
            found.append(Marginal(column, finite(series, column), series, None))
        else:
            coded = encode(series)
            numbers = np.where(coded.codes == 0, np.nan, coded.codes - 1.0)
            found.append(Marginal(column, numbers, series, coded.domain))
    return [
        _reordered(one, found) if one.domain is not None and len(one.domain) > 2 else one
        for one in found
    ]


def _reordered(one: Marginal, all_of_them: Sequence[Marginal]) -> Marginal:
    """The same column with its categories along the axis on which they differ most."""
    assert one.domain is not None
    features = _features([other for other in all_of_them if other is not one])
    here = ~np.isnan(one.numbers)
    codes = one.numbers[here].astype(np.int64)
    counts = np.bincount(codes, minlength=len(one.domain)).astype(np.float64)
    sums = [np.bincount(codes, weights=f[here], minlength=len(one.domain)) for f in features]
    if not sums or not codes.size:
        return one
    means = np.column_stack(sums) / (counts[:, None] + _SHRINK)
    means -= (means * counts[:, None]).sum(axis=0) / counts.sum()
    _, _, axes = np.linalg.svd(
        np.linalg.qr(means * np.sqrt(counts)[:, None], mode="r"), full_matrices=False
    )
    # The sign of an axis is arbitrary; this one does not depend on the library.
    axis = axes[0] * (1.0 if axes[0][np.argmax(np.abs(axes[0]))] >= 0 else -1.0)
    order = np.argsort(means @ axis, kind="stable")
    place = np.empty(order.size)
    place[order] = np.arange(order.size)
    numbers = np.full(one.numbers.size, np.nan)
    numbers[here] = place[codes]
    return Marginal(one.column, numbers, one.like, one.domain.gather(order))


def _features(others: Sequence[Marginal]) -> list[np.ndarray]:
    """Centred ranks of ordered and two-valued columns, and centred categories; missing is 0."""
    found = []
    for other in others:
        if other.domain is None or len(other.domain) <= 2:
            parts = [rank_scores(other.numbers[:, None])[:, 0] * np.sqrt(12.0)]
        else:
            here = other.numbers[~np.isnan(other.numbers)].astype(np.int64)
            frequent = np.argsort(-np.bincount(here, minlength=1), kind="stable")[:_SHOWN]
            parts = [
                np.where(np.isnan(other.numbers), np.nan, other.numbers == code)
                for code in frequent
            ]
        for part in parts:
            present = ~np.isnan(part)
            middle = part[present].mean() if present.any() else 0.0
            found.append(np.where(present, part - middle, 0.0))
    return found


def telling(marginals: Sequence[Marginal]) -> list[str]:
    """Columns with categories that one record alone has: drawn, they still name it."""
    found = []
    for one in marginals:
        if one.domain is None:
            continue
        codes = one.numbers[~np.isnan(one.numbers)].astype(np.int64)
        if (np.bincount(codes, minlength=1) == 1).any():
            found.append(one.column.name)
    return found


class Synthesizer(Method):
    """A method whose rows are all new."""

    roles: ClassVar[tuple[str, ...]] = (
        *("quasi", "confidential", "target", "insensitive", "undecided"),
    )
    kinds: ClassVar[tuple[str, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)
    perturbs: ClassVar[bool | None] = True
    least: ClassVar[int] = 3
    """Records that it needs: of one or two, every moment tells all."""

    records: int = Field(0, ge=0, description="rows to draw; 0: as many as the original has")

    def rows_of(self, table: Table) -> int:
        """How many rows to draw."""
        require_size(table, self.least, self.name)
        return self.records or table.height


def whole_table(
    table: Table, rows: int, series: Sequence[pl.Series], columns: Sequence[Column]
) -> tuple[Table, list[str]]:
    """A table of these drawn columns alone, in the order of the original, and a warning that names
    the others."""
    made = {one.name for one in series}
    gone = [name for name in table.names if name not in made]
    # Any row will do, as often as rows are needed: all of its values are replaced.
    blank = table.without(gone).take(np.zeros(rows, dtype=np.int64))
    nothing = {name: np.zeros(rows, dtype=bool) for name in made}
    warnings = []
    if gone:
        warnings.append(
            f"{', '.join(gone)}: dropped, since drawn records belong to nobody whose values could "
            "stand beside them; name columns in `columns` to have them drawn"
        )
    return blank.with_columns(series, columns, nothing), warnings
