"""Writing tables: to a file, at once or not at all, or to a database in one transaction."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ...aside import flush as flush
from ...aside import replacing
from ...errors import InputError, OutputError
from ...machine import cannot_write, refused
from ..schema import SUPPRESSED
from ..table import Table
from .files import write_arrow, write_parquet
from .render import moments_as_text, printable, refuse_clashes, storable
from .sheets import write_ods, write_xlsx
from .source import DATABASES, STAT, TEXT, WRITTEN_AS, Endpoint, locate
from .sql import DUCKDB_CONFIG, quoted, read_duckdb, read_sqlite
from .stat import write_stat

_DELIMITER = {"csv": ",", "tsv": "\t"}


def write(
    table: Table,
    path: Any,
    *,
    format: str | None = None,
    suppressed: str = SUPPRESSED,
    escape_formulas: bool = False,
    replace: bool = False,
    table_name: str | None = None,
) -> None:
    """Write a table to a file (by its suffix) or to a PostgreSQL URL, completely or not at all.

    An existing target is refused unless `replace`. Suppressed cells become the mark `suppressed` in
    text files, sheets and text columns of typed files, and null elsewhere. `escape_formulas` puts
    an apostrophe before text that a spreadsheet would run. In a database the table is called
    `table_name`, else after the file.

    The same table gives the same bytes, except in DuckDB files, which carry a random mark. SQLite
    does not tell -0.0 from 0.0 and has no NaN (which is refused).
    """
    end = _target(path, format)
    if end.format == "postgresql":
        if not table_name:
            raise OutputError("a table in PostgreSQL needs a name", remedy="table_name=...")
        from .postgres import write_postgres

        write_postgres(storable(table, suppressed=suppressed), end, table_name, replace=replace)
        return
    target = end.file
    name = table_name or _stem(target)
    if os.path.lexists(target):
        _may_replace(end, name, replace=replace)
    with replacing(target, replace=replace) as temporary:
        _write_to(table, end, temporary, suppressed, escape_formulas, name)


def write_both(*files: tuple[Table, Path], replace: bool = False) -> None:
    """Write several tables that belong together: none appears before all are on the disk.

    Only their owner may read them: they are as private as what they were made from.
    """
    with contextlib.ExitStack() as stack:
        for table, path in files:
            end = _target(path, None)
            if os.path.lexists(end.file):
                _may_replace(end, _stem(end.file), replace=replace)
            kept = replacing(end.file, replace=replace, private=True)
            temporary = stack.enter_context(kept)
            _write_to(table, end, temporary, SUPPRESSED, False, _stem(end.file))


def write_file(
    table: Table,
    path: Any,
    format: str | None = None,
    *,
    suppressed: str = SUPPRESSED,
    escape_formulas: bool = False,
) -> None:
    """Write what is read back straight to a path that does not exist yet.

    For callers that make a whole folder appear at once: nothing is renamed or flushed to the disk
    here, and a failure may leave a part behind. A value that reads like the mark is refused.
    """
    end = _target(path, format)
    if end.path is None:
        raise OutputError("a release is written to a file", remedy="give a path")
    if os.path.lexists(end.file):
        raise OutputError(f"{end.file} exists already", remedy="give another path")
    refuse_clashes(table, suppressed, as_text=end.format in (*TEXT, *_SHEETS))
    _write_to(table, end, end.file, suppressed, escape_formulas, _stem(end.file))


def _target(path: Any, format: str | None) -> Endpoint:
    try:
        return locate(path, format)
    except InputError as error:
        raise OutputError(error.message, remedy=error.remedy) from None


def _stem(path: Path) -> str:
    return path.name.partition(".")[0] or "table"


def _write_to(
    table: Table, end: Endpoint, path: Path, suppressed: str, escape_formulas: bool, name: str
) -> None:
    """The bytes of one format at a path."""
    if end.format in WRITTEN_AS:
        raise OutputError(
            f"{end.format} is read but not written",
            remedy=f'format = "{WRITTEN_AS[end.format]}", and its suffix',
        )
    if escape_formulas and end.format not in TEXT:
        raise OutputError(
            f"{end.format} has no formulas to escape",
            remedy="escape_formulas is for CSV and its relatives",
        )
    try:
        if end.format in TEXT:
            frame = printable(table, suppressed=suppressed, escape_formulas=escape_formulas)
            _put(path, csv_bytes(frame, _DELIMITER[end.format]), gzipped=end.gzipped)
        elif end.format in _SHEETS:
            _SHEETS[end.format](table, path, suppressed=suppressed)
        elif end.format in STAT:
            write_stat(table, path, end.format, suppressed=suppressed)
        elif end.format == "fimi":
            _put(path, _fimi_bytes(table), gzipped=end.gzipped)
        else:
            if end.format in DATABASES:
                _refuse_alike(table.names, end)
            frame = storable(table, suppressed=suppressed)
            _WRITERS[end.format](frame, path, name)
    except (OSError, pl.exceptions.PolarsError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)  # what is free is what is free without it
        raise cannot_write(path.with_name(end.label), error) from error


def csv_bytes(frame: pl.DataFrame, delimiter: str = ",") -> bytes:
    """CSV with a header, in UTF-8; missing is an empty cell and an empty text is ""."""
    names = pl.DataFrame([pl.Series(f"{i}", [name]) for i, name in enumerate(frame.columns)])
    head = names.write_csv(include_header=False, separator=delimiter)
    return (head + frame.write_csv(include_header=False, separator=delimiter)).encode()


def _fimi_bytes(table: Table) -> bytes:
    """One set per line; only a table that is nothing but one set-valued column fits."""
    column = table.frame.to_series(0) if table.frame.width == 1 else None
    if column is None or not isinstance(column.dtype, pl.List):
        raise OutputError(
            "a FIMI file holds one set-valued column and nothing else",
            remedy="write CSV or Parquet",
        )
    items = column.cast(pl.List(pl.String))
    flat = items.filter(items.list.len() > 0).explode()
    if (
        items.null_count()
        or (flat.is_null() | flat.str.contains(r"[\s\x00]|^$").fill_null(True)).any()
    ):
        raise OutputError(
            f"column {column.name!r} holds missing sets, or items that are empty or hold blanks",
            remedy="write CSV or Parquet",
        )
    return "".join(f"{line}\n" for line in items.list.join(" ").to_list()).encode()


def _put(path: Path, body: bytes, *, gzipped: bool) -> None:
    if gzipped:
        sink = io.BytesIO()
        # Neither name nor clock in the header, so that the same table gives the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=sink, mtime=0) as packed:
            packed.write(body)
        body = sink.getvalue()
    path.write_bytes(body)


def _refuse_alike(names: Sequence[str], end: Endpoint) -> None:
    """Refuse two names that a database takes for one: it would rename a column, or read another."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise OutputError(
                f"column {name!r} differs from {other!r} only in capitals, which {end.format} does "
                "not tell apart",
                remedy='rename one of them, or format = "csv" or "parquet"',
            )


