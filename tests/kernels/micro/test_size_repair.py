"""Size repair against its oracle, and what it promises for any clustering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.kernels.micro.size_repair import NEIGHBOURS, best_cut, cut_in_two, repair, sse_of
from tests.oracle import size_repair as oracle


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 40),
    d=st.integers(1, 3),
    k=st.integers(2, 6),
)
def test_small_clusterings_have_the_oracles_groups(seed: int, n: int, d: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n = max(n, k)
    x = rng.normal(size=(n, d))
    labels = rng.integers(-1, 4, n)
    labels[np.flatnonzero(labels < 0)[2:]] = 0
    # Few enough groups at any time for all of them to be neighbours.
    parts = sum(max(1, size // k) for size in np.bincount(labels[labels >= 0]))
    assume(parts + 2 <= NEIGHBOURS + 1)
    assert repair(x, labels, k).tolist() == oracle.repair(x, labels.tolist(), k, NEIGHBOURS)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 150),
    d=st.integers(0, 3),
    k=st.integers(2, 9),
    grid=st.sampled_from([0, 0.5, 2]),
    clusters=st.integers(1, 80),
)
def test_every_group_has_k_to_2k_minus_1(
    seed: int, n: int, d: int, k: int, grid: float, clusters: int
) -> None:
    rng = np.random.default_rng(seed)
    n = max(n, k)
    x = rng.normal(size=(n, d))
    x = np.round(x * grid) if grid else x
    labels = rng.integers(-1, clusters, n)
    before = x.copy(), labels.copy()
    found = repair(x, labels, k)
    sizes = np.bincount(found)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert found.tolist() == repair(x, labels, k).tolist()
    assert np.array_equal(x, before[0])
    assert np.array_equal(labels, before[1])
    # What is right is left as it is.
    assert found.tolist() == repair(x, found, k).tolist()


def test_many_equal_records_are_no_burden() -> None:
    # A search for neighbours among equal centroids would look at all pairs: 4e8 of them.
    found = repair(np.zeros((20_000, 2)), np.full(20_000, -1), 4)
    assert set(np.bincount(found)) == {4}
    found = repair(np.zeros((20_000, 2)), np.arange(20_000) // 3, 4)
    assert set(np.bincount(found)) == {4}


def test_a_good_neighbour_is_not_harmed() -> None:
    x = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0], [9.1], [9.2]])
    found = repair(x, [0, 0, 0, 1, 1, 2, 2, 2], 3)
    # The two in the middle can only join: the cheaper side is the right one.
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(4, 20), d=st.integers(1, 3))
def test_cuts_are_the_best_of_their_orders(seed: int, m: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, m // 2 + 1))
    x = rng.normal(size=(m, d))
    rows = rng.permutation(m)
    at, least = best_cut(x, rows, k)
    everywhere = [
        oracle.total(x, [rows[:i].tolist(), rows[i:].tolist()]) for i in range(k, m - k + 1)
    ]
    assert least == pytest.approx(min(everywhere), rel=1e-9, abs=1e-9)
    assert everywhere[at - k] == pytest.approx(min(everywhere), rel=1e-9, abs=1e-9)
    order, at, least = cut_in_two(x, rows, k)
    parts = {frozenset(order[:at].tolist()), frozenset(order[at:].tolist())}
    assert parts == {frozenset(part) for part in oracle.cut_in_two(x, rows.tolist(), k)}
    assert least == pytest.approx(sse_of(x, order[:at]) + sse_of(x, order[at:]), abs=1e-9)


@pytest.mark.parametrize(
    ("x", "labels", "message"),
    [
        (np.zeros((2, 1)), [0, 0], "cannot form a group"),
        (np.zeros((3, 1)), [0, 0], "one to a record"),
        (np.zeros((3, 1)), [0.0, 0.5, 1.0], "whole numbers"),
        (np.array([[0.0], [np.nan], [1.0]]), [0, 0, 0], r"points\[1, 0\] is missing"),
        (np.zeros(3), [0, 0, 0], "points are a matrix"),
    ],
)
def test_refusals_name_the_fault(x: np.ndarray, labels: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        repair(x, labels, 3)
