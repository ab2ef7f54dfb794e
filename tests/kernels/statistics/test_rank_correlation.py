"""Rank correlations, the normal ones behind them, and the nearest correlation matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.statistics.rank_correlation import (
    completed,
    known_pairs,
    latent_correlation,
    nearest_correlation,
    pairwise_correlation,
    rank_correlation,
)
from sfumato.kernels.statistics.rank_refinement import refined_ranks
from tests.oracle import synthetic as oracle


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=4, max_size=25))
def test_spearman_with_ties(rows: list[tuple[int, int]]) -> None:
    x = np.array(rows, dtype=float)
    found = rank_correlation(x)[0, 1]
    if min(np.ptp(x, axis=0)) == 0:
        assert found == 0
    else:
        assert found == pytest.approx(oracle.spearman(*x.T), abs=1e-12)


def test_pairs_that_miss_a_value_are_left_out() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)) + 1e6
    x[rng.random((50, 3)) < 0.3] = np.nan
    found = pairwise_correlation(x)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(x[:, i]) & ~np.isnan(x[:, j])
        assert found[i, j] == pytest.approx(np.corrcoef(x[both, i], x[both, j])[0, 1], abs=1e-9)


def columns_with(shares: list[list[float]], n: int) -> np.ndarray:
    counts = [np.rint(np.array(s) * n).astype(int) for s in shares]
    return np.column_stack([np.repeat(np.arange(c.size), c) for c in counts])


@pytest.mark.parametrize("rho", [-0.9, -0.4, 0.2, 0.7])
def test_the_normal_correlation_behind_tied_columns(rho: float) -> None:
    """Against sums of bivariate normal probabilities; pairs are so many that nothing is shrunk."""
    a, b = [0.3, 0.7], [0.1, 0.5, 0.2, 0.2]
    wanted = oracle.rank_correlation_behind(rho, a, b)
    x = columns_with([a, b], 10)
    many = np.repeat(x, 100_000, axis=0).astype(float)
    found = latent_correlation(many, np.array([[1, wanted], [wanted, 1]]))
    assert found[0, 1] == pytest.approx(rho, abs=2e-4)


@given(st.floats(-0.99, 0.99))
def test_without_ties_it_is_the_arc_sine(rank: float) -> None:
    x = np.column_stack([np.arange(3000.0)] * 2)
    found = latent_correlation(x, np.array([[1, rank], [rank, 1]]))[0, 1]
    assert found == pytest.approx(2 * np.sin(np.pi * rank / 6), abs=2e-3)


def test_rare_values_do_not_make_great_correlations_of_little() -> None:
    x = np.zeros((150, 2))
    x[0, 0] = x[1:3, 1] = 1.0
    ranks = rank_correlation(x)
    assert ranks[0, 1] == pytest.approx(-0.0095, abs=1e-3)
    assert abs(latent_correlation(x, ranks)[0, 1]) < 0.1


def test_nearest_correlation_of_higham() -> None:
    """The example of Higham (2002), section 4."""
    given = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    found, change = nearest_correlation(given)
    wanted = np.array([[1, 0.7607, 0.1573], [0.7607, 1, 0.7607], [0.1573, 0.7607, 1]])
    assert found == pytest.approx(wanted, abs=1e-4)
    assert change == pytest.approx(0.2393, abs=1e-4)


@given(st.integers(2, 7), st.integers(0, 99))
def test_nearest_correlation_is_one(p: int, seed: int) -> None:
    given = np.random.default_rng(seed).uniform(-1, 1, (p, p))
    given = np.clip((given + given.T) / 2, -1, 1)
    np.fill_diagonal(given, 1.0)
    found, change = nearest_correlation(given)
    assert np.linalg.eigvalsh(found).min() > -1e-9
    assert np.diag(found) == pytest.approx(np.ones(p), abs=1e-12)
    assert change == pytest.approx(np.abs(found - given).max())
    assert nearest_correlation(found)[1] < 1e-9


def test_what_cannot_be_seen_follows_from_the_others() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(4000, 2))
    value = z[:, 0] * 0.8 + rng.normal(size=4000) * 0.6
    absent = z[:, 0] + rng.normal(size=4000) > 0.5
    x = np.column_stack([np.where(absent, np.nan, value), absent, z[:, 0], z[:, 1]])
    known = known_pairs(x)
    assert not known[0, 1]
    assert known.sum() == 14
    found = completed(pairwise_correlation(x), known)
    # The link goes through z alone; the part of it that selection leaves visible is smaller.
    assert found[0, 1] == pytest.approx(np.corrcoef(value, absent)[0, 1], abs=0.1)
    assert found[0, 1] > 0.2


@pytest.mark.parametrize("ties", [False, True])
def test_refinement_meets_the_rank_correlations(ties: bool) -> None:
    rng = np.random.default_rng(2)
    latent = np.array([[1.0, 0.8, -0.5], [0.8, 1, -0.2], [-0.5, -0.2, 1]])
    x = rng.normal(size=(2000, 3)) @ np.linalg.cholesky(latent).T
    if ties:
        x = np.floor(x)
    wanted = rank_correlation(x)
    placed = np.sort(x, axis=0)
    published = np.column_stack([oracle.mean_ranks(column) for column in placed[::20].T])
    published = np.repeat(published, 20, axis=0)
    found = refined_ranks(latent_correlation(x, wanted), wanted, published, rng, tolerance=2e-3)
    assert (np.sort(found.ranks, axis=0) == np.arange(2000)[:, None]).all()
    shown = rank_correlation(np.take_along_axis(published, found.ranks, axis=0))
    assert np.abs(shown - wanted).max() == pytest.approx(found.gap, abs=1e-9)
    assert found.gap <= 2e-3
    worse = refined_ranks(latent, wanted, published, np.random.default_rng(2), rounds=0)
    assert worse.gap > found.gap
