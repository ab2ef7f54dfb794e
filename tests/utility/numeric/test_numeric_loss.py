"""information-loss, probabilistic-loss and matrix-divergence beside their formulas written out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.kernels.statistics.factors import structure
from sfumato.kernels.statistics.kernel_density import density_at
from tests.oracle.losses import five_parts, kernel_density, loadings, probabilistic_parts


def _frames(n: int, p: int, seed: int, noise: float = 0.3) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 2, (n, p)) @ rng.normal(0, 1, (p, p))
    y = x + rng.normal(0, noise, x.shape)
    names = [f"v{j}" for j in range(p)]
    return pl.DataFrame(x, schema=names), pl.DataFrame(y, schema=names)


@given(st.integers(3, 30), st.integers(2, 4), st.integers(0, 10**6), st.sampled_from([0, 1, 2]))
def test_five_parts_are_the_formulas(n: int, p: int, seed: int, way: int) -> None:
    x, y = _frames(n, p, seed)
    if way == 1:  # zeros among the values
        x = x.with_columns(v0=pl.when(pl.int_range(n) % 2 == 0).then(0.0).otherwise(pl.col("v0")))
    zeros = ["cap", "leave-out", "cap"][way]
    scaled = way == 2
    found = sf.measure(
        "information-loss", x, y, zeros=zeros, values="scaled" if scaled else "relative"
    )
    expected = five_parts(x.to_numpy(), y.to_numpy(), zeros, scaled=scaled)
    assert list(found.detail["parts"].values()) == pytest.approx(expected, rel=1e-9)
    assert found.value == pytest.approx(100 * np.mean(expected), rel=1e-9)


@given(st.integers(5, 40), st.integers(2, 4), st.integers(0, 10**6))
def test_probabilistic_loss_is_the_formulas(n: int, p: int, seed: int) -> None:
    x, y = _frames(n, p, seed)
    found = sf.measure("probabilistic-loss", x, y)
    for kind, value in probabilistic_parts(x.to_numpy(), y.to_numpy()).items():
        assert found.detail["parts"][kind] == pytest.approx(100 * value, rel=1e-6, abs=1e-6)
    assert found.value == pytest.approx(np.mean(list(found.detail["parts"].values())))


def test_probabilistic_loss_does_not_depend_on_units() -> None:
    x, y = _frames(200, 3, 5)
    here = sf.measure("pil", x, y).value
    there = sf.measure("pil", x * 1e6 + 3e7, y * 1e6 + 3e7).value
    assert here == pytest.approx(there, rel=1e-6)
    assert 0 < here < 100


def test_another_sample_of_the_population_loses_as_much_as_chance_would() -> None:
    """Two samples differ by sqrt(2) deviations: PIL is then 2 P(0 <= Z <= sqrt(2) |Z'|) on average,
    which is 2 atan(sqrt 2) / pi = 0.608; a mean over 60 pairs of samples lies close to it."""
    rng = np.random.default_rng(8)
    losses = []
    for _ in range(60):
        x, y = rng.normal(size=(2, 400, 3))
        frames = [pl.DataFrame(t, schema=["a", "b", "c"]) for t in (x, y)]
        losses.append(sf.measure("pil", *frames).detail["parts"]["means"])
    expected = 200 * np.arctan(np.sqrt(2)) / np.pi
    spread = np.std(losses, ddof=1) / np.sqrt(len(losses))
    assert abs(np.mean(losses) - expected) < 5 * spread
    assert spread < 3


def test_density_is_the_kernel_estimate() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=300), rng.normal(6, 0.5, 200)])
    quartiles = np.quantile(x, [0.25, 0.75])
    bandwidth = 0.9 * min(x.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.34) * x.size**-0.2
    points = np.quantile(x, [0.05, 0.3, 0.5, 0.9])
    expected = [kernel_density(point, x, bandwidth) for point in points]
    assert density_at(points, x) == pytest.approx(expected, rel=2e-3)


@given(st.integers(6, 40), st.integers(2, 5), st.integers(0, 10**6))
def test_factors_are_their_definitions(n: int, p: int, seed: int) -> None:
    if n <= p:
        return
    x = _frames(n, p, seed)[0].to_numpy()
    found = structure(x)
    if found.eigenvalues[-1] < 1e-6 or np.diff(-found.eigenvalues).min() < 1e-3:
        return  # components that are nearly alike have no directions of their own
    rf, first, coefficients = loadings(x)
    sign = np.sign((found.RF * rf).sum(axis=0))
    assert found.RF * sign == pytest.approx(rf, abs=1e-6)
    assert found.commonalities() == pytest.approx(first, abs=1e-6)
    for many in range(1, p + 1):
        expected = [sum(rf[i, j] ** 2 for j in range(many)) for i in range(p)]
        assert found.commonalities(many) == pytest.approx(expected, abs=1e-6)
    assert found.F * sign == pytest.approx(coefficients, rel=1e-4, abs=1e-5)


def test_matrix_divergence_of_a_change_that_is_known() -> None:
    x = pl.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 3.0, 2.0]})
    y = x.with_columns(a=pl.col("a") * 2)
    found = sf.measure("matrix-divergence", x, y, matrix="V", error="variation", zeros="leave-out")
    # var(a): x4, a relative change of 3; cov(a, b): x2, of 1; var(b): none.
    assert found.value == pytest.approx((3 + 1 + 0) / 3)
    table = found.detail["all"]
    assert table["R"]["absolute"] == pytest.approx(0, abs=1e-12)
    assert table["RF"]["square"] == pytest.approx(0, abs=1e-12)
    assert table["X"]["absolute"] == pytest.approx((0 + 1 + 2 + 3) / 8)
    capped = sf.measure("matrix-divergence", x, y, matrix="V", error="variation")
    assert capped.value == pytest.approx((1 + 1 + 0) / 3)


def test_commonalities_of_several_components() -> None:
    x, y = _frames(60, 4, 5)
    rf = [loadings(t.to_numpy())[0] for t in (x, y)]
    for many in (1, 2, 3):
        c = [(one[:, :many] ** 2).sum(axis=1) for one in rf]
        found = sf.measure("matrix-divergence", x, y, matrix="C", components=many)
        assert found.value == pytest.approx(np.abs(c[0] - c[1]).mean(), abs=1e-6)
    with pytest.raises(sf.SfumatoError, match="all 4 components explain 4 columns wholly"):
        sf.measure("matrix-divergence", x, y, matrix="C", components=4)


def test_flipping_a_component_is_no_loss() -> None:
    x, _ = _frames(50, 4, 3)
    shuffled = x.sample(fraction=1.0, shuffle=True, seed=1)
    found = sf.measure("matrix-divergence", x, shuffled, align="none", matrix="F")
    assert found.value == pytest.approx(0, abs=1e-9)
    assert "X" not in found.detail["all"]
    with pytest.raises(sf.SfumatoError, match="which masked record"):
        sf.measure("matrix-divergence", x, shuffled, align="none", matrix="X")


def test_incomplete_records_are_said() -> None:
    x, y = _frames(20, 2, 1)
    y = y.with_columns(v0=pl.when(pl.int_range(20) < 3).then(None).otherwise(pl.col("v0")))
    found = sf.measure("il", x, y)
    assert found.detail["incomplete_records"] == {"masked": 3}
    with pytest.raises(sf.SfumatoError, match="2 numeric columns"):
        sf.measure("il", {"a": [1.0, 2.0]}, {"a": [1.0, 2.0]})
