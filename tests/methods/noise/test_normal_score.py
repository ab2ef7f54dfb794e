"""Noise between normal scores: marginal distributions are kept in expectation, of every kind."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.methods.noise.normal_score import NormalScoreNoise
from sfumato.methods.recoding.global_recoding import GlobalRecoding
from sfumato.protocols import Method
from tests.contract.tables import ordinary
from tests.oracle import noise as oracle
from tests.oracle.expectation import MOST_ERRORS, agree


def stream(seed: int) -> np.random.Generator:
    """Not the one that the data come from."""
    return np.random.default_rng([1, seed])


def skewed(n: int) -> sf.Table:
    base = np.random.default_rng(0).standard_normal((n, 2)) @ np.array([[1, 0.8], [0, 0.6]])
    return sf.table({"a": np.exp(base[:, 0]), "b": 1e6 * base[:, 1]}, confidential=["a", "b"])


def matrix(table: sf.Table) -> np.ndarray:
    return table.frame.to_numpy()


def draws(method: Method, table: sf.Table, of: int) -> list[sf.Table]:
    return [method.mask(table, stream(seed)).table for seed in range(of)]


def each(tables: list[sf.Table], statistic: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.array([statistic(matrix(table)) for table in tables])


def shares(table: sf.Table, name: str) -> np.ndarray:
    counts = dict(table[name].drop_nulls().value_counts().iter_rows())
    return np.array([counts.get(value, 0) for value in sorted(ordinary()[name].unique())])


@pytest.mark.parametrize("amount", [0.1, 3.0])
@pytest.mark.statistical
def test_normal_score_noise_keeps_the_shares_of_categories(amount: float) -> None:
    table = ordinary()
    made = draws(NormalScoreNoise(amount=amount), table, 100)
    for name in ("sex", "level", "zip", "illness"):
        found = np.array([shares(one, name) for one in made])
        agree(found, shares(table, name))
        assert (found.std(axis=0) > 0).all()


@pytest.mark.parametrize("between", [True, False])
@pytest.mark.statistical
def test_normal_score_noise_keeps_means_and_distributions(between: bool) -> None:
    table = skewed(30)
    x = matrix(table)
    method = NormalScoreNoise(amount=0.8, between=between)
    made = draws(method, table, 400)
    agree(each(made, lambda y: y.mean(axis=0)), x.mean(axis=0))
    for j in range(2):
        # Between two values, where straight lines and steps agree best.
        ordered = np.sort(x[:, j])
        cuts = (ordered[4:29:5] + ordered[5:30:5]) / 2
        below = each(made, lambda y, j=j, cuts=cuts: (y[:, [j]] <= cuts).mean(axis=0))
        agree(below, (x[:, [j]] <= cuts).mean(axis=0))
    if not between:
        assert all(set(made[0][name]) <= set(table[name]) for name in table.names)


def test_normal_score_noise_keeps_the_mean_of_an_outlier() -> None:
    """Straight lines through any other points than (i - 1/2) / m would give it too much weight."""
    x = [0.0, 0.0, 0.0, 0.0, 0.0, 100.0]
    made = draws(NormalScoreNoise(amount=2.0), sf.table({"x": x}, quasi=["x"]), 1000)
    agree(each(made, lambda y: y.mean(axis=0)), np.array([100 / 6]))


def test_normal_score_noise_maps_back_by_the_distribution() -> None:
    """One column, its scores and its noise drawn again by hand."""
    values = [3.0, 1.0, 1.0, 7.0, 3.0, 1.0]
    table = sf.table({"x": values}, quasi=["x"])
    b = 0.7
    made = NormalScoreNoise(amount=b, between=False).mask(table, stream(3)).table
    rng = stream(3)
    ties = rng.random(6)
    order = sorted(range(6), key=lambda i: (values[i], ties[i]))
    points = rng.random(6)
    normal = NormalDist()
    score = [0.0] * 6
    for place, i in enumerate(order):
        score[i] = normal.inv_cdf((place + 1 - points[place]) / 6)
    noise = rng.standard_normal((6, 1))[:, 0]
    for i in range(6):
        u = normal.cdf((score[i] + np.sqrt(b) * noise[i]) / np.sqrt(1 + b))
        assert made["x"][i] == oracle.value_at(values, u)


@pytest.mark.parametrize("amount", [1.0, 10.0])
def test_normal_score_noise_keeps_the_correlation_of_normal_data(amount: float) -> None:
    """And the deviation, which the division by sqrt(1 + b) brings back."""
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 20_000)
    table = sf.table({"a": x[:, 0], "b": x[:, 1]}, quasi=["a", "b"])
    out = matrix(NormalScoreNoise(amount=amount).mask(table, rng).table)
    error = (1 - 0.7**2) / np.sqrt(20_000)
    assert abs(np.corrcoef(out.T)[0, 1] - np.corrcoef(x.T)[0, 1]) < MOST_ERRORS * np.sqrt(2) * error
    widest = MOST_ERRORS / np.sqrt(2 * 20_000)
    assert out.std(axis=0) == pytest.approx(x.std(axis=0), rel=widest)


def test_normal_score_noise_takes_every_kind_and_keeps_the_types() -> None:
    table = ordinary(missing=True)
    outcome = NormalScoreNoise().mask(table, stream(0))
    assert outcome.facts["columns"] == [*table.schema.quasi, *table.schema.confidential]
    for name in outcome.facts["columns"]:
        assert outcome.table[name].dtype == table[name].dtype
        assert outcome.table.schema[name] == table.schema[name]
        assert (outcome.table[name].is_null() == table[name].is_null()).all()
        assert set(outcome.table[name]) != {None}
    happy = NormalScoreNoise(columns=("happy",)).mask(table, stream(0)).table
    assert happy["happy"].dtype == pl.Boolean


def recoded_and_suppressed() -> sf.Table:
    rng = np.random.default_rng(0)
    table = sf.table(
        {"age": rng.integers(18, 90, 300), "zip": rng.choice(list("abcdefgh"), 300)},
        quasi=["age", "zip"],
    )
    table = GlobalRecoding(breaks={"age": (30, 50, 70)}).mask(table, rng).table
    gone = rng.random(300) < 0.2
    star, null = pl.Series(["*"]), pl.Series([None], dtype=pl.String)
    series = [
        table["age"].zip_with(pl.Series(~gone), star),
        table["zip"].zip_with(pl.Series(~gone), null),
    ]
    return table.with_columns(series, suppressed={"age": gone, "zip": gone})


def test_normal_score_noise_leaves_suppressed_cells_suppressed() -> None:
    table = recoded_and_suppressed()
    for seed in range(3):
        made = NormalScoreNoise(amount=1.0).mask(table, stream(seed)).table
        for name in ("age", "zip"):
            before = table.suppressed(name)
            assert 0 < before.sum() < before.size
            assert (made.suppressed(name) == before).all()
            assert made[name].filter(before).equals(table[name].filter(before), null_equal=True)
            assert not made[name].filter(~before).equals(table[name].filter(~before))


def test_normal_score_noise_leaves_a_column_that_is_suppressed_throughout() -> None:
    table = recoded_and_suppressed()
    gone = table.take(np.flatnonzero(table.suppressed("age")))
    made = NormalScoreNoise(columns=("age",)).mask(gone, stream(0)).table
    assert set(made["age"]) == {"*"}


@pytest.mark.parametrize("closeness", [0.5, 0.9])
def test_rows_drawn_again_are_never_short_in_scores_and_keep_the_marginals(
    closeness: float,
) -> None:
    """In one column the noise that is left has two humps, and still no quantile moves."""
    n = 20_000
    table = sf.table({"x": np.exp(np.random.default_rng(0).standard_normal(n))}, quasi="x")
    method = NormalScoreNoise(amount=0.5, closeness=closeness, between=False)
    outcome = method.mask(table, stream(0))
    x, y = np.sort(table["x"].to_numpy()), outcome.table["x"].to_numpy()
    u = np.searchsorted(x, y, side="right") / n
    assert np.abs(np.sort(u) - (np.arange(n) + 0.5) / n).max() < 1.95 / np.sqrt(n)
    assert outcome.facts["relative_variance"] == pytest.approx(0.5, rel=0.02)
    # Above what plain noise leaves near: a record's rank among all moves by little less often.
    near = np.abs(u - np.searchsorted(x, table["x"].to_numpy(), side="right") / n) < 0.02
    plain = NormalScoreNoise(amount=0.5, between=False).mask(table, stream(0)).table
    before = np.searchsorted(x, plain["x"].to_numpy(), side="right") / n
    rank = np.searchsorted(x, table["x"].to_numpy(), side="right") / n
    assert near.mean() < 0.6 * (np.abs(before - rank) < 0.02).mean()


def test_more_rounds_leave_fewer_rows_of_scores_without_equivalents() -> None:
    table = skewed(150)
    for rounds in (1, 30):
        method = NormalScoreNoise(amount=0.1, equivalents=3, rounds=rounds)
        outcome = method.mask(table, stream(0))
        lacking = outcome.facts["without_equivalents_share"]
        assert lacking > 0 or rounds == 30
        said = [w for w in outcome.warnings if f"{round(150 * lacking)} of 150" in w]
        assert len(said) == (lacking > 0)
        assert outcome.facts["relative_variance"] > 0.1
    few = NormalScoreNoise(amount=0.1, equivalents=3, rounds=1).mask(table, stream(0))
    assert lacking < few.facts["without_equivalents_share"]


def test_rows_are_drawn_again_for_columns_of_every_kind_with_missing_values() -> None:
    table = ordinary()
    outcome = NormalScoreNoise(amount=0.3, closeness=0.75, equivalents=2).mask(table, stream(0))
    for name in outcome.facts["columns"]:
        before, after = table[name], outcome.table[name]
        assert before.is_null().to_list() == after.is_null().to_list()
        assert before.dtype == after.dtype or before.dtype.is_integer()
    assert 0 < outcome.facts["redrawn_share"] <= 1
