"""The normalized certainty penalty: how much of its domain a published value leaves open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from ..criteria.labels import Labels, distinct_labels, has_labels
from ..data.pair import Pair
from ..data.schema import SUPPRESSED
from ..errors import MeasureError
from ..protocols import Context, Measure, Measurement
from .columns import require_records, suppressed


class Ncp(Measure):
    """Normalized certainty penalty, 0 to 1.

    The mean over all cells of the quasi-identifiers of the share of the domain that the published
    label covers: (leaves below it - 1) / (leaves - 1) in a hierarchy, width / width of the
    original's range for an interval, (|s| - 1) / (|D| - 1) for a set of values. A suppressed cell
    costs 1, and so does every cell of a record or a column that was dropped; a value that was
    missing to begin with costs 0. Values that were perturbed, swapped or averaged are as precise as
    before and cost 0: that loss is another measure's business, and `detail` names the columns. The
    per-record vector holds each masked record's mean. In hierarchies it is Iyengar's loss metric,
    LM, divided by the number of cells.

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
    about: ClassVar[Literal["risk", "utility"]] = "utility"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        names = pair.original.schema.quasi
        if not names:
            raise MeasureError(
                "ncp speaks of quasi-identifiers, and the original has none",
                remedy='give columns the role "quasi"',
            )
        costs = [_column(pair, name) for name in names]
        n = pair.masked.height
        dropped = max(pair.original.height - n, 0)
        by_record = np.zeros(n)
        for cost in costs:
            by_record += cost.cells / len(costs)
        by_column = {
            c.name: (float(c.cells.sum()) + c.extra + dropped) / (n + dropped) for c in costs
        }
        detail: dict[str, Any] = {
            "quasi_identifiers": names,
            "by_column": by_column,
            "suppressed_cells": sum(c.suppressed for c in costs),
        }
        named = {
            "published_as_values": [c.name for c in costs if c.values],
            "dropped_columns": [c.name for c in costs if c.dropped],
            "read_by": {c.name: sorted(c.read_by) for c in costs if c.read_by},
            "dropped_records": dropped,
            "empty_cells_taken_for_missing": sum(c.unjudged for c in costs),
        }
        detail.update({key: found for key, found in named.items() if found})
        return self.result(
            float(np.mean(list(by_column.values()))), per_record=by_record, detail=detail
        )


@dataclass
class _Cost:
    """What the cells of one column cost."""

    name: str
    cells: np.ndarray
    """float64: the cost of each masked record's cell."""
    suppressed: int = 0
    extra: int = 0
    """Suppressed cells whose rows are not known."""
    unjudged: int = 0
    """Empty cells that may have been missing or suppressed: nothing tells."""
    values: bool = False
    dropped: bool = False
    read_by: set[str] = field(default_factory=set)


def _column(pair: Pair, name: str) -> _Cost:
    original, n = pair.original.schema[name], pair.masked.height
    if name not in pair.masked.schema:
        return _Cost(name, np.ones(n), suppressed=n, dropped=True)
    masked, series = pair.masked.schema[name], pair.masked[name]
    hidden = suppressed(pair, name)
    as_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    if as_text or has_labels(original, masked, series):
        found = _labelled(pair, name, hidden)
    else:
        found = _Cost(name, hidden.astype(np.float64), values=True)
    _add_gaps(pair, found, hidden)
    return found


def _labelled(pair: Pair, name: str, hidden: np.ndarray) -> _Cost:
    reader = Labels(pair.original, name)
    labels, place = distinct_labels(pair.masked[name])
    # A suppressed cell is counted by its mark; here "*" may be a value of the column itself.
    open_labels = [v for v in labels if v != SUPPRESSED]
    # In a column of values, "{a, b}" may be one of them.
    as_values = set() if pair.masked.schema[name].generalized else set(_texts(reader))
    known = {v: 0.0 if v in as_values else reader.measure(v) for v in open_labels}
    # One more entry, the last: missing, which costs nothing.
    cost = np.array([*(known.get(label, 0.0) for label in labels), 0.0])
    return _Cost(
        name,
        np.where(hidden, 1.0, cost[place]),
        values=not pair.masked.schema[name].generalized and not cost[place].any(),
        read_by={reader.read_by(label) for label in open_labels} if cost.any() else set(),
    )


def _texts(reader: Labels) -> list[str]:
    texts: list[str] = reader.domain.cast(pl.String, strict=False).to_list()
    return texts


def _add_gaps(pair: Pair, found: _Cost, hidden: np.ndarray) -> None:
    """A cell that is empty now and was not before is suppressed, whether or not it says so."""
    before, after = pair.original[found.name], pair.masked[found.name]
    gaps = after.is_null().to_numpy() & ~hidden
    if pair.rows is not None:
        known = pair.rows >= 0
        lost = np.zeros(gaps.size, dtype=bool)
        was_missing = before.is_null().to_numpy()
        lost[known] = gaps[known] & ~was_missing[pair.rows[known]]
        found.cells[lost] = 1.0
        found.suppressed = int(hidden.sum() + lost.sum())
    else:
        # Without alignment only their number can be told, and only where no record was dropped.
        if before.len() == after.len():
            found.extra = max(int(gaps.sum()) - before.null_count(), 0)
        else:
            found.unjudged = int(gaps.sum())
        found.suppressed = int(hidden.sum()) + found.extra
