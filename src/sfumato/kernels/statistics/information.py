"""Mutual information of codes, and what being under a node of a hierarchy tells about a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_DENSE = 1 << 20
"""Pairs that are counted in a table of all of them, whatever the number of records."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def mutual_information(codes: np.ndarray, target: np.ndarray) -> float:
    """I(X; C) in bits, with the shares of the records in place of probabilities.

    >>> mutual_information(np.array([1, 1, 2, 2]), np.array([0, 0, 1, 1]))
    1.0
    """
    n = codes.size
    if n == 0:
        return 0.0
    x, rows = _compact(codes)
    c, columns = _compact(target)
    key = x * columns + c
    if rows * columns <= max(_DENSE, 4 * n):
        counts = np.bincount(key, minlength=rows * columns)
        found = np.flatnonzero(counts)
        joint = counts[found].astype(np.float64)
    else:
        found, joint = np.unique(key, return_counts=True)
        joint = joint.astype(np.float64)
    # As floats: the product of two counts may be larger than any integer.
    of_x = np.bincount(x, minlength=rows).astype(np.float64)[found // columns]
    of_c = np.bincount(c, minlength=columns).astype(np.float64)[found % columns]
    terms = joint / n * np.log2(joint * n / (of_x * of_c))
    # Rounding may leave independence a hair below zero.
    return max(float(terms.sum()), 0.0)


def _compact(codes: np.ndarray) -> tuple[Ints, int]:
    """Codes as 0..m-1, each of which occurs, and m."""
    distinct, inverse = np.unique(codes, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64), int(distinct.size)


def entropy(counts: np.ndarray) -> float:
    """The entropy of a distribution given by counts, in bits.

    >>> entropy(np.array([2, 1, 1, 0]))
    1.5
    """
    some = counts[counts > 0].astype(np.float64)
    if not some.size:
        return 0.0
    total = some.sum()
    return max(float(np.log2(total) - (some * np.log2(some)).sum() / total), 0.0)


def pointwise_information(counts: np.ndarray, whole: np.ndarray, rare: int = 0) -> Floats:
    """For each row x of (m, c) counts: sum over the classes c of p(c|x) |log2 p(c|x) / p(c)|.

    `whole` (c,) are the counts of all records. A row with fewer than `rare` records, or none, has
    0: nothing reliable is known of it.

    >>> counts = np.array([[2, 0], [1, 1], [3, 1]])
    >>> pointwise_information(counts, np.array([2, 2])).round(3).tolist()
    [1.0, 0.0, 0.689]
    """
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum(axis=1)
    prior = whole / max(float(whole.sum()), 1.0)
    out = np.zeros(total.size)
    known = total >= max(rare, 1)
    share = counts[known] / total[known, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = share * np.abs(np.log2(share / prior))
    out[known] = np.where(share > 0, terms, 0.0).sum(axis=1)
    return out
