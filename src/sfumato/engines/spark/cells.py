"""Parts as rows of Spark: a row is a part of the records, a cell one of its columns as Arrow bytes.

Spark then divides, shuffles, stores and commits parts without looking into them: no type of a
column has to be one of Spark's, which knows neither unsigned numbers, nor categories, nor
nanoseconds, and takes 0.0 for -0.0. Columns that nobody asks for are not read, and nothing is taken
apart into rows and put together again.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ...data.table import Table
from ..batches import MARK, NUMBER, stored
from ..working import row_bytes

PART, ROWS, MADE, NUMBERS, BUCKET, PACKET = "part", "rows", "made", "numbers", "bucket", "packet"
_PART_BYTES, _FILE_BYTES = 16 << 20, 64 << 20
_MOST_ROWS, _LEAST_ROWS = 1 << 18, 1 << 10
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


def place(index: int) -> str:
    """What Spark calls a column: its own names are alike where only their case differs."""
    return f"c{index}"


def schema_of_cells(width: int) -> str:
    """Spark's words for rows that are parts."""
    cells = [f"{name} binary" for name in (MADE, NUMBERS, *map(place, range(width)))]
    return ", ".join([f"{PART} long", f"{ROWS} long", *cells])


SCHEMA_OF_PACKETS = f"{BUCKET} int, {MADE} binary, {PACKET} binary"
SCHEMA_OF_WORDS = f"{MADE} binary"


def packed(arrow: pa.Table) -> bytes:
    """An Arrow table as bytes."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, arrow.schema, options=_OPTIONS) as writer:
        writer.write_table(arrow)
    return sink.getvalue()


def unpacked(raw: Any) -> pa.Table:
    """What `packed` was given."""
    with pa.ipc.open_stream(raw) as reader:
        return reader.read_all()


def row_of(part: Table, numbers: np.ndarray) -> dict[str, Any]:
    """The cells of a part, its records in the order of their numbers."""
    if numbers.size and not (numbers[1:] > numbers[:-1]).all():
        order = np.argsort(numbers)
        part, numbers = part.take(order), numbers[order]
    arrow = stored(part, numbers)
    names = set(arrow.column_names)
    row = {ROWS: int(numbers.size), NUMBERS: packed(arrow.select([NUMBER]))}
    for index, name in enumerate(part.names):
        both = [name, MARK + name] if MARK + name in names else [name]
        row[place(index)] = packed(arrow.select(both))
    return row


def batch_of(row: Mapping[str, Any], width: int, part: int | None = None) -> pa.RecordBatch:
    """One row as Spark takes it; cells that it lacks are null. What is no part has no place."""
    names = [MADE, NUMBERS, *map(place, range(width))]
    arrays = [pa.array([row.get(name)], pa.binary()) for name in names]
    counts = [pa.array([part], pa.int64()), pa.array([row.get(ROWS, 0)], pa.int64())]
    return pa.RecordBatch.from_arrays([*counts, *arrays], [PART, ROWS, *names])


def packets_of(
    part: Table, numbers: np.ndarray, buckets: np.ndarray, **more: np.ndarray
) -> Iterator[pa.RecordBatch]:
    """The records of a part for each bucket that some of them go to, `more` columns beside them."""
    if not buckets.size:
        return
    arrow = stored(part, numbers)
    for name, values in more.items():
        arrow = arrow.append_column(name, pa.array(values))
    order = np.argsort(buckets, kind="stable")
    arrow = arrow.take(pa.array(order)).combine_chunks()
    found, starts = np.unique(buckets[order], return_index=True)
    ends = np.append(starts[1:], order.size)
    for bucket, start, end in zip(found.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield packet_batch(bucket, packet=packed(arrow.slice(start, end - start)))


def packet_batch(
    bucket: int, made: bytes | None = None, packet: bytes | None = None
) -> pa.RecordBatch:
    """One packet as Spark takes it."""
    cells = [pa.array([made], pa.binary()), pa.array([packet], pa.binary())]
    return pa.RecordBatch.from_arrays(
        [pa.array([bucket], pa.int32()), *cells], [BUCKET, MADE, PACKET]
    )


def word_batch(made: bytes) -> pa.RecordBatch:
    """One thing that is told, as Spark takes it."""
    return pa.RecordBatch.from_arrays([pa.array([made], pa.binary())], [MADE])


def rows_of_part(like: Table) -> int:
    """How many records a part has, so that it is neither a burden nor too small to be worth it."""
    return int(np.clip(_PART_BYTES // row_bytes(like), _LEAST_ROWS, _MOST_ROWS))


def rows_of_file(like: Table) -> int:
    """How many records a written file has: the types alone decide."""
    return max(_FILE_BYTES // row_bytes(like), 1 << 16)


def told(payload: Any) -> bytes:
    """What a worker tells the driver."""
    from pyspark import cloudpickle

    found: bytes = cloudpickle.dumps(payload)
    return found


def heard(raw: Iterable[bytes | None]) -> list[Any]:
    """What workers told; the error that one of them met is raised here."""
    found = [pickle.loads(one) for one in raw if one is not None]
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found
