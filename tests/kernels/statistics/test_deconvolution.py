"""EM deconvolution beside its naive form, and how near it comes to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from sfumato.kernels.statistics.deconvolution import bins, centres, deconvolve, density, places
from tests.oracle import noise as oracle


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_each_step_is_the_mean_posterior(steps: int) -> None:
    rng = np.random.default_rng(steps)
    counts, edges = bins(rng.normal(0, 2, 300), 0.3)
    at = centres(edges)
    found = deconvolve(counts, edges, at, ndtr, tolerance=-np.inf, most_steps=steps)
    share = [1 / at.size] * at.size
    for _ in range(steps):
        share = oracle.em_step(counts.tolist(), edges.tolist(), at, share, oracle.normal_cdf)
    assert found.probability == pytest.approx(share, abs=1e-12)
    assert found.steps == steps
    assert not found.converged


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=60),
    st.floats(1e-3, 1e3),
    st.booleans(),
)
def test_probabilities_and_bins(values: list[float], width: float, whole: bool) -> None:
    x = np.round(values) if whole else np.array(values)
    counts, edges = bins(x, width, whole=whole)
    assert counts.sum() == x.size
    assert counts.size <= 512
    if whole:
        assert np.allclose(edges % 1, 0.5)
    found = density(x, lambda t: ndtr(t / width), width, whole=whole)
    assert found.probability.sum() == pytest.approx(1)
    assert (found.probability >= 0).all()
    assert (np.diff(found.at) > 0).all()


def test_bins_are_narrow_where_the_values_crowd() -> None:
    """One of the range's two halves holds a thousandth of the values; none is narrower than asked
    for, and each value lies nearer to the middle of its bin than with bins of one width."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(0, 1, 9990), rng.uniform(0, 1000, 10)])
    counts, edges = bins(x, 0.1, most=100)
    assert counts.size == 100
    assert counts.tolist() == np.histogram(x, edges)[0].tolist()
    assert counts.sum() == x.size
    widths = np.diff(edges)
    assert widths.min() >= 0.0999
    crowd = (centres(edges) > -2) & (centres(edges) < 2)
    assert widths[crowd].max() <= 0.2
    even = np.linspace(x.min(), x.max(), 101)
    off = [
        np.abs(centres(e)[np.clip(np.searchsorted(e, x) - 1, 0, 99)] - x).mean()
        for e in (edges, even)
    ]
    assert off[0] < 0.03 * off[1]


def test_wide_bins_are_placed_at_the_mean_of_their_values() -> None:
    edges = np.array([0.0, 1.0, 11.0, 12.0])
    at = places(np.array([0.2, 1.5, 2.5, 11.9]), edges, 1.0)
    assert at == pytest.approx([0.5, 2.0, 11.5])


def test_a_grid_wider_than_the_noise_is_told() -> None:
    x = np.random.default_rng(0).normal(0, 1, 5000)
    assert not density(x, lambda t: ndtr(t / 0.1), 0.1).coarse
    assert density(x, lambda t: ndtr(t / 1e-4), 1e-4).coarse
    tail = np.append(x, 1e4)
    assert not density(tail, lambda t: ndtr(t / 0.1), 0.1).coarse, "one value is no harm"


SHAPES = {
    "two humps": lambda rng: np.where(
        rng.random(8000) < 0.3, rng.normal(-2, 0.5, 8000), rng.normal(2, 0.5, 8000)
    ),
    "uniform": lambda rng: rng.random(8000),
    "lognormal": lambda rng: rng.lognormal(0, 0.8, 8000),
    "normal": lambda rng: rng.normal(0, 1, 8000),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("amount", [0.2, 0.5])
def test_it_comes_near_the_distribution_behind_the_noise(name: str, amount: float) -> None:
    """Much nearer than the noisy values are; stopped before it fits the sample's accidents."""
    rng = np.random.default_rng(5)
    x = SHAPES[name](rng)
    deviation = np.sqrt(amount * x.var())
    y = x + deviation * rng.standard_normal(x.size)
    found = density(y, lambda t: ndtr(t / deviation), deviation)
    assert found.converged
    masked = oracle.wasserstein(np.sort(y), np.full(y.size, 1 / y.size), x)
    assert oracle.wasserstein(found.at, found.probability, x) < 0.5 * masked


def test_more_steps_fit_the_accidents() -> None:
    """Why the climb is stopped: the maximum of the likelihood is further from the truth."""
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, 5000)
    y = x + np.sqrt(0.5) * rng.standard_normal(x.size)
    counts, edges = bins(y, 0.1)
    at = centres(edges)
    noise = lambda t: ndtr(t / np.sqrt(0.5))  # noqa: E731
    stopped = deconvolve(counts, edges, at, noise)
    climbed = deconvolve(counts, edges, at, noise, tolerance=-np.inf, most_steps=2000)
    assert stopped.steps < 100
    errors = [oracle.wasserstein(at, one.probability, x) for one in (stopped, climbed)]
    assert errors[0] < 0.7 * errors[1]


def test_rounded_values_and_values_that_were_pulled_back() -> None:
    rng = np.random.default_rng(2)
    x = rng.choice([3.0, 9.0], 5000)
    y = np.round(6 + (x + rng.standard_normal(x.size) - 6) / 2)
    found = density(y, ndtr, 0.5, whole=True, back=lambda v: 6 + 2 * (v - 6))
    low = found.probability[found.at < 6].sum()
    assert low == pytest.approx((x == 3).mean(), abs=0.01)
    assert found.at @ found.probability == pytest.approx(x.mean(), abs=0.1)


def test_degenerate_input() -> None:
    one = density(np.full(7, 2.5), ndtr, 1.0)
    assert one.at.tolist() == [2.5]
    assert one.probability.tolist() == [1.0]
    with pytest.raises(ValueError, match="beyond the reach"):
        deconvolve(
            np.array([1, 1, 1]), np.arange(4.0), np.array([1.5]), lambda t: (t > 0).astype(float)
        )
