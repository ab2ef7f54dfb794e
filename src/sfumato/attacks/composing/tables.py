"""Published tables of counts and sums, and what their totals tell of the cells that they hide.

Cells are written in the labels of their columns; a column that a table does not have, or in which a
cell shows "*", is a total. All tables of the same figure are one system: a cell is the sum of those
into which another label divides it, and what a label leaves of the next larger one is a cell, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.generalized.plain_labels import plain_ranges
from ...data.io import read_with_notes
from ...data.pair import suppressed
from ...data.schema import SUPPRESSED, Schema
from ...data.table import Table, as_frame
from ...errors import MeasureError
from ...kernels.tables.bounds import ROUNDS, narrowed
from ...poset.values.scale import NumberScale
from ..field import Field

KEYS = ("path", "cells", "by", "value", "of")
COUNT = "count"
_PLACES = 2_000
"""Labels of a column that are compared with one another."""
_ROWS = 100_000


def plain_table(given: Any) -> dict[str, Any]:
    """A table as a plan file can hold it; raises ValueError where it is none."""
    if not isinstance(given, Mapping):
        given = {"cells": given}
    words = {str(key): value for key, value in given.items()}
    if unknown := sorted(set(words) - set(KEYS)):
        raise ValueError(f"a table takes {', '.join(KEYS)}, and no {unknown[0]}")
    if ("path" in words) == ("cells" in words):
        raise ValueError("a table is either a path or cells: { sex = [...], count = [...] }")
    if "path" in words:
        words["path"] = str(words["path"])
    else:
        cells = words["cells"]
        if not isinstance(cells, Mapping):
            cells = as_frame(cells)[0].to_dict(as_series=False)
        lists = {str(key): np.asarray(cells[key], dtype=object).tolist() for key in cells}
        if len({len(one) if isinstance(one, list) else -1 for one in lists.values()}) != 1:
            raise ValueError("the columns of `cells` are lists of the same length")
        # TOML has no nothing: what is hidden is a star.
        words["cells"] = {k: [SUPPRESSED if x is None else x for x in v] for k, v in lists.items()}
    if isinstance(words.get("by"), str):
        words["by"] = [words["by"]]
    return words


class Published(NamedTuple):
    """One published table."""

    by: dict[str, list[str]]
    """the label of each cell in each column"""
    low: np.ndarray
    high: np.ndarray
    """what each figure is at least and at most"""
    of: str
    """the column that is summed; empty for counts"""


def read_table(given: Mapping[str, Any], original: Table) -> Published:
    """A table by the words of the parameter."""
    if "path" in given:
        frame = read_with_notes(given["path"])[0].frame
    else:
        frame = pl.DataFrame(
            [pl.Series(name, [str(x) for x in cells]) for name, cells in given["cells"].items()]
        )
    of, value = str(given.get("of", "")), str(given.get("value", COUNT))
    by = list(given.get("by", ())) or [n for n in frame.columns if n in original.schema]
    by = [name for name in by if name != value]
    for name in (value, *by):
        if name not in frame.columns or (name != value and name not in original.schema):
            raise MeasureError(
                f"a published table has no column {name!r}, or the data have none",
                remedy='its columns are those of the data, and value = "NAME" that of its figures',
            )
    if not by or (of and of not in original.schema):
        raise MeasureError(
            f"a published table of {of or 'counts'} shares no column with the data",
            remedy='by = ["COLUMN"] and of = "COLUMN" name columns of the data',
        )
    texts = frame[value].cast(pl.String).str.strip_chars()
    low, high, read = plain_ranges(texts.fill_null("").to_list(), NumberScale(whole=False))
    least = -np.inf if of else 0.0
    labels = {name: _labels(frame[name], original[name].dtype) for name in by}
    return Published(labels, np.where(read, low, least), np.where(read, high, np.inf), of)


def _labels(series: pl.Series, dtype: Any) -> list[str]:
    """Cells as text, exact values as the data write them; nothing is a value that is missing."""
    if series.dtype == pl.String and dtype != pl.Boolean:
        typed = series.cast(dtype, strict=False).cast(pl.String)
    else:
        typed = series.cast(pl.String).cast(dtype, strict=False).cast(pl.String)
    texts = series.cast(pl.String)
    found: list[str] = typed.fill_null(texts).fill_null("").to_list()
    return found


@dataclass(frozen=True, eq=False)
class Places:
    """One column of people, records and tables in the same codes: 0 is missing, 1.. the values."""

    people: np.ndarray
    """int64: people inside, then outside"""
    records: np.ndarray
    """int64: the place of each released cell"""
    within: Any
    """CSR bool (places of records, places of tables): which labels hold all that a cell may be"""
    labels: tuple[str, ...]
    """of the tables, and of what one leaves of another; the first is everything"""
    covers: Any
    """CSR bool (places of tables, codes)"""

    @classmethod
    def of(cls, field: Field, name: str, labels: Sequence[str]) -> Places:
        """Of a column that tables show with some labels."""
        original, masked = field.pair.original, field.pair.masked
        column, people = original.schema[name], field.people_of(name)
        series = masked[name] if name in masked.schema else None
        exact = series is not None and not has_labels(column, masked.schema[name], series)
        listed = [people, original[name].unique()]
        if series is not None and exact:
            listed.append(series.cast(people.dtype, strict=False))
        whole = pl.concat([one.alias(name) for one in listed])
        reader = Labels(Table(whole.to_frame(), Schema([column])), name)
        codes, width = reader.codes.astype(np.int64), len(reader.domain) + 1
        named = [SUPPRESSED, *(x for x in dict.fromkeys(labels) if x not in ("", SUPPRESSED))]
        covers = sparse.vstack([_sets(reader, named, width), _missing(width)], format="csr")
        everything = covers[:1]
        if exact:
            own = sparse.vstack([sparse.identity(width, format="csr"), everything], format="csr")
            records = codes[whole.len() - masked.height :].copy()
            records[suppressed(field.pair, name)] = width
        else:
            texts, place = ([], np.zeros(masked.height, dtype=np.int64))
            if series is not None:
                texts, place = distinct_labels(series)
            own = sparse.vstack(
                [_sets(reader, texts, width), _missing(width), everything], format="csr"
            )
            records = np.where(place < 0, len(texts), place)
            hidden = suppressed(field.pair, name) if series is not None else True
            records[np.broadcast_to(hidden, records.shape)] = len(texts) + 1
        covers = _with_rests(covers)
        inside = (own.astype(np.int64) @ covers.T.astype(np.int64)).tocoo()
        sizes = np.diff(own.indptr)
        kept = inside.data == sizes[inside.row]
        shape = inside.shape
        within = sparse.csr_matrix(
            (np.ones(int(kept.sum()), dtype=bool), (inside.row[kept], inside.col[kept])), shape
        )
        return cls(codes[: people.len()], records, within, (*named, ""), covers)

    def place(self, labels: Sequence[str]) -> np.ndarray:
        """The places of labels."""
        at = {label: i for i, label in enumerate(self.labels)}
        return np.array([at[label] for label in labels], dtype=np.int64)


def _sets(reader: Labels, labels: Sequence[str], width: int) -> Any:
    """CSR bool (labels, codes)."""
    covered = reader.coverage(reader.domain, labels)
    code = np.zeros(width, dtype=np.int64)
    code[covered.ranks] = np.arange(1, width)
    parts = [code[covered.of(i)] for i in range(len(labels))]
    starts = np.cumsum([0] + [part.size for part in parts])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    ones = np.ones(columns.size, dtype=bool)
    return sparse.csr_matrix((ones, columns, starts), shape=(len(labels), width))


def _missing(width: int) -> Any:
    return sparse.csr_matrix((np.ones(1, dtype=bool), ([0], [0])), shape=(1, width))


def _with_rests(covers: Any) -> Any:
    """The labels' sets, and behind them what the largest set inside leaves of each, -1 where none
    is: the place of label p's rest is p plus their number. Empty where it is a label, too."""
    many = covers.shape[0]
    rests = []
    _, inner = _nested(covers)
    for p in range(many):
        own = set(covers[p].indices.tolist())
        inside = max(inner[p], key=lambda q: covers[q].nnz, default=None)
        rest = own - set(covers[int(inside)].indices.tolist()) if inside is not None else set()
        rests.append(sorted(rest))
    starts = np.cumsum([0] + [len(one) for one in rests])
    columns = np.array([code for one in rests for code in one], dtype=np.int64)
    made = sparse.csr_matrix(
        (np.ones(columns.size, dtype=bool), columns, starts), shape=(many, covers.shape[1])
    )
    return sparse.vstack([covers, made], format="csr")


def _nested(covers: Any) -> tuple[np.ndarray, list[list[int]]]:
    """How many codes each two labels share, and the largest labels strictly inside each."""
    many = covers.shape[0]
    if many > _PLACES:
        return np.zeros((many, many)), [[] for _ in range(many)]
    whole = covers.astype(np.int64)
    shared = (whole @ whole.T).toarray()
    size = np.diagonal(shared)
    inside = (shared == size[:, None]) & (size[:, None] < size[None, :]) & (size[:, None] > 0)
    found = []
    for p in range(many):
        below = np.flatnonzero(inside[:, p])
        found.append([int(q) for q in below if not inside[q, below].any()])
    return shared, found
