"""Reading back the bytes of a release, with the schema of the table that was written: no guessing.

What a requirement is recounted on must be what was published, so this reads files only, never
memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ...bounds import Limits
from ...errors import Complaint, InputError, SchemaError
from ..schema import CATEGORICAL, SUPPRESSED, Column, Kind, Schema
from ..table import Table
from .content import typed_source
from .dates import dates
from .render import disarmed, rearmed
from .sets import split
from .sheets import sheet_cells
from .source import SHEETS, STAT, TEXT, Endpoint, load, locate
from .stat import read_stat
from .stat.labels import with_labels
from .text.csv import parse
from .text.sniff import Dialect

_DIALECT = {"csv": Dialect(","), "tsv": Dialect("\t")}


def read_back(
    path: Any,
    schema: Schema,
    *,
    format: str | None = None,
    suppressed: str = SUPPRESSED,
    escape_formulas: bool = False,
) -> Table:
    """The table that `write_file` put at `path`, given the masked table's schema and the same
    options.

    A mark becomes the label "*" in a generalized column, and null with a suppressed mask elsewhere.
    Two things that a file does not hold do not come back: in typed files, which nulls of numbers,
    dates and sets were suppressed; and in text files, the width of numbers and the type of a set's
    items (which are text).
    """
    end = locate(path, format)
    frame = _written(end, schema, escape_formulas)
    return restored(frame, schema, suppressed=suppressed, escape_formulas=escape_formulas)


def restored(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    suppressed: str = SUPPRESSED,
    escape_formulas: bool = False,
) -> Table:
    """The table that was written, from the columns of its file."""
    columns, masks = [], {}
    for column in schema:
        series = frame.get_column(column.name)
        if escape_formulas and series.dtype == pl.String:
            series = rearmed(series)
        values, mask = _restored(series, column, suppressed)
        columns.append(values)
        masks[column.name] = mask
    return Table(pl.DataFrame(columns), schema, masks)


def plain_frame(end: Endpoint) -> pl.DataFrame:
    """The file's columns under its own names, for whoever has no schema: cells of sheets as text,
    codes of statistical files as codes."""
    if end.format in SHEETS:
        cells = sheet_cells(end, Limits())
        names = [name or "" for name in cells.row(0)]
        return cells.slice(1).rename(dict(zip(cells.columns, names, strict=True)))
    if end.format in STAT:
        return read_stat(end, limits=Limits())[0]
    return typed_source(end, limits=Limits())[0]


def _written(end: Endpoint, schema: Schema, escape_formulas: bool) -> pl.DataFrame:
    """The file's columns under the schema's names, as text or as the file types them."""
    if end.format in TEXT:
        dialect = _DIALECT[end.format]
        cells = parse(load(end), end.label, encoding="utf-8", header=False, dialect=dialect).frame
        return _headed(cells, schema, escape_formulas=escape_formulas)
    if end.format in SHEETS:
        return _headed(sheet_cells(end), schema, escape_formulas=False)
    if end.format in STAT:
        frame, words, _ = read_stat(end)
        frame = pl.DataFrame(
            [
                _decoded(s, schema, dict(words[s.name].values)) if s.name in words else s
                for s in frame
            ]
        )
    else:
        frame = typed_source(end)[0]
    if frame.columns != schema.names:
        raise _other_columns(frame.columns, schema)
    return frame


def _decoded(series: pl.Series, schema: Schema, names: dict[Any, str]) -> pl.Series:
    """Categories by their labels; numbers stay numbers, labelled or not."""
    if series.name not in schema or not names:
        return series
    kind = schema[series.name].kind
    return with_labels(series, names) if kind in CATEGORICAL else series


def _headed(frame: pl.DataFrame, schema: Schema, *, escape_formulas: bool) -> pl.DataFrame:
    """The records under the schema's own names, once the header is found to say the same."""
    names = [name or "" for name in frame.row(0)]
    expected = schema.names
    written = disarmed(pl.Series(expected)).to_list() if escape_formulas else expected
    if names != written:
        raise _other_columns(names, schema)
    return frame.slice(1).rename(dict(zip(frame.columns, expected, strict=True)))


def _other_columns(names: list[str], schema: Schema) -> SchemaError:
    found = ", ".join(names[:12])
    return SchemaError(
        "the written file",
        [Complaint("", f"its columns are {found}, not {', '.join(schema.names[:12])}")],
    )


def _restored(series: pl.Series, column: Column, mark: str) -> tuple[pl.Series, np.ndarray]:
    """A column's values, and which of its cells carry the mark."""
    if series.dtype != pl.String:
        return _retyped(series, column), np.zeros(len(series), dtype=bool)
    hidden = (series == mark).fill_null(False)
    if column.generalized:
        return series.replace(mark, SUPPRESSED), hidden.to_numpy()
    bare = series.zip_with(~hidden, pl.Series([None], dtype=pl.String)) if hidden.any() else series
    return _retyped(bare, column), hidden.to_numpy()


def _retyped(series: pl.Series, column: Column) -> pl.Series:
    kind = column.kind
    if column.generalized:
        return series if series.dtype == pl.String else series.cast(pl.String)
    if kind == Kind.CONTINUOUS and series.dtype.is_integer():
        return series.cast(pl.Float64)
    if kind == Kind.ORDINAL:
        wanted = pl.Enum(list(column.categories))
        values = series.cast(pl.String).cast(wanted, strict=False)
    elif series.dtype != pl.String or kind in (Kind.NOMINAL, Kind.TEXT):
        return series
    elif kind == Kind.SET:
        return split(series)
    elif kind == Kind.BOOLEAN:
        values = series.replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
        )
    elif kind == Kind.DATE:
        found = dates(series)
        values = (
            found.values
            if found and found.values is not None
            else series.cast(pl.Date, strict=False)
        )
    else:
        values = series.cast(pl.Int64, strict=False) if kind == Kind.INTEGER else series
        if kind == Kind.CONTINUOUS or values.null_count() != series.null_count():
            # A masked integer may have become a mean.
            values = series.cast(pl.Float64, strict=False)
    bad = values.is_null() & series.is_not_null()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"column {column.name!r}, record {row + 1:,} of the written file holds "
            f"{series[row]!r}, which is not {kind}"
        )
    return values
