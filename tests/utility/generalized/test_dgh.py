"""The distance of a global recoding from the original in the lattice of levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.protocols import Context
from sfumato.utility.generalized.ncp import DghDistance
from tests.oracle import information as oracle

ROWS = [(city, age, kind, "flu") for city in oracle.PATHS for age in (20, 27, 40) for kind in "abc"]


def _take(pair: Pair) -> object:
    return DghDistance().measure(Context(pair, np.random.default_rng(0)))


@given(st.integers(0, 3), st.booleans(), st.integers(0, 1))
def test_it_is_the_sum_of_the_levels(city: int, age: bool, kind: int) -> None:
    # Age and kind have no hierarchy: they are published, or not.
    levels = [(city, 3 * age, 3 * kind)] * len(ROWS)
    found = _take(Pair.of(oracle.people(ROWS), oracle.published(ROWS, levels)))
    assert found.detail["levels"] == {"city": city, "age": int(age), "kind": kind}
    assert found.value == city + age + kind
    assert found.baseline == 3 + 1 + 1


def test_columns_at_two_levels_have_none() -> None:
    levels = [(i % 2 + 1, 0, 0) for i in range(len(ROWS))]
    with pytest.raises(MeasureError, match="column 'city' is not one") as error:
        _take(Pair.of(oracle.people(ROWS), oracle.published(ROWS, levels)))
    assert "precision" in str(error.value.remedy)


def test_ranges_are_one_step_and_suppressed_records_stand_outside() -> None:
    original = sf.table({"age": [20, 25, 40], "sex": ["f", "m", "f"]}, quasi=["age", "sex"])
    ranges = {"age": ["[20, 25]", "[20, 25]", "[40, 49]"], "sex": ["f", "m", "f"]}
    assert sf.measure("dgh-distance", original, ranges).value == 1
    outlier = {"age": ["[20, 25]", "[20, 25]", "*"], "sex": ["f", "m", "*"]}
    assert sf.measure("dgh-distance", original, outlier).detail["levels"] == {"age": 1, "sex": 0}
    local = {"age": ["[20, 25]", "[25, 40]", "*"], "sex": ["f", "*", "f"]}
    with pytest.raises(MeasureError, match="at one level per column"):
        sf.measure("dgh-distance", original, local)
    noise = {"age": [21, 26, 40], "sex": ["f", "m", "f"]}
    with pytest.raises(MeasureError, match="were changed, not generalized"):
        sf.measure("dgh-distance", original, noise)
    assert sf.measure("dgh-distance", original, {"age": [20, 25, 40]}).value == 1


def test_it_needs_quasi_identifiers() -> None:
    with pytest.raises(MeasureError, match="the original has none"):
        sf.measure("dgh-distance", sf.table({"x": [1]}), {"x": [1]})
