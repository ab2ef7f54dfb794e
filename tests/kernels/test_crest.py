"""CREST's tree against its oracle: the same edges in the same order, ties included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from sfumato.kernels.crest import _search as module
from sfumato.kernels.crest._outside import BLOCK
from sfumato.kernels.crest._search import central, crest_tree
from sfumato.progress import listening
from tests.oracle.crest import crest_tree as oracle
from tests.oracle.crest import neighbours


def _points(rng: np.random.Generator, n: int, p: int, grid: int) -> np.ndarray:
    # A grid is full of ties and duplicates, grid 0 is continuous.
    return rng.integers(0, grid + 1, (n, p)) / grid if grid else rng.random((n, p))


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 36),
    p=st.integers(0, 3),
    count=st.integers(1, 5),
    b=st.integers(2, 9),
    alpha=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
    unit=st.sampled_from([1.0, 0.3]),
    grid=st.sampled_from([0, 1, 3]),
)
def test_small_files_have_the_oracles_tree(
    seed: int, n: int, p: int, count: int, b: int, alpha: float, unit: float, grid: int
) -> None:
    rng = np.random.default_rng(seed)
    x, classes = _points(rng, n, p, grid), rng.integers(0, count, n)
    start = int(rng.integers(n))
    found = crest_tree(x, classes, b, alpha, unit=unit, start=start)
    assert found.edges.tolist() == oracle(x, classes.tolist(), b, alpha, unit, start)
    steps = x[found.edges[:, 0]] - x[found.edges[:, 1]]
    assert found.lengths == pytest.approx(unit * np.sqrt((steps**2).sum(axis=1)))


@pytest.mark.parametrize(("grid", "b", "alpha"), [(0, 5, 0.5), (2, 4, 0.5), (5, 6, 0.2)])
def test_several_blocks_have_the_oracles_tree(grid: int, b: int, alpha: float) -> None:
    rng = np.random.default_rng(grid)
    n = 3 * BLOCK + 7  # two classes, so two blocks to a class, arranged anew on the way
    x, classes = _points(rng, n, 2, grid), (rng.random(n) < 0.4).astype(int)
    found = crest_tree(x, classes, b, alpha, start=3)
    assert found.edges.tolist() == oracle(x, classes.tolist(), b, alpha, 1.0, 3)


@pytest.mark.golden
def test_the_neighbours_of_figure_3(
    golden_record: Callable[[str, object, object], None],
) -> None:
    # Vertex 2 is joined to 1 and 3, and 3 is nearer; 4 is two steps away. Rows count from 0.
    x = np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    joined = {0: {1}, 1: {0, 2}, 2: {1, 3}, 3: {2}}
    found = [[1, *neighbours(x, joined, 1, b - 2)] for b in (2, 3, 4)]
    golden_record(
        "li-sarkar figure 3: 2, 3 and 4 nearest but 5", [[2], [2, 3], [2, 3, 1]],
        [[row + 1 for row in rows] for rows in found],
    )  # fmt: skip
    assert neighbours(x, joined, 1, 1) == [2]
    assert neighbours(x, joined, 1, 2) == [2, 0]
    assert neighbours(x, joined, 1, 3) == [2, 0, 3]


def test_with_alpha_1_it_is_a_minimum_spanning_tree() -> None:
    x = np.random.default_rng(1).normal(size=(900, 3))
    found = crest_tree(x, np.arange(900) % 4, 6, 1.0, unit=0.5)
    shortest = minimum_spanning_tree(squareform(pdist(x))).sum()
    assert found.lengths.sum() == pytest.approx(0.5 * shortest)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), grid=st.sampled_from([0, 1, 2]))
def test_names_of_classes_do_not_matter(seed: int, grid: int) -> None:
    rng = np.random.default_rng(seed)
    x, classes = _points(rng, 80, 2, grid), rng.integers(0, 4, 80)
    names = rng.permutation(1000)[:4] - 500
    one, other = crest_tree(x, classes, 5), crest_tree(x, names[classes], 5)
    assert one.edges.tolist() == other.edges.tolist()


def test_one_class_only_means_lengths_only() -> None:
    x = np.random.default_rng(2).random((60, 2))
    one = crest_tree(x, np.zeros(60, int), 5)
    assert one.edges.tolist() == crest_tree(x, np.zeros(60, int), 5, 1.0).edges.tolist()


def test_equal_records_form_a_chain_which_can_be_cut() -> None:
    found = crest_tree(np.zeros((50, 2)), np.zeros(50, int), 5)
    assert found.edges.tolist() == [[i, i + 1] for i in range(49)]
    assert not found.lengths.any()


def test_it_crosses_between_classes_where_a_standard_tree_does_not() -> None:
    # Two columns of records, one of each class, farther apart than neighbours in a column are.
    x = np.array([[0.0, i] for i in range(20)] + [[1.5, i] for i in range(20)]) / 20
    classes = np.repeat([0, 1], 20)

    def across(alpha: float) -> int:
        ends = classes[crest_tree(x, classes, 2, alpha).edges]
        return int(np.sum(ends[:, 0] != ends[:, 1]))

    assert across(1.0) == 1
    assert across(0.5) == 39


def test_the_first_vertex_is_central_whatever_the_order_of_rows() -> None:
    rng = np.random.default_rng(3)
    x, classes, order = rng.normal(size=(120, 3)), rng.integers(0, 3, 120), rng.permutation(120)
    assert order[central(x[order])] == central(x)
    there, here = crest_tree(x, classes, 5), crest_tree(x[order], classes[order], 5)
    assert order[here.edges].tolist() == there.edges.tolist()
    assert there.edges[0, 0] == central(x)


def test_progress_is_reported_and_inputs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 10)
    rng = np.random.default_rng(4)
    x, classes = rng.random((64, 2)), rng.integers(0, 2, 64)
    x.flags.writeable = classes.flags.writeable = False
    heard: list[tuple[str, int, int]] = []
    with listening(lambda what, done, of: heard.append((what, done, of))):
        sliced = crest_tree(x, classes, 5)
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    assert heard[-1][1:] == (64, 64)
    assert len(heard) > 6
    monkeypatch.undo()
    assert sliced.edges.tolist() == crest_tree(x, classes, 5).edges.tolist()


@pytest.mark.parametrize(
    ("x", "classes", "words", "message"),
    [
        (np.zeros((3, 1)), np.zeros(2, int), {}, "one to a row"),
        (np.zeros((2, 1)), np.zeros(2), {}, "whole numbers"),
        (np.array([[0.0], [np.nan]]), np.zeros(2, int), {}, r"points\[1, 0\] is missing"),
        (np.zeros((2, 1)), np.zeros(2, int), {"b": 1}, "b of at least 2"),
        (np.zeros((2, 1)), np.zeros(2, int), {"alpha": 1.5}, "alpha from 0 to 1"),
        (np.zeros((2, 1)), np.zeros(2, int), {"start": 2}, "row 2 of 2"),
    ],
)
def test_refusals_name_the_fault(
    x: np.ndarray, classes: np.ndarray, words: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        crest_tree(x, classes, **{"b": 3, **words})  # type: ignore[arg-type]


def test_shares_may_be_those_of_a_larger_table() -> None:
    draw = np.random.default_rng(5)
    x, classes = draw.normal(size=(80, 2)), draw.integers(0, 3, 80)
    own = np.bincount(classes) / 80
    plain, given = crest_tree(x, classes, 5), crest_tree(x, classes, 5, share=own)
    assert np.array_equal(plain.edges, given.edges)
    # Class 1 hardly occurs elsewhere: an edge between two of it diverges most.
    rare = crest_tree(x, classes, 2, 0.0, share=np.array([0.6, 0.01, 0.39]))
    assert not (classes[rare.edges[:20]] == 1).all(axis=1).any()
