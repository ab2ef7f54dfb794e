"""Workbooks and files of SPSS, Stata and SAS: a table reads back, or is refused."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.io import read_back, write_file
from sfumato.data.schema import Kind
from sfumato.data.table import Table, table
from sfumato.errors import OutputError

SHEETS = ["t.xlsx", "t.ods"]
STAT = ["t.sav", "t.dta", "t.xpt"]
MARK = "<hidden>"
WORDS = st.sampled_from(
    ["=1+1", "-5", "@x", "a b", "  a", "b ", "é", "🙂", "NA", "007", "1,5", "x\ny", "<&>",
    "_x0041_",      "a\tb", "true", "2000-01-01", "2000-01-01 00:00:00", "[1, 2]", "*", "1.50"]
) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(1, 5))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(st.none() | values, min_size=rows, max_size=rows))

    order = ["lo", "mid", "hi"]
    items = st.lists(st.sampled_from(["a", "b", "c d", "["]), max_size=3)
    return table(
        pl.DataFrame(
            {
                "key": pl.Series(range(rows), dtype=pl.Int64),
                "n": pl.Series(column(st.integers(-(2**60), 2**60)), dtype=pl.Int64),
                "x": pl.Series(column(st.floats(allow_nan=False)), dtype=pl.Float64),
                "w": pl.Series(column(WORDS), dtype=pl.String),
                "o": pl.Series(column(st.sampled_from(order)), dtype=pl.Enum(order)),
                "b": pl.Series(column(st.booleans()), dtype=pl.Boolean),
                "d": pl.Series(column(st.dates()), dtype=pl.Date),
                "m": pl.Series(column(st.datetimes()), dtype=pl.Datetime("us")),
                "s": pl.Series(column(items), dtype=pl.List(pl.String)),
            }
        )
    )


def again(given_table: Table, name: str) -> Table | None:
    """The table after a journey, or None where it was refused in words."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            write_file(given_table, path, suppressed=MARK)
        except OutputError as error:
            assert error.remedy
            return None
        return read_back(path, given_table.schema, suppressed=MARK)


@pytest.mark.parametrize("name", [*SHEETS, *STAT])
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_written_reads_back_or_is_refused(name: str, data: st.DataObject) -> None:
    given_table = data.draw(tables())
    chosen = data.draw(st.lists(st.sampled_from(given_table.names), min_size=1, unique=True))
    given_table = given_table.without([n for n in given_table.names if n not in {"key", *chosen}])
    back = again(given_table, name)
    if back is not None:
        assert back.schema == given_table.schema
        for column in given_table.names:
            assert back[column].to_list() == given_table[column].to_list(), column


@pytest.mark.parametrize("name", [*SHEETS, *STAT])
def test_a_plain_table_is_never_refused(name: str) -> None:
    frame = pl.DataFrame(
        {
            "n": [1, None, -3],
            "x": [0.1, 1 / 3, None],
            "w": ["=HYPERLINK(1)", None, "é b"],
            "b": [True, None, False],
            "d": [dt.date(1999, 12, 31), None, dt.date(2020, 2, 29)],
            "m": [dt.datetime(2020, 1, 2, 3, 4, 5), None, dt.datetime(1980, 1, 1)],
            "s": [["a", "b"], [], None],
        }
    )
    given_table = table(frame)
    back = again(given_table, name)
    assert back is not None
    assert back.frame.equals(given_table.frame)


@pytest.mark.parametrize("name", [*SHEETS, *STAT])
def test_suppressed_cells_are_marked(name: str) -> None:
    given_table = table({"n": [1, None, None], "w": ["a", None, None], "k": [1, 2, 3]})
    hidden = np.array([False, True, False])
    given_table = given_table.with_columns([], suppressed={"n": hidden, "w": hidden})
    back = again(given_table, name)
    assert back is not None
    assert back.suppressed("w").tolist() == [False, True, False]
    # A column of numbers holds no mark in a file of columns.
    assert back.suppressed("n").tolist() == [False, name in SHEETS, False]
    assert back["w"].to_list() == ["a", None, None]


@pytest.mark.parametrize("name", [*SHEETS, *STAT])
def test_labels_of_groups_are_text(name: str) -> None:
    made = table({"age": [20, 31, 45], "k": ["a", "b", "c"]})
    column = made.schema["age"].with_(generalized=True)
    labels = pl.Series("age", ["[20, 29]", "[30, 49]", "*"])
    hidden = {"age": np.array([False, False, True])}
    made = made.with_columns([labels], [column], hidden)
    back = again(made, name)
    assert back is not None
    assert back["age"].to_list() == ["[20, 29]", "[30, 49]", "*"]
    assert back.suppressed("age").tolist() == [False, False, True]
    assert back.schema["age"].kind == Kind.INTEGER


@pytest.mark.parametrize("name", [*SHEETS, *STAT])
def test_the_same_table_gives_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_table = sf.table({"n": [1, 2], "w": ["a", "b"]})
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    write_file(given_table, tmp_path / "1" / name)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    write_file(given_table, tmp_path / "2" / name)
    assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
