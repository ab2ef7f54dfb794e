"""ABIM, ABISD and ABICO against the formulas of Li & Sarkar, column after column."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measure, Measurement
from sfumato.utility.numeric.biases import Abico, Abim, Abisd
from tests.oracle import biases as oracle

values = st.integers(-8, 8).map(float)
rows = st.lists(st.tuples(values, values, values), min_size=3, max_size=15)


def _take(measure: Measure, x: Table | dict, y: Table | dict) -> Measurement:
    tables = [t if isinstance(t, Table) else sf.table(t, quasi=list(t)) for t in (x, y)]
    return measure.measure(Context(Pair.of(*tables, "none"), np.random.default_rng(0)))


def _columns(given: list[tuple[float, ...]]) -> dict[str, list[float]]:
    return {name: [row[j] for row in given] for j, name in enumerate("abc")}


@given(rows, rows)
def test_they_are_the_formulas(before: object, after: object) -> None:
    x, y = _columns(before), _columns(after)
    assume(all(len(set(column)) > 1 for column in x.values()))
    assume(any(sum(column) != 0 for column in x.values()))
    assert _take(Abim(), x, y).value == pytest.approx(oracle.abim(x, y), rel=1e-9)
    assert _take(Abisd(), x, y).value == pytest.approx(oracle.abisd(x, y), rel=1e-9)
    pairs = [(a, b) for a, b in (("a", "b"), ("a", "c"), ("b", "c"))]
    assume(any(abs(oracle.correlation(x[a], x[b]) or 0.0) > 1e-9 for a, b in pairs))
    assert _take(Abico(), x, y).value == pytest.approx(oracle.abico(x, y), rel=1e-7, abs=1e-7)


def test_mean_substitution_by_hand() -> None:
    """1, 3 | 7, 9 become 2, 2 | 8, 8: the variance falls from 40/3 to 36/3, the mean stays."""
    x = {"v": [1.0, 3.0, 7.0, 9.0], "w": [2.0, 6.0, 14.0, 18.0]}
    y = {"v": [2.0, 2.0, 8.0, 8.0], "w": [2.0, 6.0, 14.0, 18.0]}
    assert _take(Abim(), x, y).value == 0.0
    expected = 100 * (1 - np.sqrt(36 / 40)) / 2
    assert _take(Abisd(), x, y).value == pytest.approx(expected)
    # r falls from 1 to cov/(s s) = (72/3) / sqrt(12 * 160/3).
    assert _take(Abico(), x, y).value == pytest.approx(100 * (1 - 24 / np.sqrt(12 * 160 / 3)))


def test_zero_denominators_are_left_out_and_named() -> None:
    x = {"zero": [-1.0, 1.0, 0.0], "flat": [5.0, 5.0, 5.0], "good": [1.0, 2.0, 4.0]}
    y = {"zero": [-1.0, 3.0, 0.0], "flat": [5.0, 6.0, 5.0], "good": [2.0, 2.0, 4.0]}
    mean = _take(Abim(), x, y)
    assert mean.detail["left_out"] == {"zero": "has a mean of zero in the original"}
    assert mean.detail["columns"] == ["flat", "good"]
    deviation = _take(Abisd(), x, y)
    assert deviation.detail["left_out"] == {"flat": "does not vary in the original"}
    correlation = _take(Abico(), x, y)
    assert correlation.detail["pairs"] == 1
    assert correlation.detail["pairs_without_correlation"] == [["zero", "flat"], ["flat", "good"]]
    apart = {"a": [-1.0, 1.0, -1.0, 1.0], "b": [-1.0, -1.0, 1.0, 1.0], "c": [0.0, 1.0, 1.0, 3.0]}
    none = _take(Abico(), apart, apart)
    assert none.detail["pairs_with_a_correlation_of_zero"] == [["a", "b"]]
    lost = _take(Abico(), apart, {**apart, "c": [1.0] * 4})
    assert lost.value == pytest.approx(100.0)
    assert lost.detail["pairs_that_lost_it"] == [["a", "c"], ["b", "c"]]


def test_dates_and_ordinals_have_no_relative_mean() -> None:
    days = [dt.date(2000, 1, d) for d in (1, 5, 9)]
    t = sf.table({"d": days, "x": [1, 2, 3]}, quasi=["d", "x"])
    assert "arbitrary" in _take(Abim(), t, t).detail["left_out"]["d"]
    assert _take(Abisd(), t, t).detail["columns"] == ["d", "x"]
    with pytest.raises(MeasureError, match="nothing to compare"):
        _take(Abim(columns=("d",)), t, t)


def test_missing_values_are_counted_and_not_compared() -> None:
    x, y = {"v": [1.0, 2.0, None, 3.0]}, {"v": [2.0, None, None, 4.0]}
    found = _take(Abim(), x, y)
    assert found.value == pytest.approx(50.0)
    assert found.detail["missing"] == {"v, original": 1, "v, masked": 2}
    w = [1.0, 2.0, 3.0, 4.0]
    gone = _take(Abisd(), {**x, "w": w}, {"v": [1.0, None, None, None], "w": w})
    assert gone.detail["left_out"]["v"] == "has fewer than two values in the masked table"


def test_the_quasi_identifiers_come_first() -> None:
    x = sf.table({"q": [1.0, 2.0], "other": [1.0, 2.0]}, quasi=["q"])
    y = sf.table({"q": [1.0, 2.0], "other": [9.0, 9.0]}, quasi=["q"])
    assert _take(Abim(), x, y).value == 0.0
    assert _take(Abim(columns=("other",)), x, y).value == pytest.approx(500.0)


def test_what_has_no_correlation_is_named() -> None:
    with pytest.raises(MeasureError, match="two columns"):
        _take(Abico(), {"x": [1.0, 2.0]}, {"x": [1.0, 2.0]})
    flat = {"x": [1.0, 1.0], "y": [2.0, 2.0]}
    with pytest.raises(MeasureError, match="other than zero"):
        _take(Abico(), flat, flat)
    with pytest.raises(MeasureError, match="nothing to compare"):
        _take(Abisd(), flat, flat)
