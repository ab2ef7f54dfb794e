"""Records as points and back: every kind, logarithms, labels, shares and probabilities."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import skew

import sfumato as sf
from sfumato.data.points.encoding import MOST_COORDINATES, Encoding
from sfumato.errors import MethodError
from sfumato.poset.trees.sources import Hierarchy
from tests.contract.tables import TABLES, ordinary

LEVELS = ["low", "middle", "high"]


def coded(table: sf.Table, **options: Any) -> Encoding:
    names = [c.name for c in table.schema if c.kind not in ("set", "text")]
    return Encoding.of(table, names, **options)


# Round trips


def gaps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


COLUMNS = {
    "real": gaps(st.floats(-1e300, 1e300)),
    "positive": gaps(st.floats(1e-300, 1e300)),
    "single": gaps(st.floats(-(2.0**100), 2.0**100, width=32)),
    "whole": gaps(st.integers(-(2**40), 2**40)),
    "count": gaps(st.integers(1, 10**6)),
    "bit": gaps(st.integers(0, 1)),
    "yes": gaps(st.booleans()),
    "word": gaps(st.sampled_from(["a", "b", "c, {d}", "*", ""])),
    "level": gaps(st.sampled_from(LEVELS)),
    "day": gaps(st.dates()),
    "second": gaps(
        st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)).map(
            lambda t: t.replace(microsecond=0)
        )
    ),
    "milli": gaps(
        st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)).map(
            lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
        )
    ),
    "label": gaps(st.sampled_from(["[1, 2]", "[3, 9]", "*", "{4, 5}"])),
}
TYPES = {
    "real": pl.Float64,
    "positive": pl.Float64,
    "single": pl.Float32,
    "whole": pl.Int64,
    "count": pl.Int32,
    "bit": pl.Int8,
    "yes": pl.Boolean,
    "word": pl.String,
    "level": pl.Enum(LEVELS),
    "day": pl.Date,
    "second": pl.Datetime("us"),
    "milli": pl.Datetime("ns"),
    "label": pl.String,
}


@st.composite
def tables(draw: st.DrawFn) -> sf.Table:
    n = draw(st.integers(0, 12))
    columns = {
        name: pl.Series(draw(st.lists(values, min_size=n, max_size=n)), dtype=TYPES[name])
        for name, values in COLUMNS.items()
    }
    made = sf.table(columns)
    return made.with_schema(made.schema.with_column(made.schema["label"].with_(generalized=True)))


@given(
    tables(),
    st.sampled_from(["auto", "positive", "never", ("positive",)]),
    st.sampled_from(["argmax", "shares"]),
)
def test_decoding_gives_back_what_was_encoded(table: sf.Table, log: Any, how: Any) -> None:
    code = coded(table, log=log)
    points = code.encode(table)
    assert points.shape == (table.height, code.width)
    assert np.isfinite(points).all()
    found = code.decode(points, table, categories=how)
    assert [one.name for one in found.series] == table.names
    for made, column in zip(found.series, found.columns, strict=True):
        before = table[made.name]
        assert column == table.schema[made.name]
        assert made.dtype == before.dtype
        assert made.is_null().to_list() == before.is_null().to_list()
        if not before.dtype.is_float():
            assert made.to_list() == before.to_list()
            continue
        x, y = (s.drop_nulls().cast(pl.Float64).to_numpy() for s in (before, made))
        close = 1e-12 if before.dtype == pl.Float64 else 1e-6
        slack = 1e3 * np.abs(x) if made.name in code.logged else np.abs(x).max(initial=0.0)
        assert (np.abs(x - y) <= close * slack).all()


@pytest.mark.parametrize("name", TABLES)
def test_awkward_tables_come_back(name: str) -> None:
    table = TABLES[name]()
    code = coded(table)
    for how in ("argmax", "shares"):
        found = code.decode(code.encode(table), table, categories=how)
        for made in found.series:
            before = table[made.name]
            if made.dtype.is_float():
                assert made.is_null().to_list() == before.is_null().to_list()
                assert np.allclose(made.drop_nulls(), before.drop_nulls(), rtol=1e-12)
            else:
                assert made.to_list() == before.to_list()


def test_time_zones_come_back() -> None:
    moments = pl.Series([dt.datetime(2024, 3, 31, 1, 30, 7), dt.datetime(1999, 1, 1, 12, 0, 1)])
    table = sf.table({"t": moments.dt.replace_time_zone("Europe/Rome", ambiguous="earliest")})
    code = coded(table)
    assert code.decode(code.encode(table), table).series[0].to_list() == table["t"].to_list()


# What the coordinates are


def naive(table: sf.Table, names: list[str], log: set[str]) -> np.ndarray:
    """The conventions written out one cell at a time."""
    rows: list[list[float]] = [[] for _ in range(table.height)]
    for name in names:
        column, values = table.schema[name], table[name].to_list()
        present = [v for v in values if v is not None]
        missing = len(present) < len(values)
        if column.kind == "ordinal":
            place = {v: column.categories.index(v) for v in set(present)}
        elif column.kind == "date":
            place = {v: v.toordinal() for v in set(present)}
        else:
            place = {v: v for v in set(present)}
        distinct = sorted(set(present), key=lambda v: place[v])
        if column.kind in ("nominal", "boolean") or len(distinct) == 2:
            kept = distinct[1:] if len(distinct) == 2 else distinct
            for level in kept:
                mean = 2 * sum(v == level for v in present) / len(present) - 1
                for row, v in zip(rows, values, strict=True):
                    row.append(mean if v is None else 1.0 if v == level else -1.0)
        else:
            numbers = [math.log(place[v]) if name in log else float(place[v]) for v in present]
            mean = sum(numbers) / len(numbers)
            spread = math.sqrt(sum((v - mean) ** 2 for v in numbers) / len(numbers))
            for row, v in zip(rows, values, strict=True):
                at = None if v is None else math.log(place[v]) if name in log else place[v]
                row.append(0.0 if at is None else (at - mean) / spread)
        if missing:
            for row, v in zip(rows, values, strict=True):
                row.append(1.0 if v is None else -1.0)
    return np.array(rows)


@pytest.mark.parametrize("missing", [False, True])
def test_points_are_those_of_the_conventions(missing: bool) -> None:
    table = ordinary(80, missing=missing)
    names = [name for name in table.names if name != "who"]
    code = Encoding.of(table, names, log=("pay", "age"))
    assert np.allclose(code.encode(table), naive(table, names, {"pay", "age"}))
    assert code.names == tuple(names)
    assert code.logged == ("age", "pay")
    widths = {"zip": 5, "illness": 3}
    expected = [
        j for j, n in enumerate(names) for _ in range(widths.get(n, 1) + (missing and True))
    ]
    assert code.owner.tolist() == expected
    assert len(code.coordinates) == code.width == len(expected)
    numeric = [code.coordinates[j] for j in np.flatnonzero(code.numeric)]
    assert numeric == ["log age", "born", "level", "log pay"]


def test_many_columns_are_written_where_they_belong() -> None:
    rng = np.random.default_rng(0)
    frame = {f"v{j}": rng.integers(0, 2 + j % 5, 5000) for j in range(40)}
    table = sf.table(frame, kinds={f"v{j}": "nominal" for j in range(0, 40, 3)})
    assert np.allclose(coded(table, log="never").encode(table), naive(table, table.names, set()))


@given(st.lists(st.floats(0.01, 1e6), min_size=3, max_size=30, unique=True))
def test_auto_takes_the_logarithm_where_it_is_less_skewed(values: list[float]) -> None:
    table = sf.table({"x": [*values, 0.5, 0.25]})
    x = table["x"].to_numpy()
    plain, logged = abs(skew(x)), abs(skew(np.log(x)))
    if abs(plain - logged) > 1e-9:
        assert (coded(table).logged == ("x",)) == (logged < plain)
    assert coded(table, log="positive").logged == ("x",)
    assert coded(table, log="never").logged == ()


def test_only_strictly_positive_numbers_have_logarithms() -> None:
    table = sf.table({"zero": [0, 1, 100], "bit": [1, 2, 1], "flat": [5, 5, 5], "up": [1, 3, 900]})
    assert coded(table, log="positive").logged == ("up",)
    with pytest.raises(MethodError, match=r"'zero' is not positive in row 1"):
        coded(table, log=("zero",))
    with pytest.raises(MethodError, match="'age' of `log` is not acted on"):
        coded(table, log=("age",))
    with pytest.raises(MethodError, match="nominal and has no logarithm"):
        coded(sf.table({"c": ["a", "b"]}), log=("c",))


def test_constant_and_empty_columns_lie_at_zero() -> None:
    table = sf.table(
        {
            "n": [0.1] * 3,
            "c": ["a"] * 3,
            "none": pl.Series([None] * 3, dtype=pl.Int64),
            "nothing": pl.Series([None] * 3, dtype=pl.String),
        }
    )
    code = coded(table)
    assert code.coordinates == ("n", "c", "none", "none missing", "nothing", "nothing missing")
    assert code.encode(table).tolist() == [[0.0, 0.0, 0.0, 1.0, 0.0, 1.0]] * 3


def test_the_table_is_not_changed() -> None:
    table = ordinary(30, missing=True)
    before = table.frame.clone()
    code = coded(table)
    x = code.encode(table)
    kept = x.copy()
    for how in ("argmax", "shares", "probabilities"):
        code.decode(x, table, categories=how)
    assert table.frame.equals(before)
    assert (x == kept).all()


# Very large and very small


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1e-160, 1e160, 1e300, 1.7e308])
def test_extreme_numbers_do_not_overflow(unit: float) -> None:
    table = sf.table({"x": [-unit, 0.0, unit, unit / 2]})
    code = coded(table)
    x = code.encode(table)
    assert np.isfinite(x).all()
    assert x.mean() == pytest.approx(0, abs=1e-12)
    assert x.std() == pytest.approx(1)
    back = code.decode(x, table).series[0].to_numpy()
    assert np.allclose(back / unit, [-1, 0, 1, 0.5])


# Other tables


def people(**columns: Any) -> sf.Table:
    made = {
        "age": [20, 30, 40, 70],
        "pay": [1.0, 10.0, 100.0, 1000.0],
        "sex": ["f", "m", "m", "m"],
        "blood": ["A", "B", "0", "A"],
        "ill": [0, 1, 0, 0],
        "well": [True, False, False, True],
        "level": ["low", "high", "middle", "low"],
        "day": [dt.date(2000, 1, d) for d in (1, 11, 21, 31)],
    }
    return sf.table(
        {**made, **columns},
        kinds={} if "level" in columns else {"level": "ordinal"},
        categories={} if "level" in columns else {"level": LEVELS},
    )


def placed(name: str, values: list[Any], *, generalized: bool, **options: Any) -> np.ndarray:
    """The coordinates of a column when a release holds these values."""
    original = people()
    code = Encoding.of(original, [name], log="positive")
    other = sf.table({name: values})
    column = other.schema[name].with_(generalized=generalized)
    return code.encode(other.with_schema(other.schema.with_column(column)), **options)


def age_at(value: float) -> float:
    ages = np.log([20, 30, 40, 70])
    return float((math.log(value) - ages.mean()) / ages.std())


@pytest.mark.parametrize("generalized", [True, False])
def test_labels_lie_where_a_reader_expects_them(generalized: bool) -> None:
    def at(name: str, values: list[str]) -> list[list[float]]:
        return placed(name, values, generalized=generalized).tolist()

    labels = ["[20, 40]", "20-40", "{20, 70}", ">=40", "*", "20", "nonsense"]
    expected = [age_at(v) for v in (30, 30, 45, 55)] + [0.0, age_at(20), 0.0]
    assert np.allclose(at("age", labels), np.array(expected)[:, None])
    found = at("day", ["[2000-01-01, 2000-01-31]", "2000-01-21", "*"])
    assert np.allclose(found[0], 0)
    assert found[1][0] == pytest.approx(5 / math.sqrt(125))
    assert found[2] == [0.0]
    assert at("sex", ["f", "{f, m}", "*", "other"]) == [[-1.0], [0.0], [0.5], [0.0]]
    assert at("blood", ["A", "{0, B}", "*", "AB"]) == [
        [-1.0, 1.0, -1.0],
        [0.0, -1.0, 0.0],
        [-0.5, 0.0, -0.5],
        [-1.0, -1.0, -1.0],
    ]
    assert at("ill", ["0", "[0, 1]", "*"]) == [[-1.0], [0.0], [-0.5]]
    assert np.allclose(at("well", ["true", "False", "1", "*"]), [[1.0], [-1.0], [1.0], [0.0]])
    level = np.array([0, 2, 1, 0])
    expected = (np.array([0, 1, 1.0]) - level.mean()) / level.std()
    assert np.allclose(at("level", ["low", "middle", "{low, high}"]), expected[:, None])


def test_nodes_of_a_hierarchy_lie_at_the_mean_of_their_leaves() -> None:
    poset = Hierarchy(
        levels=[["A", "A+", "any", "*"], ["B", "other", "any", "*"], ["0", "other", "any", "*"]]
    )
    original = sf.table({"blood": ["A", "B", "0", "A"]}, posets={"blood": poset})
    code = coded(original)
    other = sf.table({"blood": ["other", "A+", "any", "*"]})
    found = code.encode(other)
    assert found[0].tolist() == [0.0, -1.0, 0.0]
    assert found[1].tolist() == [-1.0, 1.0, -1.0]
    assert np.allclose(found[2], -1 / 3)
    assert found[3].tolist() == [-0.5, 0.0, -0.5]
    years = Hierarchy(levels=[["20", "young", "*"], ["30", "young", "*"], ["70", "old", "*"]])
    original = sf.table({"age": [20, 30, 70]}, posets={"age": years})
    code = coded(original, log="never")
    found = code.encode(sf.table({"age": ["young", "old", "[20, 70]", "*"]}))
    assert np.allclose(found[:, 0], (np.array([25, 70, 45, 40]) - 40) / np.std([20, 30, 70]))


def test_suppressed_cells_lie_at_the_mean_and_missing_ones_do_not_hide() -> None:
    original = sf.table({"age": [20, 30, 40, None], "sex": ["f", "m", "m", None]})
    code = coded(original)
    masked = original.with_columns(
        [pl.Series("age", [None, 30, 40, None]), pl.Series("sex", [None, "m", "m", None])],
        [],
        {name: np.array([True, False, False, False]) for name in ("age", "sex")},
    )
    found = code.encode(masked)
    assert np.allclose(found[0], [0.0, -0.5, 1 / 3, -0.5])
    assert np.allclose(found[3], [0.0, 1.0, 1 / 3, 1.0])
    # Where the original itself has suppressed cells they are missing to it.
    again = coded(masked)
    assert again.encode(masked)[0].tolist()[1] == 1.0
    back = again.decode(again.encode(masked), masked)
    assert [one.to_list() for one in back.series] == [
        masked["age"].to_list(),
        masked["sex"].to_list(),
    ]


def test_numbers_lie_between_two_values() -> None:
    found = placed("ill", [0.25, 0.0, 1.4, -3.0], generalized=False)
    assert found[:, 0].tolist() == [-0.5, -1.0, 1.0, -1.0]
    sharp = placed("ill", [0.25, 0.5, 0.6, None], generalized=False, thresholded=True)
    assert sharp[:, 0].tolist() == [-1.0, -1.0, 1.0, -0.5]
    assert placed("well", [0.75, 0.0], generalized=False)[:, 0].tolist() == [0.5, -1.0]


def test_values_that_have_no_logarithm_lie_at_the_lowest() -> None:
    found = placed("pay", [-5.0, 0.0, 1.0], generalized=False)
    assert len(set(found[:, 0].tolist())) == 1


@given(st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_own_moments_are_not_fooled_by_an_offset(offset: float, factor: float) -> None:
    table = people()
    code = coded(table, log="never")
    moved = table.with_columns([(table["age"] * factor + offset).alias("age")])
    same = code.encode(table)
    assert np.allclose(code.encode(moved, moments="own"), same, atol=1e-6)
    if abs(offset) > 1:
        assert not np.allclose(code.encode(moved), same, atol=1e-6) or factor != 1


def test_other_tables_must_have_the_columns() -> None:
    code = coded(people())
    with pytest.raises(MethodError, match="no column 'age'"):
        code.encode(people().without(["age"]))
    with pytest.raises(MethodError, match="'day' is integer, and date in the original"):
        code.encode(people(day=[1, 2, 3, 4]))


# What cannot be


def test_too_many_categories_and_other_kinds_are_refused() -> None:
    many = sf.table({"c": [f"v{j}" for j in range(MOST_COORDINATES + 1)]})
    with pytest.raises(MethodError, match="'c' has 2,001 categories"):
        coded(many)
    with pytest.raises(MethodError, match="'s' is set"):
        Encoding.of(sf.table({"s": [["a"], ["b"]]}), ["s"])
    with pytest.raises(MethodError, match="'w' is text"):
        Encoding.of(sf.table({"w": ["a b", "c"]}, kinds={"w": "text"}), ["w"])


def test_it_names_columns_with_one_persons_category() -> None:
    table = sf.table({"c": ["a", "a", "b"], "d": ["x", "x", "x"], "e": [1, 1, 0], "f": ["u"] * 3})
    assert coded(table).telling == ("c", "e")


@pytest.mark.golden
def test_the_thesis_encoding_of_nhanes(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """15 binary columns and 13 positive ones, each a coordinate; labs standardized logarithms."""
    table = sf.read(shared_data("nhanes") / "nhanes_2000x28.csv")
    code = coded(table, log="positive")
    x = code.encode(table)
    golden_record("NHANES coordinates (Lasko 4.2.1: 15 binary, 13 labs)", 28, code.width)
    golden_record("NHANES logarithms", 13, len(code.logged))
    assert (code.width, len(code.logged), int(code.numeric.sum())) == (28, 13, 13)
    assert set(np.unique(x[:, ~code.numeric])) == {-1.0, 1.0}
    raw = np.log(table.frame.select(code.logged).to_numpy().astype(float))
    assert np.allclose(x[:, code.numeric], (raw - raw.mean(axis=0)) / raw.std(axis=0))
