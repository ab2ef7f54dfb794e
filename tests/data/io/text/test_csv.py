"""Reading CSV: what is found out, what is noted, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.data.io import read
from sfumato.data.schema import Kind, Role
from sfumato.data.table import Table
from sfumato.errors import InputError, SchemaError

Take = Callable[..., tuple[Table, list[str]]]


def test_a_plain_file(take: Take) -> None:
    found, notes = take(
        "id,age,zip,pay,sick,born,sex\n1,31,02139,1.5,true,1990-01-31,f\n2,,10001,-2e3,FALSE,,m\n",
        quasi=["age", "zip"],
        identifier="id",
    )
    assert found.frame.rows() == [
        (1, 31, "02139", 1.5, True, dt.date(1990, 1, 31), "f"),
        (2, None, "10001", -2000.0, False, None, "m"),
    ]
    assert [c.kind for c in found.schema] == [
        Kind.INTEGER,
        Kind.INTEGER,
        Kind.NOMINAL,
        Kind.CONTINUOUS,
        Kind.BOOLEAN,
        Kind.DATE,
        Kind.NOMINAL,
    ]
    assert found.schema["id"].role == Role.IDENTIFIER
    assert notes == [
        "delimiter: comma",
        "'zip' is text: its values are digits, but some begin with 0",
    ]


# --- encodings, delimiters, quotes ---


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", "encoding: utf-8"),
        ("utf-8-sig", "encoding: utf-8-sig (byte order mark)"),
        ("utf-16", "encoding: utf-16 (byte order mark)"),
        ("utf-32", "encoding: utf-32 (byte order mark)"),
        ("utf-16-le", "encoding: utf-16-le (guessed: every other byte is zero)"),
        ("utf-16-be", "encoding: utf-16-be (guessed: every other byte is zero)"),
        (
            "cp1252",
            "encoding: cp1252 (guessed: no UTF-8, with words such as Müller); "
            "encoding=... overrules it",
        ),
    ],
)
def test_encodings_are_found_and_noted(take: Take, encoding: str, note: str) -> None:
    found, notes = take("name;n\nMüller;1\n".encode(encoding))
    assert found.frame.rows() == [("Müller", 1)]
    assert notes[0] == note


def test_bytes_without_a_letter_are_kept(take: Take) -> None:
    found, notes = take(b"name;n\nM\xfcller\x81;1\n")
    assert found["name"].to_list() == ["Müller\x81"]
    assert "(guessed: no UTF-8)" in notes[0]


def test_a_given_encoding_is_obeyed(take: Take) -> None:
    assert take("n\nż\n".encode("cp1250"), encoding="cp1250")[0]["n"].to_list() == ["ż"]
    with pytest.raises(InputError, match=r"line 2 of f\.csv is not valid ascii"):
        take("n\nż\n", encoding="ascii")
    with pytest.raises(InputError, match="there is no encoding 'klingon'"):
        take("n\n1\n", encoding="klingon")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(take: Take, delimiter: str) -> None:
    text = f'a{delimiter}b\n"x{delimiter}y"{delimiter}1\n'
    found, notes = take(text)
    assert found.frame.rows() == [(f"x{delimiter}y", 1)]
    assert notes[0].startswith("delimiter: ")
    assert take(text, delimiter=delimiter)[1] == []


def test_commas_of_numbers_and_words_do_not_mislead(take: Take) -> None:
    assert take("1,5;2,5\n3,6;4,7\n", header=False)[0].frame.rows() == [(1.5, 2.5), (3.6, 4.7)]
    assert take("a;b\nx, y;1\nz, w;2\n")[0]["a"].to_list() == ["x, y", "z, w"]
    assert take("a,b\nx;y,1\n")[0].names == ["a", "b"]


def test_quotes(take: Take) -> None:
    found, _ = take('a,b\n"x""y\n""",1\n5" nails,2\n')
    assert found["a"].to_list() == ['x"y\n"', '5" nails']
    found, notes = take("'a';'b'\n'x;y';'1'\n'it';'2'\n")
    assert found.frame.rows() == [("x;y", 1), ("it", 2)]
    assert "quotes: '" in notes
    assert take("a,b\n'tis,1\n'twas,2\n")[0]["a"].to_list() == ["'tis", "'twas"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(take: Take, end: str) -> None:
    assert take(f"a,b{end}1,x{end}2,y")[0].frame.rows() == [(1, "x"), (2, "y")]


def test_a_spreadsheet_hint_is_obeyed(take: Take) -> None:
    found, notes = take("sep=;\na;b\n1;2,5\n")
    assert found.frame.rows() == [(1, 2.5)]
    assert notes[0] == "first line: sep=;"


def test_gzip_is_seen_whatever_the_name(take: Take) -> None:
    packed = gzip.compress(b"a,b\n1,2\n")
    assert take(packed, "f.csv.gz")[0].frame.rows() == [(1, 2)]
    assert take(packed, "f.csv")[0].frame.rows() == [(1, 2)]
    with pytest.raises(InputError, match="cannot be read"):
        take(packed[:-6], "f.csv.gz")


def test_a_cell_longer_than_a_block(take: Take, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.data.io.text.csv._BLOCK", 64)
    long = "x" * 500
    assert take(f'a,b\n1,"{long}\n{long}"\n2,y\n')[0]["b"].to_list() == [f"{long}\n{long}", "y"]


# --- header, lines ---


def test_headers(take: Take) -> None:
    found, notes = take(" a ,,c\n1,2,3\n")
    assert found.names == ["a", "column_2", "c"]
    assert "blanks around column names were left out" in notes
    assert "column 2 has no name and is called 'column_2'" in notes
    assert take("1,2\n3,4\n", header=False)[0].names == ["column_1", "column_2"]
    assert "header = true overrules it" in take("1,2\n3,4\n")[1][-1]
    assert take("a,b\n")[0].height == 0
    assert take("a,b")[0].names == ["a", "b"]


def test_names_that_appear_twice(take: Take) -> None:
    with pytest.raises(SchemaError, match=r"line 1  a: appears more than once \(columns 1 and 3\)"):
        take("a,b,a\n1,2,3\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", r"line 3 of f\.csv has 1 cell where the first line has 2"),
        ("a,b\n1,2,3\n", r"line 2 of f\.csv has 3 cells where the first line has 2 -> name every"),
        ('a,b\n1,"x\ny"\n1\n2\n', r"line 4 of .* has 1 cell .*\(and 1 more\)"),
        ('a,b\n1,"x\n', r"line 2 of f\.csv holds a quote that is never closed"),
        ('a,b\n1,"x"y\n', r"line 2 of f\.csv holds text after a closing quote"),
        ("", r"f\.csv is empty"),
        (" \n\n", r"f\.csv is empty"),
        ("a,b\n1,\0\n", r"line 2 of f\.csv holds a NUL byte"),
    ],
)
def test_broken_files_are_refused_with_their_line(take: Take, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        take(text)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAR1...", "is a Parquet file, not text"),
        (b"PK\x03\x04...", "is a zip archive or a workbook"),
        (b"SQLite format 3\0", "is an SQLite database"),
    ],
)
def test_other_formats_under_a_wrong_name(take: Take, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        take(content)


def test_blank_lines(take: Take) -> None:
    found, notes = take("\na,b\n1,2\n\n,\n3,4\n\n")
    # A record of empty cells is a record; a blank line is not.
    assert found.frame.rows() == [(1, 2), (None, None), (3, 4)]
    assert "3 blank lines were skipped" in notes
    found, notes = take("a\n1\n\n3\n")
    assert found["a"].to_list() == [1, None, 3]
    assert notes == ["1 blank line was read as missing"]


# --- sources ---


def test_sources_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "register.csv").write_text("a,b\n1,2\n")
    (tmp_path / "x.docx").touch()
    for source, message in (
        (tmp_path / "registr.csv", "did you mean 'register.csv'"),
        (tmp_path / "folder.csv" / "x.csv", "there is no file"),
        (tmp_path / "y.docx", "there is no file or folder"),
        (tmp_path / "x.docx", "the suffix '.docx' of x.docx names no format"),
        ("https://example.org/x.csv", "download the file first"),
        ("", "the path is empty"),
        ("a\0.csv", "NUL"),
        (7, "a int is not a path"),
        (tmp_path / "x.parquet.gz", "compressed as a whole"),
    ):
        with pytest.raises(InputError, match=message):
            read(source)
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(InputError, match="is a folder without data"):
        read(tmp_path / "dir.csv")


