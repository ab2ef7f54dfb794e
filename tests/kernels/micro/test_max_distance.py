"""MD by bounds that only sink against all pairs compared in every round."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.micro.max_distance import max_distance
from tests.oracle import clusterings as oracle


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    d=st.integers(1, 3),
    k=st.integers(2, 6),
    grid=st.sampled_from([0.0, 0.5, 2.0, 1e6]),
)
def test_bounds_find_what_comparing_all_pairs_finds(
    seed: int, n: int, d: int, k: int, grid: float
) -> None:
    """On a grid many pairs are equally distant, and on one of width 0 all are."""
    x = np.round(np.random.default_rng(seed).normal(size=(max(n, k), d)) * grid)
    assert max_distance(x, k).tolist() == oracle.max_distance(x, k)


def test_trees_that_are_planted_anew_are_the_same_work() -> None:
    x = np.random.default_rng(2).normal(size=(1203, 2))
    found = max_distance(x, 300)
    assert found.tolist() == oracle.max_distance(x, 300)
    assert np.bincount(found).min() >= 300


def test_many_equal_records_are_not_compared_again_and_again() -> None:
    x = np.zeros((4000, 1))
    x[::2] = 1.0
    sizes = np.bincount(max_distance(x, 5))
    assert sizes.min() == 5
    assert sizes.max() <= 9
