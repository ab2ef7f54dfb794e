"""Columns of lists, end to end: the items of all records in one column, and where each begins.

Nothing is copied where the lists lie in one piece. Also the one form in which two lists that are
the same set are equal: sorted, each item once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

_BLOCK = 1 << 22


class FlatLists(NamedTuple):
    """`items[starts[i]:starts[i + 1]]` is what record i's list holds, as it stands."""

    starts: np.ndarray
    """int64[n + 1]."""
    items: pl.Series
    missing: np.ndarray
    """Which records have no list; it is not an empty one."""


def is_list(series: pl.Series) -> bool:
    """Whether the column holds lists."""
    return isinstance(series.dtype, pl.List | pl.Array)


def flat_lists(series: pl.Series) -> FlatLists:
    """The lists of a column, end to end.

    >>> found = flat_lists(pl.Series([["b", "a"], None, [], ["a"]]))
    >>> found.starts.tolist(), found.items.to_list(), found.missing.tolist()
    ([0, 2, 2, 2, 3], ['b', 'a', 'a'], [False, True, False, False])
    """
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    missing = series.is_null().to_numpy()
    starts = np.zeros(len(series) + 1, dtype=np.int64)
    np.cumsum(series.list.len().fill_null(0).to_numpy(), out=starts[1:])
    return FlatLists(starts, series.explode(empty_as_null=False, keep_nulls=False), missing)


def is_canonical(series: pl.Series) -> bool:
    """Whether every list is sorted already, with each item once."""
    if isinstance(series.dtype, pl.Array):
        return False
    starts, items, _ = flat_lists(series)
    if items.null_count() or items.dtype.is_nested() or items.dtype == pl.Object:
        return False
    if items.dtype.is_float():
        signed = np.signbit(items.to_numpy())
        if (signed & (items == 0).to_numpy()).any() or items.is_nan().any():
            return False  # minus zero is zero
    if len(items) < 2:
        return True
    # Where an item is not above the one before it, a new list must begin.
    begins = starts[1:-1][np.diff(starts[1:]) > 0]
    begins = begins[begins > 0]
    if items.dtype.is_numeric() and not items.dtype.is_decimal():
        values = items.to_numpy()
        rises = sum(_rises(values[a : a + _BLOCK + 1]) for a in range(0, values.size - 1, _BLOCK))
        allowed = int(np.count_nonzero(values[begins] > values[begins - 1]))
    else:
        rises = int((items.slice(1) > items.slice(0, len(items) - 1)).sum())
        at = pl.Series(begins)
        allowed = int((items.gather(at) > items.gather(at - 1)).sum())
    return len(items) - 1 - rises == begins.size - allowed


def _rises(values: np.ndarray) -> int:
    """How many values are above the one before them."""
    return int(np.count_nonzero(values[1:] > values[:-1]))


def comparable(series: pl.Series) -> pl.Series:
    """The column in a form in which equal values are equal: sets sorted, repeated elements once."""
    return canonical(series) if is_list(series) else series


def canonical(series: pl.Series) -> pl.Series:
    """The lists as sets: sorted, each item once. A column that is so already is given back.

    >>> canonical(pl.Series([["b", "a", "b"], None, []])).to_list()
    [['a', 'b'], None, []]
    """
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    if is_canonical(series):
        return series
    assert isinstance(series.dtype, pl.List)
    if series.dtype.inner.is_float():
        item = pl.element()
        series = series.list.eval(
            pl.when(item == 0).then(0.0).otherwise(item)
        )  # minus zero is zero
    return series.list.unique().list.sort()
