"""`SetTable`: a set-valued column in compressed rows, the form that kernels for set-valued data
work on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ..errors import Complaint, SchemaError
from .codec import encode
from .table import Table

_MOST_ITEMS = np.iinfo(np.int32).max


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
        if self.starts.dtype != np.int64 or self.items.dtype != np.int32:
            raise TypeError("starts are int64 and items int32")
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
        missing = series.is_null().to_numpy().copy()
        sizes = series.list.len().fill_null(0).cast(pl.Int64).to_numpy()
        flat = series.filter(series.list.len() > 0).explode()
        row = np.repeat(np.arange(len(series), dtype=np.int64), sizes)
        if flat.null_count():
            where = int(row[int(flat.is_null().arg_max() or 0)])
            what = f"the set of record {where + 1:,} holds a missing item"
            remedy = "leave it out of the list"
            raise SchemaError("the table", [Complaint(series.name, what, remedy)])
        found = encode(flat)
        width = len(found.domain)
        if width > _MOST_ITEMS:
            raise SchemaError(
                "the table", [Complaint(series.name, f"has {width:,} different items: too many")]
            )
        # One key per (record, item), so that one sort puts both in order and brings repeats
        # together.
        key = row * max(width, 1) + (found.codes.astype(np.int64) - 1)
        distinct = np.unique(key)
        counts = np.bincount(distinct // max(width, 1), minlength=len(series))
        starts = np.zeros(len(series) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        items = (distinct % max(width, 1)).astype(np.int32)
        return cls(
            starts, items, found.domain.alias(series.name), missing, int(key.size - distinct.size)
        )

    def to_column(self, name: str | None = None) -> pl.Series:
        """The sets as a column of lists, items in the order of `names`."""
        flat = self.names.gather(pl.Series(self.items, dtype=pl.UInt32))
        record = pl.Series(np.repeat(np.arange(len(self), dtype=np.int64), self.sizes))
        grouped = (
            pl.DataFrame({"record": record, "item": flat})
            .group_by("record", maintain_order=True)
            .agg("item")
        )
        every = pl.DataFrame({"record": np.arange(len(self), dtype=np.int64)})
        lists = every.join(grouped, on="record", how="left", maintain_order="left")["item"]
        lists = lists.cast(pl.List(self.names.dtype))
        empty = pl.Series([[]], dtype=lists.dtype)
        lists = lists.zip_with(pl.Series(self.sizes > 0), empty)
        lists = lists.zip_with(pl.Series(~self.missing), pl.Series([None], dtype=lists.dtype))
        return lists.alias(self.names.name if name is None else name)

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
        return np.bincount(self.items, minlength=len(self.names))

    def __repr__(self) -> str:
        return (
            f"SetTable({len(self):,} sets of {len(self.names):,} items, "
            f"{self.items.size:,} occurrences)"
        )
