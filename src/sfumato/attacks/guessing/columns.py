"""What an intruder reads in a release, column by column: numbers as ranges, categories as sets.

People are read by the same columns, and all that is read of those in the data is read of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...data.codec import floats
from ...data.generalized.bins import Bins, binned
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.pair import Pair, suppressed
from ...data.schema import SUPPRESSED
from ...data.table import kept_with
from ..field import Field

EVERY = 10**9
"""More categories than any column has: all of them are told apart."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Some columns of people and release; numbers first, then categories."""

    names: tuple[str, ...]
    numbers: np.ndarray
    """float64 (people, numbers): those in the data, then others; NaN is missing"""
    low: np.ndarray
    """float64 (released records, numbers): the least that a cell stands for; NaN is missing, and
    a suppressed cell reaches from -inf to inf"""
    high: np.ndarray
    bins: tuple[Bins, ...]
    """of the categories"""
    inside: int
    """how many of the people are in the data"""

    @classmethod
    def of(cls, field: Field, columns: Sequence[int]) -> Columns:
        """Of some of a field's columns."""
        measured = [j for j in columns if field.is_number(j)]
        others = [j for j in columns if not field.is_number(j)]
        # Labels are read by everybody's values: those in the data have no say of their own.
        people, pair = field.people, Pair(field.people, field.pair.masked, None)
        ends = [_ends(pair, field.names[j]) for j in measured]
        empty = np.empty((field.released, 0))
        bins = [_bins(pair, field.names[j]) for j in others]
        return cls(
            tuple(field.names[j] for j in (*measured, *others)),
            np.column_stack(
                [np.empty((people.height, 0))]
                + [floats(people[n], people.schema[n]) for n in (field.names[j] for j in measured)]
            ),
            np.column_stack([empty, *(low for low, _ in ends)]),
            np.column_stack([empty, *(high for _, high in ends)]),
            tuple(bins),
            int(field.inside.size),
        )

    @property
    def measured(self) -> int:
        """How many of the columns hold numbers."""
        return int(self.numbers.shape[1])

    @cached_property
    def codes(self) -> np.ndarray:
        """int32 (people, categories): bins."""
        return _stacked([one.before for one in self.bins], len(self.numbers))

    @cached_property
    def cells(self) -> np.ndarray:
        """int32 (released records, categories): bins, or labels from `counts` on."""
        return _stacked([one.after for one in self.bins], len(self.low))

    @property
    def counts(self) -> list[int]:
        """How many bins each category has."""
        return [one.count for one in self.bins]

    def covers(self, c: int) -> np.ndarray:
        """bool (places, bins): what the cells of a category may stand for."""
        found: Any = self.bins[c].spread
        return np.asarray(found.toarray() > 0)

    def hidden(self, c: int) -> np.ndarray:
        """bool: the suppressed cells of a category."""
        hidden = self.bins[c].hidden
        return np.zeros(len(self.low), dtype=bool) if hidden is None else np.asarray(hidden)

    def tells(self, rows: np.ndarray) -> np.ndarray:
        """bool (rows, columns): where a released record has a cell that is not suppressed."""
        gone = [
            np.isinf(self.low[rows]),
            *(self.hidden(c)[rows, None] for c in range(len(self.bins))),
        ]
        return np.asarray(~np.concatenate(gone, axis=1))

    @cached_property
    def exact(self) -> list[np.ndarray]:
        """The exact released numbers of each measured column, in order."""
        return [
            np.sort(low[low == high]) for low, high in zip(self.low.T, self.high.T, strict=True)
        ]

    @cached_property
    def middle(self) -> np.ndarray:
        """float64 (released records, numbers): where each cell lies; NaN where that is unknown."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.low / 2 + self.high / 2)


def _bins(pair: Pair, name: str) -> Bins:
    """A column of categories in bins, made once for all attacks that look at these people."""
    found: Bins = kept_with(
        pair.original, ("guessing", name), pair.masked, lambda: binned(pair, name, 20, EVERY)[0]
    )
    return found


def _stacked(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    found = np.empty((rows, len(columns)), dtype=np.int32)
    for j, column in enumerate(columns):
        found[:, j] = column
    return found


def _ends(pair: Pair, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest number that each released cell of a column may stand for."""
    original, masked = pair.original.schema[name], pair.masked.schema[name]
    series, hidden = pair.masked[name], suppressed(pair, name)
    if has_labels(original, masked, series):
        texts, place = distinct_labels(series)
        reader = Labels.of(pair.original, name)
        read = np.array([_read(reader, text) for text in texts] + [(np.nan, np.nan)])
        low, high = read[place, 0], read[place, 1]
    else:
        low = floats(series, masked) + 0.0
        low[np.isinf(low)] = np.nan
        high = low.copy()
    low[hidden], high[hidden] = -np.inf, np.inf
    return low, high


def _read(reader: Labels, label: str) -> tuple[float, float]:
    """The ends of a label; of a set, those of its values; what cannot be read may be anything."""
    where = reader.positions
    ends = None if label == SUPPRESSED else reader.interval(label)
    if ends is not None:
        # An end that the label leaves open is closed by the column's own range.
        low, high = reader.position(ends.low), reader.position(ends.high)
        low = float(where.min(initial=np.inf)) if np.isneginf(low) else low
        high = float(where.max(initial=-np.inf)) if np.isposinf(high) else high
        if low < high:
            low = float(np.nextafter(low, np.inf)) if ends.low_open else low
            high = float(np.nextafter(high, -np.inf)) if ends.high_open else high
        return (low, high) if low <= high else (min(low, high),) * 2
    covered = None if label == SUPPRESSED else reader.covered(label)
    if covered is None or not covered.size:
        return -np.inf, np.inf
    return float(where[covered].min()), float(where[covered].max())


def drawn(spread: Any, places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A bin drawn from what each of these cells stands for."""
    found = np.empty(places.size, np.int64)
    order = np.argsort(places, kind="stable")
    ends = np.flatnonzero(np.diff(places[order], append=-1)) + 1
    for at in np.split(order, ends[:-1]) if places.size else ():
        line = spread[int(places[at[0]])]
        found[at] = rng.choice(line.indices, at.size, p=line.data / line.data.sum())
    return found
