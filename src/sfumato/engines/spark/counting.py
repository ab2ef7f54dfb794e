"""How workers count distinct rows: each task those of its parts, then each bucket those it is sent.

Rows are compared as plain keys: floats as their bits, which tell -0.0 from 0.0, and what was
suppressed beside what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from ...data.exact import each
from ...data.table import Table
from ..batches import NUMBER, loaded, stored
from .cells import MADE, PACKET, packed, packet_batch, unpacked
from .layers import Opened

_COUNT = "__count"
_MOST_PENDING = 1 << 21
_BITS: dict[Any, Any] = {pl.Float64: pa.int64(), pl.Float32: pa.int32()}
_OLD = pl.CompatLevel.oldest()
SCHEMA_OF_COUNTS = f"rows long, {MADE} binary, {PACKET} binary"
Batches = Iterable[pa.RecordBatch]


def keyed(part: Table) -> pl.DataFrame:
    """The rows as keys."""
    arrow = stored(part, np.zeros(part.height), part.names).drop_columns([NUMBER])
    columns = []
    for name, column in zip(arrow.column_names, arrow.columns, strict=True):
        dtype = part.frame.schema.get(name)
        if dtype in _BITS:
            column = pa.chunked_array([c.view(_BITS[dtype]) for c in column.chunks], _BITS[dtype])
        series = pl.Series(name, column)
        if isinstance(dtype, pl.List) and series.explode().dtype.is_float():
            series = series.cast(pl.List(pl.String))
        columns.append(series)
    return pl.DataFrame(columns)


def unkeyed(keys: pl.DataFrame, like: Table) -> Table:
    """The rows that keys stand for."""
    arrow = keys.to_arrow(compat_level=_OLD)
    for place, (name, dtype) in enumerate(like.frame.schema.items()):
        if dtype in _BITS:
            wanted = pa.float64() if dtype == pl.Float64 else pa.float32()
            chunks = [chunk.view(wanted) for chunk in arrow.column(place).chunks]
            arrow = arrow.set_column(place, name, pa.chunked_array(chunks, wanted))
    return loaded(arrow, like)[0]


def _added(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """The distinct keys of all frames, with their counts."""
    if len(frames) == 1:
        return frames[0]
    every = pl.concat(frames)
    names = [name for name in every.columns if name != _COUNT]
    return every.group_by(each(names)).agg(pl.col(_COUNT).sum())


def _of_task(opened: Opened, batches: Batches) -> pl.DataFrame | None:
    pending: list[pl.DataFrame] = []
    for batch in batches:
        for _, part, _ in opened.parts(batch):
            keys = keyed(part)
            pending.append(
                keys.group_by(each(keys.columns)).agg(pl.len().cast(pl.Int64).alias(_COUNT))
            )
            if sum(frame.height for frame in pending[1:]) > _MOST_PENDING:
                pending = [_added(pending)]
    return _added(pending) if pending else None


def counting(opened: Opened, buckets: int) -> Any:
    """The distinct rows of a task's parts with their counts, each for the bucket that adds it up.

    The bucket is that of a hash, which is the same wherever Polars has the same version.
    """

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        found = _of_task(opened, batches)
        if found is None:
            return
        hashes = found.drop(_COUNT).hash_rows(0)
        places = (hashes % buckets).cast(pl.Int32).alias("place")
        for key, frame in found.with_columns(places).partition_by("place", as_dict=True).items():
            sent = frame.drop("place").to_arrow(compat_level=_OLD)
            yield packet_batch(int(key[0]), packet=packed(sent))

    return work


def _of_bucket(batches: Batches) -> pl.DataFrame | None:
    pending: list[pl.DataFrame] = []
    for batch in batches:
        for packet in batch.column(PACKET):
            pending.append(pl.DataFrame(pl.from_arrow(unpacked(packet.as_buffer()))))
    return _added(pending) if pending else None


def recounting(rows: int) -> Any:
    """The distinct rows of a bucket with their counts, so many at a time."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        found = _of_bucket(batches)
        for frame in found.iter_slices(rows) if found is not None else ():
            raw = packed(frame.to_arrow(compat_level=_OLD))
            yield pa.RecordBatch.from_arrays(
                [pa.array([frame.height]), pa.array([None], pa.binary()), pa.array([raw])],
                ["rows", MADE, PACKET],
            )

    return work


def sizing(batches: Batches) -> Iterator[pa.RecordBatch]:
    """How many distinct rows of a bucket occur how often."""
    found = _of_bucket(batches)
    if found is not None:
        sizes = found.group_by(pl.col(_COUNT).alias("key")).agg(pl.len().cast(pl.Int64).alias("n"))
        yield from sizes.to_arrow(compat_level=_OLD).to_batches()


def counts_of(found: pa.Table, like: Table) -> tuple[Table, np.ndarray]:
    """The distinct rows that came, in any order, and their counts."""
    frames = [
        pl.DataFrame(pl.from_arrow(unpacked(packet.as_buffer()))) for packet in found.column(PACKET)
    ]
    if not frames:
        return like, np.empty(0, dtype=np.int64)
    every = _added(frames)
    return unkeyed(every.drop(_COUNT), like), every.get_column(_COUNT).to_numpy()
