"""The cells of published tables beside the people and the released records that lie in them.

Cells are written in the labels of their columns; a column that a table does not have, or in which a
cell shows "*", is a total. All tables are one system: a cell is the sum of those into which other
labels divide it, and what the largest label inside another leaves of that is a cell, too.
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
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.pair import suppressed
from ...data.schema import SUPPRESSED, Schema
from ...data.table import Table
from ...kernels.tables.bounds import ROUNDS, narrowed
from ..field import Field
from .tables import Published

TOTAL = 0
"""The place of the label that covers everything."""
_PLACES = 2_000
"""Labels of a column that are compared with one another at most."""
_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Places:
    """One column of people, records and tables in the same codes: 0 is missing, 1.. the values."""

    people: np.ndarray
    """int64: the codes of people inside, then outside"""
    records: np.ndarray
    """int64: the place of each released cell"""
    single: np.ndarray
    """bool (places of records,): whether a cell shows one value, or that there is none"""
    within: Any
    """CSR (places of records, labels): which labels hold all that a cell may be"""
    same: np.ndarray
    """int64 (places of records,): the label that says the same, else `TOTAL`"""
    labels: tuple[str, ...]
    """`TOTAL`, missing, those of the tables, those of the release; behind them, as many that stand
    for what is left of each"""
    usable: np.ndarray
    """bool (labels,): whether cells can be told: tables have it, or labels into which it divides"""
    covers: Any
    """CSR (labels, codes)"""
    parts: dict[int, list[int]]
    """the labels into which others divide one"""
    rests: dict[int, int]
    """of each label that is not divided, the largest one inside"""

    @classmethod
    def of(cls, field: Field, name: str, labels: Sequence[str]) -> Places:
        """A column that tables show with some labels."""
        original, masked = field.pair.original, field.pair.masked
        column, dtype = original.schema[name], original[name].dtype
        series = masked[name] if name in masked.schema else None
        exact = series is not None and not has_labels(column, masked.schema[name], series)
        people = pl.concat(
            [original[name].gather(field.inside), _cast(field.others[name], dtype, field.outside)]
        )
        listed = [people, original[name].unique()]
        if series is not None and exact:
            listed.append(_cast(series, dtype))
        whole = pl.concat([one.alias(name) for one in listed])
        reader = Labels(Table(whole.to_frame(), Schema([column])), name)
        codes, width = reader.codes.astype(np.int64), len(reader.domain) + 1
        texts, place = list[str](), np.zeros(masked.height, np.int64)
        if series is not None and not exact:
            texts, place = distinct_labels(series)
        named = [SUPPRESSED, "", *(x for x in dict.fromkeys(labels) if x not in ("", SUPPRESSED))]
        tabled = len(named)
        known = set(named)
        named += [x for x in texts if x not in known]
        nothing = _listed([np.zeros(1, np.int64)], width)
        read = _sets(reader, [SUPPRESSED, *named[2:]], width)
        covers = sparse.vstack([read[:1], nothing, read[1:]], format="csr")
        data = np.unique(codes[len(people) : len(people) + len(listed[1])])
        parts, rests = _nested(covers[:, data], tabled)
        covers = sparse.vstack([covers, _left(covers, rests)], format="csr")
        number = {label: i for i, label in enumerate(named)}
        if exact:
            own = sparse.identity(width, dtype=np.int64, format="csr")
            records = codes[len(whole) - masked.height :].copy()
            same = np.zeros(width, dtype=np.int64)
        else:
            own = sparse.vstack([_sets(reader, texts, width), nothing], format="csr")
            records = np.where(place < 0, len(texts), place)
            same = np.array([*(number[x] for x in texts), 1], dtype=np.int64)
            # A label that tables do not divide has no cells.
            same[[p >= tabled and p not in parts for p in same.tolist()]] = TOTAL
        hidden = np.ones(masked.height, bool) if series is None else suppressed(field.pair, name)
        records[hidden] = own.shape[0]
        single = np.append(np.diff(own.indptr) == 1, False)
        own = sparse.vstack([own, covers[TOTAL]], format="csr")
        within = _within(own, covers)
        if exact:
            # The last of the labels that say the same.
            at = within[:, :tabled].tocoo()
            alone = np.diff(covers.indptr)[at.col] == 1
            same[at.row[alone]] = at.col[alone]
        same = np.append(same, TOTAL)
        usable = np.array([p < tabled or p in parts for p in range(len(named))])
        return cls(
            codes[: len(people)], records, single, within, same, tuple(named), usable, covers,
            parts, rests,
        )  # fmt: skip

    @property
    def specific(self) -> np.ndarray:
        """bool (places of records,): whether a label that is no total holds all of a cell."""
        told = np.flatnonzero(self.usable)
        own = self.within[:, told[told != TOTAL]]
        return np.asarray(own.sum(axis=1)).ravel() > 0

    @cached_property
    def pieces(self) -> Any:
        """CSR (labels, labels): those into which each divides, and itself."""
        found = [np.array([p, *self.parts.get(p, ())]) for p in range(len(self.labels))]
        # What a table has by itself is not added up.
        found[TOTAL] = found[TOTAL][:1]
        return _listed(found, self.covers.shape[0])


def _cast(series: pl.Series, dtype: Any, rows: np.ndarray | None = None) -> pl.Series:
    return (series if rows is None else series.gather(rows)).cast(dtype, strict=False)


def _sets(reader: Labels, labels: Sequence[str], width: int) -> Any:
    """CSR (labels, codes)."""
    covered = reader.coverage(reader.domain, labels)
    code = np.zeros(width, dtype=np.int64)
    code[covered.ranks] = np.arange(1, width)
    return _listed([code[covered.of(i)] for i in range(len(labels))], width)


def _listed(parts: Sequence[np.ndarray], width: int) -> Any:
    starts = np.cumsum([0] + [part.size for part in parts])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    shape = (len(parts), width)
    return sparse.csr_matrix((np.ones(columns.size, np.int64), columns, starts), shape=shape)


def _within(own: Any, covers: Any) -> Any:
    """CSR: which sets of one kind lie within which of the other."""
    shared = (own @ covers.T).tocoo()
    kept = shared.data == np.diff(own.indptr)[shared.row]
    ones = np.ones(int(kept.sum()), dtype=np.int64)
    return sparse.csr_matrix((ones, (shared.row[kept], shared.col[kept])), shape=shared.shape)


def _nested(covers: Any, tabled: int) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Into which labels of tables, which come first, each label divides, and of those of tables
    that do not divide the largest label inside."""
    parts: dict[int, list[int]] = {}
    rests: dict[int, int] = {}
    if covers.shape[0] > _PLACES:
        return parts, rests
    shared = (covers @ covers.T).toarray()
    size = np.diagonal(shared)
    inside = (shared == size[:, None]) & (size[:, None] < size[None, :]) & (size[:, None] > 0)
    # Of several names of one set, the first.
    inside[np.tril((shared == size[:, None]) & (shared == size[None, :]), -1).any(axis=1)] = False
    for p in range(size.size):
        below = np.flatnonzero(inside[:tabled, p])
        largest = below[~inside[np.ix_(below, below)].any(axis=1)]
        apart = shared[np.ix_(largest, largest)].sum() == size[largest].sum()
        if largest.size and apart and size[largest].sum() == size[p]:
            parts[p] = largest.tolist()
        elif largest.size and p < tabled:
            rests[p] = int(largest[np.argmax(size[largest])])
    return parts, rests


