"""Noise whose numbers belong to the records: the same for any division, order and neighbours."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engines.relation import Whole
from sfumato.errors import MethodError
from sfumato.kernels.draws import Draws
from sfumato.kernels.statistics.covariance import moments
from sfumato.methods.noise.additive import CorrelatedNoise, UncorrelatedNoise
from sfumato.methods.noise.keyed import KeyedNoise
from sfumato.methods.noise.shape import shape_of
from sfumato.rng import Key
from tests.oracle.divided import Divided

METHODS: list[KeyedNoise] = [UncorrelatedNoise(amount=0.4), CorrelatedNoise(amount=0.4)]
KEY = Key.of_seed(1).of("step")
both = pytest.mark.parametrize("method", METHODS, ids=str)


def people(n: int = 60) -> sf.Table:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((n, 2)) @ np.array([[3.0, 1.0], [0.0, 2.0]])
    gaps = rng.random(n) < 0.2
    frame = pl.DataFrame(
        {
            "pay": pl.Series(np.where(gaps, np.nan, 1e5 + x[:, 0]), nan_to_null=True),
            "age": pl.Series(np.rint(40 + 5 * x[:, 1]), dtype=pl.Int16),
            "sex": ["f", "m"] * (n // 2),
        }
    )
    return sf.table(frame, confidential=["pay", "age", "sex"])


@both
@given(data=st.data())
@settings(max_examples=30)
def test_division_and_order_give_the_same_bits(method: KeyedNoise, data: st.DataObject) -> None:
    table = people()
    order = data.draw(st.permutations(range(table.height)))
    cuts = data.draw(st.lists(st.integers(0, table.height), max_size=4))
    whole = method.mask_keyed(table, KEY, np.arange(table.height, dtype=np.uint64))
    made, told = method.run_on(Divided(table, order, cuts), KEY)
    assert isinstance(made, Whole)
    assert made.table.frame.equals(whole.table.frame)
    assert made.table.schema == whole.table.schema
    assert told.facts == whole.facts
    assert told.warnings == whole.warnings


@both
def test_rows_that_move_with_their_numbers_move_in_the_output(method: KeyedNoise) -> None:
    table, order = people(), np.random.default_rng(0).permutation(60)
    numbers = np.arange(60, dtype=np.uint64)
    plain = method.mask_keyed(table, KEY, numbers).table
    moved = method.mask_keyed(table.take(order), KEY, numbers[order]).table
    assert moved.frame.equals(plain.take(order).frame)
    assert not method.mask_keyed(table.take(order), KEY, numbers).table.frame.equals(moved.frame)


@both
def test_moments_are_those_of_the_data(method: KeyedNoise) -> None:
    x = people().frame.select("pay", "age").to_numpy().astype(float)
    mean, covariance = moments(x)
    shape = pickle.loads(pickle.dumps(method.survey(Whole(people()), KEY))).shape
    assert shape.mean * shape.unit == pytest.approx(mean, rel=1e-12)
    spread = shape.deviation * shape.unit
    assert spread == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-9)
    if method.correlated:
        assert shape.root @ shape.root.T == pytest.approx(
            shape_of(x).root @ shape_of(x).root.T, abs=1e-9
        )


@both
def test_types_do_not_depend_on_values(method: KeyedNoise) -> None:
    table = people()
    for whole, dtype in ((True, pl.Int64), (False, pl.Float64)):
        one = method.model_copy(update={"whole": whole})
        known = one.survey(Whole(table), KEY)
        none = one.mask_part(table.take(np.empty(0, int)), known, Draws(KEY, np.empty(0)))
        some = one.mask_keyed(table, KEY, np.arange(60, dtype=np.uint64)).table
        assert none.table.frame.schema == some.frame.schema
        assert some["age"].dtype == dtype
        assert none.table.schema == some.schema


def attacked(one: np.ndarray, two: np.ndarray, ratio: float) -> np.ndarray:
    """x of x + e and x + ratio e."""
    return np.asarray((ratio * one - two) / (ratio - 1))


def test_two_strengths_under_one_seed_do_not_give_the_values_back() -> None:
    """With noise e and 2e of one stream x is solved for exactly; with numbers of their own the
    error is as large as two independent draws make it."""
    x = np.random.default_rng(0).normal(50, 10, 20_000)
    table = sf.table({"x": x}, confidential="x")
    weak, strong = (sf.method("uncorrelated-noise", amount=a) for a in (0.1, 0.4))
    made = [
        release.pair.masked["x"].to_numpy()[np.argsort(release.pair.rows)]
        for release in (sf.protect(table, one, seed=2**70, measures=()) for one in (weak, strong))
    ]
    s = np.sqrt(0.1) * x.std()
    e = (made[0] - x) / s
    assert attacked(made[0], x + 2 * s * e, 2.0) == pytest.approx(x)  # one stream for both
    error = np.std(attacked(made[0], made[1], 2.0) - x)
    independent = np.sqrt(4 + 4) * s  # of 2 e1 - e2, where e2 is twice as wide
    assert error == pytest.approx(independent, rel=5.5 / np.sqrt(2 * x.size))


@both
def test_noise_of_another_width_is_drawn_anew(method: KeyedNoise) -> None:
    """The same step on more people is of another width: with the same numbers two releases of a
    person would give the value back."""
    table = people(400)
    numbers = np.arange(400, dtype=np.uint64)
    fewer = np.arange(350)
    all_, some = (
        method.mask_keyed(table.take(rows), KEY, numbers[rows]).table["pay"][:350].to_numpy()
        for rows in (np.arange(400), fewer)
    )
    x = table["pay"][:350].to_numpy()
    there = ~np.isnan(x)
    noise = [(one - x)[there] for one in (all_, some)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.4
    again = method.mask_keyed(table.take(fewer), KEY, numbers[fewer]).table["pay"].to_numpy()
    assert np.array_equal(again, some, equal_nan=True)


@both
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_named(method: KeyedNoise, value: float) -> None:
    table = sf.table({"x": [1.0, 2.0, value, 3.0]}, confidential="x")
    with pytest.raises(MethodError, match="column 'x' is infinite in row 3"):
        method.mask_keyed(table, KEY, np.arange(4, dtype=np.uint64))
    with pytest.raises(MethodError, match="column 'x' is infinite in some rows"):
        method.run_on(Divided(table, range(4), [1, 3]), KEY)


@both
def test_values_too_large_to_calculate_with_are_named(method: KeyedNoise) -> None:
    words: dict[str, Any] = {"amount": 10.0}
    table = sf.table({"x": np.resize([1.7e308, -1.7e308], 50)}, confidential="x")
    method = method.model_copy(update=words | ({"restore": False} if method.correlated else {}))
    with pytest.raises(MethodError, match="made no finite number of column 'x'"):
        method.mask_keyed(table, KEY, np.arange(50, dtype=np.uint64))
