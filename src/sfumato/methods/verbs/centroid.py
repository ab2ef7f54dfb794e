"""What microaggregation publishes: one value for the whole group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import decode, encode, floats, from_floats
from ...data.partition import Cover, Partition, disjoint
from ...data.schema import NUMERIC, ORDERED, Kind
from ...data.table import Table
from ...kernels.groups import group_means, group_medians, group_modes
from ...protocols import Outcome, Verb
from ..suppression.local import suppress


class Centroid(Verb):
    """Replace each value by its group's mean, median or mode.

    Numbers and dates take the mean (or median), ordinals the median, categories the mode (ties
    to the first in order). The geometric mean is that of the logarithms, for numbers that are all
    above zero; dates keep the plain mean, as do other numbers, which the facts name. The mean of
    whole numbers need not be whole; `whole` rounds it. Where some of a group miss a value and
    others do not, the whole group's cells are suppressed, else those who miss it would stand apart.
    """

    name: ClassVar[str] = "centroid"
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = (
        "Torra 2004, Microaggregation for categorical variables: a median based approach"
    )

    numeric: Literal["mean", "geometric", "median"] = Field(
        "mean",
        description="what replaces numbers and dates: the mean, the mean of logarithms for "
        "numbers above zero, or the median",
    )
    whole: bool = Field(False, description="round integer columns to whole numbers")

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        partition = disjoint(partition, self.name)
        labels = partition.labels
        series, changed, marks = [], [], {}
        facts: dict[str, Any] = {"groups": partition.groups, "smallest group": partition.smallest}
        for name in columns:
            column = table.schema[name]
            made = self._column(table, name, partition)
            number = column.kind in NUMERIC and not column.generalized
            if self.numeric == "geometric" and number and not _positive(table[name]):
                facts.setdefault("plain mean", []).append(name)
            mixed = _mixed(table[name].is_null().to_numpy(), table.suppressed(name), partition)
            gone = (mixed[labels] & (labels >= 0)) | (labels < 0)
            if gone.any():
                made = suppress(made, gone, column.generalized)
                marks[name] = gone | table.suppressed(name)
                facts.setdefault("suppressed cells", {})[name] = int(gone.sum())
            series.append(made)
            whole = column.kind != Kind.INTEGER or made.dtype.is_integer()
            changed.append(column if whole else column.with_(kind=Kind.CONTINUOUS))
        return Outcome(table.with_columns(series, changed, marks), partition=partition, facts=facts)

    def _column(self, table: Table, name: str, partition: Partition) -> pl.Series:
        column, given = table.schema[name], table[name]
        labels = partition.labels
        if column.generalized or column.kind not in ORDERED:
            found = encode(given)
            modes = group_modes(labels, found.codes, partition.groups)
            return decode(_spread(modes, labels, 0), found.domain, name)
        numbers = floats(given, column)
        if column.kind == Kind.ORDINAL or self.numeric == "median":
            lower = column.kind in (Kind.ORDINAL, Kind.DATE)
            centre = group_medians(labels, numbers, partition.groups, lower=lower)
        else:
            centre = group_means(labels, numbers, partition.groups)
            if self.numeric == "geometric" and column.kind in NUMERIC and _positive(given):
                # As parts of the plain mean, so that equal values keep theirs to the last bit.
                logs = np.log(numbers / _spread(centre, labels, 1.0))
                centre = centre * np.exp(group_means(labels, logs, partition.groups))
        return from_floats(_spread(centre, labels, np.nan), column, given, whole=self.whole)


def _positive(series: pl.Series) -> bool:
    """Whether all numbers have a logarithm, missing ones aside."""
    return bool((series > 0).all())


def _spread(by_group: np.ndarray, labels: np.ndarray, suppressed: float) -> np.ndarray:
    """Group values to records; suppressed records get the given filler."""
    if not by_group.size:
        return np.full(labels.size, suppressed)
    return np.where(labels >= 0, by_group[labels], suppressed)


def _mixed(missing: np.ndarray, suppressed: np.ndarray, partition: Partition) -> np.ndarray:
    """Which groups hold both missing and present values, or a value that was suppressed before."""
    inside = partition.labels >= 0
    labels, groups = partition.labels[inside], partition.groups
    count = np.bincount(labels, weights=missing[inside], minlength=groups)
    marks = np.bincount(labels, weights=suppressed[inside], minlength=groups)
    return ((count > 0) & (count < partition.sizes)) | (marks > 0)
