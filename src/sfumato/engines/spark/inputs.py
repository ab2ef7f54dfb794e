"""Input that Spark's workers read themselves, by the readers of all engines.

Parquet stays where it lies: a part is some row groups of a file. Text is read once, a file by a
task, and stored; which record is which is known when all files are counted.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from ...data.io.reading import Request, asked_for
from ...data.io.source import TEXT
from ...data.io.text_pieces import TextPieces
from ...data.table import Table
from ...errors import InputError
from ..batches import NUMBER, loaded
from ..inputs import ParquetInput
from ..working import row_bytes
from . import workers
from .cells import MADE, PART, batch_of, row_of, rows_of_part, schema_of_cells, told
from .layers import Cells, Division, Layer, cells_like
from .relation import SparkRelation

if TYPE_CHECKING:
    from .engine import Spark

_TEXT_BYTES = 8 << 20
_PIECE_BYTES = 64 << 20
_SHIFT = 32
"""A part's place: which file or task it came from, and which part of that it is."""


def opened(engine: Spark, source: Any, options: Mapping[str, Any]) -> SparkRelation:
    """The records of a source; the options are those of `sf.read`."""
    if isinstance(source, str | os.PathLike) and os.path.exists(source):
        source = os.path.abspath(source)  # workers have folders of their own
    request = asked_for(source, **options)
    if request.end.format == "parquet":
        return _parquet(engine, ParquetInput(request))
    if request.end.format in TEXT:
        return _text(engine, request)
    if request.end.format == "spark":
        from .tables import table_of

        return table_of(engine, request)
    raise InputError(
        f"{request.end.label} is {request.end.format}, which Spark's workers do not read",
        remedy="write it as Parquet or CSV files into a folder, or use another engine",
    )


class Piece(NamedTuple):
    """Records of a Parquet file that follow one another."""

    file: int
    groups: tuple[int, ...]
    """The row groups that hold them."""
    skipped: int
    """Records of these groups that come before them."""
    rows: int
    before: int
    """Records of the file that come before them."""


@dataclass(frozen=True)
class Pieces:
    """Columns of Parquet files."""

    columns: Mapping[str, Any]
    given: ParquetInput
    pieces: Sequence[Piece]
    firsts: Sequence[int]
    """The number of each file's first record."""

    def wanted(self, names: Sequence[str]) -> list[str]:
        return []

    def load(self, row: Mapping[str, Any], like: Table) -> tuple[Table, np.ndarray]:
        piece = self.pieces[row[PART].as_py()]
        first = self.firsts[piece.file] + piece.before
        numbers = np.arange(first, first + piece.rows, dtype=np.uint64)
        if not like.names:
            return like, numbers
        arrow = self.given.piece(piece.file, piece.groups, piece.skipped, piece.rows, like.names)
        return loaded(arrow.append_column(NUMBER, pa.array(numbers)), like)


def _parquet(engine: Spark, given: ParquetInput) -> SparkRelation:
    most = rows_of_part(given.empty)
    largest = max(most, _PIECE_BYTES // row_bytes(given.empty))
    listed = [
        Piece(file, *one)
        for file, groups in enumerate(given.groups)
        for one in _cut(groups, most, largest)
    ]
    firsts = [0, *accumulate(given.heights)]
    source = Pieces(dict.fromkeys(given.empty.names), given.lean(), tuple(listed), tuple(firsts))
    tasks = min(max(len(listed), 1), max(engine.partitions, -(-len(listed) // 8)))
    frame = engine.session.spark.range(0, len(listed), 1, tasks).withColumnRenamed("id", PART)
    layer = Layer(Division(given.height), frame, source, given.height)
    return SparkRelation(engine, given.empty, dict.fromkeys(given.empty.names, layer), (layer,))


def _cut(
    groups: Sequence[int], most: int, largest: int
) -> Iterator[tuple[tuple[int, ...], int, int, int]]:
    """Row groups of so many records as pieces: small ones together, large ones in parts."""
    held: list[int] = []
    rows = before = 0
    for index, height in enumerate(groups):
        if held and rows + height > most:
            yield tuple(held), 0, rows, before
            before, held, rows = before + rows, [], 0
        if height > largest:
            for start in range(0, height, largest):
                many = min(largest, height - start)
                yield (index,), start, many, before + start
            before += height
        elif height:
            held.append(index)
            rows += height
    if held:
        yield tuple(held), 0, rows, before


def _text(engine: Spark, request: Request) -> SparkRelation:
    """Text files, read once: what numbers their records is known when all are counted."""
    pieces = TextPieces(request, _TEXT_BYTES)
    files = len(pieces.parts)
    frame = engine.session.spark.range(0, files, 1, files)
    work = _reading(pieces.lean(), len(pieces.empty.names))
    made = frame.mapInArrow(work, schema_of_cells(len(pieces.empty.names)))
    found = numbered(engine, "reading", made, pieces.empty)
    for words in found[1]:
        pieces.agree(words)
    return found[0]


def _reading(pieces: TextPieces, width: int) -> workers.Work:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.column(0).to_pylist():
                mine = copy.deepcopy(pieces)
                rows = yield from stored_parts(mine.tables_of(file), file, width)
                yield batch_of({MADE: told((file, rows, mine.words))}, width)

    return workers.Guarded(work, lambda raw: batch_of({MADE: raw}, width))


def stored_parts(tables: Iterable[Table], origin: int, width: int) -> Any:
    """The tables of one file or task as parts, their numbers beginning at 0; and how many records
    they have."""
    first = 0
    for place, table in enumerate(tables):
        numbers = np.arange(first, first + table.height, dtype=np.uint64)
        yield batch_of(row_of(table, numbers), width, (origin << _SHIFT) + place)
        first += table.height
    return first


def numbered(engine: Spark, what: str, frame: Any, empty: Table) -> tuple[SparkRelation, list[Any]]:
    """Parts whose numbers begin at 0 in each file or task as records that are numbered through; and
    what was told beside."""
    stored = engine.stored(what, frame)
    heights = {origin: rows for origin, rows, _ in stored.made}
    firsts, total = {}, 0
    for origin in sorted(heights):
        firsts[origin] = total
        total += heights[origin]
    source = Cells(cells_like(empty).columns, firsts, _SHIFT)
    layer = Layer(Division(total), stored.frame, source, total, stored.owner)
    data = SparkRelation(engine, empty, dict.fromkeys(empty.names, layer), (layer,))
    return data, [words for _, _, words in stored.made]
