"""A column's values as whole numbers, found once for each table.

A search asks criteria about thousands of groupings of one table. What does not change between them,
the codes of a column, is kept for as long as the table's frame lives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from ..data.sets.flat_lists import comparable as comparable
from ..data.table import Table, kept_with


@dataclass(frozen=True, eq=False)
class Coded:
    """A column: 0 missing, 1..m its values in their natural order."""

    codes: np.ndarray
    """int64: the code of each record's value."""
    values: pl.Series
    """The value behind each code 1..m."""
    _derived: dict[Any, tuple[Any, Any]] = field(default_factory=dict, repr=False)

    def derived(self, key: str, of: Any, make: Callable[[], Any]) -> Any:
        """What was made from the values and `of` before, else what `make` makes now."""
        known = self._derived.get(key)
        if known is None or known[0] is not of:
            known = self._derived[key] = (of, make())
        return known[1]


def coded(series: pl.Series, known: pl.Series | None = None) -> Coded:
    """The codes of a column; among all that are `known`, where it is a part of a larger one.

    >>> found = coded(pl.Series(["hiv", None, "flu", "hiv"]))
    >>> found.codes.tolist(), found.values.to_list()
    ([2, 0, 1, 2], ['flu', 'hiv'])
    """
    values = comparable(series)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    elif values.dtype == pl.Categorical:
        values = values.cast(pl.String)
    distinct = values.drop_nulls().unique().sort() if known is None else known.cast(values.dtype)
    numbered = pl.DataFrame({"value": distinct, "code": np.arange(1, len(distinct) + 1)})
    joined = pl.DataFrame({"value": values}).join(
        numbered, on="value", how="left", maintain_order="left"
    )
    codes = joined.get_column("code").fill_null(0).to_numpy().astype(np.int64, copy=False)
    return Coded(codes, distinct.alias(series.name))


def coded_column(table: Table, name: str) -> Coded:
    """The codes of a table's column, those of the whole where the table is a part of it; those of
    the same frame are found once."""
    whole = table.schema[name].whole
    known = None if whole is None else whole.values
    found: Coded = kept_with(table, ("column", name), whole, lambda: coded(table[name], known))
    return found