def _write_duckdb(frame: pl.DataFrame, path: Path, name: str) -> None:
    import duckdb

    wanted = ", ".join(_duckdb_column(series) for series in frame)
    try:
        with duckdb.connect(str(path), config=DUCKDB_CONFIG) as connection:
            connection.register("sfumato_frame", frame.to_arrow())
            connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT {wanted} FROM sfumato_frame")
            connection.unregister("sfumato_frame")
    except duckdb.Error as error:
        if (told := refused(error, path.parent)) is not None:
            raise told from error
        line = str(error).strip().splitlines()[0]
        raise OutputError(f"DuckDB refuses the table: {line}", remedy="write Parquet") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ".wal").unlink()


def _duckdb_column(series: pl.Series) -> str:
    column = quoted(series.name)
    if isinstance(series.dtype, pl.Enum) and len(series.dtype.categories):
        words = ", ".join(
            "'" + c.replace("'", "''") + "'" for c in series.dtype.categories.to_list()
        )
        return f"CAST({column} AS ENUM({words})) AS {column}"
    return column


def _write_sqlite(frame: pl.DataFrame, path: Path, name: str) -> None:
    columns, declared = [], []
    for series in frame:
        stored, kind = _sqlite_stored(series)
        columns.append(stored)
        declared.append(f"{quoted(series.name)} {kind}")
    places = ", ".join("?" * len(columns))
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")  # a half-written file is thrown away whole
        connection.execute("BEGIN")
        connection.execute(f"CREATE TABLE {quoted(name)} ({', '.join(declared)})")
        connection.executemany(
            f"INSERT INTO {quoted(name)} VALUES ({places})", pl.DataFrame(columns).iter_rows()
        )
        connection.execute("COMMIT")
    finally:
        connection.close()


def _sqlite_stored(series: pl.Series) -> tuple[pl.Series, str]:
    """A column as SQLite can hold it, and the type it is declared with so that it reads back."""
    dtype = series.dtype
    if dtype.is_integer():
        top = series.max()
        if isinstance(top, int) and top >= 2**63:
            raise OutputError(
                f"column {series.name!r} holds {top}, which is beyond SQLite's integers",
                remedy="write Parquet",
            )
        return series, "INTEGER"
    if dtype.is_float():
        if series.is_nan().any():
            raise OutputError(
                f"column {series.name!r} holds NaN, which SQLite cannot", remedy="write Parquet"
            )
        return series, "REAL"
    if dtype == pl.Boolean:
        return series.cast(pl.Int8), "BOOLEAN"
    if dtype == pl.Date:
        return series.dt.to_string("%Y-%m-%d"), "DATE"
    if isinstance(dtype, pl.Datetime):
        return moments_as_text(series), "DATETIME"
    if isinstance(dtype, pl.List):
        lists = series.to_list()
        cells = [None if cell is None else json.dumps(cell, default=str) for cell in lists]
        return pl.Series(series.name, cells, dtype=pl.String), "JSON"
    return series.cast(pl.String), "TEXT"


_SHEETS: dict[str, Any] = {"xlsx": write_xlsx, "ods": write_ods}
_WRITERS: dict[str, Any] = {
    "parquet": lambda frame, path, _: write_parquet(frame, path),
    "arrow": lambda frame, path, _: write_arrow(frame, path),
    "duckdb": _write_duckdb,
    "sqlite": _write_sqlite,
}


def _may_replace(end: Endpoint, name: str, *, replace: bool) -> None:
    """Refuse an existing target, unless replacing it loses nothing else."""
    if not replace:
        raise OutputError(f"{end.file} exists already", remedy="replace=True, or another path")
    if not end.file.is_file():
        raise OutputError(f"{end.file} is not a file", remedy="give another path")
    if end.format in DATABASES:
        others = [found for found in _tables_in(end) if found != name]
        if others:
            raise OutputError(
                f"{end.file} also holds {', '.join(others[:6])}, which would be lost",
                remedy="write to another path",
            )


def _tables_in(end: Endpoint) -> list[str]:
    """The tables of a database file; none if it is no database."""
    try:
        if end.format == "duckdb":
            statement = "SELECT table_name AS name FROM information_schema.tables"
            found = read_duckdb(end, None, statement)[0]
        else:
            statement = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            found = read_sqlite(end, None, statement)[0]
    except InputError:
        return []
    return [str(name) for name in found.to_series().to_list()]
