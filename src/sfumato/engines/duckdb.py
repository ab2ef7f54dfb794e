"""This machine, with data that do not fit into its memory.

Records lie in files of a temporary folder and are read slice by slice; DuckDB counts them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ..data.io.pieces import Pieces
from ..data.io.postgres import postgres_pieces
from ..data.io.reading import Request, asked_for
from ..data.io.source import TEXT
from ..data.io.sql import duckdb_pieces
from ..data.io.text_pieces import TextPieces
from ..data.table import Table
from ..errors import InputError, ParameterError
from .batches import stored
from .inputs import ParquetInput
from .layers import Layer, split
from .places import memory_of
from .scratch import Scratch
from .sliced import Sliced
from .working import Workshop, row_bytes, rows_of


class DuckDB:
    """Out of core: `with DuckDB(memory="2 GiB") as engine: data = engine.hold(table)`.

    `memory` is what it may use, beside what Python and its libraries need (some 300 MiB);
    `temporary` is where its folder is made, which is gone at the end.
    """

    name: ClassVar[str] = "duckdb"

    def __init__(
        self,
        memory: int | str = "2 GiB",
        threads: int | None = None,
        temporary: Path | str | None = None,
    ) -> None:
        self.memory = memory_of(memory) if isinstance(memory, str) else memory
        self.threads = (os.cpu_count() or 1) if threads is None else threads
        if self.threads < 1:
            raise ParameterError(f"{threads} threads", remedy="threads = 1 or more")
        self._temporary = temporary

    def __enter__(self) -> DuckDB:
        self._stack = ExitStack()
        self._scratch = self._stack.enter_context(Scratch(self._temporary))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def hold(
        self, table: Table, numbers: np.ndarray | None = None, rows: int | None = None
    ) -> Sliced:
        """The records of a table in memory, in slices of so many."""
        known = np.arange(table.height, dtype=np.uint64) if numbers is None else numbers
        empty = table.take(np.empty(0, dtype=np.int64))
        shop = self.workshop(empty, rows)
        layer = Layer(self._scratch.fresh("held"), shop.rows, empty)
        order = np.argsort(known)
        arrow = stored(table.take(order), known[order])
        for _, part in split(arrow, known[order] // np.uint64(shop.rows)):
            layer.add(part)
        return Sliced(shop, empty, dict.fromkeys(table.names, layer), (layer,))

    def open(self, source: Any, rows: int | None = None, **options: Any) -> Sliced:
        """The records of a source, a slice in memory at a time; the options are those of `sf.read`.

        Parquet is read where it lies; what cannot be read from the middle is copied to the
        temporary folder once.
        """
        request = asked_for(source, **options)
        if request.end.format == "parquet":
            given = ParquetInput(request)
            shop = self.workshop(given.empty, rows)
            given.rows = shop.rows
            return Sliced(shop, given.empty, dict.fromkeys(given.empty.names, given), (given,))
        if request.end.format in TEXT:
            pieces = TextPieces(request, self._block)
            return self._copied(pieces.tables(), pieces.empty, rows)
        if request.end.format in ("duckdb", "postgresql"):
            frames = self._rows(request)
            first = next(frames)
            typed = Pieces(request, first)
            made = (typed.table(frame, request.end, 0) for frame in chain([first], frames))
            return self._copied(made, typed.empty, rows)
        raise InputError(
            f"{request.end.label} is {request.end.format}, which is not read piece by piece",
            remedy='write it as Parquet or CSV, or [engine] use = "local"',
        )

    @property
    def _block(self) -> int:
        """Bytes of a source that are read at once."""
        return min(max(self.memory // 256, 1 << 16), 1 << 26)

    def _rows(self, request: Request) -> Iterator[pl.DataFrame]:
        """The records of a database's table in the order of its key."""
        end, asked = request.end, request.asked
        if not asked.key:
            raise InputError(
                f"the records of {end.label} have no order, so that nothing numbers them",
                remedy='[input] key = "a column without repeats"',
            )
        if end.format == "postgresql":
            return postgres_pieces(end, asked.table, asked.query, asked.key, self._block)
        limits = {
            "memory_limit": f"{self.memory // 2}B",
            "threads": self.threads,
            "temp_directory": str(self._scratch.fresh("database")),
        }
        return duckdb_pieces(end, asked.table, asked.query, asked.key, limits)

    def _copied(self, tables: Iterable[Table], empty: Table, rows: int | None) -> Sliced:
        """The records of tables that come one after the other."""
        shop = self.workshop(empty, rows)
        layer = Layer(self._scratch.fresh("copied"), shop.rows, empty)
        first = 0
        for table in tables:
            numbers = np.arange(first, first + table.height, dtype=np.uint64)
            for _, part in split(stored(table, numbers), numbers // np.uint64(shop.rows)):
                layer.add(part)
            first += table.height
        return Sliced(shop, empty, dict.fromkeys(empty.names, layer), (layer,))

    def workshop(self, empty: Table, rows: int | None = None) -> Workshop:
        """What work on such records may use."""
        many = rows or rows_of(self.memory, row_bytes(empty))
        return Workshop(self._scratch, self.memory, self.threads, many)
