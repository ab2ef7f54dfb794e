"""How much of the quasi-identifiers the published rows of a table leave open."""

from __future__ import annotations

import numpy as np
import polars as pl

from ...errors import MeasureError
from ..kinds import is_text
from ..schema import SUPPRESSED, Kind
from ..table import Table
from .label_places import Labels, distinct_labels, has_labels


def lost_shares(shown: Table, original: Table) -> np.ndarray:
    """float64: for each published row, the mean share of the domain that its cells leave open.

    That is the `ncp` of the row, over the original's quasi-identifiers: a suppressed cell ("*",
    whatever it was before) and one of a column that is not shown cost 1, a value and a missing one
    0. The original reads the labels; where there is none, the published table itself may, by what
    it was generalized with.

    >>> from sfumato.data.table import table
    >>> before = table({"age": [20, 30, 40], "sex": list("fmm")}, quasi=["age", "sex"])
    >>> after = table({"age": ["[20, 30]", "40"], "sex": ["*", "m"]}, quasi=["age", "sex"])
    >>> lost_shares(after, before).tolist()
    [0.75, 0.0]
    """
    names = original.schema.quasi
    total = np.zeros(shown.height)
    for name in names:
        total += _of_column(shown, original, name) if name in shown.schema else 1.0
    return total / max(len(names), 1)


def _of_column(shown: Table, original: Table, name: str) -> np.ndarray:
    series, column, hidden = shown[name], shown.schema[name], shown.suppressed(name)
    if column.kind == Kind.SET:
        raise MeasureError(
            f"what the sets of {name!r} lost is told by all records of a class, not by a row",
            remedy="require the measure `payout`, which compares with the original",
        )
    if not is_text(series) and not has_labels(original.schema[name], column, series):
        return hidden.astype(np.float64)
    labels, place = distinct_labels(series)
    plain: set[str] = set()
    if not column.generalized:
        # In a column of values, "{a, b}" may be one of them.
        plain = set(original[name].unique().cast(pl.String, strict=False).drop_nulls().to_list())
    reader = Labels.of(original, name)
    costs = [0.0 if label in plain else reader.measure(label) for label in labels]
    costs = [1.0 if label == SUPPRESSED else c for label, c in zip(labels, costs, strict=True)]
    return np.where(hidden, 1.0, np.array([*costs, 0.0])[place])
