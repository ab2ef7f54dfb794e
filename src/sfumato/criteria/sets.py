"""Set-valued columns as whole numbers, for counting, and k^m-anonymity.

Whole numbers of few bits stand for themselves, so that twenty million sets are looked at where they
lie; everything else is numbered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ..data.codec import encode
from ..data.schema import Kind
from ..data.sets.flat_lists import flat_lists
from ..data.sets.table import SetTable
from ..data.table import Table
from ..errors import MeasureError
from ..kernels.sets.equal_sets import first_equal_sets
from ..kernels.sets.rare_itemsets import rare_itemsets
from ..protocols import Criterion, Finding

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


class KmAnonymity(Criterion):
    """Whoever knows m items of a person finds none or at least k records with them.

    That is less than k-anonymity, which holds against people who know the whole set, and keeps far
    more items. The figure is the fewest records that hold a combination of at most m items that
    occurs; combinations that contain a rare one are not looked at. A missing set holds nothing.
    People of whom more than m items are known are not protected, nor is knowledge of what somebody
    lacks.

    >>> from sfumato.data.table import table
    >>> t = table({"buys": [["tea", "milk"], ["tea", "milk"], ["tea"]]}, quasi=["buys"])
    >>> KmAnonymity(k=2, m=2).check(t).met
    True
    >>> print(KmAnonymity(k=3, m=1).check(t))
    the fewest records with 1 item of buys is 2 (limit 3) in 2 of 3 records
    """

    name: ClassVar[str] = "km-anonymity"
    beside_cover: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"k": 5, "m": 2}
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis & Kalnis (2008), Privacy-preserving anonymization of set-valued "
        "data, PVLDB 1(1)"
    )

    k: int = Field(ge=1, description="records that share a combination, if any has it")
    m: int = Field(2, ge=1, le=8, description="items of a person that an intruder knows")
    column: str = Field(
        "", description="column of sets; the only quasi-identifier of sets unless given"
    )

    def check(self, table: Table) -> Finding:
        name = self._column(table)
        sets = SetTable.of(table, name)
        found = rare_itemsets(sets.starts, sets.items, len(sets.names), self.k, self.m)
        broken = int(found.records.sum())
        what = "1 item" if self.m == 1 else f"up to {self.m} items"
        # Where nothing is told of anybody, nothing can be looked up.
        least = found.least if found.looked_at else table.height
        return Finding(
            requirement=self.name,
            subject=f"the fewest records with {what} of {name}",
            value=float(least),
            limit=float(self.k),
            met=not broken,
            at_least=True,
            broken=broken,
            of=table.height,
            of_what="records",
            detail={"column": name, "m": self.m, "combinations_looked_at": found.looked_at},
        )

    def _column(self, table: Table) -> str:
        if self.column:
            if table.schema[self.column].kind != Kind.SET or table.schema[self.column].generalized:
                raise MeasureError(
                    f"{self.name} counts items, and column {self.column!r} holds no sets",
                    remedy="name a column of sets",
                )
            return self.column
        found = [c.name for c in table.schema if c.kind == Kind.SET and c.role == "quasi"]
        if len(found) != 1:
            which = f"{len(found)} ({', '.join(found)})" if found else "none"
            raise MeasureError(
                f"{self.name} speaks of one quasi-identifier of sets, and the table has {which}",
                remedy=f'{self.name} = {{ column = "{found[0] if found else "NAME"}", ... }}',
            )
        return found[0]
