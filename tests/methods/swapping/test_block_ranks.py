"""Swapping within blocks of ranks: what is kept, how far values go, and who moves."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.rng import Key
from tests.methods.test_methods import run


@given(
    st.lists(st.none() | st.integers(-5, 5) | st.floats(-9, 9), min_size=2, max_size=60),
    st.integers(1, 20),
    st.integers(0, 99),
)
def test_values_stay_within_reach(values: list[float | None], count: int, seed: int) -> None:
    cells = [None if v is None else float(v) for v in values]
    table = sf.table({"x": pl.Series(cells, dtype=pl.Float64)}, quasi="x")
    method = sf.method("block-rank-swap", count=count)
    numbers = np.arange(table.height, dtype=np.uint64)
    made = method.mask_keyed(table, Key.of_seed(seed), numbers).table["x"]
    assert made.is_null().to_list() == table["x"].is_null().to_list()
    present = np.sort(table["x"].drop_nulls().to_numpy())
    assert np.sort(made.drop_nulls().to_numpy()).tolist() == present.tolist()
    before, after = table["x"].drop_nulls().to_numpy(), made.drop_nulls().to_numpy()
    # Between the two values there are no more others than the blocks at the ends may have.
    low = np.searchsorted(present, np.minimum(before, after), "right")
    high = np.searchsorted(present, np.maximum(before, after), "left")
    assert (high - low).max(initial=0) <= count + 3


def test_nobody_keeps_a_value_that_is_told_apart() -> None:
    table = sf.table({"x": np.random.default_rng(1).permutation(1000)}, quasi="x")
    outcome = run(table, "block-rank-swap", p=2)
    moved = outcome.table["x"].to_numpy() - table["x"].to_numpy()
    assert (moved != 0).all()
    assert np.abs(moved).max() <= 23
    assert outcome.facts["values in a block"] == {"x": 21}


def test_one_record_has_nobody_to_swap_with() -> None:
    with pytest.raises(MethodError, match="the table has one"):
        run(sf.table({"x": [1]}, quasi="x"), "block-rank-swap")
