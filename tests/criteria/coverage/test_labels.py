"""What labels cover, against asking the poset about every value."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.generalized.coverage import Coverage
from sfumato.data.generalized.label_places import Labels, distinct_labels, has_labels
from sfumato.data.schema import Column, Kind
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Poset, PosetSource

TREE = Hierarchy(
    levels=[
        ["40", "old", "*"],
        ["20", "young", "*"],
        ["30", "young", "*"],
        ["10", "child", "*"],
    ]
)


def _by_value(found: Coverage, values: Sequence[Any], label: int) -> list[Any]:
    """The values that a label covers, in the order in which they were given."""
    ranks = set(found.of(label).tolist())
    return [v for v, rank in zip(values, found.ranks.tolist(), strict=True) if rank in ranks]


def _check(reader: Labels, values: pl.Series, labels: list[str]) -> None:
    found = reader.coverage(values, labels)
    assert sorted(found.ranks.tolist()) == list(range(1, len(values) + 1))
    for i, label in enumerate(labels):
        asked = [v for v in values.to_list() if reader.poset(label).leq(v, label)]
        assert _by_value(found, values.to_list(), i) == asked, label
        assert (0 in found.of(i).tolist()) == (label == "*"), "only a star covers missing values"


@given(
    st.sets(st.integers(0, 50), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(-5, 55), st.integers(0, 20)), max_size=6),
    st.sampled_from(["[{}, {}]", "({}, {}]", "[{}, {})", "({}, {})"]),
)
def test_intervals(values: set[int], spans: list[tuple[int, int]], form: str) -> None:
    t = table({"x": sorted(values)}, quasi=["x"])
    labels = [form.format(a, a + w + 2) for a, w in spans]
    _check(Labels(t, "x"), t["x"], ["*", "<=20", ">20", str(min(values)), *labels])
    real = table({"x": [v / 4 for v in sorted(values)]}, quasi=["x"])
    _check(Labels(real, "x"), real["x"], ["*", "<5", ">=5", *labels])


@given(st.sets(st.sampled_from([10, 20, 30, 40]), min_size=1))
def test_trees_whose_order_is_not_that_of_the_numbers(values: set[int]) -> None:
    t = table({"x": sorted(values)}, quasi=["x"], posets={"x": TREE})
    reader = Labels(t, "x")
    _check(reader, t["x"], ["young", "old", "child", "*", "20"])
    # Read by two posets, labels are no longer runs of one order.
    _check(reader, t["x"], ["young", "[15, 40]", "*"])


@given(st.sets(st.sampled_from("abcde"), min_size=2))
def test_sets_of_values(values: set[str]) -> None:
    t = table({"s": sorted(values)}, quasi=["s"])
    first, *_, last = sorted(values)
    # The third spelling is another tool's: only the poset can read it.
    _check(Labels(t, "s"), t["s"], [f"{{{first}, {last}}}", first, f"{last}, {first}", "*"])


def test_another_tables_values() -> None:
    t = table({"x": [20, 30]}, quasi=["x"], posets={"x": TREE})
    found = Labels(t, "x").coverage(pl.Series([10, 99, 30]), ["young", "*", "child"])
    assert [_by_value(found, [10, 99, 30], i) for i in range(3)] == [[30], [10, 99, 30], [10]]
    assert found.unknown == 1
    plain = Labels(table({"s": ["a", "b"]}, quasi=["s"]), "s")
    found = plain.coverage(pl.Series(["b", "z"]), ["{a, b}", "*"])
    assert [_by_value(found, ["b", "z"], i) for i in range(2)] == [["b"], ["b", "z"]]
    whole = Labels(table({"x": [1, 2]}, quasi=["x"]), "x")
    found = whole.coverage(pl.Series([0.5, 1.5]), ["[1, 2]"])
    assert _by_value(found, [0.5, 1.5], 0) == [1.5]


def test_numbers_beyond_the_precision_of_floats() -> None:
    big = 2**60
    t = table({"x": [big, big + 1, big + 2]}, quasi=["x"])
    found = Labels(t, "x").coverage(t["x"], [f"[{big}, {big + 1}]"])
    assert _by_value(found, t["x"].to_list(), 0) == [big, big + 1]


def test_dates_times_ordinals_and_booleans() -> None:
    day = dt.date(2020, 1, 30)
    t = table(
        {
            "d": [day, dt.date(2020, 2, 2)],
            "m": [dt.datetime(2020, 1, 30, 12), dt.datetime(2020, 2, 2, 6)],
            "g": ["low", "high"],
            "b": [True, False],
        },
        kinds={"g": "ordinal"},
        categories={"g": ["low", "mid", "high"]},
    )
    days = Labels(t, "d")
    assert days.coverage(t["d"], ["2020-01", "[2020-01-30, 2020-02-02]"]).high.tolist() == [1, 2]
    assert days.whole
    moments = Labels(t, "m")
    assert not moments.whole
    assert moments.positions.tolist() == [18291.5, 18294.25]
    assert moments.position(12 * 3_600_000_000) == 0.5
    grades = Labels(t, "g").coverage(Labels(t, "g").domain, ["{low, mid}", "high"])
    assert [grades.of(i).tolist() for i in range(2)] == [[1], [2]]
    flags = Labels(t, "b").coverage(Labels(t, "b").domain, ["true", "{false, true}"])
    assert [flags.of(i).tolist() for i in range(2)] == [[2], [1, 2]]


class _Parity(Poset):
    """Somebody else's poset: numbers, published as even or odd."""

    def leq(self, lower: Any, upper: Any) -> bool:
        return str(lower) == upper or upper == "*" or ("even", "odd")[int(lower) % 2] == upper

    def lub(self, values: Iterable[Any]) -> str:
        return "*"

    def height(self, value: Any) -> int:
        return 1

    def measure(self, value: Any) -> float:
        if value not in ("even", "odd", "*"):
            raise ValueError(f"{value} is not a parity")
        return 0.5

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        return np.arange(1, len(values) + 1)

    @property
    def positions(self) -> np.ndarray:
        return np.zeros(1)

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return []


class _ParitySource(PosetSource):
    name: ClassVar[str] = "parity"

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Poset:
        return _Parity()


def test_a_strangers_poset_is_asked_value_by_value() -> None:
    t = table({"x": [1, 2, 3]}, quasi=["x"], posets={"x": _ParitySource()})
    reader = Labels(t, "x")
    assert reader.measure("odd") == 0.5
    found = reader.coverage(t["x"], ["odd", "even", "*"])
    assert [found.of(i).tolist() for i in range(3)] == [[1, 3], [2], [0, 1, 2, 3]]


def test_a_label_that_nobody_knows_is_named() -> None:
    reader = Labels(table({"x": [1, 2]}, quasi=["x"]), "x")
    with pytest.raises(MeasureError, match="column 'x' was published with the label 'few'"):
        reader.measure("few")


def test_which_columns_hold_labels() -> None:
    age, kind = Column("age", Kind.INTEGER), Column("kind", Kind.NOMINAL)
    texts = pl.Series(["[1, 2]"])
    assert has_labels(age, age, texts), "numbers that became text"
    assert not has_labels(age, age, pl.Series([1]))
    assert not has_labels(kind, kind, texts)
    assert has_labels(kind, kind.with_(generalized=True), texts)
    labels, place = distinct_labels(pl.Series(["b", None, "a", "b"]))
    assert (labels, place.tolist()) == (["a", "b"], [1, -1, 0, 1])
