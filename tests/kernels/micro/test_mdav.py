"""MDAV against its oracle: the same groups, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from sfumato.kernels.micro.mdav._lanes import (
    LANES,
    add_distances,
    add_gaps,
    lanes_at_least,
    lanes_at_most,
)
from sfumato.kernels.micro.mdav._search import mdav
from sfumato.kernels.micro.mdav._shells import AHEAD, END, farthest, leave_shells, shells
from sfumato.kernels.micro.mdav._tree import _distance, leave_tree, nearest, room, tree
from sfumato.progress import listening
from tests.oracle.mdav import mdav as oracle


def _nominal(rng: np.random.Generator, n: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(0, 4, (n, q)).astype(np.int32), rng.choice([0.5, 1.0, 2.0], q)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    p=st.integers(0, 3),
    q=st.integers(0, 2),
    k=st.integers(2, 7),
    grid=st.sampled_from([0, 1, 3]),
)
def test_small_files_have_the_oracles_groups(
    seed: int, n: int, p: int, q: int, k: int, grid: int
) -> None:
    rng = np.random.default_rng(seed)
    # A grid is full of ties and duplicates, grid 0 is continuous.
    x = rng.integers(-grid, grid + 1, (n, p)).astype(float) if grid else rng.normal(size=(n, p))
    codes, weights = _nominal(rng, n, q)
    if n < k:
        with pytest.raises(ValueError, match="cannot form a group"):
            mdav(x, codes, weights, k)
        return
    found = mdav(x, codes, weights, k)
    assert found.tolist() == oracle(x, codes, weights, k)
    sizes = np.bincount(found)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 400),
    p=st.integers(0, 12),
    q=st.integers(0, 3),
    k=st.integers(2, 30),
    kinds=st.integers(1, 40),
    exponent=st.sampled_from([-170, -158, -30, 0, 30, 149]),
)
def test_few_distinct_records_at_any_scale_have_the_oracles_groups(
    seed: int, n: int, p: int, q: int, k: int, kinds: int, exponent: int
) -> None:
    # Rows are drawn from a few records, at scales where squares of differences underflow or nearly
    # overflow, so that almost every choice is a tie.
    rng = np.random.default_rng(seed)
    draw = rng.integers(0, kinds, n)
    x = np.round(rng.normal(size=(kinds, p)), 1)[draw] * 10.0**exponent
    codes, weights = _nominal(rng, kinds, q)
    k = min(k, n)
    assert mdav(x, codes[draw], weights, k).tolist() == oracle(x, codes[draw], weights, k)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 9), p=st.integers(1, 3))
def test_k_to_3k_records_have_the_oracles_groups(seed: int, k: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    for n in range(k, 3 * k + 2):
        x, codes = rng.integers(0, 3, (n, p)).astype(float), np.empty((n, 0), np.int32)
        found = mdav(x, codes, [], k)
        assert found.tolist() == oracle(x, codes, np.empty(0), k)
        assert (found.max() == 0) == (n < 2 * k)


@pytest.mark.parametrize(
    ("p", "q", "k", "kind"),
    [
        (2, 0, 3, "normal"),
        (4, 2, 5, "normal"),
        (0, 4, 5, "normal"),
        (3, 1, 4, "grid"),
        (1, 0, 2, "skewed"),
        (5, 0, 3, "skewed"),
        (3, 0, 5, "far off"),
        (3, 0, 5, "sphere"),
        (2, 0, 200, "normal"),
        (40, 0, 5, "normal"),
    ],
)
def test_deep_trees_have_the_oracles_groups(p: int, q: int, k: int, kind: str) -> None:
    n = 4 * LANES**2 + 5  # three levels, the last leaf not full, and rebuilds on the way
    rng = np.random.default_rng(p + 10 * q + 100 * k)
    x = rng.normal(size=(n, p))
    if kind == "grid":
        x = np.round(x * 2)
    elif kind == "skewed":
        x = np.exp(4 * x)  # single precision cannot tell most of these apart
    elif kind == "far off":
        x = 1e9 + x * 1e-3
    elif kind == "sphere":  # all equally far from the centroid, up to rounding
        x = x / np.linalg.norm(x, axis=1)[:, None]
    codes, weights = _nominal(rng, n, q)
    assert mdav(x, codes, weights, k).tolist() == oracle(x, codes, weights, k)


def test_3000_records_of_ten_columns_have_the_oracles_groups() -> None:
    x, codes = np.random.default_rng(0).normal(size=(3_000, 10)), np.empty((3_000, 0), np.int32)
    assert mdav(x, codes, [], 5).tolist() == oracle(x, codes, np.empty(0), 5)


def test_the_centroid_does_not_drift() -> None:
    # Groups far out leave first; what their subtraction would leave behind in a plain running sum
    # is as large as the whole spread of the records that remain.
    rng = np.random.default_rng(5)
    far = rng.normal(size=(60, 2)) * 1e9
    near = rng.normal(size=(200, 2)) * 1e-6
    x = np.concatenate([far, near])
    codes = np.empty((len(x), 0), np.int32)
    assert mdav(x, codes, [], 3).tolist() == oracle(x, codes, np.empty(0), 3)


@pytest.mark.parametrize("n", [9, 60_000])
def test_equal_records_are_grouped_by_row(n: int) -> None:
    # If each of 20,000 groups looked at all records that are left, this test would take long.
    found = mdav(np.full((n, 2), 0.1), np.empty((n, 0), np.int32), [], 3)
    assert np.array_equal(found, np.arange(n) // 3)


def test_both_zeros_are_one_value() -> None:
    x = np.array([0.0, -0.0] * 6)[:, None]
    assert mdav(x, np.empty((12, 0), np.int32), [], 3).tolist() == (np.arange(12) // 3).tolist()


def test_what_searches_keep_is_linear_in_the_records() -> None:
    def bytes_per_point(n: int) -> float:
        x, none = np.random.default_rng(1).normal(size=(n, 4)), np.empty(0)
        rows, place = np.arange(n), np.empty((n, 4), np.int64)
        parts = [*tree(x, none, rows, place), *shells(x, none, rows, np.zeros(4), place)]
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray)) / n

    assert bytes_per_point(16 * LANES**3) < 1.01 * bytes_per_point(LANES**3)
    # Coordinates once in single and once in double precision, and little besides.
    assert bytes_per_point(LANES**3) < 2 * 4 * (4 + 8)


@pytest.mark.parametrize(("p", "q"), [(3, 0), (0, 3), (2, 2)])
def test_searches_after_removals_find_what_a_scan_finds(p: int, q: int) -> None:
    rng = np.random.default_rng(p)
    n, k = 2 * LANES**2 + 7, 6
    codes, weights = _nominal(rng, n, q)
    x = np.hstack([rng.normal(size=(n, p)), codes])
    rows, place = np.arange(n), np.empty((n, 4), np.int64)
    place[:, AHEAD], place[:, END] = rows, rows + 1
    t = tree(x, weights, rows, place)
    s = shells(x, weights, rows, np.append(np.zeros(p), codes[0]), place)
    work, found, marks = room(p + q, k + 1), np.empty(k, np.int64), np.zeros(2, np.int64)
    order, taken = rng.permutation(n), 0
    while n - taken > k:
        some = order[taken : taken + 41]
        taken += len(some)
        place[some, AHEAD] = place[some, END]
        leave_tree(t.pieces, t.boxes, t.above, place, some)
        leave_shells(s.pieces, s.left, place, some, marks)
        rest = np.sort(order[taken:])
        if len(rest) < k:
            break
        point = some[0]
        squares = np.array([_distance(x, weights, i, point) for i in rest])
        nearest(t, point, x, weights, rows, place, work, marks, found)
        assert sorted(found.tolist()) == sorted(rest[np.argsort(squares, kind="stable")[:k]])
        assert sorted(work.keys.tolist()) == sorted(squares)[:k]
        far = farthest(s, x[point], weights, rows, place, marks, np.empty(LANES))
        assert far == rest[np.argmax(squares)]
        # The root's boxes are those of the records that are left: none stays too wide.
        scaled = x[rest].copy()
        scaled[:, :p] = (scaled[:, :p] - t.centre) * t.scale
        assert np.array_equal(t.boxes[-1, 1::2].min(axis=1), scaled.astype(np.float32).min(axis=0))
        assert np.array_equal(t.boxes[-1, 2::2].max(axis=1), scaled.astype(np.float32).max(axis=0))
    leave_tree(t.pieces, t.boxes, t.above, place, order[taken:])
    assert np.all(t.boxes[:, 0] == np.inf)


def test_progress_is_told_and_ends_before_the_last_group() -> None:
    heard: list[tuple[str, int, int]] = []
    x, codes = np.random.default_rng(2).normal(size=(5_000, 6)), np.empty((5_000, 0), np.int32)
    with listening(lambda what, done, of: heard.append((what, done, of))):
        mdav(x, codes, [], 5)
    done = [count for _, count, _ in heard]
    assert {(what, of) for what, _, of in heard} == {("grouping", 5_000)}
    assert len(done) > 3
    assert done == sorted(set(done))
    assert 5_000 - 2 * 5 < done[-1] <= 5_000 - 5


def test_fewer_than_2k_are_one_group_and_k_1_is_no_group() -> None:
    x = np.arange(5.0)[:, None]
    codes = np.empty((5, 0), np.int32)
    assert mdav(x, codes, [], 3).tolist() == [0] * 5
    assert mdav(x, codes, [], 1).tolist() == [0, 1, 2, 3, 4]


def test_wide_codes_and_read_only_inputs() -> None:
    rng = np.random.default_rng(2)
    x, codes = rng.normal(size=(40, 1)), rng.choice([-3, 7, 2**31 - 1], (40, 2)).astype(np.int32)
    x.flags.writeable = codes.flags.writeable = False
    assert mdav(x, codes, [1.0, 1.0], 4).tolist() == oracle(x, codes, np.ones(2), 4)


@pytest.mark.parametrize(
    ("x", "weights", "message"),
    [
        (np.array([[0.0], [np.nan]]), [], r"x\[1, 0\] is missing"),
        (np.array([[np.inf], [0.0]]), [], r"x\[0, 0\] is missing, infinite"),
        (np.zeros((3, 1)), [], "same rows"),
        (np.zeros((2, 1)), [1.0], "nominal_weights"),
    ],
)
def test_refusals_name_the_fault(x: np.ndarray, weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mdav(x, np.empty((2, 0), np.int32), weights, 2)


def _compiled(add: Any) -> Any:
    """Intrinsics can only be called from compiled functions."""

    @njit
    def call(data, at, values, weights, out):  # type: ignore[no-untyped-def]
        add(data, at, values, weights, out)

    return call


def _bits(compare: Any, sums: np.ndarray, limit: Any) -> int:
    return int(njit(lambda some, bound: compare(some, bound))(sums, limit))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_lanes_sum_as_loops_do(kind: type) -> None:
    rng = np.random.default_rng(4)
    p, q, pieces, at = 5, 4, 3, 1
    weights = np.array([0.5, 1, 2, 4], kind)
    values = np.append(rng.normal(size=p), rng.integers(0, 3, q)).astype(kind)
    for sides, add in [(1, add_distances), (2, add_gaps)]:
        numbers = np.sort(rng.normal(size=(pieces, p, sides, LANES)), axis=2)
        codes = np.sort(rng.integers(0, 3, (pieces, q, sides, LANES)), axis=2)
        columns = np.concatenate([numbers, codes], axis=1).astype(kind)
        base = rng.normal(size=(pieces, 1, LANES)).astype(kind)
        data = np.concatenate([base, columns.reshape(pieces, -1, LANES)], axis=1)
        found = np.empty(LANES, kind)
        _compiled(add)(data, at * data.shape[1] * LANES, values, weights, found)
        for i in range(LANES):
            total = base[at, 0, i]
            for j in range(p + q):
                low, high = columns[at, j, 0, i], columns[at, j, -1, i]
                step = low - values[j]
                if sides == 2:
                    step = max(step, values[j] - high, kind(0))
                if j < p:
                    total = total + step * step
                else:
                    total = total + (kind(0) if low <= values[j] <= high else weights[j - p])
            assert found[i] == total
        middle = kind(np.sort(found)[LANES // 2])
        powers = 2 ** np.arange(LANES)
        assert _bits(lanes_at_most, found, middle) == powers[found <= middle].sum()
        assert _bits(lanes_at_least, found, middle) == powers[found >= middle].sum()
