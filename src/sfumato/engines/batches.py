"""A part of the data as an Arrow table and back: how records lie in files and travel to workers.

Two kinds of columns stand beside those of the table: `__number`, each record's number, and
`__suppressed/NAME`, which cells of a column were suppressed. Categories with an order travel as
their places in it, other categories and numbers of 128 bits as text. The types come back from an
empty table of the same columns, so that no part has types of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from ..data import exact
from ..data.codec import Codes, encoded, encoded_as
from ..data.sets.flat_lists import is_list
from ..data.table import Table
from ..errors import Complaint, SchemaError

NUMBER = "__number"
MARK = "__suppressed/"
_BESIDE = ("route", "key", "side", "part", "count", "bucket", "person", "n")
RESERVED = {NUMBER, *(f"__{one}" for one in _BESIDE)}
"""Names of columns that stand beside those of the table while records are dealt, or counted."""
_LONG = (pl.Int128, pl.UInt128)
_DENSE = 1 << 16
"""Combinations that are counted in a table of all of them, however few records there are."""


def stored(table: Table, numbers: np.ndarray, marked: Iterable[str] | None = None) -> Any:
    """The records as an Arrow table, with their numbers and with what was suppressed.

    `marked` are the columns with a column of marks whatever they hold; without it those that have
    suppressed cells.
    """
    names = [name for name in table.names if name in RESERVED or name.startswith(MARK)]
    if names:
        what = "its name is one that engines use"
        raise SchemaError("the table", [Complaint(n, what, "rename it") for n in names])
    marks = table.marks
    wanted = list(marks) if marked is None else marked
    nothing = np.zeros(table.height, dtype=bool)
    frame = pl.DataFrame(
        [
            pl.Series(NUMBER, np.ascontiguousarray(numbers, dtype=np.uint64)),
            *(_plain(series) for series in table.frame),
            *(pl.Series(MARK + name, marks.get(name, nothing)) for name in wanted),
        ]
    )
    return _refilled(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))


def _refilled(arrow: Any) -> Any:
    """The table with columns of empty lists made anew: items that lie behind the end of an empty
    buffer, as slices leave them, are written so that nobody can read them."""
    import pyarrow as pa

    for place, (name, column) in enumerate(zip(arrow.column_names, arrow.columns, strict=True)):
        if pa.types.is_large_list(column.type) and any(
            not chunk.values.slice(0, 1) or not chunk.flatten() for chunk in column.chunks
        ):
            chunks = [pa.array(chunk.to_pylist(), column.type) for chunk in column.chunks]
            arrow = arrow.set_column(place, name, pa.chunked_array(chunks, column.type))
    return arrow


def loaded(arrow: Any, like: Table) -> tuple[Table, np.ndarray]:
    """The records of an Arrow table with the columns, types and schema of `like`, and their
    numbers (none where the table has no such column)."""
    frame = pl.DataFrame(pl.from_arrow(arrow.select(_unmarked(arrow, like)), rechunk=False))
    types, there = like.frame.schema, set(arrow.column_names)
    series = [_typed(frame.get_column(name), types[name]) for name in like.names]
    marks = {
        name: pl.Series(pl.from_arrow(arrow.column(MARK + name))).fill_null(False).to_numpy()
        for name in like.names
        if MARK + name in there
    }
    found = np.empty(0, dtype=np.uint64)
    if NUMBER in there:
        # Without a copy it would lie in memory that cannot be written, which kernels refuse.
        found = np.array(pl.Series(pl.from_arrow(arrow.column(NUMBER))), dtype=np.uint64)
    return Table(pl.DataFrame(series), like.schema, marks), found


def _unmarked(arrow: Any, like: Table) -> list[str]:
    absent = set(like.names).difference(arrow.column_names)
    if absent:
        raise KeyError(f"stored records lack the columns {sorted(absent)}")
    return like.names


def _plain(series: pl.Series) -> pl.Series:
    """The column in types that Arrow, Parquet and SQL share."""
    dtype = series.dtype
    if isinstance(dtype, pl.Enum):
        return series.to_physical()
    if isinstance(dtype, pl.Categorical) or dtype in _LONG:
        return series.cast(pl.String)
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Categorical | pl.Enum):
        return series.cast(pl.List(pl.String))
    return series


def _typed(series: pl.Series, dtype: Any) -> pl.Series:
    """The column as it was."""
    if series.dtype == dtype:
        return series
    if isinstance(dtype, pl.Enum) and series.dtype.is_integer():
        return series.cat.to(dtype)
    return series.cast(dtype)


def together(parts: Sequence[Table]) -> Table:
    """The records of all parts; the schema is that of the first."""
    first = parts[0]
    names = dict.fromkeys(name for part in parts for name in part.marks)
    marks = {name: np.concatenate([_mark(part, name) for part in parts]) for name in names}
    return Table(pl.concat([part.frame for part in parts]), first.schema, marks)


def _mark(part: Table, name: str) -> np.ndarray:
    return part.marks.get(name, np.zeros(part.height, dtype=bool))


def codes(table: Table, name: str) -> np.ndarray:
    """int64: equal cells have equal codes, in the order of values; missing ones come first, then
    suppressed ones."""
    found = encoded(table, name)
    made = found.codes.astype(np.int64)
    if is_list(table[name]):
        # The codec numbers lists as they come, which is not the same in every part.
        values = found.domain.to_list()
        order = sorted(range(len(values)), key=lambda i: [(v is not None, v) for v in values[i]])
        place = np.zeros(len(values) + 1, dtype=np.int64)
        place[1 + np.array(order, dtype=np.int64)] = np.arange(1, len(values) + 1)
        made = place[made]
    return made if name not in table.marks else 2 * made + table.marks[name]


def distinct(
    table: Table, weights: np.ndarray | None = None, columns: Sequence[str] | None = None
) -> tuple[Table, np.ndarray]:
    """The distinct rows in order, and how many records have each (the sum of their `weights`); of
    some columns, if they are named."""
    names = table.names if columns is None else list(columns)
    if not names:
        raise ValueError("no columns to count by")
    each = [codes(table, name) for name in names]
    rows, count = _counted(each, table.height, weights)
    frame = table.frame.select(exact.each(names))[pl.Series(rows.astype(np.uint64))]
    marks = {name: mask[rows] for name, mask in table.marks.items() if name in names}
    found = Table(frame, table.schema.only(names), marks)
    for name in names:
        if not is_list(table[name]):
            encoded_as(
                found, name, Codes(encoded(table, name).codes[rows], encoded(table, name).domain)
            )
    return found, count


def _counted(
    each: Sequence[np.ndarray], n: int, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each combination of codes, in their order, and how many it has."""
    key, size = np.zeros(n, dtype=np.int64), 1
    for code in each:
        width = int(code.max(initial=0)) + 1
        if size * width >= 2**62:
            return _grouped(each, n, weights)
        key, size = (key * width + code if size > 1 else code), size * width
    if size > max(_DENSE, 2 * n):
        return _grouped([key], n, weights)
    count = np.bincount(key, weights, size).astype(np.int64)
    first = np.zeros(size, dtype=np.int64)
    first[key[::-1]] = np.arange(n - 1, -1, -1)
    found = np.flatnonzero(count)
    return first[found], count[found]


def _grouped(
    each: Sequence[np.ndarray], n: int, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The same for combinations that are too many for a table of all of them."""
    order = np.lexsort(each[::-1]) if len(each) > 1 else np.argsort(each[0], kind="stable")
    leads = np.zeros(n, dtype=bool)
    leads[:1] = True
    for code in each:
        arranged = code[order]
        leads[1:] |= arranged[1:] != arranged[:-1]
    starts = np.flatnonzero(leads)
    if weights is None:
        return order[starts], np.diff(np.append(starts, n))
    return order[starts], np.add.reduceat(weights[order], starts) if n else weights


def published(arrow: Any, like: Table) -> Any:
    """Stored records as they are written: categories as their text, and nothing beside the columns.

    As text, because a file of categories would list those that no record has.
    """
    import pyarrow as pa

    columns = []
    for name, dtype in like.frame.schema.items():
        column = arrow.column(name)
        if isinstance(dtype, pl.Enum):
            texts = pa.array(dtype.categories.to_list(), type=pa.large_string())
            column = pa.chunked_array([texts.take(c) for c in column.chunks], texts.type)
        columns.append(column)
    return pa.table(columns, names=like.names)
