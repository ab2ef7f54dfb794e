"""Releases prepared for models: midpoints, and duplicates whose weights sum to one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.generalized.model_ready import model_ready
from sfumato.errors import MethodError
from sfumato.rng import stream
from tests.contract.tables import ordinary


def test_a_suppressed_gender_becomes_two_people() -> None:
    """As the thesis prepared its patients: the mean of the predictions for both."""
    original = sf.table({"sex": ["f", "m", "m"], "age": [30, 40, 50]}, quasi=["sex", "age"])
    shown = original.with_columns(
        [pl.Series("sex", ["*", "m", "m"])], [original.schema["sex"].with_(generalized=True)]
    )
    ready = model_ready(shown, original, share="uniform")
    assert ready.table["sex"].to_list() == ["f", "m", "m", "m"]
    assert ready.table["weight"].to_list() == [0.5, 0.5, 1, 1]
    assert str(ready.table.schema["weight"].role) == "weight"
    assert ready.averaged(np.array([10.0, 20.0, 1.0, 2.0])).tolist() == [15, 1, 2]


def test_ranges_become_midpoints() -> None:
    original = sf.table({"age": [20, 25, 40, 60]}, quasi=["age"])
    shown = sf.table({"age": ["[20, 25]", "40", ">=50", "*"]}, quasi=["age"])
    shown = shown.with_schema(sf.Schema([original.schema["age"].with_(generalized=True)]))
    found = model_ready(shown, original).table["age"].to_list()
    assert found[:3] == [22.5, 40, 60]
    assert found[3] == pytest.approx(np.mean([22.5, 40, 60]))


def test_a_star_that_a_file_brought_back() -> None:
    """Nobody says that the column was generalized; the mean of the others all the same."""
    shown = sf.table({"age": ["20", "[30, 50]", "*", None]}, quasi=["age"])
    original = sf.table({"age": [20, 30, 50, None]}, quasi=["age"])
    ready = model_ready(shown, original)
    assert ready.table["age"].to_list() == [20, 40, 30, None]


@given(k=st.integers(2, 12), missing=st.booleans(), share=st.sampled_from(["frequency", "uniform"]))
def test_weights_sum_to_one(k: int, missing: bool, share: str) -> None:
    table = ordinary(60, missing=missing)
    step = sf.step(sf.method("mondrian", k=k), then="generalize")
    shown = step.run(table, stream(0, 1, "x")).table
    ready = model_ready(shown, share=share, most=1e6)  # type: ignore[arg-type]
    weights = np.bincount(ready.rows, ready.table["weight"].to_numpy())
    assert weights == pytest.approx(np.ones(60))
    for name in table.schema.quasi:
        assert not ready.table.schema[name].generalized
        assert not ready.table.suppressed(name).any()
    # Each record's own categories are among its duplicates.
    for name in ("sex", "zip"):
        rows = ready.rows[(ready.table[name] == table[name].gather(ready.rows)).fill_null(False)]
        assert set(rows) >= set(np.flatnonzero(table[name].is_not_null().to_numpy()))


def test_too_many_duplicates() -> None:
    table = ordinary(60)
    names = ["zip", "sex", "level"]
    shown = table.with_columns(
        [pl.Series(n, ["*"] * 60) for n in names],
        [table.schema[n].with_(generalized=True) for n in names],
    )
    with pytest.raises(MethodError, match=r"most.*sfumato impute"):
        model_ready(shown, table)


def test_what_cannot_be_read() -> None:
    shown = sf.table({"x": ["a", "b"]}, quasi=["x"])
    with pytest.raises(MethodError, match="already"):
        model_ready(shown, weight="x")
    blind = shown.with_schema(sf.Schema([shown.schema["x"].with_(generalized=True)]))
    with pytest.raises(MethodError, match="give the original"):
        model_ready(blind)
