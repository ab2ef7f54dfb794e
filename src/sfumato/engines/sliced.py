"""Records in files of this machine, a slice in memory at a time: the relation out of core.

Each column stands in some layer; a step makes a layer of the columns that it was given, and all
others stay where they are until the records are written. Records that a step dropped are missing
from its layer, and thereby from the relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import polars as pl

from ..data.exact import each
from ..data.schema import Schema
from ..data.table import Table
from ..progress import report
from .batches import MARK, NUMBER, loaded, stored
from .layers import Layer, Load, by_number
from .relation import MOST_COUNTED, Counted, Masked, Part, Relation, Tally
from .shuffling import arranged, grouped, joined, written
from .sql import counted, selected, sizes
from .working import Workshop, row_bytes, searched_at_once


class Columns(Protocol):
    """Columns of all records: a layer, or the input."""

    empty: Table
    height: int
    marked: set[str]

    def loads(self, columns: Sequence[str], count: int) -> Iterator[Load]:
        """How each slice is read: numbers in order, these columns, and marks if there are any."""

    @property
    def slices(self) -> int:
        """How many slices there are."""


class Sliced(Relation):
    """Records by slices.

    `where` tells in which layer each column stands; the records are those that all layers of
    `among` have.
    """

    def __init__(
        self,
        shop: Workshop,
        empty: Table,
        where: Mapping[str, Columns],
        among: tuple[Columns, ...],
    ) -> None:
        self.shop, self.where, self.among = shop, where, among
        self._empty = empty
        self.schema = empty.schema

    @property
    def empty(self) -> Table:
        return self._empty

    @property
    def height(self) -> int:
        return self._height

    @cached_property
    def _height(self) -> int:
        if len(self.among) == 1:
            return self.among[0].height
        return sum(self.fold([], _height))

    @cached_property
    def _slices(self) -> int:
        return min(layer.slices for layer in self.among)

    def only(self, columns: Sequence[str]) -> Sliced:
        schema = self.schema.only(columns)
        return self._like(Table(self.empty.frame.select(each(schema.names)), schema))

    def with_schema(self, schema: Schema) -> Sliced:
        return self._like(self.empty.with_schema(schema))

    def room(self, columns: Sequence[str]) -> int:
        return searched_at_once(self.empty, columns, self.shop.memory // (self.shop.threads + 1))

    def count_by(self, columns: Sequence[str], most: int = MOST_COUNTED) -> Counted:
        empty, marks = self.only(columns).empty, self._marked(columns)
        return Counted(*counted(self.shop, self._batches(columns), empty, marks, most))

    def class_sizes(self, columns: Sequence[str]) -> np.ndarray:
        if not columns:
            return super().class_sizes(columns)
        empty, marks = self.only(columns).empty, self._marked(columns)
        return sizes(self.shop, self._batches(columns), empty, marks)

    def _marked(self, columns: Sequence[str]) -> list[str]:
        return [name for name in columns if name in self.where[name].marked]

    def order_statistics(self, column: str, ranks: Sequence[int]) -> pl.Series:
        return selected(self.shop, self._batches([column]), self.only([column]).empty, ranks)

    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        chosen = self.only(columns)
        tasks = (partial(_summed, load, chosen.empty, summary) for load in chosen.loads(columns))
        return list(self._told("reading", tasks))

    def map_parts(self, masked: Masked) -> tuple[Sliced, Tally]:
        layer, tally = self._layer(masked)
        tasks = (partial(_mapped, load, self.empty, masked, layer.empty) for load in self.loads())
        for arrow, counts in self._told("masking", tasks):
            layer.add(by_number(arrow))
            tally = tally.plus(counts)
        return self._of(layer), tally

    def map_groups(
        self, route: Callable[[Table, np.ndarray], np.ndarray], masked: Masked
    ) -> tuple[Sliced, Tally]:
        layer, tally = self._layer(masked)
        routed = (partial(_routed, load, self.empty, route) for load in self.loads())
        groups = grouped(self.shop, self._told("routing", routed), self._bytes())
        tasks = (
            partial(_mapped, partial(_same, one), self.empty, masked, layer.empty) for one in groups
        )
        done = self.shop.in_order(tasks)
        for arrow, counts in _gathered(done, self.shop.bucket):
            layer.scatter(arrow)
            tally = tally.plus(counts)
        return self._of(layer), tally

    def _bytes(self) -> int:
        """About how large all records are: lists and texts may be of any length, so that some are
        looked at, in the first slice that has any."""
        for load in self.loads():
            if (arrow := load()).num_rows:
                return int(arrow.nbytes) * self.height // int(arrow.num_rows)
        return 0

    def join(self, other: Relation, columns: Sequence[str]) -> Sliced:
        if not isinstance(other, Sliced):
            raise TypeError("relations of two engines are not joined")
        taken = other.only(columns).empty
        empty = self.empty.with_columns(taken.frame, (column for column in taken.schema))
        where = {**self.where, **{name: other.where[name] for name in columns}}
        return Sliced(self.shop, empty, where, tuple(dict.fromkeys((*self.among, *other.among))))

    def write(
        self,
        folder: Path,
        order: Callable[[np.ndarray], np.ndarray] | None,
        alignment: Path | None = None,
        beside: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Path]:
        size = row_bytes(self.empty) * self.height
        slices = self._told("writing", self.loads())
        if order is None:
            tables = joined(slices, self.shop.bucket)
            return written(tables, self.empty, folder, alignment, beside)
        reach = self._slices * self.shop.rows
        tables = arranged(self.shop, slices, order, reach, size, alignment is not None)
        return written(tables, self.empty, folder, alignment, beside)

    def loads(self, columns: Sequence[str] | None = None) -> Iterator[Load]:
        """How each slice's Arrow table is read, with these columns or all."""
        names = self.empty.names if columns is None else columns
        layers: dict[Columns, list[str]] = {layer: [] for layer in self.among}
        for name in names:
            layers.setdefault(self.where[name], []).append(name)
        count = self._slices
        read = [layer.loads(listed, count) for layer, listed in layers.items()]
        for loads in zip(*read, strict=True):
            yield partial(_aligned, loads, len(self.among), names)

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        return self._told("counting", self.loads(columns))

    def _told(self, what: str, tasks: Iterator[Callable[[], Any]]) -> Iterator[Any]:
        for done, found in enumerate(self.shop.in_order(tasks), 1):
            report(what, done, self._slices)
            yield found

    def _layer(self, masked: Masked) -> tuple[Layer, Tally]:
        """A place for what a function makes, and what it counts where there is nothing."""
        made = masked(self.empty, np.empty(0, dtype=np.uint64))
        layer = Layer(self.shop.scratch.fresh("layer"), self.shop.rows, made.table)
        return layer, Tally() if self.height else made.tally

    def _like(self, empty: Table) -> Sliced:
        return Sliced(self.shop, empty, self.where, self.among)

    def _of(self, layer: Layer) -> Sliced:
        where = dict.fromkeys(layer.empty.names, layer)
        return Sliced(self.shop, layer.empty, where, (layer,))


