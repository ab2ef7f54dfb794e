"""The normalized certainty penalty: how much of its domain a published value leaves open."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...data.generalized.label_places import Labels
from ...protocols import Context, Measurement
from ..cells import careful, dropped_records, facts, quasi_cells
from ..loss import TableLoss


class Ncp(TableLoss):
    """Normalized certainty penalty, 0 to 1.

    The mean over all cells of the quasi-identifiers of the share of the domain that the published
    label covers: (leaves below it - 1) / (leaves - 1) in a hierarchy, width / width of the
    original's range for an interval, (|s| - 1) / (|D| - 1) for a set of values. In a set-valued
    column each item is an attribute with two values, and the cell costs the share of the attributes
    that are left open: items that are not published, though some record of its equivalence class
    has them. A suppressed cell costs 1, and so does every cell of a record or a column that was
    dropped; a value that was missing to begin with costs 0. Values that were perturbed, swapped or
    averaged are as precise as before and cost 0: that loss is another measure's business, and
    `detail` names the columns. The per-record vector holds each masked record's mean. In
    hierarchies it is Iyengar's loss metric, LM, divided by the number of cells.

    >>> import sfumato as sf
    >>> original = sf.table({"age": [20, 30, 40], "sex": ["f", "m", "m"]}, quasi=["age", "sex"])
    >>> masked = {"age": ["[20, 30]", "[20, 30]", "40"], "sex": ["*", "*", "m"]}
    >>> round(sf.measure("ncp", original, masked).value, 3)
    0.5
    """

    name: ClassVar[str] = "ncp"
    paper: ClassVar[str] = (
        "Xu, Wang, Pei, Wang, Shi & Fu (2006), Utility-based anonymization using local recoding, "
        "KDD; "
        "Iyengar (2002), Transforming data to satisfy privacy constraints, KDD"
    )
    decimals: ClassVar[int | None] = None
    usual: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        cells = quasi_cells(pair, self.name)
        figures = [c.figures(Labels.measure) for c in cells]
        costs = [c.spread(of, star=1.0) for c, of in zip(cells, figures, strict=True)]
        n, dropped = pair.masked.height, dropped_records(pair)
        by_record = np.zeros(n)
        for cost in costs:
            by_record += cost / len(costs)
        by_column = {
            c.name: (float(cost.sum()) + c.extra + dropped) / (n + dropped)
            for c, cost in zip(cells, costs, strict=True)
        }
        detail: dict[str, Any] = {**facts(cells, dropped), "by_column": by_column}
        read_by = {
            c.name: sorted({c.reader.read_by(label) for label in c.labels})
            for c, of in zip(cells, figures, strict=True)
            if c.reader is not None and of.any()
        }
        if read_by:
            detail["read_by"] = read_by
        found = self.result(
            float(np.mean(list(by_column.values()))), per_record=by_record, detail=detail
        )
        return careful(found, cells)
