"""What an analyst gets back from noisy data: means, covariances, distributions.

Recovered figures are unbiased: over many draws from one table their mean must lie within 5.5
standard errors of the original's.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.kernels.statistics.deconvolution import Density
from sfumato.methods.noise.additive import (
    ColouredMixtureNoise,
    CorrelatedNoise,
    DensityNoise,
    MixtureNoise,
    UncorrelatedNoise,
)
from sfumato.methods.noise.multiplicative import MultiplicativeNoise
from sfumato.methods.noise.normal_score import NormalScoreNoise
from sfumato.methods.noise.resampled import ResampledNoise
from sfumato.protocols import Method
from tests.oracle import noise as oracle
from tests.oracle.expectation import MOST_ERRORS, agree
from tests.oracle.methods import covariance

B = 0.4
METHODS = [
    UncorrelatedNoise(amount=B),
    CorrelatedNoise(amount=B),
    CorrelatedNoise(amount=B, restore=False),
    ResampledNoise(amount=B, restore=False),
    ResampledNoise(amount=B, restore=False, equivalents=2, rounds=3),
    MixtureNoise(amount=B, restore=False),
    ColouredMixtureNoise(amount=B, restore=False),
    DensityNoise(),
    MultiplicativeNoise(amount=0.1),
    MultiplicativeNoise(amount=0.1, factor="gamma"),
    MultiplicativeNoise(amount=0.1, factor="truncated"),
]


def numbers(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((n, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    return np.column_stack([10 * np.exp(base[:, 0] / 2), 1000 * base[:, 1] + 3000])


def as_table(x: np.ndarray) -> sf.Table:
    return sf.table({f"v{j}": x[:, j] for j in range(x.shape[1])}, quasi=["v0", "v1"])


def recovered(method: Method, table: sf.Table, seed: int) -> Any:
    outcome = method.mask(table, np.random.default_rng([1, seed]))  # not the data's own stream
    return method.recover(outcome.table, json.loads(json.dumps(dict(outcome.facts))))


def as_array(found: Any) -> np.ndarray:
    rows = [list(row.values()) for row in found["covariance"].values()]
    return np.array([list(found["mean"].values()), *rows])


@pytest.fixture
def no_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longest, and have tests of their own."""
    nothing = Density(np.zeros(1), np.ones(1), 0, True)
    for place in ("base.density", "multiplicative.deconvolve"):
        monkeypatch.setattr(f"sfumato.methods.noise.{place}", lambda *_, **__: nothing)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.usefixtures("no_distributions")
@pytest.mark.statistical
def test_means_and_covariances_come_back(method: Method) -> None:
    assert {"mean", "covariance"} <= set(method.recovers)
    x = numbers(60)
    found = np.array([as_array(recovered(method, as_table(x), seed)) for seed in range(120)])
    agree(found, np.vstack([x.mean(axis=0), covariance(x)]))


