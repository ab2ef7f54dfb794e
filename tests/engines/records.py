"""Tables of every kind of column, with missing and suppressed cells, and their records as plain
values."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from sfumato.data.schema import Column, Kind, Schema
from sfumato.data.table import Table

ORDER = ("low", "middle", "high")
WORDS = st.sampled_from(["a", "A", "b", "Ä", "ß", "", "a b", "*", "\N{SNOWMAN}", "x\ny", 'q"'])
_MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
KINDS: dict[str, tuple[Kind, Any, st.SearchStrategy[Any]]] = {
    "small": (Kind.INTEGER, pl.Int8(), st.integers(-3, 3)),
    "wide": (Kind.INTEGER, pl.Int64(), st.integers(-(2**63), 2**63 - 1)),
    "counts": (Kind.INTEGER, pl.UInt64(), st.sampled_from([0, 1, 2**63, 2**64 - 1])),
    "long": (Kind.INTEGER, pl.Int128(), st.sampled_from([-(2**100), -9, 10, 2**63, 2**63 + 1])),
    "pay": (
        Kind.CONTINUOUS,
        pl.Float64(),
        st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e300, 0.1, 0.1 + 2**-56, 5e-324, float("inf")]),
    ),
    "short": (Kind.CONTINUOUS, pl.Float32(), st.sampled_from([0.0, -0.0, 0.5, -7.0])),
    "level": (Kind.ORDINAL, pl.Enum(ORDER), st.sampled_from(ORDER)),
    "word": (Kind.NOMINAL, pl.String(), WORDS),
    "class": (Kind.NOMINAL, pl.Categorical(), WORDS),
    "yes": (Kind.BOOLEAN, pl.Boolean(), st.booleans()),
    "day": (Kind.DATE, pl.Date(), _MOMENTS.map(dt.datetime.date)),
    "ms": (Kind.DATE, pl.Datetime("ms"), _MOMENTS.map(lambda d: d.replace(microsecond=2000))),
    "us": (Kind.DATE, pl.Datetime("us"), _MOMENTS),
    "ns": (Kind.DATE, pl.Datetime("ns"), _MOMENTS),
    "items": (Kind.SET, pl.List(pl.String), st.lists(WORDS, max_size=2, unique=True).map(sorted)),
    "codes": (Kind.SET, pl.List(pl.UInt16), st.lists(st.integers(0, 3), max_size=3)),
    "Range": (Kind.INTEGER, pl.String(), st.sampled_from(["[1, 3]", "*", "[4, 9]"])),
    "range": (Kind.INTEGER, pl.Enum(["[1, 3]", "*"]), st.sampled_from(["*", "[1, 3]"])),
}
"""Names, kinds, types and values; the last two hold labels, under names that differ in case."""


@st.composite
def tables(draw: st.DrawFn, most: int = 12, columns: int = 4) -> Table:
    """Some columns of all kinds, and few records."""
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=columns, unique=True))
    height = draw(st.integers(0, most))
    return made(names, height, lambda values: draw(values))


def made(names: list[str], height: int, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Table:
    """These columns, their cells drawn."""
    series, listed, marks = [], [], {}
    for name in names:
        kind, dtype, values = KINDS[name]
        cells = [draw(st.none() | values) for _ in range(height)]
        series.append(pl.Series(name, cells, dtype=dtype))
        labels = name.lower() == "range"
        order = ORDER if kind == Kind.ORDINAL else ()
        listed.append(Column(name, kind, categories=order, generalized=labels))
        if not labels:
            marks[name] = np.array([c is None and draw(st.booleans()) for c in cells], dtype=bool)
    return Table(pl.DataFrame(series), Schema(listed), marks)


def plain(table: Table) -> list[tuple[Any, ...]]:
    """The records; floats as their bits, and suppressed cells told from missing ones."""
    columns = []
    for name in table.names:
        marks = table.suppressed(name)
        cells = zip(table[name].to_list(), marks, strict=True)
        columns.append([_cell(value, bool(mark)) for value, mark in cells])
    return list(zip(*columns, strict=True))


def _cell(value: Any, mark: bool) -> Any:
    if isinstance(value, float):
        return struct.pack("d", value)
    return ("suppressed",) if value is None and mark else value


def shuffled_numbers(height: int, seed: int = 3) -> np.ndarray:
    """Numbers with gaps, in no order."""
    rng = np.random.default_rng(seed)
    found: np.ndarray = rng.permutation(3 * height + 1)[:height].astype(np.uint64)
    return found
