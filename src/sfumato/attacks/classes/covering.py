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
import polars as pl
from scipy import sparse

from ...data.codec import floats
from ...data.generalized.bins import Bins
from ...data.generalized.bins.bins import as_text
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.linkage.linked import in_one_numbering
from ...data.pair import suppressed
from ...errors import MeasureError
from ...kernels.coverage.containment import Cover
from ...kernels.coverage.said import NOTHING, SEVERAL, one_covered
from ...kernels.neighbours.blocks import distinct_rows
from ..field import Field
from ..guesses import learnable
from ..trial import FEWEST

FINE = 255
"""Quantiles at which numbers are cut that are published as labels which cannot all be read."""
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
    runs = _runs(rows, covered.indices.astype(np.int64), covered.shape[0])
    return Column(people, coded.cells[:, j].astype(np.int64), *runs)


def column_as_it_is(field: Field, j: int) -> Column:
    """A column by its values, however many there are, and by what its labels cover."""
    name = field.names[j]
    column, masked = field.people.schema[name], field.pair.masked.schema[name]
    series = field.pair.masked[name]
    hidden = suppressed(field.pair, name)
    if has_labels(column, masked, series):
        try:
            return _of_labels(Labels.of(field.people, name), series, hidden)
        except MeasureError:  # of labels that cannot be read; bins leave these out
            return column_in_bins(field, j, FINE)
    listed = [(field.people[name], column), (series, masked)]
    if field.is_number(j):
        alike = [pl.Series(floats(*one)).fill_nan(None) for one in listed]
    else:
        alike = [as_text(values, of.kind) for values, of in listed]
    people, cells = in_one_numbering(alike)
    top = 1 + max(int(codes.max(initial=0)) for codes in (people, cells))
    # Every value covers itself, and the last place, of what is hidden, all.
    ends = np.arange(top)
    low, high = np.append(ends, 0), np.append(ends, top - 1)
    places = np.where(hidden, top, cells).astype(np.int64)
    return Column(people.astype(np.int64), places, np.arange(top + 2), low, high)


def _of_labels(reader: Labels, series: pl.Series, hidden: np.ndarray) -> Column:
    labels, place = distinct_labels(series)
    covered = reader.coverage(reader.domain, labels)
    rank = np.concatenate(([0], covered.ranks))[reader.codes]
    if covered.starts is None or covered.members is None:
        runs, low, high = np.arange(len(labels) + 1), covered.low, covered.high
    else:
        rows = np.repeat(np.arange(len(labels)), np.diff(covered.starts))
        runs, low, high = _runs(rows, covered.members, len(labels))
    # Two more labels: what is hidden may be anything, and what is missing is missing.
    runs = np.append(runs, low.size + np.array([1, 2]))
    low, high = np.append(low, [0, 0]), np.append(high, [len(reader.domain), 0])
    places = np.where(hidden, len(labels), np.where(place < 0, len(labels) + 1, place))
    return Column(rank, places.astype(np.int64), runs, low, high)


def _runs(rows: np.ndarray, codes: np.ndarray, many: int) -> tuple[np.ndarray, ...]:
    """Where the runs of each of so many rows begin, and their ends, of sorted rows and codes."""
    leads = np.ones(rows.size, dtype=bool)
    leads[1:] = (rows[1:] != rows[:-1]) | (codes[1:] != codes[:-1] + 1)
    ends = np.append(leads[1:], True)[: rows.size]
    return np.searchsorted(rows[leads], np.arange(many + 1)), codes[leads], codes[ends]


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
        if not columns:
            raise MeasureError(
                "no column is known by which to look anybody up",
                remedy='give a column role = "quasi"',
            )
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

    def held(self, bins: Bins, *, hidden: bool = False) -> Any:
        """CSR (classes, bins): how often the records of each class show each value of a column. A
        cell that may stand for several is shared out; one that is missing or hidden says nothing,
        but that a `hidden` one may be anything, where that is asked for.
        """
        cells = bins.after.astype(np.int64)
        shown = cells != bins.count - 1
        if bins.hidden is not None and not hidden:
            shown &= ~bins.hidden
        places = bins.count + bins.labels
        at = (self.member[shown], cells[shown])
        of_places = sparse.csr_matrix((np.ones(at[0].size), at), shape=(self.first.size, places))
        return sparse.csr_matrix(of_places @ bins.spread)

    def split(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What was found of all people: of those in the data, and of the others."""
        n = self.field.inside.size
        return found[:n], found[n:]


_ROUNDS = 4


def places_taken(
    fitting: Fitting, classes: np.ndarray, free: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """int64: which of the free people outside takes the place of a person of each class, -1 where
    nobody can. Nobody takes two places, so that controls are as many people.

    Each round asks for all places one person at random whom the class fits and who has no place
    yet; of several places that name the same person, a random one has them.
    """
    found, ranks = np.full(classes.size, -1), fitting.split(fitting.cover.ranks)[1]
    for _ in range(_ROUNDS):
        todo = rng.permutation(np.flatnonzero(found < 0))
        left = fitting.cover._replace(ranks=ranks[free])
        got = one_covered(left, classes[todo], rng.random(todo.size))
        hit = np.flatnonzero(got >= 0)
        taken, first = np.unique(got[hit], return_index=True)
        found[todo[hit[first]]] = free[taken]
        free = np.delete(free, taken)
    return found


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


def groups(field: Field, fitting: Fitting, j: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Which value each person has in a column that is to be guessed; None of numbers."""
    return None if field.is_number(j) else fitting.split(truth(field, j))


def require_secret(field: Field, asking: str) -> list[int]:
    """The confidential columns of which there is anything to learn."""
    if not field.secret:
        raise MeasureError(
            f"{asking} has no confidential column to learn",
            remedy='give a column role = "confidential"',
        )
    return learnable(field, field.secret)
