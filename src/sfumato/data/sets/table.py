"""`SetTable`: a set-valued column in compressed rows, the form that kernels for set-valued data
work on.

Items are numbered in two bytes where they fit, since at twenty million records they are nearly all
of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from ...errors import Complaint, SchemaError
from ...kernels.sets.packing import gathered, tidied
from ...kernels.sets.rows import occurrences
from ..codec import encode
from ..table import Table
from .packing import Packing, Rows, blocks, by_value, shared_rows
from .packing import item_type as item_type


@dataclass(frozen=True, eq=False)
class SetTable:
    """`items[starts[i]:starts[i + 1]]` are the items of record i, sorted, each once.

    Item j is the j-th of the sorted `names`. A missing set is not an empty one: `missing` tells
    them apart. `repeats` counts the occurrences that were left out because their set held the item
    already.

    >>> sets = SetTable.from_column(pl.Series("buys", [["tea", "milk", "tea"], [], None]))
    >>> sets.starts.tolist(), sets.items.tolist(), sets.names.to_list(), sets.repeats
    ([0, 2, 2, 2], [0, 1], ['milk', 'tea'], 1)
    >>> sets.to_column().to_list()
    [['milk', 'tea'], [], None]
    """

    starts: np.ndarray
    items: np.ndarray
    names: pl.Series
    missing: np.ndarray
    repeats: int = 0

    def __post_init__(self) -> None:
        if self.starts.dtype != np.int64 or self.items.dtype != item_type(len(self.names)):
            raise TypeError("starts are int64 and items uint16, or int32 where there are many")
        for array in (self.starts, self.items, self.missing):
            array.flags.writeable = False

    @classmethod
    def of(cls, table: Table, name: str) -> SetTable:
        """The view of one column of a table."""
        return cls.from_column(table[name])

    @classmethod
    def from_column(cls, series: pl.Series) -> SetTable:
        """The view of a column of lists."""
        if isinstance(series.dtype, pl.Array):
            series = series.arr.to_list()
        if not isinstance(series.dtype, pl.List):
            remedy = 'read it with sets={"column": ...}'
            raise SchemaError(
                "the table", [Complaint(series.name, f"holds {series.dtype}, not sets", remedy)]
            )
        inner = series.dtype.inner
        shared = shared_rows(series)
        if shared is not None:
            return cls(*shared)
        if inner.is_float() or inner == pl.Null:
            return cls(*_by_codec(series))
        parts = list(blocks(series))
        room = sum(int(part.offsets[-1] - part.offsets[0]) for part in parts)
        found = [part.bounds() for part in parts] if by_value(inner) else []
        ends = [one for one in found if one is not None]
        bounds = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
        packing = Packing(series.name, inner, len(series), room, bounds)
        packing.add(series)
        return cls(*packing.rows())

    @classmethod
    def read_parquet(cls, path: Any, column: str | None = None) -> SetTable:
        """The sets of a Parquet file's list column, the only one unless named.

        No more than a few hundred thousand lists are in memory at a time, beside the rows.
        """
        from ..io.set_files import read_sets  # which reads into this class

        return read_sets(path, column)

    def write_parquet(self, path: Any, *, replace: bool = False) -> None:
        """Write the sets as the list column of a Parquet file, a million records at a time."""
        from ..io.set_files import write_sets

        write_sets(self, path, replace=replace)

    def to_column(self, name: str | None = None) -> pl.Series:
        """The sets as a column of lists, items in the order of `names`."""
        dtype = self.names.dtype
        if _plain(dtype):
            flat: Any = pa.array(self._numbers())
        else:
            index = pl.Series(self.items.astype(np.uint32, copy=False))
            flat = self.names.gather(index).to_arrow(compat_level=pl.CompatLevel.newest())
        column = pl.Series(self.names.name if name is None else name, self._lists(flat))
        return column if column.dtype == pl.List(dtype) else column.cast(pl.List(dtype))

    def to_arrow(self) -> Any:
        """The sets as Arrow lists; items that are not numbers come as dictionaries."""
        if _plain(self.names.dtype):
            return self._lists(pa.array(self._numbers()))
        names = self.names
        if isinstance(names.dtype, pl.Enum | pl.Categorical):
            names = names.cast(pl.String)
        flat = pa.array(self.items.astype(np.int32, copy=False))
        return self._lists(pa.DictionaryArray.from_arrays(flat, names.to_arrow()))

    def _lists(self, flat: Any) -> Any:
        gone = pa.array(self.missing) if self.missing.any() else None
        return pa.LargeListArray.from_arrays(pa.array(self.starts), flat, mask=gone)

    def _numbers(self) -> np.ndarray:
        """The names of the items, where they are numbers."""
        names = self.names.to_numpy()
        if names.dtype == self.items.dtype and np.array_equal(names, np.arange(names.size)):
            return self.items
        return gathered(names, self.items)

    def block(self, low: int, high: int) -> SetTable:
        """Records low..high, with the same names."""
        starts = self.starts[low : high + 1]
        items = self.items[starts[0] : starts[-1]]
        return SetTable(starts - starts[0], items, self.names, self.missing[low:high])

    def __len__(self) -> int:
        return int(self.starts.size) - 1

    def __getitem__(self, record: int) -> np.ndarray:
        """The items of one record."""
        index = range(len(self))[record]
        return self.items[self.starts[index] : self.starts[index + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[record] for record in range(len(self)))

    @property
    def sizes(self) -> np.ndarray:
        """Items in each record's set."""
        return np.diff(self.starts)

    @cached_property
    def support(self) -> np.ndarray:
        """Records that hold each item."""
        return occurrences(self.items, len(self.names))

    def __repr__(self) -> str:
        return (
            f"SetTable({len(self):,} sets of {len(self.names):,} items, "
            f"{self.items.size:,} occurrences)"
        )


def _plain(dtype: pl.DataType) -> bool:
    """Whether NumPy has such items as they are."""
    return dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128)


def _by_codec(series: pl.Series) -> Rows:
    """Rows of items that only the codec can number, such as floats, whose bits all count."""
    lengths = series.list.len().fill_null(0).to_numpy()
    for _ in blocks(series):
        pass  # each looks for missing items
    starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    found = encode(series.filter(series.list.len() > 0).explode())
    items = (found.codes.astype(np.int64) - 1).astype(item_type(len(found.domain)))
    number = np.arange(len(found.domain), dtype=np.int64)
    starts, items, repeats = tidied(starts, items, number, items)
    missing = series.is_null().to_numpy().copy()
    return starts, items, found.domain.alias(series.name), missing, repeats
