"""What the report draws of each column, original against masked, and what it must not draw.

The public face shows the original only in aggregate: no bin or category with fewer than ten
original records, no range beyond that of the release, counts rounded to tens, up or down by the
release's secret seed (so that nothing can be had by subtraction), and no name of a category that is
rare there and absent from what is published.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from ...data.codec import floats
from ...data.generalized.label_places import has_labels
from ...data.pair import Pair
from ...data.schema import CATEGORICAL, Column, Kind, Role
from ...data.sets.table import SetTable
from ...data.table import Table
from ...errors import SchemaError
from ...measurement import Rounding
from .parts import percent
from .spread import Bars, CannotDraw, Intervals, bars, commonest, intervals, totals

FEWEST = 10
"""Original records that a bin or category must have to be drawn in public."""
MOST_PICTURES = 12
_MOST_BARS = 9
_BINS = 24
_ROLES = (Role.QUASI, Role.CONFIDENTIAL, Role.TARGET)
_EPOCH = dt.date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = ((day - _EPOCH).days for day in (dt.date.min, dt.date.max))


Form = Literal["histogram", "dates", "bars"]


@dataclass(frozen=True, eq=False)
class Picture:
    """One column, ready to be drawn. Shares are of all records; NaN is not drawn."""

    column: Column
    form: Form
    original: np.ndarray
    masked: np.ndarray
    edges: np.ndarray = field(default_factory=lambda: np.empty(0))
    names: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Pictures:
    """The columns that are drawn, those that are not with the reason, and those beyond the most."""

    drawn: list[Picture]
    undrawn: dict[str, str]
    beyond: list[str]


@dataclass(frozen=True)
class Gaps:
    """The cells of a published column that have no value."""

    missing: int
    suppressed: int


def gaps(table: Table) -> dict[str, Gaps]:
    """The two kinds of gaps of every column, counted once."""
    return {
        name: Gaps(int(table.missing(name).sum()), int(table.suppressed(name).sum()))
        for name in table.names
    }


def alone(table: Table, name: str) -> Picture:
    """One column by itself, for its owner: nothing of it is held back."""
    column = table.schema[name]
    if column.kind == Kind.TEXT:
        raise CannotDraw("it is free text")
    if column.kind == Kind.SET:
        held = _holders(table[name])
        first = sorted(held.items(), key=lambda one: (-one[1], one[0]))[:_MOST_BARS]
        return _bars_alone(table, column, dict(first), len(held), "")
    if column.kind in CATEGORICAL:
        common, many = commonest(table[name], _MOST_BARS)
        left = table.height - table[name].null_count() - sum(common.values())
        return _bars_alone(table, column, common, many, percent(left / max(table.height, 1)))
    values = _finite(table[name], column)
    if not values.size:
        raise CannotDraw("it has no values")
    low, high = float(values.min()), float(values.max())
    dates = column.kind == Kind.DATE
    edges = date_edges(low, high) if dates else number_edges(low, high, column.kind == Kind.INTEGER)
    shares = np.histogram(values, bins=edges)[0] / max(table.height, 1)
    form: Form = "dates" if dates else "histogram"
    return Picture(column, form, shares, np.full(shares.size, np.nan), edges)


def _bars_alone(
    table: Table, column: Column, common: Mapping[str, int], many: int, left: str
) -> Picture:
    """The commonest values of one table; `left` is the share of records that have others."""
    if not common:
        raise CannotDraw("it has no values")
    listed, counts = [*common], np.array([*common.values()], dtype=float)
    ranked = _ranked(column, listed, counts)
    shares = counts[ranked] / max(table.height, 1)
    rest = many - len(listed)
    others = (
        f"And {rest:,} other value{'s'[: rest != 1]}{f': {left} of the records' if left else ''}."
    )
    return Picture(
        column,
        "bars",
        shares,
        np.full(len(ranked), np.nan),
        names=[listed[i] for i in ranked],
        notes=(others,) if rest else (),
    )


def parts_of_sets(pair: Pair, steps: Iterable[Mapping[str, Any]]) -> list[str]:
    """The columns of sets of which steps left items out, or may have."""
    acted = {name for step in steps for name in step.get("did", {}).get("columns", ())}
    return [
        column.name
        for column in pair.masked.schema
        if column.kind == Kind.SET and not column.generalized and column.name in acted
    ]


def pictures(
    pair: Pair,
    published: Mapping[str, Gaps],
    rounding: Rounding | None,
    *,
    roles: Sequence[Role] = _ROLES,
    most: int = MOST_PICTURES,
) -> Pictures:
    """Pictures of the published quasi-identifiers, confidential columns and targets."""
    schema = pair.original.schema
    wanted = [
        c for role in roles for c in schema if c.role == role and c.name in pair.masked.schema
    ]
    found = Pictures([], {}, [])
    for column in wanted:
        if len(found.drawn) == most:
            found.beyond.append(column.name)
            continue
        try:
            picture = _picture(pair, column, rounding)
            note = _gap_note(published[column.name], pair.masked.height)
            found.drawn.append(replace(picture, notes=(*picture.notes, *note)))
        except CannotDraw as reason:
            found.undrawn[column.name] = str(reason)
    return found


def _picture(pair: Pair, column: Column, rounding: Rounding | None) -> Picture:
    masked = pair.masked.schema[column.name]
    if not pair.original.height or not pair.masked.height:
        raise CannotDraw("there are no records")
    if column.kind == Kind.TEXT:
        raise CannotDraw("it is free text")
    if column.kind == Kind.SET:
        if masked.generalized:
            raise CannotDraw("its sets are published as labels")
        return _sets(pair, column, rounding)
    if column.kind in CATEGORICAL:
        return _categories(pair, column, masked, rounding)
    return _histogram(pair, column, masked, rounding)


def shown(counts: np.ndarray, rounding: Rounding | None, at: str) -> np.ndarray:
    """Counts of original records as they may be drawn at a place: NaN for what is hidden. Without a
    rounding, which is the owner's face, they stay as they are.

    Fewer than ten are never drawn, and of ten to nineteen it is drawn by the seed: were all of
    them, a bar of ten would say that whoever else may be in it is.

    >>> shown(np.array([3.0, 20.0, 126.0]), Rounding(300, 1), "age").tolist()
    [nan, 20.0, 130.0]
    """
    if rounding is None:
        return counts.astype(float)
    many = [rounding.to(10, c - FEWEST, f"{at}/{i}") + FEWEST for i, c in enumerate(counts)]
    return np.array([c if c > FEWEST else np.nan for c in many])


def _histogram(pair: Pair, column: Column, masked: Column, rounding: Rounding | None) -> Picture:
    name = column.name
    before = _finite(pair.original[name], column)
    after = np.empty(0)
    spans = None
    if has_labels(column, masked, pair.masked[name]):
        spans = intervals(pair.masked[name], pair.original)
    elif (masked.kind == Kind.DATE) != (column.kind == Kind.DATE):
        raise CannotDraw(f"it is {column.kind} in the original and {masked.kind} in the release")
    else:
        after = _finite(pair.masked[name], masked)
    low, high = _limits(before, after, spans, rounding)
    if math.isnan(low):
        raise CannotDraw("too few values are left to draw")
    dates = column.kind == Kind.DATE
    edges = date_edges(low, high) if dates else number_edges(low, high, column.kind == Kind.INTEGER)
    counted = np.histogram(before, bins=edges)[0]
    notes = []
    if spans is None:
        mass = np.histogram(after, bins=edges)[0].astype(float)
    else:
        mass = spans.over(edges)
        notes.append("Published as intervals: each is spread evenly over its width.")
        if spans.unread:
            notes.append(f"{spans.unread:,} published labels are no intervals and are not drawn.")
    before, after = shown(counted, rounding, name) / pair.original.height, mass / pair.masked.height
    form: Form = "dates" if dates else "histogram"
    return Picture(column, form, before, after, edges, notes=tuple(notes))


def _finite(series: pl.Series, column: Column) -> np.ndarray:
    try:
        values = floats(series, column)
    except SchemaError:
        # Its message names the value.
        raise CannotDraw("its numbers are too large to draw") from None
    return np.asarray(values[np.isfinite(values)])


def _limits(
    before: np.ndarray, after: np.ndarray, spans: Intervals | None, rounding: Rounding | None
) -> tuple[float, float]:
    """The range to draw: of everything for the owner, of what is published for others."""
    if rounding is None:
        ends = np.concatenate((before, after))
    elif spans is None:
        ends = np.percentile(after, (1, 99)) if after.size else after
    else:
        ends = np.concatenate((spans.low, spans.high))
        ends = ends[np.isfinite(ends)]
    return (float(ends.min()), float(ends.max())) if ends.size else (math.nan, math.nan)


def number_edges(low: float, high: float, whole: bool) -> np.ndarray:
    """Bins that begin at multiples of a round step, so that no end of a bin is anyone's value."""
    span = high - low
    rough = span / _BINS if span > 0 else max(abs(low), 1.0) / 10
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1.0, 2.0, 2.5, 5.0, 10.0) if f * power >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, math.ceil(step))
    first = math.floor(low / step)
    # The last value lies inside the last bin: the upper end of a bin is outside it.
    last = max(math.floor(high / step) + 1, first + 1)
    if not math.isfinite(step) or last - first > 4 * _BINS:
        raise CannotDraw("its numbers are too large to draw")
    # Multiples of 0.1 as they are written: a value of 0.3 must not fall short of the bin that
    # begins there.
    return np.round(np.arange(first, last + 1) * step, max(0, 2 - math.floor(math.log10(step))))


