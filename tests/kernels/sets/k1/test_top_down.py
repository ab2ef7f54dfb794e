"""(k,1)-anonymity from the top beside exhaustive search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.k1 import _top_down as kernel
from sfumato.kernels.sets.k1._cluster import k1_all
from sfumato.kernels.sets.k1._top_down import k1_top_down
from tests.oracle import k1_sets as oracle
from tests.oracle.itemsets import rows

_D = 10
_SETS = st.lists(st.sets(st.integers(0, _D - 1), max_size=8).map(sorted), min_size=6, max_size=24)
_UTILITIES = st.lists(st.integers(0, 5).map(float), min_size=_D, max_size=_D)


@given(_SETS, _UTILITIES, st.integers(2, 6), st.integers(1, 3), st.integers(1, 4))
def test_what_is_published_is_allowed_and_worth_what_is_said(
    sets: list[list[int]], utilities: list[float], k: int, tries: int, breadth: int
) -> None:
    plain = [frozenset(s) for s in sets]
    given_ = (*rows(sets), np.array(utilities), k)
    members, values = k1_top_down(*given_, breadth=breadth, pool=2, steps=3, tries=tries)
    shown = oracle.check(plain, members.tolist(), k)
    assert [oracle.worth(s, utilities) for s in shown] == values.tolist()
    upper = oracle.best(plain, utilities, k)
    assert all(value <= most for value, most in zip(values, upper, strict=True))
    again = k1_top_down(*given_, breadth=breadth, pool=2, steps=3, tries=tries, threads=3)
    assert np.array_equal(members, again[0])


@given(_SETS, _UTILITIES, st.integers(2, 6))
def test_with_enough_steps_a_pool_is_searched_exhaustively(
    sets: list[list[int]], utilities: list[float], k: int
) -> None:
    _, values = k1_top_down(*rows(sets), np.array(utilities), k, steps=10**6)
    assert values.tolist() == oracle.best([frozenset(s) for s in sets], utilities, k)


@given(_SETS, _UTILITIES, st.integers(2, 6))
def test_another_try_never_loses(sets: list[list[int]], utilities: list[float], k: int) -> None:
    one, two = (
        k1_top_down(*rows(sets), np.array(utilities), k, pool=2, breadth=2, tries=tries)[1]
        for tries in (1, 2)
    )
    assert (two >= one).all()


def _people(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.02, 0.6, 60)
    held = rng.random((n, 60)) < chance
    starts = np.concatenate(([0], np.cumsum(held.sum(1))))
    return starts, np.nonzero(held)[1].astype(np.uint16), rng.uniform(1, 100, 60)


def test_trie_and_pools_agree_with_their_promise_on_more_records() -> None:
    starts, items, utilities = _people(3000, 1)
    plain = [frozenset(items[a:b].tolist()) for a, b in pairwise(starts)]
    for k in (2, 40, 300):
        for pool, breadth in ((64, 4), (600, 16), (5000, 64)):
            members, values = k1_top_down(
                starts, items, utilities, k, pool=pool, breadth=breadth, tries=2
            )
            assert (np.sort(members)[:, 1:] > np.sort(members)[:, :-1]).all()
            shown = oracle.published(plain, members.tolist())
            assert np.allclose([oracle.worth(s, utilities) for s in shown], values)


def test_it_keeps_more_than_growing_around_each() -> None:
    starts, items, utilities = _people(3000, 2)
    plain = [frozenset(items[a:b].tolist()) for a, b in pairwise(starts)]
    for k in (10, 50):
        shown = oracle.published(plain, k1_all(starts, items, utilities, k).tolist())
        grown = sum(oracle.worth(s, utilities) for s in shown)
        assert k1_top_down(starts, items, utilities, k)[1].sum() > 1.1 * grown


def test_large_nodes_are_split_as_small_ones_are() -> None:
    starts, items, utilities = _people(4000, 3)
    given_ = (starts, items, utilities, 5)
    expected = k1_top_down(*given_, pool=64, breadth=1000)
    whole, kernel.COMPACT = kernel.COMPACT, 1
    try:
        found = k1_top_down(*given_, pool=64, breadth=1000)
    finally:
        kernel.COMPACT = whole
    assert np.array_equal(expected[0], found[0])
