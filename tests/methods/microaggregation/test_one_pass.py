"""One-pass k-means beside its oracle, and within blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.kernels.groups import group_means
from sfumato.kernels.micro.one_pass import median_blocks, one_pass
from tests.oracle.one_pass import one_pass as naive


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(5, 40), st.integers(1, 3))
def test_as_the_oracle(seed: int, k: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 9, (n, d)).astype(float)
    order, freed = rng.permutation(n), rng.permutation(n)
    labels = one_pass(points, k, order, freed)
    assert labels.tolist() == naive(points.tolist(), k, order.tolist(), freed.tolist())
    assert np.bincount(labels).min() >= k


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 30))
def test_blocks_hold_every_record_once(seed: int, k: int, most: int) -> None:
    points = np.random.default_rng(seed).random((100, 3))
    found = median_blocks(points, most, k)
    assert sorted(np.concatenate(found).tolist()) == list(range(100))
    assert all(k <= rows.size <= max(most, 2 * k - 1) for rows in found)


def loss(points: np.ndarray, labels: np.ndarray) -> float:
    return float(((points - group_means(labels, points)[labels]) ** 2).sum())


@pytest.mark.parametrize("use", ["one-pass-k-means", "hybrid-k-means"])
def test_a_release_has_groups_of_k(use: str) -> None:
    rng = np.random.default_rng(1)
    table = sf.table(
        {"x": rng.normal(size=300).round(3), "c": rng.choice(["a", "b", "c"], 300)},
        quasi=["x", "c"],
    )
    more = {"block": 50} if use == "hybrid-k-means" else {}
    release = sf.protect(table, sf.method(use, k=4, **more), seed=1, require={"k-anonymity": 4})
    assert release.table.height == 300


def test_blocks_cost_little() -> None:
    """In the plane four blocks' groups are within a tenth of the whole table's."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(800, 2))

    def grouped(rows: np.ndarray) -> np.ndarray:
        return one_pass(points[rows], 5, rng.permutation(rows.size), rng.permutation(rows.size))

    whole = loss(points, grouped(np.arange(800)))
    labels = np.empty(800, dtype=np.int64)
    for number, rows in enumerate(median_blocks(points, 200, 5)):
        labels[rows] = grouped(rows) + 1000 * number
    assert loss(points, np.unique(labels, return_inverse=True)[1]) < 1.1 * whole
