"""Lossy compression beside one block after another, and the promises of both transforms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.kernels.masking.transform_coding import jpeg, keep_largest, quantization
from sfumato.methods.numeric.compression import LossyCompression
from tests.oracle import compression as oracle


def masked(method: LossyCompression, x: np.ndarray) -> np.ndarray:
    names = [f"x{j}" for j in range(x.shape[1])]
    table = sf.table({name: x[:, j] for j, name in enumerate(names)}, quasi=names)
    out = method.mask(table, np.random.default_rng(0)).table.frame
    return out.select(names).to_numpy().astype(float)


def smooth(n: int, p: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(size=(n, p)), axis=0) * [10.0**j for j in range(p)]


@pytest.mark.parametrize("shape", [(8, 8), (3, 2), (17, 11)])
@pytest.mark.parametrize("quality", [10, 50, 80, 100])
def test_levels_are_those_of_the_oracle(shape: tuple[int, int], quality: int) -> None:
    levels = np.random.default_rng(sum(shape) + quality).integers(0, 256, shape).astype(float)
    table = quantization(quality)
    np.testing.assert_array_equal(jpeg(levels, quality), oracle.image(levels, table))


def test_the_table_scales_as_all_programs_do() -> None:
    assert quantization(80)[0].tolist() == [6, 4, 4, 6, 10, 16, 20, 24]
    assert quantization(25)[0].tolist() == [32, 22, 20, 32, 48, 80, 102, 122]
    assert (quantization(100) == 1).all()
    assert (quantization(1) == 255).all()


def test_the_table_is_that_of_the_standard() -> None:
    """In the order in which a JPEG file of quality 50 stores it: along the diagonals."""
    stored = [
        *(16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49),
        *(35, 37, 29, 40, 58, 51, 61, 60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56),
        *(80, 109, 81, 87, 95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103),
        99,
    ]
    cells = [(u, v) for u in range(8) for v in range(8)]
    # Diagonal after diagonal, upwards and downwards in turn.
    cells.sort(key=lambda c: (sum(c), c[1] if sum(c) % 2 == 0 else c[0]))
    assert [int(quantization(50)[cell]) for cell in cells] == stored


def test_long_images_are_cut_where_blocks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = np.random.default_rng(5).integers(0, 256, (50, 9)).astype(float)
    whole = jpeg(levels, 60)
    monkeypatch.setattr("sfumato.kernels.masking.transform_coding._CHUNK", 16)
    np.testing.assert_array_equal(jpeg(levels, 60), whole)


def test_a_table_is_scaled_compressed_and_mapped_back() -> None:
    x = smooth(19, 5)
    low, width = x.min(axis=0), np.ptp(x, axis=0)
    levels = np.rint((x - low) / width * 255)
    expected = low + oracle.image(levels, quantization(70)) / 255 * width
    np.testing.assert_allclose(masked(LossyCompression(quality=70), x), expected, rtol=1e-9)


def test_quality_is_what_it_says_and_order_helps() -> None:
    rng = np.random.default_rng(2)
    common = rng.normal(size=(800, 1))
    x = common + 0.2 * rng.normal(size=(800, 8))
    scale = np.ptp(x, axis=0)

    def error(method: LossyCompression) -> float:
        return float(np.mean(((masked(method, x) - x) / scale) ** 2))

    errors = [error(LossyCompression(quality=q)) for q in (5, 30, 60, 90, 100)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4
    sorted_rows = error(LossyCompression(quality=30, order="first-component"))
    assert sorted_rows < errors[1]
    assert error(LossyCompression(quality=30, order="each-column")) < sorted_rows


@pytest.mark.parametrize("order", ["as-is", "first-component", "each-column"])
@pytest.mark.parametrize("transform", ["jpeg", "column-dct"])
def test_order_is_for_the_transform_only(order: str, transform: str) -> None:
    x = smooth(60, 3)
    method = LossyCompression(order=order, transform=transform, quality=100, keep=1.0)
    close = masked(method, x)
    # Grey levels are half a level off by scaling, and a little more by rounding coefficients.
    limit = np.ptp(x, axis=0) * (2 / 255 if transform == "jpeg" else 1e-9)
    assert (np.abs(close - x) <= limit).all()
    if order == "as-is":
        return
    swap = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(masked(method, x[swap]), close[swap], rtol=1e-9, atol=1e-9)


@given(st.integers(1, 12), st.floats(0.05, 1), st.integers(0, 50))
def test_columns_are_rebuilt_from_the_largest_cosines(n: int, share: float, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=n)
    size = np.abs(oracle.coefficients(x))
    others = max(0, min(n - 1, round(share * n) - 1))
    kept = {0, *(int(k) + 1 for k in np.argsort(-size[1:])[:others])}
    np.testing.assert_allclose(keep_largest(x, share), oracle.truncated(x, kept), atol=1e-9)


@given(st.integers(2, 40), st.floats(0.02, 1), st.sampled_from(["as-is", "each-column"]))
def test_column_dct_keeps_the_mean_exactly(n: int, keep: float, order: str) -> None:
    x = smooth(n, 2, seed=n)
    out = masked(LossyCompression(transform="column-dct", keep=keep, order=order), x)
    np.testing.assert_allclose(out.mean(axis=0), x.mean(axis=0), rtol=1e-9, atol=1e-9)
    assert (out.var(axis=0) <= x.var(axis=0) * (1 + 1e-9)).all()


@pytest.mark.parametrize("order", ["as-is", "first-component", "each-column"])
def test_column_dct_keeps_the_mean_of_what_is_there(order: str) -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack((rng.exponential(size=200), rng.normal(size=200)))
    x[rng.random(200) < 0.3, 0] = np.nan
    x[0] = np.nan
    out = masked(LossyCompression(transform="column-dct", order=order), x)
    np.testing.assert_allclose(np.nanmean(out, axis=0), np.nanmean(x, axis=0), rtol=1e-12)
    assert not np.isclose(out, x).any(axis=0).all()


@pytest.mark.parametrize("columns", [2, 3])
def test_the_sign_of_an_eigenvector_is_not_chance(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standardized, the component of two columns has two entries of the same size."""
    x = np.random.default_rng(0).normal(size=(50, columns))
    x[:, 1] -= x[:, 0]
    method = LossyCompression(order="first-component")
    before = masked(method, x)
    found = np.linalg.eigh

    def flipped(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = found(matrix)
        # The other sign, and the last bits of another library.
        return values, -vectors * (1 + 1e-15 * np.arange(columns)[:, None])

    monkeypatch.setattr(np.linalg, "eigh", flipped)
    np.testing.assert_array_equal(masked(method, x), before)


@given(st.integers(2, 40), st.integers(1, 100))
def test_jpeg_keeps_the_range(n: int, quality: int) -> None:
    x = smooth(n, 2, seed=n)
    out = masked(LossyCompression(quality=quality), x)
    slack = 1e-9 * np.ptp(x, axis=0)
    assert (out >= x.min(axis=0) - slack).all()
    assert (out <= x.max(axis=0) + slack).all()


@pytest.mark.parametrize("transform", ["jpeg", "column-dct"])
def test_missing_stays_missing(transform: str) -> None:
    x = smooth(33, 2)
    x[::5, 0] = np.nan
    method = LossyCompression(transform=transform)
    out = masked(method, x)
    assert (np.isnan(out) == np.isnan(x)).all()
    there = ~np.isnan(x)
    if transform == "jpeg":
        # It counts as the mean.
        filled = np.where(there, x, np.nanmean(x, axis=0))
        np.testing.assert_allclose(out[there], masked(method, filled)[there], rtol=1e-9)
    else:
        # It is left out: the column is that of the other records.
        alone = masked(method, x[there[:, 0]][:, [0]])
        np.testing.assert_allclose(out[there[:, 0], 0], alone[:, 0], rtol=1e-9)
    flat = np.column_stack((np.full(33, 7.25), x[:, 1]))
    assert (masked(method, flat)[:, 0] == 7.25).all()
