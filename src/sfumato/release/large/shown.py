"""The original as a release larger than memory lets anyone see it: data/linkage/seen.py, where the
records are. What is hidden is told by all records: a sample may have none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from ...data.generalized.label_places import has_labels
from ...data.linkage.seen import NAMES, clipped, constant, known_ends, shown_column
from ...data.pair import Pair
from ...data.schema import MEASURED, Column, Kind
from ...data.table import Table
from ...engines.counts import SIDES, Counts
from ...engines.relation import Part, Relation, TooMany
from ...poset.values.ranges import Range
from ...utility.numeric.summed import extremes

_DISTINCT = 1_000_000
"""Different values of a column that are looked at one by one."""


def shown(counts: Counts) -> Relation | None:
    """The original without what its release hides, itself where that is nothing; None where a
    column holds sets of which something is hidden, or too many different values to tell."""
    original = counts.original
    hidden: dict[str, _Hidden] = {}
    for column in original.schema:
        if column.role in NAMES:
            continue
        try:
            found = _hidden(counts, column)
        except TooMany:
            return None
        if found is not None and column.kind == Kind.SET and not found.constant:
            return None
        if found is not None:
            hidden[column.name] = found
    if not hidden:
        return original
    made, _ = original.only(list(hidden)).map_parts(partial(_without, hidden))
    return original.join(made, list(hidden))


@dataclass(frozen=True, eq=False)
class _Hidden:
    """What of a column is hidden: all of it, what lies beyond some ends, or some values."""

    column: Column
    dtype: Any
    ends: Range | None = None
    gone: pl.Series | None = None

    @property
    def constant(self) -> bool:
        return self.ends is None and self.gone is None

    def of(self, series: pl.Series) -> pl.Series:
        """A part of the column without it."""
        found = series
        if self.constant:
            found = constant(series, self.column)
        elif self.ends is not None:
            found = clipped(series, self.ends)
        elif self.gone is not None:
            here = ~series.is_in(self.gone.implode()).fill_null(False)
            found = series.zip_with(here, pl.Series([None], dtype=series.dtype))
        if found.dtype == self.dtype:
            return found
        named = isinstance(self.dtype, pl.Enum)  # its fewer categories have other places
        return (found.cast(pl.String) if named else found).cast(self.dtype)


def _hidden(counts: Counts, column: Column) -> _Hidden | None:
    """What of a column is hidden; None where nothing is."""
    name, ends = column.name, extremes(counts)
    if name not in counts.masked.schema:
        return _Hidden(column, constant(ends.original[name], column).dtype)
    measured = column.kind in MEASURED and not column.generalized
    pair = ends  # they tell what lies beyond what
    if not measured or has_labels(column, ends.masked.schema[name], ends.masked[name]):
        first, second = (counts.values(side, name, _DISTINCT).table for side in SIDES)
        pair = Pair(first, second, None)
    before = pair.original[name]
    series, seen = shown_column(pair, column)
    if series.equals(before, null_equal=True) and seen == column:
        return None
    if measured:
        return _Hidden(seen, series.dtype, known_ends(pair, column))
    return _Hidden(seen, series.dtype, gone=before.filter(series.is_null() & before.is_not_null()))


def _without(hidden: Mapping[str, _Hidden], part: Table, numbers: np.ndarray) -> Part:
    series = [one.of(part[name]) for name, one in hidden.items()]
    return Part(part.with_columns(series, [one.column for one in hidden.values()]))
