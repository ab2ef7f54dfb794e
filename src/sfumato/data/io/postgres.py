"""PostgreSQL by URL. Rows travel by COPY, in both directions, in one transaction.

Whatever the driver says is stripped of the URL's user and password before it becomes a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import polars as pl

from ...addresses import redact
from ...errors import InputError, OutputError, SchemaError, SfumatoError
from ..schema import missing_column
from .files import whole_or_text
from .queries import check_text, refused, trimmed
from .source import Endpoint
from .sql import check_key, check_names, choose, quoted
from .text.blocks import whole_records

_INTEGERS = ("int2", "int4", "int8", "oid")
_FLOATS = ("float4", "float8")
_TEXTS = ("text", "varchar", "bpchar", "name", "citext")
_CHUNK = 1 << 20
_LONGEST = 63
"""Bytes of a name; the server cuts what is longer."""


@contextmanager
def told(endpoint: Endpoint, error: type[SfumatoError]) -> Iterator[Any]:
    """The driver; what it complains of meanwhile is told without credentials."""
    try:
        import psycopg
    except ImportError:
        raise error(
            "reading and writing PostgreSQL needs the psycopg package",
            remedy="pip install 'sfumato[postgres]'",
        ) from None
    try:
        psycopg.conninfo.conninfo_to_dict(endpoint.url)
    except psycopg.ProgrammingError:
        # The driver would quote what it takes for a parameter, and that may be half a password.
        raise error(
            f"{endpoint.label}: the URL has parameters that PostgreSQL does not know",
            remedy="postgresql://USER@HOST/DATABASE?sslmode=require, with & = in a value written "
            "as %26 %3D",
        ) from None
    try:
        yield psycopg
    except psycopg.Error as problem:
        lines = redact(str(problem), endpoint.url).strip().splitlines()
        reason = lines[0] if lines else type(problem).__name__
        # `from None`: the driver's own message may hold what was just struck out.
        raise error(
            f"{endpoint.label}: {reason}",
            remedy="check the URL, the server, and the table or query",
        ) from None


@contextmanager
def connected(endpoint: Endpoint, error: type[SfumatoError], *, read_only: bool) -> Iterator[Any]:
    """A transaction on the server, committed if the body succeeds and may write; errors tell no
    credentials."""
    with (
        told(endpoint, error) as psycopg,
        psycopg.connect(endpoint.url, client_encoding="utf8", connect_timeout=15) as connection,
    ):
        connection.read_only = read_only
        # Dates and floats must come as text that reads back exactly, whatever the server's
        # defaults.
        connection.execute("SET LOCAL datestyle = 'ISO, YMD'")
        connection.execute("SET LOCAL extra_float_digits = 1")
        connection.execute("SET LOCAL timezone = 'UTC'")
        yield connection
        if read_only:
            connection.rollback()  # large objects are written also where tables cannot be


def read_postgres(
    endpoint: Endpoint, table: str | None, query: str | None
) -> tuple[pl.DataFrame, list[str]]:
    """A table or the result of a query of a PostgreSQL database."""
    with connected(endpoint, InputError, read_only=True) as connection:
        statement, notes = _statement(connection, endpoint, table, query)
        columns = columns_of(connection, statement, endpoint.label)
        text = b"".join(copied_out(connection, statement, columns))
        frame = framed(text, columns, notes)
    return frame, notes


def postgres_pieces(
    endpoint: Endpoint, table: str | None, query: str | None, key: str, size: int
) -> Iterator[pl.DataFrame]:
    """The same in the order of a key, a piece of about `size` bytes at a time."""
    with connected(endpoint, InputError, read_only=True) as connection:
        statement, _ = _statement(connection, endpoint, table, query)
        columns = columns_of(connection, statement, endpoint.label)
        chosen = next((column for column in columns if column.name == key), None)
        if chosen is None:
            raise SchemaError(endpoint.label, [missing_column(key, [c.name for c in columns])])
        # Text by its bytes: an order by language is not the same everywhere.
        how = ' COLLATE "C"' if chosen.kind in _TEXTS else ""
        ordered = f"SELECT * FROM ({statement}\n) AS r ORDER BY {quoted(key)}{how}"
        last = None
        for text in whole_records(copied_out(connection, ordered, columns), size):
            frame = framed(text, columns, [])
            yield check_key(frame, key, endpoint.label, last)
            last = frame.get_column(key)[-1]
        yield framed(b"", columns, [])


def _statement(
    connection: Any, endpoint: Endpoint, table: str | None, query: str | None
) -> tuple[str, list[str]]:
    schema = connection.execute("SELECT current_schema()").fetchone()[0] or "public"
    tables = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname <> 'information_schema' "
        "AND n.nspname !~ '^pg_' ORDER BY 1, 2"
    ).fetchall()
    statement, notes = choose(tables, table, query, endpoint.label, schema)
    if query is None:
        return statement, notes
    _lower_rights(connection)
    return _one_select(connection, statement), notes


def _lower_rights(connection: Any) -> None:
    """A superuser's query could open the server's files: it is asked with the right to read tables,
    and no other. Where a policy would then hide rows, the server says so instead."""
    (lowered,) = connection.execute(
        "SELECT bool_or(rolname = 'pg_read_all_data') AND "
        "bool_or(rolname = current_user AND rolsuper) FROM pg_roles"
    ).fetchone()
    if lowered:
        connection.execute(
            "SELECT set_config('search_path', string_agg(quote_ident(s), ','), true) "
            "FROM unnest(current_schemas(false)) s"
        )
        connection.execute("SET LOCAL row_security = off")
        connection.execute("SET LOCAL ROLE pg_read_all_data")


def _one_select(connection: Any, query: str) -> str:
    """The query, where the server finds one statement in it; what is put in parentheses then
    cannot leave them, and there is only room for a query that does not write."""
    from psycopg import errors, pq

    text = trimmed(query)
    check_text(text, server=True)
    try:
        sent = text.encode()
    except UnicodeEncodeError:
        sent = b"\0"
    if b"\0" in sent:
        raise refused("holds a character that is not text")
    found = connection.pgconn.prepare(b"", sent)  # parsed, and not run
    if found.status != pq.ExecStatus.COMMAND_OK:
        raise errors.error_from_result(found, encoding="utf-8")
    return text


def framed(text: bytes, columns: list[_Column], notes: list[str]) -> pl.DataFrame:
    """The records of a copy in their types."""
    from .text.csv import copied_cells

    cells = copied_cells(text, len(columns))
    return pl.DataFrame([_typed(cells.to_series(i), c, notes) for i, c in enumerate(columns)])


class _Column(NamedTuple):
    """A column of a result: its name, its type's name, and the labels of an enumeration."""

    name: str
    kind: str
    element: str | None
    labels: list[str]
    scale: int | None


