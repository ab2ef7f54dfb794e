"""Combining m releases: the rules as published, and intervals that cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.combining import combine
from sfumato.errors import ParameterError
from tests.oracle.combining import rubin

numbers = st.floats(-100, 100)
releases = st.integers(2, 8).flatmap(
    lambda m: st.tuples(
        st.lists(numbers, min_size=m, max_size=m),
        st.lists(st.floats(1e-3, 100), min_size=m, max_size=m),
    )
)


@pytest.mark.parametrize("kind", ["partial", "full", "missing"])
@given(releases)
def test_the_rules(kind: str, given: tuple[list[float], list[float]]) -> None:
    q, u = given
    estimate, variance, freedom = rubin(q, u, kind)
    found = combine(q, u, kind)
    assert found.estimate == pytest.approx(estimate, abs=1e-9)
    if kind == "full" and variance <= 1e-9:
        if found.adjusted:  # Reiter's adjustment, at the boundary by rounding only
            assert found.variance == pytest.approx(sum(u) / len(u))
            assert math.isinf(found.degrees_of_freedom)
        return
    assert not found.adjusted
    assert found.variance == pytest.approx(variance, rel=1e-6)
    if math.isfinite(freedom) and freedom < 1e9:
        assert found.degrees_of_freedom == pytest.approx(freedom, rel=1e-4, abs=1e-9)


def test_several_estimates_at_once_are_each_their_own() -> None:
    rng = np.random.default_rng(1)
    q, u = rng.normal(size=(5, 3)), rng.random((5, 3)) + 0.1
    together = combine(q, u, "missing")
    for j in range(3):
        alone = combine(q[:, j], u[:, j], "missing")
        assert together.estimate[j] == pytest.approx(alone.estimate)
        assert together.interval()[1][j] == pytest.approx(alone.interval()[1])


def test_the_negative_variance_is_replaced_and_said() -> None:
    found = combine([1.0, 1.1], [2.0, 4.0], "full", ratio=0.5)
    assert found.adjusted
    assert found.variance == pytest.approx(0.5 * 3.0)
    low, high = found.interval(0.95)
    assert (high - low) / 2 == pytest.approx(1.959964 * math.sqrt(1.5), rel=1e-6)


@pytest.mark.parametrize(
    ("q", "u", "words"),
    [
        ([1.0], [1.0], "m = 2"),
        ([1.0, 2.0], [1.0], "match"),
        ([1.0, math.nan], [1.0, 1.0], "finite"),
        ([1.0, 2.0], [1.0, -1.0], "negative"),
    ],
)
def test_what_cannot_be_combined(q: list[float], u: list[float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        combine(q, u)


def test_level_and_kind_are_checked() -> None:
    with pytest.raises(ParameterError, match="level"):
        combine([1.0, 2.0], [1.0, 1.0]).interval(1.0)
    with pytest.raises(ParameterError, match="kind"):
        combine([1.0, 2.0], [1.0, 1.0], "half")  # type: ignore[arg-type]


def covered(kind: str, m: int, repetitions: int = 4000) -> float:
    """Coverage of the 95 % interval for a normal mean, values drawn by the book."""
    rng = np.random.default_rng(5)
    n, missing = 60, 0.4
    y = rng.standard_normal((repetitions, n))
    shown = np.ones((repetitions, n), dtype=bool)
    if kind == "missing":
        shown = rng.random((repetitions, n)) >= missing
    count = shown.sum(axis=1)
    mean = np.where(shown, y, 0).sum(axis=1) / count
    rss = np.where(shown, (y - mean[:, None]) ** 2, 0).sum(axis=1)
    q, u = [], []
    for _ in range(m):
        sigma = np.sqrt(rss / rng.chisquare(count - 1))
        mu = mean + sigma / np.sqrt(count) * rng.standard_normal(repetitions)
        drawn = mu[:, None] + sigma[:, None] * rng.standard_normal((repetitions, n))
        made = np.where(shown, y, drawn) if kind == "missing" else drawn
        q.append(made.mean(axis=1))
        u.append(made.var(axis=1, ddof=1) / n)
    low, high = combine(np.array(q), np.array(u), kind).interval(0.95)  # type: ignore[arg-type]
    return float(np.mean((low <= 0) & (high >= 0)))


@pytest.mark.parametrize(("kind", "m"), [("missing", 5), ("partial", 5), ("full", 50)])
def test_intervals_cover(kind: str, m: int) -> None:
    """4,000 samples: a rule that covers 95 % is outside these limits once in a million."""
    # The fully synthetic rule is known to be conservative where its variance is near zero.
    upper = 1.0 if kind == "full" else 0.967
    assert 0.932 < covered(kind, m) < upper


def test_the_rules_are_not_interchangeable() -> None:
    """Releases that are new samples, combined as if they were the sample's own, cover too little;
    so the test above can tell the rules apart."""
    rng = np.random.default_rng(6)
    n, m, repetitions = 60, 5, 2000
    y = rng.standard_normal((repetitions, n))
    shown = rng.random((repetitions, n)) >= 0.5
    mean = np.where(shown, y, 0).sum(axis=1) / shown.sum(axis=1)
    sd = np.sqrt(np.where(shown, (y - mean[:, None]) ** 2, 0).sum(axis=1) / shown.sum(axis=1))
    q, u = [], []
    for _ in range(m):
        mu = mean + sd / np.sqrt(shown.sum(axis=1)) * rng.standard_normal(repetitions)
        made = np.where(shown, y, mu[:, None] + sd[:, None] * rng.standard_normal((repetitions, n)))
        q.append(made.mean(axis=1))
        u.append(made.var(axis=1, ddof=1) / n)
    low, high = combine(np.array(q), np.array(u), "partial").interval()
    assert np.mean((low <= 0) & (high >= 0)) < 0.93
