"""Augmented tables: every column beside its generalizations, as further fields.

A released cell is read to the level that it stands for: the finer fields are unknown, the coarser
ones follow. A label that is no node of a hierarchy (an interval, a set of values) is known in part:
it leaves a likelihood over the finest states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ..data.codec import encode, floats
from ..data.generalized.label_places import LabelPlaces
from ..data.schema import NUMERIC, ORDERED, Kind
from ..data.table import Table
from ..errors import MeasureError
from .axis import BINS, MOST, Axis, axis_of

UNKNOWN = 0
"""The place of a cell of which nothing is known."""
_NO_VALUE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Reading:
    """One column of a table: which of the distinct contents each cell has, and what they mean."""

    axis: Axis
    place: np.ndarray
    """int64 (n,): the content of each cell; 0 is unknown."""
    likelihood: np.ndarray
    """float64 (contents, states): the share of each finest state that a content covers."""
    covers: tuple[np.ndarray | None, ...]
    """By content: the places in the domain of the values that it covers; None for any value."""
    absent: np.ndarray
    """bool (n,): cells that are missing, not suppressed."""

    def at(self, level: int) -> np.ndarray:
        """int64 (contents,): the state of a content at a level, -1 where it is not certain."""
        axis = self.axis
        touched = np.zeros((self.likelihood.shape[0], axis.size(level)), dtype=bool)
        rows, states = np.nonzero(self.likelihood)
        touched[rows, axis.up[level][states]] = True
        return np.where(touched.sum(axis=1) == 1, touched.argmax(axis=1), -1)

    @cached_property
    def codes(self) -> np.ndarray:
        """int64 (n, levels): the state of each cell at each level, -1 unknown."""
        return np.column_stack([self.at(level)[self.place] for level in range(self.axis.levels)])

    @cached_property
    def known(self) -> np.ndarray:
        """int64 (contents,): how many of the column's values each content covers."""
        everything = len(self.axis.domain)
        return np.array([everything if c is None else c.size for c in self.covers])

    @property
    def open(self) -> np.ndarray:
        """bool (n,): cells that leave more than one value open, though the record has one."""
        return np.asarray((self.known[self.place] > 1) & ~self.absent)


def axes_of(
    table: Table,
    names: Sequence[str],
    *others: Table,
    most: int = MOST,
    bins: int = BINS,
    missing: bool = False,
) -> list[Axis]:
    """The states of some columns, from the values of a table (and of others like it)."""
    found = []
    for name in names:
        column = table.schema[name]
        series = [table[name], *(one[name].cast(table[name].dtype) for one in others)]
        coded = encode(pl.concat(series) if others else series[0])
        counts = np.bincount(coded.codes, minlength=len(coded.domain) + 1)[1:]
        found.append(axis_of(column, coded.domain, counts, most=most, bins=bins, missing=missing))
    return found


def read(axis: Axis, table: Table) -> Reading:
    """A table's column, by the states of an axis. A column that is not there is unknown."""
    n = table.height
    if axis.name not in table.schema:
        everything = np.ones((1, axis.size()))
        nowhere = np.zeros(n, dtype=bool)
        return Reading(axis, np.zeros(n, dtype=np.int64), everything, (None,), nowhere)
    series, hidden = table[axis.name], table.suppressed(axis.name)
    absent = series.is_null().to_numpy() & ~hidden
    if _holds_labels(axis, table):
        place, likelihood, covers = _labels(axis, series)
    else:
        place, likelihood, covers = _values(axis, series)
    place[hidden | absent] = UNKNOWN
    if axis.missing >= 0:
        here = np.zeros((1, axis.size()))
        here[0, axis.missing] = 1.0
        place[absent] = likelihood.shape[0]
        likelihood, covers = np.vstack([likelihood, here]), [*covers, _NO_VALUE]
    return Reading(axis, place, likelihood, tuple(covers), absent)


