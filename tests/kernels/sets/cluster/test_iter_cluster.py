"""Iterative clustering of sets beside plain loops over Python sets."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.kernels.sets.cluster._iter_cluster import iter_cluster_sets
from tests.oracle import set_clusters as oracle
from tests.oracle.itemsets import rows

_D = 8
_SETS = st.lists(st.sets(st.integers(0, _D - 1), max_size=6).map(sorted), min_size=2, max_size=20)
_UTILITIES = st.lists(st.integers(0, 5).map(float), min_size=_D, max_size=_D)


@settings(max_examples=40)
@given(_SETS, _UTILITIES, st.integers(2, 5), st.integers(2, 5), st.integers(0, 99))
def test_the_full_search_is_the_naive_one(
    sets: list[list[int]], utilities: list[float], k: int, stages: int, seed: int
) -> None:
    assume(len(sets) >= k)
    found = iter_cluster_sets(
        *rows(sets), np.array(utilities), k, neighbours="all", stages=stages,
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    plain = [frozenset(s) for s in sets]
    expected = oracle.iterate(plain, utilities, k, stages, np.random.default_rng(seed))
    assert found.tolist() == expected


@pytest.mark.parametrize("neighbours", ["lsh", "all"])
@given(
    _SETS, _UTILITIES, st.integers(2, 6), st.floats(0.1, 2), st.integers(0, 4), st.integers(0, 99)
)
def test_classes_hold_k_whatever_the_sample(
    neighbours: Literal["lsh", "all"],
    sets: list[list[int]],
    utilities: list[float],
    k: int,
    sample: float,
    bits: int,
    seed: int,
) -> None:
    assume(len(sets) >= k)
    first, second = (
        iter_cluster_sets(
            *rows(sets), np.array(utilities), k, neighbours=neighbours, sample=sample, bits=bits,
            rng=np.random.default_rng(seed), threads=threads,
        )
        for threads in (1, 2)
    )  # fmt: skip
    assert first.tolist() == second.tolist()
    assert first.min() == 0
    assert np.bincount(first).min() >= k


def test_more_rounds_never_keep_less() -> None:
    rng = np.random.default_rng(0)
    kinds = [rng.choice(40, 10, replace=False) for _ in range(12)]
    sets = [sorted(kinds[rng.integers(12)][rng.random(10) < 0.8].tolist()) for _ in range(600)]
    plain = [frozenset(s) for s in sets]
    kept = []
    # One round of the first stage is the same whatever follows.
    for rounds in (1, 2, 3):
        labels = iter_cluster_sets(
            *rows(sets), np.ones(40), 20, stages=2, rounds=rounds, sample=2.0,
            rng=np.random.default_rng(1),
        )  # fmt: skip
        kept.append(oracle.kept(plain, [1.0] * 40, labels.tolist()))
    assert kept == sorted(kept)
