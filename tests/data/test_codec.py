"""Columns become codes and floats, and come back bit for bit."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import (
    Matrix,
    bind,
    code,
    decode,
    domain_values,
    encode,
    floats,
    from_floats,
    standardize,
)
from sfumato.data.encoding import encode_within
from sfumato.data.schema import Column, Kind
from sfumato.data.table import table
from sfumato.errors import MethodError, SchemaError

NAN, INF = float("nan"), float("inf")


def bits(series: pl.Series) -> list[bytes | None]:
    """A float column as its bytes, so that -0.0 and the NaNs are told apart."""
    form = {pl.Float64: "d", pl.Float32: "f"}[type(series.dtype)]
    return [None if value is None else struct.pack(form, value) for value in series.to_list()]


def assert_comes_back(series: pl.Series) -> None:
    found = encode(series)
    back = found.decode()
    assert back.dtype == series.dtype
    assert back.name == series.name
    if series.dtype in (pl.Float64, pl.Float32):
        assert bits(back) == bits(series)
    else:
        assert back.equals(series, null_equal=True), (back.to_list(), series.to_list())
    assert found.domain.null_count() == 0
    largest = int(found.codes.max(initial=0))
    assert largest <= len(found.domain)
    narrowest = next(
        t for t in (np.uint8, np.uint16, np.uint32) if len(found.domain) <= np.iinfo(t).max
    )
    assert found.codes.dtype == narrowest
    assert ((found.codes == 0) == series.is_null().to_numpy()).all()


COLUMNS = {
    "int64 extremes": pl.Series("x", [2**63 - 1, -(2**63), None, 0], dtype=pl.Int64),
    "int64 near the top": pl.Series("x", [2**63 - 1, 2**63 - 7, None], dtype=pl.Int64),
    "int64 near the bottom": pl.Series("x", [-(2**63), -(2**63) + 7, None], dtype=pl.Int64),
    "uint64": pl.Series("x", [2**64 - 1, 0, None], dtype=pl.UInt64),
    "uint64 near the top": pl.Series("x", [2**64 - 1, 2**64 - 2, None], dtype=pl.UInt64),
    "int8": pl.Series("x", [-128, 127, None, 0], dtype=pl.Int8),
    "int128": pl.Series("x", [-(2**127), 2**127 - 1, None], dtype=pl.Int128),
    "float": pl.Series("x", [0.0, -0.0, NAN, -NAN, INF, -INF, 5e-324, None, 0.1]),
    "float32": pl.Series("x", [0.0, -0.0, NAN, 1e-40, None, 3.4e38], dtype=pl.Float32),
    "text": pl.Series("x", ["b", "", "a", None, "\u00e9", "e\u0301", "007", "7", "\x00", "b"]),
    "categorical": pl.Series("x", ["b", "a", None, "b"], dtype=pl.Categorical),
    "enum": pl.Series("x", ["lo", None, "hi", "mid"], dtype=pl.Enum(["lo", "mid", "hi"])),
    "date": pl.Series("x", [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "datetime": pl.Series("x", [dt.datetime(1999, 1, 1, 3, 4, 5, 6), None]),
    "zoned": pl.Series("x", [dt.datetime(1999, 1, 1), None], dtype=pl.Datetime("ns", "UTC")),
    "boolean": pl.Series("x", [True, None, False]),
    "only true": pl.Series("x", [True, None]),
    "only false": pl.Series("x", [False, None]),
    "lists": pl.Series("x", [["b", "a"], [], None, ["a", "b"], ["b", "a"], [None]]),
    "lists of floats": pl.Series("x", [[0.0], [-0.0], None, [0.0]]),
    "arrays": pl.Series("x", [[1, 2], [3, 4], None], dtype=pl.Array(pl.Int64, 2)),
    "time": pl.Series("x", [dt.time(3, 4), None]),
    "decimal": pl.Series("x", [Decimal("1.50"), None, Decimal("-2.25")]),
    "binary": pl.Series("x", [b"", b"\x00", None]),
}
TYPES = [
    pl.Int64,
    pl.UInt8,
    pl.Float64,
    pl.Float32,
    pl.String,
    pl.Categorical,
    pl.Enum(["a"]),
    pl.Boolean,
    pl.Date,
    pl.Datetime("us"),
    pl.List(pl.String),
    pl.Null,
]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_comes_back_bit_for_bit(name: str) -> None:
    assert_comes_back(COLUMNS[name])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_empty_and_all_missing_columns_come_back(dtype: Any, count: int) -> None:
    series = pl.Series("x", [None] * count, dtype=dtype)
    assert_comes_back(series)
    assert encode(series).codes.tolist() == [0] * count


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_integers(values: list[int | None]) -> None:
    series = pl.Series("x", values, dtype=pl.Int64)
    assert_comes_back(series)
    found = encode(series)
    assert found.domain.to_list() == sorted({v for v in values if v is not None})


@given(st.integers(-(2**63), 2**63 - 200), st.lists(st.none() | st.integers(0, 99), max_size=40))
def test_integers_close_together_anywhere(low: int, offsets: list[int | None]) -> None:
    values = [None if o is None else low + o for o in offsets]
    assert_comes_back(pl.Series("x", values, dtype=pl.Int64))


@given(st.lists(st.none() | st.floats(width=64)))
def test_floats_are_coded_by_their_bits_in_order(values: list[float | None]) -> None:
    series = pl.Series("x", values, dtype=pl.Float64)
    assert_comes_back(series)
    ordered = [v for v in encode(series).domain.to_list() if v == v]
    assert ordered == sorted(ordered)


@given(st.lists(st.none() | st.text()))
def test_text(values: list[str | None]) -> None:
    series = pl.Series("x", values, dtype=pl.String)
    assert_comes_back(series)
    # The order of code points is that of UTF-8 bytes.
    assert encode(series).domain.to_list() == sorted({v for v in values if v is not None})


@given(st.lists(st.none() | st.dates()))
def test_dates(values: list[dt.date | None]) -> None:
    assert_comes_back(pl.Series("x", values, dtype=pl.Date))


@given(st.lists(st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3)))
def test_lists(values: list[Any]) -> None:
    assert_comes_back(pl.Series("x", values, dtype=pl.List(pl.String)))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([[2, 1], [10], None, [], [1, 2], [10]], pl.List(pl.Int64)),
        ([[-0.0], [0.0], [float("nan")], [None], [1.5]], pl.List(pl.Float64)),
        ([[["b"], []], [["a", None]], [[]], [["a", "b"]]], pl.List(pl.List(pl.String))),
        ([[2, 1], [1, 2], None, [2, 1]], pl.Array(pl.Int8, 2)),
    ],
    ids=["sets", "floats", "nested", "arrays"],
)
def test_lists_have_the_same_numbers_in_any_order_of_the_records(values: Any, dtype: Any) -> None:
    series = pl.Series("x", values, dtype=dtype)
    found = encode(series)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(values))
        other = encode(series.gather(order))
        assert other.codes.tolist() == found.codes[order].tolist()
        assert repr(other.domain.to_list()) == repr(found.domain.to_list())
        part = series.gather(order[:3])
        assert encode_within(part, found.domain).tolist() == found.codes[order[:3]].tolist()
    with pytest.raises(MethodError, match="did not hold"):
        encode_within(series, found.domain.head(len(found.domain) - 1))


@pytest.mark.parametrize(
    ("distinct", "dtype"),
    [(255, np.uint8), (256, np.uint16), (65535, np.uint16), (65536, np.uint32)],
)
@pytest.mark.parametrize("kind", [pl.Int64, pl.String, pl.Float64])
def test_codes_are_as_narrow_as_they_can_be(distinct: int, dtype: Any, kind: Any) -> None:
    series = pl.Series("x", np.arange(distinct)).cast(kind)
    found = encode(series)
    assert found.codes.dtype == dtype
    assert found.codes.max() == distinct
    assert found.decode().equals(series)


def test_an_enum_is_coded_in_the_order_of_its_categories() -> None:
    found = encode(pl.Series("x", ["hi", "lo", "hi"], dtype=pl.Enum(["lo", "mid", "hi"])))
    assert found.domain.to_list() == ["lo", "hi"]
    assert found.codes.tolist() == [2, 1, 2]


def test_decode_can_rename() -> None:
    assert decode(np.array([1, 0]), pl.Series("x", ["a"]), "y").name == "y"


# --- numbers ---


def column(kind: Kind, **more: Any) -> Column:
    return Column("x", kind, **more)


def test_floats_of_every_ordered_kind() -> None:
    days = pl.Series("x", [dt.date(1970, 1, 11), None])
    assert floats(days, column(Kind.DATE))[0] == 10.0
    assert np.isnan(floats(days, column(Kind.DATE))[1])
    grade = pl.Series("x", ["hi", "lo"], dtype=pl.Enum(["lo", "hi"]))
    assert floats(grade, column(Kind.ORDINAL, categories=("lo", "hi"))).tolist() == [1.0, 0.0]
    truth = pl.Series("x", [True, None, False])
    np.testing.assert_array_equal(floats(truth, column(Kind.BOOLEAN)), [1.0, np.nan, 0.0])
    np.testing.assert_array_equal(
        floats(pl.Series("x", [3, None]), column(Kind.INTEGER)), [3, np.nan]
    )


def test_floats_refuse_labels_and_categories() -> None:
    with pytest.raises(MethodError, match="'x' holds nominal"):
        floats(pl.Series("x", ["a"]), column(Kind.NOMINAL))
    with pytest.raises(MethodError, match="'x' holds labels"):
        floats(pl.Series("x", ["[1, 2]"]), column(Kind.INTEGER, generalized=True))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1])
def test_floats_refuse_integers_that_they_would_round(value: int) -> None:
    assert floats(pl.Series("x", [2**53]), column(Kind.INTEGER)).tolist() == [2.0**53]
    with pytest.raises(SchemaError, match="too large to calculate with exactly"):
        floats(pl.Series("x", [value]), column(Kind.INTEGER))


def test_floats_are_a_copy() -> None:
    series = pl.Series("x", [1.0, 2.0])
    floats(series, column(Kind.CONTINUOUS))[0] = 9.0
    assert series.to_list() == [1.0, 2.0]


def test_numbers_go_back_to_the_values_a_column_can_hold() -> None:
    numbers = np.array([1.4, np.nan, -3.0, 7.6])
    dates = from_floats(numbers, column(Kind.DATE), pl.Series("x", [dt.date(2000, 1, 1)]))
    assert dates.to_list() == [
        dt.date(1970, 1, 2),
        None,
        dt.date(1969, 12, 29),
        dt.date(1970, 1, 9),
    ]
    grade = column(Kind.ORDINAL, categories=("lo", "mid", "hi"))
    like = pl.Series("x", ["lo"], dtype=pl.Enum(["lo", "mid", "hi"]))
    assert from_floats(numbers, grade, like).to_list() == ["mid", None, "lo", "hi"]
    truth = from_floats(np.array([0.5, np.nan, 0.4]), column(Kind.BOOLEAN), pl.Series("x", [True]))
    assert truth.to_list() == [True, None, False]


def test_integers_stay_whole_only_where_they_are() -> None:
    like = pl.Series("x", [1], dtype=pl.Int8)
    whole = from_floats(np.array([1.0, np.nan]), column(Kind.INTEGER), like)
    assert (whole.dtype, whole.to_list()) == (pl.Int8, [1, None])
    mean = from_floats(np.array([1.5]), column(Kind.INTEGER), like)
    assert (mean.dtype, mean.to_list()) == (pl.Float64, [1.5])
    rounded = from_floats(np.array([1.6]), column(Kind.INTEGER), like, whole=True)
    assert rounded.to_list() == [2]


def test_a_value_beyond_a_narrow_type_does_not_become_missing() -> None:
    like = pl.Series("x", [100], dtype=pl.Int8)
    wide = from_floats(np.array([300.0, np.nan]), column(Kind.INTEGER), like)
    assert (wide.dtype, wide.to_list()) == (pl.Int64, [300, None])
    wider = from_floats(np.array([1e300]), column(Kind.INTEGER), like)
    assert wider.to_list() == [1e300]


def test_standardize_leaves_missing_values_aside() -> None:
    x = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, 2.0], [np.nan, 5.0, 4.0]])
    z = standardize(x)
    np.testing.assert_allclose(z[:, 0], [-1, 1, np.nan])
    np.testing.assert_array_equal(z[:, 1], [0, 0, 0])
    np.testing.assert_allclose(z[:, 2], [np.nan, -1, 1])
    assert standardize(np.empty((0, 2))).shape == (0, 2)


# --- matrices and posets ---


def test_a_matrix_shows_each_view_of_its_columns() -> None:
    people = table(
        {"age": [20, None, 40], "sex": ["m", "f", None], "pay": [1.0, 2.0, 3.0]},
        quasi=["age", "sex", "pay"],
    )
    m = Matrix(people, ["age", "sex", "pay"])
    assert (len(m), m.names, m.is_numeric) == (3, ["age", "sex", "pay"], [True, False, True])
    np.testing.assert_array_equal(m.numeric, [[20, 1], [np.nan, 2], [40, 3]])
    assert m.nominal.tolist() == [[2], [1], [0]]
    assert m.missing.tolist() == [[False] * 3, [True, False, False], [False, True, False]]
    assert m.standardized.shape == (3, 2)
    assert Matrix(people, []).missing.shape == (3, 0)


def test_columns_are_coded_in_the_order_of_their_poset() -> None:
    people = table(
        {"age": [40, None, 20], "grade": ["hi", "lo", "hi"], "sick": [True, False, None]},
        kinds={"grade": "ordinal"},
        categories={"grade": ["lo", "mid", "hi"]},
        quasi=["age", "grade", "sick"],
    )
    age = code(people, "age")
    assert age.codes.tolist() == [2, 0, 1]
    assert age.poset.labels(np.array([1]), np.array([2])) != age.poset.labels(
        np.array([1]), np.array([1])
    )
    assert code(people, "grade").codes.tolist() == [3, 1, 3]
    assert code(people, "sick").codes.tolist() == [2, 1, 0]
    assert Matrix(people, ["age"]).coded(0).codes.tolist() == [2, 0, 1]


def test_labels_and_sets_keep_apart_what_differs() -> None:
    labels = pl.Series("x", ["*", "True or False"])
    assert domain_values(column(Kind.BOOLEAN, generalized=True), labels) == labels.to_list()
    assert domain_values(column(Kind.SET, generalized=True), labels) == labels.to_list()
    assert domain_values(column(Kind.SET), pl.Series("x", [["a", "b"], ["c"]])) == ["a b", "c"]
    twins = domain_values(column(Kind.SET), pl.Series("x", [["a b"], ["a", "b"]]))
    assert len(set(twins)) == 2


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_poset_of_its_own(kind: Kind) -> None:
    """Intervals for numbers and dates, value sets for all others and for labels."""
    values = {
        Kind.CONTINUOUS: [1.5, 2.0],
        Kind.INTEGER: [1, 2],
        Kind.DATE: [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
        Kind.BOOLEAN: [False, True],
        Kind.SET: [["a"], ["b"]],
    }.get(kind, ["a", "b"])
    column = Column("x", kind, categories=("a", "b") if kind == Kind.ORDINAL else ())
    measured = kind in (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATE)
    found = bind(column, pl.Series("x", values))
    assert found.structure.reads == ("interval" if measured else "value-set")
    labels = pl.Series("x", ["a", "b"])
    assert bind(column.with_(generalized=True), labels).structure.reads == "value-set"
