"""How well a release predicts each of some records: distance, ambiguity and uncertainty.

Lasko (2009), chapter 3. A rational intruder takes the release record nearest to the target as the
best prediction. All three come from one search for the k nearest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from .nearest_k import nearest_k


class Predictions(NamedTuple):
    """How well the release predicts each target; small values mean well."""

    distance: Floats
    """root mean square difference from the nearest release record (3.1)"""
    ambiguity: Floats
    """that distance as a share of the k-th nearest's; 1 where both are 0"""
    uncertainty: Floats
    """mean over the coordinates of the population variance among the k nearest"""
    nearest: Ints
    """row of the nearest release record, the lowest of equally near ones"""
    ties: Ints
    """how many release records are as near as the nearest, up to rounding"""


@njit(cache=True, nogil=True)
def _uncertainty(b: Floats, rows: Ints) -> Floats:
    n, k = rows.shape
    d = b.shape[1]
    out = np.empty(n)
    for i in range(n):
        total = 0.0
        for j in range(d):
            first = b[rows[i, 0], j]  # from which equal records differ by nothing at all
            mean = 0.0
            for s in range(k):
                mean += b[rows[i, s], j] - first
            mean /= k
            for s in range(k):
                total += (b[rows[i, s], j] - first - mean) ** 2
        out[i] = total / (k * d)
    return out


def predictions(
    targets: np.ndarray, release: np.ndarray, k: int = 5, *, threads: int | None = None
) -> Predictions:
    """Distance, ambiguity and uncertainty of each row of `targets`, predicted from `release`.

    Both are matrices of points with the same coordinates, without missing values. Of equally near
    records the lower row counts as nearer. `threads` never alters the result.

    >>> found = predictions(np.array([[0.0], [4.0]]), np.array([[1.0], [3.0], [3.0]]), 2)
    >>> found.distance.tolist(), found.ambiguity.tolist(), found.uncertainty.tolist()
    ([1.0, 1.0], [0.3333333333333333, 1.0], [1.0, 0.0])
    >>> found.nearest.tolist(), found.ties.tolist()
    ([0, 1], [1, 2])
    """
    found = nearest_k(targets, release, k, threads=threads)
    d = np.asarray(targets).shape[1]
    if not d:
        raise ValueError("records without coordinates cannot be predicted")
    near, far = found.squares[:, 0], found.squares[:, -1]
    with np.errstate(invalid="ignore"):
        ambiguity = np.where(far > 0, np.sqrt(near / far), 1.0)
    points = np.ascontiguousarray(release, dtype=np.float64)
    return Predictions(
        distance=np.sqrt(near / d),
        ambiguity=ambiguity,
        uncertainty=_uncertainty(points, found.rows),
        nearest=found.rows[:, 0].copy(),
        ties=found.ties,
    )
