"""Random rows whose cross products are given: the mathematics of data that keep their moments.

Numbers with exactly the covariance matrix S are F root(S) for any F with orthonormal columns, and
they have exactly the means and the regression coefficients wanted where F is orthogonal to the
constant and to the regressors as well (Burridge 2003).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_NOTHING = 1e-10
"""A share of a column's deviation this small is rounding."""


class Factors(NamedTuple):
    """x = scores diag(values) axes, up to rounding, where the scores are orthonormal."""

    values: np.ndarray
    axes: np.ndarray

    @property
    def rank(self) -> int:
        """Directions in which there is any variation."""
        return int(self.values.size)

    @property
    def loadings(self) -> np.ndarray:
        """(rank, p): what orthonormal scores are multiplied by."""
        return self.values[:, None] * self.axes


def factors(x: np.ndarray, scale: np.ndarray) -> Factors:
    """Singular values and axes of x / scale without those that are rounding.

    The triangle of the QR factorization has them all, and n rows need no more memory than x.
    """
    triangle = np.linalg.qr(x / scale, mode="r")
    _, values, axes = np.linalg.svd(triangle, full_matrices=False)
    kept = values > _NOTHING * max(float(values.max(initial=0.0)), np.sqrt(len(x)))
    return Factors(values[kept], axes[kept])


def span(x: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span those of x, without directions that are rounding."""
    length = np.sqrt((x**2).sum(axis=0))
    q, triangle = np.linalg.qr(x / np.where(length > 0, length, 1.0))
    left, values, _ = np.linalg.svd(triangle, full_matrices=False)
    kept = values > _NOTHING * max(float(values.max(initial=0.0)), 1.0)
    return q @ left[:, kept]


def off(z: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """z less its projection on orthonormal columns."""
    for _ in range(2):  # the second pass takes what rounding left
        z = z - basis @ (basis.T @ z)
    return z


def frame(n: int, rank: int, basis: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n, rank) orthonormal columns that are orthogonal to those of `basis`, every such frame as
    likely as any other.

    >>> ones = np.full((5, 1), 5**-0.5)
    >>> f = frame(5, 2, ones, np.random.default_rng(0))
    >>> np.abs(f.T @ np.column_stack([ones, f])).round(12).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    z = rng.standard_normal((n, rank))
    for _ in range(2):  # twice, because a badly conditioned draw loses the zeros in the first pass
        q, triangle = np.linalg.qr(off(z, basis))
        # The sign that the factorization happens to choose would always be the same.
        z = q * np.where(np.diag(triangle) < 0, -1.0, 1.0)
    return z


def whitened(t: np.ndarray) -> np.ndarray | None:
    """t with orthonormal columns, moved no more than it must (t times the inverse root of its cross
    products); None where they are singular."""
    triangle = np.linalg.qr(t, mode="r")
    _, values, axes = np.linalg.svd(triangle)
    if t.shape[0] < t.shape[1] or values.min(initial=1.0) <= _NOTHING * values.max(initial=1.0):
        return None
    return t @ ((axes.T / values) @ axes)


def spread_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations by column, for scaling; exact for a constant, whose deviation is 1."""
    low = x.min(axis=0)
    constant = low == x.max(axis=0)
    mean = np.where(constant, low, x.mean(axis=0))
    # Divided by the largest first, so that squares neither overflow nor vanish.
    largest = np.abs(x - mean).max(axis=0)
    largest = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    deviation = largest * np.sqrt((((x - mean) / largest) ** 2).mean(axis=0))
    return mean, np.where(deviation > 0, deviation, 1.0)


class Stratum(NamedTuple):
    """Records that miss the same values."""

    rows: np.ndarray
    present: np.ndarray
    """The columns that they have."""


def strata_of(missing: np.ndarray) -> list[Stratum]:
    """The records by what they miss, in the order of their first record.

    >>> [(s.rows.tolist(), s.present.tolist()) for s in strata_of(np.array([[0], [1], [0]]) > 0)]
    [([0, 2], [0]), ([1], [])]
    """
    n, p = missing.shape
    if not missing.any():
        return [Stratum(np.arange(n), np.arange(p))] if n else []
    packed = np.packbits(missing, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(pattern, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(pattern))[:-1])
    return [
        Stratum(groups[at], np.flatnonzero(~missing[first[at]]))
        for at in np.argsort(first, kind="stable")
    ]
