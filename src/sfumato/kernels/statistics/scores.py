"""Values to ranks, ranks to normal scores, and back through the empirical distribution.

Missing values are NaN and stay where they are. Every function takes one column.
"""

from __future__ import annotations

import numpy as np


def order_of(x: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
    """The rows that have a value, from the smallest to the largest; ties in the order of the rows,
    or at random where `rng` is given.

    >>> order_of(np.array([3.0, np.nan, 1.0])).tolist()
    [2, 0]
    """
    rows = np.flatnonzero(~np.isnan(x))
    if rng is None:
        return rows[np.argsort(x[rows], kind="stable")]
    return rows[np.lexsort((rng.random(rows.size), x[rows]))]


def uniform_scores(x: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
    """Ranks 1..m divided by m + 1. Ties share the mean of their ranks, or are broken at random
    where `rng` is given.

    >>> uniform_scores(np.array([10.0, 30.0, 10.0, np.nan])).tolist()
    [0.375, 0.75, 0.375, nan]
    """
    order = order_of(x, rng)
    ranks = np.arange(1.0, order.size + 1)
    if rng is None and order.size:
        _, start, counts = np.unique(x[order], return_index=True, return_counts=True)
        ranks = np.repeat(start + (counts + 1) / 2, counts)
    scores = np.full(x.size, np.nan)
    scores[order] = ranks / (order.size + 1)
    return scores


def normal_distribution(z: np.ndarray) -> np.ndarray:
    """The standard normal distribution function: the way back from normal to uniform scores."""
    from scipy.special import ndtr

    return ndtr(z)


def from_uniform(u: np.ndarray, x: np.ndarray, *, interpolate: bool = True) -> np.ndarray:
    """The empirical distribution of x inverted at u: x_(i) at i / (m + 1), straight lines between,
    the smallest and the largest value beyond. Without `interpolate` only values of x come out.

    >>> from_uniform(np.array([0.25, 0.5, 0.99]), np.array([1.0, 2.0, 5.0])).tolist()
    [1.0, 2.0, 5.0]
    """
    values = np.sort(x[~np.isnan(x)])
    if not values.size:
        return np.full(u.shape, np.nan)
    at = u * (values.size + 1)
    if interpolate:
        found: np.ndarray = np.interp(at, np.arange(1.0, values.size + 1), values)
        return np.where(np.isnan(u), np.nan, found)
    index = np.clip(np.rint(np.nan_to_num(at, nan=1.0)) - 1, 0, values.size - 1).astype(np.int64)
    return np.where(np.isnan(u), np.nan, values[index])


def in_order_of(
    values: np.ndarray, key: np.ndarray, rng: np.random.Generator | None = None
) -> np.ndarray:
    """The given values, the smallest where `key` is smallest, and so on: the ranks of `key` with
    the distribution of `values`. Both have as many present values.

    >>> in_order_of(np.array([10.0, 20.0, 30.0]), np.array([0.2, 9.0, -1.0])).tolist()
    [20.0, 30.0, 10.0]
    """
    placed = np.full(key.size, np.nan)
    placed[order_of(key, rng)] = np.sort(values[~np.isnan(values)])
    return placed
