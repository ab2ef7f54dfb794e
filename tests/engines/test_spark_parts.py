"""What Spark's workers do with parts, without Spark: cells come back as they were, and values at
ranks are those of a sort."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.table import Table, table
from sfumato.engines.spark import selection
from sfumato.engines.spark.cells import batch_of, packets_of, row_of, unpacked
from sfumato.engines.spark.counting import keyed, unkeyed
from sfumato.engines.spark.layers import Opened, Taken, cells_like, side_by_side
from sfumato.errors import Complaint, SchemaError
from tests.engines.records import plain, shuffled_numbers, tables


@given(tables(most=20))
def test_a_part_comes_back_from_its_row(part: Table) -> None:
    numbers = shuffled_numbers(part.height)
    batch = batch_of(row_of(part, numbers), len(part.names), 7)
    like = part.take(np.empty(0, dtype=np.int64))
    opened = Opened(like, (Taken(cells_like(like), tuple(like.names), ""),))
    [(place, back, found)] = opened.parts(batch)
    order = np.argsort(numbers)
    assert place == 7
    assert back.frame.schema == part.frame.schema
    assert plain(back) == plain(part.take(order))
    assert found.tolist() == numbers[order].tolist()


def test_layers_are_put_side_by_side_by_number() -> None:
    one, other = table({"x": [1, 2, 3]}), table({"y": ["b", "c"]})
    like = table({"y": ["b"], "x": [1]}).take(np.empty(0, dtype=np.int64))
    numbers = np.array([4, 5, 9], dtype=np.uint64)
    found, both = side_by_side([(one, numbers), (other, numbers[1:])], like)
    assert plain(found) == [("b", 2), ("c", 3)]
    assert both.tolist() == [5, 9]


def test_each_record_goes_to_its_bucket_once() -> None:
    part = table({"x": [5, 6, 7, 8]})
    buckets = np.array([2, 0, 2, 9], dtype=np.int32)
    sent = list(packets_of(part, np.arange(4, dtype=np.uint64), buckets, told=buckets))
    assert [batch.column(0)[0].as_py() for batch in sent] == [0, 2, 9]
    packets = [unpacked(batch.column(2)[0].as_buffer()) for batch in sent]
    assert [p.column("x").to_pylist() for p in packets] == [[6], [5, 7], [8]]
    assert [p.column("told").to_pylist() for p in packets] == [[0], [2, 2], [9]]


VALUES = {
    pl.Int64: st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.UInt8: st.integers(0, 255),
    pl.Float64: st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0]),
    pl.Float32: st.floats(allow_nan=False, width=32),
    pl.Date: st.dates(),
    pl.Boolean: st.booleans(),
}


def looked_at(parts: list[pl.Series], keys: selection.Leading) -> tuple[np.ndarray, np.ndarray]:
    """A histogram as Spark makes one, part by part."""
    found = np.concatenate([keys(table({"x": part}), np.empty(0)) for part in parts])
    return np.unique(found, return_counts=True)


def keys_of(part: Table, _: np.ndarray) -> np.ndarray:
    return selection.ordered_keys(part["x"].drop_nulls())


@given(st.data(), st.sampled_from(list(VALUES)), st.sampled_from([1, 8, 1 << 22]))
def test_values_at_ranks_are_those_of_a_sort(
    data: st.DataObject, dtype: pl.DataType, most: int
) -> None:
    cells = data.draw(st.lists(st.none() | VALUES[dtype], min_size=1, max_size=40))
    series = pl.Series("x", cells, dtype=dtype)
    count = len(series) - series.null_count()
    ranks = data.draw(st.lists(st.integers(0, count - 1), max_size=4)) if count else []
    keys = selection.ordered_keys(series.drop_nulls())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "_MOST_BINS", most)
        found, below = selection.selected(
            keys_of,
            np.array(ranks, dtype=np.int64),
            int(keys.min()) if count else 0,
            int(keys.max()) if count else 0,
            partial(looked_at, [series[:7], series[7:]]),
        )
    assert found.tolist() == np.sort(keys)[ranks].tolist()
    assert below.tolist() == np.searchsorted(np.sort(keys), found).tolist()
    back = selection.values_of(keys, series.dtype)
    assert list(map(repr, back)) == list(map(repr, series.drop_nulls()))


def test_an_error_with_complaints_travels_from_a_worker() -> None:
    error = SchemaError("the table", [Complaint("age", "holds text", "mend it")])
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == str(error)
    assert back.complaints == error.complaints


@given(tables(most=20))
def test_rows_come_back_from_their_keys(part: Table) -> None:
    back = unkeyed(keyed(part), part.take(np.empty(0, dtype=np.int64)))
    assert back.frame.schema == part.frame.schema
    assert plain(back) == plain(part)
