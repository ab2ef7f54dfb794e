"""New records for groups, drawn uniformly along their principal components.

Aggarwal & Yu (2004), A condensation approach to privacy preserving data mining: of a group only its
size, mean and covariance matrix are kept; the draws along the eigenvectors are independent and
uniform, with the eigenvalues as variances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_NOTHING = 1e-12
"""An eigenvalue this small beside the largest of its group is rounding."""


class Condensed(NamedTuple):
    """New records of groups (g, size, p), and in how many directions each group varies."""

    y: np.ndarray
    ranks: np.ndarray


def condense(
    x: np.ndarray, scale: np.ndarray, rng: np.random.Generator, *, centre: bool
) -> Condensed:
    """New records for g groups of one size, x (g, size, p).

    With `centre` the draws are moved to the group's mean, and the covariance of the draws has the
    divisor size - 1: means are exact, and scatter matrices are so in expectation. Without, draws
    are independent with the divisor `size`, and the scatter about the original mean is the
    original's in expectation.
    """
    size = x.shape[1]
    constant = x.min(axis=1, keepdims=True) == x.max(axis=1, keepdims=True)
    mean = np.where(constant, x[:, :1], x.mean(axis=1, keepdims=True))
    deviations = (x - mean) / scale
    divisor = max(size - 1, 1) if centre else size
    values, vectors = np.linalg.eigh(deviations.transpose(0, 2, 1) @ deviations / divisor)
    most = values.max(axis=1, initial=0.0, keepdims=True)
    values = np.where(values > _NOTHING * most, values, 0.0)
    # A uniform number on (-sqrt 3, sqrt 3) has variance one.
    drawn = (2.0 * rng.random(x.shape) - 1.0) * np.sqrt(3.0 * values)[:, None, :]
    if centre:
        drawn -= drawn.mean(axis=1, keepdims=True)
    y = np.where(constant, mean, mean + (drawn @ vectors.transpose(0, 2, 1)) * scale)
    return Condensed(y, (values > 0).sum(axis=1))
