"""k-member beside a naive version, and what every search for cheap groups promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.clusters import KMember
from sfumato.data.codec import Matrix
from sfumato.data.table import Table
from sfumato.errors import MethodError
from sfumato.kernels.classes.k_member import k_member
from tests.oracle import recoding_searches as oracle


@given(oracle.tables(), st.integers(2, 5), st.data())
def test_it_is_the_naive_one(table: Table, k: int, data: st.DataObject) -> None:
    priced = oracle.priced(table)
    first = data.draw(st.integers(0, table.height - 1))
    labels = k_member(priced.prices, priced.states, k, first)
    naive = oracle.k_member(oracle.cost_of(table), priced.states, k, first)
    assert oracle.as_sets(labels) == oracle.sets_of(naive)


@given(oracle.tables(), st.floats(0.1, 9))
def test_weights_count_in_the_naive_way(table: Table, weight: float) -> None:
    weights = {"age": weight}
    x = Matrix(table, table.schema.quasi)
    found = KMember(k=3, first=1, importance=weights).partition(x, np.random.default_rng(0))
    cost = oracle.cost_of(table, weights)
    naive = oracle.k_member(cost, oracle.priced(table).states, 3, 0)
    assert oracle.as_sets(found.labels) == oracle.sets_of(naive)


def test_a_long_short_list_changes_nothing() -> None:
    """More records than fit the list of the cheapest, and k so large that it runs out."""
    rng = np.random.default_rng(5)
    n, k = 150, 40
    data = {"a": rng.integers(0, 400, n), "b": rng.integers(0, 5, n), "c": rng.integers(0, 90, n)}
    table = sf.table(data, quasi=list(data))
    priced = oracle.priced(table)
    labels = k_member(priced.prices, priced.states, k, 7)
    naive = oracle.k_member(oracle.cost_of(table), priced.states, k, 7)
    assert oracle.as_sets(labels) == oracle.sets_of(naive)


@given(oracle.tables(60), st.integers(2, 8), st.integers(0, 9))
def test_groups_keep_k(table: Table, k: int, seed: int) -> None:
    found = sf.partition(table, sf.method("k-member", k=k), seed)
    assert len(found) == table.height
    assert found.smallest >= k
    assert np.array_equal(
        found.labels, sf.partition(table, sf.method("k-member", k=k), seed).labels
    )


def ill(n: int) -> Table:
    rng = np.random.default_rng(3)
    data = {
        "age": rng.integers(20, 80, n),
        "ill": rng.choice(["flu", "cold", "gout"], n, p=[0.6, 0.3, 0.1]),
    }
    return sf.table(data, quasi=["age"], confidential="ill")


def test_groups_join_until_they_keep_the_criteria() -> None:
    table = ill(90)
    rules = [{"use": "l-diversity", "at-least": 3}, {"use": "t-closeness", "at-most": 0.3}]
    plain = sf.partition(table, sf.method("k-member", k=4), 1)
    found = sf.partition(table, sf.method("k-member", k=4, criteria=rules), 1)
    assert 1 < found.groups < plain.groups
    for rows in found:
        assert len(set(table["ill"].gather(rows).to_list())) == 3
    release = sf.protect(
        table,
        sf.method("k-member", k=4, criteria=rules),
        require={"l-diversity": 3, "t-closeness": 0.3},
        seed=1,
    )
    assert release.table.height == 90


def test_criteria_that_nothing_keeps_are_named() -> None:
    rules = [{"use": "l-diversity", "at-least": 4}]
    with pytest.raises(MethodError, match="do not keep l-diversity"):
        sf.partition(ill(40), sf.method("k-member", criteria=rules), 1)


def test_complaints() -> None:
    table = sf.table({"age": [1, 2, 3]}, quasi=["age"])
    with pytest.raises(MethodError, match="cannot form a group of 5"):
        sf.partition(table, sf.method("k-member"), 1)
    with pytest.raises(MethodError, match="row 9 of 3"):
        sf.partition(table, sf.method("k-member", k=2, first=9), 1)
    with pytest.raises(MethodError, match="not among the columns"):
        sf.partition(table, sf.method("k-member", k=2, importance={"x": 2.0}), 1)


@pytest.mark.golden
def test_loss_on_adult(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    table, limit = oracle.adult(shared_data("adult"), 3000), 0.16
    for seed in range(5):
        got = oracle.ncp(table, sf.method("k-member", k=5), seed)
        golden_record(f"k-member Adult 3,000, k=5, NCP, seed {seed}", f"<= {limit}", round(got, 4))
        assert got <= limit
