"""A relation whose records go by other numbers: random numbers that belong to people, not to rows.

Whoever looks at parts, or masks them, is handed the other numbers; records still lie where they
lie, and are joined and written by their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from ..data.schema import Column, Kind, Schema
from ..data.table import Table
from .relation import MOST_COUNTED, Counted, Masked, Part, Relation, Tally

OTHER, WHOSE, NOW = "__other", "__whose", "as published"
"""Columns beside those of a table, by whoever runs plans: of the other numbers (uint64), of whose a
record is, and of what is published in place of a value. No column of a table is called so."""


class Renumbered(Relation):
    """Records with a column of other numbers."""

    def __init__(self, data: Relation) -> None:
        self.data = data
        self.schema = data.schema.only([n for n in data.schema.names if n != OTHER])

    @property
    def height(self) -> int:
        return self.data.height

    @property
    def empty(self) -> Table:
        return self.data.empty.without([OTHER])

    def only(self, columns: Sequence[str]) -> Renumbered:
        return Renumbered(self.data.only([*columns, OTHER]))

    def with_schema(self, schema: Schema) -> Renumbered:
        return Renumbered(self.data.with_schema(schema.with_column(self.data.schema[OTHER])))

    def count_by(self, columns: Sequence[str], most: int = MOST_COUNTED) -> Counted:
        return self.data.count_by(columns, most)

    def class_sizes(self, columns: Sequence[str]) -> np.ndarray:
        return self.data.class_sizes(columns)

    def order_statistics(self, column: str, ranks: Sequence[int]) -> pl.Series:
        return self.data.order_statistics(column, ranks)

    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        return self.data.fold([*columns, OTHER], partial(_handed, summary))

    def map_parts(self, masked: Masked) -> tuple[Relation, Tally]:
        return self.data.map_parts(partial(_handed, masked))

    def map_groups(
        self, route: Callable[[Table, np.ndarray], np.ndarray], masked: Masked
    ) -> tuple[Relation, Tally]:
        return self.data.map_groups(partial(_handed, route), partial(_handed, masked))

    def join(self, other: Relation, columns: Sequence[str]) -> Renumbered:
        there = other.data if isinstance(other, Renumbered) else other
        return Renumbered(self.data.join(there, columns))

    def write(
        self,
        folder: Path,
        order: Callable[[np.ndarray], np.ndarray] | None,
        alignment: Path | None = None,
        beside: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Path]:
        raise TypeError("what is published is written by its own numbers")


def _handed(function: Callable[[Table, np.ndarray], Any], part: Table, numbers: np.ndarray) -> Any:
    """What a function gives of a part that goes by the other numbers."""
    return function(part.without([OTHER]), part[OTHER].to_numpy())


def renumbered(
    data: Relation,
    numbers: Callable[[Table, np.ndarray], np.ndarray],
    route: Callable[[Table, np.ndarray], np.ndarray] | None = None,
) -> Relation:
    """The other numbers alone, of parts, or of groups that belong together."""
    make = partial(_numbers, numbers)
    return (data.map_parts(make) if route is None else data.map_groups(route, make))[0]


def _numbers(
    numbers: Callable[[Table, np.ndarray], np.ndarray], part: Table, own: np.ndarray
) -> Part:
    series = pl.Series(OTHER, numbers(part, own), dtype=pl.UInt64)
    return Part(Table(series.to_frame(), Schema([Column(OTHER, Kind.INTEGER)])))
