"""Kernel components beside their definition, scikit-learn, and explicit feature spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.spectral.kernel_pca import (
    Kernel,
    drawn_landmarks,
    expected_largest_gap,
    gap_chance,
    kernel_components,
    largest_gap,
)
from tests.oracle.kernel_pca import (
    centred_components,
    distance,
    explicit_features,
    kernel_function,
    matrix,
)

KINDS = ("polynomial", "exponential", "gaussian")


def _records(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    x[:, 0] = np.sign(x[:, 0])
    return x / np.sqrt(d)


def _aligned(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """With the signs that fit best: a component has none of its own."""
    return found * np.sign((found * expected).sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(1, 7), st.integers(0, 10**6))
def test_kernels_are_their_formulas(kind: str, n: int, d: int, degree: int, seed: int) -> None:
    x, y = _records(n, d, seed), _records(5, d, seed + 1)
    k = Kernel.of(kind, x, degree=degree, width=1.7)  # type: ignore[arg-type]
    one = kernel_function(kind, degree, 1.7)
    top = np.exp(k.log_top)
    assert k(y, x) * top == pytest.approx(matrix(one, y, x), rel=1e-9, abs=1e-12)
    assert k.with_itself(x) * top == pytest.approx(np.diag(matrix(one, x, x)), rel=1e-9)
    assert k(x, x).max() <= 1 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(4, 25), st.integers(2, 4), st.integers(0, 10**6))
def test_exact_components_are_those_of_the_centred_matrix(
    kind: str, n: int, d: int, seed: int
) -> None:
    x, y = _records(n, d, seed), _records(7, d, seed + 1)
    k = Kernel.of(kind, x, degree=3, width=2.0)  # type: ignore[arg-type]
    found = kernel_components(x, k, 3)
    variance, share, own, other = centred_components(kernel_function(kind, 3, 2.0), x, y)
    m = min(found.variance.size, len(variance))
    assert found.eigenvalue[:m] == pytest.approx(variance[:m], rel=1e-7)
    assert found.share[:m] == pytest.approx(share[:m], rel=1e-7)
    unit = np.exp(k.log_top / 2)
    if m == 3 and (np.diff(variance[: m + 1]) < -1e-3 * variance[0]).all():
        for records, expected in ((x, own), (y, other)):
            got = _aligned(found.project(records) * unit, expected[:, :m])
            assert got == pytest.approx(expected[:, :m], rel=1e-5, abs=1e-6 * unit)
    # Projections of the original have mean 0 and variance lambda.
    placed = found.project(x)
    assert placed.mean(axis=0) == pytest.approx(0, abs=1e-7)
    assert placed.var(axis=0) == pytest.approx(found.variance, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "n"), [("polynomial", 400), ("gaussian", 400), ("polynomial", 90)]
)
def test_exact_components_are_scikit_learns(kind: str, n: int) -> None:
    """Both ways to the eigenvectors: all of them up to 300 records, Lanczos' above."""
    from sklearn.decomposition import KernelPCA

    x, y = _records(n, 5, 3), _records(40, 5, 4)
    k = Kernel.of(kind, x, degree=4, width=1.5)  # type: ignore[arg-type]
    if kind == "polynomial":
        theirs = KernelPCA(6, kernel="poly", degree=4, gamma=1.0, coef0=1.0, eigen_solver="dense")
    else:
        theirs = KernelPCA(6, kernel="rbf", gamma=1 / (2 * 1.5**2), eigen_solver="dense")
    own = theirs.fit_transform(x)
    found = kernel_components(x, k, 6)
    unit = np.exp(k.log_top / 2)
    scale = np.abs(own).max(axis=0)
    for records, expected in ((x, own), (y, theirs.transform(y))):
        got = _aligned(found.project(records) * unit, expected)
        assert got / scale == pytest.approx(expected / scale, abs=1e-6)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_polynomial_components_are_those_of_the_explicit_features(degree: int) -> None:
    x = _records(60, 2, 5)
    features = explicit_features(x, degree)
    values = np.linalg.eigvalsh(np.cov(features.T, bias=True))[::-1]
    found = kernel_components(x, Kernel.of("polynomial", x, degree=degree), 4)
    m = found.variance.size
    assert found.eigenvalue == pytest.approx(values[:m], rel=1e-7)
    assert found.share == pytest.approx(values[:m] / values.sum(), rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("centred", [True, False])
def test_nystrom_with_every_record_as_landmark_is_exact(kind: str, centred: bool) -> None:
    x, y = _records(120, 4, 6), _records(30, 4, 7)
    k = Kernel.of(kind, x)  # type: ignore[arg-type]
    exact = kernel_components(x, k, 8, centred=centred)
    found = kernel_components(x, k, 8, landmarks=np.arange(120), centred=centred)
    assert found.share == pytest.approx(exact.share, rel=1e-6)
    expected = exact.project(y)
    got = _aligned(found.project(y), expected)
    assert got == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.sqrt(exact.variance[0]))