def _aligned(loads: Sequence[Load], among: int, names: Sequence[str]) -> Any:
    """The columns of all layers for the records that the first `among` of these have."""
    tables = [load() for load in loads]
    if len(tables) == 1:
        return tables[0]
    numbers = [table.column(NUMBER).to_numpy() for table in tables]
    kept = numbers[0]
    for other in numbers[1:among]:
        if other.size != kept.size or not np.array_equal(other, kept):
            kept = np.intersect1d(kept, other, assume_unique=True)
    columns: dict[str, Any] = {NUMBER: kept}
    for table, found in zip(tables, numbers, strict=True):
        chosen = table if found.size == kept.size else table.take(np.searchsorted(found, kept))
        columns |= {n: chosen.column(n) for n in chosen.column_names if n != NUMBER}
    import pyarrow as pa

    ordered = [NUMBER, *names, *(n for n in columns if n.startswith(MARK))]
    return pa.table({name: columns[name] for name in ordered})


def _same(arrow: Any) -> Any:
    return arrow


def _gathered(made: Iterable[tuple[Any, Tally]], size: int) -> Iterator[tuple[Any, Tally]]:
    """What groups became, several of them at a time: a group is small, and slices are many."""
    import pyarrow as pa

    held: list[Any] = []
    tally, length = Tally(), 0
    for arrow, counts in made:
        held.append(arrow)
        tally, length = tally.plus(counts), length + arrow.nbytes
        if length >= size:
            yield pa.concat_tables(held, promote_options="default"), tally
            held, tally, length = [], Tally(), 0
    if held:
        yield pa.concat_tables(held, promote_options="default"), tally


def _height(part: Table, numbers: np.ndarray) -> int:
    return int(numbers.size)


def _summed(load: Load, empty: Table, summary: Callable[[Table, np.ndarray], Any]) -> Any:
    return summary(*loaded(load(), empty))


def _mapped(load: Load, empty: Table, masked: Masked, like: Table) -> tuple[Any, Tally]:
    made, numbers, tally = _masked(load(), empty, masked, like)
    return stored(made, numbers), tally


def _masked(
    arrow: Any, empty: Table, masked: Masked, like: Table
) -> tuple[Table, np.ndarray, Tally]:
    """What became of a part, with the numbers of its records."""
    part, numbers = loaded(arrow, empty)
    made: Part = masked(part, numbers)
    if made.table.frame.schema != like.frame.schema:
        wrong = set(made.table.frame.schema.items()) ^ set(like.frame.schema.items())
        raise TypeError(f"types depend on what a part holds: {sorted(map(str, wrong))}")
    return made.table, numbers if made.rows is None else numbers[made.rows], made.tally


def _routed(
    load: Load, empty: Table, route: Callable[[Table, np.ndarray], np.ndarray]
) -> tuple[Any, np.ndarray]:
    arrow = load()
    return arrow, np.asarray(route(*loaded(arrow, empty)), dtype=np.int64)
