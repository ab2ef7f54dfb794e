"""Lists of every type as compressed rows, in memory and in files, against plain Python sets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.io import set_files
from sfumato.data.sets import packing as set_packing
from sfumato.data.sets.table import SetTable
from sfumato.errors import InputError, OutputError, SchemaError
from sfumato.kernels.sets.packing import ascending, gathered, marked, tidied

WORDS = ["b", "a", "zebra crossing, which is long", "", "ä"]
DAY = dt.date(2020, 1, 31)
ITEMS: dict[str, tuple[Any, Sequence[Any]]] = {
    "uint8": (pl.UInt8, [0, 1, 7, 255]),
    "uint16": (pl.UInt16, [0, 1, 2, 3]),
    "int32": (pl.Int32, [-70_000, -1, 0, 70_000]),
    "int64": (pl.Int64, [-(2**63), 2**63 - 1, 0, 5]),
    "uint64": (pl.UInt64, [2**64 - 1, 2**63, 0]),
    "apart": (pl.Int64, [0, 2**40, 2**40 + 1]),
    "string": (pl.String, WORDS),
    "categorical": (pl.Categorical, WORDS),
    "enum": (pl.Enum(WORDS), WORDS),
    "boolean": (pl.Boolean, [True, False]),
    "date": (pl.Date, [DAY, DAY.replace(year=1800), DAY.replace(day=1)]),
    "moment": (pl.Datetime("us"), [dt.datetime(2020, 1, 1, 5), dt.datetime(1900, 1, 1)]),
    "float": (pl.Float64, [1.5, -1.5, 0.0]),
}


def naive(values: Sequence[Sequence[Any] | None], order: Any) -> tuple[list[Any], list[list[int]]]:
    """The distinct items in order, and the sorted numbers of each set."""
    names = sorted({item for value in values if value for item in value}, key=order)
    return names, [sorted(names.index(item) for item in set(value or [])) for value in values]


def order_of(kind: str) -> Any:
    return WORDS.index if kind == "enum" else None


def check(found: SetTable, values: Sequence[Sequence[Any] | None], kind: str) -> None:
    names, rows = naive(values, order_of(kind))
    assert found.names.to_list() == names
    assert [row.tolist() for row in found] == rows
    assert found.missing.tolist() == [value is None for value in values]
    assert found.repeats == sum(len(value) - len(set(value)) for value in values if value)
    assert found.items.dtype == np.uint16


@pytest.mark.parametrize("kind", ITEMS)
@given(data=st.data())
@settings(max_examples=25)
def test_lists_of_every_type(kind: str, data: st.DataObject) -> None:
    dtype, items = ITEMS[kind]
    lists = st.lists(st.none() | st.lists(st.sampled_from(items), max_size=6), max_size=8)
    parts = data.draw(st.lists(lists, min_size=1, max_size=3))
    values = [value for part in parts for value in part]
    series = pl.concat(
        [pl.Series("s", part, dtype=pl.List(dtype)) for part in parts],
        rechunk=data.draw(st.booleans()),
    )
    found = SetTable.from_column(series)
    check(found, values, kind)
    assert found.names.dtype == pl.List(dtype).inner
    names, rows = naive(values, order_of(kind))
    back = found.to_column("t")
    assert back.dtype == series.dtype
    assert back.to_list() == [
        None if value is None else [names[i] for i in row]
        for value, row in zip(values, rows, strict=True)
    ]
    low = data.draw(st.integers(0, len(values)))
    high = data.draw(st.integers(low, len(values)))
    check(SetTable.from_column(series.slice(low, high - low)), values[low:high], kind)
    assert found.block(low, high).to_column().to_list() == back.to_list()[low:high]


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    values = [rng.integers(0, 300, rng.integers(0, 90)).tolist() for _ in range(200)]
    values[7] = None  # type: ignore[call-overload]
    words = [None if v is None else [f"item {i}" for i in v] for v in values]
    whole = SetTable.from_column(pl.Series("s", words))
    monkeypatch.setattr(set_packing, "BLOCK", 7)
    check(SetTable.from_column(pl.Series("s", words)), words, "string")
    check(SetTable.from_column(pl.Series("s", values)), values, "int")
    assert np.array_equal(SetTable.from_column(pl.Series("s", words)).items, whole.items)


@pytest.mark.parametrize("as_text", [False, True])
def test_more_items_than_two_bytes_number(as_text: bool) -> None:
    numbers = np.random.default_rng(0).permutation(70_000)
    series = pl.Series("s", np.split(numbers, 7), dtype=pl.List(pl.Int64))
    if as_text:
        series = series.cast(pl.List(pl.String))
    found = SetTable.from_column(series)
    assert found.items.dtype == np.int32
    assert found.support.tolist() == [1] * 70_000
    expected = [sorted(part) for part in series.to_list()]
    assert found.to_column().to_list() == expected


def test_few_items_far_apart_are_numbered_in_two_bytes() -> None:
    found = SetTable.from_column(pl.Series("s", [[500_000, 3], [3]]))
    assert (found.items.dtype, found.items.tolist()) == (np.uint16, [0, 1, 0])


def garbage() -> Any:
    """Arrow may keep items, even missing ones, beneath a missing list."""
    lists = pa.array([[5, 1], [9, None, 7], [1]], type=pa.large_list(pa.uint16()))
    valid = pa.array([True, False, True]).buffers()[1]
    return pa.LargeListArray.from_buffers(
        lists.type, 3, [valid, lists.buffers()[1]], children=[lists.values]
    )


def test_what_lies_beneath_a_missing_list_is_no_item() -> None:
    check(SetTable.from_column(pl.Series("s", garbage())), [[5, 1], None, [1]], "uint16")
    block = set_packing.Block(garbage(), "s")
    packing = set_packing.Packing("s", pl.UInt16(), 3, 6, (0, 100))
    packing.put(block)
    assert packing.rows()[0].tolist() == [0, 2, 2, 3]
    packing = set_packing.Packing("s", pl.UInt16(), 3, 6)
    packing.put(block)
    assert packing.rows()[2].to_list() == [1, 5]


def test_a_column_that_is_numbered_already_is_not_copied() -> None:
    made = SetTable.from_column(pl.Series("s", [[2, 0], [1], None, []], dtype=pl.List(pl.UInt16)))
    column = made.to_column()
    again = SetTable.from_column(column)
    assert np.shares_memory(again.items, made.items)
    check(again, [[0, 2], [1], None, []], "uint16")
    apart = SetTable.from_column(pl.Series("s", [[3, 0]], dtype=pl.List(pl.UInt16)))
    assert apart.names.to_list() == [0, 3]


@given(st.lists(st.lists(st.integers(0, 400), max_size=60), max_size=6), st.integers(0, 5))
@settings(max_examples=60)
def test_kernels(rows: list[list[int]], shift: int) -> None:
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    items = np.array([item for row in rows for item in row], dtype=np.uint16)
    assert np.flatnonzero(marked(starts, items, 401)).tolist() == sorted({*items.tolist()})
    assert ascending(starts, items) == all(row == sorted(set(row)) for row in rows)
    # Another order of the items: the sorted rows are those of the new numbers.
    number = (np.arange(401, dtype=np.int64) * 3 + shift) % 401
    before = items.copy()
    ends, found, repeats = tidied(starts, items, number, np.empty_like(items))
    assert np.array_equal(items, before)
    assert [found[a:b].tolist() for a, b in pairwise(ends.tolist())] == [
        sorted({int(number[item]) for item in row}) for row in rows
    ]
    assert repeats == sum(len(row) - len(set(row)) for row in rows)
    assert gathered(number, items).tolist() == [int(number[item]) for item in items.tolist()]


# --- Parquet ---


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_files, "_AT_ONCE", 5)
    monkeypatch.setattr(set_files, "ROW_GROUP", 4)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("kind", [kind for kind in ITEMS if kind not in ("moment", "float")])
@pytest.mark.parametrize("writer", ["ours", "polars", "pyarrow"])
def test_files_of_sets(tmp_path: Path, kind: str, writer: str) -> None:
    dtype, items = ITEMS[kind]
    rng = np.random.default_rng(5)
    values: list[Any] = [
        [items[i] for i in rng.integers(0, len(items), rng.integers(0, 6))] for _ in range(30)
    ]
    values[4] = values[29] = None
    series = pl.Series("s", values, dtype=pl.List(dtype))
    path = tmp_path / "sets.parquet"
    if writer == "ours":
        SetTable.from_column(series).write_parquet(path)
        values = [None if v is None else sorted(set(v), key=order_of(kind)) for v in values]
    elif writer == "polars":
        series.to_frame().with_columns(n=pl.int_range(30)).write_parquet(path, row_group_size=7)
    else:
        pq.write_table(
            pa.table({"s": series.to_arrow(), "s.more": series.to_arrow()}), path, row_group_size=7,
            write_statistics=False,
        )  # fmt: skip
    plain = "string" if kind in ("categorical", "enum") else kind
    found = SetTable.read_parquet(path, "s")
    check(found, values, plain)
    if writer == "ours":
        assert pl.read_parquet(path)["s"].dtype == pl.List(
            pl.String if plain == "string" else dtype
        )
        assert SetTable.read_parquet(path).names.to_list() == found.names.to_list()


def test_lists_of_other_types_become_text(tmp_path: Path) -> None:
    path = tmp_path / "sets.parquet"
    pl.DataFrame({"s": [[1.5, 2.0], [2.0]]}).write_parquet(path)
    assert SetTable.read_parquet(path).names.to_list() == ["1.5", "2.0"]


def test_texts_that_outgrow_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "sets.parquet"
    values = [[f"{i}", f"{i + 1}"] for i in range(300)]
    lists = pa.table({"s": values})
    pq.write_table(lists, path, dictionary_pagesize_limit=64, data_page_size=64, write_batch_size=4)
    found = SetTable.read_parquet(path)
    assert found.to_column().to_list() == [sorted(value) for value in values]
    pairs = pa.FixedSizeListArray.from_arrays(pa.array(["a", "b", "b", "a"]), 2)
    pq.write_table(pa.table({"s": pairs}), path)
    assert SetTable.read_parquet(path).to_column().to_list() == [["a", "b"]] * 2


@pytest.mark.parametrize("dtype", [pl.Null, pl.String, pl.Int64])
def test_sets_of_nothing_but_missing_items_are_refused(dtype: Any) -> None:
    column = pl.Series("s", [[], [None]], dtype=pl.List(dtype))
    with pytest.raises(SchemaError, match="the set of record 2 holds a missing item"):
        SetTable.from_column(column)


@given(st.lists(st.one_of(st.none(), st.integers(0, 300)), max_size=40), st.data())
def test_arrays_are_read_as_they_lie(values: list[int | None], data: st.DataObject) -> None:
    whole = pa.array(values, pa.int32())
    first = data.draw(st.integers(0, len(values)))
    part = whole.slice(first, data.draw(st.integers(0, len(values) - first)))
    missing = [value is None for value in part.to_pylist()]
    assert set_packing._is_null(part).tolist() == missing
    numbers = set_packing._in_memory(part)[~np.array(missing, bool)]
    assert numbers.tolist() == [value for value in part.to_pylist() if value is not None]


def test_files_that_hold_no_sets(tmp_path: Path) -> None:
    path = tmp_path / "sets.parquet"
    pl.DataFrame({"a": [1], "b": [[1]], "c": [["x", None]]}).write_parquet(path)
    with pytest.raises(InputError, match=r"has 2 columns of lists, not one \(b, c\)"):
        SetTable.read_parquet(path)
    with pytest.raises(InputError, match=r"column 'a' of sets\.parquet holds int64, not sets"):
        SetTable.read_parquet(path, "a")
    with pytest.raises(SchemaError, match="there is no such column"):
        SetTable.read_parquet(path, "d")
    with pytest.raises(SchemaError, match="the set of record 1 holds a missing item"):
        SetTable.read_parquet(path, "c")
    sets = SetTable.read_parquet(path, "b")
    with pytest.raises(OutputError, match="exists already"):
        sets.write_parquet(path)
    sets.write_parquet(path, replace=True)
    assert pl.read_parquet(path).to_dict(as_series=False) == {"b": [[1]]}
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        SetTable.read_parquet(path)


def test_numbers_outside_of_what_a_file_declares() -> None:
    packing = set_packing.Packing("s", pl.Int64(), 2, 3, (0, 5))
    with pytest.raises(SchemaError, match="record 2 holds an item outside"):
        packing.add(pl.Series("s", [[1], [2, 6]]))


def test_an_empty_column_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "sets.parquet"
    SetTable.from_column(pl.Series("s", [], dtype=pl.List(pl.UInt16))).write_parquet(path)
    assert len(SetTable.read_parquet(path)) == 0
