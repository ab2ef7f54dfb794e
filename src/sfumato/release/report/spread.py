"""Published labels as mass on the scale of the original: "[20, 29]" is spread over its ten years.

Only pictures are made from this. Whoever analyses a generalized column makes the same assumption,
so the picture shows what is left to see. Suppressed cells ("*") say nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...data.generalized.label_places import Labels
from ...data.schema import SUPPRESSED, Kind
from ...data.table import Table
from ...errors import MeasureError, SchemaError
from ...poset.values.text import text

_MOST_LABELS = 20_000
"""Labels that are read one by one; a picture needs no more."""

# The commonest shape of Sfumato's own labels; others than this and plain values take longer.
_CLOSED = r"^\[([^,\[\]]+), ([^,\[\]]+)\]$"


class CannotDraw(Exception):
    """Why a column cannot be drawn."""


def totals(series: pl.Series) -> dict[str, int]:
    """How often each value occurs, by its text; missing values left out."""
    counted = series.rename("value").drop_nulls().value_counts(name="n")
    # Only the distinct values become text: a million cells need not.
    names = counted.get_column("value").cast(pl.String).to_list()
    return dict(zip(names, counted.get_column("n").to_list(), strict=True))


def commonest(series: pl.Series, most: int) -> tuple[dict[str, int], int]:
    """The values that occur most often, by their text, and how many there are; of those that
    occur as often, the first.

    >>> commonest(pl.Series(["b", "a", "c", "c", None]), 2)
    ({'c': 2, 'a': 1}, 3)
    """
    counted = series.rename("value").drop_nulls().value_counts(name="n")
    text = counted.get_column("value").cast(pl.String)
    first = counted.with_columns(text).sort("n", "value", descending=[True, False]).head(most)
    return dict(zip(first["value"].to_list(), first["n"].to_list(), strict=True)), counted.height


def label_counts(series: pl.Series) -> tuple[list[str], np.ndarray]:
    """The distinct labels, suppressed and missing left out, and how often each occurs."""
    found = totals(series)
    labels = sorted(label for label in found if label != SUPPRESSED)
    return labels, np.array([float(found[label]) for label in labels])


def reader_of(original: Table, name: str) -> Labels:
    """What reads the labels of a column."""
    try:
        return Labels.of(original, name)
    except SchemaError:
        # Its message names a value of the original, which a public report must not.
        raise CannotDraw("its hierarchy does not cover the original") from None


def _readable(reader: Labels, labels: Sequence[str]) -> list[int]:
    """The places of the labels that can be read."""
    if len(labels) > _MOST_LABELS:
        raise CannotDraw(f"{len(labels):,} different labels are too many to read")
    found = []
    for i, label in enumerate(labels):
        try:
            reader.poset(label)
        except MeasureError:
            continue  # counted as unread
        found.append(i)
    return found


@dataclass(frozen=True, eq=False)
class Intervals:
    """Labels of numbers or dates: where each begins and ends (days for dates), and its records."""

    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    unread: int = 0
    """Records whose labels are no intervals."""

    def over(self, edges: np.ndarray) -> np.ndarray:
        """The mass in each bin. An open end reaches to the end of the picture, no further."""
        low = np.where(np.isneginf(self.low), np.minimum(edges[0], self.high), self.low)
        high = np.where(np.isposinf(self.high), np.maximum(edges[-1], self.low), self.high)
        wide = high > low
        spans, begins = (high - low)[wide], low[wide]
        below = np.empty(edges.size)
        for i, edge in enumerate(edges):
            below[i] = (np.clip((edge - begins) / spans, 0.0, 1.0) * self.counts[wide]).sum()
        points, _ = np.histogram(low[~wide], bins=edges, weights=self.counts[~wide])
        return np.asarray(np.diff(below) + points)


def intervals(series: pl.Series, original: Table) -> Intervals:
    """The labels of a generalized column of numbers or dates as intervals."""
    labels, counts = label_counts(series)
    texts = pl.Series("label", labels, dtype=pl.String)
    dtype = original[series.name].dtype
    ends, exact = texts.str.extract_groups(_CLOSED), _numbers(texts, dtype)
    low, high = (
        np.where(np.isnan(exact), _numbers(ends.struct.field(side), dtype), exact)
        for side in ("1", "2")
    )
    rest = np.flatnonzero(np.isnan(low) | np.isnan(high))
    if rest.size:
        low[rest], high[rest] = _read_one_by_one(
            reader_of(original, series.name), [labels[i] for i in rest]
        )
    known = ~np.isnan(low)
    # On a scale of whole steps 20 to 29 are ten years, not nine.
    whole = dtype.is_integer() or dtype == pl.Date
    return Intervals(
        low[known], high[known] + float(whole), counts[known], int(counts[~known].sum())
    )


def _numbers(texts: pl.Series, dtype: pl.DataType) -> np.ndarray:
    """The numbers of many texts at once; NaN where a text needs a closer look."""
    if dtype == pl.Date:
        found = texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    elif dtype.is_numeric():
        found = texts.cast(pl.Float64, strict=False)
    else:
        found = pl.Series([None] * len(texts), dtype=pl.Float64)
    values = found.fill_null(np.nan).to_numpy().copy()
    values[~np.isfinite(values)] = np.nan
    return values


def _read_one_by_one(reader: Labels, labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Ends of other labels: "65+", a period, a node of a hierarchy from its least to its most."""
    low, high = np.full(len(labels), np.nan), np.full(len(labels), np.nan)
    others = []
    for i in _readable(reader, labels):
        ends = reader.range(labels[i])
        if ends is None:
            others.append(i)
        else:
            low[i], high[i] = reader.position(ends.low), reader.position(ends.high)
    cover = reader.coverage(reader.domain, [labels[i] for i in others])
    places = np.empty(len(reader.domain) + 1)
    places[cover.ranks] = reader.positions
    for j, i in enumerate(others):
        ranks = cover.of(j)
        below = places[ranks[ranks > 0]]
        if below.size:
            low[i], high[i] = below.min(), below.max()
    return low, high