def _left(covers: Any, rests: dict[int, int]) -> Any:
    """CSR: what is left of each label."""
    listed = [np.zeros(0, dtype=np.int64)] * covers.shape[0]
    for p, q in rests.items():
        listed[p] = np.setdiff1d(covers[p].indices, covers[q].indices)
    return _listed(listed, covers.shape[1])


class Cells(NamedTuple):
    """Cells of one figure."""

    places: np.ndarray
    """int64 (cells, columns)"""
    low: np.ndarray
    high: np.ndarray
    """what each is at least and at most"""


@dataclass(frozen=True, eq=False)
class System:
    """All tables of some people."""

    field: Field
    tables: tuple[Published, ...]

    @cached_property
    def names(self) -> list[str]:
        """The columns of all tables."""
        return list(dict.fromkeys(name for one in self.tables for name in one.by))

    @cached_property
    def columns(self) -> list[Places]:
        """What people, records and tables show in them."""
        return [
            Places.of(self.field, n, [x for one in self.tables for x in one.by.get(n, ())])
            for n in self.names
        ]

    def cells(self, of: str) -> Cells:
        """The cells of counts, or of the sums of a column, each with what the others leave it."""
        tables = [one for one in self.tables if one.of == of]
        listed = [np.zeros((0, len(self.names)), dtype=np.int64)]
        for one in tables:
            at = np.full((one.low.size, len(self.names)), TOTAL, dtype=np.int64)
            for j, (name, column) in enumerate(zip(self.names, self.columns, strict=True)):
                if name in one.by:
                    number = {label: i for i, label in enumerate(column.labels)}
                    at[:, j] = [number[label] for label in one.by[name]]
            listed.append(at)
        places, cell = np.unique(np.concatenate(listed), axis=0, return_inverse=True)
        cell = cell.reshape(-1)
        low, high = np.full(len(places), -np.inf), np.full(len(places), np.inf)
        np.maximum.at(low, cell, np.concatenate([np.zeros(0), *(one.low for one in tables)]))
        np.minimum.at(high, cell, np.concatenate([np.zeros(0), *(one.high for one in tables)]))
        high = np.maximum(low, high)
        if not of:
            # A hidden count is not below what the release shows.
            low = np.where(
                low < high, np.minimum(np.maximum(low, self.shown(places)[0]), high), low
            )
        starts, relations = self._relations(places)
        narrowed(starts, relations, low, high, ROUNDS)
        if not of:
            low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
        found = self._with_rests(Cells(places, low, high), counts=not of)
        return self._with_labels(found)

    def _relations(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each cell that others divide, and these; those that no table lists are empty."""
        number = {tuple(row): i for i, row in enumerate(places.tolist())}
        starts, members = [0], []
        for row, cell in number.items():
            for j, column in enumerate(self.columns):
                asked = [(*row[:j], q, *row[j + 1 :]) for q in column.parts.get(row[j], ())]
                found = [number[one] for one in asked if one in number]
                if found:
                    members += [cell, *found]
                    starts.append(len(members))
        return np.array(starts, dtype=np.int64), np.array(members, dtype=np.int64)

    def _with_rests(self, cells: Cells, counts: bool) -> Cells:
        """With what is left of cells of which a part is known."""
        number = {tuple(row): i for i, row in enumerate(cells.places.tolist())}
        rows, low, high = [], [], []
        for row, cell in number.items():
            for j, column in enumerate(self.columns):
                inner = column.rests.get(row[j])
                part = None if inner is None else number.get((*row[:j], inner, *row[j + 1 :]))
                if part is not None:
                    rows.append((*row[:j], row[j] + len(column.labels), *row[j + 1 :]))
                    low.append(cells.low[cell] - cells.high[part])
                    high.append(cells.high[cell] - cells.low[part])
        if not rows:
            return cells
        least = 0.0 if counts else -np.inf
        return Cells(
            np.concatenate((cells.places, np.array(rows, dtype=np.int64))),
            np.concatenate((cells.low, np.maximum(low, least))),
            np.concatenate((cells.high, np.maximum(high, least))),
        )

    def _with_labels(self, cells: Cells) -> Cells:
        """With the cells in the release's own labels that divide into cells of the tables: their
        sums."""
        known = self.known
        if not known:
            return cells
        same = np.column_stack([self.columns[j].same[self._records[:, j]] for j in known])
        rows = np.unique(same, axis=0)
        groups, group = np.unique(cells.places[:, known], axis=0, return_inverse=True)
        group = group.reshape(-1)
        there = {tuple(row) for row in groups.tolist()}
        rows = rows[[tuple(row) not in there for row in rows.tolist()]]
        row, piece = located([self.columns[j].pieces for j in known], rows, groups)
        # Every cell of every group that is a piece.
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(groups) + 1))
        again, at = spans(starts[piece], starts[piece + 1])
        cell = order[at]
        made = cells.places[cell].copy()
        made[:, known] = rows[row[again]]
        made, at = np.unique(made, axis=0, return_inverse=True)
        sums = [np.bincount(at.reshape(-1), part[cell], len(made)) for part in cells[1:]]
        return Cells(*(np.concatenate(both) for both in zip(cells, (made, *sums), strict=True)))

    @cached_property
    def known(self) -> list[int]:
        """The columns that are known of people."""
        field = self.field
        names = [field.names[j] for j in field.known if j not in field.secret]
        return [j for j, name in enumerate(self.names) if name in names]

    @cached_property
    def _records(self) -> np.ndarray:
        return np.column_stack([one.records for one in self.columns])

    def shown(
        self, places: np.ndarray, of: str = "", column: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each cell, how many released records lie in it for certain, of how many of these a
        number is shown, and its sum; of one of the columns, for how many a single value is."""
        frame = pl.DataFrame(self._records, schema=[str(j) for j in range(len(self.columns))])
        x = np.zeros(frame.height) if not of else numbers_of(self.field, of)
        told = np.isfinite(x)
        if column is not None:
            told &= self.columns[column].single[self._records[:, column]]
        made = frame.with_columns(told=told, x=np.where(told, x, 0.0))
        counted = made.group_by(frame.columns, maintain_order=True).agg(
            pl.len().alias("many"), pl.col("told").sum(), pl.col("x").sum()
        )
        lists = [one.within for one in self.columns]
        rows, cell = located(lists, counted.select(frame.columns).to_numpy(), places)
        many, number, total = (
            np.bincount(cell, counted[key].to_numpy()[rows].astype(np.float64), len(places))
            for key in ("many", "told", "x")
        )
        return many, number, total

    def around(self, cells: np.ndarray, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a person and one of these cells of some columns that they lie in, by person."""
        lists = [self.columns[j].covers.T.tocsr() for j in columns]
        people = np.column_stack([self.columns[j].people for j in columns])
        return located(lists, people, cells)


def numbers_of(field: Field, name: str) -> np.ndarray:
    """float64: the numbers that a release shows in a column, NaN where it shows none."""
    masked = field.pair.masked
    if name not in masked.schema or has_labels(
        field.pair.original.schema[name], masked.schema[name], masked[name]
    ):
        return np.full(masked.height, np.nan)
    x = floats(masked[name], masked.schema[name]) + 0.0
    x[suppressed(field.pair, name)] = np.nan
    return x


def located(
    lists: Sequence[Any], rows: np.ndarray, cells: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a row and a cell of which the row's place in every column is listed with the
    cell's, by row; cells are distinct."""
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    levels = []
    node = np.zeros(len(cells), dtype=np.int64)
    for j, one in enumerate(lists):
        known, node = np.unique(node * one.shape[1] + cells[:, j], return_inverse=True)
        levels.append(known)
    cell_of = np.empty(len(cells), dtype=np.int64)
    cell_of[node] = np.arange(len(cells))
    for start in range(0, len(rows) if len(cells) else 0, _ROWS):
        part = rows[start : start + _ROWS]
        at, node = np.arange(len(part)), np.zeros(len(part), dtype=np.int64)
        for j, (one, known) in enumerate(zip(lists, levels, strict=True)):
            own = part[at, j]
            again, entry = spans(one.indptr[own], one.indptr[own + 1])
            key = node[again] * one.shape[1] + one.indices[entry]
            place = np.minimum(np.searchsorted(known, key), known.size - 1)
            kept = known[place] == key
            at, node = at[again[kept]], place[kept]
        order = np.argsort(at, kind="stable")
        found.append((start + at[order], cell_of[node[order]]))
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def spans(first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of several ranges, one after the other: which each entry is of, and the entry.

    >>> [part.tolist() for part in spans(np.array([5, 0]), np.array([7, 1]))]
    [[0, 0, 1], [5, 6, 0]]
    """
    many = end - first
    again = np.repeat(np.arange(many.size), many)
    return again, np.arange(again.size) + np.repeat(first - np.cumsum(many) + many, many)
