"""The original as its release lets anyone see it.

A figure that compares with the original tells of values that the release hides: divided by a range
that ends at the highest age, it gives that age back, however it is rounded. So public figures are
taken of an original in which nothing lies beyond what is published: numbers and dates beyond the
published ends stand at the end, categories and items that no cell shows are missing, and columns
that are not published have one value.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import polars as pl

from ...errors import MeasureError
from ...poset.interval import Interval
from ...poset.values.ranges import Range, hull
from ...poset.values.scale import scale_of
from ..codec import domain_values, encode
from ..generalized.label_places import Labels, distinct_labels, has_labels
from ..pair import Pair
from ..schema import MEASURED, SUPPRESSED, Column, Kind, Role
from ..table import Table

NAMES = (Role.IDENTIFIER, Role.HOUSEHOLD)
"""Roles of which no value is ever measured, only which records share one."""


def seen(pair: Pair) -> Pair:
    """The pair with what its masked table hides taken out of the original; the same pair where
    nothing is."""
    original = pair.original
    changed: list[pl.Series] = []
    columns: list[Column] = []
    for column in original.schema:
        if column.role in NAMES or not original.height:
            continue
        series, shown = shown_column(pair, column)
        if not series.equals(original[column.name], null_equal=True) or shown != column:
            changed.append(series)
            columns.append(shown)
    if not changed:
        return pair
    return Pair(original.with_columns(changed, columns), pair.masked, pair.rows)


def at_published_ends(table: Table, masked: Table) -> Table:
    """A table whose numbers and dates beyond the published ends stand at the end: whoever looks for
    somebody of 93 among ages that end at 90 looks at 90."""
    pair = Pair(table, masked, None)
    moved = {}
    for column in table.schema:
        if column.name in masked.schema and column.kind in MEASURED and not column.generalized:
            ends = _ends(pair, column)
            if ends is not None:
                moved[column.name] = (clipped(table[column.name], ends), column)
    if not moved:
        return table
    series, columns = zip(*moved.values(), strict=True)
    return table.with_columns(series, columns)


def seen_beside(reference: Table, pair: Pair) -> Table:
    """Other people's records, as what was published of the pair lets anyone see them."""
    return seen(Pair(reference, pair.masked, None)).original


def shown_column(pair: Pair, column: Column) -> tuple[pl.Series, Column]:
    """A column of the original without what is hidden."""
    if column.name not in pair.masked.schema:
        return constant(pair.original[column.name], column), column
    if column.kind in MEASURED and not column.generalized:
        return _within_ends(pair, column)
    masked = pair.masked.schema[column.name]
    if column.kind == Kind.SET and not (column.generalized or masked.generalized):
        return _held_items(pair.original[column.name], pair.masked[column.name]), column
    return _held_categories(pair, column)


def constant(series: pl.Series, column: Column) -> pl.Series:
    """One value wherever there is one: nothing of the column is published but its gaps."""
    if series.null_count() == len(series):
        return series
    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        plain = pl.Series([[]], dtype=pl.List(dtype.inner))
    elif isinstance(dtype, pl.Enum):
        plain = pl.Series([(column.categories or dtype.categories.to_list())[0]], dtype=dtype)
    elif dtype.is_temporal():
        plain = pl.Series([dt.date(1970, 1, 1)]).cast(dtype)
    else:
        plain = pl.Series([1]).cast(dtype)
    everywhere = plain.gather(np.zeros(len(series), dtype=np.uint32))
    nothing = pl.Series([None], dtype=plain.dtype)
    return everywhere.zip_with(series.is_not_null(), nothing).alias(series.name)


def _within_ends(pair: Pair, column: Column) -> tuple[pl.Series, Column]:
    """Numbers or dates between the published ends, or those that the plan declares."""
    before = pair.original[column.name]
    ends = known_ends(pair, column)
    if ends is None:
        return constant(before, column), column
    within = clipped(before, ends)
    source = column.poset or Interval()
    if not _labelled(pair, column) or source.ends is None:
        return within, column
    own = _value_ends(within, within)
    if own is not None and (own.low, own.high) == (ends.low, ends.high):
        return within, column
    # Labels may reach beyond everybody's values: those ends are public, the values' are not.
    low, high = (_as_given(end, before.dtype) for end in (ends.low, ends.high))
    return within, column.with_(poset=source.with_ends(low, high))


