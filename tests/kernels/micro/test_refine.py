"""Refine: exact costs, always a valid partition, never worse, the same under the same seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.micro.mdav._search import mdav
from sfumato.kernels.micro.refine import _near
from sfumato.kernels.micro.refine._moves import best_between, exchange
from sfumato.kernels.micro.refine._near import nearest_records
from sfumato.kernels.micro.refine._search import (
    best_labels,
    best_loss,
    improvements,
    run,
    settle,
    start,
    steps_done,
)
from sfumato.kernels.micro.refine._state import (
    FREED,
    HERE,
    NOW,
    QUEUED,
    SIZE,
    STALE,
    TOUCHED,
    Search,
    undo,
)
from tests.oracle import refine as oracle


def _points(rng: np.random.Generator, n: int, d: int, kind: str) -> np.ndarray:
    if kind == "grid":  # ties and duplicates everywhere
        return rng.integers(0, 3, (n, d)).astype(float)
    if kind == "skewed":
        return np.exp(3 * rng.normal(size=(n, d)))
    if kind == "far":  # most digits are common to all
        return 1e6 + rng.normal(size=(n, d))
    return rng.normal(size=(n, d))


def _labels(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """A random partition into groups of k or more, as bad as can be."""
    groups = int(rng.integers(1, n // k + 1))
    rest = rng.integers(0, groups, n - groups * k)
    labels = np.concatenate([np.repeat(np.arange(groups), k), rest])
    return rng.permutation(labels)


def _check(search: Search, points: np.ndarray) -> None:
    """The whole state is what its labels say, and the partition is valid."""
    k, n = search.k, len(points)
    size = search.group[SIZE]
    used = np.flatnonzero(size)
    members = [search.member[HERE, g, : size[g]].tolist() for g in used]
    assert sorted(i for group in members for i in group) == list(range(n))
    assert all(k <= len(group) < max(2 * k, 1) for group in members)
    for g, group in zip(used, members, strict=True):
        assert (search.label[group] == g).all()
    free = search.group[FREED, : n // k - used.size]
    assert sorted([*free.tolist(), *used.tolist()]) == list(range(n // k))
    centred = points - points.mean(axis=0)
    now = oracle.loss(centred, search.label)
    scale = 1e-9 * (np.sum(centred**2) + 1e-300)
    assert math.isclose(search.sse[HERE, used].sum(), now, rel_tol=1e-9, abs_tol=scale)
    assert math.isclose(search.loss[NOW], now, rel_tol=1e-9, abs_tol=scale)
    best = best_labels(search)
    assert k <= np.bincount(best).min() <= np.bincount(best).max() < 2 * k
    assert math.isclose(best_loss(search), oracle.loss(centred, best), rel_tol=1e-9, abs_tol=scale)


KINDS = st.sampled_from(["normal", "grid", "skewed", "far"])


@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.integers(1, 6), st.integers(2, 5), KINDS)
def test_costs_are_exact(seed: int, n: int, d: int, k: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    n = max(n, 2 * k)
    points = _points(rng, n, d, kind)
    search = start(points, _labels(rng, n, k), k, seed)
    labels = search.label.copy()
    before = oracle.loss(points, labels)
    tolerance = 1e-9 * np.sum((points - points.mean(axis=0)) ** 2)
    i = int(rng.integers(n))
    j = int(rng.choice(np.flatnonzero(labels != labels[i])))
    cost, first, second = best_between(search, labels[i], labels[j], np.inf)
    least = oracle.best_between(points, labels, k, labels[i], labels[j])
    assert cost == pytest.approx(least, abs=tolerance)
    exchange(search, first, second, labels[i] + labels[j] - labels[first])
    after = oracle.loss(points, search.label)
    assert after - before == pytest.approx(least, abs=tolerance)
    assert search.counts[TOUCHED] == 2
    undo(search)
    assert (search.label == labels).all()
    assert search.sse[HERE].sum() == pytest.approx(before, abs=tolerance)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(0, 6), st.integers(2, 6), KINDS,
    st.integers(1, 40),
)  # fmt: skip
def test_every_slice_is_valid_and_never_worse(
    seed: int, n: int, d: int, k: int, kind: str, slice_size: int
) -> None:
    rng = np.random.default_rng(seed)
    n = max(n, k)
    points, labels = _points(rng, n, d, kind), _labels(rng, n, k)
    given_points, given_labels = points.copy(), labels.copy()
    search = start(points, labels, k, seed)
    _check(search, points)
    slack = 1e-9 * np.sum((points - points.mean(axis=0)) ** 2)
    lowest = oracle.loss(points, labels) + slack
    assert best_loss(search) <= lowest
    while settle(search, 3):
        _check(search, points)
    for turn in range(6):  # several cycles at these sizes
        lowest = best_loss(search)
        run(search, slice_size)
        assert best_loss(search) <= lowest
        assert steps_done(search) == (turn + 1) * slice_size
        assert search.counts[TOUCHED] == search.counts[QUEUED] == 0
        _check(search, points)
    assert (points == given_points).all()
    assert (labels == given_labels).all()


def test_hot_cycles_go_back_to_the_best() -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(120, 3))
    search = start(points, _labels(rng, 120, 3), 3, 1)
    worse = 0
    for _ in range(100):
        run(search, 200)
        _check(search, points)
        worse += bool(search.counts[STALE] and search.loss[NOW] > best_loss(search) * (1 + 1e-9))
    assert worse > 0  # a later cycle does keep steps that raise the loss, and yet
    assert oracle.loss(points, best_labels(search)) == pytest.approx(best_loss(search))


def test_the_slicing_changes_nothing_and_the_seed_decides() -> None:
    rng = np.random.default_rng(7)
    points = rng.normal(size=(150, 4))
    labels = mdav(points, np.empty((150, 0), np.int32), [], 4)
    ends = []
    for seed, slices in [(1, [6000]), (1, [1, 4095, 1, 1903]), (2, [6000])]:
        search = start(points, labels, 4, seed)
        for steps in slices:
            run(search, steps)
        ends.append((best_labels(search).tolist(), best_loss(search), improvements(search)))
    assert ends[0] == ends[1]
    assert ends[0] != ends[2]


@pytest.mark.parametrize(("n", "k", "d"), [(6, 2, 2), (8, 2, 1), (9, 3, 2), (9, 4, 3), (9, 2, 3)])
def test_small_files_reach_the_optimum(n: int, k: int, d: int) -> None:
    reached = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(n, d))
        search = start(points, _labels(rng, n, k), k, seed)
        run(search, 300)
        best = oracle.optimum(points, k)
        assert best_loss(search) >= best - 1e-9  # or the oracle is wrong
        reached += best_loss(search) <= best + 1e-9
    assert reached == 10


def test_descent_ends_where_no_move_between_neighbours_pays() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(17, 2))  # so few that all are neighbours
    search = start(points, _labels(rng, 17, 3), 3, 0)
    assert settle(search) == 0
    groups = np.unique(search.label)
    for a in groups:
        for b in groups[groups > a]:
            _, named = np.unique(search.label, return_inverse=True)
            assert oracle.best_between(points, named, 3, *np.searchsorted(groups, [a, b])) > -1e-9


@pytest.mark.parametrize("n", [3, 5, 6, 40])
def test_equal_points_lose_nothing(n: int) -> None:
    points = np.full((n, 2), 7.3)
    search = start(points, np.zeros(n, int), 3, 0)
    run(search, 200)
    assert best_loss(search) == 0.0
    _check(search, points)


def test_many_duplicates_are_told_apart() -> None:
    # 100 records of each of three kinds, mixed: the loss is nothing once each has its own groups.
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]], 100, axis=0)
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 5))
    search = start(points, labels, 5, 0)
    run(search, 3000)
    assert best_loss(search) == pytest.approx(0.0, abs=1e-9)


def test_one_column_reaches_the_known_optimum() -> None:
    # In one dimension the optimum has groups of consecutive records: shortest path over the cuts.
    rng = np.random.default_rng(11)
    x = np.sort(rng.exponential(size=60))
    k = 3
    best = [0.0] + [math.inf] * 60
    for end in range(k, 61):
        for size in range(k, min(2 * k - 1, end) + 1):
            part = x[end - size : end]
            best[end] = min(best[end], best[end - size] + float(np.sum((part - part.mean()) ** 2)))
    search = start(x[:, None], mdav(x[:, None], np.empty((60, 0), np.int32), [], k), k, 0)
    run(search, 3000)
    assert best_loss(search) == pytest.approx(best[-1], rel=1e-9)


def test_neighbours_are_the_nearest_of_distinct_points() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(80, 3))
    near = nearest_records(points, 7)
    for i in range(80):
        gaps = np.sum((points - points[i]) ** 2, axis=1)
        gaps[i] = np.inf
        assert near[i].tolist() == np.argsort(gaps)[:7].tolist()


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 16))
def test_neighbours_of_duplicates_are_others(seed: int, n: int, t: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 2, (n, 2)).astype(float)
    t = min(t, n - 1)
    near = nearest_records(points, t)
    for i in range(n):
        listed = near[i].tolist()
        assert i not in listed
        assert len(set(listed)) == t
        # Every value that occurs is seen from everywhere, where the list has room for it.
        if t >= 8:
            assert len(np.unique(points[[i, *listed]], axis=0)) == len(np.unique(points, axis=0))


@pytest.mark.parametrize(
    ("points", "labels", "k", "says"),
    [
        (np.zeros((4, 1)), [0, 0, 1, 0], 2, "group 1 has 1 records"),
        (np.zeros((4, 1)), [0, 0, 0], 2, "same rows"),
        (np.zeros((4, 1)), [0, 1, 2, 3], 1, "k >= 2"),
        (np.array([[0.0], [np.nan]]), [0, 0], 2, r"points\[1, 0\]"),
        (np.zeros((0, 1)), [], 2, "fewer than k"),
    ],
)
def test_what_cannot_be_refined_is_refused(
    points: np.ndarray, labels: list[int], k: int, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        start(points, labels, k, 0)


def test_among_many_points_of_many_columns_neighbours_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(3).normal(size=(60, 4))[np.arange(80) % 60]
    few = _near.nearest_records(x, 5)
    monkeypatch.setattr(_near, "FEW_POINTS", 10)
    monkeypatch.setattr(_near, "FEW_COORDINATES", 3)
    assert _near.nearest_records(x, 5).tolist() == few.tolist()
