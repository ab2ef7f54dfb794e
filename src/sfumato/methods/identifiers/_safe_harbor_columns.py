"""What Safe Harbor does to ZIP codes, dates, years and ages, told of their distinct values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ...data.schema import SUPPRESSED, Column, Kind
from ...errors import InputError, MethodError
from ...poset.interval import Interval
from ...poset.trees.sources import Hierarchy

_SMALL = (
    ("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    ("823", "830", "831", "878", "879", "884", "890", "893"),
)
SMALL_2000 = frozenset(area for row in _SMALL for area in row)
"""Three-digit ZIP areas with 20,000 people or fewer in the 2000 census (HHS, guidance on
de-identification, 2012)."""
_PEOPLE = 20_000
_ZERO = "000"
_OLDEST = 90
_PER_YEAR = {"month": 12.0, "week": 365.25 / 7, "day": 365.25, "hour": 8766.0}

Small = Callable[[str], bool]


class Treated(NamedTuple):
    """A column's values after treatment (None: removed), what was done, and what must be said."""

    series: pl.Series | None
    column: Column | None
    did: str
    warning: str = ""


def restricted_areas(population: Mapping[str, int], path: str) -> Small:
    """Whether a three-digit area must become 000. An area that a given list does not know has no
    20,000 people that anybody could show."""
    if population and path:
        raise MethodError("population is given twice", remedy="give the counts, or the file")
    if path:
        population = _read_population(Path(path))
    if population:
        large = {area.zfill(3) for area, people in population.items() if people > _PEOPLE}
        return lambda area: area not in large
    return lambda area: area in SMALL_2000


def _read_population(path: Path) -> dict[str, int]:
    try:
        frame = pl.read_csv(path, schema_overrides={"zip": pl.String}, infer_schema_length=None)
        people = frame.group_by(
            pl.when(pl.col("zip").str.len_chars() > 3)
            .then(pl.col("zip").str.zfill(5).str.slice(0, 3))
            .otherwise(pl.col("zip").str.zfill(3))
            .alias("area")
        ).agg(pl.col("population").cast(pl.Int64).sum())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{path} cannot be read as ZIP codes and their population: {error}",
            remedy="give a CSV file with the columns zip and population",
        ) from None
    return dict(people.iter_rows())


def zips_to_areas(series: pl.Series, column: Column, small: Small, counts: np.ndarray) -> Treated:
    """The first three digits; 000 for small areas; "*" for what is no ZIP code."""
    texts = series.cast(pl.String).str.strip_chars()
    if series.dtype.is_numeric():
        texts = texts.str.replace(r"\.0$", "").str.zfill(5)
    domain = texts.drop_nulls().unique().sort()
    areas = {}
    for value in domain.to_list():
        area = value[:3] if re.fullmatch(r"\d{3}|\d{5}(?:[- ]?\d{4})?", value) else SUPPRESSED
        areas[value] = _ZERO if area != SUPPRESSED and small(area) else area
    made = texts.replace_strict(domain, list(areas.values()), return_dtype=pl.String)
    zeros, stars = (_records(made == label, counts) for label in (_ZERO, SUPPRESSED))
    bound = None
    if areas and not set(areas) & set(areas.values()):
        # So that later steps know what a published area covers.
        rows = [tuple(dict.fromkeys((v, area, SUPPRESSED))) for v, area in areas.items()]
        bound = Hierarchy(levels=tuple(rows)).bind(list(areas))
    after = column.with_(kind=Kind.NOMINAL, categories=(), generalized=True, bound=bound)
    if column.kind != Kind.NOMINAL:
        after = after.with_(poset=None)
    warning = f"{stars:,} values of {column.name} are no ZIP codes and were suppressed"
    return Treated(
        made.alias(series.name),
        after,
        f"first three digits, {zeros:,} of them 000",
        warning if stars else "",
    )


def _records(chosen: pl.Series, counts: np.ndarray) -> int:
    """How many records have one of the chosen values."""
    return int(counts[chosen.fill_null(False).to_numpy()].sum())


def latest_year(columns: Sequence[pl.Series]) -> int | None:
    """The latest year in columns of dates or years."""
    found = [int(top) for one in columns if (top := _years(one).max()) is not None]  # type: ignore[arg-type]
    return max(found, default=None)


