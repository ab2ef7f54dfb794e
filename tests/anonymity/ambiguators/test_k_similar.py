"""k-Similar: groups of k to 2k - 1, beside a naive version."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.ambiguators.dividing import FarthestPair, KSimilar
from sfumato.data.codec import Matrix
from sfumato.data.partition import Partition
from sfumato.data.table import table
from tests.oracle import ambiguators as oracle
from tests.oracle.mixed_tables import mixed_table

RNG = np.random.default_rng(0)


@given(st.integers(0, 10**6), st.integers(2, 24), st.integers(2, 4))
def test_it_is_the_naive_one(seed: int, n: int, k: int) -> None:
    data = mixed_table(seed, max(n, k))
    x = Matrix(data, data.schema.quasi)
    chosen = KSimilar(k=k)
    priced = chosen.price(x)
    records = oracle.Records.of(priced.joins, priced.states)
    groups = oracle.divided(records, range(len(x)), k, share=True)
    found = chosen.partition(x, RNG)
    assert sorted(rows.tolist() for rows in found) == sorted(groups)


@given(st.integers(0, 10**6), st.integers(2, 120), st.integers(2, 7))
def test_sizes_lie_between_k_and_2k(seed: int, n: int, k: int) -> None:
    data = mixed_table(seed, max(n, k))
    found = KSimilar(k=k, exact_up_to=seed % 60).partition(Matrix(data, data.schema.quasi), RNG)
    assert found.smallest >= k
    assert found.sizes.max() < 2 * k


def test_an_outlier_takes_its_nearest_along() -> None:
    data = table({"age": [20, 21, 22, 50, 51, 52, 500]}, quasi=["age"])
    found = sf.partition(data, sf.method("k-similar", k=3))
    assert isinstance(found, Partition)
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_it_loses_less_than_undoing_does() -> None:
    data = mixed_table(3, 300)
    losses = [
        float(sf.protect(data, search, seed=0).evidence["ncp"])
        for search in (KSimilar(measure="ncp"), FarthestPair())
    ]
    assert losses[0] < losses[1]
