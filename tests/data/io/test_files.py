"""Parquet, Arrow, SQLite, DuckDB: types that have a kind, types that have none, and bad files."""

from __future__ import annotations

import datetime as dt
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

from sfumato.data.io import read, read_with_notes
from sfumato.data.schema import Kind
from sfumato.errors import InputError, SchemaError


def test_parquet_and_arrow_keep_their_types(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "n": pl.Series([1, None], dtype=pl.Int8),
            "x": [0.5, None],
            "o": pl.Series(["hi", None], dtype=pl.Enum(["lo", "hi"])),
            "c": pl.Series(["a", None], dtype=pl.Categorical),
            "s": [["a"], None],
            "d": [dt.date(2000, 1, 1), None],
        }
    )
    frame.write_parquet(tmp_path / "f.parquet")
    frame.write_ipc(tmp_path / "f.arrow")
    frame.write_ipc_stream(tmp_path / "f.ipc")
    for name in ("f.parquet", "f.arrow", "f.ipc"):
        found, notes = read_with_notes(tmp_path / name, quasi=["n"])
        assert found.frame.equals(frame, null_equal=True), name
        assert found.frame.dtypes == frame.dtypes
        assert [str(c.kind) for c in found.schema] == [
            "integer",
            "continuous",
            "ordinal",
            "nominal",
            "set",
            "date",
        ]
        assert notes == []


def test_files_of_other_libraries(tmp_path: Path) -> None:
    words = pa.array(["b", "a", None]).dictionary_encode()
    feather.write_feather(pa.table({"w": words, "l": [[1], [], None]}), str(tmp_path / "f.feather"))
    found = read(tmp_path / "f.feather")
    assert found["w"].to_list() == ["b", "a", None]
    assert found["l"].to_list() == [[1], [], None]


def test_types_without_a_kind_are_changed_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame(
        {
            "time": [dt.time(3, 4), None],
            "span": [dt.timedelta(seconds=90), None],
            "raw": [b"\x00\xff", None],
            "money": [Decimal("1.25"), None],
            "whole": pl.Series([Decimal(7), None], dtype=pl.Decimal(20, 0)),
            "huge": pl.Series([Decimal(10**20), None], dtype=pl.Decimal(30, 0)),
            "nan": [float("nan"), 1.0],
            "none": pl.Series([None, None], dtype=pl.Null),
            "floats": [[0.5], None],
            "array": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int64, 2)),
        }
    ).write_parquet(path)
    found, notes = read_with_notes(path)
    assert found.frame.rows() == [
        ("03:04:00", 90.0, "00ff", 1.25, 7, str(10**20), None, None, ["0.5"], [1, 2]),
        (None, None, None, None, None, None, 1.0, None, None, None),
    ]
    assert len(notes) == 8
    assert "'money' holds decimals, read as floats" in notes
    assert "missing: NaN in 'nan' (1 cells)" in notes


@pytest.mark.parametrize("value", [{"a": 1}, [[1]], [{"a": 1}]])
def test_parts_within_cells_are_refused(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame({"x": [value]}).write_parquet(path)
    with pytest.raises(InputError, match=r"column 'x' of f\.parquet holds"):
        read(path)


def test_named_kinds_are_obeyed_in_typed_files(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame({"n": ["1", "007"], "b": [1, 0], "t": ["1.5", "x"]}).write_parquet(path)
    found = read(path, kinds={"n": "integer", "b": "boolean"})
    assert found.frame.rows() == [(1, True, "1.5"), (7, False, "x")]
    with pytest.raises(SchemaError, match=r"t: record 1 holds '1\.5', which is not a whole number"):
        read(path, kinds={"t": "integer"})


@pytest.mark.parametrize("name", ["f.parquet", "f.arrow", "f.duckdb", "f.sqlite", "f.db"])
@pytest.mark.parametrize("content", [b"", b"not a table", b"PAR1", b"ARROW1\0\0"])
def test_broken_files_are_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name.replace(".", r"\.")) as caught:
        read(tmp_path / name)
    assert caught.value.remedy


# --- SQLite ---


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A small SQLite database."""
    path = tmp_path / "clinic.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE visits (id INTEGER, born DATE, sick BOOLEAN, pay REAL, word TEXT, at TIMESTAMP,
                             mixed, raw BLOB, tags JSON, empty DATE);
        INSERT INTO visits VALUES
            (1, '2000-01-31', 1, 2, '007', '2000-01-31 10:20:30', 1, x'00ff', '["a", "b c"]', NULL),
            (2, NULL, 0, 0.5, NULL, NULL, 'x', NULL, NULL, NULL);
        CREATE TABLE "odd ""name; DROP TABLE visits" ("select" INTEGER);
        INSERT INTO "odd ""name; DROP TABLE visits" VALUES (7);
        CREATE VIEW young AS SELECT id FROM visits WHERE id = 1;
        """
    )
    connection.close()
    return path


def test_sqlite_types(clinic: Path) -> None:
    found, notes = read_with_notes(clinic, table="visits")
    assert found.frame.rows() == [
        (
            1,
            dt.date(2000, 1, 31),
            True,
            2.0,
            "007",
            dt.datetime(2000, 1, 31, 10, 20, 30),
            "1",
            "00ff",
            ["a", "b c"],
            None,
        ),
        (2, None, False, 0.5, None, None, "x", None, None, None),
    ]
    assert found.schema["empty"].kind == Kind.DATE
    assert notes == [
        "'mixed' holds text beside other values, read as text",
        "'raw' holds bytes, read as hexadecimal text",
    ]


