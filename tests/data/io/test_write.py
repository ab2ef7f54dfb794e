"""Writing: complete or absent, refused where something would be lost, the same bytes each time."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato import aside
from sfumato.data.io import read, read_back, read_with_notes, write, write_file, writing
from sfumato.data.schema import Column, Kind, Schema
from sfumato.data.table import Table, table
from sfumato.errors import InputError, OutputError, SchemaError

FILES = ["t.csv", "t.tsv", "t.txt", "t.csv.gz", "t.parquet", "t.arrow", "t.duckdb", "t.sqlite"]


def masked() -> Table:
    """A table with missing and suppressed cells of every kind."""
    given = table(
        {
            "n": [1, None, None],
            "x": [0.1, None, None],
            "w": ["007", None, None],
            "o": pl.Series(["lo", None, None], dtype=pl.Enum(["lo", "hi"])),
            "b": [True, None, None],
            "d": [dt.date(2000, 1, 31), None, None],
            "s": [["a", "b"], None, None],
            "g": ["[1, 2]", "*", None],
        }
    )
    labels = given.schema["g"].with_(kind=Kind.INTEGER, generalized=True)
    second = np.array([False, True, False])
    return given.with_columns([], [labels], {name: second for name in given.names if name != "g"})


@pytest.mark.parametrize("name", FILES)
def test_a_release_reads_back(tmp_path: Path, name: str) -> None:
    release = masked()
    path = tmp_path / name
    write_file(release, path)
    back = read_back(path, release.schema)
    assert back.schema == release.schema
    for column in release.names:
        assert back[column].to_list() == release[column].to_list(), column
        assert back[column].dtype == release[column].dtype
    text = name.endswith((".csv", ".tsv", ".txt", ".gz"))
    for column in release.names:
        kept = text or column in ("w", "o", "g")
        assert back.suppressed(column).tolist() == [False, kept, False], column


def test_marks_are_written_for_every_kind(tmp_path: Path) -> None:
    write(masked(), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        'n,x,w,o,b,d,s,g\n1,0.1,007,lo,true,2000-01-31,a b,"[1, 2]"\n*,*,*,*,*,*,*,*\n,,,,,,,\n'
    )
    write(masked(), tmp_path / "u.csv", suppressed="hidden")
    assert (tmp_path / "u.csv").read_text().splitlines()[2] == ",".join(["hidden"] * 8)
    back = read_back(tmp_path / "u.csv", masked().schema, suppressed="hidden")
    assert back.suppressed("x").tolist() == [False, True, False]
    assert back["g"].to_list() == ["[1, 2]", "*", None]
    write(masked(), tmp_path / "t.parquet")
    frame = pl.read_parquet(tmp_path / "t.parquet")
    assert frame.row(1) == (None, None, "*", "*", None, None, None, "*")


def test_a_value_like_the_mark_is_refused_beside_marks(tmp_path: Path) -> None:
    given = table({"w": ["*", None]}).with_columns([], suppressed={"w": np.array([False, True])})
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(OutputError, match=r"'w', record 1 holds '\*', the mark of suppression"):
            write(given, tmp_path / name)
        write(given, tmp_path / name, suppressed="#")
    assert pl.read_parquet(tmp_path / "t.parquet")["w"].to_list() == ["*", "#"]


@pytest.mark.parametrize("name", FILES)
def test_a_value_like_the_mark_is_refused_in_what_is_read_back(tmp_path: Path, name: str) -> None:
    # Nothing is suppressed, and yet whoever reads the file would take it for suppressed.
    given = table({"n": [1, 5], "w": ["a", "*"]})
    with pytest.raises(OutputError, match=r"'w', record 2 holds '\*', the mark of.*suppressed = "):
        write_file(given, tmp_path / name)
    assert not any(tmp_path.iterdir())
    write_file(given, tmp_path / name, suppressed="#")
    back = read_back(tmp_path / name, given.schema, suppressed="#")
    assert back["w"].to_list() == ["a", "*"]
    assert not back.suppressed("w").any()
    # Cells that are suppressed, and labels that say so, are no clash.
    hidden = table({"w": ["a", None]}).with_columns([], suppressed={"w": np.array([False, True])})
    write_file(hidden, tmp_path / f"hidden-{name}")
    again = read_back(tmp_path / f"hidden-{name}", hidden.schema)
    assert again.suppressed("w").tolist() == [False, True]
    write_file(again, tmp_path / f"again-{name}")
    assert read_back(tmp_path / f"again-{name}", hidden.schema)["w"].to_list() == ["a", None]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.parquet"])
def test_a_number_may_read_like_the_mark_where_all_is_text(tmp_path: Path, name: str) -> None:
    given = table({"n": [1, 5], "x": [0.5, 7.0]})
    write_file(given, tmp_path / name, suppressed="6")
    for mark, column in (("5", "n"), ("7", "x")):
        if name == "t.parquet":
            write_file(given, tmp_path / f"{mark}.parquet", suppressed=mark)
            continue
        with pytest.raises(OutputError, match=f"'{column}', record 2 holds '{mark}', the mark"):
            write_file(given, tmp_path / f"{mark}-{name}", suppressed=mark)


def test_a_mask_over_a_value_does_not_hide_it(tmp_path: Path) -> None:
    # A later step may have filled a cell that an earlier one suppressed.
    given = table({"n": [1, None]}).with_columns([], suppressed={"n": np.array([True, True])})
    write(given, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "n\n1\n*\n"


# --- formulas ---


def test_formulas_are_escaped_on_request(tmp_path: Path) -> None:
    cells = [
        "=1+1",
        "+x",
        "-5 to 0",
        "@cmd",
        "\tx",
        "\rx",
        "\nx",
        "'=x",
        "''=x",
        "plain",
        "'quoted",
    ]
    given = table({"=name": cells, "n": list(range(-5, 6)), "s": [["-a"]] * 11})
    path = tmp_path / "t.csv"
    write(given, path, escape_formulas=True)
    raw = pl.read_csv(path, infer_schema=False)
    assert raw.columns == ["'=name", "n", "s"]
    assert all(cell[0] not in "=+-@\t\r\n" for cell in raw["'=name"])
    assert raw["n"].to_list()[0] == "-5"
    assert set(raw["s"]) == {"'-a"}
    back = read_back(path, given.schema, escape_formulas=True)
    assert back["=name"].to_list() == cells
    assert back["s"].to_list() == [["-a"]] * 11
    write(given, tmp_path / "plain.csv")
    assert read_back(tmp_path / "plain.csv", given.schema)["=name"].to_list() == cells
    with pytest.raises(OutputError, match="parquet has no formulas to escape"):
        write(given, tmp_path / "t.parquet", escape_formulas=True)


# --- sets ---


@pytest.mark.parametrize(
    ("sets", "cells"),
    [
        ([["a", "b"], [], None], ["a b", "", None]),
        ([["whole milk", "a"], [], None], ['["whole milk", "a"]', "[]", None]),
        ([["*"], ["a"]], ['["*"]', '["a"]']),
        ([["[x"], ["a"]], ['["[x"]', '["a"]']),
        ([[""], ["a"]], ['[""]', '["a"]']),
        ([["a", None]], ['["a", null]']),
    ],
)
def test_sets_in_text_files(tmp_path: Path, sets: list[Any], cells: list[Any]) -> None:
    given = table({"s": pl.Series(sets, dtype=pl.List(pl.String)), "n": list(range(len(sets)))})
    path = tmp_path / "t.csv"
    write(given, path)
    written = [row[0] for row in read(path, kinds={"s": "nominal"}).frame.rows()]
    assert written == cells
    assert read_back(path, given.schema)["s"].to_list() == sets
    assert read(path, sets={"column": "s"})["s"].to_list() == sets


def test_fimi_files_hold_sets_and_nothing_else(tmp_path: Path) -> None:
    given = table({"items": [["13", "7"], []]})
    write(given, tmp_path / "t.dat")
    assert (tmp_path / "t.dat").read_bytes() == b"13 7\n\n"
    assert read(tmp_path / "t.dat").frame.equals(given.frame)
    for bad in (
        {"items": [["a b"]]},
        {"items": [["a"], None]},
        {"n": [1]},
        {"a": [["x"]], "b": [1]},
    ):
        with pytest.raises(OutputError, match="write CSV or Parquet"):
            write(table(bad), tmp_path / "u.dat")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.dat"]


# --- at once or not at all ---


@pytest.mark.parametrize("name", FILES)
def test_an_existing_target_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(table({"a": [1]}), path)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="exists already -> replace=True"):
        write(table({"a": [2]}), path)
    assert path.read_bytes() == before
    write(table({"a": [2]}), path, replace=True)
    assert read(path)["a"].to_list() == [2]
    assert [p.name for p in tmp_path.iterdir()] == [name]
    with pytest.raises(OutputError, match="exists already"):
        write_file(table({"a": [2]}), path)


def test_other_tables_of_a_database_are_never_lost(tmp_path: Path) -> None:
    for name in ("t.duckdb", "t.sqlite"):
        write(table({"a": [1]}), tmp_path / name, table_name="precious")
        with pytest.raises(OutputError, match="also holds precious, which would be lost"):
            write(table({"a": [2]}), tmp_path / name, replace=True)
        assert read(tmp_path / name, table="precious")["a"].to_list() == [1]
        write(table({"a": [2]}), tmp_path / name, replace=True, table_name="precious")
        assert read(tmp_path / name)["a"].to_list() == [2]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("step", ["fsync", "replace", "link"])
def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    path = tmp_path / name
    write(table({"a": [1]}), path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "rename", fail)
    monkeypatch.setattr(writing.os, step, fail)
    replace = step == "replace"
    target = path if replace else tmp_path / f"new-{name}"
    with pytest.raises(OutputError, match="too little room"):
        write(table({"a": [2]}), target, replace=replace)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert path.read_bytes() == before


def test_the_bytes_are_on_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    real_sync, real_link = os.fsync, os.link

    def sync(handle: int) -> None:
        events.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        real_sync(handle)

    def link(source: Any, target: Any) -> None:
        folder = Path(source).parent
        assert folder.name.startswith(".")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.parent == Path(target).parent
        events.append("name")
        real_link(source, target)

    monkeypatch.setattr(writing.os, "fsync", sync)
    monkeypatch.setattr(writing.os, "link", link)
    write(table({"a": [1]}), tmp_path / "t.csv")
    assert events == ["file", "name", "folder"]


def test_a_faster_writer_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    real = aside.flush

    def race(which: Path) -> None:
        if which != tmp_path:
            path.write_text("theirs")
        real(which)

    monkeypatch.setattr(aside, "flush", race)
    with pytest.raises(OutputError, match="exists already"):
        write(table({"a": [1]}), path)
    assert path.read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_file_systems_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(writing.os, "link", refuse)
    write(table({"a": [1]}), tmp_path / "t.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_targets_that_are_none(tmp_path: Path) -> None:
    given = table({"a": [1]})
    (tmp_path / "d.csv").mkdir()
    for target, message in (
        (tmp_path / "no" / "t.csv", "there is no folder"),
        (tmp_path / "t.docx", "names no format"),
        (tmp_path / "d.csv", "is not a file"),
        ("postgresql://localhost/x", "needs a name"),
        (7, "is not a path"),
    ):
        with pytest.raises(OutputError, match=message):
            write(given, target, replace=True)


# --- the same bytes ---


@pytest.mark.parametrize("name", [n for n in FILES if n != "t.duckdb"])
def test_the_same_table_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    (tmp_path / "later").mkdir()
    write(masked(), tmp_path / name)
    write(masked(), tmp_path / "later" / name)
    assert (tmp_path / name).read_bytes() == (tmp_path / "later" / name).read_bytes()
    if name.endswith(".gz"):
        assert (tmp_path / name).read_bytes()[4:8] == b"\0\0\0\0"  # no clock
        assert gzip.decompress((tmp_path / name).read_bytes()).startswith(b"n,x,")


# --- limits of formats ---


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        (["a\0b"], "t.csv", "'v', record 1 holds a NUL character"),
        ([float("nan")], "t.sqlite", "holds NaN"),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), "t.sqlite", "beyond SQLite's integers"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(
    tmp_path: Path, values: Any, name: str, message: str
) -> None:
    # `table` reads NaN as missing, but a method may put one into a masked table.
    given = table({"v": values}).with_columns([pl.Series("v", values)])
    with pytest.raises(OutputError, match=message):
        write(given, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    write(given, tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").exists()


def test_reading_back_trusts_no_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    schema = Schema([Column("n", Kind.INTEGER), Column("o", Kind.ORDINAL, categories=("lo",))])
    path.write_text("n,x\n1,lo\n")
    with pytest.raises(SchemaError, match="its columns are n, x, not n, o"):
        read_back(path, schema)
    path.write_text("n,o\n1,lo\nx,lo\n")
    with pytest.raises(InputError, match="'n', record 2 of the written file holds 'x'"):
        read_back(path, schema)
    path.write_text("n,o\n1,hi\n")
    with pytest.raises(InputError, match="'o', record 1 of the written file holds 'hi'"):
        read_back(path, schema)
    pl.DataFrame({"n": [1]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SchemaError, match="its columns are n, not n, o"):
        read_back(tmp_path / "t.parquet", schema)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a", ["'x'", "'y'", "'z,'"]),
        ("sep=;", ["a;b", "c"]),
        ("a", [None, "x", None]),
        ("'a'", ["'b'", "'b'"]),
        ("1", ["2", "NA"]),
        ("a", [" x", " y"]),
    ],
)
def test_nothing_is_guessed_when_a_release_is_read_back(
    tmp_path: Path, name: str, values: list[str | None]
) -> None:
    for given in (table({name: values}), table({name: values, "n": list(range(len(values)))})):
        path = tmp_path / f"{len(given.names)}.csv"
        write_file(given, path)
        assert read_back(path, given.schema)[name].to_list() == values


def test_a_masked_integer_may_have_become_a_mean(tmp_path: Path) -> None:
    given = table({"n": [1.5, 2.0]})
    schema = Schema([Column("n", Kind.INTEGER)])
    write_file(given, tmp_path / "t.csv")
    assert read_back(tmp_path / "t.csv", schema)["n"].to_list() == [1.5, 2.0]


def test_notes_of_what_was_written_are_few(tmp_path: Path) -> None:
    write(table({"a": [1, 2], "b": [0.1, 1e-300]}), tmp_path / "t.csv")
    found, notes = read_with_notes(tmp_path / "t.csv")
    assert found.frame.rows() == [(1, 0.1), (2, 1e-300)]
    assert notes == ["delimiter: comma"]
