"""Averages of the order statistics of bootstrap samples."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def add_sorted_sample(values: Floats, picks: Ints, total: Floats) -> None:
    """Add to `total` the sample values[picks] in ascending order.

    `values` are sorted, so the sample is sorted by counting: O(n), without a comparison.
    """
    counts = np.zeros(values.size, np.int64)
    for pick in picks:
        counts[pick] += 1
    place = 0
    for i in range(values.size):
        for _ in range(counts[i]):
            total[place] += values[i]
            place += 1


def mean_order_statistics(values: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """The j-th smallest of each of `samples` samples with replacement, averaged, for every j.

    `values` are sorted, and so is the result, which lies within their range.

    >>> mean_order_statistics(np.array([2.0, 2.0, 2.0]), 4, np.random.default_rng(0)).tolist()
    [2.0, 2.0, 2.0]
    """
    total = np.zeros(values.size)
    for _ in range(samples):
        add_sorted_sample(values, rng.integers(0, values.size, values.size), total)
    means = total / samples
    # Rounding may take an average beyond its terms. What overflowed is left for the caller to see.
    return np.where(np.isfinite(means), np.clip(means, values[0], values[-1]), means)
