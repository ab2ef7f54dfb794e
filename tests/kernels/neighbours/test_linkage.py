"""Exact nearest records, ties and own records, against a comparison of every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.neighbours import linkage as module
from sfumato.kernels.neighbours.blocks import distinct_rows, order_in_blocks, select
from sfumato.kernels.neighbours.linkage import Nearest, nearest
from tests.oracle.linkage import nearest as oracle


def _agree(
    a: np.ndarray,
    b: np.ndarray,
    own: np.ndarray,
    codes_a: np.ndarray,
    codes_b: np.ndarray,
    weights: np.ndarray,
    penalty: np.ndarray,
    tolerance: float = 1e-9,
) -> Nearest:
    found = nearest(
        a,
        b,
        own=own,
        codes_a=codes_a,
        codes_b=codes_b,
        nominal_weights=weights,
        missing_penalty=penalty,
        tolerance=tolerance,
    )
    naive = oracle(
        a.tolist(),
        b.tolist(),
        own.tolist(),
        codes_a.tolist(),
        codes_b.tolist(),
        weights.tolist(),
        penalty.tolist(),
        tolerance,
    )
    assert list(zip(*(part.tolist() for part in found), strict=True)) == naive
    return found


def _file(
    rng: np.random.Generator, n: int, p: int, q: int, grid: int, missing: float
) -> tuple[np.ndarray, np.ndarray]:
    x = rng.integers(-grid, grid + 1, (n, p)).astype(float) if grid else rng.normal(size=(n, p))
    x[rng.random((n, p)) < missing] = np.nan
    return x, rng.integers(-1, 3, (n, q)).astype(np.int32)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 30),
    m=st.integers(1, 30),
    p=st.integers(0, 3),
    q=st.integers(0, 2),
    grid=st.sampled_from([0, 1, 3]),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
    tolerance=st.sampled_from([0.0, 1e-9, 0.3]),
)
def test_small_files_agree_with_every_pair(
    seed: int, n: int, m: int, p: int, q: int, grid: int, missing: float, tolerance: float
) -> None:
    rng = np.random.default_rng(seed)
    a, codes_a = _file(rng, n, p, q, grid, missing)
    b, codes_b = _file(rng, m, p, q, grid, missing)
    weights, penalty = rng.choice([0.5, 1.0], q), rng.choice([0.25, 1.0, 2.0], p)
    own = rng.integers(-1, m, n)
    _agree(a, b, own, codes_a, codes_b, weights, penalty, tolerance)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(("p", "q", "grid"), [(2, 0, 0), (3, 2, 2), (0, 5, 0), (5, 1, 0)])
def test_many_blocks_agree_with_every_pair(p: int, q: int, grid: int, missing: float) -> None:
    rng = np.random.default_rng(p + 10 * q)
    m = 5 * module.BLOCK + 3
    b, codes_b = _file(rng, m, p, q, grid, missing)
    own = rng.permutation(m)[: 2 * module.BLOCK + 7]
    own[::10] = -1
    a = b[own] + rng.normal(size=(own.size, p)) * 0.1 * (rng.random((own.size, 1)) < 0.7)
    _agree(a, b, own, codes_b[own], codes_b, np.full(q, 0.7), np.ones(p))


def test_every_copy_of_a_masked_record_is_a_tie() -> None:
    rng = np.random.default_rng(1)
    centroids = rng.normal(size=(150, 4))
    b = np.repeat(centroids, 3, axis=0)
    a = b + 1e-3 * rng.normal(size=b.shape)
    found = nearest(a, b, own=np.arange(len(b)))
    assert found.ties.tolist() == [3] * len(b)
    assert found.own_tied.all()
    assert found.first.tolist() == [3 * (row // 3) for row in range(len(b))]


def test_an_exact_zero_ties_with_zeros_only() -> None:
    # Far from the origin a distance by inner products would be lost in rounding.
    a = np.array([[1e8, 1.0]])
    b = np.array([[1e8, 1.0], [1e8, 1.0 + 1e-7], [1e8, 1.0], [-1e8, 0.0]])
    found = nearest(a, b, own=[1])
    assert (found.distance[0], found.ties[0], found.own_tied[0]) == (0.0, 2, False)


def test_signed_zeros_are_one_record() -> None:
    found = nearest([[1.0]], [[0.0], [-0.0]])
    assert found.ties.tolist() == [2]


def test_the_number_of_threads_alters_nothing() -> None:
    rng = np.random.default_rng(3)
    b = rng.normal(size=(900, 3))
    a = b + 0.3 * rng.normal(size=b.shape)
    one, four = (nearest(a, b, own=np.arange(900), threads=count) for count in (1, 4))
    for left, right in zip(one, four, strict=True):
        assert np.array_equal(left, right)


def test_without_own_no_record_is_claimed() -> None:
    assert nearest([[0.0]], [[0.0]]).own_tied.tolist() == [False]


def test_inputs_are_left_as_they_were() -> None:
    a, b = np.array([[-0.0], [np.nan]]), np.array([[0.0], [2.0]])
    before = a.tobytes(), b.tobytes()
    a.flags.writeable = b.flags.writeable = False
    nearest(a, b)
    assert (a.tobytes(), b.tobytes()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": [[1.0]], "b": [[1.0, 2.0]]}, "same columns"),
        ({"a": [[1.0]], "b": np.empty((0, 1))}, "no records"),
        ({"a": [[1.0]], "b": [[1.0]], "own": [1]}, "own"),
        ({"a": [[1.0]], "b": [[1.0]], "missing_penalty": [-1.0]}, "negative"),
        ({"a": [[1.0]], "b": [[1.0]], "nominal_weights": [1.0]}, "one weight"),
        ({"a": [[1e200]], "b": [[1.0]]}, "standardize"),
        ({"a": [1.0], "b": [[1.0]]}, "matrix"),
        ({"a": [[1.0]], "b": [[1.0]], "codes_a": [[1], [2]]}, "codes_a"),
    ],
)
def test_refusals_name_the_fault(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nearest(**arguments)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1)), max_size=40))
def test_distinct_rows_are_numbered_by_first_appearance(rows: list[tuple[int, int]]) -> None:
    bits = np.array([row[:1] for row in rows], np.int64).reshape(-1, 1)
    codes = np.array([row[1:] for row in rows], np.int32).reshape(-1, 1)
    first, member = distinct_rows(bits, codes)
    distinct = list(dict.fromkeys(rows))
    assert [rows[row] for row in first] == distinct
    assert first.tolist() == [rows.index(row) for row in distinct]
    assert [distinct[number] for number in member] == rows


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.data())
def test_select_puts_the_middle_in_place(values: list[int], data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(values) - 1))
    keys, rows = np.array(values, float), np.arange(len(values))
    select(keys, rows, 0, len(values), middle)
    assert keys[middle] == sorted(values)[middle]
    assert max(keys[: middle + 1]) <= min(keys[middle:])
    assert [values[row] for row in rows] == keys.tolist()


def test_blocks_hold_every_row_and_lie_apart() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1000, 2))
    rows = np.flatnonzero(rng.random(1000) < 0.9)
    order = order_in_blocks(x, np.empty(0), rows, 32)
    assert sorted(order.tolist()) == rows.tolist()
    areas = [
        np.prod(np.ptp(x[order[start : start + 32]], axis=0)) for start in range(0, rows.size, 32)
    ]
    # Sixteen cuts leave boxes far smaller than that of all the records.
    assert np.mean(areas) < np.prod(np.ptp(x, axis=0)) / 10
