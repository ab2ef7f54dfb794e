"""Pairs against all matchings of small files, and against an exact solver for larger ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from sfumato.kernels.micro import matching as module
from sfumato.kernels.micro.matching import match, recursive_matching
from tests.oracle.clusterings import least_matching


def _cost(x: np.ndarray, mate: np.ndarray) -> float:
    paired = np.flatnonzero(mate >= 0)
    return float(np.sum((x[paired] - x[mate[paired]]) ** 2)) / 2


def _is_matching(mate: np.ndarray) -> bool:
    paired = np.flatnonzero(mate >= 0)
    return (
        mate.size - paired.size == mate.size % 2
        and bool(np.all(mate[mate[paired]] == paired))
        and bool(np.all(mate[paired] != paired))
    )


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 10), d=st.integers(1, 4))
def test_pairs_of_few_records_cost_no_more_than_a_tenth_above_the_least(
    seed: int, n: int, d: int
) -> None:
    # All of 3,000 random files of this size were matched optimally; nothing proves it must be.
    x = np.random.default_rng(seed).normal(size=(n, d))
    mate = match(x, 23)
    assert _is_matching(mate)
    least = least_matching(x)
    assert least * (1 - 1e-9) <= _cost(x, mate) <= least * 1.1 + 1e-12


@pytest.mark.parametrize(("n", "d"), [(100, 2), (101, 5)])
def test_pairs_are_close_to_the_exact_optimum(n: int, d: int) -> None:
    x = np.random.default_rng(n + d).normal(size=(n, d))
    # With an odd number one more record, at no distance from any, takes the one left over.
    size = n + n % 2
    apart = np.zeros((size, size))
    apart[:n, :n] = np.sum((x[:, None] - x[None]) ** 2, axis=2)
    np.fill_diagonal(apart, np.inf)
    # The exact solver is given each record's 20 nearest.
    near = np.argsort(apart, axis=1)[:, :20]
    ends = {(min(i, j), max(i, j)) for i in range(size) for j in near[i].tolist()}
    ends |= {(i, n) for i in range(n) if n < size}
    edges = np.array(sorted(ends))
    degree = np.zeros((size, len(edges)))
    degree[edges[:, 0], np.arange(len(edges))] = degree[edges[:, 1], np.arange(len(edges))] = 1
    best = milp(
        apart[edges[:, 0], edges[:, 1]], constraints=LinearConstraint(degree, 1, 1),
        integrality=np.ones(len(edges)), bounds=Bounds(0, 1),
    )  # fmt: skip
    assert best.status == 0
    mate = match(x, 23)
    assert _is_matching(mate)
    assert _cost(x, mate) <= best.fun * 1.03


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 200),
    d=st.integers(0, 3),
    neighbours=st.integers(1, 6),
    grid=st.sampled_from([0, 0.1, 1]),
)
def test_everyone_but_one_has_a_partner(
    seed: int, n: int, d: int, neighbours: int, grid: float
) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    x = np.round(x * grid) if grid else x
    mate = match(x, neighbours)
    assert _is_matching(mate)
    assert mate.tolist() == match(x, neighbours).tolist()


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 200),
    d=st.integers(0, 3),
    k=st.integers(2, 9),
    grid=st.sampled_from([0, 1]),
)
def test_groups_have_k_to_2k_minus_1(seed: int, n: int, d: int, k: int, grid: int) -> None:
    x = np.random.default_rng(seed).normal(size=(max(n, k), d))
    found = recursive_matching(np.round(x) if grid else x, k, 23)
    sizes = np.bincount(found)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


def test_a_number_of_records_without_remainder_gives_powers_of_two() -> None:
    x = np.random.default_rng(1).normal(size=(160, 3))
    assert set(np.bincount(recursive_matching(x, 3, 23))) == {4}
    assert set(np.bincount(recursive_matching(x, 10, 23))) == {16}


def test_work_in_slices_is_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).normal(size=(300, 2))
    whole = match(x, 10)
    monkeypatch.setattr(module, "SLICE", 1)
    assert match(x, 10).tolist() == whole.tolist()


def test_many_equal_records_are_no_burden() -> None:
    mate = match(np.zeros((20_001, 2)), 5)
    assert _is_matching(mate)
