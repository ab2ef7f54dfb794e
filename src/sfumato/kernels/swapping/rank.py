"""Rank swapping: each value changes places with one of similar rank.

Moore (1996), "Controlled data-swapping techniques for masking public use microdata sets", U.S.
Bureau of the Census; Nin, Herranz & Torra (2008), "Rethinking rank swapping to decrease disclosure
risk", Data & Knowledge Engineering 64(1), for the p that is counted in ranks.

The positions of one sorted column are visited from the lowest. A position not yet swapped is
exchanged with a free one among the next `p_count`, each equally likely; if none is free, it stays.

Which one: with f free positions in reach and a uniform u in [0, 1), the floor(u * f)-th of them
counted upwards. Each has probability 1/f, but for the grain of u (some 2**-53). No draw is
ever rejected, so one uniform for each position is enough, and the result is a function of the
arguments. All positions up to the one visited are used up, hence the j-th free position in reach is
the j-th free position at all, which a Fenwick tree (Fenwick 1994) finds in O(log n). The position
that enters the reach at a step was beyond every earlier reach, hence is free, so that f follows by
counting. In all O(n log n), whatever `p_count`.
"""

from __future__ import annotations

import operator

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ._fenwick import all_free, find, take, top_step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _rank_swap(n: int, reach: int, uniforms: Floats) -> Ints:
    result = np.arange(n)
    free = np.ones(n, np.bool_)
    tree, top = all_free(n), top_step(n)
    ahead = min(reach, n)  # free positions among 0 .. i + reach - 1, before position i is visited
    for i in range(n):
        if i + reach < n:
            ahead += 1
        if not free[i]:
            continue
        take(tree, i)
        free[i] = False
        ahead -= 1
        if ahead == 0:
            continue
        # The product may round up to `ahead` itself.
        other = find(tree, top, min(int(uniforms[i] * ahead), ahead - 1))
        take(tree, other)
        free[other] = False
        ahead -= 1
        result[i], result[other] = other, i
    return result


def rank_swap(n: int, p_count: int, uniforms: ArrayLike) -> Ints:
    """For each position of a sorted column, the position whose value it receives.

    `p_count` is the largest difference of ranks and `uniforms` holds n numbers from [0, 1). Ties
    are the caller's to break: `order = argsort(column)`, then
    `masked[order] = column[order][rank_swap(...)]`. The result is its own inverse.

    >>> rank_swap(5, 2, [0.9, 0.0, 0.0, 0.0, 0.0]).tolist()
    [2, 3, 0, 1, 4]
    """
    n, p_count = operator.index(n), operator.index(p_count)
    if n < 0 or p_count < 0:
        raise ValueError(f"n = {n} and p_count = {p_count} must not be negative")
    return _rank_swap(n, min(p_count, n), checked_uniforms(uniforms, n))


def checked_uniforms(uniforms: ArrayLike, n: int) -> Floats:
    """The uniforms as n floats from [0, 1), or an error that says what is wrong with them."""
    draws = np.array(uniforms, dtype=np.float64)
    if draws.shape != (n,):
        raise ValueError(f"{n} uniforms are needed, one for each position, not {draws.shape}")
    if draws.size and not (draws.min() >= 0.0 and draws.max() < 1.0):
        raise ValueError("uniforms must lie in [0, 1)")
    return draws
