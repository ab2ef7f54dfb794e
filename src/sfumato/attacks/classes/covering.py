"""People beside the classes of a release that could be theirs, and what these classes say.

A class is the released records that show the same cells in the columns that the intruder knows. It
fits a person if every one of its cells is, or may stand for, what the person has there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...data.codec import floats
from ...data.generalized.bins import Bins
from ...data.generalized.label_places import has_labels
from ...data.pair import suppressed
from ...errors import MeasureError
from ...kernels.coverage.containment import Cover
from ...kernels.coverage.said import NOTHING, SEVERAL
from ...kernels.neighbours.blocks import distinct_rows
from ..controlled import FEWEST
from ..field import Field

FINE = 255
"""Quantiles at which numbers are cut that are published as ranges."""
COARSE = 20
"""Quantiles at which numbers are cut to be alike, and where they are to be guessed."""


class Column(NamedTuple):
    """People and cells of one column as codes, and the runs of codes that each cell covers."""

    people: np.ndarray
    """int64: people in the data, then others"""
    cells: np.ndarray
    """int64 (released records,): places, each of which covers the codes low..high of its runs"""
    runs: np.ndarray
    low: np.ndarray
    high: np.ndarray


def column_in_bins(field: Field, j: int, quantiles: int) -> Column:
    """A column as cut into bins."""
    coded = field.coded(quantiles)
    people = np.concatenate((coded.inside[:, j], coded.outside[:, j])).astype(np.int64)
    covered = sparse.csr_matrix(coded.spread(j))
    covered.eliminate_zeros()
    covered.sort_indices()
    rows = np.repeat(np.arange(covered.shape[0]), np.diff(covered.indptr))
    codes = covered.indices.astype(np.int64)
    leads = np.ones(rows.size, dtype=bool)
    leads[1:] = (rows[1:] != rows[:-1]) | (codes[1:] != codes[:-1] + 1)
    ends = np.append(leads[1:], True)
    runs = np.searchsorted(rows[leads], np.arange(covered.shape[0] + 1))
    return Column(people, coded.cells[:, j].astype(np.int64), runs, codes[leads], codes[ends])


def column_as_it_is(field: Field, j: int) -> Column:
    """A column by its values, however many numbers there are; by fine bins where the release shows
    ranges of them."""
    name = field.names[j]
    column, masked = field.people.schema[name], field.pair.masked.schema[name]
    series = field.pair.masked[name]
    if not field.is_number(j) or has_labels(column, masked, series):
        return column_in_bins(field, j, FINE)
    people, cells = floats(field.people[name], column), floats(series, masked)
    values = np.unique(people[~np.isnan(people)])
    count = values.size

    def placed(x: np.ndarray) -> np.ndarray:
        at = np.minimum(np.searchsorted(values, x), max(count - 1, 0))
        same = values[at] == x if count else np.zeros(x.size, dtype=bool)
        return np.where(np.isnan(x), count + 1, np.where(same, at, count))

    places = placed(cells)
    places[suppressed(field.pair, name)] = count + 2
    ends = np.arange(count + 2)
    low, high = np.append(ends, 0), np.append(ends, count + 1)
    return Column(placed(people), places, np.arange(count + 4), low, high)


def coarser(field: Field, columns: Sequence[int]) -> bool:
    """Whether one of the columns has so many numbers that they are alike in bins only."""
    people = field.people
    return any(field.is_number(j) and people[field.names[j]].n_unique() > COARSE for j in columns)


@dataclass(frozen=True, eq=False)
class Fitting:
    """The classes of a release by some columns, and which people they could be of."""

    field: Field
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, field: Field, columns: Sequence[int], quantiles: int | None = None) -> Fitting:
        """By these columns, as they are or cut at quantiles."""
        found = [
            column_as_it_is(field, j) if quantiles is None else column_in_bins(field, j, quantiles)
            for j in columns
        ]
        return cls(field, tuple(found))

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        cells = np.column_stack([one.cells for one in self.columns]).astype(np.int32)
        return distinct_rows(np.empty((len(cells), 0), dtype=np.int64), cells)

    @property
    def first(self) -> np.ndarray:
        """int64: the first record of each class."""
        return self._distinct[0]

    @property
    def member(self) -> np.ndarray:
        """int64: the class of each released record."""
        return self._distinct[1]

    @cached_property
    def cover(self) -> Cover:
        """People and classes as kernels take them."""
        sizes = [one.runs.size - 1 for one in self.columns]
        first = np.concatenate(([0], np.cumsum(sizes)))
        many = np.cumsum([0] + [one.low.size for one in self.columns])
        runs = [one.runs[:-1] + start for one, start in zip(self.columns, many[:-1], strict=True)]
        return Cover(
            np.column_stack([one.people for one in self.columns]).astype(np.int64),
            first.astype(np.int64),
            np.append(np.concatenate(runs), many[-1]).astype(np.int64),
            np.concatenate([one.low for one in self.columns]).astype(np.int64),
            np.concatenate([one.high for one in self.columns]).astype(np.int64),
            np.column_stack([one.cells[self.first] for one in self.columns]) + first[:-1],
        )

    def held(self, bins: Bins) -> Any:
        """CSR (classes, bins): how often the records of each class show each value of a column. A
        cell that may stand for several is shared out; one that is missing or hidden says nothing.
        """
        cells = bins.after.astype(np.int64)
        shown = cells != bins.count - 1
        if bins.hidden is not None:
            shown &= ~bins.hidden
        places = bins.count + bins.labels
        at = (self.member[shown], cells[shown])
        of_places = sparse.csr_matrix((np.ones(at[0].size), at), shape=(self.first.size, places))
        return sparse.csr_matrix(of_places @ bins.spread)

    def split(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What was found of all people: of those in the data, and of the others."""
        n = self.field.inside.size
        return found[:n], found[n:]


