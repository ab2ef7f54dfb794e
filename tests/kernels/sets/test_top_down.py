"""The top-down search for sets beside its oracle."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.top_down import set_top_down, unclosed
from tests.oracle.itemsets import rows
from tests.oracle.set_top_down import closed
from tests.oracle.set_top_down import set_top_down as naive

_PARENTS = [7, 7, 8, 8, 8, 9, -1, 9, 9, -1]
_SETS = st.lists(st.sets(st.integers(0, 9), max_size=5).map(sorted), min_size=4, max_size=30)


@given(_SETS, st.integers(2, 4), st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_as_the_oracle(sets: list[list[int]], k: int, worth: list[int]) -> None:
    whole = closed(sets, _PARENTS)
    starts, items = rows(whole)
    parents = np.array(_PARENTS)
    assert unclosed(starts, items, parents) < 0
    labels = set_top_down(starts, items, np.array(worth, dtype=float), parents, k)
    classes = defaultdict(set)
    for row, label in enumerate(labels.tolist()):
        classes[label].add(row)
    assert {frozenset(one) for one in classes.values()} == naive(whole, worth, _PARENTS, k)
    assert min(map(len, classes.values())) >= k


@given(_SETS)
def test_a_set_without_a_parent_is_seen(sets: list[list[int]]) -> None:
    found = unclosed(*rows(sets), np.array(_PARENTS))
    lacking = {i for one in sets for i in one if _PARENTS[i] >= 0 and _PARENTS[i] not in one}
    assert (found in lacking) if lacking else found == -1
