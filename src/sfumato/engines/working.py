"""What work out of core may use: memory, threads and a temporary folder."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import polars as pl

from ..data.sets.flat_lists import is_list
from ..data.table import Table
from .scratch import Scratch

_T = TypeVar("_T")
_MOST_ROWS = 1 << 19
_LEAST_ROWS = 1 << 10
_CELL_BYTES, _SET_BYTES, _FEWEST_SEARCHED = 64, 1280, 100_000
_TEXT_BYTES, _ITEMS = 16, 40
"""Bytes that a text, and items that a set is taken to have."""


@dataclass(frozen=True)
class Workshop:
    """Memory in bytes, threads, a folder, and how many records a slice has."""

    scratch: Scratch
    memory: int
    threads: int
    rows: int = _MOST_ROWS

    sorted_at_once: int = 0
    """Bytes; a sixteenth of the memory unless given: they are there three times meanwhile."""

    @property
    def bucket(self) -> int:
        """Bytes of records that are sorted at once."""
        return self.sorted_at_once or self.memory // 16

    def in_order(self, tasks: Iterator[Callable[[], _T]]) -> Iterator[_T]:
        """What the tasks give, in their order; a few of them are under way at a time."""
        if self.threads == 1:
            for task in tasks:
                yield task()
            return
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Future[_T]] = deque()
            try:
                for task in tasks:
                    waiting.append(pool.submit(task))
                    if len(waiting) > self.threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def row_bytes(empty: Table) -> int:
    """Bytes of a record in Arrow, its number included."""
    return 8 + sum(_width(dtype) for dtype in empty.frame.dtypes)


def rows_of(memory: int, row_bytes: int) -> int:
    """Records of a slice: so many that dozens of copies of it fit into memory."""
    return int(min(max(memory // 64 // row_bytes, _LEAST_ROWS), _MOST_ROWS))


def searched_at_once(empty: Table, columns: Sequence[str], memory: int) -> int:
    """Records that can be searched by these columns in so much memory: their codes, copies of them
    while they are cut, and their labels."""
    each = sum(_SET_BYTES if is_list(empty[name]) else _CELL_BYTES for name in columns)
    return max(memory // (each + _CELL_BYTES), _FEWEST_SEARCHED)


def _width(dtype: Any) -> int:
    """Bytes of a cell."""
    if dtype.is_integer() or dtype.is_float():
        return int("".join(filter(str.isdigit, str(dtype)))) // 8
    if isinstance(dtype, pl.List):
        return 8 + _ITEMS * _width(dtype.inner)
    return {pl.Boolean: 1, pl.Date: 4, pl.Datetime: 8, pl.Enum: 4}.get(
        dtype.base_type(), _TEXT_BYTES
    )
