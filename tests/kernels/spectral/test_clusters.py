"""Spectral clustering beside dense matrices and clusters that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.spectral import clusters as kernel
from sfumato.kernels.spectral.clusters import (
    Affinity,
    Graph,
    chosen_width,
    k_means,
    leading,
    merged,
    places,
    spectral_clusters,
)
from sfumato.kernels.statistics.clusterings import agreement
from tests.oracle import pica as oracle


def blobs(sizes: list[int], p: int, seed: int, apart: float = 8.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centres = apart * np.eye(len(sizes), p)
    order = rng.permutation(truth.size)
    return (centres[truth] + rng.standard_normal((truth.size, p)))[order], truth[order]


@pytest.mark.parametrize("n", [30, 400])
def test_leading_eigenvectors_are_those_of_a_dense_solver(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, 3))
    dense = oracle.laplacian(x, 1.0)
    single = dense.astype(np.float32)
    values, vectors = leading(single.__matmul__, n, 6, rng, tolerance=1e-5)
    wanted, right = np.linalg.eigh(dense)
    assert values == pytest.approx(wanted[::-1][:6], abs=1e-5)
    turned = np.abs(np.einsum("ij,ij->j", vectors, right[:, ::-1][:, :6]))
    assert turned == pytest.approx(np.ones(6), abs=1e-3)


def test_eigenvalues_that_occur_twice_are_all_found() -> None:
    x, _ = blobs([150] * 4, 4, 0, apart=60.0)
    single = oracle.laplacian(x[:400], 2.0).astype(np.float32)
    values, _ = leading(single.__matmul__, 400, 4, np.random.default_rng(0))
    assert values == pytest.approx(np.ones(4), abs=1e-4)


@pytest.mark.parametrize("kind", ["exact", "nystrom"])
def test_places_are_those_of_the_dense_laplacian(kind: Affinity) -> None:
    x, _ = blobs([60, 60, 60], 3, 1, apart=4.0)
    graph = Graph(3.0, kind, landmarks=180)
    rng = np.random.default_rng(0)
    found = places((x - x.mean(axis=0)).astype(np.float32), 3, graph, 3.0, rng)
    # Up to a turn of the whole: inner products are compared. Nystrom has ones on the diagonal.
    plain = oracle.places(x, 3, 3.0)
    close = 0.01 if kind == "exact" else 0.1
    assert found @ found.T == pytest.approx(plain @ plain.T, abs=close)


@pytest.mark.parametrize("kind", ["auto", "exact", "nystrom", "neighbours"])
def test_separate_clusters_are_found(kind: Affinity) -> None:
    x, truth = blobs([120, 80, 100, 150], 5, 2)
    found = spectral_clusters(
        x, np.random.default_rng(0), clusters=4, graph=Graph(affinity=kind, landmarks=100)
    )
    assert agreement(found.label, truth)["adjusted-rand"] == 1.0


def test_rings_within_each_other_are_told_apart() -> None:
    """What k-means alone cannot do."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 600)
    radius = np.repeat([1.0, 5.0], 300) + 0.1 * rng.standard_normal(600)
    x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    found = spectral_clusters(x, rng, clusters=2, graph=Graph(0.5))
    assert agreement(found.label, np.repeat([0, 1], 300))["adjusted-rand"] == 1.0


def test_large_tables_are_divided_into_parts_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "EXACT", 500)
    monkeypatch.setattr(kernel, "PART", 300)
    x = np.random.default_rng(0).standard_normal((1800, 6))
    found = spectral_clusters(x, np.random.default_rng(0), size=50, graph=Graph(2.0, landmarks=100))
    sizes = np.bincount(found.label)
    assert found.parts == 6
    assert 35 < np.median(sizes) < 60
    assert sizes.max() <= 150
    again = spectral_clusters(x, np.random.default_rng(0), size=50, graph=Graph(2.0, landmarks=100))
    assert (found.label == again.label).all()


def test_threads_never_alter_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MOST", 4)
    x = np.random.default_rng(0).standard_normal((600, 4))
    labels = []
    for threads in (1, 3):
        monkeypatch.setattr(kernel, "cores", lambda threads=threads: threads)
        labels.append(spectral_clusters(x, np.random.default_rng(5), size=40).label)
    assert (labels[0] == labels[1]).all()


def test_the_width_grows_with_the_data() -> None:
    x, _ = blobs([100, 100], 3, 0)
    one = chosen_width(x.astype(np.float32), 2, np.random.default_rng(0))
    ten = chosen_width((10 * x).astype(np.float32), 2, np.random.default_rng(0))
    assert ten == pytest.approx(10 * one, rel=0.01)


def test_k_means_finds_separate_clusters_and_their_distortion() -> None:
    x, truth = blobs([50, 50, 50], 3, 3, apart=30.0)
    label, within = k_means(x, 3, np.random.default_rng(0))
    assert agreement(label, truth)["adjusted-rand"] == 1.0
    plain = sum(((x[truth == c] - x[truth == c].mean(axis=0)) ** 2).sum() for c in range(3))
    assert within == pytest.approx(plain)


def test_equal_records_make_one_cluster() -> None:
    found = spectral_clusters(np.ones((50, 2)), np.random.default_rng(0), clusters=5)
    assert (found.label == 0).all()


@given(st.integers(1, 80), st.integers(1, 5), st.integers(1, 12), st.integers(0, 2**32))
def test_every_record_has_a_cluster_and_merging_leaves_none_too_small(
    n: int, p: int, clusters: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_normal((n, p)), 1)
    found = spectral_clusters(x, rng, clusters=clusters)
    assert found.label.min() == 0
    assert np.bincount(found.label).min() >= 1
    assert found.label.max() < clusters
    label, joined = merged(x, found.label, 7, 2)
    sizes = np.bincount(label)
    assert sizes.size == np.bincount(found.label).size - joined
    assert sizes.min() >= min(7, n)
    rank = np.linalg.matrix_rank(x - x.mean(axis=0))
    for c in range(sizes.size):
        own = x[label == c]
        assert sizes.size == 1 or np.linalg.matrix_rank(own - own.mean(axis=0)) >= min(rank, 2)


def test_a_small_cluster_joins_the_nearest() -> None:
    x = np.array([[0.0], [0.1], [0.2], [5.0], [9.0], [9.1], [9.2]])
    label, joined = merged(x, np.array([0, 0, 0, 1, 2, 2, 2]), 2, 1)
    assert joined == 1
    assert label.tolist() == [0, 0, 0, 1, 1, 1, 1]
