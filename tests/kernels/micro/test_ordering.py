"""The best cut of an ordering, against every cut and every partition of small files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.groups import group_means
from sfumato.kernels.micro.ordering import cut_ordering, optimal_univariate
from tests.oracle import ordering as oracle

SHAPES = ("normal", "grid", "skewed", "equal", "far")


def _draw(rng: np.random.Generator, n: int, d: int, shape: str) -> np.ndarray:
    x = rng.normal(size=(n, d))
    if shape == "grid":
        return np.round(x * 2)
    if shape == "skewed":
        return np.exp(5 * x)
    if shape == "equal":
        return np.ones((n, d))
    if shape == "far":  # two places so far apart that plain sums of squares see neither
        return rng.choice([0.0, 1e9], (n, 1)) + np.round(x * 2**20) / 2**22
    return x


def _sse(points: np.ndarray, labels: np.ndarray) -> float:
    return float(oracle.sse(points, oracle.groups_of(labels)))


def _within(labels: np.ndarray, k: int) -> None:
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 14),
    d=st.integers(0, 3),
    k=st.integers(1, 5),
    shape=st.sampled_from(SHAPES),
)
def test_no_cut_is_better(seed: int, n: int, d: int, k: int, shape: str) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, n)
    x, order = _draw(rng, n, d, shape), rng.permutation(n)
    labels = cut_ordering(x, order, k)
    _within(labels, k)
    assert (np.diff(labels[order]) >= 0).all(), "a group is not a run of the ordering"
    best = float(oracle.best_cut(x, order.tolist(), k))
    assert _sse(x, labels) == pytest.approx(best, rel=1e-12, abs=0)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 14),
    k=st.integers(1, 5),
    shape=st.sampled_from(SHAPES),
)
def test_univariate_is_the_best_cut_of_the_sorted_values(
    seed: int, n: int, k: int, shape: str
) -> None:
    k = min(k, n)
    x = _draw(np.random.default_rng(seed), n, 1, shape)
    labels = optimal_univariate(x[:, 0], k)
    _within(labels, k)
    order = np.argsort(x[:, 0], kind="stable")
    assert (np.diff(labels[order]) >= 0).all()
    best = float(oracle.best_cut(x, order.tolist(), k))
    assert _sse(x, labels) == pytest.approx(best, rel=1e-12, abs=0)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 8),
    k=st.integers(1, 4),
    shape=st.sampled_from(SHAPES),
)
def test_univariate_is_the_best_of_all_partitions(seed: int, n: int, k: int, shape: str) -> None:
    k = min(k, n)
    x = _draw(np.random.default_rng(seed), n, 1, shape)
    best = float(oracle.best_partition(x, k))
    assert _sse(x, optimal_univariate(x[:, 0], k)) == pytest.approx(best, rel=1e-12, abs=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("n", "k"), [(2000, 2), (2000, 3), (1999, 7), (2003, 64), (1500, 501), (999, 500)]
)
def test_the_fast_univariate_path_is_the_plain_one(n: int, k: int, shape: str) -> None:
    x = _draw(np.random.default_rng(n + k), n, 1, shape)
    order = np.argsort(x[:, 0], kind="stable")
    plain, fast = cut_ordering(x, order, k), optimal_univariate(x[:, 0], k)
    _within(fast, k)
    assert _sse(x, fast) == pytest.approx(_sse(x, plain), rel=1e-11, abs=0)


def test_an_offset_changes_nothing() -> None:
    # Steps of 2^-20 are exact at 1e9 too, so that the groups must be the same.
    x = np.random.default_rng(4).integers(0, 2**14, 500) / 2**20
    assert optimal_univariate(x + 1e9, 4).tolist() == optimal_univariate(x, 4).tolist()
    order = np.argsort(x, kind="stable")
    plain = cut_ordering(x[:, None], order, 4)
    assert cut_ordering(x[:, None] + 1e9, order, 4).tolist() == plain.tolist()


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307])
def test_values_of_any_size_are_grouped(scale: float) -> None:
    values = np.array([1.0, 2.0, 3.0, 11.0, 12.0, 13.0, 14.0, 7.0])
    assert optimal_univariate(values * scale, 3).tolist() == optimal_univariate(values, 3).tolist()


def test_the_cut_is_never_worse_than_fixed_groups() -> None:
    rng = np.random.default_rng(9)
    x, order, k = rng.normal(size=(300, 4)), rng.permutation(300), 6
    fixed = np.empty(300, np.int64)
    fixed[order] = np.arange(300) // k
    loss = [((x - group_means(g, x)[g]) ** 2).sum() for g in (cut_ordering(x, order, k), fixed)]
    assert loss[0] < loss[1]


def test_equal_values_are_split_by_row() -> None:
    assert optimal_univariate(np.zeros(7), 3).tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert cut_ordering(np.zeros((7, 2)), np.arange(7), 3).tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert optimal_univariate(np.zeros(5), 3).tolist() == [0] * 5


def test_inputs_may_be_read_only_and_stay_as_they_are() -> None:
    x, order = np.random.default_rng(1).normal(size=(9, 2)), np.arange(9)[::-1].copy()
    x.flags.writeable = order.flags.writeable = False
    assert np.bincount(cut_ordering(x, order, 4)).tolist() in ([4, 5], [5, 4])
    assert np.bincount(optimal_univariate(x[:, 0], 9)).tolist() == [9]


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1], [[0, 1, 2]]])
def test_an_ordering_lists_each_row_once(order: list[int]) -> None:
    with pytest.raises(ValueError, match="lists each row"):
        cut_ordering(np.zeros((3, 1)), order, 1)


def test_refusals_name_the_fault() -> None:
    with pytest.raises(ValueError, match="cannot form a group of k = 3"):
        optimal_univariate([1.0, 2.0], 3)
    with pytest.raises(ValueError, match=r"points\[1, 0\] is missing"):
        optimal_univariate([1.0, np.nan], 2)
    with pytest.raises(ValueError, match="one column"):
        optimal_univariate(np.zeros((3, 1)), 2)
    with pytest.raises(ValueError, match="a row for each record"):
        cut_ordering(np.zeros(3), np.arange(3), 2)