def _years(series: pl.Series) -> pl.Series:
    """The year of each value, null where there is none to be read."""
    if series.dtype.is_temporal():
        return series.dt.year()
    if series.dtype.is_integer():
        plain = pl.Series(series.cast(pl.Int64))
        whole = plain // 10_000
        is_year, is_day = plain.is_between(1000, 9999), whole.is_between(1000, 9999)
        nothing = pl.Series([None], dtype=pl.Int64)
        return plain.zip_with(is_year, whole.zip_with(is_day, nothing))
    texts = series.cast(pl.String)
    return texts.str.extract(r"(?:^|\D)(\d{4})(?:\D|$)").cast(pl.Int64, strict=False)


def dates_to_years(
    series: pl.Series, column: Column, first: int | None, counts: np.ndarray
) -> Treated:
    """The year as a label; "<=first" for that year and all before it."""
    if isinstance(series.dtype, pl.List) or series.dtype.is_float() or series.dtype == pl.Boolean:
        return Treated(None, None, "removed")
    years = _years(series).cast(pl.Int64)
    labels = years.cast(pl.String)
    old = 0
    if first is not None:
        early = (years <= first).fill_null(False)
        old = _records(early, counts)
        labels = labels.zip_with(~early, pl.Series([f"<={first}"]))
    unread = series.is_not_null() & years.is_null()
    labels = labels.zip_with(~unread, pl.Series([SUPPRESSED]))
    after = column.with_(generalized=True)
    if series.dtype.is_temporal():
        days = series.dt.date() if isinstance(series.dtype, pl.Datetime) else series
        after = after.with_(bound=Interval().bind(days.drop_nulls().unique().sort().to_list()))
    else:
        after = after.with_(kind=Kind.NOMINAL, categories=(), poset=None)
    joined = f', {old:,} of them as "<={first}"' if first is not None else ""
    stars = _records(unread, counts)
    warning = f"{stars:,} values of {column.name} tell no year and were suppressed"
    return Treated(labels.alias(series.name), after, f"year only{joined}", warning if stars else "")


def years_no_earlier(series: pl.Series, column: Column, first: int | None) -> Treated:
    """Years, those before the first as the first."""
    if first is None:
        return Treated(series, column, "kept: it is a year")
    early = (series < first).fill_null(False)
    made = series.zip_with(~early, pl.Series([first], dtype=pl.Int64).cast(series.dtype))
    did = f"years up to {first} as {first}, which means {first} or earlier"
    return Treated(made.alias(series.name), column, did)


def ages_to_90(series: pl.Series, column: Column, plain: str) -> Treated:
    """Ages above 89 as 90, which then means 90 or older."""
    if not series.dtype.is_numeric():
        return _age_labels(series, column)
    unit = next((n for word, n in _PER_YEAR.items() if word in plain), 1.0)
    top = _OLDEST * unit
    old = (series > top - unit if unit == 1 else series >= top).fill_null(False)
    limit = pl.Series([top], dtype=pl.Float64)
    if series.dtype.is_integer():
        limit = limit.cast(pl.Int64).cast(series.dtype, strict=False)
    made = series.zip_with(~old, limit) if old.any() else series
    return Treated(made.alias(series.name), column, f"{top:g} means {top:g} or more")


def _age_labels(series: pl.Series, column: Column) -> Treated:
    """Age groups: those that reach above 89 become one."""
    texts = series.cast(pl.String)
    high: dict[str, int] = {}
    for label in texts.drop_nulls().unique().sort().to_list():
        numbers = [int(n) for n in re.findall(r"\d+", label)]
        open_ended = re.search(r"\+|>|≥|older|over|above|more", label, re.IGNORECASE)
        if numbers and (open_ended or max(numbers) >= _OLDEST):
            high[label] = min(numbers)
    if not high:
        return Treated(series, column, "kept: no age group is above 89")
    joined = f"{min(_OLDEST, *high.values())}+"
    made = texts.replace(dict.fromkeys(high, joined))
    kept = made.drop_nulls().unique().to_list()
    order = tuple(c for c in column.categories if c in kept and c != joined)
    after = column.with_(kind=Kind.NOMINAL, categories=(), poset=None)
    if column.kind == Kind.ORDINAL:
        after = column.with_(categories=(*order, joined))
        made = made.cast(pl.Enum([*order, joined]))
    return Treated(made.alias(series.name), after, f'groups above 89 joined as "{joined}"')
