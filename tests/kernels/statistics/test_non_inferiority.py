"""Shortfalls beside their definition, and how often their bounds are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, ks_2samp, norm

from sfumato.kernels.statistics.non_inferiority import _upper, one_sided_ks, shortfall
from tests.oracle.prediction import largest_shortfall

sizes = st.integers(1, 25)
samples = arrays(np.float64, sizes, elements=st.integers(0, 6).map(lambda v: v / 3))


@given(samples, samples)
def test_the_largest_is_that_of_the_definition(x: np.ndarray, y: np.ndarray) -> None:
    found = shortfall(x, y, paired=False)
    assert found.largest == pytest.approx(largest_shortfall(x.tolist(), y.tolist()), abs=1e-12)
    assert found.largest <= found.upper <= 1
    assert found.at in (*x, *y)


@given(samples)
def test_bounds_grow_with_confidence_and_pairs_with_themselves_fall_short_of_nothing(
    x: np.ndarray,
) -> None:
    low, high = (shortfall(x, x, paired=True, confidence=c) for c in (0.8, 0.99))
    assert low.largest == high.largest == 0
    assert 0 < low.upper <= high.upper


def test_higher_values_are_never_worse() -> None:
    x = np.random.default_rng(0).random(500)
    assert shortfall(x + 0.1, x, paired=True).largest == 0
    assert shortfall(x, x + 2, paired=True).upper == 1
    assert shortfall(x, x + 2, paired=False, bound="bootstrap", rng=np.random.default_rng(0)) == (
        1.0,
        1.0,
        pytest.approx(x.max()),
    )


def test_rounding_is_no_shortfall() -> None:
    x = np.full(1000, 0.3)
    assert shortfall(x, np.full(1000, 0.1 + 0.2), paired=True).largest == 0
    assert shortfall(np.full(1000, 0.1 + 0.2), x, paired=False).largest == 0
    assert one_sided_ks(x, np.full(1000, 0.1 + 0.2)) == (0.0, 1.0)


@pytest.mark.parametrize("n", [100, 324, 500, 1296, 2000, 10_000])
@pytest.mark.parametrize("margin", [0.05, 0.1])
@pytest.mark.parametrize("paired", [True, False])
def test_the_level_is_exact_where_copies_are_the_shortfall(
    n: int, margin: float, paired: bool
) -> None:
    """A share of records is copied and lies at 0: their number is binomial."""
    copies = np.arange(n + 1)
    upper = _upper(copies, n, np.zeros_like(copies), n, float(norm.ppf(0.95)), paired=paired)
    assert binom.pmf(copies, n, margin)[upper < margin].sum() <= 0.05


@pytest.mark.parametrize("share", [0.02, 0.2, 0.45, 0.8])
@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_the_level_is_exact_where_two_shares_differ_by_the_margin(
    share: float, margin: float
) -> None:
    n = 500
    counts = np.arange(n + 1)
    upper = _upper(counts[:, None], n, counts[None, :], n, float(norm.ppf(0.95)), paired=False)
    chance = np.outer(binom.pmf(counts, n, share + margin), binom.pmf(counts, n, share))
    assert 0.03 < chance[upper < margin].sum() <= 0.05


def peaked(u: np.ndarray, margin: float, at: float) -> np.ndarray:
    """Values whose distribution function is t + margin at its worst."""
    t = np.linspace(0, 1, 2001)
    return np.interp(u, t + margin * np.clip(1 - np.abs(t - at) / 0.2, 0, None), t)


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("paired", [True, False])
def test_the_level_holds_where_the_shortfall_is_the_margin(at: float, paired: bool) -> None:
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(500):
        z = rng.standard_normal((2, 1000))
        if paired:
            z[1] = 0.7 * z[0] + np.sqrt(0.51) * z[1]
        x, y = norm.cdf(z)
        wrong += shortfall(peaked(x, 0.1, at), y, paired=paired).upper < 0.1
    assert wrong / 500 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize(("n", "paired", "least"), [(2000, False, 0.65), (2000, True, 0.9)])
def test_equal_distributions_are_found_to_be_so(n: int, paired: bool, least: float) -> None:
    rng = np.random.default_rng(6)
    met = []
    for _ in range(200):
        z = rng.standard_normal((2, n))
        if paired:
            z[1] = 0.7 * z[0] + np.sqrt(0.51) * z[1]
        met.append(shortfall(z[0], z[1], paired=paired).upper < 0.05)
    assert np.mean(met) >= least


def test_the_bootstrap_is_not_below_what_was_seen() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random(300), rng.random(300)
    for paired in (True, False):
        found = shortfall(x, y, paired=paired, bound="bootstrap", resamples=200, rng=rng)
        assert found.largest <= found.upper <= found.largest + 0.15


def test_one_sided_ks_is_the_right_way_round() -> None:
    rng = np.random.default_rng(0)
    low, high = rng.random(400), rng.random(400) + 0.2
    statistic, p = one_sided_ks(low, high)
    assert p < 1e-6
    assert (statistic, p) == tuple(ks_2samp(low, high, alternative="greater", method="exact"))[:2]
    assert one_sided_ks(high, low)[1] > 0.9
    assert one_sided_ks(np.tile(low, 40), np.tile(high, 40), points=324, rng=rng)[1] < 1e-3
    assert one_sided_ks(np.tile(low, 40), np.tile(high, 40))[1] < 1e-10


def test_it_refuses_what_has_no_answer() -> None:
    x = np.ones(3)
    with pytest.raises(ValueError, match="cannot be paired"):
        shortfall(x, x[:2], paired=True)
    with pytest.raises(ValueError, match="has no values"):
        shortfall(x[:0], x, paired=False)
    with pytest.raises(ValueError, match="missing or infinite"):
        shortfall(x, np.array([np.nan]), paired=False)
    with pytest.raises(ValueError, match="confidence"):
        shortfall(x, x, paired=True, confidence=1.0)
    with pytest.raises(ValueError, match="generator"):
        shortfall(x, x, paired=True, bound="bootstrap")
    with pytest.raises(ValueError, match="generator"):
        one_sided_ks(x, x, points=2)
