"""V-MDAV against its oracle: the same groups, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.micro.mdav._search import mdav
from sfumato.kernels.micro.v_mdav import v_mdav
from sfumato.kernels.neighbours.remaining import LEAF
from sfumato.progress import listening
from tests.oracle.v_mdav import v_mdav as oracle


def _groups(labels: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(labels == g).tolist() for g in range(int(labels.max()) + 1)]


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 50),
    d=st.integers(0, 3),
    k=st.integers(1, 6),
    gain=st.sampled_from([0.0, 0.2, 0.9, 1.1, 3.0, 100.0]),
    grid=st.sampled_from([0, 1, 3]),
)
def test_small_files_have_the_oracles_groups(
    seed: int, n: int, d: int, k: int, gain: float, grid: int
) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, n)
    # A grid is full of ties and duplicates, grid 0 is continuous.
    x = rng.integers(-grid, grid + 1, (n, d)).astype(float) if grid else rng.normal(size=(n, d))
    labels = v_mdav(x, k, gain)
    assert _groups(labels) == [sorted(group) for group in oracle(x, k, gain)]
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize(
    ("d", "k", "gain", "kind"),
    [(2, 3, 0.2, "normal"), (5, 4, 1.1, "normal"), (2, 5, 1.1, "grid"), (3, 12, 2.0, "skewed")],
)
def test_many_leaves_have_the_oracles_groups(d: int, k: int, gain: float, kind: str) -> None:
    rng = np.random.default_rng(10 * d + k)
    x = rng.normal(size=(5 * LEAF + 7, d))
    x = {"normal": x, "grid": np.round(x * 2), "skewed": np.exp(4 * x)}[kind]
    assert _groups(v_mdav(x, k, gain)) == [sorted(group) for group in oracle(x, k, gain)]


def test_a_cluster_is_kept_whole_where_the_gain_allows() -> None:
    # Clusters of 4 and 5: groups of exactly 3 would have to mix them.
    rng = np.random.default_rng(3)
    sizes = [4, 5, 4, 4, 5, 5]
    cluster = np.repeat(np.arange(6), sizes)
    x = 100 * np.eye(6)[cluster] + rng.normal(size=(cluster.size, 6)) / 10
    kept = v_mdav(x, 3, gain=1.1)
    assert np.unique(np.column_stack([kept, cluster]), axis=0).shape[0] == 6
    fixed = mdav(x, np.empty((len(x), 0), np.int32), [], 3)
    assert np.unique(np.column_stack([fixed, cluster]), axis=0).shape[0] > 6


def test_a_group_made_too_large_by_what_is_left_is_split() -> None:
    # The first group takes three (2k - 1); the fourth record has no other group to go to.
    x = np.array([[0.0], [1.0], [2.0], [3.5]])
    assert sorted(map(sorted, oracle(x, 2, 5.0))) == [[0, 1], [2, 3]]
    assert np.bincount(v_mdav(x, 2, 5.0)).tolist() == [2, 2]


def test_equal_records_and_progress() -> None:
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        labels = v_mdav(np.zeros((30_000, 3)), 4, 1.1)
    # Nothing is nearer than equal: no group grows.
    assert labels.tolist() == (np.arange(30_000) // 4).tolist()
    assert heard[-1] == ("forming groups", 30_000, 30_000)
    assert len(heard) > 2


@pytest.mark.parametrize("gain", [-0.1, np.nan, np.inf])
def test_the_gain_is_a_number_from_0(gain: float) -> None:
    with pytest.raises(ValueError, match="gain"):
        v_mdav(np.zeros((4, 1)), 2, gain)


def test_too_few_records_and_missing_values_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot form a group of k = 5"):
        v_mdav(np.zeros((4, 1)), 5)
    with pytest.raises(ValueError, match=r"points\[2, 0\] is missing"):
        v_mdav(np.array([[0.0], [1.0], [np.nan]]), 2)
