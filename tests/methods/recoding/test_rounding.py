"""Rounding beside its sets of attraction, written out in fractions."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.kernels.masking.rounding import (
    group_means,
    lloyd,
    multiples,
    nearest_vector,
    nice_base,
    to_points,
)
from sfumato.methods.numeric.base import NumericMethod
from sfumato.methods.recoding.rounding import MultivariateRounding, RandomRounding, Rounding
from sfumato.protocols import Outcome
from tests.oracle import rounding as oracle

Z = 6.0
"""A normal deviate beyond it in 1 of 500 million draws."""

values = st.floats(-1e6, 1e6, allow_nan=False) | st.integers(-200, 200).map(lambda i: i / 4)
bases = st.sampled_from([1.0, 2.0, 5.0, 0.5, 0.1, 0.25, 7.0, 1e-3, 1000.0])


def masked(method: NumericMethod, table: sf.Table, seed: int = 0) -> Outcome:
    return method.mask(table, np.random.default_rng(seed))


def numbers(**columns: Any) -> sf.Table:
    return sf.table(columns, quasi=list(columns))


@given(st.lists(values, min_size=1, max_size=20), bases)
def test_multiples_lie_where_their_set_of_attraction_says(x: list[float], base: float) -> None:
    out = masked(Rounding(base=base), numbers(x=x)).table["x"].to_list()
    for before, after in zip(x, out, strict=True):
        assert after == pytest.approx(oracle.to_multiple(before, base) * base, rel=1e-14, abs=1e-12)


def test_half_way_goes_up_and_no_dust_is_left() -> None:
    x = np.array([0.15, 0.25, 0.35, 0.49999999999999994, -0.5, -1.5, 2.5, 0.1 + 0.2])
    assert multiples(x[3:7], 1.0).tolist() == [0.0, 0.0, -1.0, 3.0]
    assert multiples(np.array([0.3000001, 0.7]), 0.1).tolist() == [0.3, 0.7]
    assert str(multiples(np.array([-0.2]), 1.0)[0]) == "0.0"


@given(st.lists(st.floats(0, 130, allow_nan=False), min_size=1, max_size=20))
def test_given_points_are_those_of_the_slide(x: list[float]) -> None:
    """p_i = b i, i = 1..r: the ends attract everything beyond them, zero included."""
    points = [10.0 * i for i in range(1, 11)]
    made = masked(Rounding(points={"x": points}), numbers(x=x))
    assert made.table["x"].to_list() == [oracle.slide(v, 10, 10) for v in x]
    outside = sum(v < 10 or v > 100 for v in x)
    assert any(f"{outside} values of x" in warning for warning in made.warnings) == (outside > 0)


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=20),
    st.lists(st.integers(-20, 20), min_size=1, max_size=6, unique=True),
)
def test_uneven_points_attract_half_way(x: list[int], points: list[int]) -> None:
    made = masked(Rounding(points={"x": points}), numbers(x=[float(v) for v in x]))
    assert made.table["x"].to_list() == [oracle.to_point(v, points) for v in x]


def test_an_automatic_base_is_a_round_number_below_the_spread() -> None:
    assert [nice_base(s) for s in (0.99, 1.0, 4.99, 0.00123, 123456.0)] == [
        0.5,
        1.0,
        2.0,
        0.001,
        100000.0,
    ]
    rng = np.random.default_rng(0)
    x = rng.normal(0, 30, 500)
    table = numbers(x=x, whole=np.rint(x).astype(int), flag=rng.integers(0, 2, 500))
    made = masked(Rounding(share=0.5), table)
    wanted = nice_base(0.5 * float(np.std(x)))
    assert made.facts["bases"] == {"x": wanted, "whole": wanted, "flag": 1.0}
    assert made.table["whole"].dtype.is_integer()
    assert (made.table["whole"].to_numpy() % wanted == 0).all()
    assert made.warnings == ("flag was left as it is: its whole numbers have the base 1",)
    mixed = masked(Rounding(base={"x": 7}), table)
    assert mixed.facts["bases"]["x"] == 7
    halves = masked(Rounding(base=2.5), numbers(v=[1, 4, 9])).table
    assert halves["v"].to_list() == [0.0, 5.0, 10.0]
    assert masked(Rounding(base=2.5), numbers(v=[6, 7])).table["v"].to_list() == [5.0, 7.5]


def test_missing_stays_and_what_does_not_fit_is_said() -> None:
    table = numbers(x=[1.2, None, 7.7], s=["a", "b", "c"])
    assert masked(Rounding(base=1), table).table["x"].to_list() == [1.0, None, 8.0]
    with pytest.raises(MethodError, match="'s', which it does not act on"):
        masked(Rounding(base={"s": 2}), table)
    with pytest.raises(MethodError, match="too large"):
        masked(Rounding(share=10), numbers(x=[1e300, -1e300]))
    with pytest.raises(ValidationError, match="both a base and points"):
        Rounding(base={"x": 2}, points={"x": [1.0]})
    with pytest.raises(ValidationError, match="no points"):
        Rounding(points={"x": []})


@pytest.mark.parametrize("how", [{"base": 10.0}, {"points": {"x": [-100.0, -3.0, 4.0, 100.0]}}])
def test_random_rounding_keeps_every_value_in_expectation(how: dict[str, Any]) -> None:
    """A z-test of the mean and of the variance (x - p)(q - x), value by value."""
    n = 40_000
    for x in (-33.0, -2.0, 0.0, 1.25, 47.5):
        table = numbers(x=np.full(n, x))
        out = masked(RandomRounding(**how), table, seed=3).table["x"].to_numpy()
        points = np.unique(how["points"]["x"]) if "points" in how else np.arange(-100.0, 101, 10)
        low, high = points[points <= x].max(), points[points >= x].min()
        assert set(np.unique(out)) <= {low, high}
        spread = (x - low) * (high - x)
        assert abs(out.mean() - x) <= Z * np.sqrt(spread / n)
        assert np.var(out) == pytest.approx(spread, rel=0.1, abs=1e-9)


@given(st.lists(values, min_size=1, max_size=20), st.integers(0, 5))
def test_random_rounding_goes_to_a_neighbour(x: list[float], seed: int) -> None:
    out = masked(RandomRounding(base=4.0), numbers(x=x), seed).table["x"].to_numpy()
    assert (np.abs(out - x) < 4.0).all()
    assert (out % 4 == 0).all()
    exact = np.array(x) % 4 == 0
    assert (out[exact] == np.array(x)[exact]).all()


@given(st.data())
def test_the_nearest_vector_is_that_of_the_oracle(data: st.DataObject) -> None:
    p = data.draw(st.integers(1, 3))
    cell = st.integers(-9, 9).map(float)
    row = st.lists(st.none() | cell, min_size=p, max_size=p)
    rows = data.draw(st.lists(row, min_size=1, max_size=15))
    vectors = data.draw(st.lists(st.lists(cell, min_size=p, max_size=p), min_size=1, max_size=6))
    x = np.array([[np.nan if v is None else v for v in r] for r in rows])
    found = nearest_vector(x, np.array(vectors))
    assert found.tolist() == [oracle.nearest(r, vectors) for r in rows]


def test_given_points_of_several_columns() -> None:
    table = numbers(x=[0.0, 1.0, 9.0, None], y=[0.0, 2.0, 9.0, 8.0])
    made = masked(MultivariateRounding(points=((0, 0), (10, 10))), table)
    assert made.table["x"].to_list() == [0.0, 0.0, 10.0, None]
    assert made.table["y"].to_list() == [0.0, 0.0, 10.0, 10.0]
    with pytest.raises(MethodError, match="3 numbers and there are 2 columns"):
        masked(MultivariateRounding(points=((0, 0, 0),)), table)
    with pytest.raises(ValidationError, match="different numbers"):
        MultivariateRounding(points=((0, 0), (1,)))


def test_centres_are_means_of_the_records_rounded_to_them() -> None:
    rng = np.random.default_rng(4)
    middles = np.array([[0.0, 0.0], [50.0, 10.0], [0.0, 90.0]])
    x = np.repeat(middles, 100, axis=0) + rng.normal(0, 1, (300, 2))
    made = masked(MultivariateRounding(count=3), numbers(x=x[:, 0], y=x[:, 1])).table
    out = made.frame.to_numpy()
    points, label = np.unique(out, axis=0, return_inverse=True)
    assert len(points) == 3
    for i, point in enumerate(points):
        np.testing.assert_allclose(point, x[label.reshape(-1) == i].mean(axis=0), rtol=1e-9)
    again = masked(MultivariateRounding(count=3), numbers(x=x[:, 0], y=x[:, 1]), seed=9).table
    assert again.frame.equals(made.frame), "nothing is drawn"


@given(st.integers(1, 5), st.integers(1, 30), st.integers(0, 20))
def test_no_centre_has_too_few_records(fewest: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = numbers(x=rng.standard_cauchy(40), y=rng.standard_normal(40))
    made = masked(MultivariateRounding(count=count, fewest=fewest), table)
    sizes = made.table.frame.group_by("x", "y").len()["len"]
    assert sizes.min() >= fewest
    assert made.facts["blocks"][0]["points"] <= count


def test_blocks_are_rounded_apart() -> None:
    rng = np.random.default_rng(2)
    table = numbers(**{name: rng.standard_normal(200) for name in "abcd"})
    made = masked(MultivariateRounding(blocks=(("c", "a"), ("b",)), count=4), table).table
    assert made["d"].equals(table["d"])
    alone = masked(MultivariateRounding(columns=("b",), count=4), table).table
    assert alone["b"].equals(made["b"])
    together = masked(MultivariateRounding(columns=("c", "a"), count=4), table).table
    assert together.frame.select("a", "c").equals(made.frame.select("a", "c"))
    assert made.frame.select("a", "c").unique().height <= 4
    with pytest.raises(ValidationError, match="two blocks"):
        MultivariateRounding(blocks=(("a",), ("a", "b")))


def test_lloyd_lowers_the_squares_and_ends_in_means() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((400, 3))
    start = x[:5]
    ended = lloyd(x, start, 200)

    def squares(centres: np.ndarray) -> float:
        return float(((x - centres[nearest_vector(x, centres)]) ** 2).sum())

    assert squares(ended) < squares(lloyd(x, start, 1)) < squares(start)
    label = nearest_vector(x, ended)
    for i in range(5):
        np.testing.assert_allclose(ended[i], x[label == i].mean(axis=0))


def test_points_and_nan() -> None:
    x = np.array([np.nan, 3.0])
    for uniforms in (None, np.array([0.5, 0.5])):
        found = to_points(x, np.array([1.0]), uniforms)
        assert np.isnan(found[0])
        assert found[1] == 1.0
    assert pl.Series(multiples(x, 2.0)).is_nan().to_list() == [True, False]


@given(st.data())
def test_means_of_groups_rest_on_enough_values(data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 5))
    fewest = data.draw(st.integers(1, 5))
    cell = st.none() | st.integers(-50, 50).map(float)
    rows = data.draw(
        st.lists(st.tuples(st.integers(0, k - 1), cell, cell), min_size=1, max_size=25)
    )
    # So spread that no two distances are equal.
    places = [[float(4**g), float(-(3**g))] for g in data.draw(st.permutations(range(k)))]
    x = np.array([[np.nan if v is None else v for v in row[1:]] for row in rows])
    means, _ = group_means(x, np.array([row[0] for row in rows]), np.array(places), fewest)
    for j in range(2):
        own: list[list[float]] = [[] for _ in range(k)]
        for row in rows:
            if row[1 + j] is not None:
                own[row[0]].append(row[1 + j])
        expected = [np.nan] * k
        for group in oracle.joined_groups([len(v) for v in own], places, fewest):
            values = [v for g in group for v in own[g]]
            assert len(values) >= fewest
            for g in group:
                expected[g] = sum(values) / len(values)
        published = [bool(v) for v in own]
        np.testing.assert_allclose(means[published, j], np.array(expected)[published], atol=1e-9)


def test_a_lone_value_among_missing_ones_is_not_published() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=60) + np.repeat(np.arange(6) * 10.0, 10)
    b = rng.normal(size=60)
    b[:10] = np.nan
    b[3] = 123.456
    made = masked(MultivariateRounding(count=6), numbers(a=a, b=b))
    out = made.table["b"].to_numpy()
    assert not np.isin(out, b).any()
    # It shares its mean with the next centre, whose own mean would tell it otherwise.
    with_it = np.flatnonzero(out == out[3])
    assert with_it.size >= 4
    assert out[3] == pytest.approx(b[with_it].mean())
    for value in np.unique(out[~np.isnan(out)]):
        assert value == pytest.approx(b[out == value].mean())
        assert (out == value).sum() >= 3
    assert made.facts["blocks"][0]["means shared in a column"] == 1
    assert len(np.unique(made.table["a"])) == 6, "the other column keeps its centres"


def test_centres_found_in_a_sample_are_means_of_all_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sfumato.methods.recoding.rounding._SAMPLE", 100)
    x = np.random.default_rng(0).normal(size=(400, 2))
    rich = [5, 77, 203, 391]
    x[rich] = [[91234.567, 8.1], [91240.1, 8.3], [91250.9, 8.2], [91260.3, 8.4]]
    made = masked(MultivariateRounding(), numbers(x=x[:, 0], y=x[:, 1])).table
    out = made.frame.to_numpy()
    assert not np.isin(out[:, 0], x[:, 0]).any()
    np.testing.assert_allclose(out[rich], [x[rich].mean(axis=0)] * 4, rtol=1e-12)
    points, label = np.unique(out, axis=0, return_inverse=True)
    assert len(points) > 10
    for i, point in enumerate(points):
        np.testing.assert_allclose(point, x[label.reshape(-1) == i].mean(axis=0), atol=1e-9)


def test_a_column_of_too_few_values_is_suppressed() -> None:
    table = numbers(x=np.arange(20.0), y=[5.5, 6.5, *[None] * 18])
    made = masked(MultivariateRounding(count=4), table)
    assert made.table["y"].null_count() == 20
    assert made.table.suppressed("y").tolist() == [True, True, *[False] * 18]
    assert any(said.startswith("y was suppressed") for said in made.warnings)
    assert len(set(made.table["x"])) == 4
    two = masked(MultivariateRounding(), numbers(x=[1, 2]))
    assert two.table.suppressed("x").all()
    given_points = masked(MultivariateRounding(points=((0, 6), (10, 5))), table).table
    assert given_points["y"].to_list()[:2] == [6.0, 6.0]


def test_means_of_equal_and_of_huge_numbers() -> None:
    assert set(masked(MultivariateRounding(), numbers(x=[0.1] * 7)).table["x"]) == {0.1}
    out = masked(MultivariateRounding(count=1), numbers(x=[1e308] * 4)).table["x"]
    assert out.to_list() == [1e308] * 4
