"""Groups joined until they keep criteria on confidential values; records without a set."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.sets.base import Sets, SetSearch, sets_of
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.data.codec import Matrix
from sfumato.data.partition import Cover, Partition
from sfumato.data.table import Table
from sfumato.errors import MethodError
from tests.oracle.itemsets import support


class Runs(SetSearch):
    """Records in the order they come, k to a group."""

    name: ClassVar[str] = "runs"
    overlap: bool = False

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition | Cover:
        n = len(sets)
        if self.overlap:
            around = (np.arange(n)[:, None] + np.arange(self.k)) % n
            return Cover(np.arange(0, n * self.k + 1, self.k), around.ravel())
        return Partition(np.minimum(np.arange(n) // self.k, n // self.k - 1))


def _table(sets: list[Any], ill: list[str] | None = None) -> Table:
    frame = pl.DataFrame({"s": pl.Series(sets, dtype=pl.List(pl.String))})
    if ill is None:
        return sf.table(frame, quasi=["s"])
    return sf.table(frame.with_columns(ill=pl.Series(ill)), quasi=["s"], confidential=["ill"])


def _partition(search: SetSearch, table: Table) -> Any:
    return search.partition(Matrix(table, ["s"]), np.random.default_rng(0))


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from("abcd"), max_size=4).map(sorted), st.sampled_from("xyz")),
        min_size=4,
        max_size=14,
    ),
    st.integers(1, 3),
)
def test_groups_are_joined_until_they_keep(rows: list[tuple[list[str], str]], least: int) -> None:
    table = _table([one for one, _ in rows], [ill for _, ill in rows])
    search = Runs(k=2, criteria=(LDiversity(at_least=least),))
    if len({ill for _, ill in rows}) < least:
        with pytest.raises(MethodError, match="even all records together"):
            _partition(search, table)
        return
    found = _partition(search, table)
    for group in found:
        assert len(group) >= 2
        assert len({rows[i][1] for i in group}) >= least
    plain = _partition(Runs(k=2), table)
    # Groups are joined, never cut.
    assert all(len(set(found.labels[group].tolist())) == 1 for group in plain)


def test_a_cover_takes_no_criteria() -> None:
    search = Runs(k=2, overlap=True, criteria=(LDiversity(at_least=2),))
    with pytest.raises(MethodError, match="set-mondrian"):
        _partition(search, _table([["a"]] * 4, list("xyxy")))


@pytest.mark.parametrize("overlap", [False, True])
def test_records_without_a_set_stay_apart_where_k_are(overlap: bool) -> None:
    sets = [["a"], None, ["a", "b"], None, ["b"], None, ["b"]]
    found = _partition(Runs(k=3, overlap=overlap), _table(sets))
    if overlap:
        for i in range(7):
            members = found.members[found.starts[i] : found.starts[i + 1]].tolist()
            assert i in members
            assert len(set(members)) >= 3
            assert {sets[m] is None for m in members} == {sets[i] is None}
    else:
        assert len(set(found.labels[[1, 3, 5]].tolist())) == 1
        assert set(found.labels[[1, 3, 5]].tolist()).isdisjoint(found.labels[[0, 2, 4, 6]].tolist())


def test_too_few_without_a_set_are_grouped_with_others() -> None:
    found = _partition(Runs(k=3), _table([["a"], None, ["a"], ["b"]]))
    assert found.groups == 1
    assert "a few records have no set" in found.warnings[0]
    with pytest.raises(MethodError, match="cannot form a group of 3"):
        _partition(Runs(k=3), _table([["a"], ["b"]]))


def test_several_columns_are_one() -> None:
    table = sf.table({"s": [["a"], ["b", "a"], []], "t": [["a"], [], ["c"]]}, quasi=["s", "t"])
    sets, missing = sets_of(Matrix(table, ["s", "t"]))
    lists = [sets.items[sets.starts[i] : sets.starts[i + 1]].tolist() for i in range(3)]
    assert lists == [[0, 2], [0, 1], [3]]
    assert support(lists, [0]) == 2
    assert sets.d == 4
    assert not missing.any()