def joined(parts: Sequence[Reading]) -> Reading:
    """Several tables' readings of one column, one after the other."""
    shifts = np.cumsum([0, *(part.likelihood.shape[0] for part in parts[:-1])])
    return Reading(
        parts[0].axis,
        np.concatenate([p.place + s for p, s in zip(parts, shifts, strict=True)]),
        np.vstack([part.likelihood for part in parts]),
        tuple(one for part in parts for one in part.covers),
        np.concatenate([part.absent for part in parts]),
    )


def _holds_labels(axis: Axis, table: Table) -> bool:
    masked, series = table.schema[axis.name], table[axis.name]
    if axis.column.generalized:
        return False
    as_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    if masked.generalized or (as_text and axis.column.kind in (*NUMERIC, Kind.DATE)):
        return True
    # Labels that a file brought back as text; a column of values has no others.
    if not as_text or (axis.column.kind == Kind.ORDINAL and masked.kind == Kind.ORDINAL):
        return False
    values = series.drop_nulls().unique().cast(pl.String)
    return not values.is_in(axis.domain.cast(pl.String).implode()).all()


_Contents = tuple[np.ndarray, np.ndarray, list[np.ndarray | None]]


def _values(axis: Axis, series: pl.Series) -> _Contents:
    """Plain values; one that the axis does not know is unknown, a number goes to the nearest."""
    found = encode(series)
    m = len(axis.domain)
    if axis.column.kind in ORDERED and axis.column.kind != Kind.ORDINAL and m:
        ours, theirs = floats(axis.domain, axis.column), floats(found.domain, axis.column)
        cuts = ours[:-1] / 2 + ours[1:] / 2
        at = np.searchsorted(cuts, theirs)
    else:
        words = axis.domain.cast(pl.String) if not axis.domain.dtype.is_nested() else None
        if words is None:
            place = {repr(v): i for i, v in enumerate(axis.domain.to_list())}
            at = np.array([place.get(repr(v), -1) for v in found.domain.to_list()], dtype=np.int64)
        else:
            place = {v: i for i, v in enumerate(words.to_list())}
            spelt = found.domain.cast(pl.String).to_list()
            at = np.array([place.get(v, -1) for v in spelt], dtype=np.int64)
    likelihood = np.zeros((len(found.domain) + 1, axis.size()))
    likelihood[0] = 1.0
    rows = np.flatnonzero(at >= 0)
    # A value within a bin stands for the bin: which one of its values it is, no field tells.
    likelihood[rows + 1, axis.state_of[at[rows]]] = 1.0
    likelihood[np.flatnonzero(at < 0) + 1] = 1.0
    covers = [None, *(None if i < 0 else at[j : j + 1] for j, i in enumerate(at.tolist()))]
    return found.codes.astype(np.int64), likelihood, covers


def _labels(axis: Axis, series: pl.Series) -> _Contents:
    texts = series.cast(pl.String)
    words = texts.drop_nulls().unique().sort()
    place = texts.cast(pl.Enum(words)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy() + 1
    reader = LabelPlaces(axis.column, axis.domain)
    inside = np.bincount(axis.state_of, axis.counts, axis.size())
    likelihood = np.ones((len(words) + 1, axis.size()))
    covers: list[np.ndarray | None] = [None] * (len(words) + 1)
    for i, word in enumerate(words.to_list(), 1):
        covered = reader.covered(word)
        if covered is None:
            raise MeasureError(
                f"column {axis.name!r} was published with the label {word!r}, which cannot be read",
                remedy="declare the hierarchy that it comes from as the column's poset",
            )
        if not covered.size:
            # A label between the values that are known says nothing of any of them.
            continue
        states = axis.state_of[covered]
        mass = np.bincount(states, axis.counts[covered], axis.size())
        # States without records: by the number of their values.
        blank = (inside <= 0) & (np.bincount(states, minlength=axis.size()) > 0)
        likelihood[i] = np.where(blank, 1.0, mass / np.where(inside > 0, inside, 1.0))
        if not likelihood[i].any():
            likelihood[i] = np.bincount(states, minlength=axis.size()) > 0
        covers[i] = covered
    if axis.missing >= 0:
        likelihood[1:, axis.missing] = 0.0
    return place.copy(), likelihood, covers
