"""A small problem that a card has to solve as the CPU does, bit by bit, before it is trusted.

It is made to go wrong where arithmetic differs at all: equal records, gaps of 1e-12, distances that
tie but for their last bits, coordinates of very different size, columns that fill no tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..arrays import Floats
from ..groups import numbered
from ..micro.mdav import add_up
from ..micro.mdav import mdav as groups_of
from ..micro.v_mdav import finish
from ..micro.v_mdav import v_mdav as sizes_vary
from ..neighbours.linkage import nearest as link
from ..neighbours.linkage import to_own
from ..neighbours.nearest_k import TOLERANCE, nearest_k
from ..neighbours.own_rank import own_rank as rank
from ..neighbours.remaining import from_centroid
from ._exact import SIMULATED
from .mdav import mdav
from .nearest import nearest
from .own_rank import own_rank
from .v_mdav import v_mdav


def problem(rows: int, columns: int) -> tuple[Floats, Floats]:
    """Targets and records: a lattice, some of it moved by a hair, some of it far off."""
    at = np.arange(rows * columns).reshape(rows, columns)
    x = ((at * 7919) % 5).astype(np.float64) / 3.0
    x[1::4] += ((at[1::4] * 104729) % 3) * 1e-12
    x[2::7] *= 1e6
    x[3::5, ::2] *= 1e-6
    x[: rows // 8] = x[rows // 2 : rows // 2 + rows // 8]
    return x[::3] + 0.0, x + 0.0


SIZES = ((13, 1), (14, 5)) if SIMULATED else ((700, 1), (900, 10), (300, 200))


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


def _own_rank() -> bool:
    for rows, columns in SIZES:
        a, b = problem(rows, columns)
        own = (np.arange(len(a)) * 5) % len(b)
        far = to_own(a, b, own, np.empty(0), np.ones(columns))
        told = own_rank(a, b, far - 1e-9 * far, far + 1e-9 * far, len(b))
        right = rank(a, b, own, enough=len(b), threads=1)
        if told is None or not (
            np.array_equal(told[:, 0], right.nearer) and np.array_equal(told[:, 1], right.ties)
        ):
            return False
    return True


def _mdav() -> bool:
    for rows, columns in SIZES:
        _, x = problem(rows, columns)
        for k in (2, 5):
            sums = np.zeros((columns, 2))
            add_up(x, np.arange(rows), sums)
            told = mdav(x, k, sums, few=0)
            if told is None:
                return False
            label = np.where(told.label < 0, told.groups, told.label)
            if not np.array_equal(numbered(label), groups_of(x, np.empty((rows, 0)), [], k)):
                return False
    return True


def _v_mdav() -> bool:
    for rows, columns in SIZES:
        _, x = problem(rows, columns)
        seeds = np.argsort(-from_centroid(x), kind="stable").astype(np.int64)
        for k, gain in ((2, 1.0), (5, 0.5)):
            told = v_mdav(x, k, gain, seeds, few=0)
            if told is None:
                return False
            finish(x, k, told.label, told.groups)
            if not np.array_equal(told.label, sizes_vary(x, k, gain)):
                return False
    return True


TESTS: Mapping[str, Callable[[], bool]] = {
    "nearest": _nearest,
    "nearest-k": _nearest_k,
    "own-rank": _own_rank,
    "mdav": _mdav,
    "v-mdav": _v_mdav,
}


def fault(work: str) -> str:
    """What is wrong with the card's answers; "" where nothing is."""
    return "" if TESTS[work]() else "its answer to a small problem is not the CPU's"
