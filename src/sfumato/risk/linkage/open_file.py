"""A masked file with labels or suppressed cells, and what intruders make of it.

A record fits a person if every cell is equal to the person's value, covers it, or was suppressed.
Whoever took the nearest record, a suppressed cell being near to everything, would link everybody to
the record with the fewest values. Three intruders know better, and the best of them counts:

- one takes, of the records that fit, the one that leaves least open, and the nearest where none is;
- one takes the nearest where an open cell is as far away as a random value (openness.py), which is
  better where values were changed as well: then a record that fits is seldom one's own;
- one knows the class of each person whose own record fits, and picks at random within it. No figure
  may be below that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...criteria.classes import Classes, equivalence_classes
from ...data.linkage.linked import TOLERANCE, Credit, hidden_cells
from ...data.linkage.linking import numbers_of
from ...data.linkage.seen import at_published_ends
from ...data.pair import Pair
from ...data.people.repeated import OwnRecords
from ...data.table import Table
from ...kernels.coverage.blocks import Queries
from ...kernels.coverage.linkage import Found, cover_nearest
from ...kernels.coverage.set_linkage import Compared, Fitting, nearest_sets
from .covering import Grid, build, set_side
from .openness import Columns, Openness

SPECIFIC = "of the records that fit, the one that leaves least open"
NEAREST = "the nearest record, where an open cell is as far as a random value"
WITHIN = "a random record of the class"
PLAIN = "the nearest record"
_FITS = 0.75
"""More than any record leaves open, and less than a column that does not fit adds."""


@dataclass(frozen=True, eq=False)
class Links:
    """How some records fared."""

    distance: np.ndarray
    ties: np.ndarray
    own_tied: np.ndarray
    """Whether one's own record is among them; of people with several, how many of theirs are."""
    own: np.ndarray
    """The distance to one's own nearest masked record; infinite where there is none."""

    @cached_property
    def credit(self) -> Credit:
        """What it achieved."""
        return Credit.of(self.own_tied, self.ties)

    @classmethod
    def by_person(cls, each: Links, asking: np.ndarray, people: int) -> Links:
        """Those of people with several records, of whom each was linked once for every record."""
        last = np.zeros(people, dtype=np.int64)
        last[asking] = np.arange(asking.size)
        nearest_own = np.full(people, np.inf)
        np.minimum.at(nearest_own, asking, each.own)
        tied = np.bincount(asking, weights=each.own_tied, minlength=people).astype(np.int64)
        return cls(each.distance[last], each.ties[last], tied, nearest_own)


def asked(
    rows: np.ndarray, own: np.ndarray, theirs: OwnRecords | None
) -> tuple[np.ndarray, np.ndarray]:
    """The places of the rows to link, and an own record of each: once for each record of the
    person, and once for those who have none."""
    if theirs is None:
        return np.arange(rows.size), own
    asking, records = theirs.pairs(rows)
    none = np.flatnonzero(theirs.many[rows] == 0)
    asking = np.concatenate((asking, none))
    return asking, np.concatenate((records, np.full(none.size, -1, dtype=np.int64)))


def best_of(links: dict[str, Links]) -> str:
    """The intruder who finds most; the first of equals."""
    return max(links, key=lambda name: links[name].credit.value)


def said(names: Iterable[str]) -> dict[str, Any]:
    """Which intruders were the best, for the evidence; nothing where there was no choice."""
    which = "; ".join(dict.fromkeys(names))
    return {"intruder": which} if which else {}


