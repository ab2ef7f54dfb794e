"""How many records fit each of many predicates.

A predicate is a conjunction of conditions on columns: a number in a range, a category in a set. A
record whose cell stands for several values fits with a probability; what is counted is expected
records. Each column's exact cells lie in order, so that only those in the range of a predicate's
rarest condition are looked at, besides the cells that are not exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Codes, Floats, Ints
from ..threads import in_parts

Chances = NDArray[np.float32]
Keys = NDArray[np.uint64]


class Cells(NamedTuple):
    """Records that predicates are asked of."""

    low: Floats
    """(n, numbers): the least value a cell may stand for; NaN missing, infinite: any"""
    high: Floats
    codes: Codes
    """(n, categories): places in the table of each condition"""
    order: Codes
    """(columns, n): rows by column, numbers first: exact cells in order, then all others"""
    exact: Ints
    """(columns,): how many cells are exact"""
    keys: Keys
    """(n,): what a hash is taken of; empty where nobody hashes"""


class Predicates(NamedTuple):
    """Conjunctions of conditions, one after the other."""

    starts: Ints
    """(predicates + 1,): where each one's conditions begin"""
    column: Codes
    """numbers first, then categories"""
    low: Floats
    """the least number that fits; NaN: missing does"""
    high: Floats
    free: Floats
    """chance that a number fits of which nothing is known"""
    place: Ints
    """where a category's chances begin in the table"""
    only: Codes
    """the one exact category that fits, -1 where there are several"""
    chance: Chances
    """the table: chance to fit, by places of a column's cells"""

    def __len__(self) -> int:
        return self.starts.size - 1


class Fits(NamedTuple):
    """Who fits each predicate."""

    expected: Floats
    """expected records; counting ends above `most`"""
    first: Ints
    """the first record looked at that fits more likely than not, -1 where none does"""


def cells(
    low: np.ndarray, high: np.ndarray, codes: np.ndarray, counts: list[int], keys: np.ndarray
) -> Cells:
    """Records in order; codes from `counts[j]` on stand for several categories."""
    n, p = low.shape
    order, exact = np.empty((p + codes.shape[1], n), np.int32), np.empty(p + codes.shape[1], int)
    for j in range(p + codes.shape[1]):
        known = low[:, j] == high[:, j] if j < p else codes[:, j - p] < counts[j - p]
        key = np.where(known, low[:, j], np.inf) if j < p else codes[:, j - p]
        rows = np.flatnonzero(known)
        exact[j] = rows.size
        order[j, : rows.size] = rows[np.argsort(key[rows], kind="stable")]
        order[j, rows.size :] = np.flatnonzero(~known)
    return Cells(
        np.ascontiguousarray(low, np.float64), np.ascontiguousarray(high, np.float64),
        np.ascontiguousarray(codes, np.int32), order, exact, np.asarray(keys, np.uint64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def mixed(key: np.uint64) -> np.uint64:
    """A number that depends on every bit of the key (the finalizer of splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(key ^ (key >> np.uint64(31)))


@njit(cache=True, nogil=True)
def _within(below: float, above: float, low: float, high: float, free: float) -> float:
    """The chance that a number known to lie from below to above lies from low to high."""
    if np.isnan(low) or np.isnan(below):
        return 1.0 if np.isnan(low) and np.isnan(below) else 0.0
    if below == -np.inf and above == np.inf:
        return free
    if above < low or below > high:
        return 0.0
    if below >= low and above <= high:
        return 1.0
    return (min(high, above) - max(low, below)) / (above - below)


@njit(cache=True, nogil=True)
def _count(
    c: Cells, p: Predicates, driver: Ints, begin: Ints, end: Ints, seeds: Keys, weights: Floats,
    most: float, start: int, stop: int, expected: Floats, first: Ints,
) -> None:  # fmt: skip
    n, numbers = c.low.shape
    for i in range(start, stop):
        j = p.column[driver[i]]
        total = 0.0
        for k in range(end[i] - begin[i] + n - c.exact[j]):
            row = c.order[
                j, begin[i] + k if k < end[i] - begin[i] else n - 1 - k + end[i] - begin[i]
            ]
            if weights.size > 0 and weights[i] < 1.0:
                drawn = float(mixed(c.keys[row] ^ seeds[i]) >> np.uint64(11)) * 2.0**-53
                if drawn >= weights[i]:
                    continue
            chance = 1.0
            for s in range(p.starts[i], p.starts[i + 1]):
                column = p.column[s]
                if column < numbers:
                    chance *= _within(
                        c.low[row, column], c.high[row, column], p.low[s], p.high[s], p.free[s]
                    )
                else:
                    chance *= p.chance[p.place[s] + c.codes[row, column - numbers]]
                if chance == 0.0:
                    break
            if chance > 0.0:
                total += chance
                if chance > 0.5 and first[i] < 0:
                    first[i] = row
                if total > most:
                    break
        expected[i] = total


def fits(
    c: Cells, p: Predicates, most: float, *, seeds: np.ndarray | None = None,
    weights: np.ndarray | None = None, threads: int | None = None,
) -> Fits:  # fmt: skip
    """How many records fit each predicate, counted until there are more than `most`.

    With `seeds` and `weights`, only those count whose key is hashed below the predicate's weight.

    >>> people = cells(*(np.array([[3.0], [5.0], [9.0]]),) * 2, np.empty((3, 0)), [], np.empty(0))
    >>> old = ranges(np.array([[4.0, np.inf], [9.0, 9.0]]))
    >>> found = fits(people, old, 10)
    >>> found.expected.tolist(), found.first.tolist()
    ([2.0, 1.0], [1, 2])
    """
    n, size = len(c.low), len(p)
    begin, end = np.zeros(p.column.size, np.int64), np.zeros(p.column.size, np.int64)
    numbers = c.low.shape[1]
    for j in range(c.exact.size):
        at = np.flatnonzero(p.column == j)
        rows = c.order[j, : c.exact[j]]
        if j < numbers:
            begin[at] = np.searchsorted(c.low[rows, j], p.low[at], "left")
            end[at] = np.searchsorted(c.low[rows, j], p.high[at], "right")
            begin[at[np.isnan(p.low[at])]] = rows.size  # missing is no exact cell
        else:
            only, code = p.only[at], c.codes[rows, j - numbers]
            begin[at] = np.searchsorted(code, only, "left")
            end[at] = np.where(only < 0, rows.size, np.searchsorted(code, only, "right"))
    end = np.maximum(end, begin)
    looked = end - begin + n - c.exact[p.column]
    of = np.repeat(np.arange(size), np.diff(p.starts))
    driver = np.lexsort((looked, of))[p.starts[:-1]]
    expected, first = np.zeros(size), np.full(size, -1, np.int64)
    drawn = np.empty(0) if weights is None else np.ascontiguousarray(weights, np.float64)
    seed = np.empty(0, np.uint64) if seeds is None else np.asarray(seeds, np.uint64)

    def work(start: int, stop: int) -> None:
        _count(
            c, p, driver, begin[driver], end[driver], seed, drawn, most, start, stop,
            expected, first,
        )  # fmt: skip

    in_parts(work, size, threads)
    return Fits(expected, first)


def ranges(ends: np.ndarray) -> Predicates:
    """Predicates that ask whether the first number lies from one end to the other."""
    m = len(ends)
    return Predicates(
        np.arange(m + 1), np.zeros(m, np.int32), ends[:, 0].copy(), ends[:, 1].copy(),
        np.ones(m), np.zeros(m, np.int64), np.full(m, -1, np.int32), np.zeros(1, np.float32),
    )  # fmt: skip
