"""The cells of a sheet before they are written: numbers and dates where the format holds them
exactly, text everywhere else, and never a formula."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import polars as pl

from ....errors import OutputError
from ...schema import SUPPRESSED
from ...table import Table
from ..render import hidden_cells, refuse_clash, sets_as_text

ROWS, COLUMNS, LENGTH = 1_048_576, 16_384, 32_767
_EXACT = 2**53
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
            f"a sheet holds {ROWS - 1:,} records and {COLUMNS:,} columns at most",
            remedy='format = "csv" or "parquet"',
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
            remedy='format = "csv" or "parquet"',
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
        if (series.is_infinite() | series.is_nan()).any():
            raise OutputError(
                f"column {series.name!r} holds an infinity, which no sheet can",
                remedy='format = "csv" or "parquet"',
            )
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
    zone = getattr(series.dtype, "time_zone", None)
    whole = (series.dt.nanosecond() == 0).all() and series.dt.date().ge(_FIRST_DAY).all()
    # Nothing but midnights would be read as dates.
    if zone is None and whole and (series.dt.time() != dt.time()).any():
        return "moment", series
    return "text", series.dt.to_string("%Y-%m-%dT%H:%M:%S%.f" + ("%:z" if zone else ""))


def _refuse(text: pl.Series, tabs: bool) -> None:
    control = text.str.contains(_FORBIDDEN).fill_null(False)
    empty = (text == "").fill_null(False)
    # A long cell would be cut by the program that opens the file, and nobody would know.
    long = (text.str.len_chars() > LENGTH).fill_null(False)
    tab = text.str.contains("\t", literal=True).fill_null(False)
    for bad, what in (
        *(() if tabs else ((tab, "a tab, which ODS does not keep"),)),
        (control, "a control character"),
        (long, f"more than {LENGTH:,} characters"),
        (empty, "an empty text, which a sheet cannot tell from a missing one"),
    ):
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise OutputError(
                f"column {text.name!r}, record {row + 1:,} holds {what}",
                remedy='mend the cell, or format = "csv" or "parquet"',
            )
