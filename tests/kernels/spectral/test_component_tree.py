"""Forests of components, beside a naive search, and swapping along them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.kernels.spectral.component_tree import (
    CELLS,
    LEVEL,
    mutual_information,
    parents,
    swapped_along,
)
from tests.oracle import component_tree as oracle


def bent(n: int, seed: int = 0) -> np.ndarray:
    """Uncorrelated columns: the second depends on the first, the third on the second, the fifth on
    the fourth, and the last on none."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    x[:, 1] += x[:, 0] ** 2 - 1
    x[:, 2] *= np.abs(x[:, 1])
    x[:, 4] *= 0.3 + np.abs(x[:, 3])
    return x


def test_the_forest_is_that_of_the_naive_search() -> None:
    x = bent(400)
    told = mutual_information(x)
    naive = [[oracle.told(x[:, a], x[:, b], CELLS) for b in range(6)] for a in range(6)]
    assert told[np.triu_indices(6, 1)] == pytest.approx(np.array(naive)[np.triu_indices(6, 1)])
    least = chi2.isf(LEVEL / 15, (CELLS - 1) ** 2) / 800
    edges = {(min(a, b), max(a, b)) for a, b in parents(x) if b >= 0}
    assert edges == oracle.strongest_forest(naive, least)
    assert (0, 1) in edges


def test_independent_components_have_no_tree() -> None:
    for seed in range(5):
        x = np.random.default_rng([7, seed]).normal(size=(500, 8))
        assert parents(x) == [(j, -1) for j in range(8)]


def test_values_stay_and_neighbours_keep_what_they_have_to_do_with_one_another() -> None:
    x = bent(4000)
    tree = parents(x)
    assert {one for one, _ in tree} == set(range(6))
    made = swapped_along(x, tree, 50, np.random.default_rng(1))
    assert np.array_equal(np.sort(made, axis=0), np.sort(x, axis=0))
    before, after = (np.corrcoef(v[:, 0] ** 2, v[:, 1])[0, 1] for v in (x, made))
    assert after > 0.9 * before > 0.5
    assert np.corrcoef(np.abs(made[:, 3]), np.abs(made[:, 4]))[0, 1] > 0.3
    # A pair of neighbours is one person's in about one record of a hundred.
    mine = {(a, b) for a, b in x[:, :2].tolist()}
    assert sum((a, b) in mine for a, b in made[:, :2].tolist()) < 80
