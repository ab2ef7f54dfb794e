"""A release as a table of PostgreSQL: written, read back and made visible in one transaction.

Until that is committed nobody else sees anything, and the server forgets it when the process dies.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ...errors import InputError, OutputError, Unsettled
from ..exact import cast_to
from .postgres import (
    check_length,
    columns_for,
    columns_of,
    connected,
    copied_out,
    framed,
    send,
    told,
)
from .source import Endpoint
from .sql import quoted
from .text.blocks import whole_records

_MARK = "sfumato release "
"""How the comment on a table begins that a release made."""
_CELLS = 1 << 22
"""Cells that are sent at once."""
_BLOCK = 16 << 20


class PostgresTable:
    """The table that the records of a release become."""

    def __init__(self, endpoint: Endpoint, name: str, *, replacing: bool) -> None:
        """`replacing` says that a table of that name is the one of the release that is replaced."""
        self._schema, _, self._name = name.rpartition(".")
        check_length(self._name)
        self._end = endpoint
        self._replacing = replacing
        self._held = ExitStack()
        self._connection: Any = None
        self._staged = self._mark = ""

    def check(self) -> None:
        """Refuse early where the table could not be made anyway."""
        with connected(self._end, OutputError, read_only=True) as connection:
            self._free(connection)

    def _free(self, connection: Any) -> tuple[str, bool]:
        """The schema for the table, and whether one is there that may be replaced."""
        (schema,) = [self._schema] if self._schema else _first(connection, "current_schema()")
        made = connection.execute(
            "SELECT oid, has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = %s",
            [schema],
        ).fetchone()
        if made is None or not made[1]:
            what = "has no schema" if made is None else "lets you make no table in the schema"
            raise OutputError(
                f"{self._end.label} {what} {schema or 'public'}",
                remedy='name another: [output] table = "SCHEMA.NAME"',
            )
        found = connection.execute(
            "SELECT relkind = 'r', coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class "
            "WHERE relnamespace = %s AND relname = %s",
            [made[0], self._name],
        ).fetchone()
        if found and not (self._replacing and found[0] and found[1].startswith(_MARK)):
            raise OutputError(
                f"{self._end.label} has a table {schema}.{self._name} already",
                remedy="another name; --replace takes the place of the table that the replaced "
                "release has made, and of no other",
            )
        return schema, found is not None

    def fill(self, parts: Sequence[Path], back: Path) -> str:
        """Write the records of all parts, read them back into parts of the same names, and tell
        their digest. Refused where the server gives back anything else."""
        self._connection = self._held.enter_context(
            connected(self._end, OutputError, read_only=False)
        )
        with told(self._end, OutputError):
            return self._filled(parts, back)

    def _filled(self, parts: Sequence[Path], back: Path) -> str:
        # The report is made before the end, and measuring takes its time.
        self._connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        _in_order(self._connection)
        schema, _ = self._free(self._connection)
        self._staged = f"{quoted(schema)}.{quoted(f'sfumato_{secrets.token_hex(8)}')}"
        none = next(_batches(parts[0])).clear()
        self._connection.execute(f"CREATE TABLE {self._staged} ({columns_for(none)})")
        statement = f"COPY {self._staged} FROM STDIN (FORMAT csv)"
        with self._connection.cursor().copy(statement) as copy:
            for part in parts:
                for frame in _batches(part):
                    send(copy, frame)
        digest = hashlib.sha256()
        self._read_back(parts, back, none, digest)
        self._mark = _MARK + digest.hexdigest()
        return digest.hexdigest()

    def _read_back(
        self, parts: Sequence[Path], back: Path, none: pl.DataFrame, digest: Any
    ) -> None:
        from pyarrow import parquet

        back.mkdir(mode=0o700)
        pieces = self._pieces(digest)
        held, done = none, 0
        for part in parts:
            with parquet.ParquetWriter(back / part.name, none.to_arrow().schema) as sink:
                for sent in _batches(part):
                    while held.height < sent.height and (more := next(pieces, None)) is not None:
                        held = pl.concat([held, cast_to(more, none.schema, strict=False)])
                    got, held = held.head(sent.height), held.slice(sent.height)
                    _compare(sent, got, done)
                    sink.write_table(got.to_arrow())
                    done += sent.height
        if held.height or next(pieces, None) is not None:
            raise OutputError("the server gives back more records than it was given")

    def _pieces(self, digest: Any) -> Iterator[pl.DataFrame]:
        statement = f"SELECT * FROM {self._staged}"
        columns = columns_of(self._connection, statement, self._end.label)
        for text in whole_records(copied_out(self._connection, statement, columns), _BLOCK):
            digest.update(text)
            yield framed(text, columns, [])

    @contextmanager
    def appearing(self) -> Iterator[None]:
        """The table gets its name, and others see it when the block ends without an error."""
        with told(self._end, OutputError):
            schema, there = self._free(self._connection)
            target = f"{quoted(schema)}.{quoted(self._name)}"
            if there:
                self._connection.execute(f"DROP TABLE {target}")
            self._connection.execute(f"ALTER TABLE {self._staged} RENAME TO {quoted(self._name)}")
            self._connection.execute(f"COMMENT ON TABLE {target} IS '{self._mark}'")
        yield
        try:
            with told(self._end, OutputError):
                self._connection.commit()
        except OutputError as error:
            if not self._committed(target, error):
                raise

    def _committed(self, target: str, error: OutputError) -> bool:
        """Whether the table is there though the server did not say so."""
        try:
            with connected(self._end, OutputError, read_only=True) as again:
                (mark,) = _first(again, "obj_description(to_regclass(%s), 'pg_class')", target)
        except OutputError:
            raise Unsettled(
                f"whether the table {target} was written is not known: {error.message}",
                remedy="look for it; where it is not there, run again with --replace",
            ) from None
        return bool(mark == self._mark)

    def close(self) -> None:
        """Forget what was not committed."""
        if self._connection is None:
            return
        with suppress(OutputError), told(self._end, OutputError):
            self._connection.rollback()
        with suppress(OutputError):
            self._held.close()


class NoTable(InputError):
    """The server answers, and does not have the table."""


class Copied(NamedTuple):
    """What is known of the records of a table."""

    mark: str
    """The digest that a release left on it."""
    sha256: str
    """That of what the server gives now, which is the same unless somebody changed it."""


def copied_table(endpoint: Endpoint, name: str, folder: Path) -> Copied:
    """The records of a table as parts in a folder."""
    schema, _, table = name.rpartition(".")
    target = (f"{quoted(schema)}." if schema else "") + quoted(table)
    with connected(endpoint, InputError, read_only=True) as connection:
        oid, mark = _first(
            connection, "to_regclass(%s), obj_description(to_regclass(%s), 'pg_class')", target
        )
        if oid is None:
            raise NoTable(
                f"{endpoint.label} has no table {name}",
                remedy="a run that was interrupted at its very end is run again with --replace",
            )
        statement = f"SELECT * FROM {target}"
        columns = columns_of(connection, statement, endpoint.label)
        # Of long whole numbers some pieces may fit into 64 bits, and others not.
        columns = [c._replace(kind="text") if c.kind == "numeric" else c for c in columns]
        _in_order(connection)
        digest = hashlib.sha256()
        pieces = whole_records(copied_out(connection, statement, columns), _BLOCK)
        framed(b"", columns, []).write_parquet(folder / "part-00000.parquet")
        for number, text in enumerate(pieces, 1):
            digest.update(text)
            framed(text, columns, []).write_parquet(folder / f"part-{number:05d}.parquet")
    return Copied(str(mark or "").removeprefix(_MARK), digest.hexdigest())


def _in_order(connection: Any) -> None:
    """What comes back has to come in the order in which it went."""
    connection.execute("SET synchronize_seqscans = off")
    connection.execute("SET max_parallel_workers_per_gather = 0")


def _first(connection: Any, what: str, *words: str) -> tuple[Any, ...]:
    """One row of values; each mark in the statement stands for the same word."""
    found: tuple[Any, ...] = connection.execute(
        f"SELECT {what}", [*words] * what.count("%s")
    ).fetchone()
    return found


def _batches(part: Path) -> Iterator[pl.DataFrame]:
    """The records of a part in the types that the server keeps, some at a time."""
    from pyarrow import parquet

    with parquet.ParquetFile(part) as source:
        none = pl.DataFrame(pl.from_arrow(source.schema_arrow.empty_table()))
        types = pl.Schema({name: _kept(dtype) for name, dtype in none.schema.items()})
        yield cast_to(none, types)
        for batch in source.iter_batches(max(1, _CELLS // max(1, none.width))):
            yield cast_to(pl.DataFrame(pl.from_arrow(batch)), types)


def _kept(dtype: pl.DataType) -> Any:
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", dtype.time_zone)
    return pl.String if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null) else dtype


def _compare(sent: pl.DataFrame, got: pl.DataFrame, before: int) -> None:
    """Refuse where the server does not give back what it was given, in the same order: whose a
    record is, and what was measured of it, is told by its place."""
    if got.equals(sent):
        return
    if got.height < sent.height:
        raise OutputError("the server gives back fewer records than it was given")
    for name in sent.columns:
        other = sent.get_column(name).ne_missing(got.get_column(name))
        if other.any():
            row = before + int(other.arg_max() or 0) + 1
            raise OutputError(
                f"column {name!r}, record {row:,}: the server gives back another value than it "
                "was given",
                remedy='[output] format = "parts" instead of a table',
            )
