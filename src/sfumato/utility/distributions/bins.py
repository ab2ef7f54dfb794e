"""A column of original and release in the same bins, and how cells that may stand for several
values are spread over them.

A cell that stands for a set of values (an interval, a label, a suppressed one) puts its mass on
them in proportion to the release's own exact cells, as if one more record were spread evenly over
the set. Never in proportion to the original's: that would credit the release with what it hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from ...criteria.classes import comparable
from ...data.codec import floats
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.pair import Pair
from ...data.schema import MEASURED, SUPPRESSED, Kind
from ...errors import MeasureError
from ..columns import suppressed

ITEMS = 10
"""Items of a set column that are told apart: the original's most frequent ones."""


@dataclass(frozen=True, eq=False)
class Bins:
    """One column of both tables. The last bin is missing; the one before holds what the original
    never has. Cells of the release from `count` on are labels, spread by `shares`."""

    count: int
    before: np.ndarray
    after: np.ndarray
    shares: Any = None
    """CSR matrix, labels by bins, rows summing to 1; None where every cell is exact."""
    hidden: np.ndarray | None = None
    """bool: which cells of the release are suppressed."""

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return 0 if self.shares is None else int(self.shares.shape[0])

    @cached_property
    def spread(self) -> Any:
        """CSR: every place of `after` by bins."""
        own = sparse.identity(self.count, format="csr")
        return own if self.shares is None else sparse.vstack([own, self.shares], format="csr")

    @cached_property
    def folded(self) -> Any:
        """CSR: bins by every place of `after`."""
        return self.spread.T.tocsr()


def nothing(before: int, after: int) -> Bins:
    """A column that tells nothing, to compare one column alone."""
    return Bins(1, np.zeros(before, dtype=np.int32), np.zeros(after, dtype=np.int32))


def binned(pair: Pair, name: str, quantiles: int, categories: int) -> list[Bins]:
    """A column in bins: itself, or one for each item that is told apart of a column of sets."""
    column = pair.original.schema[name]
    if column.kind == Kind.SET and not column.generalized:
        return _items(pair, name)
    if column.kind in MEASURED and not column.generalized:
        return [_numbers(pair, name, quantiles)]
    return [_categories(pair, name, categories)]


class _Cells(NamedTuple):
    """The cells of a release's column: exact values by record, or labels."""

    label: np.ndarray
    """int: the label of each record, -1 where it has none."""
    texts: Sequence[str]
    hidden: np.ndarray


def _cells(pair: Pair, name: str) -> _Cells | None:
    """Labels of the column; None where it holds values, or where it is not published."""
    if name not in pair.masked.schema:
        height = pair.masked.height
        everywhere = np.ones(height, dtype=bool)
        return _Cells(np.full(height, -1), (), everywhere)
    series = pair.masked[name]
    if not has_labels(pair.original.schema[name], pair.masked.schema[name], series):
        return None
    texts, place = distinct_labels(series)
    hidden = suppressed(pair, name)
    return _Cells(np.where(hidden, -1, place), texts, hidden)


# Numbers and dates


class _Cut(NamedTuple):
    """Bins of numbers: bin i holds what is above edges[i], up to and with edges[i + 1]."""

    edges: np.ndarray

    @property
    def many(self) -> int:
        return self.edges.size - 1

    def place(self, values: np.ndarray) -> np.ndarray:
        """The bin of each value; what lies outside of all, and missing, in the two after them."""
        found = np.searchsorted(self.edges, values, side="left") - 1
        found[(found < 0) | (found >= self.many)] = self.many
        found[np.isnan(values)] = self.many + 1
        return found.astype(np.int32)


