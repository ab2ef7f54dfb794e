"""k-Ward by the nearest-neighbour chain against all pairs compared."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.micro import ward as module
from sfumato.kernels.micro.ward import k_ward, most_distant
from tests.oracle import clusterings as oracle


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    d=st.integers(1, 3),
    k=st.integers(2, 6),
)
def test_the_chain_joins_what_comparing_all_pairs_joins(seed: int, n: int, d: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(max(n, k), d)) * np.exp(rng.normal(size=(max(n, k), 1)))
    assert k_ward(x, k).tolist() == oracle.k_ward(x, k)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 300),
    d=st.integers(0, 3),
    k=st.integers(2, 9),
    grid=st.sampled_from([0.1, 1, 5]),
)
def test_ties_and_duplicates_still_give_groups_of_k(
    seed: int, n: int, d: int, k: int, grid: float
) -> None:
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(max(n, k), d)) * grid)
    found = k_ward(x, k)
    sizes = np.bincount(found)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert found.tolist() == k_ward(x, k).tolist()


def test_many_equal_records_do_not_all_end_in_one_group() -> None:
    # Peeled off one by one, as a plain tie to the first group would have it, this takes minutes.
    assert np.bincount(k_ward(np.zeros((3000, 2)), 5)).max() <= 9


def test_work_in_slices_is_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).normal(size=(400, 2))
    whole = k_ward(x, 4)
    monkeypatch.setattr(module, "SLICE", 1)
    assert k_ward(x, 4).tolist() == whole.tolist()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 30), d=st.integers(1, 3))
def test_the_most_distant_are_found(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(n, d)), rng.integers(0, 5))
    rows = np.flatnonzero(rng.random(n) < 0.8)
    rows = rows if rows.size > 1 else np.arange(n)
    pairs = list(combinations(rows.tolist(), 2))
    apart = [float(np.sum((x[i] - x[j]) ** 2)) for i, j in pairs]
    i, j = most_distant(x, rows)
    assert (i, j) in pairs
    assert np.sum((x[i] - x[j]) ** 2) == pytest.approx(max(apart), rel=1e-12)
