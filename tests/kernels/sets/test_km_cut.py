"""Generalization for k^m beside its oracle, and beside its promise."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.km_cut import km_cut, preorder
from tests.oracle.itemsets import rare, rows
from tests.oracle.km_cut import km_cut as naive
from tests.oracle.km_cut import line
from tests.oracle.set_top_down import closed

_PARENTS = [7, 7, 8, 8, 8, 9, -1, 9, 9, -1]
_SETS = st.lists(st.sets(st.integers(0, 9), max_size=5).map(sorted), min_size=4, max_size=20)


@given(
    _SETS,
    st.integers(2, 4),
    st.integers(1, 3),
    st.lists(st.integers(0, 3), min_size=10, max_size=10),
)
def test_as_the_oracle(sets: list[list[int]], k: int, m: int, worth: list[int]) -> None:
    whole = closed(sets, _PARENTS)
    gone = km_cut(*rows(whole), np.array(worth, dtype=float), np.array(_PARENTS), k, m)
    found = set(np.flatnonzero(gone).tolist())
    assert found == naive(whole, worth, _PARENTS, k, m)
    assert not rare([[i for i in one if i not in found] for one in whole], k, m)
    # Whatever is left out takes all that stands below it along.
    assert all(found & set(line(i, _PARENTS)) <= found for i in range(10))
    assert all(i in found for i in range(10) if _PARENTS[i] in found)


def test_the_order_keeps_subtrees_together() -> None:
    order, low, high = preorder(np.array(_PARENTS))
    for node in range(10):
        inside = {i for i in range(10) if node in line(i, _PARENTS)}
        assert set(order[low[node] : high[node]].tolist()) == inside
