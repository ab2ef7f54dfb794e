"""Numbers and dates in bins: cut at quantiles of the original, ranges spread by the release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from ...codec import floats
from ...pair import Pair, suppressed
from ...schema import SUPPRESSED, Kind
from ..label_places import Labels
from .bins import Bins, Cells, cells_of


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


def numbers(pair: Pair, name: str, quantiles: int) -> Bins:
    """A column of numbers or dates in bins."""
    original = pair.original.schema[name]
    cells = cells_of(pair, name)
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
        own, of_all = self._parts(ends, lambda at: np.searchsorted(self.exact, at, side="right"))
        even, width = self._parts(ends, self._length)
        even[width <= 0, -2], width[width <= 0] = 1.0, 1.0
        found: np.ndarray = (own + even / width[:, None]) / (of_all + 1.0)[:, None]
        return found

    def _length(self, at: np.ndarray) -> np.ndarray:
        return np.floor(at) if self.whole else at

    def _parts(
        self, ends: np.ndarray, upto: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """What of each range lies in each bin, and in all; `upto` tells what lies below."""
        inner = np.clip(self.cut.edges[None, :], ends[:, :1], ends[:, 1:])
        total = np.diff(upto(ends), axis=1)[:, 0]
        parts = np.zeros((len(ends), self.cut.many + 2))
        parts[:, :-2] = np.diff(upto(inner), axis=1)
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
            span = np.array([[np.nextafter(self.ends[0], -np.inf), self.ends[1]]])
            even, width = (p[0] for p in self._parts(span, self._length))
            even = even / width if width > 0 else even
            if self.gaps:  # missing counts as one of the bins
                even = np.append(even[:-1] * self.cut.many, 1.0) / (self.cut.many + 1)
        found: np.ndarray = (self.counts + even) / (self.counts.sum() + 1.0)
        return found


def _finished(
    maker: _Spreader, y: np.ndarray, labelled: tuple[Cells, _Read] | None, hidden: np.ndarray
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
