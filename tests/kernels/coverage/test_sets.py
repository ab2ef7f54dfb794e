"""Whom combinations of items and labels fit, counted in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.coverage import sets as kernel
from sfumato.kernels.coverage.own import fitting_own
from sfumato.kernels.coverage.sets import Column, Combinations, People


def _case(n: int, m: int, labels: bool, seed: int) -> tuple[People, Combinations, np.ndarray]:
    """People, combinations, and by brute force who fits which."""
    rng = np.random.default_rng(seed)
    d = 60
    has = rng.random((n, d)) < np.geomspace(0.9, 0.01, d)
    tells = rng.random((m, d)) < np.geomspace(0.3, 0.03, d)
    tells[0] = False
    items = np.nonzero(has)[1]
    starts = np.concatenate(([0], np.cumsum(has.sum(axis=1))))
    # Item 7 is nobody's business: it has no token.
    token = np.arange(d, dtype=np.int32)
    token[7], tells[:, 7] = -1, False
    asked = [np.flatnonzero(row) for row in tells]
    ok = ((tells[None, :, :] & ~has[:, None, :]).sum(axis=2)) == 0
    ranks = np.zeros((n, 0), dtype=np.int64)
    first, runs = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    low = high = np.zeros(0, dtype=np.int64)
    if labels:
        ranks = rng.integers(0, 20, (n, 1))
        low = np.array([0, 3, 10, 2, 15])
        high = np.array([19, 8, 12, 4, 17])
        first, runs = np.array([0, 4]), np.array([0, 1, 2, 3, 5])  # the last covers two runs
        at = rng.integers(0, 4, m)
        covered = [
            sum((ranks[:, 0] >= low[r]) & (ranks[:, 0] <= high[r]) for r in range(*runs[v : v + 2]))
            for v in range(4)
        ]
        ok &= np.column_stack(covered)[:, at] > 0
        asked = [np.append(one, d + label) for one, label in zip(asked, at, strict=True)]
    column = Column(starts, items.astype(np.uint16), token)
    people = People(n, (column,), ranks, first, runs, low, high, d)
    ends = np.concatenate(([0], np.cumsum([one.size for one in asked])))
    return people, Combinations(ends, np.concatenate(asked).astype(np.int32)), ok


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("n", [1, 63, 64, 5_000])
def test_counts_and_sums_are_those_of_all_pairs(
    n: int, labels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_BYTES", 1 << 14)  # many blocks
    monkeypatch.setattr(kernel, "_FEW", 4)  # many rounds
    people, asked, ok = _case(n, 400, labels, n)
    weights = np.random.default_rng(1).integers(1, 9, 400).astype(np.float64)
    for threads in (1, 2, 3):
        counts = kernel.fitting_counts(people, asked, threads=threads)
        assert counts.tolist() == ok.sum(axis=0).tolist()
        sums = kernel.fitting_sums(people, asked, weights, threads=threads)
        assert sums.tolist() == (ok @ weights).tolist()
        for limit in (1, 7, 10_000):
            counts = kernel.fitting_counts(people, asked, limit=limit, threads=threads)
            assert counts.tolist() == np.minimum(ok.sum(axis=0), limit).tolist()
            sums = kernel.fitting_sums(people, asked, weights, limit=limit, threads=threads)
            assert sums.tolist() == np.minimum(ok @ weights, limit).tolist()
    settled, found = ok.sum(axis=0) >= 7, ok @ weights >= 7
    counts = kernel.fitting_counts(people, asked, limit=7, settled=settled)
    assert counts.tolist() == np.minimum(ok.sum(axis=0), 7).tolist()
    sums = kernel.fitting_sums(people, asked, weights, limit=7, settled=found)
    assert sums.tolist() == np.minimum(ok @ weights, 7).tolist()
    if not labels:
        own = np.random.default_rng(2).integers(-1, 400, n)
        fits = (own >= 0) & ok[np.arange(n), own]
        assert fitting_own(people, asked, own).tolist() == fits.tolist()
    chosen = np.arange(0, n, 3)
    some = kernel.fitting_counts(kernel.some_people(people, chosen), asked)
    assert some.tolist() == ok[chosen].sum(axis=0).tolist()


def test_nobody_and_nothing() -> None:
    people, asked, _ = _case(5, 3, False, 0)
    nobody = kernel.some_people(people, np.zeros(0, dtype=np.int64))
    assert kernel.fitting_counts(nobody, asked).tolist() == [0, 0, 0]
    nothing = Combinations(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    assert kernel.fitting_counts(people, nothing).size == 0
    assert kernel.fitting_sums(people, nothing, np.zeros(0)).tolist() == [0.0] * 5
