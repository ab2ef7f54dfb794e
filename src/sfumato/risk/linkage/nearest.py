"""Distance-based record linkage: how often the nearest masked record is a record's own.

The intruder holds the original values of the quasi-identifiers and looks for each record in the
masked file. Ties are what protects a record in a k-anonymous release, so they are counted exactly:
a record whose own is among t nearest ones is found with probability 1/t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...criteria.classes import Classes
from ...data.linkage.linked import (
    TOLERANCE,
    Categories,
    at_least_as_close,
    facts_of,
    moments_of,
    own_rows,
)
from ...data.linkage.linking import (
    Sample,
    columns_to_link_by,
    drawn,
    numbers_of,
    require_reference,
)
from ...data.pair import Pair
from ...data.people.repeated import OwnRecords, own_records
from ...data.table import Table
from ...kernels.coverage.set_linkage import Compared, nearest_sets
from ...kernels.neighbours.linkage import nearest
from ...protocols import Context, Measurement
from .base import LinkageMeasure
from .covering import build, most_queries, set_side
from .distances import distances
from .open_file import PLAIN, Links, OpenFile, asked, best_of, class_of, said
from .openness import Columns

_PAIRS = 5_000_000
"""Records that are compared with all of their person's, in all."""


class RecordLinkage(LinkageMeasure):
    """Share of originals whose nearest masked record is their own, or the same person's.

    Distances add up over the columns: squared differences of standardized numbers (dates and
    ordinal columns among them), 1 for categories that differ, 1 for a label that does not cover the
    value, 1 for a value beside a missing one. Two sets are as far apart as the share of what either
    holds that only one does, by utility, so that the largest part of a set is the nearest; every
    such record is compared with all published ones, hence fewer records are drawn. Two missing
    values are equal. A record whose own is among t equally near ones counts 1/t; the interval runs
    from losing every tie to winning every tie. A record that was not released is not found. The
    baseline is a guess at random.

    Where cells were suppressed or hold labels, the figure is that of the best of three intruders,
    and `detail["intruder"]` says which. A record fits a person if each of its cells is equal to the
    person's value, covers it or was suppressed. The first takes of the records that fit the one
    that leaves least open (covers the fewest combinations of values), and the nearest where none
    fits. The second takes the nearest; a suppressed cell is then as far away as a random value is
    on average, and a label the share of that which it leaves open. The third picks at random within
    the class of those whose own record fits, so that no figure is below what classes imply.

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
        links = files.link(pair.original, rows, own[rows], theirs)
        intruder = best_of(links)
        found, credit = links[intruder], links[intruder].credit
        alone, won = credit.interval(sampled=False)
        detail: dict[str, Any] = {
            "columns": files.columns.facts(),
            **facts_of(pair, own, left_out),
            "standardize": self.standardize,
            "linked_alone": alone,
            "linked_with_ties": won,
            **said([intruder] if files.open else []),
        }
        if (reference := context.reference) is not None:
            require_reference(reference)
            others = drawn(reference.height, files.most(self.sample), context.rng)
            nobody = np.full(others.size, -1, dtype=np.int64)
            nearest_to = files.link(reference, others, nobody)[intruder].distance
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
    few = max(1, int((most if files.columns.sets else _PAIRS) / each))
    return min(most, few) if most else few


class _Files:
    """The masked file, ready to be searched from any table that has the original's columns."""

    def __init__(self, pair: Pair, names: Sequence[str], standardize: str) -> None:
        self.pair, self.names = pair, names
        self.columns = Columns.of(pair, names)
        original, masked = self._raw(pair.original), self._raw(pair.masked)
        self._centre, self._scale = moments_of(original)
        own = (self._centre, self._scale) if standardize == "original" else moments_of(masked)
        self._masked = (masked - own[0]) / own[1]
        self.open = (
            OpenFile(pair, self.columns, self._known(original), self._masked)
            if self.columns.open(pair)
            else None
        )
        self.classes = class_of(pair, self.columns) if self.columns.sets else None

    def most(self, sample: int) -> int:
        """How many records to link; 0 is all. Sets take longer than anything else."""
        if self.classes is None:
            return sample
        most = most_queries(len(self.classes))
        return min(sample, most) if sample else most

    def _raw(self, table: Table) -> np.ndarray:
        return numbers_of(table, self.columns.numbers, self.pair)

    def _known(self, x: np.ndarray) -> np.ndarray:
        return np.asarray((x - self._centre) / self._scale)

    def link(
        self, table: Table, rows: np.ndarray, own: np.ndarray, theirs: OwnRecords | None = None
    ) -> dict[str, Links]:
        """What intruders find for some rows of a table, whose own masked records are these, or all
        of `theirs`; there is one alone where no cell is open."""
        require_reference(table, self.names)
        x = self._known(self._raw(table))[rows]
        if self.open is not None:
            return self.open.link(table, rows, x, own, theirs)
        asking, records = asked(rows, own, theirs)
        each = self._nearest(table, rows[asking], x[asking], records)
        return {PLAIN: each if theirs is None else Links.by_person(each, asking, rows.size)}

    def _nearest(self, table: Table, rows: np.ndarray, x: np.ndarray, own: np.ndarray) -> Links:
        if self.classes is not None:
            return self._by_sets(self.classes, table, rows, x, own)
        codes = Categories(self.pair, tuple(self.columns.categories))
        mine, theirs = codes.of(table)[rows], codes.masked
        found = nearest(x, self._masked, own=own, codes_a=mine, codes_b=theirs, tolerance=TOLERANCE)
        to_own = np.full(rows.size, np.inf)
        has = own >= 0
        to_own[has] = distances(x[has], self._masked[own[has]], mine[has], theirs[own[has]])
        return Links(found.distance, found.ties, found.own_tied, to_own)

    def _by_sets(
        self, classes: Classes, table: Table, rows: np.ndarray, x: np.ndarray, own: np.ndarray
    ) -> Links:
        grid = build(self.pair.original, table, self.pair.masked, self.columns.categories)
        first = classes.first
        compared = Compared(
            [set_side(self.pair, name, table, rows, first) for name in self.columns.sets],
            grid.queries(rows, x),
            grid.published(first, classes.sizes, self._masked[first]),
        )
        found, _ = nearest_sets(
            compared, np.where(own >= 0, classes.labels[own], -1), tolerance=TOLERANCE
        )
        return Links(*found)