def date_edges(low: float, high: float) -> np.ndarray:
    """Bins of days, weeks, months or years."""
    for days in (1, 7):
        if (high - low) / days <= _BINS:
            first = math.floor((low + 3) / days) * days - 3 if days == 7 else math.floor(low)
            return np.arange(first, math.floor(high) + days + 1, days, dtype=float)
    start, end = _date(low), _date(high)
    months = (end.year - start.year) * 12 + end.month - start.month + 1
    wide = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000)
    step = next((m for m in wide if months / m <= _BINS), wide[-1])
    first = (start.year * 12 + start.month - 1) // step * step
    last = (end.year * 12 + end.month - 1) // step * step + step
    return np.array([_days(month) for month in range(first, last + 1, step)], dtype=float)


def _days(month: int) -> int:
    """The first day of a month, or of what lies beyond the calendar."""
    year = month // 12
    if year < dt.MINYEAR:
        return _FIRST_DAY
    return (dt.date(year, month % 12 + 1, 1) - _EPOCH).days if year <= dt.MAXYEAR else _LAST_DAY + 1


def _date(day: float) -> dt.date:
    """A number of days since 1970 as a date of the calendar, which the end of a bin may leave."""
    return _EPOCH + dt.timedelta(days=min(max(math.floor(day), _FIRST_DAY), _LAST_DAY))


