"""Parquet files as they lie, read slice by slice: a record's number is its row in all of them.

Columns whose type says all are given on as they are; the others go through the readers, a slice at
a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from ..data.io.files import unreadable
from ..data.io.folders import check_alike
from ..data.io.pieces import Pieces
from ..data.io.reading import Request
from ..data.io.source import Endpoint, present
from ..data.ordered import from_arrow
from .batches import NUMBER, stored
from .layers import Load

_FIRST = 1 << 16
"""Records on which it is decided what the columns are."""
_BUFFER = 1 << 20
_PIECE = 1 << 17


class ParquetInput:
    """Columns of Parquet files."""

    def __init__(self, request: Request) -> None:
        self.parts = request.end.parts or (request.end,)
        files = [_opened(part) for part in self.parts]
        for file, part in zip(files, self.parts, strict=True):
            request.asked.limits.check_columns(file.metadata.num_columns, part.label)
        self.heights = [file.metadata.num_rows for file in files]
        self.groups = [_groups(file) for file in files]
        """How many records each row group of each file has."""
        self.height = sum(self.heights)
        self.marked: set[str] = set()
        self.rows = 1
        self.pieces = Pieces(request, _first(files[0], self.parts[0]))
        self.empty = self.pieces.empty
        types = [_types(file) for file in files]
        for found, part in zip(types[1:], self.parts[1:], strict=True):
            check_alike(found, part, types[0], self.parts[0])
        # Columns in which the reader changes nothing.
        self._plain = {
            name
            for name, dtype in self.empty.frame.schema.items()
            if types[0][name] == dtype
            and not request.asked.sentinels
            and not (dtype.is_nested() or isinstance(dtype, pl.Categorical | pl.Enum))
        }

    @property
    def slices(self) -> int:
        """How many slices there are."""
        return int(-(-self.height // self.rows))

    def loads(self, columns: Sequence[str], count: int) -> Iterator[Load]:
        """How each of the first `count` slices is read, with these columns."""
        return islice(self._loads(columns) if columns else self._numbers(), count)

    def _numbers(self) -> Iterator[Load]:
        """The numbers alone, for which no file is read."""
        for first in range(0, self.height, self.rows):
            last = min(first + self.rows, self.height)
            yield partial(_numbered, first, last)

    def _loads(self, columns: Sequence[str]) -> Iterator[Load]:
        held: list[tuple[Any, Endpoint, int]] = []
        size = first = 0
        for batch, part, before in self._batches(columns):
            while batch.num_rows:
                taken = batch.slice(0, self.rows - size)
                held.append((taken, part, before))
                size, before = size + taken.num_rows, before + taken.num_rows
                batch = batch.slice(taken.num_rows)
                if size == self.rows:
                    yield partial(self._slice, held, first)
                    held, size, first = [], 0, first + size
        if held:
            yield partial(self._slice, held, first)

    def _batches(self, columns: Sequence[str]) -> Iterator[tuple[Any, Endpoint, int]]:
        """Pieces of the files, where they come from, and how many records come before them."""
        for part in self.parts:
            with _opened(part) as file:
                before = 0
                for batch in file.iter_batches(self.rows, columns=list(columns), use_threads=False):
                    yield batch, part, before
                    before += batch.num_rows

    def lean(self) -> ParquetInput:
        """The same for workers, who need not get the records that were read first."""
        found = copy(self)
        found.pieces = self.pieces.lean()
        return found

    def piece(
        self, file: int, groups: Sequence[int], skipped: int, rows: int, columns: Sequence[str]
    ) -> Any:
        """Records of some row groups of a file as they are stored, without the first of them."""
        import pyarrow as pa

        part, wanted = self.parts[file], list(columns)
        with _opened(part) as opened:
            batches, at = [], 0
            for batch in opened.iter_batches(_PIECE, list(groups), wanted, use_threads=False):
                start, end = max(skipped - at, 0), min(skipped + rows - at, batch.num_rows)
                if start < end:
                    batches.append(batch.slice(start, end - start))
                at += batch.num_rows
                if at >= skipped + rows:
                    break
            before = sum(self.groups[file][: groups[0]]) + skipped
            return self._piece(pa.Table.from_batches(batches), part, before)

    def _slice(self, held: Sequence[tuple[Any, Endpoint, int]], first: int) -> Any:
        import pyarrow as pa

        many = sum(batch.num_rows for batch, _, _ in held)
        numbers = np.arange(first, first + many, dtype=np.uint64)
        if not held[0][0].num_columns:
            return pa.table({NUMBER: numbers})  # a table without columns would have no rows
        tables = [self._piece(pa.Table.from_batches([b]), part, row) for b, part, row in held]
        # Files of one table may hold texts of either length.
        found = pa.concat_tables(tables, promote_options="permissive") if tables[1:] else tables[0]
        return found.add_column(0, NUMBER, pa.array(numbers))

    def _piece(self, arrow: Any, part: Endpoint, before: int) -> Any:
        """A piece of a file as it is stored."""
        read = [name for name in arrow.column_names if name not in self._plain]
        made = {
            name: _without_nan(arrow.column(name)) for name in self._plain & set(arrow.column_names)
        }
        if read:
            table = self.pieces.table(from_arrow(arrow.select(read)), part, before)
            done = stored(table, np.zeros(table.height))
            made |= {name: done.column(name) for name in read}
        import pyarrow as pa

        return pa.table({name: made[name] for name in arrow.column_names})


def _numbered(first: int, last: int) -> Any:
    import pyarrow as pa

    return pa.table({NUMBER: np.arange(first, last, dtype=np.uint64)})


def _groups(file: Any) -> list[int]:
    found = file.metadata
    return [found.row_group(place).num_rows for place in range(found.num_row_groups)]


def _without_nan(column: Any) -> Any:
    """The column with null where it holds no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    wrong = pc.is_nan(column)
    return pc.if_else(wrong, None, column) if pc.any(wrong).as_py() else column


def _opened(part: Endpoint) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    path = present(part)
    try:
        return parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(part, "Parquet", error) from error


def _first(file: Any, part: Endpoint) -> pl.DataFrame:
    """The first records of a file."""
    import pyarrow as pa

    try:
        batches = list(islice(file.iter_batches(_FIRST), 1))
        return from_arrow(pa.Table.from_batches(batches, file.schema_arrow))
    except (pa.ArrowException, pl.exceptions.PanicException, OSError) as error:
        raise unreadable(part, "Parquet", error) from error


def _types(file: Any) -> pl.Schema:
    """The types of a file's columns."""
    return from_arrow(file.schema_arrow.empty_table()).schema
