"""Resampling beside the slide's three steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.kernels.masking.resampling import mean_order_statistics
from sfumato.methods.numeric.resampling import Resampling
from tests.oracle import resampling as oracle

numbers = st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=1, max_size=15, unique=True)


@given(numbers, st.integers(1, 4), st.integers(0, 99))
def test_averages_are_those_of_sorted_samples(x: list[float], t: int, seed: int) -> None:
    found = mean_order_statistics(np.sort(x), t, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    samples = [rng.integers(0, len(x), len(x)).tolist() for _ in range(t)]
    np.testing.assert_allclose(found, oracle.averages(x, samples), rtol=1e-12, atol=1e-12)


@given(
    st.lists(st.none() | st.integers(-5, 5).map(float), min_size=2, max_size=25),
    st.integers(1, 5),
    st.integers(0, 9),
)
def test_ranks_and_range_are_kept(x: list[float | None], t: int, seed: int) -> None:
    table = sf.table({"x": np.array(x, dtype=float)}, quasi=["x"])
    out = Resampling(t=t).mask(table, np.random.default_rng(seed)).table["x"].to_list()
    assert [v is None for v in out] == [v is None for v in x]
    present = [(a, b) for a, b in zip(x, out, strict=True) if a is not None and b is not None]
    for a, b in present:
        assert min(v for v, _ in present) <= b <= max(v for v, _ in present)
        for c, d in present:
            assert (a < c) <= (b <= d), "the order of different values is kept"


def test_the_replacements_are_placed_by_rank() -> None:
    x = np.array([5.0, -1.0, 9.0, 3.0])
    table = sf.table({"x": x}, quasi=["x"])
    out = Resampling(t=2).mask(table, np.random.default_rng(7)).table["x"].to_list()
    assert out == pytest.approx(oracle.by_rank(x.tolist(), sorted(out)))


@pytest.mark.statistical
def test_the_mean_is_kept_in_expectation() -> None:
    """A z-test over many draws; the mean of t samples has variance s^2 / (n t)."""
    rng = np.random.default_rng(1)
    x = rng.lognormal(0, 1, 50)
    table = sf.table({"x": x}, quasi=["x"])
    t, draws = 2, 2_000
    stream = np.random.default_rng(2)
    means = [Resampling(t=t).mask(table, stream).table["x"].mean() for _ in range(draws)]
    spread = np.var(x) / (x.size * t)
    assert abs(np.mean(means) - x.mean()) < 6 * np.sqrt(spread / draws)
    assert np.var(means) == pytest.approx(spread, rel=0.25)


def test_more_samples_come_nearer() -> None:
    x = np.random.default_rng(3).normal(size=2_000)
    table = sf.table({"x": x}, quasi=["x"])
    far, near = (
        np.mean(
            (Resampling(t=t).mask(table, np.random.default_rng(0)).table["x"].to_numpy() - x) ** 2
        )
        for t in (1, 50)
    )
    assert near < far / 5


def test_whole_numbers_stay_whole() -> None:
    table = sf.table({"x": list(range(40))}, quasi=["x"])
    assert Resampling().mask(table, np.random.default_rng(0)).table["x"].dtype.is_integer()


def test_rounding_takes_no_average_out_of_the_range() -> None:
    """0.1 + 0.1 + 0.1 is more than 0.3 in floats."""
    constant = sf.table({"x": [0.1] * 6}, quasi=["x"])
    out = Resampling(t=3).mask(constant, np.random.default_rng(0)).table["x"]
    assert out.to_list() == [0.1] * 6
    x = np.random.default_rng(0).normal(size=50) + 0.1
    for seed in range(100):
        found = mean_order_statistics(np.sort(x), 3, np.random.default_rng(seed))
        assert x.min() <= found.min()
        assert found.max() <= x.max()


def test_what_overflows_is_refused_and_not_clipped() -> None:
    huge = sf.table({"x": [1.0, 1.7e308, 1.7e308, 1.7e308]}, quasi=["x"])
    with pytest.raises(MethodError, match="no finite number"):
        Resampling(t=3).mask(huge, np.random.default_rng(0))
