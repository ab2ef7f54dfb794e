"""median-differences beside its definition and Lasko's table 4.1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.utility.distributions.medians import MedianDifferences
from tests.oracle.kernel_pca import four_medians


def _frames(n: int, m: int, p: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(p, p))
    names = [f"v{j}" for j in range(p)]
    x, y = (np.exp(0.4 * rng.normal(size=(k, p)) @ mix) for k in (n, m))
    return pl.DataFrame(x, schema=names), pl.DataFrame(y, schema=names)


@given(st.integers(4, 40), st.integers(4, 40), st.integers(2, 5), st.integers(0, 10**6))
def test_the_four_medians_are_their_definitions(n: int, m: int, p: int, seed: int) -> None:
    x, y = _frames(n, m, p, seed)
    found = sf.measure("median-differences", x, y, align="none", log="positive")
    expected = four_medians(np.log(x.to_numpy()), np.log(y.to_numpy()))
    assert found.detail["median"] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert found.value == pytest.approx(max(expected.values()), rel=1e-6, abs=1e-9)
    plain = sf.measure("median-differences", x, y, align="none", space="original")
    expected = four_medians(x.to_numpy(), y.to_numpy())
    assert plain.detail["median"] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(st.integers(3, 40), st.integers(0, 10**6))
def test_the_same_records_in_any_order_have_changed_nothing(n: int, seed: int) -> None:
    x, _ = _frames(n, 3, 3, seed)
    before = x.clone()
    y = x.sample(fraction=1.0, shuffle=True, seed=seed)
    assert sf.measure("median-differences", x, y, align="none").value == pytest.approx(0, abs=1e-9)
    assert x.equals(before)


def test_what_no_longer_varies_has_no_correlation_left() -> None:
    x = pl.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [1.0, 2.0, 3.0, 5.0]})
    y = x.with_columns(b=pl.lit(2.75))
    found = sf.measure("median-differences", x, y, space="original").detail["median"]
    assert found["correlation"] == pytest.approx(1)
    assert found["variance"] == pytest.approx(0.5)
    assert found["mean"] == pytest.approx(0, abs=1e-12)


def test_one_coordinate_has_no_pairs() -> None:
    x = pl.DataFrame({"a": [1.0, 2.0, 4.0]})
    found = sf.measure("median-differences", x, x)
    assert list(found.detail["median"]) == ["mean", "variance"]


@pytest.mark.golden
def test_another_sample_differs_as_in_the_thesis(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """Table 4.1's last row: 0.016, 0.013, 0.017, 0.017 (on another cycle of the survey)."""
    frame = pl.read_csv(shared_data("nhanes") / "nhanes_adults_28.csv").drop("seqn")
    thesis = {"mean": 0.016, "variance": 0.013, "correlation": 0.017, "rank correlation": 0.017}
    draws = []
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(frame.height)
        found = sf.measure(
            MedianDifferences.name,
            frame[rows[:2000]],
            frame[rows[4000:6000]],
            align="none",
            reference=frame[rows[2000:4000]],
            log="positive",
        )
        draws += [found.detail["median"], found.detail["reference"]]
    for kind, expected in thesis.items():
        mean = float(np.mean([draw[kind] for draw in draws]))
        golden_record(f"median-differences: reference sample, {kind}", expected, round(mean, 4))
        assert expected / 2 < mean < 2 * expected
