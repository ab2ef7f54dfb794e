"""What Spark's Python workers do with parts: each function makes one that Spark maps over its rows.

A worker that is run again, because its executor was lost or was slow, gives the same rows: nothing
depends on the order of arrival, and what is counted travels in the rows themselves. An error that
a user can mend travels so too, since Spark would try it again.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from pyarrow import parquet

from ...data.exact import each
from ...data.io.files import write_parquet
from ...data.table import Table
from ...errors import SfumatoError
from ..batches import loaded, published, stored, together
from ..relation import Masked, Part, Tally, aligned
from .cells import (
    BUCKET,
    MADE,
    PACKET,
    batch_of,
    packet_batch,
    packets_of,
    row_of,
    told,
    unpacked,
    word_batch,
)
from .layers import Opened

KEY, SIDE, OF_PART = "__key", "__side", "__part"
PAGE = 1 << 17
"""Records of a row group in what is written."""
Batches = Iterable[pa.RecordBatch]
Work = Callable[[Batches], Iterator[pa.RecordBatch]]
Keys = Callable[[Table, np.ndarray], np.ndarray]
Bucket = Callable[[np.ndarray], np.ndarray]
Found = tuple[Table, np.ndarray, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Guarded:
    """Work whose errors, where a user can mend them, become a row."""

    work: Work
    failed: Callable[[bytes], pa.RecordBatch]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.work(batches)
        except SfumatoError as error:
            yield self.failed(told(error))


def _failed_part(width: int) -> Callable[[bytes], pa.RecordBatch]:
    return lambda raw: batch_of({MADE: raw}, width)


def _failed_packet(raw: bytes) -> pa.RecordBatch:
    return packet_batch(0, raw)


def parts_of(opened: Opened, batches: Batches) -> Iterator[tuple[int, Table, np.ndarray]]:
    """All parts of a task, with their places."""
    return chain.from_iterable(map(opened.parts, batches))


def folding(opened: Opened, summary: Callable[[Table, np.ndarray], Any]) -> Work:
    """A summary of each part."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for _, part, numbers in parts_of(opened, batches):
            yield word_batch(told([summary(part, numbers)]))

    return Guarded(work, word_batch)


def mapping(opened: Opened, masked: Masked, width: int) -> Work:
    """What becomes of each part, which keeps its place."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for place, part, numbers in parts_of(opened, batches):
            made = masked(part, numbers)
            row = row_of(made.table, _left(made, numbers))
            yield batch_of({**row, MADE: told(made.tally)}, width, place)

    return Guarded(work, _failed_part(width))


def _left(made: Part, numbers: np.ndarray) -> np.ndarray:
    return numbers if made.rows is None else numbers[made.rows]


def histogram(opened: Opened, keys: Keys) -> Work:
    """How often each key (int64) occurs in a task's parts."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        found, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        for _, part, numbers in parts_of(opened, batches):
            more, count = np.unique(keys(part, numbers), return_counts=True)
            found, places = np.unique(np.concatenate([found, more]), return_inverse=True)
            total = np.zeros(found.size, dtype=np.int64)
            np.add.at(total, places, np.concatenate([counts, count]))
            counts = total
        yield pa.RecordBatch.from_arrays([pa.array(found), pa.array(counts)], ["key", "n"])

    return work


def routing(opened: Opened, keys: Keys, bucket: Bucket) -> Work:
    """Each part's records sent to the buckets of their keys, which go with them, as does the place
    of the part."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for place, part, numbers in parts_of(opened, batches):
            key = np.asarray(keys(part, numbers))
            more = {KEY: key, OF_PART: np.full(key.size, place, dtype=np.int64)}
            yield from packets_of(part, numbers, bucket(key), **more)

    return Guarded(work, _failed_packet)


def _packets(batches: Batches, tallies: list[Tally]) -> Iterator[pa.Table]:
    """The packets of a bucket; an error that was met before is met again."""
    for batch in batches:
        for made, packet in zip(batch.column(MADE), batch.column(PACKET), strict=True):
            if packet.is_valid:
                yield unpacked(packet.as_buffer())
                continue
            word = pickle.loads(made.as_py())
            if isinstance(word, Exception):
                raise word
            tallies.append(word)


def gathered(
    batches: Batches, like: Table, more: Sequence[str], tallies: list[Tally]
) -> Found | None:
    """The records of a bucket with their numbers and what came beside them, in the order of the
    first of these, and of numbers."""
    parts, numbers = [], []
    beside: Mapping[str, list[np.ndarray]] = {name: [] for name in more}
    for packet in _packets(batches, tallies):
        part, known = loaded(packet, like)
        parts.append(part)
        numbers.append(known)
        for name in more:
            beside[name].append(packet.column(name).to_numpy())
    if not parts:
        return None
    number = np.concatenate(numbers)
    columns = {name: np.concatenate(found) for name, found in beside.items()}
    order = np.lexsort((number, columns[more[0]]))
    taken = {name: column[order] for name, column in columns.items()}
    return together(parts).take(order), number[order], taken


def _cuts(keys: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where runs of one key begin and end."""
    return pairwise([0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), keys.size])