class OpenFile:
    """The masked file, ready to be searched from any table that has the original's columns.

    x and y are the numbers of both files as they are compared: standardized, or as they are.
    """

    def __init__(self, pair: Pair, columns: Columns, x: np.ndarray, y: np.ndarray) -> None:
        self.pair, self.columns = pair, columns
        self.classes = class_of(pair, columns)
        openness = Openness.of(pair, columns, x, y)
        first = self.classes.first
        self.left, self.price = openness.left[first], openness.price[first]
        hidden = hidden_cells(pair.masked, columns.numbers)
        # Infinite is how the kernel is told that a cell is near to everything.
        self._y = np.where(hidden, np.inf, y)[first]

    def link(
        self,
        table: Table,
        rows: np.ndarray,
        x: np.ndarray,
        own: np.ndarray,
        theirs: OwnRecords | None = None,
    ) -> dict[str, Links]:
        """What each intruder finds for some rows of a table with the numbers x, whose own masked
        records are these, or all of `theirs`."""
        asking, records = asked(rows, own, theirs)
        found = self._found(table, rows[asking], x[asking], records)
        fits = found[SPECIFIC].own <= _FITS
        fits |= self._fits_at_the_end(table, rows[asking], records, ~fits)
        found[WITHIN] = self._within(asking, records, own, fits, found[SPECIFIC])
        if theirs is None:
            return found
        return {
            name: one if name == WITHIN else Links.by_person(one, asking, rows.size)
            for name, one in found.items()
        }

    def _fits_at_the_end(
        self, table: Table, rows: np.ndarray, records: np.ndarray, missed: np.ndarray
    ) -> np.ndarray:
        """Whose own record fits once values beyond the published ends stand there: whoever sees
        that ages end at 90 knows how they were coded."""
        fits = np.zeros(rows.size, dtype=bool)
        some = np.flatnonzero(missed & (records >= 0))
        if not some.size or self.columns.sets:
            return fits
        known = table.take(rows[some])
        coded = at_published_ends(known, self.pair.masked)
        moved = [
            ~known[name].eq_missing(coded[name]).to_numpy()
            for name in (*self.columns.labels, *self.columns.numbers)
        ]
        beyond = np.flatnonzero(np.any(moved, axis=0)) if moved else np.zeros(0, dtype=np.int64)
        if not beyond.size:
            return fits
        fitting = self._fitting(self._grid(coded), coded, beyond)
        own = self.classes.labels[records[some[beyond]]]
        found = cover_nearest(
            fitting.queries,
            fitting.published._replace(price=self.left),
            own,
            tolerance=TOLERANCE,
            within=_FITS,
        )
        fits[some[beyond]] = found.own <= _FITS
        return fits

    def _within(
        self,
        asking: np.ndarray,
        records: np.ndarray,
        own: np.ndarray,
        fits: np.ndarray,
        by: Links,
    ) -> Links:
        """A random record of one's class, for those whose own record fits."""
        labels = self.classes.labels
        mine = fits & (records >= 0) & (records == own[asking])
        known = np.bincount(asking[mine], minlength=own.size) > 0
        same = known[asking] & (records >= 0) & (labels[records] == labels[own[asking]])
        tied = np.bincount(asking[same], minlength=own.size)
        ties = np.where(own >= 0, self.classes.sizes[labels[own]], 1)
        distance = np.full(own.size, np.inf)
        np.minimum.at(distance, asking, by.distance)
        nearest_own = np.full(own.size, np.inf)
        np.minimum.at(nearest_own, asking, by.own)
        return Links(distance, ties, tied, nearest_own)

    def _found(
        self, table: Table, rows: np.ndarray, x: np.ndarray, records: np.ndarray
    ) -> dict[str, Links]:
        own = np.where(records >= 0, self.classes.labels[records], -1)
        if self.columns.sets:
            near, fit = nearest_sets(self.compared(table, rows, x), own, tolerance=TOLERANCE)
            return {SPECIFIC: _either(fit, near), NEAREST: _links(near)}
        grid = self._grid(table)
        first, sizes = self.classes.first, self.classes.sizes
        published = grid.published(first, sizes, self._y, self.price)
        queries = grid.queries(rows, x)
        fitting = self._fitting(grid, table, rows)
        fit = cover_nearest(
            fitting.queries,
            fitting.published._replace(price=self.left),
            own,
            tolerance=TOLERANCE,
            within=_FITS,
        )
        # Where every own record fits, values were left as they were: the nearest is of no use.
        changed = bool(((own >= 0) & (fit.own > _FITS)).any()) or not (own >= 0).any()
        some = np.arange(rows.size) if changed else np.flatnonzero(fit.ties == 0)
        part = Queries(queries.runs[some], queries.sets[some], queries.numbers[some])
        near = _spread(cover_nearest(part, published, own[some], tolerance=TOLERANCE), some, own)
        found = {SPECIFIC: _either(fit, near)}
        return found | {NEAREST: _links(near)} if changed else found

    def compared(self, table: Table, rows: np.ndarray, x: np.ndarray) -> Compared:
        """Some rows of a table, each to be compared with every class."""
        grid, first = self._grid(table), self.classes.first
        sides = [set_side(self.pair, name, table, rows, first) for name in self.columns.sets]
        queries = grid.queries(rows, x)
        published = grid.published(first, self.classes.sizes, self._y, self.price)
        return Compared(sides, queries, published, self._fitting(grid, table, rows))

    def _grid(self, table: Table) -> Grid:
        names = [*self.columns.labels, *self.columns.categories]
        return build(self.pair.original, table, self.pair.masked, names)

    def _fitting(self, grid: Grid, table: Table, rows: np.ndarray) -> Fitting:
        """The same columns, where a number fits if it is the same number, in whatever unit."""
        for name in self.columns.numbers:
            known, shown = (
                pl.Series(numbers_of(side, [name], self.pair)[:, 0], nan_to_null=True)
                for side in (table, self.pair.masked)
            )
            grid.add_equal(known, shown, self.pair.masked.suppressed(name))
        first, sizes = self.classes.first, self.classes.sizes
        return Fitting(grid.queries(rows), grid.published(first, sizes), self.left)


def class_of(pair: Pair, columns: Columns) -> Classes:
    """The masked records that look alike in the columns."""
    names = [name for some in columns for name in some]
    return equivalence_classes(pair.masked, names)


def _links(found: Found) -> Links:
    return Links(*found)


def _either(fit: Found, near: Found) -> Links:
    """The records that fit; the nearest where none does, and further away than any of them."""
    none = fit.ties == 0
    distance = np.where(none, 1.0 + near.distance, fit.distance)
    own = np.where(fit.own <= _FITS, fit.own, 1.0 + near.own)
    ties = np.where(none, near.ties, fit.ties)
    return Links(distance, ties, np.where(none, near.own_tied, fit.own_tied), own)


def _spread(found: Found, some: np.ndarray, own: np.ndarray) -> Found:
    """What was found for some of the queries, among all of them."""
    n = own.size
    whole = Found(np.full(n, np.inf), np.zeros(n, np.int64), np.zeros(n, bool), np.full(n, np.inf))
    for part, one in zip(whole, found, strict=True):
        part[some] = one
    return whole
