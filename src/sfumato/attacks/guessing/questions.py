"""Predicates made of released records, and who fits them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...kernels.neighbours.predicates import Cells, Fits, Predicates, cells, fits
from .columns import Columns, drawn

CHUNK = 1_000
"""Predicates asked at once: their tables of categories are as long as columns have values."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions, several to a predicate: ranges of numbers, and cells of categories."""

    predicate: np.ndarray
    """int: which predicate each belongs to, ascending, all from 0 on"""
    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    place: np.ndarray
    """int: the place of the category (a bin or a label), -1 of numbers"""

    def of(self, which: np.ndarray) -> Conditions:
        """Those of some predicates, in the order given."""
        sizes = np.bincount(self.predicate, minlength=int(self.predicate.max(initial=-1)) + 1)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        few = sizes[which]
        ends = np.cumsum(few)
        at = np.repeat(starts[which] - ends + few, few) + np.arange(int(few.sum()))
        number = np.repeat(np.arange(which.size), few)
        return Conditions(
            number, self.column[at], self.low[at], self.high[at], self.place[at]
        )  # fmt: skip

    def __len__(self) -> int:
        return int(self.predicate[-1]) + 1 if self.predicate.size else 0

    def keys(self) -> np.ndarray:
        """uint64: equal of equal predicates."""
        key = self.column.astype(np.uint64)
        for part in (self.low.view(np.uint64), self.high.view(np.uint64), self.place):
            key = (key ^ part.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        total = np.zeros(len(self), np.uint64)
        np.add.at(total, self.predicate, key)
        return total

    def distinct(self) -> np.ndarray:
        """The first of each set of equal predicates."""
        return np.sort(np.unique(self.keys(), return_index=True)[1])

    @staticmethod
    def joined(parts: list[Conditions]) -> Conditions:
        """All predicates of several."""
        at = np.cumsum([0] + [len(one) for one in parts])
        return Conditions(
            np.concatenate([one.predicate + k for one, k in zip(parts, at[:-1], strict=True)]),
            *(
                np.concatenate([getattr(one, name) for one in parts])
                for name in ("column", "low", "high", "place")
            ),
        )


@dataclass(frozen=True, eq=False)
class Questions:
    """Asks predicates of the release, of people in the data and of others."""

    columns: Columns

    @cached_property
    def released(self) -> Cells:
        """The released records."""
        of = self.columns
        return cells(of.low, of.high, of.cells, of.counts, np.empty(0))

    def people(self, rows: slice | np.ndarray, keys: np.ndarray | None = None) -> Cells:
        """Some of the people."""
        of = self.columns
        x = of.numbers[rows]
        own = np.empty(0) if keys is None else keys[rows]
        return cells(x, x, of.codes[rows], of.counts, own)

    def ask(self, whom: Cells, asked: Conditions, most: float, **hashed: Any) -> Fits:
        """How many fit each predicate; counted until there are more than `most`."""
        found = []
        for start in range(0, len(asked), CHUNK):
            which = np.arange(start, min(start + CHUNK, len(asked)))
            more = {name: values[which] for name, values in hashed.items()}
            found.append(fits(whom, self._predicates(asked.of(which)), most, **more))
        if not found:
            return Fits(np.empty(0), np.empty(0, np.int64))
        return Fits(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def _predicates(self, asked: Conditions) -> Predicates:
        of = self.columns
        size = asked.column.size
        place, only = np.zeros(size, np.int64), np.full(size, -1, np.int32)
        free, tables, end = np.zeros(size), [np.zeros(1, np.float32)], 1
        for j, exact in enumerate(of.exact):
            at = np.flatnonzero(asked.column == j)
            within = np.searchsorted(exact, asked.high[at], "right") - np.searchsorted(
                exact, asked.low[at], "left"
            )
            free[at] = within / exact.size if exact.size else 0.5
            free[at[np.isnan(asked.low[at])]] = 0.0
        for c, bins in enumerate(of.bins):
            at = np.flatnonzero(asked.column == of.measured + c)
            wanted, back = np.unique(asked.place[at], return_inverse=True)
            # What share of each cell's mass lies on the bins that the wanted one covers.
            shares = np.asarray((bins.spread @ (bins.spread[wanted] > 0).T).todense()).T
            place[at] = end + back * shares.shape[1]
            only[at] = np.where(asked.place[at] < bins.count, asked.place[at], -1)
            tables.append(np.minimum(shares, 1.0).astype(np.float32).ravel())
            end += shares.size
        starts = np.searchsorted(asked.predicate, np.arange(len(asked) + 1))
        return Predicates(
            starts.astype(np.int64), asked.column.astype(np.int32), asked.low, asked.high, free,
            place, only, np.concatenate(tables),
        )  # fmt: skip

    def of_records(
        self, rows: np.ndarray, chosen: np.ndarray, rng: np.random.Generator
    ) -> Conditions:
        """A predicate of each released record, on its chosen columns: bool (rows, columns); none of
        a record whose chosen cells are all suppressed.

        A category fits if it is the record's; a number, if it lies beyond the record's, on the side
        away from the median. A cell that stands for several values is the set of them; half of such
        cells are narrowed, to a category or at a number drawn from them.
        """
        of = self.columns
        i, j, row = self._told(rows, chosen)
        low, high, place = np.zeros(i.size), np.zeros(i.size), np.full(i.size, -1, np.int64)
        halved = rng.random(i.size) < 0.5
        for c in range(of.measured):
            at = np.flatnonzero(j == c)
            low[at], high[at] = self._range(c, row[at], halved[at], rng)
        for c, bins in enumerate(of.bins):
            at = np.flatnonzero(j == of.measured + c)
            place[at] = of.cells[row[at], c]
            wide = at[halved[at] & (place[at] >= bins.count)]
            place[wide] = drawn(bins.spread, place[wide], rng)
        return Conditions(i, j, low, high, place)

    def boxes(self, rows: np.ndarray, chosen: np.ndarray) -> Conditions:
        """What each released record's cells stand for, on its chosen columns, but for suppressed
        ones; an exact number for what lies nearer to it than to the next that are released."""
        of = self.columns
        i, j, row = self._told(rows, chosen)
        low, high, place = np.zeros(i.size), np.zeros(i.size), np.full(i.size, -1, np.int64)
        for c in range(of.measured):
            at = np.flatnonzero(j == c)
            low[at], high[at] = of.low[row[at], c], of.high[row[at], c]
            exact = at[low[at] == high[at]]
            values = np.unique(of.exact[c])
            between = values[:-1] / 2 + values[1:] / 2
            where = np.searchsorted(values, low[exact])
            low[exact] = np.concatenate(([-np.inf], np.nextafter(between, np.inf)))[where]
            high[exact] = np.concatenate((between, [np.inf]))[where]
        for c in range(len(of.bins)):
            at = np.flatnonzero(j == of.measured + c)
            place[at] = of.cells[row[at], c]
        return Conditions(i, j, low, high, place)

    def _told(
        self, rows: np.ndarray, chosen: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predicate, column and record of each chosen cell that tells something."""
        told = chosen & self.columns.tells(rows)
        some = told.any(axis=1)
        i, j = np.nonzero(told[some])
        return i, j, rows[some][i]

    @cached_property
    def _medians(self) -> list[float]:
        columns = (column[np.isfinite(column)] for column in self.columns.middle.T)
        return [float(np.median(column)) if column.size else 0.0 for column in columns]

    def _range(
        self, c: int, row: np.ndarray, halved: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        of = self.columns
        low, high = of.low[row, c].copy(), of.high[row, c].copy()
        exact = low == high
        at = np.where(exact, low, low + rng.random(row.size) * (high - low))
        upper = at >= self._medians[c]
        cut = exact | halved
        label = ~exact & ~np.isnan(low)
        ends = (np.where(label, low, -np.inf), np.where(label, high, np.inf))
        first = np.where(cut, np.where(upper, at, ends[0]), low)
        last = np.where(cut, np.where(upper, ends[1], at), high)
        gone = np.isnan(low)
        first[gone] = last[gone] = np.nan
        return first, last
