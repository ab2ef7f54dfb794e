"""Reading CSV: what is found out, what is noted, and what is refused."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.data.io import read, read_with_notes
from sfumato.data.schema import Kind, Role
from sfumato.data.table import Table
from sfumato.errors import InputError, SchemaError


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., tuple[Table, list[str]]]:
    """Read text or bytes as a file."""

    def given(content: str | bytes, name: str = "f.csv", **options: Any) -> tuple[Table, list[str]]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_with_notes(path, **options)

    return given


Take = Callable[..., tuple[Table, list[str]]]


def test_a_plain_file(take: Take) -> None:
    found, notes = take(
        "id,age,zip,pay,sick,born,sex\n"
        "1,31,02139,1.5,true,1990-01-31,f\n"
        "2,,10001,-2e3,FALSE,,m\n",
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
        ("cp1252", "encoding: cp1252 (guessed: not valid UTF-8); encoding=... overrules it"),
    ],
)
def test_encodings_are_found_and_noted(take: Take, encoding: str, note: str) -> None:
    found, notes = take("name;n\nMüller;1\n".encode(encoding))
    assert found.frame.rows() == [("Müller", 1)]
    assert notes[0] == note


def test_latin_1_is_the_last_resort(take: Take) -> None:
    found, notes = take(b"name;n\nM\xfcller\x81;1\n")
    assert found["name"].to_list() == ["Müller\x81"]
    assert notes[0].startswith("encoding: latin-1 (guessed")


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
    monkeypatch.setattr("sfumato.data.io.csv._BLOCK", 64)
    long = "x" * 500
    assert take(f'a,b\n1,"{long}\n{long}"\n2,y\n')[0]["b"].to_list() == [f"{long}\n{long}", "y"]


# --- header, lines ---


def test_headers(take: Take) -> None:
    found, notes = take(" a ,,c\n1,2,3\n")
    assert found.names == ["a", "column_2", "c"]
    assert "blanks around column names were left out" in notes
    assert "column 2 has no name and is called 'column_2'" in notes
    assert take("1,2\n3,4\n", header=False)[0].names == ["column_1", "column_2"]
    assert "header=False?" in take("1,2\n3,4\n")[1][-1]
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


# --- numbers ---


def column(take: Take, values: list[str], delimiter: str = ";", **options: Any) -> pl.Series:
    body = "\n".join(f"{value}{delimiter}k" for value in values)
    return take(f"x{delimiter}y\n{body}\n", **options)[0]["x"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-2", "+3"], [1, -2, 3]),
        (["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["1e5", ".5", "5.", "-0.0"], [1e5, 0.5, 5.0, -0.0]),
        (["inf", "-inf", "1"], [float("inf"), float("-inf"), 1.0]),
        (["1e400", "1"], ["1e400", "1"]),
        (["007", "7"], ["007", "7"]),
        (["00.5", "1.5"], ["00.5", "1.5"]),
        (["0", "10", "-0"], [0, 10, 0]),
        (["+49", "+1"], ["+49", "+1"]),
        (["0x10", "1"], ["0x10", "1"]),
        (["1_000", "1"], ["1_000", "1"]),
        (["٣", "1"], ["٣", "1"]),
        ([" 1", "2 "], [1, 2]),
        (["1", "x"], ["1", "x"]),
        (["1,5", "2"], [1.5, 2.0]),
        (["1.234,56", "7"], [1234.56, 7.0]),
        (["1.234.567", "1"], [1234567, 1]),
        (["1,234.5", "10"], [1234.5, 10.0]),
        (["0,123", "1,234"], [0.123, 1.234]),
        (["1,234", "5,678"], ["1,234", "5,678"]),
        (["1,23,4", "1"], ["1,23,4", "1"]),
        (["12,34.5", "1"], ["12,34.5", "1"]),
    ],
)
def test_numbers(take: Take, values: list[str], expected: list[Any]) -> None:
    found = column(take, values).to_list()
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


def test_one_column_settles_what_another_leaves_open(take: Take) -> None:
    found, notes = take("a;b;c\n1,5;1.234;1,234\n2,5;5.678;2,345\n")
    assert found.frame.rows() == [(1.5, 1234, 1.234), (2.5, 5678, 2.345)]
    assert notes[1:] == ["decimal: comma in 'a', 'c'", "thousands separators in 'b'"]
    found, notes = take('a,b\n1.5,"1,234"\n2.5,"5,678"\n')
    assert found["b"].to_list() == [1234, 5678]
    assert take('a,b\n1.5,"1,5"\n')[0]["b"].to_list() == ["1,5"]
    # Both marks in one file: an open column stays text, and the note says how to settle it.
    found, notes = take("a;b;c\n1,5;1.5;1,234\n")
    assert found.frame.rows() == [(1.5, 1.5, "1,234")]
    assert any('decimal="," or decimal="."' in note for note in notes)


def test_a_given_decimal_mark_is_obeyed(take: Take) -> None:
    assert column(take, ["1,234", "5"], decimal=",").to_list() == [1.234, 5.0]
    assert column(take, ["1,234", "5"], decimal=".").to_list() == [1234, 5]
    assert column(take, ["1.234", "5"], decimal=",").to_list() == [1234, 5]
    assert column(take, ["1.5", "5"], decimal=",").to_list() == ["1.5", "5"]
    with pytest.raises(InputError, match="'x' is not a decimal mark"):
        column(take, ["1"], decimal="x")


def test_codes_of_one_width_stay_text_where_the_name_says_so(take: Take) -> None:
    found, notes = take("ZIP code,income\n94110,94110\n10001,10001\n")
    assert found.frame.rows() == [("94110", 94110), ("10001", 10001)]
    assert "common width of 5 digits" in notes[1]
    assert take("zip,n\n94110,1\n1001,2\n")[0]["zip"].to_list() == [94110, 1001]
    assert take("zipper,n\n94110,1\n")[0]["zipper"].to_list() == [94110]


def test_types_are_judged_by_the_whole_column(take: Take) -> None:
    rows = "".join(f"{i},{i}\n" for i in range(5000))
    found, notes = take("a,b\n" + rows + "x,1.5\n")
    assert found["a"].dtype == pl.String
    assert found["b"].dtype == pl.Float64
    assert "'a' is text: 1 of its values are no numbers, first 'x' in record 5,001" in notes


# --- missing values ---


@pytest.mark.parametrize("token", ["NA", "N/A", "NaN", "nan", "null", "NULL", ".", "?"])
def test_a_lone_token_in_a_column_of_numbers_is_missing(take: Take, token: str) -> None:
    found, notes = take(f"a,d,t\n1,2000-01-01,{token}\n{token},{token},x\n")
    assert found.frame.rows() == [(1, dt.date(2000, 1, 1), token), (None, None, "x")]
    assert f"missing: {token!r} in 'a' (1 cells)" in notes


def test_several_tokens_may_mean_several_things(take: Take) -> None:
    found, notes = take("a,b\n1,x\nNA,x\n?,x\n")
    assert found["a"].to_list() == ["1", "NA", "?"]
    assert "name those that mean missing in missing=..." in notes[1]
    assert take("a,b\n1,x\nNA,x\n?,x\n", missing=["", "NA", "?"])[0]["a"].to_list() == [1, None, None]


def test_what_is_missing_can_be_told(take: Take) -> None:
    text = 'a,b\n-9,NA\n3,""\n,\n'
    found, _ = take(text, missing=["", "-9"])
    assert found.frame.rows() == [(None, "NA"), (3, ""), (None, None)]
    assert take(text, missing=["NA"])[0]["b"].to_list() == [None, "", ""]
    assert take(text, missing="NA")[0]["b"].to_list() == [None, "", ""]


def test_a_quoted_empty_cell_is_text(take: Take) -> None:
    found, notes = take('a,b,n\n"",,""\nx,y,1\n')
    assert found.frame.rows() == [("", None, None), ("x", "y", 1)]
    assert "'a' holds quoted empty cells, which are text and not missing" in notes
    assert "missing: blank in 'n' (1 cells)" in notes


def test_a_column_without_values(take: Take) -> None:
    found, notes = take("a,b\n,1\n,2\n")
    assert found["a"].to_list() == [None, None]
    assert "'a' holds no values" in notes


# --- dates, text ---


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2000-01-31", "1999-12-01"], [dt.date(2000, 1, 31), dt.date(1999, 12, 1)]),
        (["31.1.2000", "01.12.1999"], [dt.date(2000, 1, 31), dt.date(1999, 12, 1)]),
        (["1/2/2000", "31/1/2000"], [dt.date(2000, 2, 1), dt.date(2000, 1, 31)]),
        (["1/2/2000", "1/31/2000"], [dt.date(2000, 1, 2), dt.date(2000, 1, 31)]),
        (["1/2/2000", "3/4/2000"], ["1/2/2000", "3/4/2000"]),
        (["31/1/2000", "1/31/2000"], ["31/1/2000", "1/31/2000"]),
        (["2000-01-31 10:20", "2000-01-31T10:20:30.5"], None),
        (["2000-02-30", "2000-01-01"], ["2000-02-30", "2000-01-01"]),
        (["0000-01-01"], ["0000-01-01"]),
        (["20000131"], [20000131]),
        (["31.1.00"], ["31.1.00"]),
    ],
)
def test_dates(take: Take, values: list[str], expected: list[Any] | None) -> None:
    if expected is None:
        expected = [dt.datetime(2000, 1, 31, 10, 20), dt.datetime(2000, 1, 31, 10, 20, 30, 500_000)]
    assert column(take, values).to_list() == expected


def test_open_dates_can_be_settled(take: Take) -> None:
    text = "d,n\n1/2/2000,1\n3/4/2000,2\n"
    assert 'dates={"d": "%d/%m/%Y"} would settle it' in take(text)[1][-1]
    assert take(text, dates={"d": "%m/%d/%Y"})[0]["d"].to_list() == [
        dt.date(2000, 1, 2),
        dt.date(2000, 3, 4),
    ]
    assert take("d,n\n20000131,1\n", kinds={"d": "date"})[0]["d"].to_list() == [dt.date(2000, 1, 31)]


def test_moments_beyond_nanoseconds_stay_text(take: Take) -> None:
    values = ["2500-01-01T00:00:00.123456789"]
    assert column(take, values).to_list() == values


def test_zones_are_brought_to_one(take: Take) -> None:
    found = column(take, ["2000-01-01T00:00:00Z", "2000-01-01T00:00:00+02:00"])
    assert found.dtype == pl.Datetime("us", "UTC")
    assert found[1].hour == 22


def test_long_text_is_text_and_words_are_nominal(take: Take) -> None:
    rows = "".join(f"note {i}: {'patient was seen again ' * 3},w{i}\n" for i in range(40))
    found, _ = take("note,word\n" + rows)
    assert found.schema["note"].kind == Kind.TEXT
    assert found.schema["word"].kind == Kind.NOMINAL


def test_a_blank_before_every_value_is_left_out(take: Take) -> None:
    found, notes = take("age, job\n39, clerk\n40, nurse\n")
    assert found.frame.rows() == [(39, "clerk"), (40, "nurse")]
    assert "the blank before every value of 'job' was left out" in notes
    assert take("age, job\n39, clerk\n40,nurse\n")[0]["job"].to_list() == [" clerk", "nurse"]


# --- the caller's word ---


def test_kinds_are_obeyed(take: Take) -> None:
    found, _ = take(
        "zip,n,x,t,d,o\n 94110,007,1,1,31.1.2000,lo\n10001,1 234,2,no,,hi\n",
        kinds={"zip": "nominal", "n": "integer", "x": "continuous", "t": "boolean", "d": "date"},
        categories={"o": ["lo", "hi"]},
    )
    assert found.frame.rows() == [
        (" 94110", 7, 1.0, True, dt.date(2000, 1, 31), "lo"),
        ("10001", 1234, 2.0, False, None, "hi"),
    ]
    assert found.schema["o"].kind == Kind.ORDINAL
    assert found["o"].dtype == pl.Enum(["lo", "hi"])


def test_all_complaints_come_at_once(take: Take) -> None:
    with pytest.raises(SchemaError) as caught:
        take(
            "a,b,c,d\n1,x,1.5,2000-01-01\n2,1,2,2000-02-30\n",
            kinds={"b": "integer", "c": "integer", "d": "date", "e": "date"},
            quasi=["f"],
        )
    text = str(caught.value)
    assert text.startswith("f.csv has 5 problems")
    assert "b: record 1 holds 'x', which is not a whole number" in text
    assert "c: record 1 holds '1.5', which is not a whole number" in text
    assert "d: record 2 holds '2000-02-30', which is not of kind date" in text
    assert "e: there is no such column" in text
    assert "f: there is no such column" in text


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("9223372036854775808", "integer"),
        ("1e300", "integer"),
        ("abc", "continuous"),
        ("maybe", "boolean"),
        ("1/2", "date"),
    ],
)
def test_values_that_contradict_a_named_kind(take: Take, cell: str, kind: str) -> None:
    with pytest.raises(SchemaError, match="a: record 2 holds"):
        take(f"a,b\n,1\n{cell},2\n", kinds={"a": kind})


def test_a_token_is_missing_under_a_named_kind_too(take: Take) -> None:
    found, notes = take("a,b\n1,1\nNA,2\n", kinds={"a": "integer"})
    assert found["a"].to_list() == [1, None]
    assert "missing: 'NA' in 'a' (1 cells)" in notes


def test_unknown_kinds_and_roles_are_named(take: Take) -> None:
    with pytest.raises(SchemaError, match="there is no kind 'sort'"):
        take("a,b\n1,2\n", kinds={"a": "sort"})
    with pytest.raises(SchemaError, match="secret: there is no such role"):
        take("a,b\n1,2\n", secret=["a"])
    with pytest.raises(SchemaError, match="a category is listed twice"):
        take("a,b\nx,2\n", categories={"a": ["x", "x"]})


# --- sources ---


def test_sources_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "register.csv").write_text("a,b\n1,2\n")
    for source, message in (
        (tmp_path / "registr.csv", "did you mean 'register.csv'"),
        (tmp_path / "folder.csv" / "x.csv", "there is no file"),
        (tmp_path, "names no format"),
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
    with pytest.raises(InputError, match="is a folder"):
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
