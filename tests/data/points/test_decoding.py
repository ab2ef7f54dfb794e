"""Points back to columns: domains, shares, probabilities, and what is too large."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import sfumato as sf
from sfumato.data.points.decoding import apportioned, with_shares
from sfumato.data.points.encoding import Encoding
from sfumato.errors import MethodError
from tests.contract.tables import ordinary

LEVELS = ["low", "middle", "high"]


def coded(table: sf.Table, **options: Any) -> Encoding:
    return Encoding.of(table, table.names, **options)


def test_numbers_beyond_floats_are_refused() -> None:
    for column, log in (([1e308, 1e307, 5e307], "never"), ([1.0, 10.0, 1e300], "positive")):
        table = sf.table({"x": column})
        code = coded(table, log=log)
        with pytest.raises(MethodError, match="'x' became a number larger than floats hold"):
            code.decode(np.full((3, 1), 9.0) * (1 if log == "never" else 20), table)
    table = sf.table({"x": pl.Series([1e38, 2e38, 2.5e38], dtype=pl.Float32)})
    with pytest.raises(MethodError, match="larger than floats hold"):
        coded(table, log="never").decode(np.full((3, 1), 9.0), table)
    table = sf.table({"a": [1, 2, 3]})
    with pytest.raises(MethodError, match="'a' became"):
        coded(table).decode(np.array([[np.nan], [0], [0]]), table)
    with pytest.raises(MethodError, match="1 coordinates are decoded"):
        coded(table).decode(np.zeros((3, 2)), table)
    with pytest.raises(MethodError, match="'x' is infinite in row 2"):
        coded(sf.table({"x": [1.0, math.inf, 2.0]}))


def test_decoded_values_stay_in_their_domain() -> None:
    table = sf.table(
        {
            "n": [1, 2, 50],
            "pay": [0.1, 1.0, 90.0],
            "day": [dt.date(2000, 1, 1), dt.date(2001, 5, 5), dt.date(1999, 1, 1)],
            "t": pl.Series([dt.datetime(2000, 1, i, 6) for i in (1, 2, 9)]).cast(pl.Datetime("ns")),
            "level": LEVELS,
        },
        kinds={"level": "ordinal"},
        categories={"level": LEVELS},
    )
    code = coded(table, log="positive")
    low = code.decode(np.full((3, 5), -1e6), table)
    assert low.series[0].to_list() == [1, 1, 1]
    assert all(value > 0 for value in low.series[1])
    assert low.series[2].to_list() == [dt.date(1, 1, 1)] * 3
    assert low.series[3].to_list()[0].year == 1677
    assert low.series[4].to_list() == ["low"] * 3
    assert coded(table, log="never").decode(np.full((3, 5), 1e6), table).series[4][0] == "high"
    real = code.decode(np.full((3, 5), 0.3), table, whole=False)
    assert real.series[0].dtype == pl.Float64
    assert real.columns[0].kind == "continuous"
    assert code.decode(np.full((3, 5), 0.3), table).columns[0].kind == "integer"
    # Six o'clock each day: what is published has whole hours too.
    assert {t.minute for t in real.series[3].to_list()} == {0}


def test_the_share_beyond_the_range_is_told_without_counts() -> None:
    rng = np.random.default_rng(0)
    table = sf.table({"x": rng.normal(size=200)})
    code = coded(table)
    x = code.encode(table)
    told = "share of numbers beyond the original's range"
    assert told not in code.decode(x, table).facts
    far = x.copy()
    far[:9] = 50.0
    assert told not in code.decode(far, table).facts
    far[:31] = 50.0
    assert (
        code.decode(far, table).facts[told] == 0.15 or code.decode(far, table).facts[told] == 0.16
    )


@given(st.lists(st.integers(0, 9), min_size=3, max_size=7), st.integers(0, 2**32 - 1))
def test_shares_are_met_exactly(counts: list[int], seed: int) -> None:
    wanted = np.array(counts)
    x = np.random.default_rng(seed).normal(size=(int(wanted.sum()), wanted.size))
    found = np.bincount(with_shares(x, wanted), minlength=wanted.size)
    assert found.tolist() == counts


@pytest.mark.parametrize("q", [3, 5, 12])
def test_shares_are_met_at_nearly_the_least_cost(q: int) -> None:
    rng = np.random.default_rng(q)
    chances = rng.dirichlet(np.ones(q))
    n = 400
    x = 2.0 * np.eye(q)[rng.choice(q, n, p=chances)] - 1 + 0.7 * rng.normal(size=(n, q))
    wanted = np.bincount(rng.choice(q, n, p=chances), minlength=q)
    chosen = with_shares(x, wanted)
    slots = np.repeat(np.arange(q), wanted)
    rows, places = linear_sum_assignment(-x[:, slots])
    best = float(x[rows, slots[places]].sum())
    assert float(x[np.arange(n), chosen].sum()) >= best - 0.005 * n


def test_shares_of_many_categories_and_records() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60_000, 6))
    wanted = apportioned(np.array([1, 5, 10, 300, 4000, 9]), len(x))
    assert (np.bincount(with_shares(x, wanted), minlength=6) == wanted).all()
    x = rng.normal(size=(700, 500))
    wanted = apportioned(rng.integers(0, 5, 500), len(x))
    assert (np.bincount(with_shares(x, wanted), minlength=500) == wanted).all()
    # Equal records everywhere: any of them will do.
    assert (np.bincount(with_shares(np.zeros((9, 3)), np.array([2, 3, 4]))) == [2, 3, 4]).all()


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(0, 200))
def test_apportioned_numbers_sum_to_the_total(counts: list[int], total: int) -> None:
    if not sum(counts):
        return
    found = apportioned(np.array(counts), total)
    assert found.sum() == total
    exact = np.array(counts) * total / sum(counts)
    assert (np.abs(found - exact) < 1 + 1e-9).all()


@given(st.integers(0, 2**32 - 1))
def test_shares_keep_every_frequency_of_the_original(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = ordinary(60, missing=True)
    names = ["sex", "zip", "illness", "happy", "age"]
    code = Encoding.of(table, names)
    found = code.decode(rng.normal(size=(60, code.width)), table, categories="shares")
    for made in found.series[:-1]:
        before = table[made.name]
        assert sorted(made.to_list(), key=str) == sorted(before.to_list(), key=str)
    assert found.series[-1].null_count() == table["age"].null_count()
    # Half as many records: half as many of each.
    half = code.decode(rng.normal(size=(30, code.width)), table, categories="shares").series[0]
    assert abs(half.null_count() - table["sex"].null_count() / 2) <= 1


def test_the_largest_of_equal_coordinates_is_the_first() -> None:
    table = sf.table({"blood": ["A", "B", "0"], "sex": ["f", "m", "m"]})
    code = Encoding.of(table, ["blood", "sex"])
    found = code.decode(np.zeros((2, 4)), table)
    assert found.series[0].to_list() == ["0", "0"]
    assert found.series[1].to_list() == ["f", "f"]


def test_probabilities_stand_in_place_of_categories() -> None:
    table = ordinary(50, missing=True)
    names = ["sex", "zip", "pay", "happy"]
    code = Encoding.of(table, names)
    x = np.random.default_rng(1).normal(size=(50, code.width)) * 3
    found = code.decode(x, table, categories="probabilities")
    made = pl.DataFrame(found.series)
    assert made.columns[:2] == ["sex=f", "sex=m"]
    assert made.columns[-2:] == ["happy=false", "happy=true"]
    plain = pl.DataFrame(code.decode(x, table).series)
    for name in ("sex", "zip", "happy"):
        own = [column for column in made.columns if column.startswith(f"{name}=")]
        total = made.select(pl.sum_horizontal(pl.col(own).fill_null(0))).to_series()
        here = plain[name].is_not_null()
        assert total.filter(here).to_list() == pytest.approx([1.0] * int(here.sum()))
        assert made[own[0]].is_null().to_list() == (~here).to_list()
        values = made.filter(here).select(own).to_numpy()
        chosen = [own[j].removeprefix(f"{name}=") for j in values.argmax(axis=1)]
        assert chosen == [
            str(v).lower() if name == "happy" else v for v in plain[name].filter(here)
        ]
    x0 = x[0, 0]
    if made["sex=m"][0] is not None:
        assert made["sex=m"][0] == pytest.approx(1 / (1 + math.exp(-x0)))
    for column in found.columns:
        assert column.kind == "continuous"
        assert column.role == table.schema[column.name.partition("=")[0]].role
    # Inverse logits of nothing but zeros would have no sum to be divided by.
    far = code.decode(np.full((50, code.width), -2000.0), table, categories="probabilities")
    assert far.series[2].to_list() == pytest.approx([0.2] * 50)


def test_probabilities_do_not_take_the_name_of_another_column() -> None:
    table = sf.table({"c": ["a", "b", "a"], "c=a": [1.0, 2.0, 3.0]})
    code = coded(table)
    with pytest.raises(MethodError, match="a second column 'c=a'"):
        code.decode(code.encode(table), table, categories="probabilities")


def test_probabilities_of_two_columns_need_two_names() -> None:
    people = sf.table({"x": ["a", "b=c", "a"], "x=b": ["c", "d", "e"]})
    code = Encoding.of(people, ["x", "x=b"])
    with pytest.raises(MethodError, match="'x=b=c'"):
        code.decode(code.encode(people), people, categories="probabilities")
