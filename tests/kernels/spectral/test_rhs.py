"""Median splits beside plain ones, and what they promise of any points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.spectral.rhs import histogram_splits, principal_scores, widest_splits
from tests.oracle import rhs as oracle


def cells(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == one).tolist()) for one in np.unique(labels)}


@st.composite
def points(draw: st.DrawFn, smallest: int = 1) -> np.ndarray:
    """Many have ties, constant coordinates, or equal records."""
    n, d = draw(st.integers(smallest, 90)), draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    levels = draw(st.sampled_from([0, 1, 2, 4]))
    return np.round(x / np.abs(x).max(initial=1e-9) * levels) if levels else x


@given(points(), st.integers(1, 6), st.booleans())
def test_groups_of_the_widest_split_have_k_to_twice_k(x: np.ndarray, k: int, even: bool) -> None:
    most = 2 * k if even else 2 * k - 1
    given_points = x.copy()
    labels = widest_splits(x, k, most)
    assert labels.shape == (len(x),)
    sizes = np.bincount(labels)
    assert sizes.min() >= min(k, len(x))
    assert sizes.max() <= most
    assert (x == given_points).all()
    assert (widest_splits(x.copy(), k, most) == labels).all()


@given(st.integers(1, 90), st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_widest_split_is_figure_4_2(n: int, d: int, k: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    for most in (2 * k - 1, 2 * k):
        assert cells(widest_splits(x, k, most)) == oracle.widest_cells(x, k, most)


@given(points(), st.integers(1, 6))
def test_the_histogram_is_the_plain_one(x: np.ndarray, k: int) -> None:
    labels = histogram_splits(x, k)
    assert (np.unique(labels) == np.arange(labels.max() + 1)).all()
    assert cells(labels) == oracle.histogram_cells(x, k)


def test_two_values_are_not_divided_where_both_have_k() -> None:
    x = np.repeat([[-1.0], [1.0]], [30, 12], axis=0)
    labels = widest_splits(x, 5, 9)
    assert not set(labels[:30]) & set(labels[30:])
    # Fewer than k on one side: they are joined by others, for the size's sake.
    labels = widest_splits(np.repeat([[-1.0], [1.0]], [30, 3], axis=0), 5, 9)
    assert np.bincount(labels).min() >= 5


def test_many_dimensions_leave_everybody_alone() -> None:
    x = np.random.default_rng(0).normal(size=(500, 130))
    assert histogram_splits(x, 5).max() == 499
    assert np.bincount(widest_splits(x, 5, 9)).min() >= 5


def test_many_rare_values_do_not_take_long() -> None:
    """Each column sets a few apart: cutting those off alone would go as deep as there are."""
    rng = np.random.default_rng(0)
    x = (rng.random((20_000, 300)) < 0.001).astype(float)
    sizes = np.bincount(widest_splits(x, 5, 9))
    assert sizes.min() >= 5
    assert sizes.max() <= 9


@given(points(smallest=2))
def test_scores_are_those_of_the_singular_value_decomposition(x: np.ndarray) -> None:
    centred = x - x.mean(axis=0)
    scores = principal_scores(x)
    expected = np.linalg.svd(centred, compute_uv=False)
    norms = np.linalg.norm(scores, axis=0)
    unit = max(1e-300, float(expected.max(initial=0.0)))
    assert scores.shape == (len(x), min(x.shape) if x.shape[1] > len(x) else x.shape[1])
    assert norms / unit == pytest.approx(expected[: norms.size] / unit, abs=1e-6)
    # A rotation keeps every distance.
    assert scores @ scores.T == pytest.approx(centred @ centred.T, abs=1e-8 * unit**2)


def test_equal_points_have_equal_scores() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random((997, 7)) < 0.4, 1.0, -1.0)
    scores = principal_scores(x)
    assert len(np.unique(scores, axis=0)) == len(np.unique(x, axis=0))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_they_refuse_what_lies_on_no_side(bad: float) -> None:
    x = np.array([[0.0], [bad]])
    with pytest.raises(ValueError, match="no side of a median"):
        widest_splits(x, 1, 1)
    with pytest.raises(ValueError, match="no side of a median"):
        histogram_splits(x, 1)
    with pytest.raises(ValueError, match="need room for 5"):
        widest_splits(np.zeros((3, 1)), 3, 4)
    with pytest.raises(ValueError, match="one point or more"):
        histogram_splits(np.zeros((3, 1)), 0)
