"""Scores drawn anew between their neighbours, beside a plain version."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.kernels.spectral.smoothed_scores import _drawn, smoothed
from tests.oracle import column_swap as oracle


@st.composite
def columns(draw: st.DrawFn) -> np.ndarray:
    """Numbers, categories, rare ones, groups far apart, and an outlier."""
    n = draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    x = rng.standard_t(3, size=n)
    kind = draw(st.sampled_from(["numbers", "rounded", "binary", "atom", "groups", "constant"]))
    if kind == "rounded":
        x = np.round(x)
    elif kind == "binary":
        x = np.where(rng.random(n) < draw(st.sampled_from([0.02, 0.1, 0.5])), 1.0, -1.0)
    elif kind == "atom":
        x = np.maximum(x, 0.0)
    elif kind == "groups":
        x += 50.0 * rng.integers(0, 3, size=n)
    elif kind == "constant":
        x[:] = 0.1
    if draw(st.booleans()):
        x[-1] = 1000.0
    return x


@given(columns(), st.integers(0, 30), st.integers(0, 5))
def test_draws_are_those_of_the_plain_version(x: np.ndarray, width: int, seed: int) -> None:
    s, uniform = np.sort(x), np.random.default_rng(seed).random(len(x))
    found = _drawn(s, width, 0.0, uniform)
    assert found == pytest.approx(np.array(oracle.smoothed(s.tolist(), width, uniform.tolist())))


@given(columns(), st.integers(0, 30), st.integers(0, 5))
def test_means_and_deviations_stay(x: np.ndarray, width: int, seed: int) -> None:
    scores = np.column_stack([x, -x, 2.0 * x + 1.0])
    kept = scores.copy()
    made = smoothed(scores, width, np.random.default_rng(seed), threads=1)
    assert (scores == kept).all()
    assert (made == smoothed(scores, width, np.random.default_rng(seed), threads=3)).all()
    assert made.mean(axis=0) == pytest.approx(scores.mean(axis=0), abs=1e-9)
    assert made.std(axis=0) == pytest.approx(scores.std(axis=0), rel=1e-9, abs=1e-12)
    if width == 0:
        assert (made == scores).all()


def test_nobodys_score_is_there_and_distributions_are() -> None:
    x = np.random.default_rng(0).standard_t(5, size=(2000, 8))
    for width in (1, 5, 50):
        made = smoothed(x, width, np.random.default_rng(1))
        assert not np.isin(made, x).any()
        for j in range(8):
            assert stats.ks_2samp(x[:, j], made[:, j]).statistic < 0.02
            assert stats.spearmanr(x[:, j], made[:, j]).statistic > 0.99


def test_an_extreme_is_shared_by_its_neighbours() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 1))
    x[0] = 40.0
    for seed in range(20):
        assert smoothed(x, 20, np.random.default_rng(seed)).max() < 20
    # A group far out stays a group, but nobody's value in it.
    x[:8] = 40.0 + np.random.default_rng(1).normal(size=(8, 1))
    made = smoothed(x, 20, np.random.default_rng(0))
    assert (made > 20).sum() == 8
    assert np.abs(np.sort(made[made > 20]) - np.sort(x[:8, 0])).min() > 1e-6


@pytest.mark.parametrize("share", [0.003, 0.01, 0.1, 0.5])
def test_categories_stay_categories(share: float) -> None:
    x = np.where(np.arange(1000) < 1000 * share, 1.0, -1.0)[:, None]
    made = np.array([smoothed(x, 50, np.random.default_rng(seed))[:, 0] for seed in range(40)])
    if share > 0.003:  # four or more
        assert made == pytest.approx(np.tile(x[:, 0], (40, 1)))
    assert (made > 0).mean() == pytest.approx(share, rel=0.3)


def test_rounding_does_not_part_equal_scores() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random(500) < 0.3, 0.1, -0.02)[:, None]
    made = smoothed(x * (1 + 1e-15 * rng.normal(size=x.shape)), 20, rng)
    assert made == pytest.approx(x)
