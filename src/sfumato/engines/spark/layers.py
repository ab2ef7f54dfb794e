"""Columns of records in Spark, side by side: parts of the same division belong together.

A division is how the input was cut into parts. What steps make of the parts lies in layers of their
own; a relation takes each of its columns from one of them, and Spark joins the layers that are
needed by the parts' places, not by records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
import polars as pl
import pyarrow as pa

from ...data.exact import each
from ...data.table import Table
from ..batches import loaded
from .cells import NUMBERS, PART, place, unpacked


@dataclass(frozen=True, eq=False)
class Division:
    """How records were cut into parts."""

    height: int


class Source(Protocol):
    """How workers get at the columns of a layer."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """The columns that it has."""

    def wanted(self, names: Sequence[str]) -> list[str]:
        """The columns of the Spark frame that these columns are made of."""

    def load(self, row: Mapping[str, Any], like: Table) -> tuple[Table, np.ndarray]:
        """The columns of `like` for the part of a row, and its records' numbers in order."""


@dataclass(frozen=True)
class Cells:
    """Columns that lie in the cells of the row."""

    columns: Mapping[str, int]
    """Where each column lies."""
    firsts: Mapping[int, int] | None = None
    """What is added to the numbers of a part, where they begin anew in each file or task."""
    shift: int = 0
    """The bits of a part's place that do not tell the file or task."""

    def wanted(self, names: Sequence[str]) -> list[str]:
        return [NUMBERS, *(place(self.columns[name]) for name in names)]

    def load(self, row: Mapping[str, Any], like: Table) -> tuple[Table, np.ndarray]:
        tables = [unpacked(row[name].as_buffer()) for name in self.wanted(like.names)]
        arrow = pa.table({n: table.column(n) for table in tables for n in table.column_names})
        table, numbers = loaded(arrow, like)
        if self.firsts is not None:
            numbers = numbers + np.uint64(self.firsts[row[PART].as_py() >> self.shift])
        return table, numbers


def cells_like(like: Table) -> Cells:
    """Cells in the order of a table's columns."""
    return Cells({name: index for index, name in enumerate(like.names)})


@dataclass(frozen=True, eq=False)
class Layer:
    """Some columns of the records of a division, or of some of them."""

    division: Division
    frame: Any
    source: Source
    height: int
    owner: Any = None
    """What is stored for it stays as long as it does."""

    @property
    def complete(self) -> bool:
        """Whether all records of the division are there."""
        return self.height == self.division.height


@dataclass(frozen=True)
class Taken:
    """What workers take of a layer."""

    source: Source
    names: tuple[str, ...]
    prefix: str

    def of(self, frame: Any) -> Any:
        """The columns of the layer's Spark frame, with names of their own."""
        from pyspark.sql import functions

        wanted = self.source.wanted(self.names)
        return frame.select(PART, *(functions.col(n).alias(self.prefix + n) for n in wanted))

    def load(self, row: Mapping[str, Any], like: Table) -> tuple[Table, np.ndarray]:
        """The columns of a part that the layer has."""
        names = list(self.names)
        own = Table(like.frame.select(each(names)), like.schema.only(names))
        mine = {n: row[self.prefix + n] for n in self.source.wanted(self.names)}
        return self.source.load({PART: row[PART], **mine}, own)


@dataclass(frozen=True)
class Opened:
    """How workers make parts of rows."""

    like: Table
    """A table of no records, with the types and the schema that parts have."""
    taken: tuple[Taken, ...]

    def parts(self, batch: pa.RecordBatch) -> Iterator[tuple[int, Table, np.ndarray]]:
        """The parts that some rows are, with their places and their records' numbers."""
        for index in range(batch.num_rows):
            row = {n: batch.column(n)[index] for n in batch.schema.names}
            found = [taken.load(row, self.like) for taken in self.taken]
            table, numbers = side_by_side(found, self.like)
            yield int(row[PART].as_py()), table, numbers


def side_by_side(
    found: Sequence[tuple[Table, np.ndarray]], like: Table
) -> tuple[Table, np.ndarray]:
    """The records that all have, with the columns of all."""
    numbers = [known for _, known in found]
    both = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), numbers)
    tables = [_at(table, known, both) for table, known in found]
    series = {one.name: one for table in tables for one in table.frame}
    marks = {name: mark for table in tables for name, mark in table.marks.items()}
    return Table(pl.DataFrame([series[n] for n in like.names]), like.schema, marks), both


def _at(table: Table, known: np.ndarray, wanted: np.ndarray) -> Table:
    if known.size == wanted.size or not table.names:
        return table
    return table.take(np.searchsorted(known, wanted))


def layers_of(
    like: Table, where: Mapping[str, Layer], among: Sequence[Layer]
) -> tuple[Any, Opened]:
    """The Spark frame of the parts that have these columns, and how workers open it.

    `among` are the layers that tell which records there are.
    """
    used: dict[Layer, list[str]] = {}
    for name in like.names:
        used.setdefault(where[name], []).append(name)
    for layer in among:
        if not layer.complete:
            used.setdefault(layer, [])
    used = used or {among[0]: []}
    taken = tuple(
        Taken(layer.source, tuple(names), f"l{index}_")
        for index, (layer, names) in enumerate(used.items())
    )
    frames = [one.of(layer.frame) for one, layer in zip(taken, used, strict=True)]
    frame = reduce(lambda one, other: one.join(other, PART), frames)
    return frame, Opened(like, taken)
