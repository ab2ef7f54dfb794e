"""Set-valued columns as compressed rows, and the files that they come from."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.io import read, read_with_notes
from sfumato.data.schema import Kind
from sfumato.data.sets.table import SetTable
from sfumato.data.table import table
from sfumato.errors import InputError, SchemaError


@given(st.lists(st.none() | st.lists(st.text(max_size=2), max_size=4), max_size=8))
def test_rows_are_the_sorted_sets(values: list[list[str] | None]) -> None:
    sets = SetTable.from_column(pl.Series("s", values, dtype=pl.List(pl.String)))
    names = sets.names.to_list()
    assert names == sorted({item for value in values if value for item in value})
    assert [[names[i] for i in row] for row in sets] == [sorted(set(v or [])) for v in values]
    assert sets.missing.tolist() == [value is None for value in values]
    assert sets.repeats == sum(len(v) - len(set(v)) for v in values if v)
    assert sets.support.tolist() == [
        sum(name in (value or []) for value in values) for name in names
    ]
    back = sets.to_column()
    assert back.name == "s"
    assert back.to_list() == [None if v is None else sorted(set(v)) for v in values]


def test_the_arrays_have_the_promised_types() -> None:
    sets = SetTable.of(table({"s": [[3, 1], [], None]}), "s")
    assert (sets.starts.dtype, sets.items.dtype) == (np.int64, np.uint16)
    assert sets.starts.tolist() == [0, 2, 2, 2]
    assert sets[0].tolist() == [0, 1]
    assert sets[-1].tolist() == []
    assert sets.to_column("t").to_list() == [[1, 3], [], None]
    assert len(sets) == 3
    assert repr(sets) == "SetTable(3 sets of 2 items, 2 occurrences)"
    with pytest.raises(ValueError, match="read-only"):
        sets.items[0] = 1
    with pytest.raises(IndexError):
        sets[3]


@pytest.mark.parametrize("values", [[], [None, None], [[], []]])
def test_columns_without_items(values: list[Any]) -> None:
    sets = SetTable.from_column(pl.Series("s", values, dtype=pl.List(pl.String)))
    assert sets.items.size == 0
    assert sets.to_column().to_list() == values


def test_what_is_no_set_is_named() -> None:
    with pytest.raises(SchemaError, match="s: holds Int64, not sets"):
        SetTable.from_column(pl.Series("s", [1]))
    with pytest.raises(SchemaError, match="the set of record 2 holds a missing item"):
        SetTable.from_column(pl.Series("s", [["a"], ["b", None]]))


# --- files ---


def test_fimi(tmp_path: Path) -> None:
    path = tmp_path / "baskets.dat"
    path.write_bytes(b"13 60 69\r\n\n14  13 \n7 7\n")
    found, notes = read_with_notes(path)
    assert found["items"].to_list() == [["13", "60", "69"], [], ["14", "13"], ["7", "7"]]
    assert found.schema["items"].kind == Kind.SET
    assert notes == [
        "1 line is blank: empty sets",
        "1 sets repeat an item; in a set it counts once",
    ]
    packed = tmp_path / "baskets.dat.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed).frame.equals(found.frame)


def test_fimi_counts_agree_with_the_published_ones(shared_data: Callable[[str], Path]) -> None:
    folder = shared_data("setvalued")
    for name, count, items, occurrences, largest in (
        ("retail.dat.gz", 88_162, 16_470, 908_576, 76),
        ("bms_webview1.dat", 59_602, 497, 149_639, 267),
        ("groceries.dat", 9_835, 169, 43_367, 32),
    ):
        sets = SetTable.of(read(folder / name), "items")
        assert (len(sets), len(sets.names), sets.items.size) == (count, items, occurrences)
        assert sets.sizes.max() == largest


def test_long_tables_become_one_record_per_id(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("person,sex,code\n2,f,07\n1,m,E11\n2,f,I10\n3,f,\n2,f,07\n")
    found, notes = read_with_notes(path, sets={"id": "person", "item": "code"}, quasi=["sex"])
    assert found.frame.rows() == [
        ("2", "f", ["07", "I10", "07"]),
        ("1", "m", ["E11"]),
        ("3", "f", []),
    ]
    assert found.schema["code"].kind == Kind.SET
    assert "1 records without 'code' add nothing to their sets" in notes
    assert "5 records of long.csv became 3 sets in 'code'" in notes


def test_long_tables_of_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    pl.DataFrame({"id": [1, 1, 2], "item": ["a", "b", "a"]}).write_parquet(path)
    found = read(path, sets={"id": "id", "item": "item"})
    assert found.frame.rows() == [(1, ["a", "b"]), (2, ["a"])]


def test_a_column_that_varies_within_an_id_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("person,day,code\n1,mon,a\n1,tue,b\n")
    with pytest.raises(InputError, match=r"'day' of long\.csv varies within 'person' = '1'"):
        read(path, sets={"id": "person", "item": "code"})
    path.write_text("person,code\n1,a\n,b\n")
    with pytest.raises(InputError, match=r"record 2 of long\.csv has no 'person'"):
        read(path, sets={"id": "person", "item": "code"})


@pytest.mark.parametrize(
    ("cells", "spec", "expected"),
    [
        (["I10 E11", '""', ""], {"column": "s"}, [["I10", "E11"], [], None]),
        (["I10; E11;", "07"], {"column": "s", "separator": ";"}, [["I10", "E11"], ["07"]]),
        (["1  2", "3"], {"column": "s", "separator": " "}, [["1", "2"], ["3"]]),
        (['"[""a b"", ""c""]"', "[]"], {"column": "s"}, [["a b", "c"], []]),
        (['"[""a b"""', "x"], {"column": "s"}, [['["a', 'b"'], ["x"]]),
    ],
)
def test_cells_of_several_items(
    tmp_path: Path, cells: list[str], spec: dict[str, str], expected: list[Any]
) -> None:
    path = tmp_path / "sets.csv"
    path.write_text("\n".join(["s|n", *(f"{cell}|1" for cell in cells)]) + "\n")
    found = read(path, sets=spec, delimiter="|")
    assert found["s"].to_list() == expected
    assert found.schema["s"].kind == Kind.SET


def test_the_kind_set_needs_no_description(tmp_path: Path) -> None:
    path = tmp_path / "sets.csv"
    path.write_text("s,n\na b,1\n")
    assert read(path, kinds={"s": "set"})["s"].to_list() == [["a", "b"]]


@pytest.mark.parametrize(
    "spec", [{"colum": "s"}, {"id": "s"}, {"column": "s", "sep": ","}, ["s"], {}]
)
def test_descriptions_that_are_not_understood(tmp_path: Path, spec: Any) -> None:
    path = tmp_path / "sets.csv"
    path.write_text("s,n\na b,1\n")
    with pytest.raises(InputError, match=r"is not understood -> sets="):
        read(path, sets=spec)


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "sets.csv"
    path.write_text("codes,n\na b,1\n")
    with pytest.raises(SchemaError, match='did you mean "codes"'):
        read(path, sets={"column": "code"})
