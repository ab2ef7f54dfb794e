"""Parquet and Arrow IPC files, and the types that a table can hold.

`settle` brings any frame, also one from a database, to those types: what has no kind of its own is
changed and noted, or refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from ...bounds import Limits, free_memory
from ...errors import InputError
from ..ordered import from_arrow
from .dates import ZONED, without_zone
from .source import Endpoint, present

# A broken file can make Polars panic, which is no ordinary exception.
_READING = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
_WIDEST = 16


def read_parquet(endpoint: Endpoint, limits: Limits | None = None) -> pl.DataFrame:
    """A Parquet file."""
    path = present(endpoint)
    try:
        # From memory: the table must not change when the file does.
        raw = path.read_bytes()
        if limits is not None:
            _check_parquet(raw, endpoint.label, limits)
        return _with_orders(pl.read_parquet(raw), raw)
    except _READING as error:
        raise unreadable(endpoint, "Parquet", error) from error


def _check_parquet(raw: bytes, label: str, limits: Limits) -> None:
    """Refuse what a file says of itself where that is too much; its columns may be constant, so
    that their packed size tells nothing, and what is free counts."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        told = parquet.read_metadata(pa.py_buffer(raw))
    except (pa.ArrowException, OSError):  # what only Polars can read
        return
    limits.check_columns(told.num_columns, label)
    most = max(limits.most(len(raw)), free_memory() // 2 if limits.unpacked is None else 0)
    if (told.num_rows + 1) * told.num_columns * _WIDEST < most:
        return
    widths = {"BOOLEAN": 0.125, "INT32": 4, "FLOAT": 4, "BYTE_ARRAY": 16, "INT96": 12}
    kinds = [told.schema.column(i).physical_type for i in range(told.num_columns)]
    size = int(told.num_rows * sum(widths.get(kind, 8) for kind in kinds))
    limits.check_unpacked(size, most, label, whole=True)


def _with_orders(frame: pl.DataFrame, raw: bytes) -> pl.DataFrame:
    """The frame with the orders of its categories, which pandas writes and Polars does not read."""
    if pl.Categorical not in frame.dtypes:
        return frame
    import pyarrow as pa
    from pyarrow import parquet

    buffer = pa.py_buffer(raw)
    try:
        types = {field.name: field.type for field in parquet.read_schema(buffer)}
        ordered = [n for n, of in types.items() if pa.types.is_dictionary(of) and of.ordered]
        found = parquet.read_table(buffer, columns=ordered) if ordered else None
    except pa.ArrowException:  # what only Polars can read has no order that anybody knows
        return frame
    return frame if found is None else frame.with_columns(from_arrow(found))


def read_arrow(endpoint: Endpoint, limits: Limits | None = None) -> pl.DataFrame:
    """An Arrow IPC file, or a stream saved to a file.

    Arrow's own reader, because it can check the data in full: a damaged file that is used unchecked
    takes the process down.
    """
    import pyarrow as pa

    path = present(endpoint)
    try:
        raw = path.read_bytes()
        opened = pa.ipc.open_file if raw.startswith(b"ARROW1") else pa.ipc.open_stream
        with opened(pa.py_buffer(raw)) as reader:
            if limits is not None:
                limits.check_columns(len(reader.schema), endpoint.label)
            found = _all_batches(reader, len(raw), endpoint.label, limits)
        found.validate(full=True)
        return from_arrow(found)
    except (*_READING, pa.ArrowException, MemoryError, TypeError) as error:
        raise unreadable(endpoint, "Arrow", error) from error


def _all_batches(reader: Any, packed: int, label: str, limits: Limits | None) -> Any:
    """All records; their columns may be compressed, and are counted batch by batch."""
    import pyarrow as pa

    if limits is None:
        return reader.read_all()
    batches, size, most = [], 0, limits.most(packed)
    many = getattr(reader, "num_record_batches", None)
    for batch in reader if many is None else map(reader.get_batch, range(many)):
        size += batch.nbytes
        limits.check_unpacked(size, most, label)
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def unreadable(endpoint: Endpoint, what: str, error: BaseException) -> InputError:
    """The complaint about a file that is not what its suffix says."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InputError(
        f"{endpoint.label} cannot be read as {what}: {reason}",
        remedy="check that the file is complete and that its suffix is right",
    )


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Parquet with zstd; it holds no clock, so the same table gives the same bytes."""
    frame.write_parquet(path, compression="zstd", statistics=True)


def write_arrow(frame: pl.DataFrame, path: Path) -> None:
    """Arrow IPC in its oldest layout, which every reader of Arrow understands."""
    frame.write_ipc(path, compression="zstd", compat_level=pl.CompatLevel.oldest())


def settle(frame: pl.DataFrame, label: str) -> tuple[pl.DataFrame, list[str]]:
    """The frame with every column in a type that has a kind, and what was changed."""
    notes: list[str] = []
    columns = [_settled(series, label, notes) for series in frame]
    return (pl.DataFrame(columns) if columns else frame), notes


def _settled(series: pl.Series, label: str, notes: list[str]) -> pl.Series:
    name, dtype = series.name, series.dtype
    if dtype.is_float():
        return _without_nan(series, notes)
    if dtype.is_decimal() and dtype.scale:  # type: ignore[attr-defined]
        notes.append(f"{name!r} holds decimals, read as floats")
        return series.cast(pl.Float64)
    if dtype.is_decimal() or dtype in (pl.Int128, pl.UInt128):
        return whole_or_text(series, notes)
    if dtype == pl.Null:
        notes.append(f"{name!r} holds no values")
        return series.cast(pl.String)
    if dtype == pl.Time:
        notes.append(f"{name!r} holds times of day, read as text")
        return series.dt.to_string("%H:%M:%S%.f")
    if getattr(dtype, "time_zone", None):
        notes.append(f"{name!r}: {ZONED}")
        return without_zone(series)
    if dtype == pl.Duration:
        notes.append(f"{name!r} holds durations, read as seconds")
        unit = {"ms": 1e3, "us": 1e6, "ns": 1e9}[dtype.time_unit or "us"]  # type: ignore[attr-defined]
        return series.to_physical().cast(pl.Float64) / unit
    if dtype == pl.Binary:
        notes.append(f"{name!r} holds bytes, read as hexadecimal text")
        return series.bin.encode("hex")
    if isinstance(dtype, pl.List | pl.Array):
        return _list(series, label, notes)
    if dtype.is_nested() or dtype == pl.Object:
        raise InputError(
            f"column {name!r} of {label} holds {dtype}, which is not one value",
            remedy="take its parts into columns of their own",
        )
    return series


def _without_nan(series: pl.Series, notes: list[str]) -> pl.Series:
    if series.dtype not in (pl.Float32, pl.Float64):
        series = series.cast(pl.Float32)
    if count := int(series.is_nan().sum()):
        notes.append(f"missing: NaN in {series.name!r} ({count:,} cells)")
        return series.fill_nan(None)
    return series


def whole_or_text(series: pl.Series, notes: list[str]) -> pl.Series:
    """Whole numbers of any length as 64-bit integers where all fit, else as text."""
    whole = series.cast(pl.Int64, strict=False)
    if whole.null_count() == series.null_count():
        return whole
    notes.append(f"{series.name!r} is text: some are longer than 64-bit integers")
    return series.cast(pl.String)


def _list(series: pl.Series, label: str, notes: list[str]) -> pl.Series:
    inner: Any = series.dtype.inner  # type: ignore[attr-defined]
    if inner.is_nested() or inner == pl.Object:
        raise InputError(
            f"column {series.name!r} of {label} holds lists of {inner}",
            remedy="a set-valued column holds lists of plain values",
        )
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    if inner == pl.UInt16:
        return series.rechunk()  # in one piece, so that compressed rows can share its memory
    if inner in (pl.String, pl.Boolean) or inner.is_integer() or inner == pl.Date:
        return series
    if inner != pl.Null:
        notes.append(f"{series.name!r} holds lists of {inner}, read as lists of text")
    return series.cast(pl.List(pl.String))
