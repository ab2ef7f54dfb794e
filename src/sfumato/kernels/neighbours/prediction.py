"""How well a release predicts each of some records: distance, ambiguity and uncertainty.

Lasko (2009), chapter 3. A rational intruder takes the release record nearest to the target as the
best prediction. All three come from one search for the k nearest.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..threads import in_parts
from .nearest_k import TOLERANCE, checked_points, nearest_k

Distance = Literal["euclidean", "absolute", "largest"]


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


@njit(cache=True, nogil=True)
def _scan(a: Floats, b: Floats, largest: bool, start: int, rows: Ints, apart: Floats) -> None:
    """The nearest rows of b by the sum of absolute differences, or by the largest of them; what is
    already as far as the last of them is not looked at further."""
    k = rows.shape[1]
    for i in range(rows.shape[0]):
        apart[i, :] = np.inf
        for c in range(b.shape[0]):
            far, last = 0.0, apart[i, k - 1]
            for j in range(a.shape[1]):
                step = abs(a[start + i, j] - b[c, j])
                far = max(far, step) if largest else far + step
                if far >= last:
                    break
            at = k - 1
            if far >= last:
                continue
            while at > 0 and apart[i, at - 1] > far:
                apart[i, at], rows[i, at] = apart[i, at - 1], rows[i, at - 1]
                at -= 1
            apart[i, at], rows[i, at] = far, c


def _by_differences(
    a: Floats, b: Floats, k: int, kind: Distance, threads: int | None
) -> tuple[Ints, Floats, Ints]:
    """Rows and distances (n, k) of the nearest, and how many are as near as the nearest."""
    rows, apart = np.zeros((len(a), k), np.int64), np.empty((len(a), k))

    def work(start: int, stop: int) -> None:
        _scan(a, b, kind == "largest", start, rows[start:stop], apart[start:stop])

    in_parts(work, len(a), threads)
    if kind == "absolute":
        apart /= a.shape[1]
    # Beyond the k nearest nobody counts: enough to tell that several are meant.
    ties = (apart <= apart[:, :1] * (1 + TOLERANCE)).sum(axis=1).astype(np.int64)
    return rows, apart, ties


def predictions(
    targets: np.ndarray,
    release: np.ndarray,
    k: int = 5,
    *,
    distance: Distance = "euclidean",
    spread: np.ndarray | None = None,
    threads: int | None = None,
) -> Predictions:
    """Distance, ambiguity and uncertainty of each row of `targets`, predicted from `release`.

    Both are matrices of points with the same coordinates, without missing values. Of equally near
    records the lower row counts as nearer. `threads` never alters the result. `distance` is the
    root mean square difference (3.1), the mean absolute or the largest one. `spread` are the
    release records in the coordinates of which the uncertainty is taken, where these differ.

    >>> found = predictions(np.array([[0.0], [4.0]]), np.array([[1.0], [3.0], [3.0]]), 2)
    >>> found.distance.tolist(), found.ambiguity.tolist(), found.uncertainty.tolist()
    ([1.0, 1.0], [0.3333333333333333, 1.0], [1.0, 0.0])
    >>> found.nearest.tolist(), found.ties.tolist()
    ([0, 1], [1, 2])
    """
    people, points = checked_points(targets, release, k)
    d = people.shape[1]
    if not d:
        raise ValueError("records without coordinates cannot be predicted")
    varied = points if spread is None else np.ascontiguousarray(spread, dtype=np.float64)
    if distance != "euclidean":
        rows, apart, ties = _by_differences(people, points, k, distance, threads)
        near, far = apart[:, 0], apart[:, -1]
        with np.errstate(invalid="ignore"):
            ambiguity = np.where(far > 0, near / far, 1.0)
        uncertainty = _uncertainty(varied, rows)
        return Predictions(near.copy(), ambiguity, uncertainty, rows[:, 0].copy(), ties)
    found = nearest_k(people, points, k, threads=threads)
    near, far = found.squares[:, 0], found.squares[:, -1]
    with np.errstate(invalid="ignore"):
        ambiguity = np.where(far > 0, np.sqrt(near / far), 1.0)
    return Predictions(
        distance=np.sqrt(near / d),
        ambiguity=ambiguity,
        uncertainty=_uncertainty(varied, found.rows),
        nearest=found.rows[:, 0].copy(),
        ties=found.ties,
    )
