"""`SparkRelation`: records as parts in the partitions of Spark frames."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, reduce
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ...data.exact import each
from ...data.schema import Schema
from ...data.table import Table
from ...errors import OutputError
from ..batches import distinct
from ..relation import (
    MOST_COUNTED,
    Counted,
    Masked,
    Part,
    Relation,
    Tally,
    checked_ranks,
    too_many,
)
from ..working import row_bytes, searched_at_once
from . import counting, workers
from .cells import (
    BUCKET,
    MADE,
    SCHEMA_OF_PACKETS,
    SCHEMA_OF_WORDS,
    heard,
    rows_of_file,
    rows_of_part,
    schema_of_cells,
)
from .layers import Division, Layer, Opened, cells_like, layers_of
from .selection import bounds, ordered_keys, selected, values_of

if TYPE_CHECKING:
    from .engine import Spark

Keys = Callable[[Table, np.ndarray], np.ndarray]
_BY_COUNTS = (pl.String, pl.Int128, pl.UInt128)


class SparkRelation(Relation):
    """Records in Spark: each column from one of some layers; the records are those that all layers
    of `among` have."""

    def __init__(
        self, engine: Spark, like: Table, where: Mapping[str, Layer], among: Sequence[Layer]
    ) -> None:
        self.engine, self._like = engine, like
        self._where = {name: where[name] for name in like.names}
        self._among = tuple(dict.fromkeys(among))
        self.schema = like.schema

    @property
    def empty(self) -> Table:
        return self._like

    @property
    def height(self) -> int:
        return self._height

    @cached_property
    def _height(self) -> int:
        partial_ones = [layer for layer in self._among if not layer.complete]
        if len(partial_ones) < 2:
            return (partial_ones or self._among)[0].height
        return sum(self.fold([], _counted))

    def only(self, columns: Sequence[str]) -> SparkRelation:
        schema = self.schema.only(columns)
        return self._with(Table(self.empty.frame.select(each(schema.names)), schema))

    def with_schema(self, schema: Schema) -> SparkRelation:
        return self._with(self.empty.with_schema(schema))

    def _with(self, like: Table) -> SparkRelation:
        return SparkRelation(self.engine, like, self._where, self._among)

    def _mapped(self, work: Callable[[Opened], workers.Work], schema: str) -> Any:
        """A Spark frame of what workers make of all parts."""
        frame, opened = layers_of(self.empty, self._where, self._among)
        return frame.mapInArrow(work(opened), schema)

    def room(self, columns: Sequence[str]) -> int:
        # What a group becomes passes through Java, too.
        return searched_at_once(self.empty, columns, 3 * self.engine.bucket_bytes)

    def count_by(self, columns: Sequence[str], most: int = MOST_COUNTED) -> Counted:
        data = self.only(columns)
        counted = data._by_bucket().mapInArrow(
            counting.recounting(rows_of_part(data.empty)), counting.SCHEMA_OF_COUNTS
        )
        stored = self.engine.stored(f"counting {', '.join(columns)}", counted)
        if stored.rows > most:
            raise too_many(columns, most)
        found = self.engine.session.fetched("fetching counts", stored.frame)
        return Counted(*distinct(*counting.counts_of(found, data.empty)))

    def class_sizes(self, columns: Sequence[str]) -> np.ndarray:
        """Sizes of classes and how many classes have each (int64, m x 2)."""
        sized = self.only(columns)._by_bucket().mapInArrow(counting.sizing, "key long, n long")
        return np.column_stack(self._summed("counting classes", sized))

    def _by_bucket(self) -> Any:
        """Distinct rows with counts, all of one row in one bucket."""
        buckets = self.engine.partitions
        sent = self._mapped(partial(counting.counting, buckets=buckets), SCHEMA_OF_PACKETS)
        return sent.repartitionById(buckets, BUCKET)

    def order_statistics(self, column: str, ranks: Sequence[int]) -> pl.Series:
        dtype = self.only([column]).empty.frame.dtypes[0]
        if isinstance(dtype, pl.List | pl.Categorical) or dtype in _BY_COUNTS:
            return self._ranked_by_counts(column, ranks)
        keys = partial(_keys_of_values, column)
        count, least, greatest = self._bounds([column], keys)
        wanted = checked_ranks(column, ranks, count)
        histogram = partial(self._histogram, [column])
        found, _ = selected(keys, wanted, least, greatest, histogram)
        return values_of(found, dtype).alias(column)

    def _ranked_by_counts(self, column: str, ranks: Sequence[int]) -> pl.Series:
        found = self.count_by([column])
        present = found.table[column].is_not_null().to_numpy()
        ends = np.cumsum(found.count * present)
        wanted = checked_ranks(column, ranks, int(ends[-1]) if ends.size else 0)
        return found.table[column].gather(np.searchsorted(ends, wanted, side="right"))

    def _bounds(self, columns: Sequence[str], keys: Keys) -> tuple[int, int, int]:
        """How many keys there are, the least and the greatest."""
        found = [one for one in self.fold(columns, partial(bounds, keys)) if one[0]]
        if not found:
            return 0, 0, 0
        counts, least, greatest = zip(*found, strict=True)
        return sum(counts), min(least), max(greatest)

    def _histogram(self, columns: Sequence[str], keys: Keys) -> tuple[np.ndarray, np.ndarray]:
        work = partial(workers.histogram, keys=keys)
        return self._summed(
            "looking for ranks", self.only(columns)._mapped(work, "key long, n long")
        )

    def _summed(self, what: str, frame: Any) -> tuple[np.ndarray, np.ndarray]:
        """Keys in order, and the sum of what was counted of each."""
        total = frame.groupBy("key").sum("n").withColumnRenamed("sum(n)", "n")
        found = self.engine.session.fetched(what, total)
        key, n = found.column("key").to_numpy(), found.column("n").to_numpy()
        order = np.argsort(key)
        return key[order], n[order]

    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        work = partial(workers.folding, summary=summary)
        frame = self.only(columns)._mapped(work, SCHEMA_OF_WORDS)
        found = self.engine.session.fetched("summing up", frame)
        return [one for [one] in heard(found.column(MADE).to_pylist())]

    def map_parts(self, masked: Masked) -> tuple[SparkRelation, Tally]:
        none = _outcome(masked, self.empty)
        width = len(none.table.names)
        work = partial(workers.mapping, masked=masked, width=width)
        frame = self._mapped(work, schema_of_cells(width))
        return self._made("masking parts", frame, none, self._division)

    def map_groups(
        self, route: Callable[[Table, np.ndarray], np.ndarray], masked: Masked
    ) -> tuple[SparkRelation, Tally]:
        none = _outcome(masked, self.empty)
        width, buckets = len(none.table.names), self._buckets(none.table)
        bucket = partial(_scattered, buckets)
        work = partial(workers.routing, keys=route, bucket=bucket)
        sent = self._mapped(work, SCHEMA_OF_PACKETS).repartitionById(buckets, BUCKET)
        made = sent.mapInArrow(workers.grouping(self.empty, masked, bucket), SCHEMA_OF_PACKETS)
        back = made.repartitionById(buckets, BUCKET).mapInArrow(
            workers.returning(none.table, width), schema_of_cells(width)
        )
        return self._made("masking groups", back, none, self._division)

    @property
    def _division(self) -> Division:
        return self._among[0].division

    def join(self, other: Relation, columns: Sequence[str]) -> SparkRelation:
        if not isinstance(other, SparkRelation):
            raise TypeError("relations of two engines are not joined")
        wanted = other.only(columns)
        if other._division is not self._division:
            return self._joined_by_records(wanted)
        like = workers.with_columns_of(self.empty, wanted.empty)
        where = {**self._where, **wanted._where}
        return SparkRelation(self.engine, like, where, (*self._among, *other._among))

    def _joined_by_records(self, other: SparkRelation) -> SparkRelation:
        """The same, where the other's records were divided otherwise."""
        like = workers.with_columns_of(self.empty, other.empty)
        width, buckets = len(like.names), self._buckets()
        bucket = partial(_scattered, buckets)
        one, two = (
            data._mapped(partial(workers.sending, side=side, bucket=bucket), SCHEMA_OF_PACKETS)
            for side, data in enumerate((self, other))
        )
        work = workers.joining(self.empty, other.empty, width)
        joined = one.union(two).repartitionById(buckets, BUCKET)
        frame = joined.mapInArrow(work, schema_of_cells(width))
        return self._made("joining", frame, Part(like), None)[0]

    def _buckets(self, made: Table | None = None) -> int:
        """In how many buckets records are gathered, so that each fits into a worker, and what is
        made of it."""
        size = max(row_bytes(one) for one in (self.empty, made) if one is not None) * self.height
        return max(self.engine.partitions, -(-size // self.engine.bucket_bytes))

    def _made(
        self, what: str, frame: Any, none: Part, division: Division | None
    ) -> tuple[SparkRelation, Tally]:
        """What was made of all parts; `none` is what becomes of no records."""
        stored = self.engine.stored(what, frame)
        tally = reduce(Tally.plus, stored.made) if stored.made else none.tally
        like = none.table
        layer = Layer(
            division or Division(stored.rows),
            stored.frame,
            cells_like(like),
            stored.rows,
            stored.owner,
        )
        return SparkRelation(self.engine, like, dict.fromkeys(like.names, layer), (layer,)), tally

    def write(
        self,
        folder: Path,
        order: Callable[[np.ndarray], np.ndarray] | None,
        alignment: Path | None = None,
        beside: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Path]:
        sent, firsts = self.in_order(order)
        targets = [folder] if alignment is None else [folder, alignment]
        held = [target / "_temporary" for target in targets]
        try:
            for one in held:
                one.mkdir(mode=0o700)
            frame = sent.mapInArrow(
                workers.writing(self.empty, held, dict(beside), firsts), SCHEMA_OF_WORDS
            )
            found = self.engine.session.fetched("writing", frame)
            parts = sorted(heard(found.column(MADE).to_pylist()))
            if sum(rows for _, _, rows in parts) != self.height:
                raise OutputError("records were lost on the way", remedy="see Spark's log")
            if not parts:
                nothing = (self.empty, np.empty(0, dtype=np.uint64))
                parts = [(0, workers.written(*nothing, held, dict(beside), 0), 0)]
            paths = [_renamed([name for _, name, _ in parts], target) for target in targets]
            return paths[0]
        finally:
            # What attempts that did not count have left, and may still be about to write.
            for one in held:
                shutil.rmtree(one, ignore_errors=True)

    def in_order(self, order: Callable[[np.ndarray], np.ndarray] | None) -> tuple[Any, np.ndarray]:
        """A Spark frame whose partitions are to be sorted one by one, and how many records come
        before each."""
        keys = partial(_keys_of_order, order)
        cuts, firsts = self._cuts(keys)
        work = partial(workers.routing, keys=keys, bucket=partial(_ranged, cuts))
        sent = self._mapped(work, SCHEMA_OF_PACKETS)
        return sent.repartitionById(firsts.size, BUCKET), firsts

    def _cuts(self, keys: Keys) -> tuple[np.ndarray, np.ndarray]:
        """The keys (uint64) at which the second file and those after it begin, and how many records
        come before each file. They are at ranks that only the types decide, so that the files are
        the same however the records were divided."""
        rows = rows_of_file(self.empty)
        ranks = np.arange(rows, self.height, rows, dtype=np.int64)
        if not ranks.size:
            return np.empty(0, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        _, least, greatest = self._bounds([], keys)
        found, below = selected(keys, ranks, least, greatest, partial(self._histogram, []))
        cuts, places = np.unique(found, return_index=True)
        kept = below[places] > 0
        return cuts[kept], np.concatenate([[0], below[places][kept]])


def _outcome(masked: Masked, empty: Table) -> Part:
    """What becomes of no records."""
    made = masked(empty, np.empty(0, dtype=np.uint64))
    return Part(Table(made.table.frame.clear(), made.table.schema), None, made.tally)


def _counted(part: Table, numbers: np.ndarray) -> int:
    return int(numbers.size)


def _scattered(buckets: int, keys: np.ndarray) -> np.ndarray:
    """The bucket of each key (int32): keys that are alike or near do not crowd into one."""
    mixed = keys.astype(np.int64).view(np.uint64) if keys.dtype != np.uint64 else keys
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.asarray((mixed >> np.uint64(33)) % np.uint64(buckets), dtype=np.int32)


def _ranged(cuts: np.ndarray, keys: np.ndarray) -> np.ndarray:
    return np.searchsorted(cuts, keys, side="right").astype(np.int32)


def _keys_of_order(
    order: Callable[[np.ndarray], np.ndarray] | None, part: Table, numbers: np.ndarray
) -> np.ndarray:
    return numbers if order is None else np.asarray(order(numbers), dtype=np.uint64)


def _keys_of_values(column: str, part: Table, numbers: np.ndarray) -> np.ndarray:
    return ordered_keys(part[column].drop_nulls())


def _renamed(names: Sequence[str], folder: Path) -> list[Path]:
    """The files that count, under the names that tell their order."""
    paths = [folder / f"part-{index:05d}.parquet" for index in range(len(names))]
    for name, path in zip(names, paths, strict=True):
        (folder / "_temporary" / name).rename(path)
    return paths
