"""Whole ordered columns change places between random subsets of the records.

Carlson & Salabasis (2002), "A data-swapping technique using ranks: a method for disclosure
control", Research in Official Statistics 6(2).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _ranked_columns(subset: Ints, over: NDArray[np.bool_], target: Ints, size: int) -> Ints:
    n = subset.size
    subsets = target.size
    ranked = np.empty((subsets, size), np.int64)  # positions of each subset, lowest first
    filled = np.zeros(subsets, np.int64)
    for at in range(n):
        if not over[at]:
            s = subset[at]
            ranked[s, filled[s]] = at
            filled[s] += 1
    result = np.arange(n)
    holder = np.arange(n)  # the position that has received each position's value
    for s in range(subsets):
        for r in range(size):
            result[ranked[s, r]] = ranked[target[s], r]
            holder[ranked[target[s], r]] = ranked[s, r]
    if n > 1:
        for at in range(n):
            if over[at]:
                value = result[at]
                near = value + 1 if value + 1 < n else value - 1
                other = holder[near]
                result[at], result[other] = near, value
                holder[near], holder[value] = at, other
    return result


def ranked_columns(subset: Ints, over: NDArray[np.bool_], target: Ints) -> Ints:
    """For each position of a sorted column, the position whose value it receives.

    `subset` is the subset of each position's record. Those that are `over` are left aside, so that
    all subsets have equally many others; the r-th smallest of subset s receives the r-th smallest
    of subset target[s], a permutation. Then each that was left aside exchanges the value it holds
    with whoever holds the next larger one (the largest with the next smaller).

    >>> subset, over = np.array([0, 1, 1, 0, 0]), np.array([False, False, False, True, False])
    >>> ranked_columns(subset, over, np.array([1, 0])).tolist()
    [1, 0, 3, 4, 2]
    """
    counts = np.bincount(subset[~over], minlength=target.size)
    if counts.size != target.size or np.ptp(counts) != 0:
        raise ValueError(f"subsets have {counts.tolist()} records: equally many are needed")
    return _ranked_columns(subset, over, target, int(counts[0]))
