"""Moment-preserving and maximum entropy draws: what is exact, and what is so on average."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.data.points.decoding import apportioned
from sfumato.errors import MethodError, SfumatoError
from sfumato.methods.synthetic.maximum_entropy import MaximumEntropy
from sfumato.methods.synthetic.moment_preserving import MomentPreserving
from tests.contract.tables import TABLES, ordinary
from tests.oracle import synthetic as oracle


def table_of(x: np.ndarray) -> sf.Table:
    frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(x.shape[1])}, nan_to_null=True)
    return sf.table(frame, quasi=frame.columns)


def numbers(table: sf.Table) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in table.names])


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Small integers on any scale: constant, collinear and wide tables are common."""
    n, p = draw(st.integers(3, 20)), draw(st.integers(1, 5))
    row = st.tuples(*[st.integers(-3, 3).map(float)] * p)
    x = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    x = x * draw(st.lists(st.sampled_from([1e-3, 1.0, 1e5]), min_size=p, max_size=p))
    return np.column_stack([x, x.sum(axis=1)]) if draw(st.booleans()) else x


@given(matrices(), st.integers(0, 99), st.sampled_from([0, 3]), st.integers(0, 20))
def test_means_and_covariances_are_exact(
    x: np.ndarray, seed: int, marginals: int, more: int
) -> None:
    method = MomentPreserving(marginals=marginals, records=len(x) + more)
    outcome = method.mask(table_of(x), np.random.default_rng(seed))
    made = numbers(outcome.table)
    size = np.where(np.abs(x).max(axis=0) > 0, np.abs(x).max(axis=0), 1.0)
    assert len(made) == len(x) + more
    assert made.mean(axis=0) / size == pytest.approx(x.mean(axis=0) / size, abs=1e-8)
    wanted, found = oracle.covariance(x / size), oracle.covariance(made / size)
    assert found == pytest.approx(wanted, abs=1e-8)
    assert not outcome.linked


def test_what_is_present_is_exact_in_each_stratum() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)) @ np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1.0]])
    x[:20, 0] = np.nan
    x[50:, 2] = np.nan
    x[59, 1] = np.nan
    outcome = MomentPreserving(records=59).mask(table_of(x), rng)
    made = numbers(outcome.table)
    for pattern, rows in (((1, 0, 0), slice(0, 20)), ((0, 0, 0), slice(20, 50))):
        mine = made[(np.isnan(made) == pattern).all(axis=1)]
        has = np.flatnonzero(np.array(pattern) == 0)
        assert len(mine) == rows.stop - rows.start
        assert np.cov(mine[:, has].T) == pytest.approx(np.cov(x[rows][:, has].T), abs=1e-10)
    assert outcome.facts["records in strata too small to draw"] == 1
    assert "no row stands for them" in outcome.warnings[0]


def test_distributions_come_closer_with_rounds() -> None:
    rng = np.random.default_rng(1)
    x = np.exp(rng.normal(size=(2000, 2)) @ np.array([[1, 0.7], [0, 0.7]]))
    plain = numbers(MomentPreserving().mask(table_of(x), np.random.default_rng(2)).table)
    near = numbers(MomentPreserving(marginals=10).mask(table_of(x), np.random.default_rng(2)).table)
    for j in range(2):
        far, close = (stats.ks_2samp(x[:, j], y[:, j]).statistic for y in (plain, near))
        assert far > 0.15
        assert close < 0.06
    assert np.cov(near.T) == pytest.approx(np.cov(x.T), rel=1e-9)


def test_too_few_rows_to_be_exact_are_said() -> None:
    x = np.random.default_rng(3).normal(size=(30, 5))
    outcome = MomentPreserving(records=4).mask(table_of(x), np.random.default_rng(0))
    assert outcome.table.height == 4
    assert "kept on average only" in outcome.warnings[0]
    wide = MomentPreserving().mask(table_of(x[:5]), np.random.default_rng(0))
    assert "in the plane" in wide.warnings[0]
    assert apportioned(np.array([5, 3, 2]), 7).tolist() == [4, 2, 1]


def test_the_normal_distribution_has_the_greatest_entropy() -> None:
    """Means and covariances over many rows, by z-tests at 6 deviations."""
    rng = np.random.default_rng(4)
    x = np.exp(rng.normal(size=(500, 3)))
    x[:, 2] += x[:, 0]
    n = 40_000
    outcome = MaximumEntropy(records=n).mask(table_of(x), rng)
    made = numbers(outcome.table)
    assert outcome.facts["moments kept"] == 9
    spread = x.std(axis=0, ddof=1)
    assert (np.abs(made.mean(axis=0) - x.mean(axis=0)) < 6 * spread / np.sqrt(n)).all()
    wanted = oracle.covariance(x)
    products = (made - x.mean(axis=0))[:, :, None] * (made - x.mean(axis=0))[:, None, :]
    error = products.std(axis=0) / np.sqrt(n)
    assert (np.abs(products.mean(axis=0) - wanted) < 6 * error).all()
    assert stats.kstest((made[:, 0] - x[:, 0].mean()) / spread[0], "norm").pvalue > 1e-6