def grouping(like: Table, masked: Masked, bucket: Bucket) -> Work:
    """What becomes of the groups of a bucket, sent back to the parts that the records came from."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        found = gathered(batches, like, [KEY, OF_PART], [])
        if found is None:
            return
        table, numbers, beside = found
        made, left, places, tally = [], [], [], Tally()
        for start, end in _cuts(beside[KEY]):
            one = masked(table.take(np.arange(start, end)), numbers[start:end])
            made.append(one.table)
            left.append(_left(one, numbers[start:end]))
            places.append(_left(one, beside[OF_PART][start:end]))
            tally = tally.plus(one.tally)
        place = np.concatenate(places)
        yield packet_batch(0, told(tally))
        more = {OF_PART: place}
        yield from packets_of(together(made), np.concatenate(left), bucket(place), **more)

    return Guarded(work, _failed_packet)


def returning(like: Table, width: int) -> Work:
    """The parts of a bucket, put together again."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        tallies: list[Tally] = []
        found = gathered(batches, like, [OF_PART], tallies)
        for tally in tallies:
            yield batch_of({MADE: told(tally)}, width)
        if found is None:
            return
        table, numbers, beside = found
        for start, end in _cuts(beside[OF_PART]):
            row = row_of(table.take(np.arange(start, end)), numbers[start:end])
            yield batch_of(row, width, int(beside[OF_PART][start]))

    return Guarded(work, _failed_part(width))


def joining(left: Table, right: Table, width: int) -> Work:
    """The records of a bucket that both sides have, with the columns of both; those of the right
    side take the place of the left side's of the same name. Only for records that were divided in
    two ways."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        sides: tuple[list[Any], list[Any]] = ([], [])
        bucket = 0
        for batch in batches:
            bucket = batch.column(BUCKET)[0].as_py()
            for packet in _packets([batch], []):
                side = int(packet.column(SIDE)[0].as_py())
                sides[side].append(loaded(packet, (left, right)[side]))
        if not (sides[0] and sides[1]):
            return
        (one, here), (other, there) = (_all(side) for side in sides)
        both, rows, their = np.intersect1d(here, there, assume_unique=True, return_indices=True)
        joined = with_columns_of(one.take(rows), other.take(their))
        yield batch_of(row_of(joined, both), width, bucket)

    return Guarded(work, _failed_part(width))


def _all(parts: Sequence[tuple[Table, np.ndarray]]) -> tuple[Table, np.ndarray]:
    return together([table for table, _ in parts]), np.concatenate([known for _, known in parts])


def with_columns_of(one: Table, other: Table) -> Table:
    """A table with the columns of another of the same records."""
    nothing = np.zeros(other.height, dtype=bool)
    marks = {name: other.marks.get(name, nothing) for name in other.names}
    return one.with_columns(other.frame, iter(other.schema), marks)


def sending(opened: Opened, side: int, bucket: Bucket) -> Work:
    """Each record sent to the bucket of its number."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        for _, part, numbers in parts_of(opened, batches):
            sides = np.full(numbers.size, side, dtype=np.int8)
            yield from packets_of(part, numbers, bucket(numbers), **{SIDE: sides})

    return Guarded(work, _failed_packet)


def writing(
    like: Table, folders: Sequence[Path], beside: Mapping[str, str], firsts: np.ndarray
) -> Work:
    """The records of each bucket in order, in files of a name of their own: those of the attempt
    which succeeds are told, and are the ones that count."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        held = iter(batches)
        head = next(held, None)
        if head is None:
            return
        found = gathered(chain([head], held), like, [KEY], [])
        assert found is not None
        bucket = int(head.column(BUCKET)[0].as_py())
        name = written(found[0], found[1], folders, beside, int(firsts[bucket]))
        yield word_batch(told((bucket, name, int(found[1].size))))

    return Guarded(work, word_batch)


def written(
    table: Table,
    numbers: np.ndarray,
    folders: Sequence[Path],
    beside: Mapping[str, str],
    first: int,
) -> str:
    """The name of the file that holds the records; in a second folder one of the same name tells
    which they were, the first of them being row `first`."""
    name, arrow = secrets.token_hex(8), stored(table, numbers)
    shown = published(arrow, table.without(list(beside)))
    parquet.write_table(shown, folders[0] / name, compression="zstd", row_group_size=PAGE)
    for folder in folders[1:]:
        hidden = Table(table.frame.select(each(beside)), table.schema.only(beside))
        more = published(arrow, hidden).rename_columns(list(beside.values()))
        told_beside = pl.DataFrame([pl.Series(n, more.column(n)) for n in more.column_names])
        known = aligned(numbers, first, told_beside)
        write_parquet(known, folder / name)
    return name
