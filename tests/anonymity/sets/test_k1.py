"""(k,1)-searches for sets through tables: k1-cluster (alias k1) and k1-top-down."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.sets.base import SetSearch
from sfumato.anonymity.sets.k1 import K1Cluster, K1TopDown
from sfumato.data.codec import Matrix
from sfumato.data.partition import Cover
from sfumato.errors import MethodError
from tests.oracle import k1_sets as oracle

_SEARCHES: list[SetSearch] = [
    K1Cluster(k=3, neighbours="all"),
    K1Cluster(k=3),
    K1TopDown(k=3),
]
_LISTS = st.lists(st.sets(st.sampled_from("abcdefgh")).map(sorted), min_size=3, max_size=25)


def _cover(search: SetSearch, lists: list[Any], seed: int = 0) -> Cover:
    table = sf.table(
        pl.DataFrame({"buys": pl.Series(lists, dtype=pl.List(pl.String))}), quasi=["buys"]
    )
    found = search.partition(Matrix(table, ["buys"]), np.random.default_rng(seed))
    assert isinstance(found, Cover)
    return found


@pytest.mark.parametrize("search", _SEARCHES, ids=["all", "lsh", "top-down"])
@given(lists=_LISTS)
def test_every_set_has_k_companions(search: SetSearch, lists: list[list[str]]) -> None:
    found = _cover(search, lists)
    members = found.members.reshape(len(lists), 3).tolist()
    sets = [frozenset(ord(item) for item in items) for items in lists]
    oracle.check(sets, members, 3)
    assert "(k,1)" in found.warnings[0]
    assert np.array_equal(found.members, _cover(search, lists).members)


@pytest.mark.parametrize("search", _SEARCHES, ids=["all", "lsh", "top-down"])
def test_missing_sets_stay_among_themselves(search: SetSearch) -> None:
    lists = [["a", "b"], None, ["a", "b"], None, ["a"], None, ["a", "c"], None]
    found = _cover(search, lists)
    for i, items in enumerate(lists):
        row = found.members[found.starts[i] : found.starts[i + 1]].tolist()
        assert i in row
        assert len(set(row)) >= 3
        assert all((lists[j] is None) == (items is None) for j in row)


def test_too_few_records_are_refused() -> None:
    with pytest.raises(MethodError, match="cannot form a group of 3"):
        _cover(K1TopDown(k=3), [["a"], ["b"]])
