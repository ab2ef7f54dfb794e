"""The distance to the k-th neighbour beside a plain scan."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.neighbours.kth_neighbour import kth_neighbour
from tests.oracle.noise import kth_distance


@pytest.mark.parametrize("seed", range(4))
def test_it_is_that_of_a_plain_scan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p, k = [(2, 1, 1), (150, 2, 4), (300, 5, 20), (200, 3, 70)][seed]
    x = rng.standard_normal((n, p))
    x[: n // 5] = np.round(x[: n // 5])  # duplicates
    assert kth_neighbour(x, k) == pytest.approx(kth_distance(x, k), abs=1e-12)


def test_few_visits_give_an_upper_bound_that_is_close() -> None:
    x = np.random.default_rng(0).standard_normal((4000, 4))
    exact = kth_neighbour(x, 5)
    bound = kth_neighbour(x, 5, visits=8)
    assert (bound >= exact).all()
    assert np.mean(bound / exact) < 1.1
    assert (kth_neighbour(x, 5, visits=1000) == exact).all()


def test_threads_never_alter_it() -> None:
    x = np.random.default_rng(0).standard_normal((1000, 3))
    assert (kth_neighbour(x, 3, threads=1) == kth_neighbour(x, 3, threads=3)).all()


def test_it_refuses_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match="one less than the 3 records"):
        kth_neighbour(np.zeros((3, 1)), 3)
    with pytest.raises(ValueError, match="missing"):
        kth_neighbour(np.array([[1.0], [np.nan]]), 1)