def known_ends(pair: Pair, column: Column) -> Range | None:
    """From where to where a column of numbers or dates reaches as far as anyone knows: its
    published ends, or wider ones that the plan declares; None where there are none."""
    declared = (column.poset or Interval()).ends
    return _declared(_ends(pair, column), declared, pair.original[column.name])


def _labelled(pair: Pair, column: Column) -> bool:
    return has_labels(column, pair.masked.schema[column.name], pair.masked[column.name])


def _ends(pair: Pair, column: Column) -> Range | None:
    """The published ends; None where nothing is published."""
    name = column.name
    if _labelled(pair, column):
        return _label_ends(pair, name)
    return _value_ends(pair.original[name], pair.masked[name])


def _physical(series: pl.Series) -> pl.Series:
    """Numbers as they are, dates as days and moments as microseconds since 1970."""
    if isinstance(series.dtype, pl.Datetime):
        return series.dt.replace_time_zone(None).cast(pl.Datetime("us")).to_physical()
    return series.to_physical() if series.dtype.is_temporal() else series


def _value_ends(before: pl.Series, after: pl.Series) -> Range | None:
    """The least and the greatest published value."""
    if before.dtype.is_temporal() and after.dtype != before.dtype:
        after = after.cast(before.dtype, strict=False)
    shown = _physical(after)
    if shown.dtype.is_float():
        shown = shown.filter(shown.is_finite())
    low, high = shown.min(), shown.max()
    return None if low is None or high is None else Range(low, high)  # type: ignore[arg-type]


def _label_ends(pair: Pair, name: str) -> Range | None:
    """From where to where the published labels reach; an open end ends where it begins."""
    reader = Labels.of(pair.original, name)
    whole = reader.whole or isinstance(pair.original[name].dtype, pl.Datetime)
    found, others = [], []
    for label in distinct_labels(pair.masked[name])[0]:
        if label == SUPPRESSED:
            continue
        try:
            ends = reader.range(label)
        except (MeasureError, ValueError):
            continue  # nobody can read it
        if ends is None:
            others.append(label)
        else:
            found.append(_closed(ends, whole=whole))
    values = domain_values(reader.column, reader.domain)
    for covered in _covered(reader, others):
        numbers = scale_of(values).array([values[i] for i in covered])
        if numbers.size:
            found.append(Range(numbers.min().item(), numbers.max().item()))
    return hull(found) if found else None


def _closed(ends: Range, *, whole: bool) -> Range:
    """A range with both ends, which belong to it."""

    def inside(end: float, is_open: bool, way: int) -> float:
        if not is_open or not math.isfinite(end):
            return end
        return end + way if whole else math.nextafter(end, way * math.inf)

    low, high = inside(ends.low, ends.low_open, 1), inside(ends.high, ends.high_open, -1)
    low, high = (high if low == -math.inf else low), (low if high == math.inf else high)
    return Range(min(low, high), max(low, high))


def _declared(
    ends: Range | None, declared: tuple[Any, Any] | None, before: pl.Series
) -> Range | None:
    """The ends, or those that the plan says, whichever are wider."""
    first, last = declared or (None, None)
    said = [end for end in (first, last) if end is not None]
    if not said:
        return ends
    scale = scale_of(before.drop_nulls().head(1).to_list() or said)
    given = [scale.number(end) for end in said]
    known = [*given, *((ends.low, ends.high) if ends is not None else ())]
    low = min(known) if first is not None or ends is None else min(ends.low, *given)
    high = max(known) if last is not None or ends is None else max(ends.high, *given)
    return Range(low, high)


