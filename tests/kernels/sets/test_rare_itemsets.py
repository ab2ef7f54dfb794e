"""Combinations that too few sets hold, beside plain enumeration."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.rare_itemsets import rare_itemsets
from tests.oracle.itemsets import rare, rows

_SETS = st.lists(st.sets(st.integers(0, 6), max_size=6).map(sorted), min_size=1, max_size=12)


@given(_SETS, st.integers(1, 4), st.integers(1, 4))
def test_every_rare_combination_is_seen(sets: list[list[int]], k: int, m: int) -> None:
    found = rare_itemsets(*rows(sets), 7, k, m)
    expected = rare(sets, k, m)
    # Seen once each: those whose leading items are not rare already.
    leading = [c for c in expected if not any(c[:size] in expected for size in range(1, len(c)))]
    assert found.combinations == len(leading)
    holds = [any(set(c) <= set(one) for c in expected) for one in sets]
    assert found.records.tolist() == holds
    if expected:
        assert found.least < k
    elif any(sets):
        assert found.least >= k


@given(_SETS, st.integers(2, 4), st.integers(1, 3))
def test_what_is_dropped_hits_every_rare_combination(sets: list[list[int]], k: int, m: int) -> None:
    starts, items = rows(sets)
    worth = np.arange(7.0)
    drops = rare_itemsets(starts, items, 7, k, m, worth).drops
    for i, one in enumerate(sets):
        gone = set(items[starts[i] : starts[i + 1]][drops[starts[i] : starts[i + 1]]].tolist())
        for combination in rare(sets, k, m):
            if set(combination) <= set(one):
                assert gone & set(combination)


def test_the_cheapest_item_goes() -> None:
    starts, items = rows([[0, 1], [0], [0], [1], [1]])
    assert rare_itemsets(starts, items, 2, 2, 2, np.array([1.0, 5.0])).drops.tolist() == [
        True, False, False, False, False, False,
    ]  # fmt: skip
    assert rare_itemsets(starts, items, 2, 2, 2, np.array([5.0, 1.0])).drops.tolist() == [
        False, True, False, False, False, False,
    ]  # fmt: skip


def test_nothing_occurs() -> None:
    found = rare_itemsets(*rows([[], []]), 3, 5, 2)
    assert (found.combinations, found.least, found.looked_at) == (0, 0, 0)