def columns_of(connection: Any, statement: str, label: str) -> list[_Column]:
    cursor = connection.execute(f"SELECT * FROM ({statement}\n) AS q LIMIT 0")
    described = list(cursor.description)
    check_names([column.name for column in described], label)
    found = []
    for column in described:
        kind, element = connection.execute(
            "SELECT t.typname, e.typname FROM pg_type t LEFT JOIN pg_type e "
            "ON t.typelem = e.oid AND t.typlen = -1 AND t.typelem <> 0 WHERE t.oid = %s",
            [column.type_code],
        ).fetchone()
        labels = connection.execute(
            "SELECT enumlabel FROM pg_enum WHERE enumtypid = %s ORDER BY enumsortorder",
            [column.type_code],
        ).fetchall()
        found.append(_Column(column.name, kind, element, [row[0] for row in labels], column.scale))
    return found


def copied_out(connection: Any, statement: str, columns: list[_Column]) -> Iterator[bytes]:
    """All rows as text: null and empty text told apart by quotes, arrays as JSON."""
    wanted = ", ".join(
        f"to_json({quoted(c.name)})::text" if c.element else f"({quoted(c.name)})::text"
        for c in columns
    )
    if not columns:
        raise InputError("the query returns no columns", remedy="select at least one column")
    command = (
        f"COPY (SELECT {wanted} FROM ({statement}\n) AS q) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
    )
    with connection.cursor().copy(command) as copy:
        for piece in copy:
            yield bytes(piece)


def _typed(text: pl.Series, column: _Column, notes: list[str]) -> pl.Series:
    text = text.alias(column.name)
    kind = column.kind
    if kind in _INTEGERS:
        return text.cast(pl.Int64)
    if kind in _FLOATS:
        return text.str.replace("Infinity", "inf", literal=True).cast(pl.Float64)
    if kind == "numeric":
        return _numeric(text, column, notes)
    if kind == "bool":
        return text.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
    if kind in ("date", "timestamp", "timestamptz"):
        return _temporal(text, kind, column.name)
    if column.labels:
        return text.cast(pl.Enum(column.labels))
    if column.element:
        return _array(text, column)
    if kind == "bytea":
        notes.append(f"{column.name!r} holds bytes, read as hexadecimal text")
        return text.str.strip_prefix("\\x")
    return text


