"""The genetic search: children never worse, whatever the number of cores, and Adult."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.table import Table
from sfumato.kernels.classes import genetic as genetic_recoding
from sfumato.kernels.classes.near import near_records
from sfumato.kernels.classes.regroup import cut_large
from tests.oracle import recoding_searches as oracle


def breeder(table: Table, k: int, seed: int) -> genetic_recoding.Breeder:
    priced = oracle.priced(table)
    everybody = np.zeros(table.height, np.int64)
    labels = cut_large(priced.prices, priced.states, everybody, k)
    rng = np.random.default_rng(seed)
    near = near_records(priced.prices, priced.states, rng)
    return genetic_recoding.Breeder(priced.prices, priced.states, near, labels, k, 3, 1.0, rng)


@given(oracle.tables(40), st.integers(2, 4), st.integers(0, 99))
def test_nobody_gets_worse_and_costs_are_true(table: Table, k: int, seed: int) -> None:
    family = breeder(table, k, seed)
    cost = oracle.cost_of(table)
    before = [float(costs.sum()) for _, costs in family.living]
    family.breed(3)
    for (labels, costs), old in zip(family.living, before, strict=True):
        assert float(costs.sum()) == oracle.total(cost, labels) <= old
        assert np.bincount(labels).min() >= k
    assert float(family.best[1].sum()) == min(float(costs.sum()) for _, costs in family.living)


def test_the_number_of_cores_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 12, 200) for name in "abc"}
    table = sf.table(data, quasi=list(data))
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(genetic_recoding, "cores", lambda cores=cores: cores)
        search = sf.method("genetic-recoding", steps=9, population=3)
        found.append(sf.partition(table, search, 4).labels.tolist())
    assert found[0] == found[1]


@pytest.mark.golden
def test_loss_on_adult(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    table, limit = oracle.adult(shared_data("adult"), 3000), 0.121
    for seed in range(5):
        got = oracle.ncp(table, sf.method("genetic-recoding", k=5, steps=100), seed)
        name = f"genetic-recoding Adult 3,000, k=5, NCP, seed {seed}"
        golden_record(name, f"<= {limit}", round(got, 4))
        assert got <= limit