def test_formats_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "data.asc"
    path.write_text("a,b\n1,2\n")
    assert read(path, format="csv").frame.rows() == [(1, 2)]
    assert read(f"file://{path}", format="csv").names == ["a", "b"]
    with pytest.raises(InputError, match="there is no format 'cvs' -> did you mean 'csv'"):
        read(path, format="cvs")


def test_options_that_a_format_would_ignore_are_refused(take: Take) -> None:
    with pytest.raises(InputError, match="query cannot be used with csv"):
        take("a,b\n1,2\n", query="SELECT 1")
    with pytest.raises(InputError, match="delimiter cannot be used with fimi"):
        take("1 2\n", "x.dat", delimiter=",")
    for delimiter in ("", ",,", '"', "\n", "é"):
        with pytest.raises(InputError, match="cannot be a delimiter"):
            take("a,b\n1,2\n", delimiter=delimiter)


def test_benchmark_files_read_as_expected(shared_data: Callable[[str], Path]) -> None:
    adult = read(shared_data("adult") / "adult.csv", quasi=["age", "sex"])
    assert (adult.height, len(adult.names)) == (30_162, 9)
    assert adult.schema["age"].kind == Kind.INTEGER
    assert all(adult.schema[n].kind == Kind.NOMINAL for n in adult.names if n != "age")
