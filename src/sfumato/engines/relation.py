"""`Relation`: what algorithms need of data, wherever these are.

A relation is a set of records with a schema, each with its number. Algorithms see it as parts
(tables of some of its records, in no order that they may rely on), as counts, as order statistics
and as exact sums; all of these are the same however the records are divided. What comes back to the
caller is bounded by what is distinct, by groups, or by the number of parts, never by the records.

`Whole` is a table in memory: one part. The other engines have their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..data.encoding import at_ranks
from ..data.exact import each, exactly
from ..data.io.files import write_parquet
from ..data.schema import Schema
from ..data.table import Table
from ..errors import MethodError
from .batches import distinct, together

MOST_COUNTED = 20_000_000
"""Combinations that may be counted in one place."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Distinct rows, sorted, and how many records have each (int64)."""

    table: Table
    count: np.ndarray


class Tally(NamedTuple):
    """What parts counted: added up over them, or the least of them."""

    total: Mapping[str, int] = {}
    least: Mapping[str, int] = {}

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        total, least = dict(self.total), dict(self.least)
        for name, count in other.total.items():
            total[name] = total.get(name, 0) + count
        for name, count in other.least.items():
            least[name] = min(least.get(name, count), count)
        return Tally(total, least)


@dataclass(frozen=True, eq=False)
class Part:
    """What became of a part."""

    table: Table
    rows: np.ndarray | None = None
    """Which of its rows are left; None: all, in order."""
    tally: Tally = field(default_factory=Tally)


Masked = Callable[[Table, np.ndarray], Part]
"""A part and its records' numbers (uint64), and what becomes of it. It must be picklable, must not
modify anything, and gives columns whose types do not depend on the part's values: of a part without
rows it tells the schema."""


class Relation(ABC):
    """Records in some place."""

    schema: Schema
    """Kinds and roles of the columns."""

    @property
    @abstractmethod
    def height(self) -> int:
        """Number of records."""

    @property
    @abstractmethod
    def empty(self) -> Table:
        """A table of no records, with the types that parts have."""

    @abstractmethod
    def only(self, columns: Sequence[str]) -> Relation:
        """The same records with these columns."""

    @abstractmethod
    def with_schema(self, schema: Schema) -> Relation:
        """The same with other roles or posets, and what is known of whole columns."""

    def room(self, columns: Sequence[str]) -> int:
        """How many records one place can search by these columns; 0 where nothing says."""
        return 0

    @abstractmethod
    def count_by(self, columns: Sequence[str], most: int = MOST_COUNTED) -> Counted:
        """The distinct combinations of these columns, missing and suppressed cells told apart,
        sorted by the columns in turn; an error that names the columns where they are more than
        `most`."""

    def class_sizes(self, columns: Sequence[str]) -> np.ndarray:
        """int64 (m, 2): how many records the combinations of these columns have, ascending, and how
        many combinations have so many. Few, however many combinations there are; engines that count
        out of memory have their own."""
        counts = [self.height] if not columns else self.count_by(columns).count
        size, many = np.unique(np.asarray(counts, dtype=np.int64), return_counts=True)
        return np.column_stack((size, many.astype(np.int64)))

    @abstractmethod
    def order_statistics(self, column: str, ranks: Sequence[int]) -> pl.Series:
        """The values at these ranks (0 is the lowest) among those that are not missing."""

    @abstractmethod
    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        """A small summary of each part, in no order that tells anything."""

    @abstractmethod
    def map_parts(self, masked: Masked) -> tuple[Relation, Tally]:
        """What becomes of all parts."""

    @abstractmethod
    def map_groups(
        self, route: Callable[[Table, np.ndarray], np.ndarray], masked: Masked
    ) -> tuple[Relation, Tally]:
        """Each group of records whose route (int64) is the same as one part, its records in the
        order of their numbers. A group must fit into memory."""

    @abstractmethod
    def join(self, other: Relation, columns: Sequence[str]) -> Relation:
        """The same with these columns of another relation, by number; the records that both have
        are left."""

    @abstractmethod
    def write(
        self,
        folder: Path,
        order: Callable[[np.ndarray], np.ndarray] | None,
        alignment: Path | None = None,
        beside: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Path]:
        """All records as `part-*.parquet` in the order of `order(numbers)` (uint64, ties by number;
        by number where there is none), which is that of the parts' names. Parts of the same names
        in `alignment` tell the number of each, as `published_row` and `original_row`, and hold the
        columns of `beside` under other names."""


