"""Values that agree with counts beside all that there are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.tables.agreeing import Table, agreeing
from tests.oracle import hidden_cells as oracle


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_no_other_values_agree_better(seed: int, groups: int, many: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, groups)
    widths = rng.integers(1, 4, groups)
    group = np.repeat(np.arange(groups), widths)
    chance = rng.random(group.size) * 0.9 + 0.05
    truth = [
        int(np.flatnonzero(group == g)[rng.integers(widths[g])])
        for g in range(groups)
        for _ in range(sizes[g])
    ]
    tables = []
    for _ in range(many):
        cell = rng.integers(-1, 3, group.size)
        left = np.bincount(cell[truth][cell[truth] >= 0], minlength=3)
        if rng.random() < 0.3:  # counts that need not agree with anything
            left = rng.integers(0, 4, 3)
        tables.append((cell.tolist(), left.tolist()))
    found = agreeing(
        sizes, group, chance, [Table(np.array(c), np.array(left, float)) for c, left in tables]
    )
    assert found is not None
    assert np.bincount(group, found).tolist() == sizes.tolist()
    excess = sum(
        max(sum(found[v] for v in range(group.size) if cell[v] == c) - left[c], 0)
        for cell, left in tables
        for c in range(3)
    )
    listed = [np.flatnonzero(group == g).tolist() for g in range(groups)]
    fewest, log = oracle.agreeing(sizes.tolist(), listed, chance.tolist(), tables)
    assert excess == pytest.approx(fewest)
    own = sum(n * math.log(c) for n, c in zip(found.tolist(), chance.tolist(), strict=True))
    # The search may stop within a thousandth of the best.
    scale = abs(log) + fewest * (1 + sizes.sum() * np.ptp(np.log(chance)))
    assert own >= log - 2e-3 * scale - 1e-6


def test_counts_that_single_out_one_way_give_it() -> None:
    # Three records under {0, 1}, three under {1, 2}; the counts say who holds what but for 1.
    group = np.array([0, 0, 1, 1])
    cell = np.array([0, 1, 1, 2])
    found = agreeing(
        np.array([3, 3]), group, np.full(4, 0.5), [Table(cell, np.array([3.0, 0.0, 3.0]))]
    )
    assert found is not None
    assert found.tolist() == [3, 0, 0, 3]
