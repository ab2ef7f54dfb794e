"""Discernibility and average class size, record by record."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measurement
from sfumato.utility.classes.sizes import AverageClassSize, Discernibility
from tests.oracle import utility as oracle

cells = st.sampled_from(["a", "b", "*"])
rows = st.lists(st.tuples(cells, cells), min_size=1, max_size=20)


def _labels(records: list[tuple[str, str]]) -> Table:
    t = table(
        pl.DataFrame(records, schema={"x": pl.String, "y": pl.String}, orient="row"),
        quasi=["x", "y"],
    )
    return t.with_schema(Schema(c.with_(generalized=True) for c in t.schema))


def _take(
    measure: Discernibility | AverageClassSize, original: Table, masked: Table
) -> Measurement:
    return measure.measure(Context(Pair(original, masked, None), np.random.default_rng(0)))


@given(rows, st.integers(0, 5), st.integers(1, 4))
def test_the_figures_are_those_of_the_oracle(
    published: list[tuple[str, str]], dropped: int, k: int
) -> None:
    n = len(published) + dropped
    original = table({"x": list(range(n)), "y": ["a"] * n}, quasi=["x", "y"])
    hidden = published.count(("*", "*"))
    found = _take(Discernibility(), original, _labels(published))
    assert found.value == oracle.discernibility(published, ("*", "*"), n)
    assert found.detail["suppressed_records"] == hidden + dropped
    assert found.detail["share"] == pytest.approx(found.value / n**2)
    assert found.baseline == n, "before masking every record was alone"
    found = _take(AverageClassSize(k=k), original, _labels(published))
    assert found.value == pytest.approx(oracle.average_class_size(published, k))
    assert found.detail.get("dropped_records", 0) == dropped


def test_everything_suppressed_costs_the_square_of_all() -> None:
    original = table({"x": [1, 2, 3], "y": [1, 2, 3]}, quasi=["x", "y"])
    assert _take(Discernibility(), original, _labels([("*", "*")] * 3)).value == 9
    # A record whose values were missing is not a suppressed one.
    nulls = original.with_columns([pl.Series(c, [1, 2, None]) for c in ("x", "y")])
    assert _take(Discernibility(), original, nulls).value == 3
    marked = nulls.with_columns(
        [], suppressed={c: np.array([False, False, True]) for c in ("x", "y")}
    )
    assert _take(Discernibility(), original, marked).value == 2 + 3


def test_no_quasi_identifiers_are_one_class() -> None:
    t = table({"x": [1, 2, 3]})
    assert _take(Discernibility(), t, t).value == 9
    assert _take(AverageClassSize(), t, t).value == 3


@pytest.mark.parametrize("measure", [Discernibility(), AverageClassSize()])
def test_empty_tables_are_refused(measure: Discernibility | AverageClassSize) -> None:
    t = table({"x": [1]}, quasi=["x"])
    with pytest.raises(MeasureError, match="masked table has no records"):
        _take(measure, t, t.take(np.array([], dtype=int)))