def test_nystrom_is_close_even_where_few_records_have_most_of_the_variance() -> None:
    """Landmarks drawn evenly miss the tails of heavy-tailed records; by length they do not."""
    rng = np.random.default_rng(8)
    x = rng.standard_t(5, size=(1500, 10))
    x /= x.std(axis=0)
    k = Kernel.of("polynomial", x, degree=4)
    exact = kernel_components(x, k, 10)
    rows = drawn_landmarks(x, k, 400, np.random.default_rng(1))
    found = kernel_components(x, k, 10, landmarks=rows)
    even = kernel_components(x, k, 10, landmarks=rng.choice(1500, 400, replace=False))
    assert found.share == pytest.approx(exact.share, rel=0.05)
    assert abs(even.share / exact.share - 1).max() > 0.1
    # An approximated component never has more variance than the exact ones.
    assert (np.cumsum(found.variance) <= np.cumsum(exact.variance) * (1 + 1e-9)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_total_of_landmarks_is_hardly_too_large(kind: str) -> None:
    """Of the mean, what lies beside the landmarks' span is not taken off."""
    x = np.random.default_rng(13).normal(size=(1000, 10))
    k = Kernel.of(kind, x)  # type: ignore[arg-type]
    exact = kernel_components(x, k, 3).total
    for m, most in ((50, 0.02), (200, 0.005)):
        rows = drawn_landmarks(x, k, m, np.random.default_rng(m))
        total = kernel_components(x, k, 3, landmarks=rows).total
        assert exact * (1 - 1e-12) <= total < exact * (1 + most)


@given(st.integers(3, 30), st.integers(0, 10**6), st.sampled_from(KINDS))
def test_shares_add_up_to_one(n: int, seed: int, kind: str) -> None:
    x = _records(n, 3, seed)
    before = x.copy()
    found = kernel_components(x, Kernel.of(kind, x), n)  # type: ignore[arg-type]
    assert found.share.sum() == pytest.approx(1, abs=1e-6)
    assert (np.diff(found.share) <= 1e-12).all()
    assert np.array_equal(x, before)


@given(st.integers(5, 40), st.integers(0, 10**6))
def test_the_order_of_records_changes_nothing(n: int, seed: int) -> None:
    x = _records(n, 3, seed)
    k = Kernel.of("gaussian", x)
    moved = np.random.default_rng(seed).permutation(n)
    one, other = kernel_components(x, k, 3), kernel_components(x[moved], k, 3)
    assert one.share == pytest.approx(other.share, rel=1e-8)


def test_components_until_a_share_of_the_variance() -> None:
    x = _records(400, 6, 9)
    k = Kernel.of("polynomial", x, degree=2)
    every = kernel_components(x, k, 400)
    found = kernel_components(x, k, 400, variance=0.9)
    m = found.share.size
    assert found.share[: m - 1].sum() < 0.9 <= found.share.sum()
    assert found.share == pytest.approx(every.share[:m], rel=1e-6)
    assert kernel_components(x, k, 2, variance=0.999).share.size == 2


@pytest.mark.parametrize("kind", ["polynomial", "exponential"])
def test_wide_numbers_and_high_degrees_do_not_overflow(kind: str) -> None:
    x = 1e3 * _records(80, 40, 10)
    k = Kernel.of(kind, x, degree=100, width=1.0)  # type: ignore[arg-type]
    found = kernel_components(x, k, 5)
    assert np.isfinite(found.project(1e4 * x)).all()
    assert (found.share > 0).all()


def test_records_that_are_all_alike_have_no_component() -> None:
    x = np.ones((350, 3))
    for landmarks in (None, np.arange(20)):
        found = kernel_components(x, Kernel.of("polynomial", x), 5, landmarks=landmarks)
        assert found.variance.size == 0


def test_uncentred_components_are_those_of_the_matrix_itself() -> None:
    x = _records(60, 3, 11)
    k = Kernel.of("gaussian", x)
    values = np.linalg.eigvalsh(k(x, x))[::-1]
    found = kernel_components(x, k, 5, centred=False)
    assert found.share == pytest.approx(values[:5] / 60, rel=1e-8)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
)
def test_the_largest_gap_is_its_definition(x: list[int], y: list[int]) -> None:
    a, b = np.array(x, dtype=float), np.array(y, dtype=float)
    assert largest_gap(a, b) == pytest.approx(distance(a, b), abs=1e-12)


def test_chances_are_scipys_and_their_largest_gap_is_simulated() -> None:
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(12)
    x, y = rng.normal(size=(2, 1500))
    y += 0.05
    theirs = ks_2samp(x, y, method="asymp")
    assert largest_gap(x, y) == pytest.approx(theirs.statistic)
    assert float(gap_chance(np.array(theirs.statistic), 1500, 1500)) == pytest.approx(
        theirs.pvalue, abs=0.02
    )
    drawn = [max(largest_gap(*rng.random((2, 400))) for _ in range(5)) for _ in range(200)]
    assert expected_largest_gap(400, 400, 5) == pytest.approx(np.mean(drawn), rel=0.05)
