"""Cutting a spanning tree against its oracles: the same groups, ties included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.micro.trees import _cut as tree_cut
from sfumato.kernels.micro.trees._cut import cut_by_ratio, cut_longest, cut_t_close
from sfumato.kernels.micro.trees._mst import minimum_spanning_tree
from sfumato.progress import listening
from tests.oracle import tree_cut as oracle

Tree = tuple[np.ndarray, np.ndarray, np.ndarray]


def _tree(seed: int, n: int, reach: int, grid: int, n_classes: int) -> Tree:
    """Edges, lengths and classes; reach 1 is a path, a grid is full of ties."""
    rng = np.random.default_rng(seed)
    edges = np.array(
        [(rng.integers(max(0, v - reach), v), v) for v in range(1, n)], dtype=np.int64
    ).reshape(-1, 2)
    # Neither the numbers of the records nor the order of the edges may matter to the search.
    edges = rng.permutation(n)[edges][rng.permutation(n - 1)]
    lengths = rng.integers(0, grid, n - 1).astype(float) if grid else rng.random(n - 1)
    return edges, lengths, rng.integers(0, n_classes, n)


trees = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 32),
    reach=st.sampled_from([1, 3, 40]),
    grid=st.sampled_from([0, 1, 4]),
    n_classes=st.integers(1, 4),
    m=st.integers(1, 5),
    t=st.sampled_from([0.0, 0.15, 0.25, 0.5, 1.0]),
)


@trees
def test_small_trees_have_the_oracles_groups(
    seed: int, n: int, reach: int, grid: int, n_classes: int, m: int, t: float
) -> None:
    edges, lengths, classes = _tree(seed, n, reach, grid, n_classes)
    m = min(m, n)
    longest = cut_longest(edges, lengths, m)
    assert longest.tolist() == oracle.cut_longest(edges, lengths, m)
    by_ratio = cut_by_ratio(edges, lengths, classes, n_classes, m)
    naive = oracle.cut_by_ratio(edges, lengths, classes, n_classes, m)
    assert by_ratio.tolist() == naive
    by_group = oracle.cut_by_ratio_in_each_group(edges, lengths, classes, n_classes, m)
    assert by_group == naive
    close = cut_t_close(edges, lengths, classes, n_classes, m, t)
    assert close.tolist() == oracle.cut_t_close(edges, lengths, classes, n_classes, m, t)
    for labels in (longest, by_ratio, close):
        assert np.bincount(labels).min() >= m


@pytest.mark.parametrize(
    ("columns", "n_classes", "rounded"), [(10, 2, False), (2, 3, True), (1, 5, False)]
)
def test_bounds_never_decide_a_cut_by_ratio(columns: int, n_classes: int, rounded: bool) -> None:
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(900, columns))
    edges, lengths = minimum_spanning_tree(np.round(x, 1) if rounded else x)
    classes = rng.choice(n_classes, len(x), p=rng.dirichlet(np.full(n_classes, 3.0)))
    found = cut_by_ratio(edges, lengths, classes, n_classes, 4)
    expected = oracle.cut_by_ratio_in_each_group(edges, lengths, classes, n_classes, 4)
    assert found.tolist() == expected


def test_slices_change_nothing_and_report(monkeypatch: pytest.MonkeyPatch) -> None:
    edges, lengths, classes = _tree(3, 400, 3, 0, 3)
    at_once = cut_by_ratio(edges, lengths, classes, 3, 5)
    monkeypatch.setattr(tree_cut, "SLICE", 50)
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        in_slices = cut_by_ratio(edges, lengths, classes, 3, 5)
    assert in_slices.tolist() == at_once.tolist()
    assert len(heard) > 10
    assert heard[-1][1:] == (400, 400)


@pytest.mark.golden
def test_figure_1_is_cut_into_its_clumps_and_figure_2_into_mixed_groups(
    golden_record: Callable[[str, object, object], None],
) -> None:
    # Three clumps of three, each of one class, in a row: lengths part the clumps (figure 1 of Li &
    # Sarkar); where all edges are equally long only the mixed cuts cost no divergence (figure 2).
    path = np.stack([np.arange(8), np.arange(1, 9)], axis=1)
    lengths = np.array([1.0, 1, 9, 1, 1, 9, 1, 1])
    assert cut_longest(path, lengths, 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    mixed = np.array([0, 1, 1, 0, 1, 1, 0, 1, 1])
    cut = cut_by_ratio(path, np.ones(8), mixed, 2, 2)
    circles = [int((mixed[cut == group] == 0).sum()) for group in range(3)]
    golden_record("li-sarkar figure 2: circles in each group", [1, 1, 1], circles)
    assert cut_by_ratio(path, np.ones(8), mixed, 2, 2).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    clumped = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])
    assert cut_t_close(path, lengths, clumped, 2, 3, 0.3).max() == 0


def test_an_edge_between_equal_records_is_cut_last() -> None:
    path = np.stack([np.arange(5), np.arange(1, 6)], axis=1)
    # The middle edge would cost no divergence at all, but its ends are equal records.
    lengths = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    found = cut_by_ratio(path, lengths, np.array([0, 0, 1, 0, 0, 1]), 2, 2)
    assert found.tolist() == [0, 0, 1, 1, 2, 2]


def test_both_sides_must_be_t_close() -> None:
    path = np.stack([np.arange(7), np.arange(1, 8)], axis=1)
    classes = np.array([0, 1, 1, 0, 0, 0, 1, 1])
    lengths = np.array([1.0, 5.0, 1.0, 4.0, 1.0, 6.0, 1.0])
    # Half of all records are of either class. The longest edge would leave {6, 7} with one only.
    assert cut_t_close(path, lengths, classes, 2, 2, 0.0).tolist() == [0, 0, 1, 1, 2, 2, 2, 2]
    assert cut_t_close(path, lengths, classes, 2, 2, 0.5).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_long_path_and_a_star_stay_quick() -> None:
    n = 20_000
    classes = np.random.default_rng(0).integers(0, 2, n)
    path = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    assert np.bincount(cut_longest(path, np.ones(n - 1), 5)).tolist() == [5] * (n // 5)
    for labels in (
        cut_by_ratio(path, np.zeros(n - 1), classes, 2, 5),
        cut_t_close(path, np.arange(1.0, n), classes, 2, 5, 1.0),
    ):
        assert np.bincount(labels).min() >= 5
        assert np.bincount(labels).max() <= 9
    star = np.stack([np.zeros(n - 1, np.int64), np.arange(1, n)], axis=1)
    assert cut_longest(star, np.ones(n - 1), 2).max() == 0
    assert cut_by_ratio(star, np.ones(n - 1), classes, 2, 2).max() == 0


@pytest.mark.parametrize(
    ("edges", "lengths", "k", "message"),
    [
        ([[0, 1]], [1.0], 3, "cannot form a group of 3"),
        ([[0, 1]], [1.0, 2.0], 1, "one for each edge"),
        ([[0, 1]], [np.nan], 1, "finite numbers"),
        ([[0, 1], [0, 1]], [1.0, 1.0], 1, "no spanning tree"),
        ([[0, 2]], [1.0], 1, "are records 0 to 1"),
    ],
)
def test_what_is_no_tree_is_refused(
    edges: list[list[int]], lengths: list[float], k: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cut_longest(edges, lengths, k)


def test_classes_and_t_are_checked() -> None:
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        cut_by_ratio([[0, 1]], [1.0], [0, 2], 2, 1)
    with pytest.raises(ValueError, match="no distance"):
        cut_t_close([[0, 1]], [1.0], [0, 1], 2, 1, float("nan"))