def test_within_bounds_it_is_a_normal_distribution_cut_off() -> None:
    rng = np.random.default_rng(5)
    x = stats.truncnorm(-1, 0.5, 2.0, 3.0).rvs(3000, random_state=6)
    method = MaximumEntropy(bounds="range", records=20_000, pool=20_000)
    made = method.mask(table_of(x[:, None]), rng).table["x0"].to_numpy()
    pad = 0.01 * np.ptp(x)
    low, high = x.min() - pad, x.max() + pad
    law = oracle.truncated_normal(float(x.mean()), float(x.var(ddof=1)), low, high)
    assert stats.kstest(made, law.cdf).pvalue > 1e-6
    assert low <= made.min()
    assert made.max() <= high


@pytest.mark.parametrize("third", [False, True])
@pytest.mark.parametrize("intervals", [1, 4])
def test_moments_within_bounds(third: bool, intervals: int) -> None:
    """The error is that of the pool's effective draws and of the rows: z-tests at 6 deviations."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4000, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1.0]])
    x[:, 0] = np.exp(x[:, 0] / 2)
    x[:, 2] = x[:, 0] + x[:, 1]
    method = MaximumEntropy(bounds="range", third=third, intervals=intervals, pool=20_000)
    outcome = method.mask(table_of(x), rng)
    made = numbers(outcome.table)
    size = 1 / (1 / outcome.facts["effective draws in the pool"] + 1 / len(made))
    z, y = ((a - x.mean(axis=0)) / x.std(axis=0, ddof=1) for a in (x, made))
    checks = [lambda u: u, lambda u: u[:, :, None] * u[:, None, :]]
    if third:
        checks.append(lambda u: u**3)
    if intervals > 1:
        edges = np.quantile(z, 0.5, axis=0)
        checks += [lambda u: u > edges, lambda u: u * (u > edges)]
    for check in checks:
        error = 6 * check(y).std(axis=0) / np.sqrt(size)
        assert (np.abs(check(y).mean(axis=0) - check(z).mean(axis=0)) < error).all()
    assert made[:, 2] == pytest.approx(made[:, 0] + made[:, 1], abs=1e-9)
    assert made[:, 0].min() >= 0
    assert np.unique(made[:, 0]).size > 0.95 * len(made)


def test_what_no_density_can_do_is_refused() -> None:
    table = table_of(np.random.default_rng(0).normal(size=(50, 1)))
    with pytest.raises(MethodError, match="without bounds"):
        MaximumEntropy(third=True).mask(table, np.random.default_rng(0))
    two = sf.table({"x": [0.0] * 45 + [1.0] * 5}, quasi="x")
    with pytest.raises(MethodError, match="'x'"):
        MaximumEntropy(bounds="range", intervals=3).mask(two, np.random.default_rng(0))
    many = table_of(np.random.default_rng(0).normal(size=(50, 12)))
    with pytest.raises(MethodError, match="moments are too many"):
        MaximumEntropy(bounds="range", pool=1000).mask(many, np.random.default_rng(0))


@pytest.mark.parametrize("method", [MomentPreserving, MaximumEntropy])
@pytest.mark.parametrize("name", list(TABLES))
def test_any_table(method: type[MomentPreserving | MaximumEntropy], name: str) -> None:
    table = TABLES[name]()
    before = table.frame.clone()
    try:
        outcome = method().mask(table, np.random.default_rng(0))
    except SfumatoError as error:
        assert name in ("one row", "no rows", "all missing", "sets", "sets missing")
        assert "->" in str(error)
        return
    assert table.frame.equals(before)
    assert outcome.table.height == table.height
    assert outcome.table.frame.equals(method().mask(table, np.random.default_rng(0)).table.frame)


@pytest.mark.parametrize("method", [MomentPreserving, MaximumEntropy])
def test_numbers_too_large_are_refused(method: type[MomentPreserving | MaximumEntropy]) -> None:
    huge = sf.table({"x": [1.7e308, -1.7e308, 1.6e308] * 4}, quasi="x")
    with pytest.raises(MethodError, match="rescale"):
        method().mask(huge, np.random.default_rng(0))


def test_patterns_of_missing_values_are_drawn() -> None:
    table = ordinary(missing=True)
    outcome = MaximumEntropy(records=5000).mask(table, np.random.default_rng(0))
    for name in ("age", "pay"):
        share = table[name].is_null().mean()
        assert outcome.table[name].is_null().mean() == pytest.approx(share, abs=0.03)
