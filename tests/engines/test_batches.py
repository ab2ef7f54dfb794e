"""A part goes to Arrow and to Parquet and comes back as it was."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from sfumato.data.table import Table, table
from sfumato.engines.batches import distinct, loaded, stored, together
from sfumato.errors import SchemaError
from tests.engines.records import plain, shuffled_numbers, tables


def through_parquet(arrow: object) -> object:
    sink = io.BytesIO()
    pq.write_table(arrow, sink)
    return pq.read_table(io.BytesIO(sink.getvalue()))


@given(tables())
def test_a_part_comes_back_from_arrow_and_from_parquet(part: Table) -> None:
    numbers = shuffled_numbers(part.height)
    like = part.take(np.empty(0, dtype=np.int64))
    for marked in (None, part.names):
        arrow = stored(part, numbers, marked)
        for travelled in (arrow, through_parquet(arrow)):
            back, found = loaded(travelled, like)
            assert back.frame.schema == part.frame.schema
            assert plain(back) == plain(part)
            assert found.tolist() == numbers.tolist()
            assert found.flags.writeable


def test_types_do_not_depend_on_what_a_part_holds() -> None:
    whole = table({"x": [1, None], "y": ["a", "b"]})
    one, none = whole.take(np.array([0])), whole.take(np.empty(0, dtype=np.int64))
    first = stored(one, np.zeros(1), whole.names).schema
    assert first == stored(none, np.zeros(0), whole.names).schema


@pytest.mark.parametrize("name", ["__number", "__suppressed/age"])
def test_a_name_that_engines_use_is_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="rename it"):
        stored(table({name: [1]}), np.zeros(1))


@given(tables(most=20, columns=2))
def test_distinct_rows_are_those_that_occur_in_the_order_of_their_values(given: Table) -> None:
    found, count = distinct(given)
    rows = plain(given)
    assert {row: int(n) for row, n in zip(map(repr, plain(found)), count, strict=True)} == {
        repr(row): sum(repr(other) == repr(row) for other in rows) for row in rows
    }
    again, twice = distinct(together([found, found]), np.concatenate([count, count]))
    assert plain(again) == plain(found)
    assert twice.tolist() == (2 * count).tolist()


def test_missing_cells_come_before_suppressed_ones_and_these_before_values() -> None:
    given = table({"x": pl.Series([-0.0, None, 3.0, None, 0.0, -5.0])})
    given = given.with_columns([], suppressed={"x": np.array([0, 1, 0, 0, 0, 0], dtype=bool)})
    found, count = distinct(given)
    assert plain(found) == plain(given.take(np.array([3, 1, 5, 0, 4, 2])))
    assert count.tolist() == [1] * 6
    assert found.suppressed("x").tolist() == [False, True, False, False, False, False]


def test_empty_lists_are_written_so_that_they_can_be_read(tmp_path: Path) -> None:
    """Taken from several chunks, their items lie behind the end of an empty buffer."""
    one = pl.Series("s", [[1, 2], [], []], dtype=pl.List(pl.Int64))
    whole = table(pl.DataFrame([one.append(pl.Series("s", [[3], [], []], dtype=one.dtype))]))
    for rows in ([1, 2], [4, 5], [1, 5], [0, 4], []):
        part = whole.take(np.array(rows, dtype=np.int64))
        arrow = stored(part, np.array(rows, dtype=np.uint64))
        path = str(tmp_path / "part")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, arrow.schema) as file:
            file.write_table(arrow)
        read = pa.ipc.open_file(path).read_all()
        assert loaded(read, part)[0]["s"].to_list() == [whole["s"].to_list()[i] for i in rows]
