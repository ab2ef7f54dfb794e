"""DuckDB and SQLite files, by table or query; what they share with PostgreSQL.

Databases are opened for reading only, and reach nothing else (queries.py). A table is named by
identifiers, which are always quoted; only `query` is SQL.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote as url_quote

import polars as pl

from ...bounds import from_json
from ...errors import Complaint, InputError, SchemaError, suggest
from ..exact import exactly
from ..schema import missing_column
from .dates import dates
from .queries import (
    ALLOWED,
    check_text,
    duckdb_select,
    guard_duckdb,
    guard_sqlite,
    refused,
    trimmed,
)
from .source import Endpoint, present

_BATCH = 50_000
# DuckDB types without a counterpart in Polars, read as their text.
_AS_TEXT = ("interval", "bit", "time with time zone", "uuid", "map", "union", "variant", "geometry")


def quoted(name: str) -> str:
    """A quoted identifier.

    >>> quoted('odd"name')
    '"odd""name"'
    """
    if "\0" in name or not name:
        raise InputError(f"{name!r} cannot be the name of a table or column", remedy="rename it")
    return '"' + name.replace('"', '""') + '"'


def choose(
    tables: Sequence[tuple[str, str]],
    table: str | None,
    query: str | None,
    label: str,
    default_schema: str = "main",
) -> tuple[str, list[str]]:
    """The SELECT for a table or query out of (schema, table) names; an only table needs no name."""
    if table is not None and query is not None:
        raise InputError("both table and query are given", remedy="give one of them")
    if query is not None:
        if not trimmed(query):
            raise InputError("the query is empty", remedy='query="SELECT ... FROM ..."')
        return query.strip(), []
    names = [name if schema == default_schema else f"{schema}.{name}" for schema, name in tables]
    if table is None:
        if len(tables) != 1:
            listed = ", ".join(names[:12]) or "none"
            raise InputError(
                f"{label} holds {len(tables)} tables: {listed}",
                remedy="--table NAME or --query SQL (table=, query=)"
                if tables
                else "check the database",
            )
        return _select(tables[0]), [f"table: {names[0]}"]
    for wanted in ((default_schema, table), tuple(table.split(".", 1))):
        if wanted in tables:
            return _select((wanted[0], wanted[-1])), []
    elsewhere = [found for found in tables if found[1] == table]
    if len(elsewhere) == 1:
        return _select(elsewhere[0]), []
    close = suggest(table, names)
    listed = ", ".join(names[:12]) or "none"
    remedy = f"did you mean {close[0]!r}?" if close else f"the tables are {listed}"
    raise InputError(f"{label} has no table {table!r}", remedy=remedy)


def _select(name: tuple[str, str]) -> str:
    return f"SELECT * FROM {quoted(name[0])}.{quoted(name[1])}"


def check_names(names: Iterable[str], label: str) -> None:
    """Refuse a result with two columns of one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SchemaError(
            label,
            [Complaint(n, "appears more than once", f'SELECT ... AS "{n}_2"') for n in twice],
        )


def failed(
    label: str, error: Exception, remedy: str = "check the database, and the table or query"
) -> InputError:
    """A database's complaint, its first line only."""
    lines = str(error).strip().splitlines()
    why = lines[0] if lines else type(error).__name__
    return InputError(f"{label} cannot be read: {why}", remedy=remedy)


def in_order(frame: pl.DataFrame, key: str, label: str) -> pl.DataFrame:
    """The records in the order of a key, which tells each from all others."""
    if key not in frame.columns:
        raise SchemaError(label, [missing_column(key, frame.columns)])
    return check_key(frame.sort(exactly(key)), key, label, None)


def check_key(frame: pl.DataFrame, key: str, label: str, last: Any) -> pl.DataFrame:
    """Records in order, if each has a key of its own; `last` is the key of the one before them."""
    keys = frame.get_column(key)
    if keys.dtype not in _KEYS and not keys.dtype.is_integer():
        what = f"holds {keys.dtype}, which numbers no records"
        raise SchemaError(label, [Complaint(key, what, "key = a column of whole numbers or text")])
    if keys.null_count():
        what, remedy = "is missing in some records", f"WHERE {quoted(key)} IS NOT NULL in query=..."
        raise SchemaError(label, [Complaint(key, what, remedy)])
    twice = keys.head(1).eq(last).any() if last is not None else False
    if twice or keys.n_unique() < len(keys):
        what = "has a value twice, so that it does not tell records apart"
        raise SchemaError(label, [Complaint(key, what, "key = a column without repeats")])
    return frame


_KEYS = (pl.String, pl.Date, pl.Datetime)
_DUCKDB_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_catalog = current_database() ORDER BY 1, 2"
)
_SQLITE_TABLES = (
    "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
)


