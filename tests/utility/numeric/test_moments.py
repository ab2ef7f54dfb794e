"""SSE, means, variances and correlations against the standard library."""

from __future__ import annotations

import datetime as dt
import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measure, Measurement
from sfumato.utility.numeric.moments import (
    CorrelationDifference,
    MeanDifference,
    Sse,
    VarianceDifference,
    correlation,
)
from tests.oracle import utility as oracle

ALL = (Sse, MeanDifference, VarianceDifference, CorrelationDifference)
SCHEMA = {"x": pl.Float64, "y": pl.Int64}
cell = st.one_of(st.none(), st.integers(-20, 20))
record = st.tuples(cell.map(lambda v: None if v is None else v / 4), cell)
files = st.lists(st.tuples(record, record), min_size=2, max_size=20)


def _table(rows: list[tuple[object, ...]]) -> Table:
    return table(pl.DataFrame(rows, schema=SCHEMA, orient="row"), quasi=["x", "y"])


def _take(measure: Measure, original: Table, masked: Table, rows: object = "same") -> Measurement:
    place = np.arange(original.height) if isinstance(rows, str) else rows
    given = None if place is None else np.asarray(place, dtype=np.int64)
    return measure.measure(Context(Pair(original, masked, given), np.random.default_rng(0)))


def _columns(rows: list[tuple[object, ...]]) -> list[list[float | None]]:
    return [[row[0] for row in rows], [row[1] for row in rows]]


@given(files, st.randoms(use_true_random=False))
def test_sse_is_that_of_the_oracle(rows: object, shuffle: object) -> None:
    original = [a for a, _ in rows]
    released = [i for i in range(len(rows)) if shuffle.random() < 0.8]
    assume(released)
    assume(any(len(set(oracle.present(x))) > 1 for x in _columns(original)))
    shuffle.shuffle(released)
    masked = [rows[i][1] for i in released]
    found = _take(Sse(), _table(original), _table(masked), released)
    assert found.value == pytest.approx(oracle.sse(_columns(original), _columns(masked), released))
    assert found.detail.get("dropped_records", 0) == len(rows) - len(released)
    assert found.per_record is not None
    assert found.per_record.shape == (len(rows),)


def test_sse_by_hand() -> None:
    t = table({"x": [1.0, 2.0, 5.0, 6.0], "flat": [3.0] * 4}, quasi=["x", "flat"])
    masked = table({"x": [1.5, 1.5, 5.5, 5.5], "flat": [3.0] * 4}, quasi=["x", "flat"])
    found = _take(Sse(), t, masked)
    # SSE is 4 * 0.25 = 1, SST 6.25 + 2.25 + 2.25 + 6.25 = 17.
    assert found.value == pytest.approx(100 / 17)
    assert found.detail["without_variance"] == ["flat"]
    everything = table({"x": [3.5] * 4, "flat": [3.0] * 4}, quasi=["x", "flat"])
    assert _take(Sse(), t, everything).value == pytest.approx(100.0) == found.baseline
    nothing = t.with_columns(
        [pl.Series("x", [None] * 4, dtype=pl.Float64)], suppressed={"x": np.ones(4, dtype=bool)}
    )
    hidden = _take(Sse(), t, nothing)
    assert hidden.value == pytest.approx(100.0), "what is suppressed costs as much as its mean"
    assert hidden.detail["suppressed_cells"] == 4


def test_sse_looks_at_ordered_quasi_identifiers_first() -> None:
    frame = {"q": [1, 2, 3], "c": [1.0, 5.0, 9.0], "s": ["a", "b", "c"]}
    t = table(frame, quasi=["q", "s"], confidential=["c"])
    assert list(_take(Sse(), t, t).detail["by_column"]) == ["q"]
    assert list(_take(Sse(columns=("c",)), t, t).detail["by_column"]) == ["c"]
    only = table(frame, quasi=["s"], confidential=["c"])
    assert list(_take(Sse(), only, only).detail["by_column"]) == ["q", "c"]


def test_ordinals_and_dates_are_numbers_on_the_originals_scale() -> None:
    grades = {"kinds": {"g": "ordinal"}, "quasi": ["g", "d"]}
    day = dt.date(2020, 1, 1)
    days = [day, day + dt.timedelta(2), day + dt.timedelta(4)]
    t = table(
        {"g": ["lo", "mid", "hi"], "d": days}, categories={"g": ["lo", "mid", "hi"]}, **grades
    )
    fewer = table({"g": ["lo", "mid", "mid"], "d": days}, categories={"g": ["lo", "mid"]}, **grades)
    # Only the third grade moved, by one step; SST of the grades is 2, and of both columns 2 * 3 in
    # z-scores.
    assert _take(Sse(), t, fewer).value == pytest.approx(100 * (1 / (2 / 3)) / 6)


