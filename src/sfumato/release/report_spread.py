"""Published labels as mass on the scale of the original: "[20, 29]" is spread evenly over its ten years.

Only pictures are made from this. Whoever analyses a generalized column makes the same assumption, so the picture
shows what is left to see. Suppressed cells ("*") say nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..data.codec import bind, domain_values, encode
from ..data.schema import SUPPRESSED, Column
from ..errors import SchemaError
from ..poset.ranges import Range, read_range
from ..poset.scale import DateScale, MomentScale, NumberScale, Scale
from ..poset.text import read_set, text
from ..poset.tree import Tree
from ..protocols import Poset

_MOST_LABELS = 20_000
"""Labels that are read one by one; a picture needs no more."""
_MOST_COMPARISONS = 200_000
_DAY = 86_400_000_000

# The commonest shape of Sfumato's own labels; only others than this and plain values are read one by one.
_CLOSED = r"^\[([^,\[\]]+), ([^,\[\]]+)\]$"


class CannotSpread(Exception):  # noqa: N818 - it ends up as a sentence under the picture
    """Why the labels of a column cannot be drawn."""


def label_counts(series: pl.Series) -> tuple[list[str], np.ndarray]:
    """The distinct labels, suppressed and missing left out, and how often each occurs."""
    found = totals(series)
    labels = sorted(label for label in found if label != SUPPRESSED)
    return labels, np.array([float(found[label]) for label in labels])


def totals(series: pl.Series) -> dict[str, int]:
    """How often each value occurs, by its text; missing values left out."""
    counted = series.rename("value").drop_nulls().value_counts(name="n")
    # Only the distinct values become text: a million cells need not.
    names = counted.get_column("value").cast(pl.String).to_list()
    return dict(zip(names, counted.get_column("n").to_list(), strict=True))


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
        return np.diff(below) + points


def intervals(series: pl.Series, column: Column, original: pl.Series) -> Intervals:
    """The labels of a generalized column of numbers or dates as intervals."""
    labels, counts = label_counts(series)
    scale = _scale(original)
    texts = pl.Series("label", labels, dtype=pl.String)
    ends, exact = texts.str.extract_groups(_CLOSED), _numbers(texts, scale)
    low, high = (
        np.where(np.isnan(exact), _numbers(ends.struct.field(side), scale), exact)
        for side in ("1", "2")
    )
    rest = np.flatnonzero(np.isnan(low) | np.isnan(high))
    if rest.size > _MOST_LABELS:
        raise CannotSpread(f"{rest.size:,} different labels are too many to read")
    tree: Callable[[str], Range | None] | None = None
    for i in rest.tolist():
        try:
            found: Range | None = read_range(labels[i], scale)
        except ValueError:
            tree = tree or _hull_reader(column, original, scale)
            found = tree(labels[i])
        low[i], high[i] = (np.nan, np.nan) if found is None else (found.low, found.high)
    known = ~np.isnan(low)
    # On a scale of whole steps 20 to 29 are ten years, not nine.
    unit = _DAY if isinstance(scale, MomentScale) else 1.0
    high = high + (1.0 if scale.whole and unit == 1.0 else 0.0)
    return Intervals(
        low[known] / unit, high[known] / unit, counts[known], int(counts[~known].sum())
    )


def _scale(original: pl.Series) -> Scale:
    dtype = original.dtype
    if dtype == pl.Date:
        return DateScale()
    if dtype.is_temporal():
        return MomentScale()
    return NumberScale(whole=dtype.is_integer())


def _numbers(texts: pl.Series, scale: Scale) -> np.ndarray:
    """The numbers of many texts at once; NaN where a text needs a closer look."""
    if isinstance(scale, NumberScale):
        found = texts.cast(pl.Float64, strict=False)
    elif isinstance(scale, DateScale):
        found = texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    else:
        found = pl.Series([None] * len(texts), dtype=pl.Float64)
    values = found.fill_null(np.nan).to_numpy().copy()
    values[~np.isfinite(values)] = np.nan
    return values


def _hull_reader(
    column: Column, original: pl.Series, scale: Scale
) -> Callable[[str], Range | None]:
    """Labels of a hierarchy over numbers ("young"): from the smallest to the largest value below them."""
    poset, values = _bound(column, original)
    if not isinstance(poset, Tree):
        return lambda label: None
    codes = poset.codes(values)
    places = np.full(len(poset) + 1, np.nan)
    places[codes] = scale.array(values).astype(float)

    def read(label: str) -> Range | None:
        try:
            node = poset.node(label)
        except ValueError:
            return None
        below = places[poset.first_leaf[node] : poset.last_leaf[node] + 1]
        below = below[~np.isnan(below)]
        return Range(float(below.min()), float(below.max())) if below.size else None

    return read


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


def bars(series: pl.Series, column: Column, original: pl.Series, few: int) -> Bars:
    """The labels of a generalized column of categories against the values of the original.

    Where the labels are nodes of a tree that do not overlap and there are more than a `few` values, the labels
    themselves are drawn. Otherwise each label is spread evenly over the values that it covers.
    """
    labels, counts = label_counts(series)
    poset, values = _bound(column, original)
    names = [text(value) for value in values]
    before = _value_totals(original, names)
    covers, size = _covers(poset, values, labels)
    known = [i for i, cover in enumerate(covers) if cover.size]
    unread = int(counts.sum() - counts[known].sum())
    codes = poset.codes(values) - 1 if isinstance(poset, Tree) else np.arange(len(values))
    if isinstance(poset, Tree) and len(values) > few:
        return _by_label(labels, counts, covers, known, before, codes, size, unread)
    mass = np.zeros(size)
    for i in known:
        mass[covers[i]] += counts[i] / covers[i].size
    stand = set(labels)
    published = np.array([name in stand for name in names], dtype=bool)
    blurred = any(covers[i].size > 1 for i in known)
    return Bars(names, before, mass[codes], blurred, published, unread)


def _by_label(
    labels: Sequence[str],
    counts: np.ndarray,
    covers: Sequence[np.ndarray],
    known: Sequence[int],
    before: np.ndarray,
    codes: np.ndarray,
    size: int,
    unread: int,
) -> Bars:
    """The widest labels of a tree: two nodes are nested or apart, so each record belongs to one of them."""
    owner = np.full(size, -1)
    tops: list[int] = []
    for i in sorted(known, key=lambda i: (-covers[i].size, labels[i])):
        if owner[covers[i][0]] < 0:
            owner[covers[i]] = len(tops)
            tops.append(i)
    after = np.zeros(len(tops))
    for i in known:
        after[owner[covers[i][0]]] += counts[i]
    first = np.zeros(len(tops))
    home = owner[codes]
    np.add.at(first, home[home >= 0], before[home >= 0])
    names = [labels[i] for i in tops]
    return Bars(names, first, after, False, np.ones(len(tops), dtype=bool), unread)


def _bound(column: Column, original: pl.Series) -> tuple[Poset, list[object]]:
    found = encode(original)
    counts = np.bincount(found.codes, minlength=len(found.domain) + 1)[1:]
    try:
        return bind(column, found.domain, counts), domain_values(column, found.domain)
    except SchemaError:
        # Its message names a value of the original, which a public report must not.
        raise CannotSpread("its hierarchy does not cover the original") from None


def _value_totals(original: pl.Series, names: Sequence[str]) -> np.ndarray:
    """How often each value occurs, in the order of the names."""
    found = totals(original)
    return np.array([float(found.get(name, 0)) for name in names])


def _covers(
    poset: Poset, values: Sequence[object], labels: Sequence[str]
) -> tuple[list[np.ndarray], int]:
    """For each label the places (from 0) of the values that it covers, and how many places there are."""
    if len(labels) > _MOST_LABELS:
        raise CannotSpread(f"{len(labels):,} different labels are too many to read")
    if isinstance(poset, Tree):
        return [_leaves(poset, label) for label in labels], len(poset)
    place = {text(value): i for i, value in enumerate(values)}
    covers = [_members(place, label) for label in labels]
    strange = [i for i, cover in enumerate(covers) if cover is None]
    if len(strange) * len(values) > _MOST_COMPARISONS:
        raise CannotSpread(
            f"{len(strange):,} labels over {len(values):,} values are too many to compare"
        )
    for i in strange:
        covers[i] = _compared(poset, values, labels[i])
    return [cover for cover in covers if cover is not None], len(values)


def _leaves(tree: Tree, label: str) -> np.ndarray:
    try:
        node = tree.node(label)
    except ValueError:
        return np.empty(0, dtype=np.int64)
    return np.arange(tree.first_leaf[node], tree.last_leaf[node] + 1, dtype=np.int64) - 1


def _members(place: dict[str, int], label: str) -> np.ndarray | None:
    if label in place:
        return np.array([place[label]])
    try:
        found = [place[member] for member in read_set(label)]
    except (ValueError, KeyError):
        return None
    return np.unique(np.array(found))


def _compared(poset: Poset, values: Sequence[object], label: str) -> np.ndarray:
    try:
        return np.array([i for i, v in enumerate(values) if poset.leq(v, label)], dtype=np.int64)
    except ValueError:
        return np.empty(0, dtype=np.int64)
