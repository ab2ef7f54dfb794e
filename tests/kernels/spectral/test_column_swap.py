"""Components of a table, and their scores in other orders, beside plain versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.kernels.spectral import basis as bases
from sfumato.kernels.spectral.basis import spectral_basis
from sfumato.kernels.spectral.column_swap import (
    _best_pair,
    correlations,
    enough_steps,
    largest,
    least_tolerance,
    orthonormal,
    random_directions,
    repaired,
    shuffled_columns,
)
from sfumato.progress import listening
from tests.oracle import column_swap as oracle


def heavy(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Correlated columns with heavy tails."""
    rng = np.random.default_rng(seed)
    return rng.standard_t(4, size=(n, d)) @ rng.standard_normal((d, d))


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Short, wide, constant and repeated columns, repeated rows."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    x = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, size=d)
    if draw(st.booleans()):
        x = np.round(x)
    if draw(st.booleans()):
        x[:, -1] = x[:, 0]
    if draw(st.booleans()):
        x[:, rng.integers(d)] = 0.1
    if draw(st.booleans()):
        x[: n // 2] = x[0]
    return x


@given(tables())
def test_the_basis_is_a_decomposition(x: np.ndarray) -> None:
    kept = x.copy()
    basis = spectral_basis(x)
    assert (x == kept).all()
    n, r = basis.scores.shape
    assert r == np.linalg.matrix_rank(x - x.mean(axis=0), tol=1e-9 * max(np.abs(x).max(), 1e-9))
    assert r <= min(n - 1, x.shape[1])
    scale = 1.0 + np.abs(x).max(axis=0)
    assert np.abs((basis.table(basis.scores) - x) / scale).max(initial=0) < 1e-12
    assert np.abs(basis.axes.T @ basis.axes - np.eye(r)).max(initial=0) < 1e-10
    assert np.abs(basis.scores.T @ basis.scores - np.eye(r)).max(initial=0) < 1e-6
    assert np.abs(basis.scores.sum(axis=0)).max(initial=0) < 1e-6


@pytest.mark.parametrize("small", [0, 10**6])
def test_tiny_components_are_found_beside_large_ones(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    x = (rng.standard_normal((400, 6)) * [1, 1, 1e-3, 1e-5, 1e-9, 0.0]) @ turn.T + 3.0
    monkeypatch.setattr(bases, "SMALL", small)
    basis = spectral_basis(x)
    centred = x - x.mean(axis=0)
    assert basis.rank == 5
    assert basis.scale == pytest.approx(np.linalg.svd(centred)[1][:5], rel=1e-5)
    assert np.abs(basis.scores.T @ basis.scores - np.eye(5)).max() < 1e-4
    assert np.abs(basis.table(basis.scores) - x).max() < 1e-14


def test_the_basis_of_nothing_and_of_infinity() -> None:
    basis = spectral_basis(np.full((5, 3), 0.1))
    assert basis.rank == 0
    assert (basis.table(basis.scores) == 0.1).all()
    assert orthonormal(basis.scores) is not None
    assert repaired(basis.scores, 0.1, np.random.default_rng(0)).swaps == 0
    with pytest.raises(ValueError, match="finite"):
        spectral_basis(np.array([[1.0], [np.inf]]))
    with pytest.raises(ValueError, match="one row"):
        spectral_basis(np.empty((0, 2)))


@given(tables(), st.integers(0, 5))
def test_columns_keep_their_values_whoever_shuffles_them(x: np.ndarray, seed: int) -> None:
    kept = x.copy()
    made = shuffled_columns(x, np.random.default_rng(seed), threads=1)
    assert (x == kept).all()
    assert (np.sort(made, axis=0) == np.sort(x, axis=0)).all()
    assert (made == shuffled_columns(x, np.random.default_rng(seed), threads=3)).all()


@given(tables(), st.integers(0, 5), st.floats(0.01, 0.5))
def test_repair_keeps_values_and_says_what_it_reached(x: np.ndarray, seed: int, tol: float) -> None:
    scores = spectral_basis(x).scores
    start = shuffled_columns(scores, np.random.default_rng(seed))
    kept = start.copy()
    found = repaired(start, tol, np.random.default_rng(seed))
    assert (start == kept).all()
    assert (np.sort(found.values, axis=0) == np.sort(scores, axis=0)).all()
    assert found.largest == pytest.approx(largest(found.values))
    assert (found.values == repaired(start, tol, np.random.default_rng(seed)).values).all()
    assert (found.values != start).sum() <= 2 * found.swaps
    if scores.shape[1] > 1:
        assert found.largest == pytest.approx(
            np.abs(oracle.correlations(found.values)).max(), abs=1e-7
        )
        before, after = (
            np.maximum(np.abs(oracle.correlations(y)) - tol, 0.0) for y in (start, found.values)
        )
        assert (after**2).sum() <= (before**2).sum() + 1e-9


@pytest.mark.parametrize("bound", [0.0, 0.1])
def test_the_best_pair_is_that_of_trying_all(bound: float) -> None:
    for seed in range(5):
        x = shuffled_columns(spectral_basis(heavy(15, 4, seed)).scores, np.random.default_rng(seed))
        for column in range(4):
            a, b = _best_pair(
                np.ascontiguousarray(x), correlations(x), column, np.arange(15), bound
            )
            least = oracle.best_swap(x, column, bound)
            if a < 0:
                assert least >= 0.999 * oracle.excess(x, column, bound)
                continue
            y = x.copy()
            y[a, column], y[b, column] = x[b, column], x[a, column]
            assert oracle.excess(y, column, bound) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize(("n", "d", "tol"), [(60, 5, 0.02), (200, 27, 0.005), (2000, 28, 0.0005)])
def test_tolerances_far_below_chance_are_reached_by_few_swaps(n: int, d: int, tol: float) -> None:
    start = shuffled_columns(spectral_basis(heavy(n, d)).scores, np.random.default_rng(0))
    found = repaired(start, tol, np.random.default_rng(0))
    assert largest(start) > 8 * tol
    assert np.abs(oracle.correlations(found.values)).max() <= tol
    assert (found.values != start).mean() < 0.2


def test_an_impossible_tolerance_comes_to_an_end() -> None:
    for n, d in ((4, 3), (20, 19), (500, 5)):
        start = shuffled_columns(spectral_basis(heavy(n, d)).scores, np.random.default_rng(0))
        found = repaired(start, 1e-15, np.random.default_rng(0))
        assert 1e-15 < found.largest < largest(start)


def test_a_budget_ends_repair() -> None:
    start = shuffled_columns(spectral_basis(heavy(500, 30)).scores, np.random.default_rng(0))
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        found = repaired(start, 1e-5, np.random.default_rng(0), budget=300)
    assert found.steps == 512  # steps come in bundles
    assert found.swaps <= found.steps
    assert heard == [("repairing correlations", done, 300) for done in (0, 256)]
    assert 1e-5 < found.largest < largest(start)
    everything = repaired(start, 1e-15, np.random.default_rng(0))
    assert everything.steps < enough_steps(500, 30) + 256
    assert repaired(start, 1e-5, np.random.default_rng(0), budget=0).swaps == 0


@pytest.mark.statistical
def test_orders_stay_uniform_and_scores_of_a_record_do_not_meet_again() -> None:
    # With 20 records repair touches an eighth of the values: far more than in any real table.
    n, r, runs = 20, 5, 1500
    scores = spectral_basis(heavy(n, r, 5)).scores
    went = np.zeros((r, n, n))
    fixed, moved, ranks, met, touched = [], [], [], [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        start = shuffled_columns(scores, rng, threads=1)
        found = repaired(start, 0.05, rng).values
        came = oracle.sources(scores, found)
        for j in range(r):
            went[j, np.arange(n), came[:, j]] += 1
        here = np.arange(n)[:, None]
        fixed.append((came == here).sum(axis=0).mean())
        moved.append(np.abs(came - here).mean() / n)
        ranks.append(stats.spearmanr(scores[:, 0], found[:, 0]).statistic)
        met.append(np.mean([(came[:, j] == came[:, k]).sum() for j in range(r) for k in range(j)]))
        touched.append((found != start).mean())

    assert 0.05 < np.mean(touched) < 0.25
    # Where each record goes, and from where: chi-square of a random permutation's table.
    for j in range(r):
        square = ((went[j] - runs / n) ** 2 / (runs / n)).sum() * (n - 1) / n
        assert stats.chi2.sf(square, (n - 1) ** 2) > 1e-4

    def close(values: list[float], expected: float) -> bool:
        return bool(abs(np.mean(values) - expected) < 4 * np.std(values) / np.sqrt(runs))

    assert close(fixed, 1.0)
    assert close(moved, (n**2 - 1) / (3 * n**2))
    assert close(ranks, 0.0)
    assert np.std(ranks) == pytest.approx(1 / np.sqrt(n - 1), rel=0.1)
    assert close(met, 1.0)


def test_the_least_tolerance_is_where_originals_would_come_back() -> None:
    # Three records: the only order without correlations is the original's, and repair finds it.
    scores = spectral_basis(heavy(3, 2)).scores
    assert least_tolerance(3, 2) == 1.0
    back = []
    for seed in range(20):
        start = shuffled_columns(scores, np.random.default_rng(seed))
        found = repaired(start, 0.3, np.random.default_rng(seed)).values
        came = oracle.sources(scores, found)
        back.append((came[:, 0] == came[:, 1]).all())
    assert np.mean(back) > 0.5
    assert least_tolerance(30, 1) == 0.0
    assert least_tolerance(2000, 27) < 1e-12


@settings(max_examples=25)
@given(st.integers(4, 60), st.integers(1, 8), st.integers(0, 100))
def test_directions_are_of_length_one_and_no_mean(n: int, r: int, seed: int) -> None:
    made = random_directions(n, r, np.random.default_rng(seed))
    assert np.abs(made.sum(axis=0)).max() < 1e-12
    assert (made**2).sum(axis=0) == pytest.approx(np.ones(r))
    nearest = orthonormal(made) if r < n - 1 else None
    if nearest is not None:
        assert np.abs(nearest.T @ nearest - np.eye(r)).max() < 1e-6
        assert np.abs(nearest.sum(axis=0)).max() < 1e-6
    assert orthonormal(np.column_stack([made, made[:, 0]])) is None


def test_directions_favour_none() -> None:
    # The square of one coordinate of a random direction in 9 dimensions is 1/9 in the mean.
    made = np.array([random_directions(10, 1, np.random.default_rng(s))[:, 0] for s in range(4000)])
    assert made.T @ made / 4000 == pytest.approx((np.eye(10) - 0.1) / 9, abs=0.01)
