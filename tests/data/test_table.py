"""Tables: what comes in, what they promise, and that the same kind of object goes out."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.data.kinds import kind_of
from sfumato.data.schema import Column, Kind, Role, Schema
from sfumato.data.table import Table, as_frame, table
from sfumato.errors import InputError, SchemaError

ROWS = {"age": [31, 40, None], "sex": ["f", None, "m"], "pay": [1.5, None, -0.0]}


def sources() -> dict[str, Any]:
    frame = pl.DataFrame(ROWS)
    return {
        "pandas": frame.to_pandas(),
        "polars": frame,
        "pyarrow": frame.to_arrow(),
        "duckdb": duckdb.from_arrow(frame.to_arrow()),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb"])
def test_the_same_kind_of_object_goes_out(kind: str) -> None:
    source = sources()[kind]
    found = table(source, quasi=["age", "sex"])
    back = found.to_frame()
    assert type(back) is type(source)
    again = table(back)
    assert again.frame.rows() == [(31, "f", 1.5), (40, None, None), (None, "m", -0.0)]


def test_a_table_is_itself_an_arrow_stream() -> None:
    found = table(ROWS)
    assert pa.table(found).num_rows == 3
    assert pl.DataFrame(pl.from_arrow(pa.table(found))).equals(found.frame)
    assert duckdb.from_arrow(pa.table(found)).fetchall()[0] == (31, "f", 1.5)


def test_any_arrow_stream_comes_in() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested: object = None) -> object:
            return pa.table({"x": [1, 2]}).__arrow_c_stream__(requested)

    assert table(Stream())["x"].to_list() == [1, 2]
    assert table(pl.DataFrame(ROWS).lazy()).height == 3
    found = table(ROWS)
    assert as_frame(found) == (found.frame, "polars")


def test_the_index_of_pandas_is_no_column_and_nan_is_missing() -> None:
    frame = pd.DataFrame({"x": [1.0, np.nan]}, index=[7, 9])
    found = table(frame)
    assert found.names == ["x"]
    assert found["x"].to_list() == [1.0, None]


@pytest.mark.parametrize("source", [3, "register.csv", [1, 2], None])
def test_what_is_no_table_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match="is not a table"):
        table(source)


def test_kinds_follow_from_types() -> None:
    assert kind_of(pl.Series([1.5])) == Kind.CONTINUOUS
    assert kind_of(pl.Series([1], dtype=pl.UInt8)) == Kind.INTEGER
    assert kind_of(pl.Series([True])) == Kind.BOOLEAN
    assert kind_of(pl.Series([dt.date(2000, 1, 1)])) == Kind.DATE
    assert kind_of(pl.Series([["a"]])) == Kind.SET
    assert kind_of(pl.Series(["a"], dtype=pl.Enum(["a"]))) == Kind.ORDINAL
    assert kind_of(pl.Series(["a"], dtype=pl.Categorical)) == Kind.NOMINAL


def test_columns_are_stored_as_their_kind_asks() -> None:
    found = table(
        {"grade": ["hi", None], "born": ["2000-01-31", None], "n": [1.0, None], "code": [7, 8]},
        kinds={"grade": "ordinal", "born": "date", "n": "integer", "code": "nominal"},
        categories={"grade": ["lo", "hi"]},
    )
    assert found["grade"].dtype == pl.Enum(["lo", "hi"])
    assert found["born"].to_list() == [dt.date(2000, 1, 31), None]
    assert (found["n"].dtype, found["n"].to_list()) == (pl.Int64, [1, None])
    assert found["code"].to_list() == ["7", "8"]


def test_every_complaint_is_raised_at_once() -> None:
    with pytest.raises(SchemaError) as caught:
        table(
            {"age": ["31", "x"], "sex": ["f", "m"]},
            kinds={"age": "integer", "sex": "sort", "zipp": "nominal"},
            quasi=["age", "sx"],
            confidential=["age"],
            secret=["sex"],
        )
    text = str(caught.value)
    assert len(caught.value.complaints) == 6
    assert "secret: there is no such role" in text
    assert "age: is both quasi and confidential" in text
    assert 'sx: there is no such column  -> did you mean "sex"?' in text
    assert "zipp: there is no such column" in text
    assert "sex: there is no kind 'sort'" in text
    assert "age: row 2 holds 'x', which is not a whole number" in text


@pytest.mark.parametrize(
    ("values", "kind", "complaint"),
    [
        ([1.5], "integer", "row 1 holds 1.5, which is not whole"),
        ([1], "set", "holds Int64, not lists"),
        (["1.5"], "integer", "row 1 holds '1.5', which is not a whole number"),
        (["inf", "nan"], "integer", "row 1 holds 'inf', which is not a whole number"),
        (["maybe"], "boolean", "neither true nor false"),
        ([["a"]], "nominal", "holds lists"),
        ([dt.time(1)], "nominal", "which no kind describes"),
        ([1], "date", "holds Int64, not dates"),
        (["2000-02-30"], "date", "row 1 holds '2000-02-30', which is not a date"),
        (["a"], "ordinal", "needs the order of its categories"),
    ],
)
def test_values_that_contradict_their_kind(values: list[Any], kind: str, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        table({"x": values}, kinds={"x": kind})


def test_a_stray_category_is_named() -> None:
    with pytest.raises(SchemaError, match="'mid', which is not among its categories"):
        table({"x": ["lo", "mid"]}, kinds={"x": "ordinal"}, categories={"x": ["lo", "hi"]})


def test_missing_is_not_suppressed() -> None:
    found = table({"x": [1, None, None]})
    masked = found.with_columns([], suppressed={"x": np.array([False, True, False])})
    assert masked.suppressed("x").tolist() == [False, True, False]
    assert masked.missing("x").tolist() == [False, False, True]
    assert found.suppressed("x").tolist() == [False, False, False]
    assert masked.take(np.array([2, 1])).suppressed("x").tolist() == [False, True]


def test_the_label_for_anything_is_suppressed() -> None:
    found = table({"x": ["*", "[1, 2]", None]})
    labels = found.with_schema(Schema([Column("x", Kind.INTEGER, generalized=True)]))
    assert labels.suppressed("x").tolist() == [True, False, False]
    # In a column that keeps its values, an asterisk is a value.
    assert found.suppressed("x").tolist() == [False, False, False]


def test_changes_make_new_tables() -> None:
    found = table(ROWS, quasi=["age"])
    changed = found.with_columns(
        [pl.Series("age", [1, 2, 3]), pl.Series("new", ["a", "b", "c"])],
        [Column("age", Kind.INTEGER, Role.TARGET)],
    )
    assert changed["age"].to_list() == [1, 2, 3]
    assert changed.schema["age"].role == Role.TARGET
    assert changed.schema["new"].kind == Kind.NOMINAL
    assert found["age"].to_list() == [31, 40, None]
    assert found.schema["age"].role == Role.QUASI
    assert found.without(["sex"]).names == ["age", "pay"]
    assert found.take(np.array([2, 0, 0]))["sex"].to_list() == ["m", "f", "f"]
    assert len(found) == 3


def test_a_schema_must_list_the_columns() -> None:
    with pytest.raises(SchemaError, match="does not list the frame's columns"):
        Table(pl.DataFrame({"x": [1]}), Schema([Column("y", Kind.INTEGER)]))
    with pytest.raises(SchemaError, match="x: appears more than once"):
        Schema([Column("x", Kind.INTEGER), Column("x", Kind.TEXT)])
    with pytest.raises(SchemaError, match='did you mean "age"'):
        table(ROWS)["agee"]


def test_a_notebook_shows_names_safely() -> None:
    found = table({"<b>": ["<script>", None]})
    shown = found._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert repr(table(ROWS, quasi=["age"])) == (
        "Table(3 records x 3 columns; quasi: age; undecided: sex, pay)"
    )


LEVELS = ["low", "mid", "high"]


def _ordered(kind: str) -> object:
    cells = ["high", None, "low", "low"]
    graded = pd.Categorical(cells, categories=LEVELS, ordered=True)
    frame = pd.DataFrame({"n": [1, 2, 3, 4], "e": graded})
    if kind == "pandas":
        return frame
    return pa.Table.from_pandas(frame) if kind == "pyarrow" else pl.DataFrame(
        {"n": [1, 2, 3, 4], "e": pl.Series(cells, dtype=pl.Enum(LEVELS))}
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars"])
@pytest.mark.parametrize("kinds", [{}, {"e": "ordinal"}])
def test_an_order_that_a_frame_carries_is_kept(kind: str, kinds: dict[str, str]) -> None:
    made = table(_ordered(kind), kinds=kinds, quasi=["e"])
    assert (made.schema["e"].kind, made.schema["e"].categories) == (Kind.ORDINAL, tuple(LEVELS))
    assert made["e"].to_list() == ["high", None, "low", "low"]
    assert made.names == ["n", "e"]


def test_other_categories_of_pandas() -> None:
    frame = pd.DataFrame(
        {
            "plain": pd.Categorical(["b", "a", "b"]),
            "numbers": pd.Categorical([3, 1, 3], ordered=True),
            "turned": pd.Categorical([3, 1, 3], categories=[3, 1], ordered=True),
            "cut": pd.cut(pd.Series([1, 9, 5]), [0, 4, 10]),
        }
    )
    before = frame.copy()
    made = table(frame)
    kinds = {column.name: column.kind for column in made.schema}
    assert kinds == {
        "plain": Kind.NOMINAL,
        "numbers": Kind.INTEGER,
        "turned": Kind.ORDINAL,
        "cut": Kind.ORDINAL,
    }
    assert made.schema["turned"].categories == ("3", "1")
    assert made.schema["cut"].categories == ("(0, 4]", "(4, 10]")
    pd.testing.assert_frame_equal(frame, before)


def test_dictionaries_without_an_order_in_common_are_nominal() -> None:
    one, two = (
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), words, ordered=True)
        for words in (["low", "high"], ["high", "low"])
    )
    made = table(pa.table({"e": pa.chunked_array([one, two])}))
    assert made.schema["e"].kind == Kind.NOMINAL
    assert made["e"].to_list() == ["low", "high", "high", "low"]