def clipped(series: pl.Series, ends: Range) -> pl.Series:
    """The column with everything beyond the ends at the end."""
    plain = _physical(series)
    if plain.dtype.is_integer():
        low, high = math.ceil(ends.low), math.floor(ends.high)
        if low > high:  # between two whole numbers
            low = high = round(ends.low)
        long = plain.dtype in (pl.UInt64, pl.Int128, pl.UInt128)
        within = plain.cast(pl.Int128 if long else pl.Int64).clip(low, high)
    else:
        within = plain.clip(float(ends.low), float(ends.high))
    if bool(within.eq_missing(plain.cast(within.dtype)).all()):
        return series
    if isinstance(series.dtype, pl.Datetime):
        moments = within.cast(pl.Datetime("us")).cast(pl.Datetime(series.dtype.time_unit))
        return moments.dt.replace_time_zone(series.dtype.time_zone).alias(series.name)
    if series.dtype.is_temporal():
        return within.cast(pl.Int32).cast(series.dtype)
    fitted = within.cast(series.dtype, strict=False)
    return fitted if fitted.null_count() == series.null_count() else within


def _as_given(end: Any, dtype: pl.DataType) -> Any:
    """An end of a range as a plan writes it."""
    if isinstance(dtype, pl.Datetime):
        return dt.date(1970, 1, 1) + dt.timedelta(microseconds=int(end))
    return dt.date(1970, 1, 1) + dt.timedelta(days=int(end)) if dtype == pl.Date else end


def _held_items(before: pl.Series, after: pl.Series) -> pl.Series:
    """Sets without the items that no published set holds."""
    if isinstance(before.dtype, pl.Array):
        before = before.arr.to_list()
    items = before.explode().drop_nulls().unique()
    texts = after.explode().drop_nulls().cast(pl.String).unique()
    held = items.filter(items.cast(pl.String).is_in(texts.implode()))
    if len(held) == len(items):
        return before
    return before.list.eval(pl.element().filter(pl.element().is_in(held.implode())))


def _held_categories(pair: Pair, column: Column) -> tuple[pl.Series, Column]:
    """The column without the values that no published cell shows, alone or in a label."""
    before, after = pair.original[column.name], pair.masked[column.name]
    found = encode(before)
    held = np.append(False, _held(pair, column, found.domain, after))
    gone = ~held[found.codes] & (found.codes > 0)
    series = before
    if gone.any():
        series = before.zip_with(pl.Series(~gone), pl.Series([None], dtype=before.dtype))
    if column.kind != Kind.ORDINAL or not isinstance(before.dtype, pl.Enum):
        return series, column
    # Categories that nobody shows may be somebody's, whether a plan lists them or a file does.
    shown = set(found.domain.filter(pl.Series(held[1:])).cast(pl.String).to_list())
    kept = tuple(name for name in column.categories if name in shown)
    if kept == column.categories or not kept:
        return series, column
    return series.cast(pl.String).cast(pl.Enum(list(kept))), column.with_(categories=kept)


def _held(pair: Pair, column: Column, domain: pl.Series, after: pl.Series) -> np.ndarray:
    """bool: which of these values a published cell shows."""
    if not has_labels(column, pair.masked.schema[column.name], after):
        texts = after.cast(pl.String, strict=False).drop_nulls().unique()
        return domain.cast(pl.String, strict=False).is_in(texts.implode()).to_numpy()
    reader = Labels.of(pair.original, column.name)
    held = np.zeros(len(domain), dtype=bool)
    for covered in _covered(reader, [w for w in distinct_labels(after)[0] if w != SUPPRESSED]):
        held[covered] = True
    return held


def _covered(reader: Labels, labels: list[str]) -> list[np.ndarray]:
    """The places of the values that each label covers; labels that nobody can read cover none."""
    try:
        found = reader.coverage(reader.domain, labels)
    except MeasureError:
        if len(labels) == 1:
            return []
        half = len(labels) // 2
        return [*_covered(reader, labels[:half]), *_covered(reader, labels[half:])]
    place = np.full(len(reader.domain) + 1, -1)
    place[found.ranks] = np.arange(len(reader.domain))
    covered = (place[found.of(i)] for i in range(len(labels)))
    return [places[places >= 0] for places in covered]
