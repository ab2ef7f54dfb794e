"""Whether the own record is nearest, and how well a record fits: kernels against every pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.neighbours.own_rank import own_rank
from sfumato.kernels.neighbours.own_score import Sides, log_mixture, own_fit
from tests.oracle import linkage
from tests.oracle import mechanisms as oracle


@given(
    st.integers(1, 150), st.integers(0, 3), st.integers(0, 2), st.floats(0, 0.3),
    st.integers(0, 2**31),
)  # fmt: skip
def test_stopping_at_the_first_nearer_record_changes_nothing(
    n: int, p: int, q: int, gaps: float, seed: int
) -> None:
    """Small whole numbers, so that there are many ties."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 5, (n, p)).astype(float) for _ in range(2))
    a[rng.random(a.shape) < gaps] = np.nan
    b[rng.random(b.shape) < gaps] = np.nan
    ca, cb = (rng.integers(0, 3, (n, q)).astype(np.int32) for _ in range(2))
    own = rng.integers(-1, n, n)
    expected = linkage.nearest(
        a.tolist(), b.tolist(), own.tolist(), ca.tolist(), cb.tolist(), [1.0] * q, [1.0] * p, 1e-9
    )
    found = own_rank(a, b, own, codes_a=ca, codes_b=cb, enough=1)
    for i, (_, ties, tied, _) in enumerate(expected):
        assert (found.nearer[i] == 0) == tied
        assert found.ties[i] == (ties if tied else 0)


def _sides(n: int, m: int, seed: int) -> Sides:
    rng = np.random.default_rng(seed)
    low_a, low_b = rng.integers(0, 9, (n, 2)), rng.integers(0, 9, (m, 2))
    tables = [np.log(rng.dirichlet(np.ones(3), 4)), np.log(rng.dirichlet(np.ones(2), 2))]
    tables[0][1, 2] = -np.inf
    return Sides(
        block_a=rng.integers(0, 2, n),
        block_b=rng.integers(0, 2, m),
        points_a=np.round(rng.normal(size=(n, 2)), 1),
        points_b=np.round(rng.normal(size=(m, 2)), 1),
        ranks_a=np.stack([low_a, low_a + rng.integers(0, 3, (n, 2))], axis=2),
        ranks_b=np.stack([low_b, low_b + rng.integers(0, 3, (m, 2))], axis=2),
        reach=np.array([2, 9]),
        rows=np.column_stack([rng.integers(0, 4, n), rng.integers(0, 2, n)]),
        columns=np.column_stack([rng.integers(0, 3, m), rng.integers(0, 2, m)]),
        tables=np.concatenate([t.ravel() for t in tables]),
        starts=np.array([0, 12]),
        widths=np.array([3, 2]),
    )


def _fit(s: Sides, i: int, k: int) -> float:
    if s.block_a[i] != s.block_b[k]:
        return -math.inf
    total = -0.5 * float(((s.points_a[i] - s.points_b[k]) ** 2).sum())
    for j, reach in enumerate(s.reach):
        mine = range(s.ranks_a[i, j, 0], s.ranks_a[i, j, 1] + 1)
        theirs = range(s.ranks_b[k, j, 0], s.ranks_b[k, j, 1] + 1)
        pairs = [abs(r - t) <= reach for r in mine for t in theirs]
        total += math.log(sum(pairs) / len(pairs)) if any(pairs) else -math.inf
    for j, start in enumerate(s.starts):
        total += s.tables[start + s.rows[i, j] * s.widths[j] + s.columns[k, j]]
    return total


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**31))
def test_the_fit_of_every_pair(n: int, m: int, seed: int) -> None:
    sides = _sides(n, m, seed)
    own = np.random.default_rng(seed + 1).integers(-1, m, n)
    fit = np.array([[_fit(sides, i, k) for k in range(m)] for i in range(n)])
    mixture = log_mixture(sides)
    chance = np.exp(fit).mean(axis=0)
    expected = [math.log(c) if c > 0 else 0.0 for c in chance]
    assert mixture == pytest.approx(expected)
    for weight in (np.zeros(m), mixture):
        credit = oracle.best(fit - weight, own.tolist())
        for threads in (1, 2):
            found = own_fit(sides, own, weight=weight, threads=threads)
            got = np.where(found.best, 1 / np.maximum(found.ties, 1), 0.0)
            assert got.tolist() == pytest.approx(credit)
            mine = [fit[i, k] - weight[k] if k >= 0 else -math.inf for i, k in enumerate(own)]
            assert found.fit == pytest.approx(np.array(mine))


def test_own_must_name_a_masked_record() -> None:
    sides = _sides(3, 2, 0)
    for own in ([0, 1], [0, 1, 2], [0, 1, -2]):
        with pytest.raises(ValueError, match="own must name"):
            own_fit(sides, np.array(own))
