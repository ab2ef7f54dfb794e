"""What own records show, against sums over one record at a time."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.neighbours.own_cells import Cells, own_cells
from tests.oracle import posterior as oracle


def some(
    seed: int, people: int, records: int, spread: float, *, equal: int = 2, tables: int = 4
) -> tuple[Cells, tuple[np.ndarray, np.ndarray]]:
    """Random people and records, for the kernel, and what the oracle makes of them."""
    rng = np.random.default_rng(seed)
    widths = rng.integers(2, 7, tables)
    logs = [rng.normal(0, spread, (5, w)) for w in widths]
    codes = rng.integers(0, 5, (people, tables)).astype(np.int32)
    cells = np.stack([rng.integers(0, w, records) for w in widths]).astype(np.int32)
    a = rng.integers(0, 3, (people, equal)).astype(np.int32)
    b = rng.integers(0, 3, (equal, records)).astype(np.int32)
    unequal = np.full(equal, -spread * 2)
    times = rng.integers(1, 4, records).astype(float)
    targets = np.array([tables - 1, 0][: min(tables, 2)])
    numbers = rng.normal(size=(targets.size, records))
    flat = np.concatenate([one.ravel() for one in logs])
    given = Cells(
        a, b, unequal, codes, cells, flat,
        np.cumsum([0, *(one.size for one in logs[:-1])]), widths, times, numbers, targets,
         np.concatenate(([0], np.cumsum(widths[targets]))),
    )  # fmt: skip
    same = a[:, None, :] == b.T[None, :, :]
    wanted = oracle.own_cells(
        logs, codes, cells, unequal.tolist(), same, times, numbers, targets.tolist()
    )
    return given, wanted


@pytest.mark.parametrize(
    ("people", "records", "spread"),
    [(7, 1, 1.0), (5, 40, 0.3), (4, 700, 2.0), (3, 600, 12.0), (3, 600, 90.0), (3, 600, 400.0)],
)
def test_likelihoods_are_added_up(people: int, records: int, spread: float) -> None:
    """Also where they lie hundreds and thousands of logarithms apart."""
    for seed in range(3):
        given, wanted = some(seed, people, records, spread)
        for found, right in zip(own_cells(given), wanted, strict=True):
            assert found == pytest.approx(right, abs=1e-9)


@pytest.mark.parametrize(("equal", "tables"), [(0, 1), (3, 1), (0, 3)])
def test_few_columns(equal: int, tables: int) -> None:
    given, wanted = some(1, 6, 300, 3.0, equal=equal, tables=tables)
    for found, right in zip(own_cells(given), wanted, strict=True):
        assert found == pytest.approx(right, abs=1e-9)


def test_threads_alter_nothing() -> None:
    given, _ = some(2, 50, 300, 3.0)
    one, several = (own_cells(given, threads=t) for t in (1, 3))
    for a, b in zip(one, several, strict=True):
        assert (a == b).all()
