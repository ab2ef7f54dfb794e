"""Frames, tails, tilted densities, condensation and local regression, each against the obvious."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.kernels.statistics.tails import fit_tail, inverse, tail_size
from sfumato.kernels.synthesis.condensation import condense
from sfumato.kernels.synthesis.frames import factors, frame, off, span, strata_of, whitened
from sfumato.kernels.synthesis.local_regression import carried_over
from sfumato.kernels.synthesis.max_entropy import systematic, tilt
from tests.oracle import synthetic as oracle


@given(st.integers(0, 99), st.integers(1, 4), st.integers(1, 3))
def test_a_frame_is_orthonormal_and_off_the_basis(seed: int, rank: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    basis = span(rng.normal(size=(12, q)))
    f = frame(12, rank, basis, rng)
    assert f.T @ f == pytest.approx(np.eye(rank), abs=1e-12)
    assert f.T @ basis == pytest.approx(np.zeros((rank, q)), abs=1e-12)
    assert off(basis, basis) == pytest.approx(np.zeros((12, q)), abs=1e-12)


def test_frames_have_no_favourite_direction() -> None:
    """Each entry of a random frame has mean zero and variance 1/n: z-tests at 5 deviations."""
    rng = np.random.default_rng(4)
    many = np.array([frame(6, 2, np.empty((6, 0)), rng) for _ in range(4000)])
    assert np.abs(many.mean(axis=0)).max() < 5 * np.sqrt(1 / 6 / 4000)
    assert np.abs((many**2).mean(axis=0) - 1 / 6).max() < 5 * np.sqrt(2 / 36 / 4000)


def test_factors_leave_out_what_is_no_variation() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    x = np.column_stack([x, x.sum(axis=1), np.zeros(30)])
    found = factors(x, np.ones(4))
    assert found.rank == 2
    assert found.loadings.T @ found.loadings == pytest.approx(x.T @ x, abs=1e-10)
    assert span(x).shape == (30, 2)
    assert whitened(x) is None
    white = whitened(x[:, :2])
    assert white is not None
    assert white.T @ white == pytest.approx(np.eye(2), abs=1e-12)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=12))
def test_strata(gaps: list[list[bool]]) -> None:
    missing = np.array(gaps)
    found = strata_of(missing)
    assert sorted(np.concatenate([s.rows for s in found]).tolist()) == list(range(len(gaps)))
    patterns = []
    for stratum in found:
        for row in stratum.rows:
            assert np.flatnonzero(~missing[row]).tolist() == stratum.present.tolist()
        patterns.append(tuple(stratum.present))
    assert len(set(patterns)) == len(patterns)


@pytest.mark.parametrize("shape", [-0.4, 0.0, 0.3])
def test_tails_recover_their_law(shape: float) -> None:
    law = stats.genpareto(shape, scale=2.0)
    excesses = np.sort(law.rvs(20_000, random_state=1))
    found = fit_tail(excesses, 7.0)
    assert found.shape == pytest.approx(shape, abs=0.05)
    assert found.scale == pytest.approx(2.0, abs=0.1)
    left = np.array([0.9, 0.5, 0.1])
    exact = stats.genpareto(found.shape, scale=found.scale).ppf(1 - left)
    assert found.excess(left) == pytest.approx(exact, rel=1e-9)
    # The mean of the law is the mean of the excesses, whatever the shape.
    assert found.scale / (1 - found.shape) == pytest.approx(excesses.mean())


def test_the_inverse_distribution() -> None:
    x = np.concatenate([np.random.default_rng(3).lognormal(size=5000), [np.nan]])
    u = (np.arange(20_000) + 0.5) / 20_000
    smooth = inverse(u, x, tail=0.02)
    assert (np.diff(smooth) >= -1e-12).all()
    assert stats.ks_2samp(smooth, x[:-1]).statistic < 0.01
    assert smooth.min() >= 0
    assert smooth.mean() == pytest.approx(np.nanmean(x), rel=0.02)
    assert np.isin(inverse(u, x, interpolate=False), x).all()
    assert not np.isin(np.nanmax(x), smooth)
    assert tail_size(8, 0.02) == 0
    assert tail_size(60, 0.02) == 10


@given(st.floats(0.05, 0.95), st.integers(2, 30))
def test_tilting_meets_the_mean_with_the_greatest_entropy(mean: float, n: int) -> None:
    points = np.linspace(0, 1, n)
    found = tilt(points[:, None], np.array([mean]), np.zeros(n))
    assert found.met
    assert found.weights @ points == pytest.approx(mean, abs=1e-6)
    # Exponential in the point: ratios of neighbours are all the same.
    ratios = np.diff(np.log(found.weights))
    assert ratios == pytest.approx(np.full(n - 1, ratios[0]), abs=1e-6)


def test_tilting_says_when_it_cannot() -> None:
    found = tilt(np.linspace(0, 1, 9)[:, None], np.array([1.5]), np.zeros(9))
    assert not found.met


def test_systematic_draws_each_point_about_its_share() -> None:
    weights = np.array([0.5, 0.3, 0.2])
    counts = np.bincount(systematic(weights, 1001, np.random.default_rng(0)))
    assert np.abs(counts - 1001 * weights).max() < 1


def test_condensed_groups_keep_their_covariance_in_expectation() -> None:
    """Means exact; covariances over many draws by z-tests at 6 deviations."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 3)) @ np.array([[1, 2, 0], [0, 1, 1], [0, 0, 3.0]])
    many = np.repeat(x[None], 20_000, axis=0)
    found = condense(many, np.ones(3), rng, centre=True)
    assert found.y.mean(axis=1) == pytest.approx(many.mean(axis=1), abs=1e-9)
    dev = found.y - found.y.mean(axis=1, keepdims=True)
    own = dev.transpose(0, 2, 1) @ dev / 3
    error = own.std(axis=0) / np.sqrt(len(own))
    assert (np.abs(own.mean(axis=0) - oracle.covariance(x)) < 6 * error).all()
    free = condense(many, np.ones(3), rng, centre=False).y - x.mean(axis=0)
    scatter = free.transpose(0, 2, 1) @ free / 4
    error = scatter.std(axis=0) / np.sqrt(len(scatter))
    assert (np.abs(scatter.mean(axis=0) - oracle.covariance(x) * 3 / 4) < 6 * error).all()
    assert np.abs(free.mean(axis=(0, 1))).max() < 6 * free.std() / np.sqrt(free.shape[0] * 4)


def test_local_regression_against_a_search() -> None:
    rng = np.random.default_rng(6)
    points, values = rng.normal(size=(12, 2)), rng.normal(size=12)
    near = np.array([[3, 4, 5, 6], [7, 8, 9, -1]])
    rows, donor = np.array([0, 1]), np.array([4, 9])
    found = carried_over(points, values, rows, donor, near)
    for i in range(2):
        own = near[i][near[i] >= 0]
        slopes = oracle.ridge(points[own], values[own], 1.0)
        wanted = values[donor[i]] + slopes @ (points[rows[i]] - points[donor[i]])
        assert found[i] == pytest.approx(wanted, abs=1e-5)
