"""Direct comparison of categories, record by record."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.pair import Pair
from ...data.schema import Kind
from ...protocols import Context, Measurement
from ..loss import RecordLoss
from .codes import codes, with_categories


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
