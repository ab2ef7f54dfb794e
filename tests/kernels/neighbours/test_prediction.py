"""The k nearest records and the three measures beside a plain scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.kernels.neighbours.nearest_k import nearest_k
from sfumato.kernels.neighbours.prediction import predictions
from sfumato.progress import listening
from tests.oracle.prediction import predicted


def same_as_a_plain_scan(a: np.ndarray, b: np.ndarray, k: int) -> None:
    found = predictions(a, b, k)
    distance, ambiguity, uncertainty, nearest, ties = zip(
        *predicted(a.tolist(), b.tolist(), k), strict=True
    )
    assert found.nearest.tolist() == list(nearest)
    assert found.ties.tolist() == list(ties)
    assert found.distance == pytest.approx(distance, rel=1e-14, abs=0)
    assert found.ambiguity == pytest.approx(ambiguity, rel=1e-14, abs=0)
    assert found.uncertainty == pytest.approx(uncertainty, rel=1e-9, abs=1e-12 * np.abs(b).max())


KINDS = ("normal", "binary", "whole", "mixed", "shifted", "copies", "scales")


def drawn(kind: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.standard_normal((n, d))
    if kind == "binary":
        return np.where(x > 0, 1.0, -1.0)
    if kind == "whole":
        return np.round(x)
    if kind == "mixed":
        return np.where(np.arange(d) % 2, np.where(x > 0, 1.0, -1.0), x)
    if kind == "shifted":
        return x + 1e9
    if kind == "copies":
        return x[rng.integers(0, max(n // 3, 1), n)]
    return x * 10.0 ** rng.integers(-9, 9, d) if kind == "scales" else x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m", "d", "k"), [(90, 200, 28, 5), (70, 131, 3, 1), (5, 9, 1, 9)])
def test_it_is_a_plain_scan(kind: str, n: int, m: int, d: int, k: int) -> None:
    rng = np.random.default_rng(n + d)
    b = drawn(kind, m, d, rng)
    a = drawn(kind, n, d, rng)
    a[: n // 3] = b[rng.integers(0, m, n // 3)]  # some are released as they are
    same_as_a_plain_scan(a, b, k)


whole = st.integers(1, 6).flatmap(
    lambda d: st.tuples(
        arrays(np.float64, st.tuples(st.integers(1, 12), st.just(d)), elements=st.integers(-2, 2)),
        arrays(np.float64, st.tuples(st.integers(1, 80), st.just(d)), elements=st.integers(-2, 2)),
    )
)


@given(whole, st.integers(1, 80))
def test_ties_of_every_kind(tables: tuple[np.ndarray, np.ndarray], k: int) -> None:
    a, b = tables
    same_as_a_plain_scan(a, b, min(k, len(b)))


@given(
    arrays(np.float64, (7, 3), elements=st.floats(-1e100, 1e100)),
    arrays(np.float64, (70, 3), elements=st.floats(-1e100, 1e100)),
)
def test_squares_and_rows_are_exact_at_any_scale(a: np.ndarray, b: np.ndarray) -> None:
    found = nearest_k(a, b, 4)
    squares = np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        squares += (a[:, j, None] - b[None, :, j]) ** 2
    order = np.argsort(squares, axis=1, kind="stable")[:, :4]
    assert (found.rows == order).all()
    assert (found.squares == np.take_along_axis(squares, order, axis=1)).all()


def test_rotated_or_far_away_it_stays_exact() -> None:
    # Nearly all records are equally far: single precision decides nothing here.
    rng = np.random.default_rng(3)
    b = rng.standard_normal((500, 20))
    b /= np.linalg.norm(b, axis=1)[:, None]
    a = 1e-9 * rng.standard_normal((40, 20))
    same_as_a_plain_scan(a, b, 5)


def test_neither_threads_nor_order_alter_it() -> None:
    rng = np.random.default_rng(0)
    a, b = drawn("mixed", 500, 6, rng), drawn("mixed", 700, 6, rng)
    one, three = (predictions(a, b, 5, threads=threads) for threads in (1, 3))
    assert all((x == y).all() for x, y in zip(one, three, strict=True))
    order = rng.permutation(len(a))
    moved = predictions(a[order], b, 5)
    assert all((x[order] == y).all() for x, y in zip(one, moved, strict=True))


def test_inputs_stay_as_they_are_and_progress_is_told() -> None:
    a, b = np.array([[-0.0, 1.0]]), np.array([[0.0, 1.0], [2.0, 2.0]])
    kept = a.copy(), b.copy()
    heard = []
    with listening(lambda what, done, of: heard.append((what, done, of))):
        found = predictions(a, b, 2)
    assert heard[-1] == ("predicting", 1, 1)
    assert found.distance.tolist() == [0.0]
    assert (a.tobytes(), b.tobytes()) == (kept[0].tobytes(), kept[1].tobytes())


def test_k_equal_records_are_all_alike() -> None:
    found = predictions(np.zeros((1, 2)), np.zeros((7, 2)), 5)
    assert found.distance[0] == 0
    assert found.ambiguity[0] == 1
    assert found.uncertainty[0] == 0
    assert found.ties[0] == 7


def test_no_targets_no_predictions() -> None:
    assert predictions(np.empty((0, 2)), np.zeros((3, 2)), 2).distance.size == 0


def test_it_refuses_what_has_no_answer() -> None:
    x = np.zeros((3, 2))
    with pytest.raises(ValueError, match="from 1 to the 3 records of the release, not 4"):
        predictions(x, x, 4)
    with pytest.raises(ValueError, match="2 coordinates and the release 1"):
        predictions(x, x[:, :1], 1)
    with pytest.raises(ValueError, match="without coordinates"):
        predictions(x[:, :0], x[:, :0], 1)
    with pytest.raises(ValueError, match="missing or beyond"):
        predictions(np.array([[np.nan, 1.0]]), x, 1)
    with pytest.raises(ValueError, match="matrix"):
        predictions(x[0], x, 1)


def test_equal_records_differ_by_nothing() -> None:
    x = np.random.default_rng(1).normal(size=(1, 7)) / 3
    assert (predictions(x + 1, np.repeat(x, 9, axis=0), 5).uncertainty == 0).all()


@pytest.mark.parametrize("distance", ["absolute", "largest"])
@pytest.mark.parametrize("kind", ["normal", "binary", "copies"])
def test_other_distances_are_a_plain_scan(kind: str, distance: str) -> None:
    rng = np.random.default_rng(5)
    a, b, k = drawn(kind, 40, 4, rng), drawn(kind, 90, 4, rng), 5
    a[:10] = b[:10]
    found = predictions(a, b, k, distance=distance)
    for i, point in enumerate(a):
        steps = np.abs(b - point)
        apart = steps.mean(axis=1) if distance == "absolute" else steps.max(axis=1)
        order = np.argsort(np.round(apart, 12), kind="stable")[:k]
        assert found.distance[i] == pytest.approx(apart.min(), abs=1e-12)
        far = apart[order[-1]]
        assert found.ambiguity[i] == pytest.approx(apart.min() / far if far else 1.0, abs=1e-12)
        if kind == "normal":
            assert found.nearest[i] == order[0]
            assert found.uncertainty[i] == pytest.approx(b[order].var(axis=0).mean())
