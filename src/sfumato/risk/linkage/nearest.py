"""Distance-based record linkage: how often the nearest masked record is a record's own.

The intruder holds the original values of the quasi-identifiers and looks for each record in the
masked file. Ties are what protects a record in a k-anonymous release, so they are counted exactly:
a record whose own is among t nearest ones is found with probability 1/t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...criteria.classes import Classes, equivalence_classes, first_equal
from ...data.generalized.label_places import has_labels
from ...data.linkage.linked import (
    TOLERANCE,
    Categories,
    Credit,
    at_least_as_close,
    facts_of,
    moments_of,
    own_rows,
)
from ...data.linkage.linking import (
    Sample,
    columns_to_link_by,
    drawn,
    has_numbers,
    numbers_of,
    require_reference,
)
from ...data.pair import Pair
from ...data.people.repeated import OwnRecords, own_records
from ...data.table import Table
from ...kernels.coverage.linkage import cover_nearest
from ...kernels.coverage.set_linkage import nearest_sets
from ...kernels.neighbours.linkage import nearest
from ...protocols import Context, Measurement
from .base import LinkageMeasure
from .covering import build, links_sets, most_queries, set_side
from .distances import distances

_PAIRS = 5_000_000
"""Records that are compared with all of their person's, in all."""


class RecordLinkage(LinkageMeasure):
    """Share of originals whose nearest masked record is their own, or the same person's.

    Distances add up over the columns: squared differences of standardized numbers (dates and
    ordinal columns among them), 1 for categories that differ, 1 for a label that does not cover the
    value, 1 for a value beside a missing one. Two sets are as far apart as the share of what either
    holds that only one does, by utility, so that the largest part of a set is the nearest; every
    such record is compared with all published ones, hence fewer records are drawn. Two missing
    values are equal, and a suppressed cell covers everything. A record whose own is among t equally
    near ones counts 1/t; the interval runs from losing every tie to winning every tie. A record
    that was not released is not found. The baseline is a guess at random.

    Where an identifier repeats, people have several records: then any masked record of the same
    person is a success, and of t equally near ones the share that are theirs counts.

    With a reference table, `detail["non_participants"]` is a control: how often a stranger's
    nearest masked record is at least as close as a participant's own, for a stranger and a
    participant drawn at random. Near 0 the true links stand out, near 1/2 and above a close link
    proves nothing.
    """

    name: ClassVar[str] = "record-linkage"
    paper: ClassVar[str] = (
        "Pagliuca & Seri (1999), Some results of individual ranking method on the system of "
        "enterprise accounts annual survey; Domingo-Ferrer & Torra (2001), A quantitative "
        "comparison of disclosure control methods for microdata"
    )
    usual: ClassVar[bool] = True

    standardize: Literal["own", "original"] = Field(
        "own", description="each file by its own means and deviations, or both by the original's"
    )
    sample: Sample = 50_000

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        own = own_rows(pair, self.name)
        names, left_out = columns_to_link_by(pair, self.columns)
        files = _Files(pair, names, self.standardize)
        theirs = own_records(pair)
        rows = drawn(own.size, _most(files, self.sample, theirs), context.rng)
        found = files.link(pair.original, rows, own[rows], theirs)
        credit = Credit.of(found.own_tied, found.ties)
        alone, won = credit.interval(sampled=False)
        detail: dict[str, Any] = {
            **files.facts(),
            **facts_of(pair, own, left_out),
            "standardize": self.standardize,
            "linked_alone": alone,
            "linked_with_ties": won,
        }
        if (reference := context.reference) is not None:
            require_reference(reference)
            others = drawn(reference.height, files.most(self.sample), context.rng)
            nobody = np.full(others.size, -1, dtype=np.int64)
            nearest_to = files.link(reference, others, nobody).distance
            detail["non_participants"] = {
                "records": int(others.size),
                "at_least_as_close": at_least_as_close(nearest_to, found.own),
            }
        interval = credit.interval(rows.size < own.size)
        more: dict[str, Any] = {}
        if theirs is not None:
            detail["people"] = f"any record of the same person is a success, by `{theirs.key}`"
            more["baseline"] = float(theirs.many.mean() / pair.masked.height)
        return self.linked(context, own, rows, credit.records, interval, detail, **more)


def _most(files: _Files, sample: int, theirs: OwnRecords | None) -> int:
    """How many records to link; 0 is all. Each is compared with all records of its person."""
    most = files.most(sample)
    if theirs is None:
        return most
    each = max(float(theirs.many.mean()), 1.0)
    # Sets are searched anew for each.
    few = max(1, int((most if files.sets else _PAIRS) / each))
    return min(most, few) if most else few


@dataclass(frozen=True, eq=False)
class _Links:
    distance: np.ndarray
    ties: np.ndarray
    own_tied: np.ndarray
    """Whether one's own record is among them; of people with several, how many of theirs are."""
    own: np.ndarray
    """The distance to one's own nearest masked record; infinite where there is none."""


