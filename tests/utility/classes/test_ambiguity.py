"""How many records a published one may stand for."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.protocols import Context
from sfumato.utility.classes.ambiguity import AmbiguityMetric
from tests.oracle import information as oracle

ROWS = [
    (city, age, kind, "flu")
    for city in ("Ulm", "Nice", "Köln")
    for age in (20, 27, 40)
    for kind in "abc"
]


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=len(ROWS), max_size=len(ROWS)))
def test_it_is_the_mean_product(levels: object) -> None:
    pair = Pair.of(oracle.people(ROWS), oracle.published(ROWS, levels))
    found = AmbiguityMetric().measure(Context(pair, np.random.default_rng(0)))
    labels = [
        [oracle.ladder(j, row[j])[rung] for j, rung in enumerate(rungs)]
        for row, rungs in zip(ROWS, levels, strict=True)
    ]
    # The hierarchy's five cities count, though only three occur; every whole age does.
    products = oracle.ambiguity(labels, {0: 5, 1: 21, 2: 3})
    assert found.value == pytest.approx(oracle.mean(products))
    assert 10**found.per_record == pytest.approx(products)
    assert found.detail["median"] == pytest.approx(float(10 ** np.median(np.log10(products))))
    assert found.detail["values"] == {"city": 5, "age": 21, "kind": 3}


def test_dates_open_ends_and_numbers_with_a_point() -> None:
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 31), dt.date(2024, 3, 1)]
    original = table({"day": days, "x": [0.5, 1.5, 9.5]}, quasi=["day", "x"])
    masked = {
        "day": ["[2024-01-01, 2024-01-31]", "<=2024-01-10", "2024-03-01"],
        "x": ["[0, 2]"] * 3,
    }
    found = sf.measure("ambiguity-metric", original, masked)
    # 31 days, 10 days and one; each time two values of x lie in the interval.
    assert (10**found.per_record).round(6).tolist() == [62, 20, 2]
    assert found.detail["counted"] == {"day": "whole numbers", "x": "values"}


def test_products_beyond_every_float() -> None:
    columns = {f"q{j}": list(range(2000)) for j in range(120)}
    original = table(columns, quasi=list(columns))
    masked = dict.fromkeys(columns, ["*"] * 2000)
    found = sf.measure("ambiguity-metric", original, masked)
    assert math.isfinite(found.value)
    assert found.detail["log10_mean"] == pytest.approx(120 * math.log10(2000))
    same = sf.measure("ambiguity-metric", original, original)
    assert same.value == same.baseline == 1.0


def test_dropped_records_may_be_anybody() -> None:
    original = table({"q": ["a", "b", "c", "d"]}, quasi="q")
    pair = Pair(original, original.take(np.array([0, 1, 2])), None)
    found = AmbiguityMetric().measure(Context(pair, np.random.default_rng(0)))
    assert found.value == pytest.approx((3 + 4) / 4)
