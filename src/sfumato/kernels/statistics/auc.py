"""How well a score tells two kinds apart: the area under the receiver operating characteristic."""

from __future__ import annotations

import numpy as np


def auc_of_small(score: np.ndarray, share: np.ndarray) -> float:
    """The probability that a case of the first kind has the smaller score, equal ones half.

    `share` is 1 for a case of the first kind, 0 for one of the other, and a probability where it is
    not known which (a match among ties): such a case counts in both, by its shares. NaN where one
    kind is absent.

    >>> auc_of_small(np.array([0.1, 0.2, 0.2, 0.9]), np.array([1.0, 1.0, 0.0, 0.0]))
    0.875
    """
    first, other = float(share.sum()), float((1.0 - share).sum())
    if not (first > 0 and other > 0):
        return float("nan")
    _, rank = np.unique(score, return_inverse=True)
    rank = rank.reshape(-1)
    here = np.bincount(rank, weights=share)
    there = np.bincount(rank, weights=1.0 - share)
    above = other - np.cumsum(there)
    won = float((here * (above + there / 2)).sum())
    return min(max(won / (first * other), 0.0), 1.0)
