"""Columns that give back what was masked in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ...data.generalized.label_places import has_labels
from ...data.pair import Pair
from ...data.schema import MEASURED, Kind
from .published import as_text

_GROUP = 5
_BETTER = 0.2
_SURE = 3.0
"""Standard errors: many pairs of columns are tried, and some agree by chance."""
_BOUND = 1.645
"""Standard errors below the difference where its lower 95 % bound stands, which decides: of few
records twenty points may be ten that came out high."""
_SAMPLE = 20_000
_FEW = 100


@dataclass(frozen=True)
class GivenBack:
    """A masked column that another column tells."""

    masked: str
    by: str
    right: float
    """How often the most frequent value beside the other column's is right."""
    expected: float
    """How often the most frequent value under the masked label is."""


def giving_back(
    pair: Pair,
    shares: Mapping[str, float],
    left_out: Iterable[str],
    numbers: Callable[[str], np.ndarray],
    rng: np.random.Generator,
) -> list[GivenBack]:
    """Published columns that tell more of a masked one than its own labels do; `numbers` gives the
    values of a published column as `numbered` does."""
    published = [n for n in pair.masked.names if n not in left_out]
    hidden = [name for name in published if pair.aligned and _is_masked(pair, name, shares)]
    if not hidden:
        return []
    rows, records = pair.aligned_rows()
    codes = {n: numbers(n)[records] for n in published}
    everybody: dict[str, np.ndarray] = {}
    found = []
    for name in hidden:
        truth = numbered(pair.original[name])[rows]
        shown, groups = codes, everybody
        if not truth.all():  # 0: what is missing cannot be given back
            there = np.flatnonzero(truth)
            truth, shown, groups = truth[there], {n: codes[n][there] for n in published}, {}
        expected = _Expected(shown[name], truth)
        for other in published:
            if other != name:
                told = _told(other, shown[other], truth, expected, groups, rng)
                found += [] if told is None else [GivenBack(name, other, *told)]
    return sorted(found, key=lambda one: one.expected - one.right)


def numbered(series: pl.Series) -> np.ndarray:
    """int64: equal values have equal numbers, from 1 on; 0 is missing."""
    if isinstance(series.dtype, pl.List):
        series = as_text(series)
    frame = series.to_frame("value").with_row_index("row")
    first = frame.select(pl.col("row").min().over("value")).to_series().to_numpy()
    numbers = np.cumsum(first == np.arange(first.size))[first]
    return np.where(series.is_null().to_numpy(), 0, numbers)


@dataclass(frozen=True, eq=False)
class _Expected:
    """Guesses by the masked labels, which are made only where others are good."""

    labels: np.ndarray
    truth: np.ndarray

    @cached_property
    def right(self) -> np.ndarray:
        return right_guesses(self.labels, self.truth)


def _is_masked(pair: Pair, name: str, shares: Mapping[str, float]) -> bool:
    """Whether a column was recoded, suppressed, averaged or swapped. A number with noise has no
    label under which others could be looked up: the published number is the better guess."""
    if name not in pair.original.schema or pair.original.schema[name].kind == Kind.SET:
        return False
    column, series = pair.original.schema[name], pair.masked[name]
    if has_labels(column, pair.masked.schema[name], series) or pair.masked.suppressed(name).any():
        return True
    if shares[name] >= 1.0:
        return False
    return column.kind not in MEASURED or _GROUP * series.n_unique() <= len(series)


def _told(
    name: str,
    other: np.ndarray,
    truth: np.ndarray,
    expected: _Expected,
    groups: dict[str, np.ndarray],
    rng: np.random.Generator,
) -> tuple[float, float] | None:
    """How often either guess is right, where the other column's is so much better."""
    if name not in groups:
        groups[name] = _in_groups(other, rng)
    rows = groups[name]
    if rows.size < _GROUP:
        return None
    right = right_guesses(other[rows], truth[rows])
    if right.mean() < _BETTER:
        return None
    gain = right - expected.right[rows]
    better, doubt = float(gain.mean()), float(gain.std(ddof=1)) / np.sqrt(rows.size)
    # A few records may agree by chance: what is said of them must hold for others like them.
    if better - _BOUND * doubt < _BETTER or better <= _SURE * doubt:
        return None
    return float(right.mean()), float(right.mean()) - better


def _in_groups(other: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Records that share their value with enough others; whole groups, where there are many."""
    sizes = np.bincount(other)
    sizes[:1] = 0  # who has no value shares none
    large = np.flatnonzero(sizes >= _GROUP)
    if sizes[large].sum() > _SAMPLE and large.size > _FEW:
        large = rng.permutation(large)
        large = large[np.cumsum(sizes[large]) <= _SAMPLE]
    kept = np.zeros(sizes.size, bool)
    kept[large] = True
    rows = np.flatnonzero(kept[other])
    return rows if rows.size <= _SAMPLE else np.sort(rng.choice(rows, _SAMPLE, replace=False))


def right_guesses(groups: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """How often the most frequent value of the others in a record's group is the record's own; a
    tie counts half. Whoever is alone in a group is guessed by everybody else."""
    right = _leave_one_out(groups.astype(np.int64), truth)
    alone = np.bincount(groups)[groups] == 1
    if alone.any():
        right[alone] = _leave_one_out(np.zeros(groups.size, np.int64), truth)[alone]
    return right


def _leave_one_out(groups: np.ndarray, truth: np.ndarray) -> np.ndarray:
    width = int(truth.max(initial=0)) + 1
    cells, cell, count = _tallied(groups * width + truth)
    group = cells // width
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    follows = np.diff(np.append(starts, cells.size))
    top = np.repeat(np.maximum.reduceat(count, starts), follows)
    first = count == top
    shared = np.repeat(np.add.reduceat(first, starts, dtype=np.int64), follows) > 1
    second = np.repeat(np.maximum.reduceat(np.where(first, 0, count), starts), follows)
    # The most frequent has the next as its rival, all others have the most frequent.
    rival = np.where(first & ~shared, second, top)
    own = count - 1
    tie = np.where((own == rival) & (own > 0), 0.5, 0.0)
    right: np.ndarray = np.where(own > rival, 1.0, tie)[cell]
    return right


def _tallied(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct keys, the place of each key among them, and how often they occur."""
    if keys.max(initial=0) <= 4 * keys.size:
        many = np.bincount(keys)
        cells = np.flatnonzero(many)
        place = np.cumsum(many > 0)[keys] - 1
        return cells, place, many[cells]
    cells, place, many = np.unique(keys, return_inverse=True, return_counts=True)
    return cells, place.reshape(-1), many
