"""Workbooks: XLSX, XLS, XLSB and ODS. Every cell is taken as it stands; what a column holds is then
judged as in a text file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ....bounds import Limits, check_zip
from ....errors import InputError, suggest
from ..files import unreadable
from ..source import Endpoint, present
from ..text.csv import check_cells
from .extent import check_extent

_MIDNIGHT = "00:00:00"
_VAST = r"^-?\d{20,}$"
_CUT = rf"\.\d{{8}}|^-?0$|{_VAST}"
_MOMENT = r"^\d{4}-\d{2}-\d{2} (\d{2}:\d{2}:\d{2}(\.\d+)?)$"
_DAY = rf"^(\d{{4}}-\d{{2}}-\d{{2}}) {_MIDNIGHT}$"


def read_sheet(
    endpoint: Endpoint, sheet: str | None = None, limits: Limits | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """All cells of one sheet as text, the first line included, and what was decided."""
    book = _opened(endpoint, limits)
    names = list(book.sheet_names)
    notes: list[str] = []
    if sheet is None:
        sheet = _only_sheet(book, endpoint)
        notes += [f"sheet: {sheet!r} (the only one with data)"] if len(names) > 1 else []
    elif sheet not in names:
        close = suggest(sheet, names)
        listed = ", ".join(map(repr, names))
        remedy = f"did you mean {close[0]!r}?" if close else f"the sheets are {listed}"
        raise InputError(f"{endpoint.label} has no sheet {sheet!r}", remedy=remedy)
    cells = _cells(book, sheet, endpoint)
    if not cells.width:
        raise InputError(f"the sheet {sheet!r} of {endpoint.label} is empty", remedy="name another")
    if limits is not None:
        limits.check_columns(cells.width, endpoint.label)
        check_cells(cells, endpoint.label, limits)
    return _without_blanks(cells, notes), notes


def sheets_of(endpoint: Endpoint) -> list[str]:
    """The sheets of a workbook that hold anything."""
    book = _opened(endpoint, Limits())
    return [str(name) for name in book.sheet_names if _load(book, name, rows=1).width]


def sheet_cells(endpoint: Endpoint, limits: Limits | None = None) -> pl.DataFrame:
    """The cells of a workbook of one sheet; without limits, one that was written here."""
    return _cells(_opened(endpoint, limits), 0, endpoint)


def _only_sheet(book: Any, endpoint: Endpoint) -> str:
    names = list(book.sheet_names)
    filled = names if len(names) == 1 else [n for n in names if _load(book, n, rows=1).width]
    if not filled:
        raise InputError(f"{endpoint.label} is empty", remedy="give a workbook with a table")
    if len(filled) > 1:
        raise InputError(
            f"{endpoint.label} has several sheets with data: {', '.join(map(repr, filled))}",
            remedy=f'sheet = "{filled[0]}" or another, --sheet on the command line',
        )
    return str(filled[0])


def _without_blanks(cells: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """The cells without empty lines, and without a title above the table."""
    filled = cells.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
    title = int((filled > 1).arg_max() or 0) if cells.width > 2 else 0
    if lines := int((filled.head(title) > 0).sum()):
        notes.append(f"{lines} line{'s' if lines > 1 else ''} above the table skipped")
    blank = int((filled.slice(title) == 0).sum())
    if blank:
        notes.append(f"{blank:,} blank line{'s were' if blank > 1 else ' was'} skipped")
    return cells.slice(title).filter(filled.slice(title) > 0)


def _opened(endpoint: Endpoint, limits: Limits | None = None) -> Any:
    import fastexcel

    try:
        raw = present(endpoint).read_bytes()
        if limits is not None:
            check_zip(raw, endpoint.label, limits)
            check_extent(raw, endpoint, limits)
        return fastexcel.read_excel(raw)
    except (fastexcel.FastExcelError, OSError, ValueError) as error:
        raise unreadable(endpoint, "a workbook", error) from error


def _cells(book: Any, sheet: str | int, endpoint: Endpoint) -> pl.DataFrame:
    """The cells as text; numbers with all their digits, which their text alone may lack."""
    import fastexcel

    try:
        text = _load(book, sheet)
        numeric = [series.name for series in text if _some_numbers(series)]
        if numeric:
            exact = _load(book, sheet, "float", numeric)
            text = text.with_columns([_with_digits(text[n], exact[n]) for n in numeric])
        midnights = [series.name for series in text if _only_midnights(series)]
        if midnights:
            moments = _load(book, sheet, "datetime", midnights)
            text = text.with_columns([_as_dates(text[n], moments[n]) for n in midnights])
    except BaseException as error:
        # A damaged sheet can make the reader panic, which is no ordinary exception.
        if not isinstance(error, fastexcel.FastExcelError) and "Panic" not in type(error).__name__:
            raise
        raise unreadable(endpoint, f"the sheet {sheet!r}", error) from error
    return text


def _load(
    book: Any,
    sheet: str | int,
    kind: str = "string",
    names: Sequence[str] | None = None,
    rows: int | None = None,
) -> pl.DataFrame:
    """Columns of a sheet as one type, called by their places; null where a cell is of another."""
    chosen = None if names is None else [int(name) for name in names]
    found = book.load_sheet(
        sheet, header_row=None, dtypes=kind, n_rows=rows, use_columns=chosen
    ).to_polars()
    places = range(found.width) if chosen is None else chosen
    return pl.DataFrame([s.alias(str(i)) for i, s in zip(places, found, strict=True)])


def _some_numbers(text: pl.Series) -> bool:
    """Whether cells have so many digits that some may be cut off."""
    return bool(text.str.contains(_CUT).any())


def _with_digits(text: pl.Series, exact: pl.Series) -> pl.Series:
    rounded = (text.cast(pl.Float64, strict=False) != exact).fill_null(False)
    vast = text.str.contains(_VAST).fill_null(False)
    if vast.any():
        # Written out, such a number looks like a code; a code is hardly ever one to the last digit.
        pairs = zip(text, exact, vast, strict=True)
        rounded |= pl.Series([bool(v) and t == f"{x:.0f}" for t, x, v in pairs])
    return exact.cast(pl.String).zip_with(rounded, text).alias(text.name)


def _only_midnights(text: pl.Series) -> bool:
    hours = text.drop_nulls().str.extract(_MOMENT, 1).drop_nulls()
    return len(hours) > 0 and bool((hours == _MIDNIGHT).all())


def _as_dates(text: pl.Series, moments: pl.Series) -> pl.Series:
    """A workbook holds a date as a moment, and only its look tells them apart; text stays text."""
    return text.str.replace(_DAY, "${1}").zip_with(moments.is_not_null(), text)
