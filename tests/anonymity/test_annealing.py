"""Simulated annealing: what it keeps count of, how it cools, and what it reaches on Adult."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.cheap_groups import Improvement, Priced
from sfumato.data.codec import Matrix
from sfumato.data.partition import Partition
from sfumato.data.table import Table
from sfumato.kernels.classes.annealing import REFORMED, anneal, schedule, walk
from sfumato.kernels.classes.moves import groups_of
from sfumato.kernels.classes.near import near_records
from sfumato.kernels.classes.regroup import cut_large
from sfumato.kernels.joins.prices import ANY, WHOLE, joined
from tests.oracle import recoding_searches as oracle
from tests.oracle.mixed_tables import mixed_table


@given(oracle.tables(40), st.integers(2, 4), st.floats(0, 1), st.integers(0, 99))
def test_the_cost_is_kept_exactly(table: Table, k: int, heat: float, seed: int) -> None:
    priced = oracle.priced(table)
    everybody = np.zeros(table.height, np.int64)
    labels = cut_large(priced.prices, priced.states, everybody, k)
    near = near_records(priced.prices, priced.states, np.random.default_rng(seed))
    on = walk(groups_of(priced.prices, priced.states, labels, k), near, seed)
    cost = oracle.cost_of(table)
    before = oracle.total(cost, labels)
    change = anneal(on, 60, heat * WHOLE, REFORMED)
    after = oracle.total(cost, on.groups.label)
    assert after - before == change == int(on.groups.cost.sum()) - before
    sizes = on.groups.size[on.groups.size > 0]
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert anneal(on, 60, 0.0, REFORMED) <= 0


def test_it_cools_from_the_heat_to_almost_nothing() -> None:
    assert schedule(3.0, 0.95, 0.0) == 3.0
    assert schedule(3.0, 0.95, 0.01) == pytest.approx(2.85)
    assert schedule(3.0, 0.95, 1.0) < 0.02
    assert schedule(3.0, 1.0, 1.0) == 3.0


def test_lists_of_neighbours_are_nearly_the_nearest() -> None:
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 12, 600) for name in "abcd"}
    priced = oracle.priced(sf.table(data, quasi=list(data)))
    near = near_records(priced.prices, priced.states, rng)
    x = priced.states[near.rows[near.at[:-1]]]
    found = best = 0
    for i in range(0, len(x), 10):
        costs = [joined(priced.prices, x, i, x, r, ANY) for r in range(len(x)) if r != i]
        best += sum(sorted(costs)[: near.lists.shape[1]])
        found += sum(joined(priced.prices, x, i, x, r, ANY) for r in near.lists[i])
        assert i not in near.lists[i]
        assert len(set(near.lists[i])) == near.lists.shape[1]
    assert best <= found <= 1.1 * best


def test_weights_hold_for_the_start_as_well() -> None:
    rng = np.random.default_rng(2)
    data = {"a": rng.integers(0, 50, 200), "b": rng.integers(0, 50, 200)}
    table = sf.table(data, quasi=["a", "b"])

    def widths(importance: dict[str, float]) -> float:
        search = sf.method("annealing", importance=importance, steps=2000)
        groups = sf.partition(table, search, 0)
        return float(np.mean([np.ptp(data["a"][rows]) for rows in groups]))

    assert widths({"a": 20.0}) < widths({}) < widths({"b": 20.0})


@pytest.mark.golden
def test_loss_on_adult(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    table, limit = oracle.adult(shared_data("adult"), 3000), 0.121
    for seed in range(5):
        got = oracle.ncp(table, sf.method("annealing", k=5, steps=150_000), seed)
        golden_record(f"annealing Adult 3,000, k=5, NCP, seed {seed}", f"<= {limit}", round(got, 4))
        assert got <= limit


@pytest.mark.parametrize("name", ["annealing", "tabu", "genetic-recoding"])
def test_compiling_does_not_use_up_the_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    compiled = Improvement._compile

    def slow(self: Improvement, priced: Priced) -> None:
        now[0] += 3600.0
        compiled(self, priced)

    def tick() -> float:
        now[0] += 0.01
        return now[0]

    monkeypatch.setattr(Improvement, "_compile", slow)
    monkeypatch.setattr("sfumato.anonymity.cheap_groups.time.monotonic", tick)
    table = mixed_table(3, 60)
    found = sf.method(name, k=3, seconds=1.0).partition(
        Matrix(table, table.schema.quasi), np.random.default_rng(0)
    )
    assert isinstance(found, Partition)
    assert found.facts["steps"] > 16
