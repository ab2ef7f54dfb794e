"""Fuzzy c-means against the textbook's formulas over all clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.micro import fuzzy as module
from sfumato.kernels.micro.fuzzy import assign, first_centres, fuzzy_c_means, memberships
from tests.oracle import clusterings as oracle


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(6, 60),
    d=st.integers(1, 3),
    clusters=st.integers(1, 6),
    m=st.floats(1.2, 4),
)
def test_a_round_is_the_textbooks(seed: int, n: int, d: int, clusters: int, m: float) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    start = first_centres(x, clusters, np.random.default_rng(1))
    # The first centres are records: a record on a centre belongs to it wholly, the rest by formula.
    apart = np.linalg.norm(x[:, None] - start[None], axis=2)
    on = apart.min(axis=1) == 0
    share = np.zeros(apart.shape)
    share[on, apart[on].argmin(axis=1)] = 1
    share[~on] = oracle.memberships(x[~on], start, m)
    weight = share**m
    expected = weight.T @ x / weight.sum(axis=0)[:, None]
    found = fuzzy_c_means(x, clusters, m, clusters, 1, np.random.default_rng(1))
    np.testing.assert_allclose(found.centres, expected, rtol=1e-7, atol=1e-9)


def test_settled_centres_are_a_fixed_point_of_the_textbooks_round() -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 6])
    found = fuzzy_c_means(x, 2, 2.0, 16, 200, rng)
    assert found.settled
    np.testing.assert_allclose(found.centres, oracle.fuzzy_round(x, found.centres, 2.0), atol=1e-3)


def test_memberships_are_shares_and_do_not_overflow() -> None:
    apart = np.array([[0.0, 0.0, 3.0], [1e-200, 1e-100, 1.0], [1.0, 1.0, 2.0]])
    found = memberships(apart, 1.01)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0], [0.5, 0.5, 0])
    np.testing.assert_allclose(found[1], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(memberships(apart, 3.0)[2], [0.4, 0.4, 0.2])


def test_draws_follow_the_memberships() -> None:
    # A record at 1 between centres at 0 and 3, m = 2: memberships 4/5 and 1/5.
    x, centres = np.ones((20_000, 1)), np.array([[0.0], [3.0]])
    uniform = np.random.default_rng(8).random(20_000)
    share = float(np.mean(assign(x, centres, 2.0, 2, uniform) == 0))
    # Five standard deviations: a false alarm in less than one of a million seeds.
    assert abs(share - 0.8) < 5 * np.sqrt(0.8 * 0.2 / 20_000)
    assert assign(x, centres, 2.0, 2, None).max() == 0
    assert assign(x[:2], centres, 2.0, 2, np.array([0.0, 1 - 2**-53])).tolist() == [0, 1]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 80), d=st.integers(0, 2))
def test_equal_records_and_lone_ones(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (n, d)).astype(float)
    clusters = int(rng.integers(1, n + 1))
    found = fuzzy_c_means(x, clusters, 1.5, 3, 20, np.random.default_rng(2))
    again = fuzzy_c_means(x, clusters, 1.5, 3, 20, np.random.default_rng(2))
    assert np.isfinite(found.centres).all()
    assert np.array_equal(found.centres, again.centres)
    labels = assign(x, found.centres, 1.5, 3, rng.random(n))
    assert 0 <= labels.min() <= labels.max() < len(found.centres) <= clusters


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).normal(size=(500, 2))
    uniform = np.random.default_rng(6).random(500)
    whole = fuzzy_c_means(x, 50, 1.5, 8, 5, np.random.default_rng(1)).centres
    labels = assign(x, whole, 1.5, 8, uniform)
    monkeypatch.setattr(module, "BLOCK", 64)
    parts = fuzzy_c_means(x, 50, 1.5, 8, 5, np.random.default_rng(1)).centres
    np.testing.assert_array_equal(parts, whole)
    assert assign(x, whole, 1.5, 8, uniform).tolist() == labels.tolist()


@pytest.mark.parametrize(("clusters", "m"), [(0, 2.0), (6, 2.0), (2, 1.0)])
def test_refusals_name_the_fault(clusters: int, m: float) -> None:
    with pytest.raises(ValueError, match=r"clusters, not|above 1"):
        fuzzy_c_means(np.zeros((5, 1)), clusters, m, 2, 5, np.random.default_rng(1))
