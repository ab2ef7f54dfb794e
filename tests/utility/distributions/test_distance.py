"""Distances between distributions, of values and of labels read as an analyst would."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Context, Measurement
from sfumato.utility.distributions.distance import (
    DistributionDistance,
    Spread,
    kolmogorov_smirnov,
    wasserstein,
)
from tests.oracle import utility as oracle

values = st.lists(st.integers(-8, 8), min_size=1, max_size=15)
# Whole intervals and the numbers that they hold.
intervals = st.lists(
    st.tuples(st.integers(-8, 8), st.integers(1, 6)).map(lambda p: (p[0], p[0] + p[1])),
    min_size=0,
    max_size=6,
)


def _take(original: Table, masked: Table, **parameters: object) -> Measurement:
    pair = Pair(original, masked, None)
    return DistributionDistance(**parameters).measure(Context(pair, np.random.default_rng(0)))


def _labelled(like: Table, labels: list[str | None], name: str) -> Table:
    frame = like.frame.with_columns(pl.Series(name, labels, dtype=pl.String))
    return Table(frame, Schema(c.with_(generalized=c.name == name) for c in like.schema))


@given(values, values)
def test_samples_are_compared_value_by_value(x: list[int], y: list[int]) -> None:
    a, b = np.array(x, dtype=float), np.array(y, dtype=float)
    found = Spread.of(b)
    assert kolmogorov_smirnov(a, found) == pytest.approx(oracle.ks(x, y))
    assert wasserstein(a, found) == pytest.approx(oracle.wasserstein(x, y))
    assert wasserstein(a, found) == pytest.approx(stats.wasserstein_distance(a, b))


@given(values, values, intervals)
def test_whole_intervals_are_the_numbers_they_hold(
    x: list[int], points: list[int], spans: list[tuple[int, int]]
) -> None:
    # Every interval carries the weight of one record: expand it to its numbers, weighted evenly.
    total = len(points) + len(spans)
    spread = Spread(
        np.array(points, dtype=float), np.full(len(points), 1 / total),
        np.array([a for a, _ in spans], dtype=float), np.array([b for _, b in spans], dtype=float),
        np.full(len(spans), 1 / total), whole=True,
    )  # fmt: skip
    numbers = [float(p) for p in points] + [float(v) for a, b in spans for v in range(a, b + 1)]
    weights = [1.0] * len(points) + [1 / (b - a + 1) for a, b in spans for _ in range(a, b + 1)]
    grid = np.arange(-20, 25)
    upto = (
        np.array([sum(w for v, w in zip(numbers, weights, strict=True) if v <= g) for g in grid])
        / total
    )
    mine = np.array([np.mean(np.array(x) <= g) for g in grid])
    a = np.array(x, dtype=float)
    assert kolmogorov_smirnov(a, spread) == pytest.approx(np.abs(mine - upto).max())
    expected = stats.wasserstein_distance(a, numbers, None, weights)
    assert wasserstein(a, spread) == pytest.approx(expected)


@given(values, values, intervals)
def test_other_intervals_are_spread_evenly(
    x: list[int], points: list[int], spans: list[tuple[int, int]]
) -> None:
    total = len(points) + len(spans)
    spread = Spread(
        np.array(points, dtype=float), np.full(len(points), 1 / total),
        np.array([a for a, _ in spans], dtype=float), np.array([b for _, b in spans], dtype=float),
        np.full(len(spans), 1 / total),
    )  # fmt: skip
    # The same by brute force: a fine grid, on which both functions are evaluated from both sides.
    step = 1 / 64
    grid = np.arange(-10, 16, step)

    def other(at: np.ndarray, strict: bool) -> np.ndarray:
        jumps = sum((p < at) if strict else (p <= at) for p in points)
        return (jumps + sum(np.clip((at - a) / (b - a), 0, 1) for a, b in spans)) / total

    def mine(at: np.ndarray, strict: bool) -> np.ndarray:
        return sum((v < at) if strict else (v <= at) for v in x) / len(x)

    apart = [np.abs(mine(grid, s) - other(grid, s)).max() for s in (False, True)]
    a = np.array(x, dtype=float)
    assert kolmogorov_smirnov(a, spread) == pytest.approx(max(apart))
    middle = grid + step / 2
    area = np.abs(mine(middle, False) - other(middle, False)).sum() * step
    assert wasserstein(a, spread) == pytest.approx(area, abs=2 * step)


def test_the_measure_by_hand() -> None:
    t = table({"x": [1, 2, 3, 4], "s": ["a", "a", "b", None]}, quasi=["x", "s"])
    masked = table({"x": [1.5, 1.5, 3.5, 3.5], "s": ["a", "b", "b", "b"]}, quasi=["x", "s"])
    found = _take(t, masked)
    x, s = found.detail["by_column"]["x"], found.detail["by_column"]["s"]
    assert x["distance"] == pytest.approx(0.25)
    assert x["wasserstein_sd"] == pytest.approx(0.5 / np.std([1, 2, 3, 4]))
    # Shares 2/3, 1/3 among those known against 1/4, 3/4.
    assert s["distance"] == pytest.approx(2 / 3 - 1 / 4)
    assert s["missing_original"] == 1
    assert found.value == pytest.approx((0.25 + 2 / 3 - 1 / 4) / 2)


def test_labels_of_numbers_are_spread_evenly() -> None:
    t = table({"age": [20, 21, 22, 23, 24, 29]}, quasi=["age"])
    found = _take(t, _labelled(t, ["[20, 24]"] * 5 + ["29"], "age"))
    # Evenly over 20..24 is exactly what they are.
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.detail["by_column"]["age"]["read_from_labels"]
    wide = _take(t, _labelled(t, ["[20, 29]"] * 6, "age"))
    # At 24 five of six originals have come, and half of the even spread.
    assert wide.value == pytest.approx(5 / 6 - 1 / 2)
    # An open end is closed by the original's range: the same as [20, 29].
    assert _take(t, _labelled(t, ["<=29"] * 6, "age")).value == pytest.approx(5 / 6 - 1 / 2)
    real = table({"x": [0.0, 1.0]}, quasi=["x"])
    # Just below 1 half of the originals have come and all of the even spread.
    assert _take(real, _labelled(real, ["[0, 1]"] * 2, "x")).value == pytest.approx(0.5)
    beyond = _take(t, _labelled(t, [">=40"] * 6, "age"))
    assert beyond.value == pytest.approx(1.0)


def test_labels_of_dates_are_spread_over_days() -> None:
    days = [dt.date(2020, 1, day) for day in (1, 2, 3, 4)]
    t = table({"d": days}, quasi=["d"])
    found = _take(t, _labelled(t, ["[2020-01-01, 2020-01-04]"] * 4, "d"))
    assert found.value == pytest.approx(0.0, abs=1e-12)
    moments = table({"d": [dt.datetime(2020, 1, 1, 6), dt.datetime(2020, 1, 2, 6)]}, quasi=["d"])
    halves = _labelled(moments, ["[2020-01-01T06:00:00, 2020-01-02T06:00:00]"] * 2, "d")
    assert _take(moments, halves).value == pytest.approx(0.5)


def test_labels_of_a_hierarchy_and_of_sets_are_spread_over_values() -> None:
    tree = Hierarchy(
        levels=[["Ulm", "D", "*"], ["Bonn", "D", "*"], ["Köln", "D", "*"], ["Nice", "F", "*"]]
    )
    t = table({"city": ["Ulm", "Ulm", "Bonn", "Nice"]}, quasi=["city"], posets={"city": tree})
    # D covers two cities of the original (Köln is not among them): 3/8 each against 1/2 and 1/4.
    found = _take(t, _labelled(t, ["D", "D", "D", "F"], "city"))
    assert found.value == pytest.approx(1 / 8)
    sets = _take(t, _labelled(t, ["{Ulm, Nice}", "{Ulm, Nice}", "Bonn", "Bonn"], "city"))
    assert sets.value == pytest.approx(1 / 4)
    # A label over none of the original's values is mass where the original has none.
    elsewhere = _take(t, _labelled(t, ["Köln", "Köln", "Bonn", "Nice"], "city"))
    assert elsewhere.value == pytest.approx(1 / 2)
    ages = Hierarchy(levels=[["20", "young", "*"], ["21", "young", "*"], ["60", "old", "*"]])
    n = table({"age": [20, 20, 21, 60]}, quasi=["age"], posets={"age": ages})
    # Young is 20 or 21 alike: at 20 there are 3/8, where there were 1/2.
    assert _take(n, _labelled(n, ["young", "young", "young", "old"], "age")).value == pytest.approx(
        1 / 8
    )


def test_suppressed_and_missing_cells_are_left_out_and_counted() -> None:
    t = table({"s": ["a", "b", None, "a"], "x": [1, 2, 3, None]}, quasi=["s", "x"])
    found = _take(t, _labelled(t, ["a", "b", "*", None], "s"))
    assert found.detail["by_column"]["s"] == {
        "distance": pytest.approx(2 / 3 - 1 / 2), "by": "total variation", "read_from_labels": True,
        "missing_original": 1, "missing_or_suppressed_masked": 2,
    }  # fmt: skip
    nothing = _take(t, _labelled(t, ["*"] * 4, "s"))
    assert nothing.detail["by_column"]["s"]["distance"] == 1.0
    nothing = _take(t, _labelled(t, ["*"] * 4, "x"))
    assert nothing.detail["by_column"]["x"]["distance"] == 1.0
    gone = t.with_columns([pl.Series("x", [None] * 4, dtype=pl.Int64)])
    assert _take(t, gone).detail["by_column"]["x"]["distance"] == 1.0


@given(st.lists(st.sampled_from("abc"), min_size=1), st.lists(st.sampled_from("abcd"), min_size=1))
def test_categories_differ_by_their_total_variation(x: list[str], y: list[str]) -> None:
    found = _take(table({"s": x}, quasi=["s"]), table({"s": y}, quasi=["s"]))
    assert found.value == pytest.approx(oracle.total_variation(oracle.shares(x), oracle.shares(y)))


def test_which_columns_are_compared() -> None:
    t = table(
        {
            "id": [1, 2],
            "b": [True, False],
            "codes": [["a"], ["b"]],
            "w": [1.0, 2.0],
            "none": [None, None],
            "x": [1, 2],
        },
        identifier=["id"],
        weight=["w"],
        kinds={"none": "nominal"},
    )
    found = _take(t, t.without(["x"]))
    assert list(found.detail["by_column"]) == ["b"]
    assert found.detail["left_out"] == {
        "codes": "is set-valued",
        "x": "is not in the masked table",
        "none": "has no values in the original",
    }
    assert found.value == 0.0
    with pytest.raises(MeasureError, match="is set-valued"):
        _take(t, t, columns=("codes",))
    with pytest.raises(MeasureError, match="not in the masked"):
        _take(t, t.without(["x"]), columns=("x",))
    with pytest.raises(MeasureError, match="no column to compare"):
        _take(t, table({"z": [1]}))
    with pytest.raises(MeasureError, match="no records"):
        _take(t, t.take(np.array([], dtype=int)))
    endless = table({"x": [1.0, float("inf")]})
    with pytest.raises(MeasureError, match="infinite"):
        _take(endless, endless)
