"""Robust Mahalanobis distances: what they must not depend on, and where there is no covariance."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.statistics.robust_distance import robust_distances


def _clean(seed: int, n: int = 400) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.3], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("seed", range(5))
def test_without_outliers_they_are_the_classical_ones(seed: int) -> None:
    x = _clean(seed, 4_000)
    centred = x - x.mean(axis=0)
    inverse = np.linalg.inv(np.cov(x.T))
    classical = np.sqrt(np.einsum("ij,jk,ik->i", centred, inverse, centred))
    found = robust_distances(x, 0)
    assert (found.idle, found.flat) == (0, 0)
    assert found.of == pytest.approx(classical, rel=0.25, abs=0.15)


@pytest.mark.parametrize("seed", range(5))
def test_outliers_do_not_hide_one_another(seed: int) -> None:
    x = _clean(seed)
    plain = robust_distances(x, 0).of
    x[:80] += 30.0
    found = robust_distances(x, 0).of
    assert found[:80].min() > 10 * np.median(found[80:])
    assert found[80:] == pytest.approx(plain[80:], rel=0.5, abs=0.5)


@pytest.mark.parametrize("seed", range(5))
def test_a_total_beside_its_parts_changes_nothing(seed: int) -> None:
    x = _clean(seed)
    found = robust_distances(np.column_stack((x, x[:, 0] + x[:, 1])), 0)
    assert (found.idle, found.flat) == (1, 0)
    assert found.of == pytest.approx(robust_distances(x, 0).of, rel=0.3, abs=0.2)


def test_a_column_that_is_mostly_zero_puts_nobody_infinitely_far_out() -> None:
    x = _clean(0)
    x[:, 2] = np.where(np.arange(400) % 5 == 0, x[:, 2], 0.0)
    assert robust_distances(x, 0).of.max() < 30
    equal = robust_distances(np.vstack((np.zeros((50, 2)), np.eye(2))), 0)
    assert equal.flat == 2
    assert equal.of[:50] == pytest.approx(0.0)
    assert equal.of[50:] == pytest.approx([np.sqrt(52)] * 2, rel=0.02)


def test_few_records_are_all_taken() -> None:
    assert robust_distances(np.array([[0.0], [2.0]]), 0).of.tolist() == [1.0, 1.0]
    assert robust_distances(np.array([[5.0, 1.0]]), 0).of.tolist() == [0.0]
    equal = robust_distances(np.ones((20, 2)), 0)
    assert (equal.of.tolist(), equal.idle) == ([0.0] * 20, 2)


def test_the_seed_decides() -> None:
    x = _clean(3)
    assert (robust_distances(x, 7).of == robust_distances(x, 7).of).all()
