"""Moments above the second, and values by class, from noisy data."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.kernels.statistics.deconvolution import Density, in_order
from sfumato.methods.noise.additive import (
    ColouredMixtureNoise,
    CorrelatedNoise,
    MixtureNoise,
    UncorrelatedNoise,
)
from sfumato.methods.noise.multiplicative import Family, MultiplicativeNoise, draw, raw_moments
from sfumato.protocols import Method
from tests.oracle import noise as oracle

N = 200_000
METHODS = [
    UncorrelatedNoise(amount=0.8),
    CorrelatedNoise(amount=0.8),
    CorrelatedNoise(amount=0.8, restore=False),
    ColouredMixtureNoise(amount=0.8, within=0.05, restore=False),
    MixtureNoise(amount=0.8, frames=500, restore=False),
    MultiplicativeNoise(amount=0.02),
    MultiplicativeNoise(amount=0.02, factor="gamma"),
    MultiplicativeNoise(amount=0.02, factor="uniform"),
    MultiplicativeNoise(amount=0.02, factor="truncated"),
    MultiplicativeNoise(amount=0.4, correlated=True),
]


def numbers(n: int = N) -> np.ndarray:
    """Uniform and triangular: light tails, so that fourth moments are told within a per cent."""
    u = np.random.default_rng(11).random((n, 2))
    return np.column_stack([10 + 20 * u[:, 0], 5 + 10 * (u[:, 0] + u[:, 1]) ** 1.5])


def table_of(x: np.ndarray) -> sf.Table:
    return sf.table({"a": x[:, 0], "b": x[:, 1]}, quasi=["a", "b"])


def central(x: np.ndarray) -> list[float]:
    centred = x - x.mean()
    return [float(np.mean(centred**3)), float(np.mean(centred**4))]


@pytest.fixture
def no_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longest, and are tested elsewhere."""
    nothing = Density(np.zeros(1), np.ones(1), 0, True)
    for place in ("base.density", "multiplicative.deconvolve"):
        monkeypatch.setattr(f"sfumato.methods.noise.{place}", lambda *_, **__: nothing)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.usefixtures("no_distributions")
def test_third_and_fourth_moments_come_back(method: Method, whole: bool) -> None:
    x = np.rint(numbers()) if whole else numbers()
    table = table_of(x.astype(np.int64) if whole else x)
    made = method.mask(table, np.random.default_rng([2, 0]))
    assert "moments" in method.recovers
    found = method.recover(made.table, made.facts)["moments"]
    for j, name in enumerate(("a", "b")):
        third, fourth = central(x[:, j])
        scale = x[:, j].std()
        masked = central(made.table[name].to_numpy().astype(float))
        off = abs(masked[1] - fourth) / scale**4
        # Standard errors of a fourth moment at this size are 0.02 deviations.
        assert found[name]["fourth"] / scale**4 == pytest.approx(fourth / scale**4, abs=0.1)
        assert found[name]["third"] / scale**3 == pytest.approx(third / scale**3, abs=0.06)
        assert off > 0.25  # and were not there before
        assert found[name]["kurtosis"] == pytest.approx(fourth / scale**4, abs=0.15)
        assert found[name]["skewness"] == pytest.approx(third / scale**3, abs=0.08)


def test_the_moments_are_those_of_the_binomial_formula() -> None:
    x = numbers(500)
    made = UncorrelatedNoise(amount=0.5).mask(table_of(x), np.random.default_rng(1))
    found = UncorrelatedNoise(amount=0.5).recover(made.table, made.facts)
    for name in ("a", "b"):
        spread = 0.5 * found["covariance"][name][name]
        raw = oracle.moments_without(
            made.table[name].to_list(), [1.0, 0.0, spread, 0.0, 3 * spread**2]
        )
        third, fourth = oracle.central(raw)
        # Theirs divide by n.
        assert found["moments"][name]["third"] == pytest.approx(third, rel=0.02)
        assert found["moments"][name]["fourth"] == pytest.approx(fourth, rel=0.02)


@pytest.mark.parametrize("family", ["lognormal", "gamma", "uniform", "truncated"])
def test_moments_of_factors_are_those_of_draws(family: Family) -> None:
    drawn = draw(family, 0.05, (2_000_000,), np.random.default_rng(0))
    for power, told in zip((2, 3, 4), raw_moments(family, 0.05), strict=True):
        assert told == pytest.approx(np.mean(drawn**power), rel=0.004)


def test_too_few_values_have_no_higher_moments() -> None:
    table = sf.table({"a": [1.0, 2.0, 4.0], "b": [1.0, 3.0, 2.0]}, quasi=["a", "b"])
    for method in (UncorrelatedNoise(), MultiplicativeNoise()):
        made = method.mask(table, np.random.default_rng(0))
        assert method.recover(made.table, made.facts)["moments"]["a"] == {}


def test_values_are_assigned_in_their_order() -> None:
    rng = np.random.default_rng(3)
    values, at = rng.normal(size=97), np.sort(rng.normal(size=12))
    share = rng.dirichlet(np.ones(12))
    assert in_order(values, at, share).tolist() == oracle.assigned(values, at, share)
    values[5] = np.nan
    assert np.flatnonzero(np.isnan(in_order(values, at, share))).tolist() == [5]


@pytest.mark.parametrize(
    "method", [CorrelatedNoise(amount=0.5), MultiplicativeNoise(amount=0.05)], ids=str
)
def test_each_class_gets_its_own_distribution_back(method: CorrelatedNoise) -> None:
    """Two classes side by side, which the noise mixes."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 6000)
    x = np.column_stack([20 + 10 * group + 8 * rng.random(6000), rng.normal(50, 5, 6000)])
    made = method.mask(table_of(x), np.random.default_rng(1))
    noisy = made.table["a"].to_numpy()
    back = method.by_group(made.table, made.facts, group)["a"]
    for one in (0, 1):
        mine = group == one
        before, after = (
            np.abs(np.sort(found[mine]) - np.sort(x[mine, 0])).mean() for found in (noisy, back)
        )
        assert after < 0.5 * before
    beyond = [(found[group == 0] > 29).mean() for found in (noisy, back)]
    assert beyond[1] < 0.5 * beyond[0]
    assert beyond[0] > 0.05
