"""Top and bottom coding by weights, and as a category of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.methods.recoding.top_bottom import TopBottomCoding
from tests.contract.tables import ordinary
from tests.oracle import nonperturbative as oracle

RNG = np.random.default_rng(0)
record = st.tuples(st.integers(0, 20).map(float), st.sampled_from([0.5, 1.0, 3.0, 10.0]))


@given(st.lists(record, min_size=2, max_size=30), st.floats(0.01, 0.49))
def test_a_share_of_the_population(records: list[tuple[float, float]], share: float) -> None:
    values, weights = [r[0] for r in records], [r[1] for r in records]
    table = sf.table({"x": values, "w": weights}, quasi=["x"], weight="w")
    out = TopBottomCoding(top_share=share, weighted=True).mask(table, RNG).table["x"].to_list()
    limit = oracle.weighted_limit(values, weights, share * sum(weights))
    assert out == [value if limit is None else min(value, limit) for value in values]
    mirrored = sf.table({"x": [-v for v in values], "w": weights}, quasi=["x"], weight="w")
    low = TopBottomCoding(bottom_share=share, weighted=True).mask(mirrored, RNG).table["x"]
    assert [-v for v in low.to_list()] == out


def test_equal_weights_change_nothing() -> None:
    x = np.random.default_rng(3).normal(size=101)
    plain = sf.table({"x": x}, quasi=["x"])
    table = sf.table({"x": x, "w": np.full(101, 2.0)}, quasi=["x"], weight="w")
    by_share = TopBottomCoding(top_share=0.1, bottom_share=0.05)
    weighted = TopBottomCoding(top_share=0.1, bottom_share=0.05, weighted=True)
    assert weighted.mask(table, RNG).table["x"].equals(by_share.mask(plain, RNG).table["x"])
    # Ten records of weight 2 are 20 people.
    counted = TopBottomCoding(top_count=20, weighted=True).mask(table, RNG).table["x"]
    assert counted.equals(TopBottomCoding(top_count=10).mask(plain, RNG).table["x"])


def test_the_weighted_mean_is_kept() -> None:
    rng = np.random.default_rng(5)
    x, w = rng.lognormal(0, 1, 200), rng.uniform(1, 9, 200)
    table = sf.table({"x": x, "w": w}, quasi=["x"], weight="w")
    coded = TopBottomCoding(top_share=0.1, weighted=True, replace="mean").mask(table, RNG)
    assert coded.facts["x"]["top_coded"] > 5
    masked = coded.table["x"].to_numpy()
    assert np.average(masked, weights=w) == pytest.approx(np.average(x, weights=w), rel=1e-12)
    assert not np.isclose(masked.mean(), x.mean(), rtol=1e-6)


def test_a_category_of_their_own() -> None:
    table = sf.table({"age": [15, 18, 50, 90, 91, 104, None]}, quasi=["age"])
    outcome = TopBottomCoding(top=90, bottom=18, replace="label").mask(table, RNG)
    assert outcome.table["age"].to_list() == ["<18", "18", "50", "90", ">90", ">90", None]
    column = outcome.table.schema["age"]
    assert column.generalized
    assert column.bound is not None
    assert column.bound.leq(104, ">90")
    assert not column.bound.leq(90, ">90")
    assert 0 < column.bound.measure(">90") < 1
    untouched = TopBottomCoding(top=200, replace="label").mask(table, RNG).table
    assert untouched["age"].equals(table["age"])
    assert not untouched.schema["age"].generalized
    level = TopBottomCoding(columns=("level",), top="middle", replace="label")
    assert set(level.mask(ordinary(), RNG).table["level"]) == {"low", "middle"}


def test_the_mean_of_few_is_not_published() -> None:
    table = sf.table({"age": [20, 30, 40, 50, 60, 97]}, quasi=["age"])
    outcome = TopBottomCoding(top=90, replace="mean").mask(table, RNG)
    assert outcome.table["age"].to_list() == [20, 30, 40, 50, 60, 90]
    assert outcome.table.schema["age"] == table.schema["age"]
    assert any("age" in said and "above 90" in said for said in outcome.warnings)
    both = TopBottomCoding(bottom=35, top=45, replace="mean").mask(table, RNG)
    assert both.table["age"].to_list() == [35, 35, 40, 69, 69, 69]
    assert len(both.warnings) == 1
    assert "below 35" in both.warnings[0]
    asked = TopBottomCoding(top=90, replace="mean", fewest=1).mask(table, RNG)
    assert asked.table["age"].to_list()[-1] == 97
    assert not asked.warnings
    strict = TopBottomCoding(top=35, replace="mean", fewest=5).mask(table, RNG)
    assert strict.table["age"].max() == 35


def test_the_mean_of_one_heavy_record_is_not_published() -> None:
    values = [10.0, 20.0, 30.0, 91.0, 92.0, 97.0, 93.0]
    for last, coded in (([1, 1, 1, 1], 93.25), ([1, 1, 2, 1], 94.0), ([1, 1, 500, 1], 90.0)):
        table = sf.table({"x": values, "w": [5, 5, 5, *last]}, quasi=["x"], weight="w")
        outcome = TopBottomCoding(top=90, replace="mean", weighted=True).mask(table, RNG)
        assert outcome.table["x"].to_list() == pytest.approx([10.0, 20.0, 30.0, *[coded] * 4])
        assert bool(outcome.warnings) == (coded == 90.0)


@pytest.mark.parametrize("share", [0.07, 0.14, 0.28, 0.29])
def test_a_share_loses_no_record_to_binary_fractions(share: float) -> None:
    table = sf.table({"x": np.arange(100.0)}, quasi=["x"])
    outcome = TopBottomCoding(top_share=share, bottom_share=share).mask(table, RNG)
    assert outcome.facts["x"] == {
        "bottom_coded": round(100 * share),
        "top_coded": round(100 * share),
    }
