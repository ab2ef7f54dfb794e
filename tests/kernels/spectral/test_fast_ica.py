"""Independent components beside sources that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.spectral.fast_ica import PER_DIRECTION, components
from tests.oracle.pica import log_cosh_gain, principal_scores


def test_it_finds_the_sources_of_a_mixture_up_to_order_and_sign() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    sources = np.column_stack(
        [
            rng.uniform(-1, 1, n),
            rng.laplace(size=n),
            rng.exponential(size=n),
            rng.choice([-1, 1], n),
        ]
    )
    found = components(sources @ rng.standard_normal((4, 4)), np.random.default_rng(1))
    both = np.abs(np.corrcoef(found.scores.T, sources.T)[:4, 4:])
    assert found.settled
    assert sorted(both.argmax(axis=1)) == [0, 1, 2, 3]
    assert both.max(axis=1).min() > 0.99


def test_it_is_further_from_normal_than_principal_components() -> None:
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(1000, 5)) @ rng.standard_normal((5, 5))
    found = components(x, np.random.default_rng(0))
    principal = principal_scores(x)
    plain = log_cosh_gain(principal / principal.std(axis=0)).sum()
    assert log_cosh_gain(found.scores).sum() > 2 * plain


@given(
    st.integers(2, 60), st.integers(1, 12), st.integers(0, 5), st.sampled_from(["ica", "pca"]),
    st.integers(0, 2**32),
)  # fmt: skip
def test_scores_are_white_and_give_the_rows_back(
    n: int, p: int, copies: int, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    x[:, 0] = np.round(x[:, 0])
    x = np.column_stack([x, np.full(n, 3.0), x[:, :copies] * 2 + 1])
    x[n // 2 :] = x[: n - n // 2]  # duplicates
    before = x.copy()
    found = components(x, rng, kind=kind)  # type: ignore[arg-type]
    assert (x == before).all()
    assert found.centre + found.scores @ found.basis == pytest.approx(x, abs=1e-9)
    r = found.scores.shape[1]
    assert r == len(found.basis) == np.linalg.matrix_rank(x - x.mean(axis=0), tol=1e-9)
    assert found.scores.T @ found.scores / n == pytest.approx(np.eye(r), abs=1e-8)
    assert found.scores.mean(axis=0) == pytest.approx(np.zeros(r), abs=1e-12)


def test_few_rows_are_not_given_a_direction_each() -> None:
    """ICA of a wide table would find directions in which one row stands alone."""
    x = np.random.default_rng(0).standard_normal((40, 100))
    found = components(x, np.random.default_rng(0))
    assert found.scores.shape == (40, 39)
    alone = np.abs(found.scores[:, 40 // PER_DIRECTION :]).max(axis=0) > 0.9 * np.sqrt(40)
    assert not alone.any()


def test_nothing_is_found_where_nothing_varies() -> None:
    found = components(np.ones((5, 3)), np.random.default_rng(0))
    assert found.scores.shape == (5, 0)
    assert (found.centre + found.scores @ found.basis == 1).all()


def test_it_gives_what_it_has_after_so_many_turns() -> None:
    x = np.random.default_rng(0).standard_normal((300, 10))
    found = components(x, np.random.default_rng(0), most=1)
    assert not found.settled
    assert found.centre + found.scores @ found.basis == pytest.approx(x)