@dataclass(frozen=True, eq=False)
class Bars:
    """What a column of categories is drawn as: names, and the mass of each before and after."""

    names: list[str]
    original: np.ndarray
    masked: np.ndarray
    spread: bool
    """Whether labels had to be spread over the values that they cover."""
    published: np.ndarray
    """Which names stand in the published table."""
    unread: int = 0


def bars(series: pl.Series, original: Table, few: int) -> Bars:
    """The labels of a generalized column of categories against the values of the original.

    Where there are more than a `few` values and the labels are nodes of a tree, the widest labels
    themselves are drawn. Otherwise each label is spread evenly over the values that it covers.
    """
    labels, counts = label_counts(series)
    reader = reader_of(original, series.name)
    known = _readable(reader, labels)
    unread = int(counts.sum() - counts[known].sum())
    labels, counts = [labels[i] for i in known], counts[known]
    found = totals(original[series.name])
    spelt = _spelling(reader)
    values = [spelt(value) for value in reader.domain.to_list()]
    cover = reader.coverage(reader.domain, labels)
    before = np.zeros(len(values) + 1)
    before[cover.ranks] = [float(found.get(value, 0)) for value in values]
    covered = [ranks[ranks > 0] for ranks in map(cover.of, range(len(labels)))]
    tree = all(reader.read_by(label) == "hierarchy" for label in labels)
    if tree and len(values) > few:
        return _by_label(labels, counts, covered, before, unread)
    mass = np.zeros(len(values) + 1)
    for ranks, many in zip(covered, counts.tolist(), strict=True):
        mass[ranks] += many / max(ranks.size, 1)
    stand = set(labels)
    return Bars(
        values,
        before[cover.ranks],
        mass[cover.ranks],
        spread=any(ranks.size > 1 for ranks in covered),
        published=np.array([value in stand for value in values], dtype=bool),
        unread=unread + int(sum(n for r, n in zip(covered, counts, strict=True) if not r.size)),
    )


def _by_label(
    labels: Sequence[str],
    counts: np.ndarray,
    covered: Sequence[np.ndarray],
    before: np.ndarray,
    unread: int,
) -> Bars:
    """The widest labels of a tree: nodes are nested or apart, so each record has one of them."""
    owner = np.full(before.size, -1)
    tops: list[int] = []
    for i in sorted(range(len(labels)), key=lambda i: (-covered[i].size, labels[i])):
        if covered[i].size and owner[covered[i][0]] < 0:
            owner[covered[i]] = len(tops)
            tops.append(i)
    after = np.zeros(len(tops))
    for ranks, many in zip(covered, counts.tolist(), strict=True):
        if ranks.size:
            after[owner[ranks[0]]] += many
        else:
            unread += int(many)
    first = np.zeros(len(tops))
    np.add.at(first, owner[owner >= 0], before[owner >= 0])
    names = [labels[i] for i in tops]
    return Bars(names, first, after, False, np.ones(len(tops), dtype=bool), unread)


def _spelling(reader: Labels) -> Callable[[object], str]:
    """How a value of the column is written by `totals`."""
    if reader.column.kind == Kind.BOOLEAN:
        return lambda value: str(value).lower()
    return text
