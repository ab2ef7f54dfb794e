"""How far out records lie, by a covariance that few of them can move."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

_RANK = 1e-10
"""Directions whose variance is smaller than this, in units of the largest, have none."""
_FLAT = 1e-4
"""Directions in which half of the records have a smaller part than this of all records' variance
are taken for flat: a column that is mostly zero would otherwise put everybody else far out."""
_LEAST = 5
"""Records for each direction, below which half of them tell no covariance."""


class Distances(NamedTuple):
    """The distance of each record, and in how many directions something had to be done."""

    of: np.ndarray
    idle: int
    """In which no record differs, since columns add up: left out."""
    flat: int
    """In which half of the records hardly differ: there, the variance is that of all records."""


def robust_distances(x: np.ndarray, seed: int) -> Distances:
    """Mahalanobis distances by the minimum covariance determinant (Rousseeuw & Van Driessen 1999,
    A fast algorithm for the minimum covariance determinant estimator, Technometrics 41(3)): mean
    and covariance of the half of the records that lie closest together.

    `x` is complete, and its columns are of similar size. Of few records, all are taken.

    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> x[0] = 50.0
    >>> bool(robust_distances(np.column_stack((x, x.sum(axis=1))), 0).of[0] > 40)
    True
    """
    centred = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / max(len(x), 1))
    kept = values > _RANK * values.max(initial=0.0)
    # In these coordinates all records together have the identity for their covariance.
    y = centred @ (vectors[:, kept] / np.sqrt(values[kept]))
    location, covariance = _determinant(y, seed)
    variance, turn = np.linalg.eigh(covariance)
    flat = variance < _FLAT
    apart = (y - location) @ turn / np.sqrt(np.where(flat, 1.0, variance))
    return Distances(np.sqrt((apart**2).sum(axis=1)), int((~kept).sum()), int(flat.sum()))


def _determinant(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The robust mean and covariance; those of all records where half of them are too few."""
    n, p = y.shape
    if p and n >= _LEAST * p:
        from sklearn.covariance import MinCovDet  # slow to import, and seldom needed

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that half of the records lie in a plane is seen to
            try:
                found = MinCovDet(random_state=seed).fit(y)
                return found.location_, found.covariance_
            except ValueError:
                return np.median(y, axis=0), np.zeros((p, p))  # half of the records are equal
    return np.zeros(p), np.eye(p)
