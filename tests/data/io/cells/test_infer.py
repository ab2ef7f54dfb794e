"""From text to types: numbers, missing values, dates, and the caller's word."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from sfumato.data.schema import Kind
from sfumato.data.table import Table
from sfumato.errors import InputError, SchemaError

Take = Callable[..., tuple[Table, list[str]]]


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
    assert take("a,b\n1,x\nNA,x\n?,x\n", missing=["", "NA", "?"])[0]["a"].to_list() == [
        1,
        None,
        None,
    ]


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
    assert take("d,n\n20000131,1\n", kinds={"d": "date"})[0]["d"].to_list() == [
        dt.date(2000, 1, 31)
    ]


def test_moments_beyond_nanoseconds_stay_text(take: Take) -> None:
    values = ["2500-01-01T00:00:00.123456789"]
    assert column(take, values).to_list() == values


def test_zones_are_brought_to_one(take: Take) -> None:
    found = column(take, ["2000-01-01T00:00:00Z", "2000-01-01T00:00:00+02:00"])
    assert found.dtype == pl.Datetime("us")
    assert found[1].hour == 22
    assert any("UTC" in note for note in take("x\n2000-01-01T00:00:00Z\n")[1])


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


# --- marks and formats that can be read in two ways ---


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1'234.50", "12.00"], [1234.5, 12.0]),
        (["1’234’567", "12"], [1234567, 12]),
        (["1 234,5", "12,0"], [1234.5, 12.0]),
        (["1\u202f234", "999"], [1234, 999]),
        (["1\u00a0234\u00a0567", "-12"], [1234567, -12]),
        (["555 123 456", "555 987 654"], ["555 123 456", "555 987 654"]),  # telephones, perhaps
        (["030 123", "1 234"], ["030 123", "1 234"]),
        (["1'23", "1"], ["1'23", "1"]),
        (["1'234", "1 234"], ["1'234", "1 234"]),
    ],
)
def test_thousands_apart(take: Take, values: list[str], expected: list[Any]) -> None:
    assert column(take, values).to_list() == expected


def test_thousands_are_noted_and_can_be_given(take: Take) -> None:
    _, notes = take("pay;k\n1'234;a\n999;b\n")
    assert "thousands: apostrophes in 'pay'" in notes
    assert column(take, ["555 123 456", "555 987 654"], thousands=" ").to_list() == [
        555123456,
        555987654,
    ]
    assert column(take, ["1.234", "5.678"], thousands=".").to_list() == [1234, 5678]
    assert column(take, ["1.234,5", "5"], thousands=".").to_list() == [1234.5, 5.0]
    with pytest.raises(InputError, match="cannot stand between thousands"):
        column(take, ["1"], thousands="x")
    with pytest.raises(InputError, match="cannot stand between thousands"):
        column(take, ["1"], thousands=".", decimal=".")


def test_a_point_in_a_semicolon_file_is_noted(take: Take) -> None:
    found, notes = take("pay;k\n1.234;a\n5.678;b\n")
    assert found["pay"].to_list() == [1.234, 5.678]
    assert any("'pay': the point in '1.234' was read as a decimal point" in n for n in notes)
    # Even where another column proves points: people mix them.
    _, notes = take("pay;x\n1.234;1.5\n5.678;2.25\n")
    assert any("'pay': the point in" in note for note in notes)
    for given in ({"decimal": "."}, {"thousands": "."}):
        assert not any("the point in" in n for n in take("pay;k\n1.234;a\n5.678;b\n", **given)[1])


def test_several_formats_of_dates_are_read_where_no_cell_has_two_meanings(take: Take) -> None:
    found, notes = take("born,k\n1999-12-31,a\n01.02.2000,b\n5 Mar 2001,c\n")
    assert found["born"].to_list() == [
        dt.date(1999, 12, 31),
        dt.date(2000, 2, 1),
        dt.date(2001, 3, 5),
    ]
    assert "dates: %Y-%m-%d and %d.%m.%Y and %d %b %Y in 'born'" in notes


def test_a_cell_of_two_meanings_leaves_mixed_dates_alone(take: Take) -> None:
    text = "born,k\n1999-12-31,a\n01/02/2000,b\n13/02/2000,c\n"
    found, notes = take(text)
    assert found["born"].dtype == pl.String
    assert any("'01/02/2000' can be read in two ways" in note for note in notes)
    settled = take(text, dates={"born": ["%Y-%m-%d", "%d/%m/%Y"]})[0]
    assert settled["born"][1] == dt.date(2000, 2, 1)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["05.01.20", "31.12.99"], 'dates={"x": "%d.%m.%y"} reads them'),
        (["2020-01-05", "2020-01-06 10:30:00"], "some have a time"),
        (["31/1/2000", "1/31/2000"], "do not agree on the order"),
    ],
)
def test_dates_that_are_not_read_are_noted(take: Take, cells: list[str], why: str) -> None:
    found, notes = take("x;k\n" + "".join(f"{cell};a\n" for cell in cells))
    assert found["x"].dtype == pl.String
    assert any("'x' is text" in note and why in note for note in notes)
    assert take("x\n05.01.20\n31.12.99\n", dates={"x": "%d.%m.%y"})[0]["x"].dtype == pl.Date
