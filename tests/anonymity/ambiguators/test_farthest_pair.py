"""Splitting around the farthest pair, beside a naive version and on tables of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.ambiguators.dividing import FarthestPair
from sfumato.data.codec import Matrix
from sfumato.data.partition import Partition
from sfumato.data.table import table
from sfumato.errors import MethodError
from sfumato.kernels.classes.farthest_pair import divide
from tests.oracle import ambiguators as oracle
from tests.oracle.mixed_tables import mixed_table

RNG = np.random.default_rng(0)


@given(st.integers(0, 10**6), st.integers(2, 24), st.integers(2, 4))
def test_it_is_the_naive_one(seed: int, n: int, k: int) -> None:
    data = mixed_table(seed, max(n, k))
    x = Matrix(data, data.schema.quasi)
    chosen = FarthestPair(k=k)
    priced = chosen.price(x)
    records = oracle.Records.of(priced.joins, priced.states)
    groups = oracle.divided(records, range(len(x)), k, share=False)
    found = chosen.partition(x, RNG)
    assert sorted(rows.tolist() for rows in found) == sorted(groups)
    assert found.facts["farthest pairs"] == "exact"


@given(st.integers(0, 10**6), st.integers(4, 80), st.integers(2, 6))
def test_groups_keep_k_by_sweeps_too(seed: int, n: int, k: int) -> None:
    data = mixed_table(seed, max(n, k))
    found = FarthestPair(k=k, exact_up_to=10).partition(Matrix(data, data.schema.quasi), RNG)
    assert found.smallest >= k


def test_clear_clusters_are_found_and_an_outlier_undoes_a_split() -> None:
    ages = [20, 21, 22, 50, 51, 52]
    data = table({"age": ages}, quasi=["age"])
    found = sf.partition(data, sf.method("farthest-pair", k=3))
    assert isinstance(found, Partition)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    lonely = table({"age": [*ages, 500]}, quasi=["age"])
    found = sf.partition(lonely, sf.method("partition", k=3))
    assert isinstance(found, Partition)
    assert found.groups == 1


def test_threads_never_alter_it_and_sweeps_are_told() -> None:
    data = mixed_table(9, 2600)
    priced = FarthestPair(k=3).price(Matrix(data, data.schema.quasi))
    one, other = (
        divide(priced.joins, priced.states, 3, share=True, exact_up_to=50, threads=t)
        for t in (1, 3)
    )
    assert (one[0] == other[0]).all()
    assert (one[1] == other[1]).all()
    x = Matrix(data, data.schema.quasi)
    found = FarthestPair(k=3, exact_up_to=50).partition(x, RNG)
    assert found.facts["farthest pairs"] == "by sweeps in large groups"
    assert found.smallest >= 3


def test_too_few_records() -> None:
    with pytest.raises(MethodError, match="a table of 4 cannot form a set of 5"):
        FarthestPair().partition(Matrix(mixed_table(1, 4), ["age"]), RNG)