def day_text(day: float) -> str:
    """A number of days since 1970 as a date."""
    return _date(day).isoformat()


def _categories(pair: Pair, column: Column, masked: Column, rounding: Rounding | None) -> Picture:
    name = column.name
    if has_labels(column, masked, pair.masked[name]):
        found = bars(pair.masked[name], pair.original, _MOST_BARS)
    else:
        found = _bars_of(totals(pair.original[name]), totals(pair.masked[name]))
    notes = []
    if found.spread:
        notes.append(
            "Published as sets or groups: each is spread evenly over the values it covers."
        )
    if found.unread:
        notes.append(f"{found.unread:,} published labels could not be read and are not drawn.")
    drawn = _bars(pair, column, found, rounding, others=True)
    return replace(drawn, notes=(*notes, *drawn.notes))


def _sets(pair: Pair, column: Column, rounding: Rounding | None) -> Picture:
    """Set-valued columns: the share of records that have each element."""
    before, after = (_holders(table[column.name]) for table in (pair.original, pair.masked))
    if rounding is not None:
        # Nobody shows the others, however many have them: k may be larger than FEWEST.
        before = {name: count for name, count in before.items() if name in after}
    drawn = _bars(pair, column, _bars_of(before, after), rounding, others=False)
    note = "A record may hold several elements: shares add up to more than 100\u00a0%."
    return replace(drawn, notes=(note,))