def tables_of(endpoint: Endpoint) -> list[str]:
    """The tables and views of a file, as `table` names them."""
    path = present(endpoint)
    if endpoint.format == "duckdb" or _is_duckdb(path):
        with _duckdb(endpoint) as connection:
            found = connection.execute(_DUCKDB_TABLES).fetchall()
    else:
        uri = f"file:{url_quote(str(path.absolute()))}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                found = connection.execute(_SQLITE_TABLES).fetchall()
        except (sqlite3.Error, ValueError) as error:
            raise failed(endpoint.label, error) from error
    return [name if schema == "main" else f"{schema}.{name}" for schema, name in found]


# --- DuckDB ---------------------------------------------------------------------------------------


def read_duckdb(
    endpoint: Endpoint, table: str | None, query: str | None
) -> tuple[pl.DataFrame, list[str]]:
    """A table or the result of a query of a DuckDB file."""
    with _duckdb(endpoint) as connection:
        relation, notes = _from_duckdb(connection, endpoint.label, table, query)
        return _framed(relation.to_arrow_table(), relation), notes


def duckdb_pieces(
    endpoint: Endpoint, table: str | None, query: str | None, key: str, config: Mapping[str, Any]
) -> Iterator[pl.DataFrame]:
    """The same in the order of a key, a piece at a time."""
    with _duckdb(endpoint, config) as connection:
        relation, _ = _from_duckdb(connection, endpoint.label, table, query)
        if key not in relation.columns:
            raise SchemaError(endpoint.label, [missing_column(key, relation.columns)])
        last = None
        import pyarrow as pa

        reader = relation.order(quoted(key)).to_arrow_reader(_BATCH)
        for batch in reader:
            frame = _framed(pa.Table.from_batches([batch]), relation)
            yield check_key(frame, key, endpoint.label, last)
            last = frame.get_column(key)[-1]
        yield _framed(reader.schema.empty_table(), relation)