def cut(values: np.ndarray, quantiles: int) -> _Cut:
    """Bins at the quantiles of the values; as many bins as values where these are few.

    >>> cut(np.arange(100.0), 4).edges.tolist()
    [-inf, 24.0, 49.0, 74.0, inf]
    >>> cut(np.array([1.0, 2.0, 2.0, 4.0]), 4).edges.tolist()
    [0.5, 1.5, 3.0, 5.0]
    """
    ordered = np.sort(values[np.isfinite(values)])
    if not ordered.size:
        return _Cut(np.array([np.inf, np.inf]))
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    if np.count_nonzero(first) > quantiles:
        at = -(-ordered.size * np.arange(1, quantiles) // quantiles) - 1
        return _Cut(np.concatenate(([-np.inf], np.unique(ordered[at]), [np.inf])))
    own = ordered[first]
    if own.size == 1:
        return _Cut(np.array([np.nextafter(own[0], -np.inf), own[0]]))
    half = np.diff(own) / 2.0
    return _Cut(np.concatenate(([own[0] - half[0]], own[:-1] + half, [own[-1] + half[-1]])))


def _numbers(pair: Pair, name: str, quantiles: int) -> Bins:
    original = pair.original.schema[name]
    cells = _cells(pair, name)
    if cells is None:
        x, series = floats(pair.original[name], original), pair.masked[name]
        y, hidden = floats(series, pair.masked.schema[name]), suppressed(pair, name)
        whole = original.kind == Kind.INTEGER or series.dtype == pl.Date
        return _finished(_Spreader(x, y[~hidden], quantiles, whole), y, None, hidden)
    reader = Labels(pair.original, name)
    x = np.concatenate(([np.nan], reader.positions))[reader.codes.astype(np.int64)]
    read = _read(reader, cells.texts)
    points = np.concatenate((read.points, [np.nan]))[cells.label]
    exact = ~np.isnan(points) | ((cells.label < 0) & ~cells.hidden)
    maker = _Spreader(x, points[exact], quantiles, reader.whole)
    return _finished(maker, points, (cells, read), cells.hidden)


class _Read(NamedTuple):
    """What labels of numbers stand for: a point, a range, a set of the original's values, or
    nothing that can be read."""

    points: np.ndarray
    """NaN where it is no single value."""
    ranges: np.ndarray
    """By label: just below its low end, and its high end; NaN where it is no range."""
    sets: dict[int, np.ndarray]


def _read(reader: Labels, texts: Sequence[str]) -> _Read:
    points, ranges = np.full(len(texts), np.nan), np.full((len(texts), 2), np.nan)
    sets: dict[int, np.ndarray] = {}
    where = reader.positions
    for i, text in enumerate(texts):
        if text == SUPPRESSED:
            continue
        ends = reader.interval(text)
        if ends is None:
            covered = reader.covered(text)
            if covered is not None and covered.size:
                sets[i] = where[covered]
            continue
        # An end that the label leaves open is closed by the original's own range.
        low, high = reader.position(ends.low), reader.position(ends.high)
        low = float(where.min(initial=np.inf)) if np.isneginf(low) else low
        high = float(where.max(initial=-np.inf)) if np.isposinf(high) else high
        if low < high:
            ranges[i, 0] = low if ends.low_open else np.nextafter(low, -np.inf)
            ranges[i, 1] = np.nextafter(high, -np.inf) if ends.high_open else high
        else:
            points[i] = high if np.isneginf(ends.low) else low
    return _Read(points, ranges, sets)


class _Spreader:
    """Spreads labels over bins by the exact numbers of a release."""

    def __init__(self, x: np.ndarray, exact: np.ndarray, quantiles: int, whole: bool) -> None:
        self.cut, self.whole = cut(x, quantiles), whole
        self.before = self.cut.place(x)
        self.exact = np.sort(exact[np.isfinite(exact)])
        self.counts = np.bincount(self.cut.place(exact), minlength=self.cut.many + 2)
        ends = np.concatenate((x[np.isfinite(x)], self.exact))
        self.ends = (ends.min(), ends.max()) if ends.size else None
        self.gaps = bool(np.isnan(x).any() or np.isnan(exact).any())

    def ranges(self, ends: np.ndarray) -> np.ndarray:
        """Shares of the bins for ranges, given as just below the low and the high end."""
        inner = np.clip(self.cut.edges[None, :], ends[:, :1], ends[:, 1:])
        own, of_all = self._parts(np.searchsorted(self.exact, inner, side="right"), ends, True)
        even, width = self._parts(np.floor(inner) if self.whole else inner, ends, False)
        even[width <= 0, -2], width[width <= 0] = 1.0, 1.0
        found: np.ndarray = (own + even / width[:, None]) / (of_all + 1.0)[:, None]
        return found

    def _parts(
        self, upto: np.ndarray, ends: np.ndarray, count: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """What lies in each bin, from what lies below its ends; and what lies in the range."""
        if count:
            total = np.diff(np.searchsorted(self.exact, ends, side="right"), axis=1)[:, 0]
        else:
            total = np.diff(np.floor(ends) if self.whole else ends, axis=1)[:, 0]
        parts = np.zeros((upto.shape[0], self.cut.many + 2))
        parts[:, :-2] = np.diff(upto, axis=1)
        parts[:, -2] = np.maximum(total - parts[:, :-2].sum(axis=1), 0.0)
        return parts, total.astype(np.float64)

    def sets(self, values: np.ndarray) -> np.ndarray:
        """Shares of the bins for one label that stands for these values of the original."""
        below = np.searchsorted(self.exact, values, "left")
        weights = np.searchsorted(self.exact, values, "right") - below + 1.0 / values.size
        bins = np.bincount(self.cut.place(values), weights, minlength=self.cut.many + 2)
        found: np.ndarray = bins / bins.sum()
        return found

    def everything(self) -> np.ndarray:
        """Shares of the bins for a cell that tells nothing."""
        even = np.zeros(self.cut.many + 2)
        if self.ends is None:
            even[-1] = 1.0
        else:
            low = np.nextafter(self.ends[0], -np.inf)
            inner = np.clip(self.cut.edges[None, :], low, self.ends[1])
            span = np.array([[low, self.ends[1]]])
            even, width = (p[0] for p in self._parts(_floor(inner, self.whole), span, False))
            even = even / width if width > 0 else even
            if self.gaps:  # missing counts as one of the bins
                even = np.append(even[:-1] * self.cut.many, 1.0) / (self.cut.many + 1)
        found: np.ndarray = (self.counts + even) / (self.counts.sum() + 1.0)
        return found


def _floor(values: np.ndarray, whole: bool) -> np.ndarray:
    return np.floor(values) if whole else values


def _finished(
    maker: _Spreader, y: np.ndarray, labelled: tuple[_Cells, _Read] | None, hidden: np.ndarray
) -> Bins:
    """The bins of a column of numbers; `y` has its exact cells."""
    many = maker.cut.many + 2
    after = maker.cut.place(y)
    shares: list[np.ndarray] = []
    if hidden.any():
        after[hidden], shares = many, [maker.everything()[None, :]]
    if labelled is None:
        return Bins(many, maker.before, after, _stacked(shares), hidden)
    cells, read = labelled
    spans = np.flatnonzero(~np.isnan(read.ranges[:, 0]))
    rows = np.concatenate((spans, list(read.sets))).astype(np.int64)
    place = np.full(len(cells.texts) + 1, many - 2)  # what cannot be read is like nothing there is
    place[rows] = many + len(shares) + np.arange(rows.size)
    unsure = np.isnan(y) & (cells.label >= 0)
    after[unsure] = place[cells.label[unsure]]
    shares += [maker.ranges(read.ranges[spans])] if spans.size else []
    shares += [maker.sets(values)[None, :] for values in read.sets.values()]
    return Bins(many, maker.before, after, _stacked(shares), hidden)


def _stacked(shares: list[np.ndarray]) -> Any:
    return sparse.csr_matrix(np.concatenate(shares)) if shares else None


# Categories


def _categories(pair: Pair, name: str, most: int) -> Bins:
    column = pair.original.schema[name]
    before = _as_text(pair.original[name], column.kind)
    cells = _cells(pair, name)
    if cells is None:
        hidden = suppressed(pair, name)
        masked = pair.masked.schema[name]
        texts, label = distinct_labels(_as_text(pair.masked[name], masked.kind))
        cells = _Cells(np.where(hidden, -1, label), texts, hidden)
        reader = None
    else:
        reader = Labels(pair.original, name) if cells.texts else None
    domain, own = distinct_labels(before)
    bins, many = _frequent(own, len(domain), most)
    after, exact, sets = _labels(cells, domain, reader)
    return _of_sets(
        Bins(many, bins[own], after, None, cells.hidden), bins, exact, sets, bool((own < 0).any())
    )


def _frequent(own: np.ndarray, values: int, most: int) -> tuple[np.ndarray, int]:
    """The bin of each value, then of any other and of missing; and how many bins there are.

    The values beyond the most frequent ones share a bin.
    """
    bins = np.arange(values)
    if values > most:
        counts = np.bincount(own[own >= 0], minlength=values)
        bins[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(values), most)
    many = min(values, most + 1) + 2
    return np.concatenate((bins, [many - 2, many - 1])).astype(np.int32), many


def _labels(
    cells: _Cells, domain: Sequence[str], reader: Labels | None
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Each record's value (a place in the domain, then outside, missing, everything, sets); how
    many exact cells each has; and the sets of values that labels stand for."""
    known = {value: place for place, value in enumerate(domain)}
    d, sets = len(domain), list[np.ndarray]()
    place = np.full(len(cells.texts) + 1, d + 1)
    strangers = set()
    for i in np.unique(cells.label[cells.label >= 0]).tolist():
        text = cells.texts[i]
        place[i] = known.get(text, d)
        if place[i] < d:
            continue
        covered = None if reader is None else reader.covered(text)
        if covered is not None and covered.size:
            place[i] = d + 3 + len(sets)
            sets.append(covered)
        else:
            strangers.add(text)
    found = place[cells.label]
    found[cells.hidden] = d + 2
    exact = np.bincount(found[found < d + 2], minlength=d + 2)
    sets.insert(0, np.array([len(strangers)]))
    return found, exact, sets


def _of_sets(
    plain: Bins, bins: np.ndarray, exact: np.ndarray, sets: list[np.ndarray], gaps: bool
) -> Bins:
    """The column with the sets of its labels spread; the first of `sets` counts strange values."""
    d = bins.size - 2
    listed: list[np.ndarray] = [_everything(exact, int(sets[0][0]), gaps)]
    for covered in sets[1:]:
        weights = exact[covered] + 1.0 / covered.size
        listed.append(np.stack((covered, weights / weights.sum())))
    rows = np.repeat(np.arange(len(listed)), [one.shape[1] for one in listed])
    places, weights = np.concatenate(listed, axis=1)
    shape = (len(listed), plain.count)
    shares = sparse.csr_matrix((weights, (rows, bins[places.astype(np.int64)])), shape=shape)
    after = np.where(plain.after < d + 2, bins[np.minimum(plain.after, d + 1)], 0)
    labels = plain.after >= d + 2
    after[labels] = plain.count + plain.after[labels] - (d + 2)
    return Bins(
        plain.count, plain.before, after, shares if labels.any() else None, hidden=plain.hidden
    )


def _everything(exact: np.ndarray, strangers: int, gaps: bool) -> np.ndarray:
    """Places and shares of a cell that tells nothing: every value there is, and missing."""
    of = np.ones(exact.size)
    of[-2] = strangers
    of[-1] = gaps or exact[-1] > 0
    kept = np.flatnonzero(of)
    if not kept.size:
        return np.array([[float(exact.size - 1)], [1.0]])
    weights = exact[kept] + of[kept] / of.sum()
    return np.stack((kept, weights / weights.sum()))


def _as_text(series: pl.Series, kind: Kind) -> pl.Series:
    texts = comparable(series).cast(pl.String)
    return texts.str.to_lowercase() if kind == Kind.BOOLEAN else texts


# Sets


def _items(pair: Pair, name: str) -> list[Bins]:
    """Whether each of the most frequent items is there; in every record of unknown sets, by the
    release's own shares."""
    before = pair.original[name].cast(pl.List(pl.String))
    masked = pair.masked[name] if name in pair.masked.schema else None
    if masked is not None and not isinstance(masked.dtype, pl.List | pl.Array):
        raise MeasureError(f"column {name!r} holds labels in place of sets")
    held = before.list.unique().explode().drop_nulls()
    counted = (
        held.value_counts()
        .rename({held.name: "item"})
        .sort(["count", "item"], descending=[True, False])
    )
    hidden = np.ones(pair.masked.height, dtype=bool) if masked is None else suppressed(pair, name)
    after = pl.Series([None] * pair.masked.height, dtype=pl.List(pl.String))
    after = after if masked is None else masked.cast(pl.List(pl.String))
    return [_item(before, after, item, hidden) for item in counted["item"][:ITEMS].to_list()]


def _item(before: pl.Series, after: pl.Series, item: str, hidden: np.ndarray) -> Bins:
    """One item: absent, there, (nothing else,) or missing."""
    own, found = (
        series.list.contains(item).cast(pl.Int32).fill_null(3).to_numpy()
        for series in (before, after)
    )
    exact = np.bincount(found[~hidden], minlength=4)
    gaps = bool((own == 3).any())
    plain = Bins(4, own, np.where(hidden, 4, found), None, hidden)
    return _of_sets(plain, np.arange(4, dtype=np.int32), exact, [np.array([0])], gaps)
