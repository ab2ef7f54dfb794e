"""A small problem that a card has to solve as the CPU does, bit by bit, before it is trusted.

It is made to go wrong where arithmetic differs at all: equal records, gaps of 1e-12, distances that
tie but for their last bits, coordinates of very different size, columns that fill no tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..arrays import Floats
from ..neighbours.linkage import nearest as link
from ..neighbours.nearest_k import TOLERANCE, nearest_k
from ._exact import SIMULATED
from .nearest import nearest


def problem(rows: int, columns: int) -> tuple[Floats, Floats]:
    """Targets and records: a lattice, some of it moved by a hair, some of it far off."""
    at = np.arange(rows * columns).reshape(rows, columns)
    x = ((at * 7919) % 5).astype(np.float64) / 3.0
    x[1::4] += ((at[1::4] * 104729) % 3) * 1e-12
    x[2::7] *= 1e6
    x[3::5, ::2] *= 1e-6
    x[: rows // 8] = x[rows // 2 : rows // 2 + rows // 8]
    return x[::3] + 0.0, x + 0.0


SIZES = ((13, 1), (14, 5)) if SIMULATED else ((700, 1), (700, 3), (900, 10), (700, 37), (300, 200))


def _nearest_k() -> bool:
    for rows, columns in SIZES:
        a, b = problem(rows, columns)
        for k in (1, 4):
            told = nearest(a, b, k, TOLERANCE, lambda least: least * (1 + TOLERANCE))
            right = nearest_k(a, b, k, threads=1)
            if told is None or not (
                np.array_equal(told.squares, right.squares)
                and np.array_equal(told.rows, right.rows)
                and np.array_equal(told.ties, right.ties)
            ):
                return False
    return True


def _limits(tolerance: float) -> Callable[[Floats], Floats]:
    return lambda least: least + tolerance * least


def _nearest() -> bool:
    for rows, columns in SIZES:
        a, b = problem(rows, columns)
        for tolerance in (0.0, 1e-9):
            own = np.full(len(a), np.inf)
            told = nearest(a, b, 1, tolerance, _limits(tolerance), own)
            right = link(a, b, tolerance=tolerance, threads=1)
            if told is None or not (
                np.array_equal(told.squares[:, 0], right.distance)
                and np.array_equal(told.ties, right.ties)
                and np.array_equal(told.first, right.first)
            ):
                return False
    return True


TESTS: Mapping[str, Callable[[], bool]] = {"nearest": _nearest, "nearest-k": _nearest_k}


def fault(work: str) -> str:
    """What is wrong with the card's answers; "" where nothing is."""
    return "" if TESTS[work]() else "its answer to a small problem is not the CPU's"