@contextmanager
def _duckdb(endpoint: Endpoint, config: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """A connection for reading, whose complaints name the file."""
    import duckdb

    path = present(endpoint)
    settings = {**DUCKDB_CONFIG, **(config or {})}
    try:
        with duckdb.connect(str(path), read_only=True, config=settings) as connection:
            guard_duckdb(connection)
            yield connection
    except duckdb.PermissionException as error:
        raise failed(endpoint.label, error, ALLOWED) from error
    except (
        duckdb.Error, pl.exceptions.PolarsError, UnicodeError, RuntimeError, OSError
    ) as error:  # fmt: skip
        raise failed(endpoint.label, error) from error


# An extension is never fetched from the network behind the user's back.
DUCKDB_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def _from_duckdb(
    connection: Any, label: str, table: str | None, query: str | None
) -> tuple[Any, list[str]]:
    """What was asked for, in types that Polars has."""
    tables = connection.execute(_DUCKDB_TABLES).fetchall()
    statement, notes = choose(tables, table, query, label)
    relation = connection.sql(duckdb_select(connection, statement))
    if relation is None:
        raise InputError("the query returns no table", remedy='query="SELECT ... FROM ..."')
    check_names(relation.columns, label)
    wanted = []
    for name, kind in zip(relation.columns, relation.types, strict=True):
        column = quoted(name)
        if str(kind.id) in _AS_TEXT:
            column = f"CAST({column} AS VARCHAR) AS {column}"
            notes.append(f"{name!r} is {kind}, read as text")
        wanted.append(column)
    return relation.project(", ".join(wanted)), notes


def _framed(arrow: Any, relation: Any) -> pl.DataFrame:
    """The records, enumerations in their order."""
    frame = pl.DataFrame(pl.from_arrow(arrow))
    enums = {
        name: pl.Enum(dict(kind.children)["values"])
        for name, kind in zip(relation.columns, relation.types, strict=True)
        if str(kind.id) == "enum"
    }
    return frame.with_columns(exactly(n).cast(pl.String).cast(e) for n, e in enums.items())


# --- SQLite ---------------------------------------------------------------------------------------


def read_sqlite(
    endpoint: Endpoint, table: str | None, query: str | None
) -> tuple[pl.DataFrame, list[str]]:
    """A table or the result of a query of an SQLite file."""
    path = present(endpoint)
    if _is_duckdb(path):  # both call their files .db
        return read_duckdb(endpoint, table, query)
    uri = f"file:{url_quote(str(path.absolute()))}?mode=ro"
    connection = None
    try:
        connection = sqlite3.connect(uri, uri=True)
        guard_sqlite(connection)
        return _from_sqlite(connection, endpoint.label, table, query)
    # ValueError: a text of the database is not UTF-8, or the query holds a NUL.
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        if "one statement" in str(error):
            raise refused("holds several statements") from None
        if any(word in str(error) for word in ("authoriz", "prohibited", "unsafe use")):
            raise failed(endpoint.label, error, ALLOWED) from error
        raise failed(endpoint.label, error) from error
    finally:
        if connection is not None:
            connection.close()


def _is_duckdb(path: Path) -> bool:
    with path.open("rb") as handle:
        return handle.read(12)[8:] == b"DUCK"


def _from_sqlite(
    connection: sqlite3.Connection, label: str, table: str | None, query: str | None
) -> tuple[pl.DataFrame, list[str]]:
    tables = connection.execute(_SQLITE_TABLES).fetchall()
    statement, notes = choose(tables, table, query, label)
    check_text(statement, server=False)
    declared = _declared_types(connection, statement)
    cursor = connection.execute(statement)
    names = [column[0] for column in cursor.description]
    check_names(names, label)
    parts: list[list[_Part]] = [[] for _ in names]
    while rows := cursor.fetchmany(_BATCH):
        # Batch by batch into Arrow: a million rows of Python objects keep the collector busy.
        for part, values in zip(parts, zip(*rows, strict=True), strict=True):
            part.append(_part(values))
    declared = declared or [""] * len(names)
    columns = [
        _sqlite_column(name, part, kind.upper(), notes)
        for name, part, kind in zip(names, parts, declared, strict=True)
    ]
    return pl.DataFrame(columns), notes


def _declared_types(connection: sqlite3.Connection, statement: str) -> list[str]:
    """The declared types of a result's columns, through a view that lives in memory only."""
    connection.execute(f"EXPLAIN {statement}")  # one SELECT, or an error before anything is made
    connection.set_authorizer(None)
    try:
        connection.execute(f'CREATE TEMP VIEW "sfumato result" AS {statement}')
        rows = connection.execute('PRAGMA temp.table_info("sfumato result")').fetchall()
        connection.execute('DROP VIEW temp."sfumato result"')
    except (sqlite3.Error, sqlite3.Warning):
        return []  # its values alone will tell
    finally:
        guard_sqlite(connection)
    return [row[2] for row in rows]


_Part = tuple[set[type], "pl.Series | tuple[Any, ...]"]
"""The types of some values, and the values: as a series if they have one type, else as they are."""


def _part(values: tuple[Any, ...]) -> _Part:
    found = set(map(type, values)) - {type(None)}
    dtype = {int: pl.Int64, float: pl.Float64, str: pl.String}.get(next(iter(found), int))
    if len(found) > 1 or dtype is None:
        return found, values
    return found, pl.Series(values, dtype=dtype)


def _sqlite_column(name: str, parts: list[_Part], declared: str, notes: list[str]) -> pl.Series:
    """Every cell in SQLite has its own type, so the values decide and the declaration refines."""
    found = set().union(*(types for types, _ in parts)) if parts else set()
    if not found:
        count = sum(len(values) for _, values in parts)
        return pl.Series(name, [None] * count, dtype=_empty_type(declared))
    real = any(word in declared for word in ("REAL", "FLOA", "DOUB"))
    if found == {int} and not real:
        whole = _joined(name, parts, pl.Int64())
        if declared.startswith("BOOL") and whole.drop_nulls().is_in([0, 1]).all():
            return whole.cast(pl.Boolean)
        return whole
    if found <= {int, float}:
        return _joined(name, parts, pl.Float64())
    if found == {str}:
        return _declared_text(_joined(name, parts, pl.String()), declared)
    if bytes in found:
        notes.append(f"{name!r} holds bytes, read as hexadecimal text")
    if len(found) > 1:
        notes.append(f"{name!r} holds text beside other values, read as text")
    cells = [_as_text(value) for _, values in parts for value in values]
    return _declared_text(pl.Series(name, cells, dtype=pl.String), declared)


def _joined(name: str, parts: list[_Part], dtype: Any) -> pl.Series:
    """The parts as one column; those that hold nothing but null are of no other type."""
    series = [
        values.cast(dtype) if isinstance(values, pl.Series) else pl.Series(values, dtype=dtype)
        for _, values in parts
    ]
    return pl.concat(series).alias(name)


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    return value.hex() if isinstance(value, bytes) else str(value)


def _empty_type(declared: str) -> Any:
    for word, dtype in (
        ("INT", pl.Int64),
        ("REAL", pl.Float64),
        ("BOOL", pl.Boolean),
        ("DATETIME", pl.Datetime("us")),
        ("TIMESTAMP", pl.Datetime("us")),
        ("DATE", pl.Date),
        ("JSON", pl.List(pl.String)),
    ):
        if word in declared:
            return dtype
    return pl.String


def _declared_text(text: pl.Series, declared: str) -> pl.Series:
    """Text in a column that was declared to hold dates or lists."""
    if declared.startswith(("DATE", "TIMESTAMP")):
        when = dates(text)
        if when is not None and when.values is not None:
            return when.values
    if declared == "JSON":
        lists = [None if cell is None else _json_list(cell) for cell in text.to_list()]
        if all(cell is None or isinstance(cell, list) for cell in lists):
            items = [item for cell in lists if cell for item in cell]
            if (
                all(isinstance(item, int) and not isinstance(item, bool) for item in items)
                and items
            ):
                return pl.Series(text.name, lists, dtype=pl.List(pl.Int64))
            if all(isinstance(item, str) or item is None for item in items):
                return pl.Series(text.name, lists, dtype=pl.List(pl.String))
    return text


def _json_list(cell: str) -> Any:
    try:
        return from_json(cell)
    except ValueError:
        return cell