def _numeric(text: pl.Series, column: _Column, notes: list[str]) -> pl.Series:
    if column.scale == 0:
        return whole_or_text(text, notes)
    notes.append(f"{column.name!r} holds decimals, read as floats")
    return text.str.replace("Infinity", "inf", literal=True).cast(pl.Float64)


def _temporal(text: pl.Series, kind: str, name: str) -> pl.Series:
    if kind == "date":
        values = text.str.to_date("%Y-%m-%d", strict=False)
    elif kind == "timestamp":
        values = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    else:
        values = text.str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f%#z", time_unit="us", time_zone="UTC", strict=False
        )
    bad = values.is_null() & text.is_not_null()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"column {name!r}, record {row + 1:,}: {text[row]!r} has no date in the calendar",
            remedy=f"NULLIF({quoted(name)}, {text[row]!r}) in query=...",
        )
    return values


def _array(text: pl.Series, column: _Column) -> pl.Series:
    whole = column.element in _INTEGERS
    wanted = pl.List(pl.Int64) if whole else pl.List(pl.String)
    try:
        return text.str.json_decode(wanted)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"column {column.name!r} holds arrays of several dimensions",
            remedy="unnest it in query=...",
        ) from None


# --- writing --------------------------------------------------------------------------------------


def write_postgres(
    frame: pl.DataFrame, endpoint: Endpoint, table_name: str, *, replace: bool
) -> None:
    """Create the table and fill it, in one transaction; replace an existing one only on request."""
    schema, _, name = table_name.rpartition(".")
    target = (f"{quoted(schema)}." if schema else "") + quoted(name)
    with connected(endpoint, OutputError, read_only=False) as connection:
        exists = connection.execute("SELECT to_regclass(%s)", [target]).fetchone()[0]
        if exists and not replace:
            raise OutputError(
                f"{endpoint.label} already has a table {table_name!r}",
                remedy="replace=True, or another table_name",
            )
        if exists:
            connection.execute(f"DROP TABLE {target}")
        connection.execute(f"CREATE TABLE {target} ({columns_for(frame)})")
        with connection.cursor().copy(f"COPY {target} FROM STDIN (FORMAT csv)") as copy:
            send(copy, frame)


def columns_for(frame: pl.DataFrame) -> str:
    """The columns of a table that holds such a frame."""
    for name in frame.columns:
        check_length(name)
    return ", ".join(f"{quoted(s.name)} {_sql_type(s)}" for s in frame)


def check_length(name: str) -> None:
    """Refuse a name that the server would cut."""
    if len(name.encode()) > _LONGEST:
        raise OutputError(
            f"{name!r} has more than the {_LONGEST} bytes that PostgreSQL keeps of a name",
            remedy="give it a shorter name",
        )


def send(copy: Any, frame: pl.DataFrame) -> None:
    """The records of a frame into a copy that is under way."""
    prepared = pl.DataFrame([_prepared(series) for series in frame])
    # Every text is quoted: an unquoted empty cell is null, and a bare \. would end the data.
    body = prepared.write_csv(include_header=False, quote_style="non_numeric").encode()
    for start in range(0, len(body), _CHUNK):
        copy.write(body[start : start + _CHUNK])


def _sql_type(series: pl.Series) -> str:
    dtype = series.dtype
    if isinstance(dtype, pl.List):
        inner = dtype.inner
        return ("bigint" if pl.Series([], dtype=inner).dtype.is_integer() else "text") + "[]"
    if dtype == pl.UInt64:
        return "numeric(20, 0)"
    if dtype.is_integer():
        return "bigint"
    if dtype.is_float():
        return "real" if dtype == pl.Float32 else "double precision"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype == pl.Date:
        return "date"
    if isinstance(dtype, pl.Datetime):
        return "timestamptz" if dtype.time_zone else "timestamp"
    return "text"


def _prepared(series: pl.Series) -> pl.Series:
    """Lists as PostgreSQL's array literals; the rest is written as it is."""
    if not isinstance(series.dtype, pl.List):
        return series
    item = pl.element().cast(pl.String)
    escaped = item.str.replace_all("\\", "\\\\", literal=True).str.replace_all(
        '"', '\\"', literal=True
    )
    cells = series.list.eval(
        pl.when(item.is_null()).then(pl.lit("NULL")).otherwise(pl.lit('"') + escaped + pl.lit('"'))
    ).list.join(",")
    return pl.select(("{" + pl.lit(cells) + "}").alias(series.name)).to_series()
