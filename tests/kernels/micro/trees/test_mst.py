"""The minimum spanning tree against Kruskal's way over all pairs: the same edges, ties included."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.points.space import Space
from sfumato.kernels.micro.trees import _mst as module
from sfumato.kernels.micro.trees._mst import minimum_spanning_tree
from sfumato.methods.microaggregation.hierarchical import MstPartition
from sfumato.progress import listening
from tests.oracle.mst import minimum_spanning_tree as oracle

KINDS = ["normal", "grid", "skewed", "clumps", "equal"]


def _points(seed: int, n: int, d: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    clump = 100.0 * rng.integers(0, 3, (n, 1))
    return {
        "normal": x,
        "grid": np.round(1.5 * x),
        "skewed": np.exp(3 * x),
        "clumps": np.round(x) + clump,
        "equal": np.zeros((n, d)),
    }[kind]


def _agree(x: np.ndarray, threads: int | None = None) -> None:
    edges, lengths = minimum_spanning_tree(x, threads=threads)
    expected, expected_lengths = oracle(x)
    assert [tuple(edge) for edge in edges.tolist()] == expected
    assert lengths.tolist() == expected_lengths


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 70),
    d=st.integers(0, 5),
    kind=st.sampled_from(KINDS),
)
def test_few_points_have_the_oracles_tree(seed: int, n: int, d: int, kind: str) -> None:
    _agree(_points(seed, n, d, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("block", "lists"), [(4, 1), (8, 2), (32, 5)])
@pytest.mark.parametrize("d", [1, 4, 9])
def test_blocks_have_the_oracles_tree(
    kind: str, block: int, lists: int, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Short lists leave most parts unsettled, so that the search has to join them.
    monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "LISTS", lists)
    monkeypatch.setattr(module, "SHARE", 3)
    _agree(_points(d, 150, d, kind), threads=3)


def test_many_points_and_any_threads_give_prims_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    # Yes/no columns beside small whole numbers, as in a survey: ties and copies everywhere.
    x = np.concatenate([rng.integers(0, 2, (4000, 5)), rng.poisson(2, (4000, 2))], axis=1)
    for points in (x.astype(float), rng.normal(size=(3000, 6))):
        one = minimum_spanning_tree(points, threads=1)
        two = minimum_spanning_tree(points, threads=2)
        with monkeypatch.context() as patch:
            patch.setattr(module, "FEW", 10_000)
            prim = minimum_spanning_tree(points)
        for found in (two, prim):
            assert found[0].tolist() == one[0].tolist()
            assert found[1].tolist() == one[1].tolist()


def test_copies_form_a_chain_and_the_first_stands_for_them() -> None:
    edges, lengths = minimum_spanning_tree([[7.0], [-0.0], [7.0], [0.0], [7.0]])
    assert edges.tolist() == [[0, 2], [1, 3], [2, 4], [0, 1]]
    assert lengths.tolist() == [0.0, 0.0, 0.0, 7.0]


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW", 0)
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        minimum_spanning_tree(np.random.default_rng(0).normal(size=(500, 3)))
    assert heard[0][0] == "finding nearest records"
    assert heard[-1] == ("joining parts of the tree", 499, 499)


@pytest.mark.parametrize(
    ("points", "message"),
    [([[1.0], [np.nan]], r"points\[1, 0\] is missing"), (np.empty((0, 2)), "at least one row")],
)
def test_what_has_no_tree_is_refused(points: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimum_spanning_tree(points)  # type: ignore[arg-type]


@pytest.mark.parametrize("split", ["mdav", "none"])
def test_the_partitioner_parts_what_the_tree_cannot(split: Literal["mdav", "none"]) -> None:
    # A star: every twig is one record, so no edge can be cut.
    x = np.concatenate([np.zeros((1, 12)), np.eye(12)])
    none = np.empty((13, 0), np.int32)
    space = Space(tuple("abcdefghijkl"), x, np.arange(12), none, np.empty(0), np.empty(0, np.int64))
    found = MstPartition(k=3, split=split).groups(space, np.random.default_rng(0))
    sizes = np.bincount(found.labels)
    assert found.facts["records in the largest"] == 13
    assert sizes.tolist() == [13] if split == "none" else sizes.max() < 6
    assert sizes.min() >= 3
