"""Sets of values that could have led to a publication, beside guesses one by one."""

from __future__ import annotations

import numpy as np

from sfumato.tabular.audit.inversion import Needs, best_guess, cover, turned


def naive(pieces: np.ndarray, rate: float, size: float) -> float:
    """The most that any guess of a fine grid is right for."""
    x = np.concatenate([np.linspace(a, b, 2000, endpoint=False) for a, b in pieces if b > a])
    weight = np.concatenate([np.full(2000, (b - a) / 2000) for a, b in pieces if b > a])
    near = rate * x if rate else np.full(x.size, size)
    guesses = np.linspace(x.min() - size, x.max() + size, 1500)
    return max(float(weight[np.abs(x - guess) <= near].sum()) for guess in guesses)


def test_the_best_guess_is_found() -> None:
    rng = np.random.default_rng(1)
    for turn in range(20):
        ends = np.sort(rng.uniform(1, 100, 4))
        pieces = ends.reshape(1, 2, 2)
        value, rate = float(ends[1]), float(rng.uniform(0.02, 0.5))
        need = np.full(1, rate * value)
        values = np.full(1, 0.0 if turn % 2 else value)
        needs = Needs.of(values, need, need)
        found = best_guess(pieces, needs)[0]
        expected = naive(pieces[0], float(needs.rate[0]), float(need[0]))
        assert abs(found - expected) <= 0.01 * (ends[3] - ends[0])


def test_the_example_of_the_width_that_speaks() -> None:
    """p = 10 %, a lone contributor, [900, 1100]: as wide as the needs of 1,000, and any guess in
    the middle is right."""
    needs = Needs.of(np.full(3, 1000.0), np.full(3, 100.0), np.full(3, 100.0))
    pieces = np.array([[[900.0, 1100.0]], [[690.0, 1100.0]], [[0.0, np.inf]]])
    found = cover(pieces, needs)
    assert found[0] < 0.6
    assert found[1] >= 1.0
    assert np.isinf(found[2])


def test_counts_and_zeros_need_an_amount() -> None:
    values = np.array([1.0, 0.0, 10.0])
    needs = Needs.of(values, np.array([1.0, 2.0, 3.0]), np.zeros(3), counts=True)
    assert needs.rate.tolist() == [0.0, 0.0, 0.3]


def test_losses_are_amounts_too() -> None:
    low, high = turned(np.array([5.0, -5.0]), np.array([-1.0, -9.0]), np.array([8.0, 2.0]))
    assert low.tolist() == [0.0, 0.0]
    assert high.tolist() == [8.0, 9.0]
