"""Files are read slice by slice as the reader reads them whole."""

from __future__ import annotations

import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.data.io.reading import asked_for
from sfumato.data.io.text_pieces import TextPieces
from sfumato.engines.duckdb import DuckDB
from sfumato.errors import InputError, SchemaError
from tests.engines.records import plain
from tests.engines.test_relation import by_number


def people(n: int, start: int = 0) -> pa.Table:
    rows = np.arange(start, start + n)
    return pa.table(
        {
            "age": pa.array((rows % 90).astype(np.int8)),
            "pay": pa.array([float("nan") if i % 7 == 0 else i / 3 for i in rows.tolist()]),
            "sex": pa.array(["f" if i % 2 else None for i in rows.tolist()]).dictionary_encode(),
            "zip": pa.array([f"{i % 13:05d}" for i in rows.tolist()]),
            "born": pa.array([dt.date(1950, 1, 1) + dt.timedelta(i) for i in rows.tolist()]),
            "buys": pa.array([[f"b{i % 3}", "a"] for i in rows.tolist()]),
            "owed": pa.array([Decimal(i) / 4 for i in rows.tolist()], pa.decimal128(12, 2)),
            "level": pa.array([["low", "high"][i % 2] for i in rows.tolist()]),
        }
    )


OPTIONS = {
    "quasi": ["age", "zip"],
    "others": "insensitive",
    "kinds": {"zip": "nominal", "age": "nominal"},
    "categories": {"level": ["low", "high"]},
    "sentinels": {"zip": ["00003"]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files in folders, whose order is that of their paths, beside what is no data."""
    for name, start, count in (("b/0.parquet", 500, 300), ("a/1.parquet", 0, 500)):
        path = tmp_path / "people" / name
        path.parent.mkdir(parents=True)
        pq.write_table(people(count, start), path, row_group_size=170)
    for name in ("_SUCCESS", ".hidden.parquet", "a/_temporary.parquet"):
        (tmp_path / "people" / name).write_text("")
    return tmp_path / "people"


@pytest.mark.parametrize("threads", [1, 2])
def test_parquet_is_read_slice_by_slice_as_it_is_read_whole(folder: Path, threads: int) -> None:
    whole = sf.read(folder, **OPTIONS)
    assert whole.height == 800
    assert whole["age"].head(3).to_list() == ["0", "1", "2"]
    with DuckDB(threads=threads) as engine:
        for rows in (64, 10_000):
            data = engine.open(folder, rows=rows, **OPTIONS)
            assert data.height == 800
            assert data.schema == whole.schema
            assert data.empty.frame.schema == whole.frame.schema
            assert by_number(data) == dict(enumerate(plain(whole)))
            found = data.count_by(["sex", "pay"])
            assert int(found.count.sum()) == 800


def test_columns_that_no_step_touched_are_written_in_the_order_of_the_others(
    folder: Path, tmp_path: Path
) -> None:
    whole = sf.read(folder, **OPTIONS)
    (tmp_path / "out").mkdir()
    with DuckDB() as engine:
        data = engine.open(folder, rows=100, **OPTIONS)
        masked, _ = data.only(["age"]).map_parts(lambda part, numbers: _every_third(part, numbers))
        joined = data.join(masked, ["age"])
        assert joined.height == 267
        joined.write(tmp_path / "out", lambda numbers: numbers[:] ^ np.uint64(255))
    written = sf.read(tmp_path / "out", **OPTIONS)
    rows = np.arange(0, 800, 3)
    rows = rows[np.lexsort((rows, rows ^ 255))]
    expected = whole.take(rows)
    assert written["owed"].to_list() == expected["owed"].to_list()
    assert written["buys"].to_list() == expected["buys"].to_list()
    assert written["level"].cast(pl.String).to_list() == expected["level"].cast(pl.String).to_list()


def _every_third(part: sf.Table, numbers: np.ndarray) -> object:
    from sfumato.engines.relation import Part

    rows = np.flatnonzero(numbers % 3 == 0)
    return Part(part.take(rows), rows)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_that_differ_are_named(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    _write(pl.DataFrame({"x": [1, 2], "y": ["a", "b"]}), first)
    _write(pl.DataFrame({"x": [1, 2], "z": ["a", "b"]}), second)
    with pytest.raises(
        SchemaError, match=rf"(?s){tmp_path.name}/b.{suffix} .*z: does not stand in"
    ):
        sf.read(tmp_path)
    with DuckDB() as engine, pytest.raises(SchemaError, match=rf"b.{suffix} "):
        engine.open(tmp_path)
    second.unlink()
    assert sf.read(tmp_path).height == 2
    (tmp_path / "c.arrow").write_bytes(b"")
    with pytest.raises(InputError, match="several formats: arrow"):
        sf.read(tmp_path)
    assert sf.read(tmp_path, format=suffix).height == 2


def test_types_that_differ_are_named(tmp_path: Path) -> None:
    _write(pl.DataFrame({"x": [1, 2]}), tmp_path / "a.parquet")
    _write(pl.DataFrame({"x": ["1", "2"]}), tmp_path / "b.parquet")
    for read in (sf.read, _opened):
        with pytest.raises(SchemaError, match=r"b.parquet (.|\n)*x: holds String, and Int64"):
            read(tmp_path)


def _opened(source: Path) -> None:
    with DuckDB() as engine:
        engine.open(source)


def _write(frame: pl.DataFrame, path: Path) -> None:
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)


def test_a_folder_without_data_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder without data"):
        sf.read(tmp_path)


def lines(n: int) -> str:
    head = "age;pay;born;zip;note;when;sex\n"
    return head + "".join(
        f"{i % 90};{'NA' if i % 5 == 0 else f'{i},5'};{i % 28 + 1:02d}/{i % 12 + 1:02d}/1980;"
        f'{i % 13:05d};"a ""quoted""\nline; {i}";{"" if i % 3 else "2020-01-02 03:04:05"};'
        f"{'fm'[i % 2]}\n"
        for i in range(n)
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_text_is_read_piece_by_piece_as_it_is_read_whole(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(lines(3000), encoding=encoding)
    whole = sf.read(path, quasi=["age"])
    assert [str(d) for d in whole.frame.dtypes[:4]] == ["Int64", "Float64", "Date", "String"]
    pieces = TextPieces(asked_for(path, quasi=["age"]), 1 << 13)
    assert sum(1 for _ in pieces.tables()) > 10
    assert pieces.empty.schema == whole.schema
    with DuckDB() as engine:
        data = engine.open(path, rows=700, quasi=["age"])
        assert data.schema == whole.schema
        assert by_number(data) == dict(enumerate(plain(whole)))
    found = [row for table in pieces.tables() for row in plain(table)]
    assert found == plain(whole)


def test_a_folder_of_text_files_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("x, word\n3, c\n4, d\n")
    (tmp_path / "a.csv").write_text("x, word\n1, a\n2, b\n")
    with gzip.open(tmp_path / "c.csv.gz", "wt") as file:
        file.write("x, word\n5, e\n")
    whole = sf.read(tmp_path)
    assert whole.frame.rows() == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]
    with DuckDB() as engine:
        assert by_number(engine.open(tmp_path)) == dict(enumerate(plain(whole)))


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("1.5", r"x: .*record 4,001 holds '1.5'.* -> \[columns\] x = \{ kind = \"continuous\" \}"),
        ("many", r"x: .*record 4,001 holds 'many'.* -> \[columns\] x = \{ kind = \"nominal\" \}"),
        ("007", r"x: .* -> \[columns\] x = \{ kind = \"nominal\" \}"),
    ],
)
def test_a_later_value_that_does_not_fit_is_named(tmp_path: Path, cell: str, said: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "1,2\n" * 4000 + f"{cell},2\n" + "1,2\n" * 10)
    pieces = TextPieces(asked_for(path), 1 << 12)
    with pytest.raises(SchemaError, match=r"(?s)x.csv " + ".*" + said):
        list(pieces.tables())


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        ("1.5", "2,5", "nominal"),
        ("NA", "?", r"missing = \['\?', 'NA'\]"),
        ("13/01/2020", "01/13/2020", "nominal|mend"),
    ],
)
def test_what_a_whole_file_would_be_read_as_otherwise_is_told(
    tmp_path: Path, first: str, later: str, said: str
) -> None:
    path = tmp_path / "x.csv"
    usual = first if "/" in first else "7"
    path.write_text(f"x;y\n{first};2\n" + f"{usual};2\n" * 4000 + f"{later};2\n")
    pieces = TextPieces(asked_for(path), 1 << 12)
    with pytest.raises(SchemaError, match=said):
        list(pieces.tables())


@pytest.mark.parametrize("first", ["age,job\n", "age,job\n,clerk\n", 'age,job\n" ",clerk\n'])
def test_a_column_is_what_its_first_values_are(tmp_path: Path, first: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "0.csv").write_text(first)
    (folder / "1.csv").write_text("age,job\n" + "".join(f"{i % 70},nurse\n" for i in range(9000)))
    options = {"quasi": ["age", "job"]}
    whole = sf.read(folder, **options)
    with DuckDB(memory="256 MiB", threads=1) as engine:
        data = engine.open(folder, **options)
        assert data.schema["age"].kind == whole.schema["age"].kind == "integer"
        assert by_number(data) == dict(enumerate(plain(whole)))


def test_dates_that_could_be_two_things_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("born;y\n" + "01/02/1990;2\n" * 400)
    with pytest.raises(InputError, match="dates = "):
        TextPieces(asked_for(path), 1 << 12)
    assert TextPieces(asked_for(path, dates={"born": "%d/%m/%Y"}), 1 << 12).empty.names


def database(path: Path, rows: str = "range(120000)") -> Path:
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE level AS ENUM ('low', 'high')")
        connection.execute(
            "CREATE TABLE people AS SELECT (range * 7919) % 120000 AS id, 'k' || id AS code, "
            "CASE WHEN range % 3 = 0 THEN NULL ELSE range / 4 END AS pay, "
            "CASE WHEN range % 2 = 0 THEN 'low' ELSE 'high' END::level AS level "
            f"FROM {rows}"
        )
    return path


@pytest.mark.parametrize("key", ["id", "code"])
def test_a_database_is_numbered_by_its_key(tmp_path: Path, key: str) -> None:
    path = database(tmp_path / "people.duckdb")
    whole = sf.read(path, key=key, quasi=["level"])
    assert whole[key].is_sorted()
    with DuckDB() as engine:
        data = engine.open(path, rows=50_000, key=key, quasi=["level"])
        assert data.schema == whole.schema
        assert data.empty.frame.schema == whole.frame.schema
        found = data.fold(data.schema.names, lambda part, numbers: (numbers, part.frame))
    assert np.concatenate([numbers for numbers, _ in found]).tolist() == list(range(120_000))
    assert pl.concat([frame for _, frame in found]).equals(whole.frame)


def test_a_database_without_a_key_or_with_a_wrong_one_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "people.duckdb", "range(60000)")
    with DuckDB() as engine:
        with pytest.raises(InputError, match=r"\[input\] key = "):
            engine.open(path)
        for key, said in (("pay", "missing|numbers no records"), ("level", "numbers no records")):
            for read in (sf.read, engine.open):
                with pytest.raises(SchemaError, match=said):
                    read(path, key=key)
        for read in (sf.read, engine.open):
            with pytest.raises(SchemaError, match="twice"):
                read(path, key="x", query="SELECT id // 2 AS x FROM people")
            with pytest.raises(SchemaError, match="no such column"):
                read(path, key="idd")
    with pytest.raises(InputError, match="key cannot be used with csv"):
        sf.read(tmp_path / "x.csv", key="id")


def test_what_cannot_be_read_piece_by_piece_is_refused(tmp_path: Path) -> None:
    sf.write(sf.table({"x": [1]}), tmp_path / "x.xlsx")
    with DuckDB() as engine, pytest.raises(InputError, match="Parquet or CSV"):
        engine.open(tmp_path / "x.xlsx")
    (tmp_path / "long.csv").write_text("id,item\n1,a\n1,b\n")
    with DuckDB() as engine, pytest.raises(InputError, match="all records at once"):
        engine.open(tmp_path / "long.csv", sets={"id": "id", "item": "item"})
