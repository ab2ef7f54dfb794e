"""The cells of a sheet before they are written: numbers and dates where the format holds them
exactly, text everywhere else, and never a formula."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import polars as pl

from ....errors import OutputError
from ...schema import SUPPRESSED
from ...table import Table
from ..render import hidden_cells, moments_as_text, refuse_clash, refuse_first, sets_as_text

ROWS, COLUMNS, LENGTH = 1_048_576, 16_384, 32_767
_EXACT = 2**53
_OTHER = 'format = "csv" or "parquet"'
_FIRST_DAY = dt.date(1900, 3, 1)
"""Before it, spreadsheets disagree about the number of a day."""
_FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"


@dataclass(frozen=True)
class SheetColumn:
    """A column's type in a sheet, its values, and where the mark stands instead of a value."""

    kind: str
    """One of text, number, boolean, date, moment."""
    values: pl.Series
    marked: pl.Series


def sheet_columns(
    table: Table, suppressed: str = SUPPRESSED, *, tabs: bool = True
) -> list[SheetColumn]:
    """Every column as a sheet can hold it; what it cannot is refused with the first such cell."""
    if table.height >= ROWS or len(table.names) > COLUMNS:
        raise OutputError(
            f"a sheet holds {ROWS - 1:,} records and {COLUMNS:,} columns at most", remedy=_OTHER
        )
    for name in table.names:
        _refuse(pl.Series("the header", [name]), tabs)
    found = [_column(table, name, suppressed, tabs) for name in table.names]
    there = pl.DataFrame(
        [
            ((c.values.is_not_null() & ~c.marked) | (c.marked & bool(suppressed))).alias(str(i))
            for i, c in enumerate(found)
        ]
    )
    nothing = ~there.select(pl.any_horizontal(pl.all())).to_series()
    if nothing.any():
        raise OutputError(
            f"record {int(nothing.arg_max() or 0) + 1:,} holds no value at all, which a sheet "
            "cannot tell from an empty line",
            remedy=_OTHER,
        )
    return found


def _column(table: Table, name: str, mark: str, tabs: bool) -> SheetColumn:
    series = table[name]
    kind, values = _typed(series, mark)
    if kind == "text":
        _refuse(values, tabs)
    hidden = hidden_cells(table, name)
    if kind == "text" and hidden.any():
        refuse_clash(values, hidden, mark)
    return SheetColumn(kind, values, hidden)


def _typed(series: pl.Series, mark: str) -> tuple[str, pl.Series]:
    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return "text", sets_as_text(series, mark, bare=False)
    if dtype == pl.Boolean:
        return "boolean", series
    if dtype.is_float():
        refuse_first(~series.is_finite(), series, "{}, which no sheet can", _OTHER)
        return "number", series.cast(pl.Float64)
    if dtype.is_integer():
        small = series.cast(pl.Int128).abs().le(_EXACT).all()
        return ("number", series) if small else ("text", series.cast(pl.String))
    if dtype == pl.Date:
        early = series.lt(_FIRST_DAY).any()
        return ("text", series.dt.to_string("%Y-%m-%d")) if early else ("date", series)
    if isinstance(dtype, pl.Datetime):
        return _moments(series)
    return "text", series.cast(pl.String)


def _moments(series: pl.Series) -> tuple[str, pl.Series]:
    """Moments in whole seconds of no zone; others as ISO 8601 text, which loses nothing."""
    whole = (series.dt.nanosecond() == 0).all() and series.dt.date().ge(_FIRST_DAY).all()
    # Nothing but midnights would be read as dates.
    if (
        series.dtype == pl.Datetime(time_zone=None)
        and whole
        and (series.dt.time() != dt.time()).any()
    ):
        return "moment", series
    return "text", moments_as_text(series)


def _refuse(text: pl.Series, tabs: bool) -> None:
    for bad, what in (
        (text.str.contains(_FORBIDDEN), "a control character"),
        # A long cell would be cut by the program that opens the file, and nobody would know.
        (text.str.len_chars() > LENGTH, f"more than {LENGTH:,} characters"),
        (text == "", "an empty text, which a sheet cannot tell from a missing one"),
        (text.str.contains("\t") & (not tabs), "a tab, which ODS does not keep"),
    ):
        refuse_first(bad, text, what, f"mend the cell, or {_OTHER}")
