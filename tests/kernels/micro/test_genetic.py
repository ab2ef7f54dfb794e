"""The genetic search: crossover against its oracle, exact losses, and promises of the whole."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.micro.genetic import _Places, cross, genetic, losses, mutate
from sfumato.kernels.micro.mdav._search import mdav
from sfumato.progress import listening
from tests.oracle import clusterings as oracle
from tests.oracle.size_repair import as_groups, as_labels, sse


def _total(x: np.ndarray, labels: np.ndarray) -> float:
    return sum(sse(x, rows) for rows in as_groups(labels))


def _mdav(x: np.ndarray, k: int) -> np.ndarray:
    return mdav(x, np.empty((len(x), 0), np.int32), [], k)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 60), k=st.integers(2, 5))
def test_a_child_has_the_better_groups_of_both(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    one = _mdav(x, k)
    # The other parent differs in some places: whole groups of the first are regrouped.
    other = one.copy()
    for _ in range(3):
        rows = np.flatnonzero(np.isin(other, rng.integers(0, other.max() + 1, 2)))
        other[rows] = rng.permutation(other[rows])
    labels, loss = cross(
        one, losses(x, one, one.max() + 1), other, losses(x, other, other.max() + 1)
    )
    expected = oracle.cross(x, as_groups(one), as_groups(other))
    assert labels.tolist() == as_labels(expected)
    assert loss.sum() == pytest.approx(sum(sse(x, rows) for rows in expected))
    np.testing.assert_allclose(loss, losses(x, labels, loss.size), atol=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 80),
    d=st.integers(1, 3),
    k=st.integers(2, 6),
    always=st.booleans(),
    grid=st.booleans(),
)
def test_mutants_keep_sizes_and_know_their_loss(
    seed: int, n: int, d: int, k: int, always: bool, grid: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = max(n, 2 * k)
    x = rng.normal(size=(n, d))
    x = np.round(x) if grid else x
    start = _mdav(x, k)
    before = losses(x, start, int(start.max()) + 1)
    places = _Places(x)
    if places.count < 2:
        return
    state = np.array([seed], dtype=np.uint64)
    labels, loss = mutate(
        x, start, before, places.near, places.member, places.rows, places.at,
        k, before.size, always, state,
    )  # fmt: skip
    sizes = np.bincount(labels, minlength=loss.size)
    assert sizes[sizes > 0].min() >= k
    assert sizes.max() <= 2 * k - 1
    for g in range(loss.size):
        assert loss[g] == pytest.approx(sse(x, np.flatnonzero(labels == g).tolist()), abs=1e-9)
    if not always:
        assert loss.sum() <= before.sum() * (1 + 1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 80),
    d=st.integers(0, 3),
    k=st.integers(2, 7),
    grid=st.booleans(),
)
def test_never_worse_than_mdav(seed: int, n: int, d: int, k: int, grid: bool) -> None:
    x = np.random.default_rng(seed).normal(size=(max(n, k), d))
    x = np.round(x) if grid else x
    labels, history = genetic(x, k, 3, 4, np.random.default_rng(7))
    again, _ = genetic(x, k, 3, 4, np.random.default_rng(7))
    assert labels.tolist() == again.tolist()
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert history[0] == pytest.approx(_total(x, _mdav(x, k)), abs=1e-9)
    assert history[-1] == pytest.approx(_total(x, labels), abs=1e-9)
    assert all(b <= a for a, b in pairwise(history))


def test_it_finds_the_best_partition_of_a_small_file() -> None:
    # Groups of four and five of nine records: all 126 ways are compared.
    x = np.random.default_rng(11).normal(size=(9, 2))
    best = min(
        sse(x, list(rows)) + sse(x, [i for i in range(9) if i not in rows])
        for rows in combinations(range(9), 4)
    )
    found = [genetic(x, 4, 4, 50, np.random.default_rng(seed))[1][-1] for seed in range(3)]
    # Cuts are straight, so the best may be out of reach, but no figure is below it.
    assert min(found) >= best * (1 - 1e-12)
    assert min(found) <= best * 1.1


def test_it_beats_mdav_and_tells_of_its_progress() -> None:
    x = np.random.default_rng(1).normal(size=(300, 3))
    heard: list[tuple[str, int, int]] = []
    with listening(lambda what, done, of: heard.append((what, done, of))):
        _, history = genetic(x, 3, 6, 20, np.random.default_rng(1))
    assert history[-1] < 0.9 * history[0]
    told = [what for what in heard if what[0] == "breeding partitions"]
    assert told == [("breeding partitions", done, 20) for done in range(1, 21)]