@pytest.mark.statistical
def test_density_noise_is_taken_out_where_missing_goes_with_density() -> None:
    """The dense half lacks most values of the first column, which gets more noise than the other;
    a tenth more or less than is published would be seen."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2)) * np.repeat([0.05, 2.0], 150)[:, None]
    x[:150, 0] = np.where(rng.random(150) < 0.9, np.nan, x[:150, 0])
    table, method = as_table(x), DensityNoise(amount=4)
    found = np.array([as_array(recovered(method, table, seed)) for seed in range(600)])
    wanted = [np.nanvar(x[:, 0], ddof=1), np.var(x[:, 1], ddof=1)]
    variances = found[:, [1, 2], [0, 1]]
    agree(variances, np.array(wanted))
    first, second = method.mask(table, np.random.default_rng(0)).facts["relative_variance"]
    assert first > 1.2 * second
    allowed = MOST_ERRORS * variances.std(axis=0) / np.sqrt(600) / np.array(wanted)
    assert (allowed < 0.1 * np.array([first, second]) / (1 + np.array([first, second]))).all()


def test_correlated_factors_average_one() -> None:
    """Each of them: without the half variance that is subtracted they would be 1.28."""
    x = numbers(4000)
    x[:, 1] = np.exp(x[:, 1] / 2000)
    method = MultiplicativeNoise(amount=2.0, correlated=True)
    table = as_table(x)
    rngs = (np.random.default_rng([1, seed]) for seed in range(100))
    factors = [(method.mask(table, rng).table.frame.to_numpy() / x).mean(axis=0) for rng in rngs]
    agree(np.array(factors), np.ones(2))
    assert MOST_ERRORS * np.std(factors, axis=0).max() / 10 < 0.01


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.usefixtures("no_distributions")
def test_factors_are_undone_where_missing_goes_with_the_value(correlated: bool) -> None:
    """A covariance is that of the records that have both, and so must its means be."""
    rng = np.random.default_rng(2)
    x = 100 * np.exp(rng.normal(size=(1500, 2)) @ np.array([[0.5, 0.4], [0.0, 0.3]]))
    high, low = x[:, 0] > np.median(x[:, 0]), x[:, 1] < np.quantile(x[:, 1], 0.3)
    x[high, 1] = x[low & ~high, 0] = np.nan
    method = MultiplicativeNoise(amount=0.3, correlated=correlated)
    found = np.array([as_array(recovered(method, as_table(x), seed)) for seed in range(120)])
    both = x[~np.isnan(x).any(axis=1)]
    agree(found[:, 1, 1], np.array(np.cov(both.T)[0, 1]))
    variances = found[:, [1, 2], [0, 1]]
    agree(variances, np.nanvar(x, axis=0, ddof=1))


def test_a_covariance_of_no_records_is_said() -> None:
    x = numbers(40)
    x[:20, 0] = x[20:, 1] = np.nan
    found = recovered(MultiplicativeNoise(correlated=True), as_table(x), 0)
    assert found["covariance"]["v0"]["v1"] == 0
    assert "fewer than 2 records" in found["notes"]["v0"]


def test_correlated_factors_are_undone_by_the_covariance_of_logarithms() -> None:
    """Estimated from the release itself, so with many records: 2 % is five standard errors."""
    x = numbers(60_000)
    x[:, 1] = np.exp(x[:, 1] / 2000)
    method = MultiplicativeNoise(amount=0.5, correlated=True)
    found = as_array(recovered(method, as_table(x), 0))
    assert found[0] == pytest.approx(x.mean(axis=0), rel=0.02)
    assert found[1:] == pytest.approx(covariance(x), rel=0.1)
    masked = method.mask(as_table(x), np.random.default_rng([1, 0])).table.frame.to_numpy()
    off = np.abs(covariance(masked) / covariance(x) - 1)
    assert off.min() > 0.25  # it was far from that before


def test_multiplied_variances_are_those_of_the_formula() -> None:
    x = numbers(500)
    method = MultiplicativeNoise(amount=0.2)
    outcome = method.mask(as_table(x), np.random.default_rng([1, 0]))
    found = method.recover(outcome.table, outcome.facts)["covariance"]
    for name in ("v0", "v1"):
        masked = outcome.table[name].to_list()
        # The formula divides by n, which is too little by the n-th part of a variance.
        wanted = oracle.multiplied_variance(masked, 0.2) + np.var(masked, ddof=1) / 500
        assert found[name][name] == pytest.approx(wanted)


@pytest.mark.parametrize("method", [CorrelatedNoise(), UncorrelatedNoise()], ids=str)
@pytest.mark.usefixtures("no_distributions")
@pytest.mark.statistical
def test_rounding_to_whole_numbers_is_taken_out(method: Method) -> None:
    """Sheppard's 1/12, which is many standard errors here."""
    x = np.random.default_rng(0).poisson(6, (4000, 2))
    table = sf.table({"v0": x[:, 0], "v1": x[:, 1]}, quasi=["v0", "v1"])
    found = np.array([as_array(recovered(method, table, seed)) for seed in range(100)])
    agree(found, np.vstack([x.mean(axis=0), covariance(x.astype(float))]))
    assert (found[:, 1, 0].std() / np.sqrt(100)) * MOST_ERRORS < 1 / 24


def test_noise_that_rounds_away_is_said_to_be_uncorrected() -> None:
    x = np.random.default_rng(0).integers(0, 2, (200, 2))
    table = sf.table({"v0": x[:, 0], "v1": x[:, 1].astype(float)}, quasi=["v0", "v1"])
    notes = recovered(UncorrelatedNoise(), table, 0)["notes"]
    assert notes == {"v0": "noise small beside whole numbers: rounding is not corrected for"}


def test_a_variance_below_zero_is_said() -> None:
    table = as_table(np.column_stack([100 + np.arange(20) / 1e3, np.arange(20.0)]))
    found = [recovered(MultiplicativeNoise(), table, seed) for seed in range(20)]
    below = [one for one in found if one["covariance"]["v0"]["v0"] < 0]
    assert below
    assert all("below zero" in one["notes"]["v0"] for one in below)


SHAPES = {
    "two humps": lambda rng, n: np.where(
        rng.random(n) < 0.4, rng.normal(20, 2, n), rng.normal(40, 3, n)
    ),
    "lognormal": lambda rng, n: rng.lognormal(3, 0.6, n),
}