class _Files:
    """The masked file, ready to be searched from any table that has the original's columns."""

    def __init__(self, pair: Pair, names: Sequence[str], standardize: str) -> None:
        self.pair = pair
        before, after = pair.original.schema, pair.masked.schema
        self.labels = [
            name for name in names if has_labels(before[name], after[name], pair.masked[name])
        ]
        self.sets = [name for name in names if links_sets(pair, name)]
        rest = [name for name in names if name not in self.labels and name not in self.sets]
        self.numbers = [name for name in rest if has_numbers(pair, name)]
        self.categories = [name for name in rest if name not in self.numbers]
        self.classes = equivalence_classes(pair.masked, names) if self.sets else None
        original, masked = self._raw(pair.original), self._raw(pair.masked)
        self._centre, self._scale = moments_of(original)
        own = (self._centre, self._scale) if standardize == "original" else moments_of(masked)
        self._masked = (masked - own[0]) / own[1]
        marks = {name: pair.masked.suppressed(name) for name in names if name not in self.labels}
        self._hidden = any(mask.any() for mask in marks.values())
        for j, name in enumerate(self.numbers):
            # Infinite is how the kernel is told that a cell covers everything.
            self._masked[marks[name], j] = np.inf

    def facts(self) -> dict[str, Any]:
        named = {
            "numbers": self.numbers,
            "categories": self.categories,
            "labels": self.labels,
            "sets": self.sets,
        }
        return {"columns": {how: names for how, names in named.items() if names}}

    def most(self, sample: int) -> int:
        """How many records to link; 0 is all. Sets take longer than anything else."""
        if self.classes is None:
            return sample
        most = most_queries(len(self.classes))
        return min(sample, most) if sample else most

    def _raw(self, table: Table) -> np.ndarray:
        return numbers_of(table, self.numbers, self.pair)

    def link(
        self, table: Table, rows: np.ndarray, own: np.ndarray, theirs: OwnRecords | None = None
    ) -> _Links:
        """The nearest masked records of some rows of a table, whose own masked records are these,
        or all of `theirs`."""
        if theirs is None:
            return self._link(table, rows, own)
        # Once for each record of the person, and once for those who have none.
        asking, records = theirs.pairs(rows)
        none = np.flatnonzero(theirs.many[rows] == 0)
        asking = np.concatenate((asking, none))
        records = np.concatenate((records, np.full(none.size, -1, dtype=np.int64)))
        each = self._link(table, rows[asking], records)
        last = np.zeros(rows.size, dtype=np.int64)
        last[asking] = np.arange(asking.size)
        nearest_own = np.full(rows.size, np.inf)
        np.minimum.at(nearest_own, asking, each.own)
        tied = np.bincount(asking, weights=each.own_tied, minlength=rows.size).astype(np.int64)
        return _Links(each.distance[last], each.ties[last], tied, nearest_own)

    def _link(self, table: Table, rows: np.ndarray, own: np.ndarray) -> _Links:
        require_reference(table, (*self.numbers, *self.categories, *self.labels, *self.sets))
        x = ((self._raw(table) - self._centre) / self._scale)[rows]
        if self.classes is not None:
            return self._by_sets(self.classes, table, rows, own, x)
        if self.labels or self._hidden:
            return self._by_cover(table, rows, own, x)
        codes = Categories(self.pair, tuple(self.categories))
        mine, theirs = codes.of(table)[rows], codes.masked
        found = nearest(x, self._masked, own=own, codes_a=mine, codes_b=theirs, tolerance=TOLERANCE)
        to_own = np.full(rows.size, np.inf)
        has = own >= 0
        to_own[has] = distances(x[has], self._masked[own[has]], mine[has], theirs[own[has]])
        return _Links(found.distance, found.ties, found.own_tied, to_own)

    def _by_cover(self, table: Table, rows: np.ndarray, own: np.ndarray, x: np.ndarray) -> _Links:
        masked = self.pair.masked
        grid = build(self.pair.original, table, masked, [*self.labels, *self.categories])
        # Published records that are alike are searched once and counted with their copies.
        parts = [*grid.low, *grid.high, *grid.labels, *self._masked.T]
        alike = pl.DataFrame([pl.Series(str(j), part) for j, part in enumerate(parts)])
        first, member, copies = np.unique(
            first_equal(alike), return_inverse=True, return_counts=True
        )
        member = member.reshape(-1)
        all_x = np.full((table.height, x.shape[1]), np.nan)
        all_x[rows] = x
        found = cover_nearest(
            grid.queries(rows, all_x),
            grid.published(first, self._masked, copies),
            np.where(own >= 0, member[own], -1),
            tolerance=TOLERANCE,
        )
        return _Links(found.distance, found.ties, found.own_tied, found.own)

    def _by_sets(
        self, classes: Classes, table: Table, rows: np.ndarray, own: np.ndarray, x: np.ndarray
    ) -> _Links:
        grid = build(self.pair.original, table, self.pair.masked, [*self.labels, *self.categories])
        all_x = np.full((table.height, x.shape[1]), np.nan)
        all_x[rows] = x
        found = nearest_sets(
            [set_side(self.pair, name, table, rows, classes.first) for name in self.sets],
            grid.queries(rows, all_x),
            grid.published(classes.first, self._masked, classes.sizes),
            np.where(own >= 0, classes.labels[own], -1),
            tolerance=TOLERANCE,
        )
        return _Links(found.distance, found.ties, found.own_tied, found.own)
