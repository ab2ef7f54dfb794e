"""Set-valued columns of Parquet files, read and written block by block: at twenty million records
the lists of a whole column would need several times the memory of its compressed rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ...aside import replacing
from ...errors import InputError, OutputError, SchemaError
from ...progress import report
from ..exact import exactly
from ..schema import missing_column
from ..sets.packing import Block, Packing
from ..sets.table import SetTable
from .files import settle, unreadable
from .source import locate, present

_AT_ONCE = 1 << 18
"""Records that are decoded in one go."""
ROW_GROUP = 1 << 20
"""Records of each row group that is written."""


def read_sets(path: Any, column: str | None = None) -> SetTable:
    """The sets of a Parquet file's list column, the only one unless named."""
    end = locate(path, "parquet")
    try:
        with _Lists(present(end), end.label, column) as lists:
            return lists.read()
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(end, "Parquet", error) from error


class _Lists:
    """One list column of a Parquet file."""

    def __init__(self, path: Path, label: str, column: str | None) -> None:
        self.path, self.label = path, label
        with pq.ParquetFile(path) as file:
            self.name = _list_column(file.schema_arrow, label, column)
            self.type = file.schema_arrow.field(self.name).type
            paths = [file.schema.column(j).path for j in range(len(file.schema))]
        self.texts = _is_text(self.type)
        # Texts come as dictionaries, so that each is looked at once for each block.
        leaves = [path for path in paths if _belongs(path, self.name)] if self.texts else None
        self.file = pq.ParquetFile(path, read_dictionary=leaves)
        self.rows = int(self.file.metadata.num_rows)

    def __enter__(self) -> _Lists:
        return self

    def __exit__(self, *reason: object) -> None:
        self.file.close()

    def read(self) -> SetTable:
        """The column as compressed rows."""
        inner: Any = pl.String()
        if not self.texts:
            empty = pl.Series(self.name, pa.array([], type=self.type))
            inner = self._settled(empty).dtype.inner  # type: ignore[attr-defined]
        room, bounds = self._extent()
        if inner.is_integer() and bounds is None:
            ends = [one for block in self._blocks() if (one := block.bounds()) is not None]
            bounds = (min(low for low, _ in ends), max(top for _, top in ends)) if ends else None
        packing = Packing(self.name, inner, self.rows, room, bounds)
        for block in self._blocks():
            packing.put(block)
            report("reading sets", packing.count, self.rows)
        return SetTable(*packing.rows())

    def _settled(self, lists: pl.Series) -> pl.Series:
        return settle(lists.to_frame(), self.label)[0].to_series()

    def _blocks(self) -> Iterator[Block]:
        row = 0
        for group in range(self.file.metadata.num_row_groups):
            for lists in self._texts(group, row) if self.texts else self._numbers(group):
                if isinstance(lists, pl.Series):
                    yield Block.of(lists, row)
                else:
                    yield Block(lists, self.name, row)
                row += len(lists)

    def _numbers(self, group: int) -> Iterator[pl.Series]:
        for batch in self.file.iter_batches(_AT_ONCE, row_groups=[group], columns=[self.name]):
            lists = batch.column(batch.schema.get_field_index(self.name))
            yield from self._settled(pl.Series(self.name, lists)).get_chunks()

    def _texts(self, group: int, row: int) -> list[Any]:
        """A row group's lists, their texts as dictionaries where Arrow can read them so."""
        try:
            found = self.file.read_row_group(group, columns=[self.name]).column(self.name)
            if not pa.types.is_fixed_size_list(found.type):
                return list(found.chunks)
        except pa.ArrowNotImplementedError:
            pass  # a dictionary that was continued as plain text
        size = self.file.metadata.row_group(group).num_rows
        part = (
            pl.scan_parquet(self.path, glob=False)
            .select(exactly(self.name))
            .slice(row, size)
            .collect()
        )
        return self._settled(part.to_series()).get_chunks()

    def _extent(self) -> tuple[int, tuple[int, int] | None]:
        """At least how many items there are; the smallest and the largest, if the file says so."""
        room, ends = 0, []
        for at in range(self.file.metadata.num_row_groups):
            group = self.file.metadata.row_group(at)
            for j in range(group.num_columns):
                chunk = group.column(j)
                if not _belongs(chunk.path_in_schema, self.name):
                    continue
                room += chunk.num_values
                found = chunk.statistics
                known = found is not None and found.has_min_max and isinstance(found.min, int)
                ends.append((found.min, found.max) if known else None)
        if not ends or None in ends:
            return room, None
        lows, highs = zip(*(one for one in ends if one is not None), strict=True)
        return room, (min(lows), max(highs))


def _list_column(schema: Any, label: str, wanted: str | None) -> str:
    lists = [field.name for field in schema if _is_list(field.type)]
    if wanted is None:
        if len(lists) == 1:
            return str(lists[0])
        found = ", ".join(lists[:12]) or "none"
        raise InputError(
            f"{label} has {len(lists)} columns of lists, not one ({found})",
            remedy="name the `column`",
        )
    if wanted not in schema.names:
        raise SchemaError(label, [missing_column(wanted, schema.names)])
    if wanted not in lists:
        raise InputError(
            f"column {wanted!r} of {label} holds {schema.field(wanted).type}, not sets",
            remedy='read it with sf.read(..., sets={"column": ...})',
        )
    return wanted


def _is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_text(kind: Any) -> bool:
    inner = kind.value_type
    if pa.types.is_dictionary(inner):
        inner = inner.value_type
    return bool(
        pa.types.is_string(inner) or pa.types.is_large_string(inner) or inner == pa.string_view()
    )


def _belongs(path: str, name: str) -> bool:
    """Whether a leaf is name.list.element, and not that of a column whose name begins alike."""
    return path.startswith(f"{name}.") and path.count(".") <= name.count(".") + 2


def write_sets(sets: SetTable, path: Any, *, replace: bool = False) -> None:
    """The sets as the list column of a Parquet file, a row group at a time."""
    starts = range(0, max(len(sets), 1), ROW_GROUP)
    blocks = (sets.block(low, min(low + ROW_GROUP, len(sets))).to_arrow() for low in starts)
    write_lists(blocks, path, sets.names.name, len(sets), replace=replace)


def write_lists(
    blocks: Iterator[Any], path: Any, name: str, rows: int, *, replace: bool = False
) -> None:
    """Arrow lists, a row group each, as one column of a Parquet file: completely or not at all."""
    end = locate(path, "parquet")
    if os.path.lexists(end.file) and not replace:
        raise OutputError(f"{end.file} exists already", remedy="replace=True, or another path")
    done = 0
    with replacing(end.file, replace=replace) as temporary, ExitStack() as stack:
        writer = None
        for lists in blocks:
            part = pa.table({name: lists})
            if writer is None:
                # Without Arrow's own schema, which would have every reader make categories of text.
                writer = stack.enter_context(
                    pq.ParquetWriter(temporary, part.schema, compression="zstd", store_schema=False)
                )
            writer.write_table(part, row_group_size=ROW_GROUP)
            done += len(lists)
            report("writing sets", done, rows)