@given(files)
def test_means_and_variances_are_those_of_the_oracle(rows: object) -> None:
    original, masked = [a for a, _ in rows], [b for _, b in rows]
    means, variances = [], []
    for x, y in zip(_columns(original), _columns(masked), strict=True):
        before, after = oracle.present(x), oracle.present(y)
        if len(set(before)) < 2:
            continue
        if after:
            apart = abs(statistics.fmean(after) - statistics.fmean(before))
            means.append(apart / statistics.stdev(before))
        if len(after) > 1:
            was = statistics.variance(before)
            variances.append(abs(statistics.variance(after) - was) / was)
    for measure, expected in ((MeanDifference(), means), (VarianceDifference(), variances)):
        if not expected:
            with pytest.raises(MeasureError, match="nothing to compare"):
                _take(measure, _table(original), _table(masked), None)
            continue
        found = _take(measure, _table(original), _table(masked), None)
        assert found.value == pytest.approx(statistics.fmean(expected))
        named = {*found.detail["by_column"], *found.detail.get("left_out", ())}
        assert named == {"x", "y"}, "every column is compared or named"


@given(files)
def test_correlations_are_those_of_the_oracle(rows: object) -> None:
    original, masked = [a for a, _ in rows], [b for _, b in rows]
    before, after = oracle.correlation(*_columns(original)), oracle.correlation(*_columns(masked))
    if before is None:
        with pytest.raises(MeasureError, match="no two columns"):
            _take(CorrelationDifference(), _table(original), _table(masked), None)
        return
    found = _take(CorrelationDifference(), _table(original), _table(masked), None)
    assert found.value == pytest.approx(abs((after or 0.0) - before), abs=1e-9)
    assert ("pairs_that_lost_it" in found.detail) == (after is None)
    assert found.private["original"][0][1] == pytest.approx(before, abs=1e-9)


def test_correlations_of_large_numbers_do_not_cancel() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3)) + 1e9
    np.testing.assert_allclose(correlation(x), np.corrcoef(x, rowvar=False), atol=1e-6)
    with_gaps = np.where(rng.random(x.shape) < 0.1, np.nan, x)
    both = ~np.isnan(with_gaps[:, 0]) & ~np.isnan(with_gaps[:, 1])
    expected = np.corrcoef(with_gaps[both, 0], with_gaps[both, 1])[0, 1]
    assert correlation(with_gaps)[0, 1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("measure", ALL)
def test_what_was_left_out_is_named(measure: type[Measure]) -> None:
    frame = {"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, 2.0], "z": [1.0, 5.0, 2.0], "id": [1, 2, 3]}
    t = table(frame, quasi=["x", "y", "z"], identifier=["id"])
    columns = [c.with_(generalized=c.name == "z") for c in t.schema]
    labels = Table(t.frame.with_columns(z=pl.lit("*")), Schema(columns)).without(["id"])
    found = _take(measure(), t, labels)
    assert found.detail["left_out"] == {"z": "holds labels in the masked table"}
    assert found.detail["columns"] == ["x", "y"], "an identifier has no statistics of its own"
    with pytest.raises(MeasureError, match="'z': it holds labels"):
        _take(measure(columns=("x", "z")), t, labels)


@pytest.mark.parametrize("measure", ALL)
def test_what_cannot_be_measured_says_why(measure: type[Measure]) -> None:
    words = table({"s": ["a", "b"], "t": ["a", "b"]}, quasi=["s", "t"])
    with pytest.raises(MeasureError, match="found no column with numbers"):
        _take(measure(), words, words)
    t = _table([(1.0, 1), (2.0, 2)])
    with pytest.raises(MeasureError, match="masked table has no records"):
        _take(measure(), t, t.take(np.array([], dtype=int)), [])
    flat = _table([(1.0, 1), (1.0, 1)])
    with pytest.raises(MeasureError, match=r"vary|varies"):
        _take(measure(), flat, flat)
    endless = _table([(1.0, 1), (float("inf"), 2)])
    with pytest.raises(MeasureError, match="'x': it is infinite in row 2"):
        _take(measure(columns=("x", "y")), endless, endless)
    huge = table({"x": [2**60, 1], "y": [2**60, 2]})
    with pytest.raises(MeasureError, match="too large to calculate with exactly"):
        _take(measure(), huge, huge)


def test_nothing_changed_is_nothing_lost() -> None:
    t = _table([(1.0, 1), (2.0, 5), (4.0, 3)])
    assert [_take(m(), t, t).value for m in ALL] == [0.0, 0.0, 0.0, 0.0]


def test_sse_needs_to_know_who_is_who() -> None:
    t = _table([(1.0, 1), (2.0, 5)])
    with pytest.raises(MeasureError, match="which masked record"):
        _take(Sse(), t, t, None)
