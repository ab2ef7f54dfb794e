"""Within-group sum of squares, the information loss of microaggregation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...errors import MeasureError
from ...protocols import Context, Measurement
from ..columns import constant, each, with_numbers
from ..loss import RecordLoss


class Sse(RecordLoss):
    """Within-group squares, 100 * SSE/SST.

    Columns are z-scored by the original's means and standard deviations; SSE sums the squared
    changes of the cells, SST the squared distances of the originals from their means. 0: nothing
    changed; 100: as if every value had been replaced by its column's mean. A suppressed cell and a
    record that was dropped are read as the mean, the best that is left of them, and cost their
    whole square; a cell that was missing to begin with costs nothing. The per-record vector holds
    each original record's squared change.

    >>> import sfumato as sf
    >>> found = sf.measure("sse", {"x": [1.0, 2.0, 5.0, 6.0]}, {"x": [1.5, 1.5, 5.5, 5.5]})
    >>> round(found.value, 3)
    5.882
    """

    name: ClassVar[str] = "sse"
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz (2002), Practical data-oriented microaggregation for "
        "statistical disclosure control, IEEE TKDE 14(1)"
    )
    usual: ClassVar[bool] = True

    columns: tuple[str, ...] = Field(
        (), description="columns to compare; ordered quasi-identifiers, else all ordered columns"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        chosen = with_numbers(pair, self.columns, self.name, quasi_first=True)
        rows, matched = pair.aligned_rows()
        dropped = np.setdiff1d(np.arange(pair.original.height), rows)
        everyone = np.concatenate((rows, dropped))
        change = np.zeros(pair.original.height)
        total, by_column, skipped, lost = 0.0, {}, [], 0
        for name, x, y in each(pair, chosen.names):
            if constant(x):
                skipped.append(name)
                continue
            mean, spread = np.nanmean(x), np.nanstd(x)
            z = (x[everyone] - mean) / spread
            masked = np.concatenate(((y[matched] - mean) / spread, np.full(dropped.size, np.nan)))
            gone = np.isnan(masked) & ~np.isnan(z)
            lost += int(gone[: rows.size].sum())
            square = np.where(np.isnan(z), 0.0, np.where(gone, z, z - masked) ** 2)
            np.add.at(change, everyone, square)
            sst = float(np.nansum(z**2))
            total += sst
            by_column[name] = 100.0 * float(square.sum()) / sst
        if not by_column:
            raise MeasureError(
                f"sse has no variance to compare with: {', '.join(skipped)} never vary",
                remedy="name a column that varies in `columns`",
            )
        detail: dict[str, Any] = {
            **chosen.facts(),
            "by_column": by_column,
            "baseline": "every value replaced by its column's mean",
        }
        if skipped:
            detail["without_variance"] = skipped
        if lost:
            detail["suppressed_cells"] = lost
        if dropped.size:
            detail["dropped_records"] = int(dropped.size)
        if rows.size < pair.masked.height:
            detail["masked_records_without_original"] = pair.masked.height - int(rows.size)
        return self.result(
            100.0 * float(change.sum()) / total,
            baseline=100.0,
            per_record=change,
            per_record_of="original",
            detail=detail,
        )
