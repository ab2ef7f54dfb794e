"""What local recoding would publish for each class of a search: its least upper bound."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..data.codec import Coded, code
from ..data.generalized.mixed_labels import mixed_labels
from ..data.schema import SUPPRESSED
from ..data.table import Table
from ..errors import MethodError
from ..kernels.groups import group_distinct, group_min_max


def least_upper_bounds(
    table: Table, labels: np.ndarray, groups: int, rows: np.ndarray | None = None
) -> Table:
    """A row for each class: for every quasi-identifier what covers all of its records.

    `labels` are those of the records in `rows`, of all unless given. Missing in a whole class stays
    missing; missing in a part of it is added to what covers the others, and suppressed before makes
    its cell "*".

    >>> from sfumato.data.table import table
    >>> t = table({"age": [20, 25, None, 41], "town": list("abcc")}, quasi=["age", "town"])
    >>> least_upper_bounds(t, np.array([0, 0, 1, 1]), 2).frame.rows()
    [('[20, 25]', '{a, b}'), ('41 or missing', 'c')]
    """
    columns = table.schema.quasi
    shown = table.without([name for name in table.names if name not in columns])
    shown = shown.take(np.zeros(groups, dtype=np.int64))
    for name in columns:
        coded = code(table, name)
        if coded.structure.unchanged:
            raise MethodError(
                f"column {name!r} is passed through, so that it is not known whom a class covers",
                remedy="leave criteria on other people to [require], which counts them",
            )
        hidden = table.suppressed(name)
        texts = _texts(coded, hidden, labels, groups, rows)
        origin = coded.column.bound if coded.column.generalized else None
        column = coded.column.with_(generalized=True, bound=origin or coded.poset)
        shown = shown.with_columns([pl.Series(name, texts, dtype=pl.String)], [column])
    return shown


def _texts(
    coded: Coded, hidden: np.ndarray, labels: np.ndarray, groups: int, rows: np.ndarray | None
) -> list[str | None]:
    codes = coded.codes if rows is None else coded.codes[rows]
    low, high, partly_missing = group_min_max(labels, codes, groups)
    starred = np.zeros(groups, dtype=bool)
    starred[labels[hidden if rows is None else hidden[rows]]] = True
    texts: list[str | None] = [SUPPRESSED if star else None for star in starred.tolist()]
    chosen = np.flatnonzero((high > 0) & ~starred)
    if not chosen.size:
        return texts
    if coded.poset.spans:
        made = coded.poset.labels(low[chosen], high[chosen])
    else:
        starts, members = group_distinct(labels, codes, groups)
        sizes = (starts[1:] - starts[:-1])[chosen]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        parts = [members[starts[g] : starts[g + 1]] for g in chosen.tolist()]
        made = coded.poset.set_labels(ends, np.concatenate(parts))
    for g, text in zip(chosen.tolist(), made, strict=True):
        texts[g] = mixed_labels(coded, [text])[0] if partly_missing[g] else text
    return texts
