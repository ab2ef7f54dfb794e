"""MDAV against its oracle: the same groups, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels import mdav as module
from sfumato.kernels.mdav import mdav
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


@pytest.mark.parametrize(
    ("p", "q", "k", "kind"),
    [
        (2, 0, 3, "normal"),
        (4, 2, 5, "normal"),
        (0, 4, 5, "normal"),
        (3, 1, 4, "grid"),
        (1, 0, 2, "skewed"),
        (2, 0, 200, "normal"),
    ],
)
def test_many_blocks_have_the_oracles_groups(p: int, q: int, k: int, kind: str) -> None:
    n = 7 * module.BLOCK + 5  # several blocks, the last not full, and rebuilds on the way
    rng = np.random.default_rng(p + 10 * q + 100 * k)
    x = rng.normal(size=(n, p))
    x = {"normal": x, "grid": np.round(x * 2), "skewed": np.exp(4 * x)}[kind]
    codes, weights = _nominal(rng, n, q)
    assert mdav(x, codes, weights, k).tolist() == oracle(x, codes, weights, k)


def test_the_centroid_does_not_drift() -> None:
    # Groups far out leave first; what their subtraction would leave behind in a plain running sum
    # is as large as the whole spread of the records that remain.
    rng = np.random.default_rng(5)
    far = rng.normal(size=(60, 2)) * 1e9
    near = rng.normal(size=(200, 2)) * 1e-6
    x = np.concatenate([far, near])
    codes = np.empty((len(x), 0), np.int32)
    assert mdav(x, codes, [], 3).tolist() == oracle(x, codes, np.empty(0), 3)


def test_equal_records_are_grouped_by_row() -> None:
    found = mdav(np.zeros((9, 2)), np.empty((9, 0), np.int32), [], 3)
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


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
