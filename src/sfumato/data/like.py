"""A release read with the schema of its original, whoever made it."""

from __future__ import annotations

from typing import Any

import polars as pl

from .kinds import kind_of
from .schema import Kind, Schema
from .table import Table, as_frame, conform, table


def like_original(given: Any, original: Table) -> Table:
    """A frame read with the original's schema; a column whose type changed to text holds labels."""
    frame, origin = as_frame(given)
    columns = []
    for name in frame.columns:
        series = frame.get_column(name)
        if name not in original.schema:
            columns.append(table(frame.select(name)).schema[name])
            continue
        column = original.schema[name]
        labelled = column.kind in (Kind.DATE, Kind.NOMINAL, Kind.ORDINAL, Kind.TEXT)
        if labelled and series.dtype.is_numeric() and not original[name].dtype.is_numeric():
            # A reader takes labels such as 1973 or 343 for numbers.
            series = series.cast(pl.String)
            frame = frame.with_columns(series)
        text = series.dtype in (pl.String, pl.Categorical) or isinstance(series.dtype, pl.Enum)
        was_text = original[name].dtype in (pl.String, pl.Categorical) or isinstance(
            original[name].dtype, pl.Enum
        )
        if text and (not was_text or _has_new_labels(series, original[name])):
            columns.append(column.with_(generalized=True))
        elif kind_of(series) == Kind.CONTINUOUS and column.kind == Kind.INTEGER:
            columns.append(column.with_(kind=Kind.CONTINUOUS))
        else:
            columns.append(column)
    return conform(Table(frame, Schema(columns), origin=origin))


def _has_new_labels(series: Any, original: Any) -> bool:
    known = set(original.drop_nulls().cast(pl.String).unique().to_list())
    return bool(set(series.drop_nulls().cast(pl.String).unique().to_list()) - known)
