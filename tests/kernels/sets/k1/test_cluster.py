"""Companions for (k,1)-anonymity beside the literal algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.k1 import _grow as k1_grow
from sfumato.kernels.sets.k1._cluster import k1_all, k1_near
from sfumato.kernels.sets.lsh import lsh_tables
from tests.oracle import k1_sets as oracle
from tests.oracle.itemsets import rows

_D = 20
_SETS = st.lists(st.sets(st.integers(0, _D - 1), max_size=16).map(sorted), min_size=6, max_size=20)
_UTILITIES = st.lists(st.integers(1, 5).map(float), min_size=_D, max_size=_D)


@given(_SETS, _UTILITIES, st.integers(2, 6))
def test_the_full_search_is_the_literal_algorithm(
    sets: list[list[int]], utilities: list[float], k: int
) -> None:
    plain = [frozenset(s) for s in sets]
    found = k1_all(*rows(sets), np.array(utilities), k)
    assert oracle.check(plain, found.tolist(), k) == oracle.grown(plain, utilities, k)
    assert np.array_equal(found, k1_all(*rows(sets), np.array(utilities), k, threads=3))


def test_sets_of_more_items_than_a_word_has_bits() -> None:
    rng = np.random.default_rng(5)
    sets = [
        sorted(rng.choice(200, rng.integers(100, 160), replace=False).tolist()) for _ in range(30)
    ]
    utilities = rng.integers(1, 9, 200).astype(float).tolist()
    plain = [frozenset(s) for s in sets]
    for k in (2, 4, 30):
        found = k1_all(*rows(sets), np.array(utilities), k)
        assert oracle.published(plain, found.tolist()) == oracle.grown(plain, utilities, k)


@given(_SETS, _UTILITIES, st.integers(2, 6), st.integers(0, 99))
def test_companions_from_buckets_are_companions(
    sets: list[list[int]], utilities: list[float], k: int, seed: int
) -> None:
    found = []
    for threads in (1, 3):
        rng = np.random.default_rng(seed)
        hashed = lsh_tables(*rows(sets), _D, 2, 2, rng=rng)
        found.append(k1_near(*rows(sets), np.array(utilities), k, hashed, 8, rng, threads=threads))
    assert np.array_equal(*found)
    oracle.check([frozenset(s) for s in sets], found[0].tolist(), k)


@given(_SETS, _UTILITIES, st.integers(2, 6))
def test_one_bucket_holds_everybody(sets: list[list[int]], utilities: list[float], k: int) -> None:
    rng = np.random.default_rng(0)
    hashed = lsh_tables(*rows(sets), _D, 1, 0, rng=rng)
    found = k1_near(*rows(sets), np.array(utilities), k, hashed, len(sets), rng)
    plain = [frozenset(s) for s in sets]
    near = oracle.check(plain, found.tolist(), k)
    every = oracle.grown(plain, utilities, k)
    # The owner comes first among its neighbours, so that ties fall otherwise, but not the first.
    if k == 2:
        assert [oracle.worth(s, utilities) for s in near] == [
            oracle.worth(s, utilities) for s in every
        ]


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0])
def test_bits_are_counted(word: int) -> None:
    assert k1_grow.ones(np.uint64(word)) == word.bit_count()
