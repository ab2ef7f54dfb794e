"""Categories compared record by record, and as contingency tables.

A column of labels ("[20, 29]") in the masked table is not made of the original's categories. Those
measures that compare categories leave it out, and say so; those that ask how well a label tells the
original value take it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import encode
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.schema import SET_ASIDE, Kind
from ...errors import MeasureError
from ...measurement import Depends
from ...progress import report
from ...protocols import Context, Measurement
from ..columns import Chosen
from ..loss import RecordLoss, TableLoss

KINDS = (Kind.NOMINAL, Kind.ORDINAL, Kind.BOOLEAN)


def with_categories(
    pair: Pair, named: Sequence[str], measure: str, *, labels: bool = False
) -> Chosen:
    """The columns with categories in both tables: those named, else every one; with `labels` the
    masked table may hold generalized ones."""
    require_records(pair, measure)
    wanted = named or [
        c.name for c in pair.original.schema if c.kind in KINDS and c.role not in SET_ASIDE
    ]
    reasons = {name: _unfit(pair, name, labels) for name in wanted}
    remedy = "it compares nominal, ordinal and boolean columns"
    return Chosen.of(reasons, measure, bool(named), "with categories in both tables", remedy)


def _unfit(pair: Pair, name: str, labels: bool) -> str:
    """Why a column cannot be compared; empty if it can."""
    before = pair.original.schema[name]
    if name not in pair.masked.schema:
        return "is not in the masked table"
    after = pair.masked.schema[name]
    if before.kind not in (*KINDS, Kind.TEXT) and not before.generalized:
        return f"is {before.kind} and has no categories"
    if labels or after.generalized == before.generalized:
        return ""
    return f"holds labels in the {'masked' if after.generalized else 'original'} table"


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of both tables in the same codes: 0 is missing or suppressed."""

    original: np.ndarray
    masked: np.ndarray
    values: list[str]
    """What the codes 1.. stand for."""


def codes(pair: Pair, name: str) -> Codes:
    """The categories of a column in both tables, also where one table has others. An ordinal column
    has the original's order."""
    before, after = pair.original[name], pair.masked[name]
    texts = pl.concat([before.cast(pl.String), after.cast(pl.String)])
    column = pair.original.schema[name]
    if column.kind == Kind.ORDINAL and not column.generalized:
        more = texts.drop_nulls().unique().sort()
        known = list(column.categories)
        order = known + [value for value in more if value not in set(known)]
        found = texts.cast(pl.Enum(order)).to_physical().cast(pl.Int64).fill_null(-1)
        both = found.to_numpy() + 1
        return Codes(both[: before.len()], both[before.len() :], order)
    made = encode(texts)
    both = made.codes.astype(np.int64)
    return Codes(both[: before.len()], both[before.len() :], made.domain.to_list())


