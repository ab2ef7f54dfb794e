"""Dates as people write them, where a whole column agrees on the order of day and month."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Dates:
    """A column as dates and the format that fits it; or, if several fit, `values` is None."""

    values: pl.Series | None
    formats: tuple[str, ...]


_SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"^\d{4}-\d{2}-\d{2}$", ("%Y-%m-%d",)),
    (r"^\d{4}/\d{1,2}/\d{1,2}$", ("%Y/%m/%d",)),
    (r"^\d{1,2}\.\d{1,2}\.\d{4}$", ("%d.%m.%Y",)),
    (r"^\d{1,2}/\d{1,2}/\d{4}$", ("%d/%m/%Y", "%m/%d/%Y")),
    (r"^\d{1,2}-\d{1,2}-\d{4}$", ("%d-%m-%Y", "%m-%d-%Y")),
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
            return _by_format(series, shape, formats)
    if re.match(_MOMENT, first[0]):
        return _moments(series, _MOMENT, "")
    if re.match(_ZONED, first[0]):
        return _moments(series, _ZONED, "%#z")
    return None


def looks_like_date(value: str) -> bool:
    """Whether a value has the shape of a date, valid or not."""
    return any(re.match(shape, value) for shape in (*(s for s, _ in _SHAPES), _MOMENT, _ZONED))


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
