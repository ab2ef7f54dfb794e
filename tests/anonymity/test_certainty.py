"""Clustering by the certainty penalty, both ways, beside naive versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.table import Table
from sfumato.kernels.classes.certainty import bottom_up, top_down
from tests.oracle import recoding_searches as oracle

SEARCHES = ("certainty-bottom-up", "certainty-top-down")


@given(oracle.tables(), st.integers(2, 5))
def test_bottom_up_is_the_naive_one(table: Table, k: int) -> None:
    priced = oracle.priced(table)
    labels = bottom_up(priced.prices, priced.states, k)
    naive = oracle.bottom_up(oracle.cost_of(table), priced.states, k)
    assert oracle.as_sets(labels) == oracle.sets_of(naive)


@given(oracle.tables(), st.integers(2, 5), st.integers(1, 6), st.data())
def test_top_down_is_the_naive_one(table: Table, k: int, sweeps: int, data: st.DataObject) -> None:
    priced = oracle.priced(table)
    order = np.array(data.draw(st.permutations(range(table.height))))
    labels = top_down(priced.prices, priced.states, k, order, sweeps)
    naive = oracle.top_down(oracle.cost_of(table), order.tolist(), k, sweeps)
    assert oracle.as_sets(labels) == oracle.sets_of(naive)


@pytest.mark.parametrize("name", SEARCHES)
@given(table=oracle.tables(60), k=st.integers(2, 8), seed=st.integers(0, 9))
def test_groups_keep_k(name: str, table: Table, k: int, seed: int) -> None:
    k = min(k, table.height)
    search = sf.method(name, k=k)
    found = sf.partition(table, search, seed)
    assert len(found) == table.height
    assert k <= found.smallest
    assert found.sizes.max() < 2 * k
    assert np.array_equal(found.labels, sf.partition(table, search, seed).labels)


@pytest.mark.parametrize("name", SEARCHES)
def test_many_equal_records_are_no_trouble(name: str) -> None:
    table = sf.table({"sex": ["f", "m"] * 20_000}, quasi=["sex"])
    found = sf.partition(table, sf.method(name, k=5), 0)
    assert found.smallest >= 5
    assert all(table["sex"].gather(rows).n_unique() == 1 for rows in list(found)[:50])


@pytest.mark.parametrize("name", SEARCHES)
def test_a_dear_column_stays_precise(name: str) -> None:
    rng = np.random.default_rng(2)
    data = {"a": rng.integers(0, 50, 200), "b": rng.integers(0, 50, 200)}
    table = sf.table(data, quasi=["a", "b"])

    def widths(importance: dict[str, float]) -> float:
        groups = sf.partition(table, sf.method(name, importance=importance), 0)
        return float(np.mean([np.ptp(data["a"][rows]) for rows in groups]))

    assert widths({"a": 20.0}) < widths({}) < widths({"b": 20.0})


@pytest.mark.golden
@pytest.mark.parametrize(("name", "limit"), [(SEARCHES[0], 0.157), (SEARCHES[1], 0.142)])
def test_loss_on_adult(
    name: str,
    limit: float,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    table = oracle.adult(shared_data("adult"), 3000)
    for seed in range(5 if name == "certainty-top-down" else 1):
        got = oracle.ncp(table, sf.method(name, k=5), seed)
        golden_record(f"{name} Adult 3,000, k=5, NCP, seed {seed}", f"<= {limit}", round(got, 4))
        assert got <= limit