class Whole(Relation):
    """A table in memory."""

    def __init__(self, table: Table, numbers: np.ndarray | None = None) -> None:
        self.table = table
        self.schema = table.schema
        self.numbers = np.arange(table.height, dtype=np.uint64) if numbers is None else numbers

    @property
    def height(self) -> int:
        return self.table.height

    @property
    def empty(self) -> Table:
        return self.table.take(np.empty(0, dtype=np.int64))

    def only(self, columns: Sequence[str]) -> Whole:
        schema = self.schema.only(columns)
        frame = self.table.frame.select(each(schema.names))
        return Whole(Table(frame, schema, self.table.marks), self.numbers)

    def with_schema(self, schema: Schema) -> Whole:
        return Whole(self.table.with_schema(schema), self.numbers)

    def count_by(self, columns: Sequence[str], most: int = MOST_COUNTED) -> Counted:
        found, count = distinct(self.table, columns=columns)
        if found.height > most:
            raise too_many(columns, most)
        return Counted(found, count)

    def order_statistics(self, column: str, ranks: Sequence[int]) -> pl.Series:
        series = self.table[column].drop_nulls()
        wanted = checked_ranks(column, ranks, len(series))
        return at_ranks(series, wanted)

    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        return [summary(self.only(columns).table, self.numbers)]

    def map_parts(self, masked: Masked) -> tuple[Whole, Tally]:
        made = masked(self.table, self.numbers)
        numbers = self.numbers if made.rows is None else self.numbers[made.rows]
        return Whole(made.table, numbers), made.tally

    def map_groups(
        self, route: Callable[[Table, np.ndarray], np.ndarray], masked: Masked
    ) -> tuple[Whole, Tally]:
        routes = np.asarray(route(self.table, self.numbers))
        order = np.lexsort((self.numbers, routes))
        cuts = np.flatnonzero(np.diff(routes[order])) + 1
        groups = np.split(order, cuts) if order.size else [order]
        parts, numbers, tally = [], [], Tally()
        for rows in groups:
            made = masked(self.table.take(rows), self.numbers[rows])
            parts.append(made.table)
            numbers.append(self.numbers[rows if made.rows is None else rows[made.rows]])
            tally = tally.plus(made.tally)
        table, known = together(parts), np.concatenate(numbers)
        by_number = np.argsort(known)
        return Whole(table.take(by_number), known[by_number]), tally

    def join(self, other: Relation, columns: Sequence[str]) -> Whole:
        if not isinstance(other, Whole):
            raise TypeError("relations of two engines are not joined")
        _, here, there = np.intersect1d(
            self.numbers, other.numbers, assume_unique=True, return_indices=True
        )
        taken = other.only(columns).table.take(there)
        marks = {name: taken.marks.get(name, np.zeros(there.size, bool)) for name in columns}
        joined = self.table.take(here).with_columns(taken.frame, (c for c in taken.schema), marks)
        return Whole(joined, self.numbers[here])

    def write(
        self,
        folder: Path,
        order: Callable[[np.ndarray], np.ndarray] | None,
        alignment: Path | None = None,
        beside: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Path]:
        keys = (self.numbers,) if order is None else (self.numbers, order(self.numbers))
        path, rows = folder / "part-00000.parquet", np.lexsort(keys)
        frame = self.table.take(rows).frame
        write_parquet(frame.drop(each(beside)), path)
        if alignment is not None:
            more = frame.select(exactly(name).alias(told) for name, told in beside.items())
            write_parquet(aligned(self.numbers[rows], 0, more), alignment / path.name)
        return [path]


def aligned(numbers: np.ndarray, first: int, more: pl.DataFrame) -> pl.DataFrame:
    """Which record each published row was, the first of these being row `first`, and more of it."""
    rows = np.arange(first, first + numbers.size, dtype=np.int64)
    known = pl.DataFrame({"published_row": rows, "original_row": numbers.astype(np.int64)})
    return known.hstack(more)


class TooMany(MethodError):
    """More combinations of values occur than may be counted in one place."""


def too_many(columns: Sequence[str], most: int) -> TooMany:
    """The error about more combinations than may be counted in one place."""
    return TooMany(
        f"{', '.join(columns)}: more than {most:,} combinations of values occur",
        remedy="leave out a column, or generalize one first",
    )


def checked_ranks(column: str, ranks: Sequence[int], count: int) -> np.ndarray:
    """The ranks (int64), if so many values are there."""
    found = np.asarray(ranks, dtype=np.int64)
    if found.size and not 0 <= found.min() <= found.max() < count:
        raise MethodError(
            f"column {column!r} has {count:,} values, and no value of rank {found.max():,}",
            remedy="leave it out of `columns`",
        )
    return found