def test_sqlite_types_may_change_between_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.data.io.sql._BATCH", 2)
    path = tmp_path / "t.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a, b, c, d)")
    rows = [(None, 1, 1, None), (None, 2, 2, None), (1, 2.5, 1.5, b"x"), (2, None, "x", 7)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    found = read(path)
    assert found["a"].to_list() == [None, None, 1, 2]
    assert found["b"].to_list() == [1.0, 2.0, 2.5, None]
    assert found["c"].to_list() == ["1", "2", "1.5", "x"]
    assert found["d"].to_list() == [None, None, "78", "7"]


def test_sqlite_by_query_and_url(clinic: Path) -> None:
    query = "SELECT born, pay * 2 AS twice FROM visits WHERE id = 1;"
    found = read(f"sqlite:///{clinic}", query=query)
    assert found.frame.rows() == [(dt.date(2000, 1, 31), 4.0)]
    assert read(clinic, table="young")["id"].to_list() == [1]
    assert read(clinic, table="main.visits").height == 2


def test_names_are_identifiers_and_never_sql(clinic: Path) -> None:
    assert read(clinic, table='odd "name; DROP TABLE visits')["select"].to_list() == [7]
    with pytest.raises(InputError, match="has no table"):
        read(clinic, table="visits; DROP TABLE visits")
    assert read(clinic, table="visits").height == 2


def test_databases_are_opened_for_reading_only(clinic: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="begins with 'DELETE'"):
        read(clinic, query="DELETE FROM visits")
    assert read(clinic, table="visits").height == 2
    duck = tmp_path / "d.duckdb"
    with duckdb.connect(str(duck)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(InputError, match="is DELETE, not SELECT"):
        read(duck, query="DELETE FROM t")
    with pytest.raises(InputError, match="no file"):
        read("sqlite:///nowhere.db", table="t")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "holds 3 tables: .*visits.* -> --table NAME or --query SQL"),
        ({"table": "visit"}, "did you mean 'visits'"),
        ({"table": "visits", "query": "SELECT 1"}, "both table and query"),
        ({"query": " ; "}, "the query is empty"),
        ({"query": "SELECT FROM"}, "cannot be read"),
        ({"query": "SELECT 1 AS a, 2 AS a"}, "a: appears more than once"),
        ({"query": "SELECT '\0'"}, "cannot be read"),
        ({"table": "visits", "encoding": "utf-8"}, "encoding cannot be used with sqlite"),
    ],
)
def test_wrong_questions_to_a_database(clinic: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(clinic, **options)


# --- DuckDB ---


def test_duckdb_types(tmp_path: Path) -> None:
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA lab")
        connection.execute(
            """CREATE TABLE lab.t AS SELECT
                7::HUGEINT AS huge, 1.25::DECIMAL(10, 2) AS money, DATE '2000-01-31' AS d,
                'hi'::ENUM('lo', 'hi') AS grade, ['a', 'b'] AS tags, TIME '03:04:00' AS time,
                INTERVAL 3 DAY AS span, TIMESTAMPTZ '2000-01-01 00:00:00+00' AS at,
                '\\xFF'::BLOB AS raw, NULL AS none, 'nan'::DOUBLE AS nan, true AS b,
                '3f0c2f1e-0000-0000-0000-000000000000'::UUID AS uuid"""
        )
        connection.execute("CREATE TABLE other AS SELECT 1 AS a")
    found, notes = read_with_notes(path, table="lab.t")
    row = found.frame.row(0, named=True)
    assert row["at"].isoformat() == "2000-01-01T00:00:00"
    del row["at"]
    assert row == {
        "huge": 7,
        "money": 1.25,
        "d": dt.date(2000, 1, 31),
        "grade": "hi",
        "tags": ["a", "b"],
        "time": "03:04:00",
        "span": "3 days",
        "raw": "ff",
        "none": None,
        "nan": None,
        "b": True,
        "uuid": "3f0c2f1e-0000-0000-0000-000000000000",
    }
    assert found["grade"].dtype == pl.Enum(["lo", "hi"])
    assert "'span' is INTERVAL, read as text" in notes
    assert read(f"duckdb:///{path}", query="SELECT max(a) AS m FROM other")["m"].to_list() == [1]
    with pytest.raises(InputError, match=r"holds 2 tables: lab\.t, other"):
        read(path)


def test_a_file_called_db_may_be_either(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    found, notes = read_with_notes(path)
    assert found.frame.rows() == [(1,)]
    assert notes == ["table: t"]


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_the_order_of_categories_comes_with_the_file(tmp_path: Path, suffix: str) -> None:
    cells = ["low", "high", None, "low"] * 5
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame(
        {
            "graded": pd.Categorical(cells, categories=levels, ordered=True),
            "plain": pd.Categorical(cells),
            "n": range(20),
        }
    )
    path = tmp_path / f"x.{suffix}"
    (frame.to_feather if suffix == "arrow" else frame.to_parquet)(path)
    found = read(path)
    assert found.schema["graded"].categories == tuple(levels)
    assert [found.schema[name].kind for name in found.names] == ["ordinal", "nominal", "integer"]
    assert found["graded"].to_list() == cells
