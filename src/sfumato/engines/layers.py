"""Some columns of all records in files, cut by the records' numbers into slices that fit into
memory.

Slice i holds the records whose numbers begin at i * rows. So columns that were made in different
steps lie side by side, and are put together slice by slice. A slice is a file of Arrow streams, one
after the other, which can be added to without keeping it open; records that came in another order
are sorted when they are read.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.table import Table
from .batches import MARK, NUMBER, stored
from .scratch import room

Load = Callable[[], Any]
"""Gives the Arrow table of a slice, where and when it is wanted."""
_FIRST = b"first"


class Layer:
    """Columns in files."""

    def __init__(self, folder: Path, rows: int, empty: Table) -> None:
        self.folder, self.rows, self.empty = folder, rows, empty
        self.height = 0
        self.marked: set[str] = set()
        """Columns with suppressed cells."""
        self.in_order = True
        # What no relation speaks of any more makes room.
        weakref.finalize(self, shutil.rmtree, folder, True)

    def add(self, arrow: Any) -> None:
        """Records of one slice more; from one thread at a time."""
        if not arrow.num_rows:
            return
        numbers = arrow.column(NUMBER).to_numpy()
        append(self._path(int(numbers[0]) // self.rows), _without_numbers(arrow, numbers))
        self.note(arrow)

    def note(self, arrow: Any) -> None:
        """Remember what was added."""
        self.height += arrow.num_rows
        self.marked.update(n.removeprefix(MARK) for n in arrow.column_names if n.startswith(MARK))

    def scatter(self, arrow: Any) -> None:
        """Records of any slices, in any order."""
        self.in_order = False
        self.note(arrow)
        for place, part in split(arrow, arrow.column(NUMBER).to_numpy() // np.uint64(self.rows)):
            append(self._path(place), part)

    def loads(self, columns: Sequence[str], count: int) -> Iterator[Load]:
        """How each of the first `count` slices is read, with these columns."""
        for place in range(count):
            yield lambda place=place: self._load(place, columns)  # type: ignore[misc]

    @property
    def slices(self) -> int:
        """One more than the last slice there is."""
        return 1 + max((int(path.name) for path in self.folder.iterdir()), default=-1)

    def _path(self, place: int) -> Path:
        return self.folder / f"{place:06d}"

    def _load(self, place: int, columns: Sequence[str]) -> Any:
        path = self._path(place)
        marks = [MARK + name for name in columns]
        if not path.exists():
            return nothing(self.empty).select([NUMBER, *columns])
        found = read(path, [NUMBER, *columns, *marks])
        return found if self.in_order else by_number(found)


def nothing(empty: Table) -> Any:
    """No records of these columns."""
    return stored(empty, np.empty(0, dtype=np.uint64))


def _without_numbers(arrow: Any, numbers: np.ndarray) -> Any:
    """The records without their numbers, where these follow one another."""
    first = int(numbers[0])
    if not np.array_equal(numbers, np.arange(first, first + numbers.size, dtype=np.uint64)):
        return arrow
    return arrow.drop_columns([NUMBER]).replace_schema_metadata({_FIRST: str(first).encode()})


def by_number(arrow: Any) -> Any:
    """The records in the order of their numbers."""
    numbers = arrow.column(NUMBER).to_numpy()
    if (numbers[1:] > numbers[:-1]).all():
        return arrow
    return arrow.take(np.argsort(numbers))


def split(arrow: Any, places: np.ndarray) -> Iterator[tuple[int, Any]]:
    """The records by their places, each with those that belong there."""
    if not places.size:
        return
    low, high = int(places.min()), int(places.max())
    if low == high:
        yield low, arrow
        return
    narrow = (places - places.dtype.type(low)).astype(np.uint16 if high - low < 2**16 else np.int64)
    order = np.argsort(narrow, kind="stable")  # by counting, where the places are few
    arranged = arrow.take(order).combine_chunks()
    cuts = np.flatnonzero(np.diff(narrow[order])) + 1
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), places.size], strict=True):
        yield int(narrow[order[start]]) + low, arranged.slice(start, end - start)


def append(path: Path, arrow: Any) -> None:
    """Write the records behind those that the file has."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with (
        room(path.parent, arrow.nbytes),
        path.open("ab") as sink,
        pa.ipc.new_stream(sink, arrow.schema, options=options) as writer,
    ):
        writer.write_table(arrow)


def read(path: Path, columns: Sequence[str] | None = None) -> Any:
    """These columns of all records of a file, or all, as far as it has them."""
    import pyarrow as pa

    tables = []
    with pa.memory_map(str(path)) as source:
        while source.tell() < source.size():
            tables.append(_stream(source, columns))
    return pa.concat_tables(tables, promote_options="default")


def _stream(source: Any, columns: Sequence[str] | None) -> Any:
    """The records of the stream that begins here."""
    import pyarrow as pa

    start = source.tell()
    schema = pa.ipc.read_schema(source)
    source.seek(start)
    columns = [NUMBER, *schema.names] if columns is None else columns
    fields = [i for name in dict.fromkeys(columns) if (i := schema.get_field_index(name)) >= 0]
    options = pa.ipc.IpcReadOptions(included_fields=fields or [0], use_threads=False)
    with pa.ipc.open_stream(source, options=options) as reader:
        found = reader.read_all()
    height, metadata = found.num_rows, schema.metadata or {}
    there = set(found.column_names)
    found = found.select([name for name in dict.fromkeys(columns) if name in there])
    if NUMBER in columns and _FIRST in metadata:
        first = int(metadata[_FIRST])
        numbers = np.arange(first, first + height, dtype=np.uint64)
        found = found.add_column(0, NUMBER, pa.array(numbers))
    return found.replace_schema_metadata(None)