def says(held: Any) -> np.ndarray:
    """int64: the one value that each class holds, else `NOTHING` or `SEVERAL`."""
    held = sparse.csr_matrix(held)
    held.eliminate_zeros()
    many = np.diff(held.indptr)
    found = np.where(many == 0, NOTHING, SEVERAL).astype(np.int64)
    found[many == 1] = held.indices[held.indptr[:-1][many == 1]]
    return found


def truth(field: Field, j: int) -> np.ndarray:
    """int64: what people in the data, then others, have in a column that is to be guessed; -3
    where it is missing, which nobody learns anything by."""
    coded = field.coded(COARSE)
    own = np.concatenate((coded.inside[:, j], coded.outside[:, j])).astype(np.int64)
    own[own == coded.bins[j].count - 1] = -3
    return own


def likeliest(bins: Bins) -> int:
    """The value that the release shows most."""
    shown = np.bincount(bins.after, minlength=bins.count + bins.labels)
    if bins.hidden is not None:
        shown = shown - np.bincount(bins.after[bins.hidden], minlength=shown.size)
    mass = np.asarray(bins.spread.T @ shown.astype(np.float64)).ravel()
    return int(np.argmax(mass[:-1]))


class Asked(NamedTuple):
    """Whom an attack is tried on: places among the people in the data, and among the others."""

    inside: np.ndarray
    outside: np.ndarray
    all: bool
    """Whether people whom nothing fits are among them."""


def whom(field: Field, covered: np.ndarray) -> Asked:
    """Those whom some class fits; all, where too few are left of the others to show anything."""
    n = field.inside.size
    inside, outside = np.flatnonzero(covered[:n]), np.flatnonzero(covered[n:])
    everybody = min(inside.size, outside.size) < min(FEWEST, field.outside.size, n)
    if everybody:
        inside, outside = np.arange(n), np.arange(field.outside.size)
    return Asked(inside, outside, everybody)


def named(field: Field, names: Sequence[str], what: str) -> list[int]:
    """The places of columns that a parameter names."""
    missing = [name for name in names if name not in field.names]
    if missing:
        why = field.left_out.get(missing[0], "it is not published, or set aside")
        raise MeasureError(
            f"column {missing[0]!r} of `{what}` cannot be attacked: {why}",
            remedy=f"name columns among {', '.join(field.names)}",
        )
    return [field.names.index(name) for name in names]


def require_secret(field: Field, asking: str) -> list[int]:
    """The confidential columns."""
    if not field.secret:
        raise MeasureError(
            f"{asking} has no confidential column to learn",
            remedy='give a column role = "confidential"',
        )
    return field.secret
