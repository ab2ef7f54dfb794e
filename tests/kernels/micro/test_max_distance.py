"""MD by bounds that only sink against all pairs compared in every round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.kernels.micro.max_distance import max_distance
from sfumato.methods.microaggregation import mdav as module
from tests.oracle import clusterings as oracle


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    d=st.integers(1, 3),
    k=st.integers(2, 6),
    grid=st.sampled_from([0.0, 0.5, 2.0, 1e6]),
)
def test_bounds_find_what_comparing_all_pairs_finds(
    seed: int, n: int, d: int, k: int, grid: float
) -> None:
    """On a grid many pairs are equally distant, and on one of width 0 all are."""
    x = np.round(np.random.default_rng(seed).normal(size=(max(n, k), d)) * grid)
    assert max_distance(x, k).tolist() == oracle.max_distance(x, k)


def test_trees_that_are_planted_anew_are_the_same_work() -> None:
    x = np.random.default_rng(2).normal(size=(1203, 2))
    found = max_distance(x, 300)
    assert found.tolist() == oracle.max_distance(x, 300)
    assert np.bincount(found).min() >= 300


def test_many_equal_records_are_not_compared_again_and_again() -> None:
    x = np.zeros((4000, 1))
    x[::2] = 1.0
    sizes = np.bincount(max_distance(x, 5))
    assert sizes.min() == 5
    assert sizes.max() <= 9


def test_the_search_by_its_name_groups_standardized_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(1).normal(size=(30, 2)) * [1.0, 50.0]
    people = sf.table({"x": x[:, 0], "y": x[:, 1]}, quasi=["x", "y"])
    release = sf.protect(people, sf.method("md", k=4), seed=1, require={"k-anonymity": 4})
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    groups = oracle.max_distance(z, 4)
    wanted = {tuple(x[np.array(groups) == g].mean(axis=0).round(6)) for g in set(groups)}
    assert {tuple(np.round(row, 6)) for row in release.table.frame.rows()} == wanted
    monkeypatch.setattr(module, "MOST_RECORDS", 29)
    with pytest.raises(MethodError, match="30 records are more than the 29"):
        sf.protect(people, sf.method("md", k=4), seed=1)
