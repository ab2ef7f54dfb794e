"""Fields that repeat one another, beside entropies counted by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.recognize import repeated_fields
from sfumato.data.table import table


def _entropy(values: Sequence[object]) -> float:
    n = len(values)
    return -sum(c / n * math.log(c / n) for c in Counter(values).values())


def _register(n: int = 3_000, seed: int = 1) -> pl.DataFrame:
    """As in the thesis: a code and its text, and one that differs for some."""
    rng = np.random.default_rng(seed)
    origin = rng.integers(0, 8, n)
    near = np.where(rng.random(n) < 0.01, rng.integers(0, 8, n), origin)
    zips = rng.integers(0, 60, n)
    return pl.DataFrame(
        {
            "uid": [f"u{i}" for i in range(n)],
            "ethnic_origin": origin,
            "race_full": [f"race {i}" for i in origin],
            "race_told": near,
            "zip": zips,
            "state": zips // 10,
            "pay": rng.lognormal(10, 1, n),
            "sex": rng.choice(["f", "m"], n),
            "flag": rng.random(n) < 0.004,
            "doctor": rng.integers(0, 400, n),
        }
    )


def test_the_fields_that_the_thesis_removes_are_found() -> None:
    frame = _register().with_columns(pay_in_pounds=pl.col("pay") * 0.8)
    found = {one.column: one for one in repeated_fields(table(frame), frame.columns)}
    assert {name: one.by for name, one in found.items()} == {
        "race_full": "ethnic_origin",
        "race_told": "ethnic_origin",
        "state": "zip",
        "pay_in_pounds": "pay",
    }
    assert found["race_full"].mutual
    assert not found["state"].mutual
    assert found["race_full"].share == pytest.approx(1)
    assert 0.9 <= found["race_told"].share < 1


def test_few_records_many_pairs_and_sets() -> None:
    few = table({"a": [1, 2] * 4, "b": [1, 2] * 4})
    assert repeated_fields(few, ["a", "b"]) == []
    rng = np.random.default_rng(2)
    wide = {f"x{j}": rng.integers(0, 4, 4_000) for j in range(110)}
    wide["twin"] = wide["x7"] + 1
    wide["half"] = wide["x9"] // 2
    rare = rng.random(4_000) < 0.01
    wide["rare"], wide["once more"] = rare, np.where(rare, "yes", "no")
    found = repeated_fields(table(wide), list(wide))
    assert {one.column: one.by for one in found} == {
        "twin": "x7", "half": "x9", "once more": "rare",
    }  # fmt: skip
    sets = table({"s": [["a"], ["b"]] * 20, "x": [1, 2] * 20})
    assert repeated_fields(sets, ["s", "x"]) == []


@given(st.integers(2, 6), st.integers(2, 6), st.floats(0, 0.4), st.integers(0, 10_000))
def test_shares_are_uncertainty_coefficients(a: int, b: int, noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, a, 2_000)
    y = np.where(rng.random(2_000) < noise, rng.integers(0, b, 2_000), x % b)
    first, second = x.tolist(), y.tolist()
    if min(Counter(first).values()) < 6 or min(Counter(second).values()) < 6:
        return
    shared = _entropy(first) + _entropy(second) - _entropy([*zip(first, second, strict=True)])
    told = {("y", "x"): shared / _entropy(second), ("x", "y"): shared / _entropy(first)}
    found = repeated_fields(table({"x": x, "y": y}), ["x", "y"])
    strong = {pair: share for pair, share in told.items() if share >= 0.9}
    assert bool(found) == bool(strong)
    for one in found:
        assert one.share == pytest.approx(told[one.column, one.by])
        assert one.mutual == (len(strong) == 2)
