"""Contingency tables before and after masking."""

from __future__ import annotations

from itertools import combinations
from math import comb, prod
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...errors import MeasureError
from ...progress import report
from ...protocols import Context, Measurement
from ..loss import TableLoss
from .codes import codes, with_categories

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
