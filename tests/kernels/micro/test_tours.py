"""Orderings against their oracles, ties included, and the tree of remaining records below them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.groups import group_means
from sfumato.kernels.micro.mdav._search import mdav
from sfumato.kernels.micro.ordering import cut_ordering
from sfumato.kernels.micro.tours import (
    group_tour,
    nearest_point_tour,
    principal_direction,
    projection_order,
)
from sfumato.kernels.neighbours.remaining import LEAF, NOBODY, nearest, plant, take
from sfumato.progress import listening
from tests.oracle import ordering as oracle


def _points(rng: np.random.Generator, n: int, d: int, grid: int) -> np.ndarray:
    # A grid is full of ties and duplicates, grid 0 is continuous.
    return rng.integers(-grid, grid + 1, (n, d)).astype(float) if grid else rng.normal(size=(n, d))


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    d=st.integers(0, 3),
    grid=st.sampled_from([0, 1, 3]),
)
def test_the_nearest_point_tour_is_the_oracles(seed: int, n: int, d: int, grid: int) -> None:
    x = _points(np.random.default_rng(seed), n, d, grid)
    assert nearest_point_tour(x).tolist() == oracle.nearest_point_tour(x)


@pytest.mark.parametrize(("d", "grid"), [(1, 0), (4, 0), (2, 4), (3, 1)])
def test_tours_over_many_leaves_are_the_oracles(d: int, grid: int) -> None:
    x = _points(np.random.default_rng(d), 9 * LEAF + 1, d, grid)  # with a new tree on the way
    assert nearest_point_tour(x).tolist() == oracle.nearest_point_tour(x)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 300),
    d=st.integers(0, 4),
    grid=st.sampled_from([0, 1, 3]),
    count=st.integers(1, 9),
)
def test_the_tree_finds_what_a_scan_finds(seed: int, n: int, d: int, grid: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    x = _points(rng, n, d, grid)
    tree = plant(x, np.arange(n))
    left = list(range(n))
    for gone in rng.permutation(n)[: n - 1]:
        take(tree, gone)
        left.remove(gone)
        if rng.random() > 10 / n:
            continue
        point = x[rng.integers(n)] + rng.integers(2)
        keys, found = np.full(count, np.inf), np.full(count, NOBODY)
        nearest(tree, point, keys, found)
        best = sorted(oracle.squares(x, left, point))[:count]
        assert list(zip(keys.tolist(), found.tolist(), strict=True))[: len(best)] == best
        assert (found[len(best) :] == NOBODY).all()


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), k=st.integers(1, 5))
def test_the_group_tour_is_the_oracles(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    # The means of up to 9 such numbers are exact: which of two ends is farther does not hang on
    # how a mean was rounded.
    x = 2520.0 * rng.integers(-50, 51, (n, 2))
    labels = rng.permutation(n) * max(n // k, 1) // n
    groups = oracle.groups_of(labels)
    assert group_tour(x, labels).tolist() == oracle.group_tour(x, groups)


def test_cutting_a_group_tour_is_never_worse_than_the_groups() -> None:
    x = np.random.default_rng(8).normal(size=(400, 3))
    labels = mdav(x, np.empty((400, 0), np.int32), [], 4)
    tour = group_tour(x, labels)
    assert (np.diff(labels[tour]) != 0).sum() == labels.max(), "a group is not in one piece"
    cut = cut_ordering(x, tour, 4)
    loss = [((x - group_means(g, x)[g]) ** 2).sum() for g in (cut, labels)]
    assert loss[0] < loss[1]


def test_a_large_file_of_equal_records_is_walked_by_row() -> None:
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        tour = nearest_point_tour(np.full((50_000, 2), 3.0))
    assert tour.tolist() == list(range(50_000))
    assert heard[-1][1:] == (50_000, 50_000)
    assert len(heard) > 3


def test_the_principal_direction_is_that_of_the_covariance() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3)) @ np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 0.1]])
    found = principal_direction(x + 1e6)
    expected = np.linalg.svd(x - x.mean(axis=0))[2][0]
    assert np.abs(found @ expected) == pytest.approx(1, abs=1e-9)
    assert found[np.argmax(np.abs(found))] > 0
    assert principal_direction(-x) == pytest.approx(principal_direction(x))


def test_a_direction_without_spread_is_still_one() -> None:
    assert np.linalg.norm(principal_direction(np.ones((5, 3)))) == pytest.approx(1)
    assert principal_direction(np.empty((5, 0))).tolist() == []


def test_projection_sorts_by_position_then_row() -> None:
    x = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]])
    assert projection_order(x, [1.0, 1.0]).tolist() == [3, 0, 1, 2]
    assert projection_order(x, [0.0, -1.0]).tolist() == [1, 2, 0, 3]
    with pytest.raises(ValueError, match="each of 2 coordinates"):
        projection_order(x, [1.0])
    with pytest.raises(ValueError, match="finite"):
        projection_order(x, [1.0, np.nan])
