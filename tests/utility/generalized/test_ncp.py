"""The normalized certainty penalty of labels of every kind."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Context, Measurement
from sfumato.utility.generalized.ncp import Ncp

TREE = Hierarchy(
    levels=[
        ["Ulm", "Swabia", "D", "*"],
        ["Bonn", "Rhineland", "D", "*"],
        ["Köln", "Rhineland", "D", "*"],
        ["Nice", "Riviera", "F", "*"],
        ["Lyon", "Rhône", "F", "*"],
    ]
)
# Label and its penalty: age in [20, 40], tree of five leaves, three kinds. Missing is one more
# value of each: of ages it is as wide as the four known ones lie apart on average.
APART = 20 / 3
WIDE = 20 + APART
AGES = [
    ("[20, 30]", 10 / WIDE), ("25", 0.0), ("*", 1.0), ("[35, 40]", 5 / WIDE), (">=30", 10 / WIDE),
    ("[20, 30] or missing", (10 + APART) / WIDE), ("25 or missing", APART / WIDE), (None, 0.0),
    ("[20, 40] or missing", 1.0),
]  # fmt: skip
CITIES = [
    ("D", 2 / 5), ("Rhineland", 1 / 5), ("Ulm", 0.0), ("*", 1.0), ("F", 1 / 5), (None, 0.0),
    ("D or missing", 3 / 5), ("Ulm or missing", 1 / 5),
]  # fmt: skip
KINDS = [
    ("{a, b}", 1 / 3), ("{a, b, c}", 1.0), ("c", 0.0), ("*", 1.0), (None, 0.0),
    ("{a, b} or missing", 2 / 3), ("c or missing", 1 / 3),
]  # fmt: skip
NAMES = ["age", "city", "kind"]


def _original(n: int = 5) -> Table:
    frame = {
        "age": [20, 25, 30, 40, None],
        "city": ["Ulm", "Bonn", "Nice", "Lyon", None],
        "kind": ["a", "b", "c", "a", None],
    }
    t = table(frame, quasi=NAMES, posets={"city": TREE})
    return t.take(np.arange(n) % 5)


def _labels(rows: list[tuple[str | None, ...]], like: Table) -> Table:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(like.names, pl.String), orient="row")
    return Table(frame, Schema(c.with_(generalized=True) for c in like.schema))


def _take(original: Table, masked: Table, rows: object = None) -> Measurement:
    place = None if rows is None else np.asarray(rows, dtype=np.int64)
    return Ncp().measure(Context(Pair(original, masked, place), np.random.default_rng(0)))


@given(
    st.lists(
        st.tuples(st.sampled_from(AGES), st.sampled_from(CITIES), st.sampled_from(KINDS)),
        min_size=5, max_size=15,
    ),
    st.integers(0, 3),
)  # fmt: skip
def test_the_penalty_is_the_mean_over_the_cells(rows: object, dropped: int) -> None:
    # Missing labels mask missing values here: every masked record comes from the fifth, all
    # missing.
    original = _original(len(rows) + dropped)
    masked = _labels([tuple(label for label, _ in row) for row in rows], original)
    found = _take(original, masked, [4] * len(rows))
    cells = [cost for row in rows for _, cost in row] + [1.0] * (3 * dropped)
    assert found.value == pytest.approx(sum(cells) / len(cells))
    assert found.detail.get("dropped_records", 0) == dropped
    assert found.per_record.tolist() == pytest.approx([sum(c for _, c in row) / 3 for row in rows])
    columns = found.detail["by_column"]
    assert columns["city"] == pytest.approx(
        (sum(row[1][1] for row in rows) + dropped) / (len(rows) + dropped)
    )
    assert found.detail["suppressed_cells"] == sum(label == "*" for row in rows for label, _ in row)


def test_an_empty_cell_is_suppressed_if_it_had_a_value() -> None:
    original = _original()
    masked = _labels([(None, None, None)] * 5, original)
    # Four of five records had values.
    aligned = _take(original, masked, np.arange(5))
    assert aligned.value == pytest.approx(0.8)
    assert aligned.detail["suppressed_cells"] == 12
    # Without alignment their number still tells.
    unaligned = _take(original, masked)
    assert unaligned.value == pytest.approx(0.8)
    # With records dropped nothing tells, and that is said.
    fewer = _take(original, masked.take(np.arange(3)))
    assert fewer.value == pytest.approx(2 / 5)
    assert fewer.detail["empty_cells_taken_for_missing"] == 9


def test_values_cost_nothing_and_are_named() -> None:
    original = table({"x": [1.0, 2.0], "s": ["a", "b"], "y": [1, 2]}, quasi=["x", "s", "y"])
    masked = original.with_columns(
        [pl.Series("x", [1.5, 1.5]), pl.Series("s", ["b", "a"]), pl.Series("y", [1, None])],
        suppressed={"y": np.array([False, True])},
    )
    found = _take(original, masked, [0, 1])
    assert found.detail["published_as_values"] == ["x", "s", "y"]
    assert found.detail["by_column"] == {"x": 0.0, "s": 0.0, "y": 0.5}
    lost = _take(original, masked.without(["x"]), [0, 1])
    assert lost.detail["dropped_columns"] == ["x"]
    assert lost.value == pytest.approx((1 + 0 + 0.5) / 3)


def test_a_label_is_read_in_whatever_way_makes_sense() -> None:
    original = _original(4)
    masked = _labels(
        [
            ("{20, 25}", "{Ulm, Nice}", "a"),
            ("[20, 25]", "D", "b"),
            ("30", "Nice", "c"),
            ("40", "Lyon", "a"),
        ],
        original,
    )
    found = _take(original, masked, np.arange(4))
    # {20, 25}: one of three steps; {Ulm, Nice}: one of three steps among the original's four
    # cities.
    assert found.detail["by_column"]["age"] == pytest.approx((1 / 3 + 0.25) / 4)
    assert found.detail["by_column"]["city"] == pytest.approx((1 / 3 + 0.5) / 4)
    assert found.detail["read_by"]["city"] == ["hierarchy", "value-set"]
    assert found.detail["read_by"]["age"] == ["interval", "value-set"]


def test_dates_are_measured_in_days() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 11)]
    original = table({"d": days}, quasi=["d"])
    found = _take(
        original, _labels([("[2020-01-01, 2020-01-06]",), ("2020-01-11",)], original), [0, 1]
    )
    assert found.value == pytest.approx(0.25)


def test_values_that_look_like_labels_are_values() -> None:
    original = table({"s": ["*", "{a, b}", "a", "b", "[1, 2]"]}, quasi=["s"])
    found = _take(original, original, np.arange(5))
    assert found.value == 0.0
    assert found.detail["suppressed_cells"] == 0
    # In a column of labels they are what they look like.
    labels = _labels([("*",), ("{a, b}",), ("a",), ("b",), ("b",)], original)
    assert _take(original, labels, np.arange(5)).value == pytest.approx((1 + 1 / 4) / 5)


def test_what_cannot_be_read_is_named() -> None:
    original = _original(4)
    masked = _labels([("young", "D", "a")] * 4, original)
    with pytest.raises(MeasureError, match="'age' was published with the label 'young'"):
        _take(original, masked)
    with pytest.raises(MeasureError, match="none"):
        _take(table({"x": [1]}), table({"x": [1]}))
    with pytest.raises(MeasureError, match="no records"):
        _take(original, masked.take(np.array([], dtype=int)))


def test_adult_at_one_level_of_its_hierarchies(shared_data: Callable[[str], Path]) -> None:
    """Every value at level 1: the penalty follows from counting rows of the hierarchy files."""
    folder = shared_data("adult")
    frame = pl.read_csv(folder / "adult.csv", separator=";").head(4000)
    names = ["age", "education", "marital-status", "native-country", "occupation", "workclass"]
    posets, expected, published = {}, [], {}
    for name in names:
        path = folder / f"adult_hierarchy_{name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter=";") if row]
        posets[name] = Hierarchy(path=str(path))
        above = {row[0]: row[1] for row in rows}
        below = {label: sum(row[1] == label for row in rows) for label in above.values()}
        published[name] = [above[str(value)] for value in frame[name].to_list()]
        cells = [(below[label] - 1) / (len(rows) - 1) for label in published[name]]
        expected.append(sum(cells) / len(cells))
    original = table(frame.select(names), quasi=names, posets=posets)
    masked = _labels(list(zip(*published.values(), strict=True)), original)
    assert _take(original, masked, np.arange(4000)).value == pytest.approx(np.mean(expected))
