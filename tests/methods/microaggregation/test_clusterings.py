"""Clusterings as partitioners: sizes, determinism, losses on the CASC files, and clear refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.points.space import Space
from sfumato.errors import MethodError, ParameterError
from sfumato.kernels.groups import group_means
from sfumato.kernels.micro.size_repair import repair
from sfumato.kernels.micro.trees._cut import cut_longest
from sfumato.kernels.micro.trees._mst import minimum_spanning_tree
from sfumato.methods.microaggregation import hierarchical
from sfumato.methods.microaggregation.base import Grouping, Microaggregator
from sfumato.methods.microaggregation.clusterer import Clusterer, estimators
from sfumato.methods.microaggregation.delaunay import Delaunay, mesh
from sfumato.methods.microaggregation.fuzzy import Fuzzy
from sfumato.methods.microaggregation.genetic import Genetic
from sfumato.methods.microaggregation.hierarchical import MaxDistanceWard
from sfumato.methods.microaggregation.matching import RecursiveMatching
from tests.oracle.clusterings import cut_mesh

EIA = ["UTILITYID"] + [
    f"{sector}{measure}"
    for sector, sold in [("RES", "SALES"), ("COM", "SALES"), ("IND", "SALES"), ("OTH", "RSALES"),
                         ("TOT", "SALES")]
    for measure in ("REVENUE", sold)
]  # fmt: skip


def space_of(points: np.ndarray) -> Space:
    n, d = points.shape
    return Space(
        names=tuple(f"x{j}" for j in range(d)),
        numbers=np.ascontiguousarray(points, dtype=float),
        number_owner=np.arange(d),
        codes=np.empty((n, 0), np.int32),
        code_weights=np.empty(0),
        code_owner=np.empty(0, np.int64),
    )


def found(method: Microaggregator, points: np.ndarray, seed: int = 1) -> Grouping:
    got = method.groups(space_of(points), np.random.default_rng(seed))
    return got if isinstance(got, Grouping) else Grouping(got)


KINDS: list[tuple[type[Microaggregator], dict[str, Any]]] = [
    (MaxDistanceWard, {}),
    (Fuzzy, {"rounds": 5}),
    (Fuzzy, {"draw": False, "clusters": 3, "rounds": 5}),
    (Genetic, {"population": 3, "generations": 3}),
    (RecursiveMatching, {}),
    (RecursiveMatching, {"neighbours": 1}),
    (Delaunay, {}),
    (Clusterer, {"options": {"n_init": 1}}),
    (Clusterer, {"estimator": "DBSCAN"}),
]


@pytest.mark.parametrize(("kind", "options"), KINDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    d=st.integers(0, 3),
    k=st.integers(2, 6),
    shape=st.sampled_from(["free", "grid", "line", "equal"]),
)
@settings(max_examples=15)
def test_groups_have_k_to_2k_minus_1(
    kind: type[Microaggregator], options: dict[str, Any], seed: int, n: int, d: int, k: int,
    shape: str,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(max(n, k), d))
    if shape == "grid":
        x = np.round(x)
    elif shape == "line":
        x = np.outer(x.sum(axis=1), np.arange(1.0, d + 1))
    elif shape == "equal":
        x = np.full(x.shape, 1 / 3)
    before = x.copy()
    method = kind(k=k, **options)
    got = found(method, x)
    sizes = np.bincount(got.labels)
    assert got.labels.shape == (len(x),)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert got.labels.tolist() == found(method, x).labels.tolist()
    assert np.array_equal(x, before)


def _loss(x: np.ndarray, labels: np.ndarray) -> float:
    return 100 * float(np.sum((x - group_means(labels, x)[labels]) ** 2) / np.sum(x**2))


# MDAV loses 16.933, 9.088 and 3.840 here. The bounds lie a little above what was found when they
# were set, or three deviations over orders of the rows, so that a change for the worse shows.
@pytest.mark.golden
@pytest.mark.parametrize(
    ("kind", "options", "bounds"),
    [
        (MaxDistanceWard, {}, (16.3, 9.1, 2.2)),
        (Genetic, {"population": 10, "generations": 30}, (15.1, 8.1, 2.1)),
        (RecursiveMatching, {}, (18.0, 11.2, 4.8)),
        (Fuzzy, {"draw": False}, (18.0, 9.2, 2.4)),
        (Clusterer, {"options": {"n_init": 1}}, (18.5, 9.6, 2.5)),
    ],
)
def test_losses_on_the_casc_files(
    kind: type[Microaggregator],
    options: dict[str, Any],
    bounds: tuple[float, float, float],
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    for name, k, bound in zip(("tarragona", "census", "eia"), (3, 5, 10), bounds, strict=True):
        frame = pl.read_csv(shared_data("casc") / f"{name}.csv")
        raw = frame.select(EIA if name == "eia" else pl.all()).to_numpy().astype(float)
        x = (raw - raw.mean(axis=0)) / raw.std(axis=0)
        loss = _loss(x, found(kind(k=k, **options), x).labels)
        golden_record(f"{kind.name} {name} k={k}", f"<= {bound}", round(loss, 3))
        assert loss <= bound


def test_a_fuzzy_group_is_not_determined_by_the_values() -> None:
    x = np.random.default_rng(2).normal(size=(300, 2))
    drawn = [found(Fuzzy(k=4, exponent=2.0), x, seed) for seed in (1, 1, 2)]
    assert drawn[0].labels.tolist() == drawn[1].labels.tolist()
    assert drawn[0].labels.tolist() != drawn[2].labels.tolist()
    assert drawn[0].facts["drawn_elsewhere"] > 30
    crisp = found(Fuzzy(k=4, exponent=2.0, draw=False), x)
    assert crisp.facts["drawn_elsewhere"] == 0
    assert _loss(x, crisp.labels) < _loss(x, drawn[0].labels)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 25), d=st.integers(1, 3))
@settings(max_examples=25)
def test_the_mesh_is_cut_as_it_is_told(seed: int, n: int, d: int) -> None:
    # Edge by edge on the whole mesh, as the docstring says, against the spanning tree alone.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    k = int(rng.integers(2, n // 2 + 1))
    edges, joggled = mesh(x)
    lengths = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    expected = repair(x, cut_mesh(n, edges, lengths, k), k)
    assert not joggled
    assert found(Delaunay(k=k), x).labels.tolist() == expected.tolist()


def test_the_mesh_holds_the_shortest_spanning_tree() -> None:
    x = np.random.default_rng(5).normal(size=(2000, 2))
    tree = minimum_spanning_tree(x)
    expected = repair(x, cut_longest(*tree, 4), 4)
    assert found(Delaunay(k=4), x).labels.tolist() == expected.tolist()


def test_a_mesh_of_flat_and_repeated_records() -> None:
    rng = np.random.default_rng(6)
    plane = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 7))  # seven columns, two dimensions
    got = found(Delaunay(k=3), np.repeat(plane, 2, axis=0))
    assert got.facts["dimensions"] == 2
    pairs = got.labels.reshape(60, 2)
    # Copies part only where a group of 2k or more is split.
    assert np.mean(pairs[:, 0] == pairs[:, 1]) > 0.5


def test_a_mesh_of_many_dimensions_is_refused_with_a_remedy() -> None:
    with pytest.raises(MethodError, match=r"span 6.*use mst"):
        found(Delaunay(k=3), np.random.default_rng(1).normal(size=(50, 6)))


def test_ward_refuses_what_would_take_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchical, "MOST_RECORDS", 20)
    assert found(MaxDistanceWard(k=3), np.arange(20.0)[:, None]).labels.max() > 1
    with pytest.raises(MethodError, match=r"21 records are more than the 20.*mdav"):
        found(MaxDistanceWard(k=3), np.arange(21.0)[:, None])


@pytest.mark.parametrize("name", sorted(estimators()))
def test_any_clusterer_of_scikit_learn(name: str) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(30, 2)), rng.normal(size=(31, 2)) + 5])
    got = found(Clusterer(k=4, estimator=name), x)
    sizes = np.bincount(got.labels)
    assert sizes.min() >= 4
    assert sizes.max() <= 7
    assert got.labels.tolist() == found(Clusterer(k=4, estimator=name), x).labels.tolist()
    assert got.facts["clusters"] + got.facts["noise"] > 0


def test_a_clusterer_takes_its_options() -> None:
    x = np.random.default_rng(4).normal(size=(40, 2))
    assert found(Clusterer(k=4, options={"n_clusters": 3, "n_init": 1}), x).facts["clusters"] == 3
    near = {"distance_threshold": 1e9}
    got = found(Clusterer(k=4, estimator="AgglomerativeClustering", options=near), x)
    assert got.facts["clusters"] == 1


def test_a_wrong_clusterer_is_named_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match=r"did you mean 'KMeans'\?.*Birch.*GaussianMixture"):
        Clusterer.build({"estimator": "kmeens"})


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"n_clusters": 41}, "41"), ({"n_inits": 2}, "n_inits"), ({"n_clusters": -1}, "n_clusters")],
)
def test_what_scikit_learn_refuses_is_told(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(MethodError, match=rf"KMeans cannot cluster these 40 records: .*{reason}"):
        found(Clusterer(k=4, options=options), np.random.default_rng(4).normal(size=(40, 2)))


def test_what_scikit_learn_warns_of_is_passed_on() -> None:
    # Two places for ten clusters.
    got = found(Clusterer(k=4, options={"n_init": 1}), np.repeat([[0.0], [1.0]], 20, axis=0))
    assert any("KMeans: Number of distinct clusters" in told for told in got.warnings)


def test_no_folder_of_remembered_results_is_read() -> None:
    with pytest.raises(ParameterError, match="memory is not taken"):
        Clusterer.build({"estimator": "AgglomerativeClustering", "options": {"memory": "folder"}})
