"""Dates as people write them, where a whole column agrees on the order of day and month.

A column may hold several formats, if no cell of it can be read in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Dates:
    """A column as dates and the formats of its cells; or, where a cell fits several, no values."""

    values: pl.Series | None
    formats: tuple[str, ...]
    doubtful: str = ""
    """A cell that can be read in two ways, in a column of several formats."""


_MONTH = (
    "(?i:jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(tember)?"
    "|oct(ober)?|nov(ember)?|dec(ember)?)"
)
_SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"^\d{4}-\d{2}-\d{2}$", ("%Y-%m-%d",)),
    (r"^\d{4}/\d{1,2}/\d{1,2}$", ("%Y/%m/%d",)),
    (r"^\d{1,2}\.\d{1,2}\.\d{4}$", ("%d.%m.%Y",)),
    (r"^\d{1,2}/\d{1,2}/\d{4}$", ("%d/%m/%Y", "%m/%d/%Y")),
    (r"^\d{1,2}-\d{1,2}-\d{4}$", ("%d-%m-%Y", "%m-%d-%Y")),
    (rf"^\d{{1,2}} {_MONTH} \d{{4}}$", ("%d %b %Y",)),
    (rf"^\d{{1,2}}-{_MONTH}-\d{{4}}$", ("%d-%b-%Y",)),
    (rf"^\d{{2}}{_MONTH}\d{{4}}$", ("%d%b%Y",)),
    (rf"^{_MONTH} \d{{1,2}}, \d{{4}}$", ("%b %d, %Y",)),
)
_COMPACT = (r"^\d{8}$", ("%Y%m%d",))
_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$"
_ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})$"
_NANO = r"\.\d{7,9}"


def dates(series: pl.Series, *, compact: bool = False) -> Dates | None:
    """The column as dates or moments; None if its first value has no such shape or another fails.

    `compact` admits 20240131, which without a caller's word is taken for an integer.
    """
    first = series.drop_nulls().head(1).to_list()
    if not first:
        return None
    for shape, formats in (*_SHAPES, *((_COMPACT,) if compact else ())):
        if re.match(shape, first[0]):
            return _by_format(series, shape, formats) or _mixed(series)
    if re.match(_MOMENT, first[0]):
        return _moments(series, _MOMENT, "")
    if re.match(_ZONED, first[0]):
        return _moments(series, _ZONED, "%#z")
    return None


DATELIKE = "|".join((*(f"({shape})" for shape, _ in _SHAPES), f"({_MOMENT})", f"({_ZONED})"))
"""A text that has the shape of a date, valid or not."""
_LOOKS = re.compile(DATELIKE)
_SHORT_YEAR = r"^\d{1,2}([./-])\d{1,2}[./-]\d{2}$"


def unread_dates(series: pl.Series) -> str:
    """Why cells that all look like dates were not read as such; nothing where some do not."""
    present = series.drop_nulls()
    apart = present.str.extract(_SHORT_YEAR, 1)
    if apart.null_count() == 0:
        form = f"%d{apart[0]}%m{apart[0]}%y"
        return f'its dates have years of two digits; dates={{"{series.name}": "{form}"}} reads them'
    if present.str.contains(DATELIKE).all():
        return (
            "its cells look like dates, but some are none, or they do not agree on the order of "
            'day and month, or some have a time; dates={...: ["%Y-%m-%d", ...]} names the formats'
        )
    return ""


def looks_like_date(value: str) -> bool:
    """Whether a value has the shape of a date, valid or not."""
    return _LOOKS.match(value) is not None


def _by_format(series: pl.Series, shape: str, formats: tuple[str, ...]) -> Dates | None:
    if not series.str.contains(shape).all():
        return None
    fitting = []
    for wanted in formats:
        values = series.str.to_date(wanted, strict=False)
        if values.null_count() == series.null_count() and values.dt.year().ge(1).all():
            fitting.append((wanted, values))
    if not fitting:
        return None
    if len(fitting) > 1 and not fitting[0][1].equals(fitting[1][1]):
        return Dates(None, tuple(wanted for wanted, _ in fitting))
    return Dates(fitting[0][1], (fitting[0][0],))


def _mixed(series: pl.Series) -> Dates | None:
    """Cells of several formats, each of which must be readable in one way only."""
    values = pl.Series(series.name, [None], dtype=pl.Date).new_from_index(0, len(series))
    used: list[str] = []
    doubtful = ""
    for shape, formats in _SHAPES:
        here = series.str.contains(shape).fill_null(False)
        if not here.any():
            continue
        cells = series.zip_with(here, pl.Series([None], dtype=pl.String))
        read = {wanted: cells.str.to_date(wanted, strict=False) for wanted in formats}
        fitting = {f: found for f, found in read.items() if found.null_count() == (~here).sum()}
        two = [found for found in read.values() if found.null_count() < len(series)]
        if len(two) > 1:
            apart = (two[0] != two[1]).fill_null(False)
            doubtful = doubtful or (series[int(apart.arg_max() or 0)] if apart.any() else "")
        if not fitting:
            return None
        used += list(fitting)
        values = values.zip_with(values.is_not_null(), next(iter(fitting.values())))
    if values.null_count() != series.null_count() or not values.dt.year().ge(1).all():
        return None
    return Dates(None if doubtful else values, tuple(used), doubtful)


def by_formats(series: pl.Series, formats: Sequence[str]) -> pl.Series:
    """Each cell by the first of the formats that fits it, null where none does."""
    text = series.str.strip_chars()
    values = text.str.to_date(formats[0], strict=False)
    for wanted in formats[1:]:
        values = values.zip_with(values.is_not_null(), text.str.to_date(wanted, strict=False))
    return values


def _moments(series: pl.Series, shape: str, zone: str) -> Dates | None:
    if not series.str.contains(shape).all():
        return None
    text = series.str.replace(" ", "T", literal=True)
    if zone:
        text = text.str.replace(r"Z$", "+00:00")
    else:
        text = text.str.replace(r"(T\d{2}:\d{2})$", "${1}:00")
    unit: pl.datatypes.TimeUnit = "ns" if bool(text.str.contains(_NANO).any()) else "us"  # type: ignore[name-defined]
    values = text.str.to_datetime(
        f"%Y-%m-%dT%H:%M:%S%.f{zone}",
        time_unit=unit,
        time_zone="UTC" if zone else None,
        strict=False,
    )
    if values.null_count() != series.null_count() or not values.dt.year().ge(1).all():
        return None
    # Nanoseconds reach from 1678 to 2261 only, and wrap around silently.
    written = text.str.slice(0, 4).cast(pl.Int32, strict=False)
    if unit == "ns" and not (values.dt.year() - written).abs().le(1).all():
        return None
    return Dates(values, ("%Y-%m-%dT%H:%M:%S" + zone,))
