"""New records for groups, drawn uniformly along their principal components.

Aggarwal & Yu (2004), A condensation approach to privacy preserving data mining: of a group only its
size, mean and covariance matrix are kept; the draws along the eigenvectors are independent and
uniform, with the eigenvalues as variances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.statistics.shrinkage import Shrunk

_NOTHING = 1e-12
"""An eigenvalue this small beside the largest of its group is rounding."""


class Condensed(NamedTuple):
    """New records of groups (g, size, p), and in how many directions each group varies."""

    y: np.ndarray
    ranks: np.ndarray


def deviations_of(x: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means of groups (g, 1, p), and how far their records lie from them in units of scale."""
    constant = x.min(axis=1, keepdims=True) == x.max(axis=1, keepdims=True)
    mean = np.where(constant, x[:, :1], x.mean(axis=1, keepdims=True))
    return mean, (x - mean) / scale


def divisor_of(size: int, *, centre: bool) -> float:
    """What the scatter of a group is divided by."""
    return float(max(size - 1, 1) if centre else size)


def condense(
    x: np.ndarray,
    scale: np.ndarray,
    rng: np.random.Generator,
    *,
    centre: bool,
    shrunk: Shrunk | None = None,
) -> Condensed:
    """New records for g groups of one size, x (g, size, p).

    With `centre` the draws are moved to the group's mean, and the covariance of the draws has the
    divisor size - 1: means are exact, and scatter matrices are so in expectation. Without, draws
    are independent with the divisor `size`, and the scatter about the original mean is the
    original's in expectation. With `shrunk` each group's covariance is drawn to the pooled one.
    """
    mean, deviations = deviations_of(x, scale)
    still = (deviations == 0).all(axis=1, keepdims=True)
    own = deviations.transpose(0, 2, 1) @ deviations / divisor_of(x.shape[1], centre=centre)
    if shrunk is not None:
        own = (1.0 - shrunk.share) * own + shrunk.share * shrunk.pooled
        still &= (shrunk.share == 0.0) | (np.diag(shrunk.pooled) == 0.0)
    values, vectors = np.linalg.eigh(own)
    most = values.max(axis=1, initial=0.0, keepdims=True)
    values = np.where(values > _NOTHING * most, values, 0.0)
    # A uniform number on (-sqrt 3, sqrt 3) has variance one.
    drawn = (2.0 * rng.random(x.shape) - 1.0) * np.sqrt(3.0 * values)[:, None, :]
    if centre:
        drawn -= drawn.mean(axis=1, keepdims=True)
    y = np.where(still, mean, mean + (drawn @ vectors.transpose(0, 2, 1)) * scale)
    return Condensed(y, (values > 0).sum(axis=1))
