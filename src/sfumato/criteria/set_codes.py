"""Set-valued columns as whole numbers, for counting: items of any type in compressed rows.

Whole numbers of few bits stand for themselves, so that twenty million sets are looked at where they
lie; everything else is numbered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ..data.codec import encode
from ..data.sets.flat_lists import flat_lists
from ..data.table import Table
from ..kernels.sets.equal_sets import first_equal_sets

_LARGEST = 1 << 22
"""Numbers up to this are not numbered anew."""


@dataclass(frozen=True, eq=False)
class CodedSets:
    """`items[starts[i]:starts[i + 1]]` are the items of record i, as they stood: in any order."""

    starts: np.ndarray
    items: np.ndarray
    """uint16 or int64, never negative; a missing item is one of them."""
    missing: np.ndarray
    names: pl.Series | None
    """The item behind each number; None where the numbers are the items."""

    @property
    def domain(self) -> tuple[np.ndarray, pl.Series]:
        """The numbers that occur, or could, and the items behind them."""
        if self.names is not None:
            return np.arange(len(self.names)), self.names
        used = np.flatnonzero(np.bincount(self.items)) if self.items.size else self.items
        return used, pl.Series(used, dtype=pl.Int64)


def is_list_of_items(series: pl.Series) -> bool:
    """Whether a column holds lists of plain values."""
    dtype = series.dtype
    return isinstance(dtype, pl.List | pl.Array) and not dtype.inner.is_nested()


def holds_sets(table: Table, name: str) -> bool:
    """Whether a column publishes sets as lists, not labels of them."""
    return is_list_of_items(table[name]) and not table.schema[name].generalized


def coded_sets(series: pl.Series) -> CodedSets:
    """The sets of a column of lists.

    >>> found = coded_sets(pl.Series([["b", "a"], None, ["a"]]))
    >>> found.items.tolist(), found.names.to_list()
    ([1, 0, 0], ['a', 'b'])
    """
    starts, flat, missing = flat_lists(series)
    if flat.dtype.is_integer() and not flat.null_count():
        if flat.is_empty():
            return CodedSets(starts, np.zeros(0, dtype=np.uint16), missing, None)
        low, high = int(flat.min()), int(flat.max())  # type: ignore[arg-type]
        if low >= 0 and high <= _LARGEST:
            narrow = np.uint16 if high < 1 << 16 else np.int64
            return CodedSets(starts, flat.to_numpy().astype(narrow, copy=False), missing, None)
    if flat.dtype.is_float():
        # Minus zero is zero, and what is no number is one thing.
        zero = pl.Series([0.0], dtype=flat.dtype)
        flat = flat.zip_with((flat != 0).fill_null(True), zero).fill_nan(float("nan"))
    found = encode(flat)
    gap = int(flat.null_count() > 0)  # a missing item, where there is one, becomes item 0
    items = found.codes.astype(np.int64) - (1 - gap)
    names = found.domain
    if gap:
        names = pl.concat([pl.Series([None], dtype=names.dtype), names.alias("")])
    narrow = np.uint16 if len(names) <= 1 << 16 else np.int64
    return CodedSets(starts, items.astype(narrow), missing, names)


def first_equal_lists(series: pl.Series) -> np.ndarray:
    """int64: for each record the first one whose list is the same set.

    >>> first_equal_lists(pl.Series([["b", "a"], [], ["a", "b", "a"], None])).tolist()
    [0, 1, 0, 3]
    """
    found = coded_sets(series)
    return first_equal_sets(found.starts, found.items, found.missing)
