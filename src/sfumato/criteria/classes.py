"""Equivalence classes: the records that share their published quasi-identifiers.

They are counted by Polars on the published values as they stand, by code that no method or search
uses. A missing value is a category of its own, and so is a suppressed one. The elements of a
set-valued cell have no order and no multiplicity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ..data.schema import SUPPRESSED, Column
from ..data.table import Table
from ..errors import MeasureError

_ROW = "__row"


@dataclass(frozen=True, eq=False)
class Classes:
    """The equivalence classes of some columns, numbered 0..g-1 by first appearance."""

    columns: tuple[str, ...]
    labels: np.ndarray
    """int64: the class of each record."""
    first: np.ndarray
    """int64: the first record of each class."""

    def __len__(self) -> int:
        return int(self.first.size)

    @cached_property
    def sizes(self) -> np.ndarray:
        """int64: the records in each class."""
        return np.bincount(self.labels, minlength=len(self)).astype(np.int64)

    @property
    def smallest(self) -> int:
        """Records in the smallest class."""
        return int(self.sizes.min())

    def of_records(self, per_class: np.ndarray) -> np.ndarray:
        """A figure of the classes, handed to their records."""
        handed: np.ndarray = per_class[self.labels]
        return handed


def equivalence_classes(table: Table, columns: Sequence[str] | None = None) -> Classes:
    """The classes of the table's quasi-identifiers, or of the columns named.

    Without any column nothing tells the records apart: they are one class.

    >>> from sfumato.data.table import table
    >>> found = equivalence_classes(table({"age": [30, None, 30, None, 41]}, quasi=["age"]))
    >>> found.labels.tolist(), found.sizes.tolist()
    ([0, 1, 0, 1, 2], [2, 2, 1])
    """
    names = tuple(table.schema.quasi if columns is None else columns)
    if not table.height:
        raise MeasureError(
            "the table has no records, hence no equivalence classes", remedy="publish some records"
        )
    if not names:
        nothing = np.zeros(table.height, dtype=np.int64)
        return Classes(names, nothing, np.zeros(1, dtype=np.int64))
    keys = [comparable(table[name]) for name in names]
    # A suppressed value is published otherwise than a missing one, though both are null in a table.
    keys += [pl.Series(mask) for name in names if (mask := _marks(table, name)) is not None]
    firsts = first_equal(pl.DataFrame([key.alias(str(j)) for j, key in enumerate(keys)]))
    leads = firsts == np.arange(firsts.size)
    number = np.cumsum(leads) - 1
    return Classes(names, number[firsts], np.flatnonzero(leads))


def _marks(table: Table, name: str) -> np.ndarray | None:
    """Which nulls of a column of values were suppressed; None where none was."""
    if table.schema[name].generalized:
        return None
    mask = table.suppressed(name)
    return mask if mask.any() else None


def comparable(series: pl.Series) -> pl.Series:
    """The column in a form in which equal values are equal: sets sorted, repeated elements once."""
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    if isinstance(series.dtype, pl.List):
        return series.list.unique().list.sort()
    return series


def wild(series: pl.Series, column: Column) -> np.ndarray:
    """Which cells could be anything: those without a value, and those published as "*"."""
    empty = series.is_null().to_numpy()
    if column.generalized or series.dtype in (pl.String, pl.Categorical, pl.Enum):
        starred = (series.cast(pl.String) == SUPPRESSED).fill_null(False).to_numpy()
        empty = np.logical_or(empty, starred)
    return empty


def first_equal(frame: pl.DataFrame) -> np.ndarray:
    """For each row the first row that is equal to it; missing equals missing."""
    # The least row index is the first, and Polars finds a least much sooner than a first.
    first = pl.col(_ROW).min().over(*frame.columns)
    found = frame.lazy().with_row_index(_ROW).select(first).collect()
    return found.get_column(_ROW).cast(pl.Int64).to_numpy()


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each class holds each value of a column: only the pairs that occur, sorted."""

    cls: np.ndarray
    """int64: the class."""
    code: np.ndarray
    """int64: 0 missing, 1..m the column's values in their natural order."""
    count: np.ndarray
    """int64: its records."""
    values: pl.Series
    """The value behind each code 1..m."""

    @property
    def missing(self) -> int:
        """Records without a value."""
        return int(self.count[self.code == 0].sum())

    def where(self, chosen: np.ndarray) -> ValueCounts:
        """Some of the pairs."""
        return ValueCounts(self.cls[chosen], self.code[chosen], self.count[chosen], self.values)

    def recoded(self, block: np.ndarray, blocks: int) -> ValueCounts:
        """The counts after each code c has become block[c]; codes that meet are added up."""
        key = self.cls * (blocks + 1) + block[self.code]
        distinct, inverse = np.unique(key, return_inverse=True)
        count = np.bincount(inverse.reshape(-1), weights=self.count).astype(np.int64)
        return ValueCounts(
            distinct // (blocks + 1),
            distinct % (blocks + 1),
            count,
            pl.Series(range(1, blocks + 1)),
        )


def value_counts(classes: Classes, series: pl.Series) -> ValueCounts:
    """The counts of a column's values in each class.

    >>> from sfumato.data.table import table
    >>> t = table({"q": ["a", "a", "b"], "ill": ["flu", "flu", None]}, quasi=["q"])
    >>> found = value_counts(equivalence_classes(t), t["ill"])
    >>> list(zip(found.cls.tolist(), found.code.tolist(), found.count.tolist()))
    [(0, 1, 2), (1, 0, 1)]
    """
    values = comparable(series)
    if values.dtype.is_float():
        values = values.fill_nan(None)
    elif values.dtype == pl.Categorical:
        values = values.cast(pl.String)
    distinct = values.drop_nulls().unique().sort()
    numbered = pl.DataFrame({"value": distinct, "code": np.arange(1, len(distinct) + 1)})
    coded = pl.DataFrame({"value": values}).join(
        numbered, on="value", how="left", maintain_order="left"
    )
    code = coded.get_column("code").fill_null(0).to_numpy().astype(np.int64, copy=False)
    # Class and value as one number, sorted: equal pairs are neighbours.
    width = len(distinct) + 1
    key = np.sort(classes.labels * width + code)
    lead = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    count = np.diff(np.append(lead, key.size))
    cls, code = np.divmod(key[lead], width)
    return ValueCounts(cls, code, count, distinct.alias(series.name))


def confidential_column(table: Table, named: str, asking: str) -> Column:
    """The column a criterion speaks of: the one named, else the only confidential one."""
    if named:
        return table.schema[named]
    found = table.schema.confidential
    if len(found) != 1:
        which = f"{len(found)} ({', '.join(found)})" if found else "none"
        raise MeasureError(
            f"{asking} speaks of one confidential column, and the table has {which}",
            remedy=f'{asking} = {{ column = "{found[0] if found else "NAME"}", ... }}',
        )
    return table.schema[found[0]]
