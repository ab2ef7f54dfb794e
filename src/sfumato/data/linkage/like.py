"""A release read with the schema of its original, whoever made it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from ...errors import InputError, SchemaError
from ..codec import code
from ..exact import exactly
from ..io.sets import split
from ..kinds import is_text, kind_of
from ..schema import SUPPRESSED, Kind, Schema
from ..table import Table, as_frame, conform, table

_SET_LABEL = r"^\{.*\}\+?$"


def like_original(given: Any, original: Table) -> Table:
    """A frame read with the original's schema; a column whose type changed to text holds labels,
    but for sets, which text files hold as text."""
    frame, origin = as_frame(given)
    columns, hidden = [], {}
    for name in frame.columns:
        series = frame.get_column(name)
        if name not in original.schema:
            columns.append(table(frame.select(exactly(name))).schema[name])
            continue
        column = original.schema[name]
        if _holds_sets(series, original, name):
            series, hidden[name] = sets_of_text(series, original[name])
            frame = frame.with_columns(series)
        elif (found := _numbers_and_marks(series, original[name])) is not None:
            series, hidden[name] = found
            frame = frame.with_columns(series)
        labelled = column.kind in (Kind.DATE, Kind.NOMINAL, Kind.ORDINAL, Kind.TEXT)
        if labelled and series.dtype.is_numeric() and not original[name].dtype.is_numeric():
            # A reader takes labels such as 1973 or 343 for numbers.
            series = series.cast(pl.String)
            frame = frame.with_columns(series)
        was_text = is_text(original[name])
        if is_text(series) and (
            not was_text
            or _has_new_labels(series, original[name])
            or _has_moved_up(series, original, name)
        ):
            columns.append(column.with_(generalized=True))
        elif kind_of(series) == Kind.CONTINUOUS and column.kind == Kind.INTEGER:
            columns.append(column.with_(kind=Kind.CONTINUOUS))
        else:
            columns.append(column)
    return conform(Table(frame, Schema(columns), hidden, origin=origin))


def _numbers_and_marks(
    series: pl.Series, original: pl.Series
) -> tuple[pl.Series, np.ndarray] | None:
    """Numbers of which some are suppressed: a reader takes them for text, as which nothing
    compares them. None where there is anything else, or no number."""
    if not (original.dtype.is_numeric() and is_text(series)):
        return None
    cells = series.cast(pl.String)
    hidden = (cells == SUPPRESSED).fill_null(False)
    told = cells.zip_with(~hidden, pl.Series([None], dtype=pl.String))
    numbers = told.cast(pl.Float64, strict=False)
    strange = numbers.null_count() > told.null_count()
    if not hidden.any() or strange or numbers.null_count() == len(numbers):
        return None
    whole = told.cast(pl.Int64, strict=False)
    exact = whole.null_count() == told.null_count()
    return (whole if exact else numbers), hidden.to_numpy()


def sets_of_text(
    series: pl.Series, original: pl.Series | None = None
) -> tuple[pl.Series, np.ndarray]:
    """Sets from the cells of a text file, and which cells hold the mark of suppression.

    Items get the type that they have in the original. Cells of one item each may have been read
    as numbers, and the empty set with them as missing.

    >>> sets, hidden = sets_of_text(pl.Series(["2 10", "", "*"]), pl.Series([[2, 10], [2], [10]]))
    >>> sets.to_list(), hidden.tolist()
    ([[2, 10], [], None], [False, False, True])
    """
    cells = series.cast(pl.String)
    if not is_text(series) and original is not None:
        _refuse_doubt(series, original)
        cells = cells.fill_null("")
    hidden = (cells == SUPPRESSED).fill_null(False)
    if hidden.any():
        # Not an item: where one is named like the mark, the whole column is written as JSON.
        cells = cells.zip_with(~hidden, pl.Series([None], dtype=pl.String))
    sets = split(cells)
    if original is not None:
        sets = _with_items_of(sets, original)
    return sets.alias(series.name), hidden.to_numpy()


def _refuse_doubt(series: pl.Series, original: pl.Series) -> None:
    """Raise where a reader that took cells for numbers has lost what they were."""
    unlike = series.dtype.is_float() and getattr(original.dtype, "inner", None) == pl.String
    if unlike or (series.null_count() and original.null_count()):
        what = "1.50 from 1.5" if unlike else "empty sets from missing ones"
        raise InputError(
            f"column {series.name!r} of the release was read as {series.dtype}, which does not "
            f"tell {what}",
            remedy=f'read it as text: sf.read(..., kinds={{"{series.name}": "nominal"}})',
        )


def _with_items_of(sets: pl.Series, original: pl.Series) -> pl.Series:
    """The sets with the original's type of items."""
    inner = getattr(original.dtype, "inner", pl.String())
    if inner == pl.String or isinstance(inner, pl.Enum | pl.Categorical):
        return sets  # categories are published as text, so that no unused one is
    item = pl.element()
    typed = sets.list.eval(_typed(item, inner))
    lost = sets.list.eval(item.is_null()).list.sum() != typed.list.eval(item.is_null()).list.sum()
    if lost.any():
        row = int(lost.fill_null(False).arg_max() or 0)
        raise InputError(
            f"column {original.name!r}, record {row + 1:,} of the release holds items that are not "
            f"{inner}, as those of the original are: {sets[row].to_list()!r}",
            remedy="give the original's items as text, or mend the release",
        )
    return typed


def _typed(item: pl.Expr, inner: Any) -> pl.Expr:
    if inner == pl.Boolean:
        return item.replace_strict({"true": True, "false": False}, default=None)
    if inner == pl.Date:
        return item.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(inner, pl.Datetime):
        return item.str.to_datetime(time_unit=inner.time_unit, strict=False)
    return item.cast(inner, strict=False)


def _holds_sets(series: pl.Series, original: Table, name: str) -> bool:
    """Whether the cells of a text file stand for sets, not for labels such as "{tea}+"."""
    column = original.schema[name]
    was_list, is_list = (isinstance(s.dtype, pl.List | pl.Array) for s in (original[name], series))
    if column.kind != Kind.SET or column.generalized or not was_list or is_list:
        return False
    return not series.cast(pl.String).drop_nulls().str.contains(_SET_LABEL).any()


def _has_new_labels(series: Any, original: Any) -> bool:
    known = set(original.drop_nulls().cast(pl.String).unique().to_list())
    return bool(set(series.drop_nulls().cast(pl.String).unique().to_list()) - known)


def _has_moved_up(series: pl.Series, original: Table, name: str) -> bool:
    """Whether values have become groups that are values of the original, too.

    Then some group is there more often, and never more records at or below any of the values.
    """
    if original.schema[name].poset is None:
        return False
    try:
        own = code(original, name)
    except SchemaError:
        return False
    tree, above = own.structure.tree, own.structure.above
    if above is None or (tree is not None and not tree.grouped):
        return False
    codes, many = np.unique(own.codes[own.codes > 0], return_counts=True)
    lines = [above(number) for number in codes.tolist()]
    before = dict(zip((line[0] for line in lines), many.tolist(), strict=True))
    after = Counter(series.drop_nulls().cast(pl.String).to_list())
    for value in before:
        below = [line[0] for line in lines if value in line]
        if sum(after[label] for label in below) > sum(before[label] for label in below):
            return False
    return any(after[label] > count for label, count in before.items())
