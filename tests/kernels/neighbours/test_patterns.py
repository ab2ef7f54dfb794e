"""Agreement patterns, counted, weighed and linked, against every pair written down."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.kernels.neighbours import fellegi_sunter
from sfumato.kernels.neighbours.patterns import best_patterns, count_patterns, shortlist
from sfumato.kernels.neighbours.rank_windows import Windows, gather, sort_column, value_windows
from tests.oracle import probabilistic as oracle
from tests.oracle.rank_windows import apart

cells = st.one_of(st.just(math.nan), st.integers(0, 4).map(float))


@st.composite
def two_files(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = draw(st.sampled_from([1, 2, 3, 9, 10]))
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    a = draw(st.lists(cells, min_size=n * columns, max_size=n * columns))
    b = draw(st.lists(cells, min_size=m * columns, max_size=m * columns))
    hide = draw(st.lists(st.booleans(), min_size=m * columns, max_size=m * columns))
    y = np.array(b).reshape(m, columns)
    return np.array(a).reshape(n, columns), y, np.array(hide).reshape(m, columns) & np.isnan(y)


def windows_of(x: np.ndarray, y: np.ndarray, hidden: np.ndarray, within: float) -> Windows:
    columns = [sort_column(y[:, c], hidden[:, c]) for c in range(y.shape[1])]
    wide = np.full(len(x), within)
    return gather(
        columns, [value_windows(x[:, c], columns[c], wide, wide) for c in range(y.shape[1])]
    )


def agreement(x: np.ndarray, y: np.ndarray, hidden: np.ndarray, within: float) -> oracle.Agrees:
    def agrees(i: int, j: int, c: int) -> bool:
        a, b = x[i, c], y[j, c]
        if hidden[j, c]:
            return True
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return abs(a - b) <= within

    return agrees


@given(two_files(), st.integers(0, 2), st.integers(1, 3), st.randoms(use_true_random=False))
def test_patterns_are_those_of_all_pairs(
    files: tuple[np.ndarray, np.ndarray, np.ndarray], within: int, threads: int, draw: object
) -> None:
    x, y, hidden = files
    columns = x.shape[1]
    windows = windows_of(x, y, hidden, float(within))
    written = oracle.patterns(agreement(x, y, hidden, within), len(x), len(y), columns)
    flat = [g for row in written for g in row]
    counts = count_patterns(windows, threads=threads)
    assert counts.tolist() == np.bincount(flat, minlength=2**columns).tolist()

    levels = np.array([draw.randrange(4) for _ in range(2**columns)], dtype=np.int64)
    own = np.array([draw.randrange(-1, len(y)) for _ in range(len(x))])
    plain = best_patterns(windows, levels, own, threads=threads)
    near = best_patterns(
        windows, levels, own, za=x, zb=np.where(hidden, np.inf, y), threads=threads
    )
    rows, sizes, cut = shortlist(windows, levels, 3, own % len(y), threads=threads)
    for i in range(len(x)):
        scores = [float(levels[g]) for g in written[i]]
        distance = [apart(x[i], y[j], hidden[j]) for j in range(len(y))]
        assert (plain.ties[i], plain.own_tied[i]) == oracle.link(scores, own[i], None)
        assert (near.ties[i], near.own_tied[i]) == oracle.link(scores, own[i], distance)
        assert plain.level[i] == max(scores)
        assert plain.own[i] == (levels[written[i][own[i]]] if own[i] >= 0 else -1)
        taken = rows[i, : sizes[i]].tolist()
        assert len(set(taken)) == min(3, len(y))
        # Whatever was not taken is no better than the worst that was.
        worst = min(scores[j] for j in taken)
        missed = [scores[j] for j in range(len(y)) if j not in taken]
        assert all(score <= worst for score in missed)
        assert cut[i] == sum(score == worst for score in missed)


@given(st.lists(st.integers(0, 7), min_size=12, max_size=60), st.booleans())
def test_em_over_patterns_is_em_over_pairs(pairs: list[int], fixed: bool) -> None:
    # Columns that agree always or never have probabilities at the bounds, where logs clip.
    assume(all(0 < sum(g >> c & 1 for g in pairs) < len(pairs) for c in range(3)))
    m, u, share = oracle.em(pairs, 3, 0.2, fixed, 25)
    bounded = [*m, *u, share]
    assume(all(1e-6 < p < 1 - 1e-6 for p in bounded))
    counts = np.bincount(pairs, minlength=8)
    found = fellegi_sunter.estimate(
        counts, 0.2, fixed_share=fixed, tolerance=0.0, most=25, accelerated=False
    )
    assert found.m.tolist() == pytest.approx(m, abs=1e-9)
    assert found.u.tolist() == pytest.approx(u, abs=1e-9)
    assert found.share == pytest.approx(share, abs=1e-9)
    weights = fellegi_sunter.weights(found)
    assert weights.tolist() == pytest.approx(
        [oracle.weight(g, found.m, found.u) for g in range(8)], abs=1e-9
    )


def test_em_finds_the_probabilities_that_made_the_patterns() -> None:
    rng = np.random.default_rng(1)
    m, u = np.array([0.95, 0.8, 0.9, 0.7]), np.array([0.02, 0.1, 0.05, 0.2])
    matches, others = 20_000, 400_000
    power = 1 << np.arange(4)
    drawn = [(rng.random((size, 4)) < p) @ power for size, p in ((matches, m), (others, u))]
    counts = np.bincount(np.concatenate(drawn), minlength=16)
    found = fellegi_sunter.estimate(counts, 0.01, fixed_share=False)
    assert found.converged
    # Six standard errors of a share of the matches, all of which are not known.
    assert np.abs(found.m - m).max() < 6 * np.sqrt(0.25 / matches)
    assert np.abs(found.u - u).max() < 6 * np.sqrt(0.25 / others)
    assert found.share == pytest.approx(matches / (matches + others), rel=0.02)


def test_em_never_lowers_the_likelihood() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 1000, 32)
    found = [
        fellegi_sunter.estimate(counts, 0.1, fixed_share=False, tolerance=0.0, most=steps)
        for steps in (2, 5, 20, 100)
    ]
    likelihoods = [f.loglikelihood for f in found]
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[0] < likelihoods[-1]


@pytest.mark.parametrize("fixed", [True, False])
def test_em_ends_where_columns_tell_little(fixed: bool) -> None:
    """Ten columns that hardly agree more in matches: plain EM creeps for thousands of steps."""
    rng = np.random.default_rng(3)
    u = np.full(10, 0.08)
    pairs = np.concatenate([rng.random((800, 10)) < 1.3 * u, rng.random((400_000, 10)) < u])
    counts = np.bincount(pairs @ (1 << np.arange(10)), minlength=1024)
    found = fellegi_sunter.estimate(counts, 0.002, fixed_share=fixed)
    assert found.converged
    assert found.iterations < 2_000
    plain = fellegi_sunter.estimate(
        counts, 0.002, fixed_share=fixed, most=found.iterations, accelerated=False
    )
    assert not plain.converged
    assert found.loglikelihood > plain.loglikelihood
    # Nothing is left to climb: a long plain walk from there gains no more than rounding would.
    further = fellegi_sunter.estimate(
        counts, 0.002, fixed_share=fixed, most=20_000, accelerated=False
    )
    assert found.loglikelihood > further.loglikelihood - 0.5


@given(st.lists(st.integers(0, 50), min_size=16, max_size=16), st.permutations(range(4)))
def test_counts_of_some_columns(counts: list[int], order: list[int]) -> None:
    known = order[:2]
    expected = [0] * 4
    for g, count in enumerate(counts):
        expected[(g >> known[0] & 1) + 2 * (g >> known[1] & 1)] += count
    assert fellegi_sunter.marginal(np.array(counts), known).tolist() == expected


def test_too_many_columns_are_refused() -> None:
    x = np.zeros((2, 17))
    windows = windows_of(x, x, np.zeros((2, 17), dtype=bool), 0.0)
    with pytest.raises(ValueError, match="too many patterns"):
        count_patterns(windows)
    small = windows_of(x[:, :2], x[:, :2], np.zeros((2, 2), dtype=bool), 0.0)
    with pytest.raises(ValueError, match="one level"):
        best_patterns(small, np.array([0, 1]), np.array([0, 1]))
