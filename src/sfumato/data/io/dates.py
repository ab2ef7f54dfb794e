"""Dates as people write them, where a whole column agrees on the order of day and month.

A column may hold several formats, if no cell of it can be read in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from .months import has_month, in_english


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
    (r"^\d{4}\.\d{1,2}\.\d{1,2}$", ("%Y.%m.%d",)),
    (r"^\d{4}年\d{1,2}月\d{1,2}日$", ("%Y年%m月%d日",)),
    (r"^\d{4}년 \d{1,2}월 \d{1,2}일$", ("%Y년 %m월 %d일",)),
)
_ASKED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"^\d{8}$", ("%Y%m%d",)),
    (r"^\d{1,2}/\d{4}$", ("%m/%Y",)),
    (r"^\d{1,2}\.\d{4}$", ("%m.%Y",)),
    (r"^\d{1,2}-\d{4}$", ("%m-%Y",)),
    (r"^\d{4}-\d{2}$", ("%Y-%m",)),
    (r"^\d{4}/\d{2}$", ("%Y/%m",)),
    (r"^\d{4}年\d{1,2}月$", ("%Y年%m月",)),
    (rf"^{_MONTH} \d{{4}}$", ("%b %Y",)),
)
"""Dates without marks or without a day, which nobody takes for dates unless somebody says so."""
_TIMES = (
    (r"\d{1,2}:\d{2}", "%H:%M"),
    (r"\d{1,2}:\d{2}:\d{2}", "%H:%M:%S"),
    (r"\d{1,2}:\d{2} [AaPp][Mm]", "%I:%M %p"),
    (r"\d{1,2}:\d{2}:\d{2} [AaPp][Mm]", "%I:%M:%S %p"),
)
_BETWEEN = (" ", ", ", "T")
_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$"
_ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z| ?UTC| ?[+-]\d{2}(:?\d{2})?)$"
_NANO = r"\.\d{7,9}"


def dates(series: pl.Series, *, asked: bool = False) -> Dates | None:
    """The column as dates or moments; None if its first value has no such shape or another fails.

    `asked` admits 20240131 and 3/1953, which without a caller's word are a number and a text.
    """
    first = series.drop_nulls().head(1).to_list()
    if not first:
        return None
    found = _read(series, first[0], asked)
    if found is None and has_month(first[0]):
        english = in_english(series)
        return _read(english, english.drop_nulls()[0], asked)
    return found


def _read(series: pl.Series, first: str, asked: bool) -> Dates | None:
    for shape, formats in (*_SHAPES, *(_ASKED if asked else ())):
        if re.match(shape, first):
            return _by_format(series, shape, formats) or _mixed(series)
    if re.match(_MOMENT, first):
        return _moments(series, _MOMENT, "")
    if re.match(_ZONED, first):
        return _moments(series, _ZONED, "%#z")
    return _timed(series, first)


def _timed(series: pl.Series, first: str) -> Dates | None:
    """A date in any order with a time of day behind it."""
    for time, clock in _TIMES:
        for shape, formats in _SHAPES:
            for between in _BETWEEN:
                both = f"{shape[:-1]}{between}{time}$"
                if re.match(both, first):
                    wanted = tuple(f"{one}{between}{clock}" for one in formats)
                    return _by_format(series, both, wanted)
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
        values = _parsed(series, wanted)
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
    """Each cell by the first of the formats that fits it, null where none does.

    Months may be named in any language that is known; "%s" reads seconds since 1970.
    """
    text = series.str.strip_chars()
    read = [_parsed(text, wanted) for wanted in formats]
    named = [f for f in formats if "%b" in f or "%B" in f]
    if named:
        english = in_english(text)
        read += [_parsed(english, _NAMED.sub("%d %b %Y", f)) for f in named]
    read = [without_zone(one) for one in read]
    if len({one.dtype for one in read}) > 1:
        read = [one.cast(pl.Datetime("us")) for one in read]
    return pl.select(pl.coalesce(read)).to_series().alias(series.name)


_NAMED = re.compile(r"%d\.?(?:[ -]de)?[ -]?%[bB],?[ -]?(?:del? )?%Y")
_CLOCKS = ("%H", "%I", "%T", "%R", "%s")
_DAYS = ("%d", "%e", "%j", "%F", "%D", "%x", "%v")


def _parsed(series: pl.Series, wanted: str) -> pl.Series:
    """Texts by one format, as moments where it tells the time, on the first of a month where it
    tells no day; null where it does not fit."""
    if any(mark in wanted for mark in _CLOCKS):
        return series.str.to_datetime(wanted, time_unit="us", strict=False)
    if not any(mark in wanted for mark in _DAYS):
        first = ("01 " + series).alias(series.name)
        return first.str.to_date(f"%d {wanted}", strict=False)
    return series.str.to_date(wanted, strict=False)


def _moments(series: pl.Series, shape: str, zone: str) -> Dates | None:
    if not series.str.contains(shape).all():
        return None
    text = series.str.replace(" ", "T", literal=True)
    if zone:
        text = text.str.replace(r"(?:Z| ?UTC)$", "+00:00").str.replace(" ", "", literal=True)
    text = text.str.replace(r"(T\d{2}:\d{2})([+-].*)?$", "${1}:00${2}")
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
    return Dates(without_zone(values), ("%Y-%m-%dT%H:%M:%S" + zone,))


ZONED = "its moments have time zones, and were read as those of UTC"


def has_zone(series: pl.Series) -> bool:
    """Whether texts are moments with a zone."""
    return any(re.match(_ZONED, text) for text in series.drop_nulls().head(1).to_list())


def without_zone(series: pl.Series) -> pl.Series:
    """Moments of any zone as those of UTC, as which they can be compared; others as they are."""
    if getattr(series.dtype, "time_zone", None) is None:
        return series
    return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