class CategoricalDistance(RecordLoss):
    """Mean distance between each record's categories before and after, 0 to 1.

    Nominal and boolean: 0 where the category is the same, else 1. Ordinal: (the number of
    categories from the lower to the higher of the two, both included, less one) / |D|, D all
    categories of the original's column. (The slides do not subtract one, by which a category would
    be at distance 1/|D| from itself; their |D| below is kept, so that the ends of a scale are at
    distance (|D| - 1)/|D|.) A suppressed cell, a cell that was missing and is not, and every cell
    of a record that was dropped are at distance 1. The per-record vector holds each original
    record's mean.

    >>> import sfumato as sf
    >>> sf.measure("categorical-distance", {"s": ["f", "m", "m"]}, {"s": ["f", "f", "m"]}).value
    0.3333333333333333
    """

    name: ClassVar[str] = "categorical-distance"
    depends: ClassVar[Depends | None] = "records"
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Torra (2001), Disclosure control methods and information loss for "
        "microdata, in Confidentiality, Disclosure and Data Access, Elsevier"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    decimals: ClassVar[int | None] = 3

    columns: tuple[str, ...] = Field(
        (), description="columns to compare; all with categories unless given"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        chosen = with_categories(pair, self.columns, self.name)
        rows, matched = pair.aligned_rows()
        dropped = np.ones(pair.original.height, dtype=bool)
        dropped[rows] = False
        sums = np.zeros(pair.original.height)
        times = np.zeros(pair.original.height)
        np.add.at(times, rows, 1.0)
        by_column: dict[str, float] = {}
        for name in chosen.names:
            apart = _distances(pair, name, rows, matched)
            by_column[name] = float(apart.sum() + dropped.sum()) / (rows.size + dropped.sum())
            np.add.at(sums, rows, apart)
        cells = np.where(dropped, 1.0, sums / np.maximum(times, 1.0) / len(chosen.names))
        detail: dict[str, Any] = {**chosen.facts(), "by_column": by_column}
        if dropped.any():
            detail["dropped_records"] = int(dropped.sum())
        if rows.size < pair.masked.height:
            detail["masked_records_without_original"] = pair.masked.height - int(rows.size)
        return self.result(
            float(np.mean(list(by_column.values()))),
            per_record=cells,
            per_record_of="original",
            detail=detail,
        )


def _distances(pair: Pair, name: str, rows: np.ndarray, matched: np.ndarray) -> np.ndarray:
    """The distance of each pair of cells that belong together."""
    found = codes(pair, name)
    before, after = found.original[rows], found.masked[matched]
    apart: np.ndarray = (before != after).astype(np.float64)
    column = pair.original.schema[name]
    if column.kind == Kind.ORDINAL and not column.generalized:
        domain = len(column.categories)
        # A category that the original does not have is on no scale, and as far as can be.
        both = (before > 0) & (after > 0) & (after <= domain)
        apart[both] = np.abs(before[both] - after[both]) / domain
    return apart


_MOST_TABLES = 20_000


class Ctbil(TableLoss):
    """Contingency-table-based information loss: what changes in all tables up to K columns.

    CTBIL = the sum over all contingency tables of 1 to K of the columns W of the sum over their
    cells of |count before - count after|. No alignment is needed. Missing is a category, and a
    suppressed cell is counted there; a category that one table alone has counts 0 in the other. The
    sum grows with the records and the tables, so `detail` adds it divided by the cells (all
    combinations of the categories, occupied or not) and by twice the records and the tables, which
    is 1 where nothing is left in its place (`share_displaced`).

    >>> import sfumato as sf
    >>> before, after = {"a": ["x", "x", "y"]}, {"a": ["x", "y", "y"]}
    >>> sf.measure("ctbil", before, after).value
    2.0
    """

    name: ClassVar[str] = "ctbil"
    leverage: ClassVar[float] = float("inf")
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Torra (2001), Disclosure control methods and information loss for "
        "microdata, in Confidentiality, Disclosure and Data Access, Elsevier"
    )
    unit: ClassVar[str] = "records"
    decimals: ClassVar[int | None] = 3

    k: int = Field(2, ge=1, le=10, description="K: columns of the largest tables")
    columns: tuple[str, ...] = Field(
        (), description="W: columns to compare; all with categories by default"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        chosen = with_categories(pair, self.columns, self.name)
        largest = min(self.k, len(chosen.names))
        tables = sum(comb(len(chosen.names), size) for size in range(1, largest + 1))
        if tables > _MOST_TABLES:
            raise MeasureError(
                f"ctbil would compare {tables:,} tables; {_MOST_TABLES:,} is the most",
                remedy="a smaller k, or name fewer columns",
            )
        found = {name: codes(pair, name) for name in chosen.names}
        before = {name: one.original for name, one in found.items()}
        after = {name: one.masked for name, one in found.items()}
        widths = {name: len(one.values) + 1 for name, one in found.items()}
        empty = {name: not (one.original.all() and one.masked.all()) for name, one in found.items()}
        sizes = {name: len(one.values) + empty[name] for name, one in found.items()}
        by_size: dict[int, float] = {}
        by_table: dict[str, float] = {}
        cells, done = 0, 0
        for size in range(1, largest + 1):
            for names in combinations(chosen.names, size):
                apart = displaced(
                    [before[name] for name in names],
                    [after[name] for name in names],
                    [widths[name] for name in names],
                )
                by_table[" & ".join(names)] = apart
                by_size[size] = by_size.get(size, 0.0) + apart
                cells += prod(sizes[name] for name in names)
                done += 1
                report("ctbil", done, tables)
        total = sum(by_size.values())
        records = max(pair.original.height, pair.masked.height)
        detail: dict[str, Any] = {
            **chosen.facts(),
            "tables": tables,
            "by_size": by_size,
            "per_cell": total / cells,
            "share_displaced": total / (2.0 * records * tables),
        }
        return self.result(total, detail=detail, private={"by_table": by_table})


def displaced(before: list[np.ndarray], after: list[np.ndarray], widths: list[int]) -> float:
    """The sum over the cells of |count before - count after| of one contingency table."""
    n = before[0].size
    if prod(widths) <= max(4 * n, 1 << 16):
        left, right = (np.ravel_multi_index(tuple(side), widths) for side in (before, after))
        size = prod(widths)
        counts = np.bincount(left, minlength=size) - np.bincount(right, minlength=size)
        return float(np.abs(counts).sum())
    place = np.zeros(n + after[0].size, dtype=np.int64)
    for one, other, width in zip(before, after, widths, strict=True):
        # Numbered anew after each column, so that no product can overflow.
        keys = place * width + np.concatenate((one, other))
        place = np.unique(keys, return_inverse=True)[1].reshape(-1)
    size = int(place.max()) + 1
    counts = np.bincount(place[:n], minlength=size) - np.bincount(place[n:], minlength=size)
    return float(np.abs(counts).sum())
