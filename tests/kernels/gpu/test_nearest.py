"""The card's nearest records: every index, distance and tie is the CPU's, and a plain scan's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.device import working_on
from sfumato.kernels.gpu import _card, _passes
from sfumato.kernels.gpu import nearest as module
from sfumato.kernels.gpu._passes import bytes_of
from sfumato.kernels.gpu._scan import Shape
from sfumato.kernels.neighbours.linkage import Nearest, nearest
from sfumato.kernels.neighbours.nearest_k import TOLERANCE, NearestK, nearest_k
from tests.kernels.gpu.adversarial import files


def _same(found: Any, right: Any) -> None:
    for name in right._fields:
        one, other = getattr(found, name), getattr(right, name)
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist(), name


def _linked(a: np.ndarray, b: np.ndarray, own: np.ndarray, tolerance: float) -> Nearest:
    with working_on("gpu") as said, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = nearest(a, b, own=own, tolerance=tolerance)
    assert said == []
    with working_on("cpu"):
        _same(found, nearest(a, b, own=own, tolerance=tolerance))
    return found


def _naive(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances, columns added in their order."""
    total = np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        step = b[None, :, j] - a[:, None, j]
        total += step * step
    return total


def _neighbours(a: np.ndarray, b: np.ndarray, k: int) -> NearestK:
    with working_on("gpu") as said, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = nearest_k(a, b, k)
    assert said == []
    with working_on("cpu"):
        _same(found, nearest_k(a, b, k))
    total = _naive(a, b)
    for i in range(len(a)):
        order = sorted(range(len(b)), key=lambda c, i=i: (total[i, c], c))
        assert found.rows[i].tolist() == order[:k]
        assert found.ties[i] == (total[i] <= total[i].min() * (1 + TOLERANCE)).sum()
    return found


@given(files(), st.sampled_from([0.0, 1e-9, 1e-9, 0.5]), st.integers(0, 2**32 - 1))
def test_links_are_the_cpus(
    both: tuple[np.ndarray, np.ndarray], tolerance: float, seed: int
) -> None:
    a, b = both
    own = np.random.default_rng(seed).integers(-1, len(b), len(a))
    found, total = _linked(a, b, own, tolerance), _naive(a, b)
    least = total.min(axis=1)
    within = total <= (least + tolerance * least)[:, None]
    assert found.distance.tolist() == least.tolist()
    assert found.ties.tolist() == within.sum(axis=1).tolist()
    assert found.first.tolist() == within.argmax(axis=1).tolist()


@given(files(), st.integers(1, 5))
def test_neighbours_are_the_cpus(both: tuple[np.ndarray, np.ndarray], k: int) -> None:
    _neighbours(*both, min(k, len(both[1])))


@settings(max_examples=5)
@given(files(st.sampled_from([100, 257, 500]), most=6), st.integers(1, 3))
def test_many_columns(both: tuple[np.ndarray, np.ndarray], k: int) -> None:
    a, b = both
    _neighbours(a, b, min(k, len(b)))
    _linked(a, b, np.full(len(a), -1), 1e-9)


@settings(max_examples=8)
@given(files(), st.integers(0, 400))
def test_what_does_not_fit_goes_there_in_parts(
    both: tuple[np.ndarray, np.ndarray], more: int
) -> None:
    a, b = both
    record, tile = bytes_of(a.shape[1]), module.SHAPE.tile
    target = record + module.bytes_of_lists(2)
    room = 2 * tile * target + tile * record + 8 * len(b) + more * (target + record) // 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_card, "room", lambda: room)
        _neighbours(a, b, min(2, len(b)))
        _linked(a, b, np.full(len(a), -1), 1e-9)


def test_what_fits_goes_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(4.0 * module.SHAPE.tile + 1)[:, None]
    slabs, parts, slab = [], [], _passes._slab
    monkeypatch.setattr(_passes, "_slab", lambda *given: slabs.append(given) or slab(*given))
    monkeypatch.setattr(_passes, "report", lambda *given: parts.append(given))
    with working_on("gpu"):
        nearest_k(x, x, 1)  # its self-test
        slabs.clear()
        parts.clear()
        nearest_k(x, x, 2)
    assert (len(slabs), len(parts)) == (1, 1)


@settings(max_examples=6)
@given(files(most=20), st.integers(1, 3))
def test_other_shapes(both: tuple[np.ndarray, np.ndarray], k: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for part in (_passes, module):
            patch.setattr(part, "SHAPE", Shape(8, 4, 3, 1))
        _neighbours(*both, min(k, len(both[1])))
        _linked(*both, np.full(len(both[0]), -1), 1e-9)


def test_more_ties_than_a_list_holds_are_counted_anew() -> None:
    # Distances that differ in their last bits and yet tie.
    b = 1.0 + np.arange(3 * module.TIES)[:, None] * 1e-15 * np.array([[1.0, 3.0]])
    found = _neighbours(np.zeros((3, 2)), b, 2)
    assert found.ties.tolist() == [len(b)] * 3
    assert len(np.unique(_naive(np.zeros((1, 2)), b))) > module.TIES
    assert _linked(np.zeros((3, 2)), b[::-1], np.array([0, 5, -1]), 1e-9).first.tolist() == [0] * 3


@pytest.mark.parametrize("spread", [1e-120, 1e120])
def test_numbers_without_squares_are_the_cpus(spread: float) -> None:
    x = np.array([[0.0, 1.0], [2.0, 3.0]]) * spread
    with working_on("gpu") as said:
        found = nearest_k(x, x, 1)
    assert found.rows.tolist() == [[0], [1]]
    assert len(said) == 1
    assert "or numbers beyond" in said[0]


def test_missing_values_and_nominal_columns_are_the_cpus() -> None:
    a, codes = np.array([[0.0], [np.nan]]), np.array([[0], [1]])
    with working_on("gpu") as said:
        found = nearest(a, a, codes_a=codes, codes_b=codes)
        nearest(a, a)
    with working_on("cpu"):
        _same(found, nearest(a, a, codes_a=codes, codes_b=codes))
    assert len(said) == 1


def test_without_room_for_a_tile_the_cpu_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(6.0)[:, None]
    with working_on("gpu") as said:
        nearest_k(x, x, 1)  # its self-test has memory enough
        monkeypatch.setattr(_card, "room", lambda: 100)
        found = nearest_k(x, x, 2)
        nearest_k(x, x, 2)
    assert found.rows[:, 0].tolist() == list(range(6))
    assert len(said) == 1
    assert "too little memory" in said[0]
