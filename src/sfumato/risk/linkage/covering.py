"""Records of one table beside the labels and sets published for another, for the linkage kernels.

A published record covers a record if each of its labels covers the record's value. Columns that
were published as values cover themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.generalized.coverage import Coverage
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.linkage.linked import in_one_numbering
from ...data.linkage.linking import require_reference
from ...data.pair import Pair
from ...data.sets.items import item_utilities, places
from ...data.sets.table import SetTable
from ...data.table import Table
from ...kernels.coverage.blocks import Published, Queries
from ...kernels.coverage.set_linkage import SetSide
from ...kernels.sets.rows import weights_of

Blocks = list[np.ndarray]


@dataclass
class Grid:
    """Queries and published rows, column after column."""

    runs: Blocks = field(default_factory=list)
    low: Blocks = field(default_factory=list)
    high: Blocks = field(default_factory=list)
    sets: Blocks = field(default_factory=list)
    labels: Blocks = field(default_factory=list)
    bits: Blocks = field(default_factory=list)
    outside: dict[str, int] = field(default_factory=dict)
    """Values of the queries that no label but "*" can cover, by column."""

    def add_labels(self, original: Table, name: str, queries: Table, masked: Table) -> None:
        """A column of labels against a column of values."""
        reader = Labels.of(original, name)
        found = encode(queries[name])
        labels, place = distinct_labels(masked[name])
        covered = reader.coverage(found.domain, labels)
        rank = np.concatenate(([0], covered.ranks)).astype(np.int32)
        if covered.unknown:
            self.outside[name] = covered.unknown
        values = rank[found.codes]
        hidden = masked.suppressed(name) & (place < 0)
        if covered.starts is None:
            # One more label: missing, which covers missing; and "*" for cells suppressed to null.
            low = np.concatenate((covered.low, [0, 0]))
            high = np.concatenate((covered.high, [len(found.domain), 0]))
            at = np.where(hidden, len(labels), np.where(place < 0, len(labels) + 1, place))
            self.runs.append(values)
            self.low.append(low[at].astype(np.int32))
            self.high.append(high[at].astype(np.int32))
        else:
            at = np.where(hidden, len(labels), np.where(place < 0, len(labels) + 1, place))
            self.sets.append(values)
            self.labels.append(at.astype(np.int32))
            self.bits.append(_bits(covered, len(labels), len(found.domain)))

    def add_values(self, name: str, queries: Table, masked: Table) -> None:
        """A column of values against one of values: each covers itself, "suppressed" all."""
        self.add_equal(queries[name], masked[name], masked.suppressed(name))

    def add_equal(self, known: pl.Series, shown: pl.Series, hidden: np.ndarray) -> None:
        """The same for two columns and the cells of the second that were suppressed."""
        mine, theirs = in_one_numbering([known, shown])
        top = max(int(mine.max(initial=0)), int(theirs.max(initial=0)))
        self.runs.append(mine)
        self.low.append(np.where(hidden, 0, theirs).astype(np.int32))
        self.high.append(np.where(hidden, top, theirs).astype(np.int32))

    def queries(self, rows: np.ndarray, numbers: np.ndarray | None = None) -> Queries:
        """Some of the query records, with their numbers."""
        x = np.empty((rows.size, 0)) if numbers is None else numbers
        return Queries(_matrix(self.runs, rows), _matrix(self.sets, rows), x)

    def published(
        self,
        rows: np.ndarray,
        copies: np.ndarray,
        numbers: np.ndarray | None = None,
        price: np.ndarray | None = None,
    ) -> Published:
        """Some of the published records, with their copies, numbers and prices."""
        y = np.empty((rows.size, 0)) if numbers is None else numbers
        return Published(
            _matrix(self.low, rows),
            _matrix(self.high, rows),
            _matrix(self.labels, rows),
            y,
            copies,
            tuple(self.bits),
            price,
        )


def _matrix(parts: Blocks, rows: np.ndarray) -> np.ndarray:
    if not parts:
        return np.empty((rows.size, 0), dtype=np.int32)
    return np.column_stack([part[rows] for part in parts]).astype(np.int32, copy=False)


def _bits(covered: Coverage, labels: int, values: int) -> np.ndarray:
    """A row of bits for each label; then one for "anything" and one for "missing"."""
    words = values // 64 + 1
    table = np.zeros((labels + 2, words), dtype=np.uint64)
    if covered.starts is not None and covered.members is not None:
        ranks, label = covered.members, np.repeat(np.arange(labels), np.diff(covered.starts))
        bits = np.uint64(1) << (ranks & 63).astype(np.uint64)
        np.bitwise_or.at(table, (label, ranks >> 6), bits)
    table[labels] = ~np.uint64(0)
    table[labels + 1, 0] = 1
    return table


def build(original: Table, queries: Table, masked: Table, columns: Sequence[str]) -> Grid:
    """The masked table's columns, as labels or as values, against those of the queries."""
    require_reference(queries, columns)
    grid = Grid()
    for name in columns:
        if has_labels(original.schema[name], masked.schema[name], masked[name]):
            grid.add_labels(original, name, queries, masked)
        else:
            grid.add_values(name, queries, masked)
    return grid


_COMPARISONS = 60_000_000
"""Pairs of a record and a distinct published one that are looked at, a second's work."""
_FEWEST = 300


def most_queries(published: int) -> int:
    """How many records are linked by their sets: every one is compared with all published ones."""
    return max(_COMPARISONS // max(published, 1), _FEWEST)


def set_side(pair: Pair, name: str, table: Table, rows: np.ndarray, first: np.ndarray) -> SetSide:
    """The sets of some rows of a table, and those of the distinct published records."""
    known = SetTable.from_column(table[name].gather(rows))
    shown = SetTable.from_column(pair.masked[name].gather(first))
    column = pair.original.schema[name]
    worth = item_utilities(column, known.names)
    item = places(known.names, shown.names)[shown.items]
    holder = np.repeat(np.arange(len(shown)), shown.sizes)
    order = np.argsort(item, kind="stable")
    at = np.searchsorted(item[order], np.arange(len(known.names) + 1)).astype(np.int64)
    return SetSide(
        known.starts,
        known.items,
        known.missing,
        worth,
        weights_of(known.starts, known.items, worth),
        at,
        holder[order],
        weights_of(shown.starts, shown.items, item_utilities(column, shown.names)),
        shown.missing,
        pair.masked.suppressed(name)[first],
    )