def _holders(series: pl.Series) -> dict[str, int]:
    """How many sets hold each element, by its text."""
    sets = SetTable.from_column(series)
    return dict(zip(sets.names.cast(pl.String).to_list(), sets.support.tolist(), strict=True))


def _bars_of(before: Mapping[str, int], after: Mapping[str, int]) -> Bars:
    names = sorted({*before, *after})
    return Bars(
        names,
        np.array([float(before.get(name, 0)) for name in names]),
        np.array([float(after.get(name, 0)) for name in names]),
        spread=False,
        published=np.array([name in after for name in names], dtype=bool),
    )


def _bars(
    pair: Pair, column: Column, found: Bars, rounding: Rounding | None, *, others: bool
) -> Picture:
    """The commonest values by name, the others together."""
    sizes = (pair.original.height, pair.masked.height)
    before = shown(found.original, rounding, column.name)
    # A name may stand if it is published, or common enough in the original.
    known = np.array(found.published) | ~np.isnan(before)
    nameable = np.flatnonzero(known if rounding is not None else np.ones_like(known))
    # Ranked by what is told of them: their order would tell more.
    weight = np.maximum(np.nan_to_num(before) / sizes[0], found.masked / sizes[1])
    ranked = _ranked(column, found.names, weight, nameable)
    if not ranked:
        raise CannotDraw("every value is rare")
    rest = np.setdiff1d(np.arange(len(found.names)), ranked)
    notes = []
    if others and rest.size:
        # In words: a bar for all the others would dwarf those that have a name.
        others_before = np.array([found.original[rest].sum()])
        left = shown(others_before, rounding, f"{column.name}/others")[0] / sizes[0]
        was = f"{percent(left)} of the original, " if not math.isnan(left) else ""
        notes.append(
            f"All other values: {was}{percent(found.masked[rest].sum() / sizes[1])} of the release."
        )
    before, after = before[ranked], found.masked[ranked]
    names = [found.names[i] for i in ranked]
    shares = before / sizes[0], after / sizes[1]
    return Picture(column, "bars", *shares, names=names, notes=tuple(notes))


def _ranked(
    column: Column, names: Sequence[str], weight: np.ndarray, of: np.ndarray | None = None
) -> list[int]:
    """Which values are drawn, in their order: the weightiest, as the column orders them."""
    places = range(len(names)) if of is None else of.tolist()
    ranked = sorted(places, key=lambda i: (-weight[i], names[i]))[:_MOST_BARS]
    if column.kind == Kind.ORDINAL:
        order = {name: i for i, name in enumerate(column.categories)}
        ranked.sort(key=lambda i: (order.get(names[i], len(order)), names[i]))
    elif column.kind == Kind.BOOLEAN:
        ranked.sort(key=lambda i: names[i])
    return ranked


def _gap_note(found: Gaps, records: int) -> tuple[str, ...]:
    """A note on the cells that have no value to draw."""
    parts = [
        f"{percent(many / records)} {word}"
        for word, many in (("missing", found.missing), ("suppressed", found.suppressed))
        if many
    ]
    return (f"Not drawn: {' and '.join(parts)} in the release.",) if parts else ()
