"""PostgreSQL, against a real server that lives as long as this module's tests."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.data.io import read, read_with_notes, write
from sfumato.data.io.postgres import postgres_pieces
from sfumato.data.io.source import locate
from sfumato.data.schema import Kind
from sfumato.data.table import table
from sfumato.errors import InputError, OutputError, SchemaError, SfumatoError
from tests.data.io.test_roundtrip import TEXTS
from tests.postgres import PASSWORD, USER, Server

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (extra `postgres`)")


def test_types(empty: Server) -> None:
    empty.run(
        "CREATE TYPE grade AS ENUM ('lo', 'mid', 'hi')",
        """CREATE TABLE t (
            small smallint, big bigint, x double precision, money numeric(10, 2),
            whole numeric(20, 0), free numeric, b boolean, d date, at timestamp,
            zoned timestamptz, w text, code varchar(5), padded char(5), g grade,
            tags text[], counts int[], raw bytea, u uuid, j json, day time, span interval)""",
        """INSERT INTO t VALUES
            (1, 9223372036854775807, 0.1, 1.25, 7, 2.5, true, '2000-01-31', '2000-01-31 10:20:30.5',
             '2000-01-01 02:00:00+02', '', '007', 'ab', 'hi', ARRAY['a b', '"', NULL], ARRAY[1, 2],
             '\\x00ff', '3f0c2f1e-0000-0000-0000-000000000000', '{"a": 1}', '03:04', '3 days'),
            (NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
             '{}', NULL, NULL, NULL, NULL, NULL, NULL)""",
    )
    found, notes = read_with_notes(empty.url, table="t", quasi=["g"])
    first = found.frame.row(0, named=True)
    assert first.pop("zoned").isoformat() == "2000-01-01T00:00:00"
    assert first == {
        "small": 1,
        "big": 2**63 - 1,
        "x": 0.1,
        "money": 1.25,
        "whole": 7,
        "free": 2.5,
        "b": True,
        "d": dt.date(2000, 1, 31),
        "at": dt.datetime(2000, 1, 31, 10, 20, 30, 500_000),
        "w": "",
        "code": "007",
        "padded": "ab",
        "g": "hi",
        "tags": ["a b", '"', None],
        "counts": [1, 2],
        "raw": "00ff",
        "u": "3f0c2f1e-0000-0000-0000-000000000000",
        "j": '{"a": 1}',
        "day": "03:04:00",
        "span": "3 days",
    }
    second = found.frame.row(1, named=True)
    assert second.pop("tags") == []
    assert set(second.values()) == {None}
    assert found["g"].dtype == pl.Enum(["lo", "mid", "hi"])
    assert found.schema["g"].kind == Kind.ORDINAL
    assert found.schema["tags"].kind == Kind.SET
    assert "'money' holds decimals, read as floats" in notes
    assert "missing: NaN in 'x' (1 cells)" in notes


def test_tables_and_queries(empty: Server) -> None:
    empty.run(
        "CREATE SCHEMA lab",
        "CREATE TABLE lab.results AS SELECT 1 AS a",
        'CREATE TABLE "Odd; DROP TABLE x" AS SELECT 2 AS "select"',
        "CREATE VIEW seen AS SELECT 3 AS a",
    )
    assert read(empty.url, table="lab.results")["a"].to_list() == [1]
    assert read(empty.url, table="results")["a"].to_list() == [1]
    assert read(empty.url, table="Odd; DROP TABLE x")["select"].to_list() == [2]
    assert read(empty.url, table="seen")["a"].to_list() == [3]
    query = "SELECT a, '%s' AS w FROM lab.results WHERE a = 1 -- all of it\n;"
    assert read(empty.url, query=query).frame.rows() == [(1, "%s")]
    assert read(empty.url, query="SELECT a FROM lab.results WHERE a > 5").height == 0
    with pytest.raises(InputError, match=r"did you mean 'lab\.results'"):
        read(empty.url, table="lab.result")
    with pytest.raises(InputError, match="holds 3 tables"):
        read(empty.url)
    with pytest.raises(InputError, match="a: appears more than once"):
        read(empty.url, query="SELECT 1 AS a, 2 AS a")
    with pytest.raises(InputError, match="no columns"):
        read(empty.url, query="SELECT FROM lab.results")


def test_reading_never_writes(empty: Server) -> None:
    empty.run(
        "CREATE TABLE t AS SELECT 1 AS a",
        "CREATE FUNCTION harm() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING a'",
    )
    for query in ("DELETE FROM t RETURNING a", "SELECT harm() AS a"):
        with pytest.raises(InputError):
            read(empty.url, query=query)
    assert empty.run("SELECT count(*) FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [("infinity", "date", "has no date in the calendar"), ("0044-03-15 BC", "date", "has no date")],
)
def test_dates_outside_the_calendar(empty: Server, value: str, kind: str, message: str) -> None:
    empty.run(f"CREATE TABLE t AS SELECT '{value}'::{kind} AS d")
    with pytest.raises(InputError, match=message):
        read(empty.url, table="t")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(data=st.data())
def test_round_trip(server: Server, data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 5))

    def column(values: st.SearchStrategy[Any], dtype: Any) -> pl.Series:
        drawn = data.draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        return pl.Series(drawn, dtype=dtype)

    given_table = table(
        {
            "n": column(st.integers(-(2**63), 2**63 - 1), pl.Int64),
            "u": column(st.integers(0, 2**64 - 1), pl.UInt64),
            "x": column(st.floats(allow_nan=False), pl.Float64),
            "w": column(TEXTS, pl.String),
            "b": column(st.booleans(), pl.Boolean),
            "d": column(st.dates(), pl.Date),
            "m": column(st.datetimes(), pl.Datetime("us")),
            "s": column(st.lists(st.none() | TEXTS, max_size=3), pl.List(pl.String)),
            "i": column(st.lists(st.integers(-9, 9), max_size=3), pl.List(pl.Int64)),
            'odd "name", %s': column(TEXTS, pl.String),
        }
    )
    write(given_table, server.url, table_name="round trip", replace=True)
    found = read(server.url, table="round trip")
    for name in given_table.names:
        got, wanted = found[name].to_list(), given_table[name].to_list()
        if name == "u" and found[name].dtype == pl.String:  # beyond 64-bit integers with a sign
            wanted = [None if v is None else str(v) for v in wanted]
        assert list(map(repr, got)) == list(map(repr, wanted)), name


@pytest.mark.parametrize("value", ["\\.", "", None, "a"])
def test_one_column_of_anything(empty: Server, value: str | None) -> None:
    write(table({"w": pl.Series([value, "b"], dtype=pl.String)}), empty.url, table_name="t")
    assert read(empty.url)["w"].to_list() == [value, "b"]


def test_writing_is_one_transaction(empty: Server) -> None:
    write(table({"a": [1]}), empty.url, table_name="t")
    with pytest.raises(OutputError, match="already has a table 't' -> replace=True"):
        write(table({"a": [2]}), empty.url, table_name="t")
    # The server refuses the text in the middle of the copy; the old table is still whole.
    with pytest.raises(OutputError):
        write(table({"a": ["b", "\0"]}), empty.url, table_name="t", replace=True)
    with pytest.raises(OutputError):
        write(table({"a": ["b", "\0"]}), empty.url, table_name="new")
    assert empty.run("SELECT tablename, tableowner FROM pg_tables WHERE schemaname = 'public'") == [
        ("t", USER)
    ]
    assert read(empty.url)["a"].to_list() == [1]
    write(table({"a": [2]}), empty.url, table_name="t", replace=True)
    assert read(empty.url)["a"].to_list() == [2]
    with pytest.raises(OutputError, match="nowhere"):
        write(table({"a": [2]}), empty.url, table_name="nowhere.t")


def test_suppressed_cells(empty: Server) -> None:
    mask = np.array([False, True])
    hidden = table({"w": ["a", None], "n": [1, None]}).with_columns(
        [], suppressed={"w": mask, "n": mask}
    )
    write(hidden, empty.url, table_name="t")
    assert empty.run("SELECT * FROM t") == [("a", 1), ("*", None)]


# --- credentials ---


def secrets() -> list[str]:
    return [PASSWORD, quote(PASSWORD, safe=""), USER]


def _attempts(server: Server) -> dict[str, Callable[[], Any]]:
    right = server.url
    wrong = right.replace(quote(PASSWORD, safe=""), quote("wr0ng" + PASSWORD, safe=""))
    return {
        "wrong password": lambda: read(wrong, table="t"),
        "no such table": lambda: read(right, table="there-is-none"),
        "broken query": lambda: read(right, query=f"SELECT '{PASSWORD}' FROM nowhere"),
        "no server": lambda: read(right.replace(str(server.port), "1"), table="t"),
        "unencoded password": lambda: read(
            f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{server.port}/postgres", table="t"
        ),
        "broken percent": lambda: read(
            f"postgresql://{USER}:%zz{quote(PASSWORD, safe='')}@h/d", table="t"
        ),
        "password as a parameter": lambda: read(
            f"postgresql://127.0.0.1:{server.port}/none"
            f"?user={USER}&password={quote(PASSWORD, safe='')}",
            table="t",
        ),
        "unknown parameter": lambda: read(f"{right}?nonsense=1", table="t"),
        "writing": lambda: write(table({"a": [1]}), wrong, table_name="t"),
        "writing nowhere": lambda: write(table({"a": [1]}), right, table_name="no.where"),
    }


@pytest.mark.parametrize(
    "what",
    [
        "wrong password",
        "no such table",
        "broken query",
        "no server",
        "unencoded password",
        "broken percent",
        "password as a parameter",
        "unknown parameter",
        "writing",
        "writing nowhere",
    ],
)
def test_credentials_never_appear(empty: Server, what: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        _attempts(empty)[what]()
    error: BaseException | None = caught.value
    while error is not None:  # nor in what a traceback would show below it
        text = f"{error} {error!r} {getattr(error, 'to_dict', dict)()}"
        for secret in secrets():
            assert secret not in text
        error = None if error.__suppress_context__ else error.__cause__ or error.__context__


def test_notes_and_tables_hold_no_credentials(empty: Server) -> None:
    empty.run("CREATE TABLE t AS SELECT 1.5::numeric AS a")
    found, notes = read_with_notes(empty.url)
    assert notes == ["table: t", "'a' holds decimals, read as floats"]
    assert not any(secret in repr(found) for secret in secrets())


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        InputError, match=r"needs the psycopg package -> pip install 'sfumato\[postgres\]'"
    ):
        read("postgresql://localhost/x", table="t")
    with pytest.raises(OutputError, match="needs the psycopg package"):
        write(table({"a": [1]}), "postgresql://localhost/x", table_name="t")


@pytest.mark.parametrize("key", ["id", "code"])
def test_records_are_numbered_by_a_key_whole_and_piece_by_piece(server: Server, key: str) -> None:
    server.run(
        "DROP TABLE IF EXISTS numbered",
        "CREATE TABLE numbered AS SELECT (i * 7919) % 3000 AS id, "
        "chr(97 + i % 2 * -32) || E'\"\\n' || i AS code, NULLIF(i % 5, 0) / 4.0::float8 AS pay "
        "FROM generate_series(0, 2999) AS i",
    )
    whole = read(server.url, table="numbered", key=key)
    assert whole[key].is_sorted()
    pieces = list(postgres_pieces(locate(server.url), "numbered", None, key, 1 << 12))
    assert len(pieces) > 10
    assert pl.concat(pieces).equals(whole.frame)
    with pytest.raises(SchemaError, match="twice"):
        list(postgres_pieces(locate(server.url), None, "SELECT id/2 x FROM numbered", "x", 4096))
    with pytest.raises(SchemaError, match="no such column"):
        list(postgres_pieces(locate(server.url), "numbered", None, "idd", 4096))