@pytest.mark.parametrize(
    "method",
    [
        UncorrelatedNoise(amount=0.3),
        CorrelatedNoise(amount=0.3),
        CorrelatedNoise(amount=0.3, restore=False),
        ColouredMixtureNoise(amount=0.3),
        MultiplicativeNoise(amount=0.1),
        MultiplicativeNoise(amount=0.1, factor="gamma"),
        MultiplicativeNoise(amount=0.1, factor="uniform"),
        MultiplicativeNoise(amount=0.1, factor="truncated"),
        MultiplicativeNoise(amount=0.3, correlated=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("whole", [False, True])
def test_distributions_come_back(method: Method, whole: bool) -> None:
    assert "distribution" in method.recovers
    rng = np.random.default_rng(4)
    x = np.column_stack([make(rng, 4000) for make in SHAPES.values()])
    x = np.clip(np.round(x), 1, None).astype(np.int64) if whole else x
    table = sf.table({"v0": x[:, 0], "v1": x[:, 1]}, quasi=["v0", "v1"])
    outcome = method.mask(table, np.random.default_rng([1, 0]))
    found = method.recover(outcome.table, outcome.facts)["distribution"]
    for j, name in enumerate(["v0", "v1"]):
        at, probability = (np.array(found[name][key]) for key in ("at", "probability"))
        assert probability.sum() == pytest.approx(1)
        assert (np.diff(at) > 0).all()
        masked = outcome.table[name].to_numpy()
        before = oracle.wasserstein(np.sort(masked), np.full(4000, 1 / 4000), x[:, j])
        assert oracle.wasserstein(at, probability, x[:, j]) < 0.6 * before


def test_a_heavy_tail_leaves_the_crowd_its_resolution() -> None:
    """Most of a Pareto column lies in the first thousandth of its range."""
    x = np.random.default_rng(4).pareto(2.1, 200_000)
    table, method = sf.table({"a": x}, quasi=["a"]), CorrelatedNoise(amount=0.05)
    outcome = method.mask(table, np.random.default_rng(0))
    found = method.recover(outcome.table, outcome.facts)
    at, probability = (np.array(found["distribution"]["a"][key]) for key in ("at", "probability"))
    masked = outcome.table["a"].to_numpy()
    median = at[np.searchsorted(np.cumsum(probability), 0.5)]
    assert abs(median - np.median(x)) < abs(np.median(masked) - np.median(x))
    distance = stats.wasserstein_distance
    assert distance(at, x, probability) < 0.4 * distance(masked, x)
    assert at @ probability == pytest.approx(masked.mean(), rel=0.01)
    assert "notes" not in found


@pytest.mark.parametrize(
    "method", [UncorrelatedNoise(amount=1e-6), MultiplicativeNoise(amount=1e-8)], ids=str
)
def test_a_grid_wider_than_the_noise_is_said(method: Method) -> None:
    table = as_table(numbers(2000))
    notes = recovered(method, table, 0)["notes"]
    assert all("wider than it" in notes[name] for name in ("v0", "v1"))


def test_signs_and_zeros_are_recovered_as_they_are() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([-rng.lognormal(1, 0.5, 300), np.zeros(200), rng.lognormal(4, 0.5, 500)])
    table = sf.table({"x": x}, quasi=["x"])
    found = recovered(MultiplicativeNoise(), table, 0)["distribution"]["x"]
    at, probability = np.array(found["at"]), np.array(found["probability"])
    shares = [probability[which].sum() for which in (at < 0, at == 0, at > 0)]
    assert shares == pytest.approx([0.3, 0.2, 0.5])
    assert (np.diff(at) > 0).all()


def test_missing_values_are_left_aside() -> None:
    x = numbers(4000)
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    for method in (CorrelatedNoise(amount=B), MultiplicativeNoise()):
        found = as_array(recovered(method, as_table(x), 0))
        assert found[0] == pytest.approx(np.nanmean(x, axis=0), rel=0.05)
        assert np.diag(found[1:]) == pytest.approx(np.nanvar(x, axis=0, ddof=1), rel=0.2)


def test_nothing_to_recover_and_not_from_another_table() -> None:
    assert NormalScoreNoise.recovers == ()
    table = as_table(numbers(20))
    with pytest.raises(MethodError, match="as it is"):
        NormalScoreNoise().recover(table, {"columns": ["v0"]})
    with pytest.raises(MethodError, match="resampled-noise recovers no distributions"):
        ResampledNoise().marginals(np.eye(2), 0.1)
    other = sf.table({"v0": ["a", "b"], "v1": [1.0, 2.0]}, quasi=["v0", "v1"])
    with pytest.raises(MethodError, match="'v0' holds nominal values"):
        UncorrelatedNoise().recover(other, {"columns": ["v0", "v1"], "relative_variance": 0.1})
