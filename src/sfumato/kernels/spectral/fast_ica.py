"""Independent components: directions along which the rows of a matrix look independent.

FastICA, all components at once, with the log cosh approximation of negentropy. The rows are first
whitened; directions without spread are dropped, so that the matrix may have any rank. Where there
are few rows for each direction, ICA finds directions in which a single row stands alone, which
would give this row away. Only as many leading principal directions are therefore turned as there
are `PER_DIRECTION` rows for; the others stay principal components.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats

PAPER = (
    "Hyvarinen 1999, Fast and robust fixed-point algorithms for independent component analysis, "
    "IEEE Transactions on Neural Networks 10(3)"
)
PER_DIRECTION = 3
"""Rows for each direction that ICA may turn."""
_NOTHING = 1e-10
"""A direction whose spread is this small beside the widest is rounding, not data."""


class Components(NamedTuple):
    """x = centre + scores @ basis; the scores have mean zero, unit variance and no correlation."""

    scores: Floats
    basis: Floats
    centre: Floats
    settled: bool
    """Whether the iterations came to rest."""


@njit(cache=True, nogil=True)
def _decorrelated(w: Floats) -> Floats:
    """The orthogonal matrix nearest to w: (w w')^(-1/2) w."""
    values, vectors = np.linalg.eigh(np.dot(w, w.T))
    scaled = vectors / np.sqrt(np.maximum(values, 1e-300))
    return np.dot(np.dot(scaled, np.ascontiguousarray(vectors.T)), w)


@njit(cache=True, nogil=True)
def _turn(z: Floats, w: Floats, most: int, tolerance: float) -> tuple[Floats, bool]:
    """Rows of the returned orthogonal matrix are the independent directions of the white z, which
    holds a record in each column."""
    r, n = z.shape
    back = np.ascontiguousarray(z.T)
    w = _decorrelated(w)
    slope = np.empty(r)
    for _ in range(most):
        g = np.dot(w, z)
        for i in range(r):
            total = 0.0
            for j in range(n):
                # tanh, three times as fast as the library's and as exact as the means need.
                shrunk = np.exp(-2.0 * abs(g[i, j]))
                value = (1.0 - shrunk) / (1.0 + shrunk)
                g[i, j] = value if g[i, j] >= 0.0 else -value
                total += 1.0 - value * value
            slope[i] = total / n
        new = np.dot(g, back) / n
        for i in range(r):
            for j in range(r):
                new[i, j] -= slope[i] * w[i, j]
        new = _decorrelated(new)
        far = 0.0
        for i in range(r):
            cosine = 0.0
            for j in range(r):
                cosine += new[i, j] * w[i, j]
            far = max(far, abs(abs(cosine) - 1.0))
        w = new
        if far < tolerance:
            return w, True
    return w, False


def components(
    x: np.ndarray,
    rng: np.random.Generator,
    *,
    kind: Literal["ica", "pca"] = "ica",
    most: int = 200,
    tolerance: float = 1e-4,
) -> Components:
    """The independent ("ica") or principal ("pca") components of the rows of x.

    After `most` turns ICA gives what it has; `settled` says so.

    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 4.0]])
    >>> found = components(x, np.random.default_rng(0))
    >>> bool(np.allclose(found.centre + found.scores @ found.basis, x))
    True
    """
    n = len(x)
    centre = x.mean(axis=0)
    left, spread, right = np.linalg.svd(x - centre, full_matrices=False)
    kept = spread > _NOTHING * max(float(spread[0]), 1e-300) if spread.size else spread > 0
    scores = np.ascontiguousarray(left[:, kept] * np.sqrt(n))
    basis = np.ascontiguousarray((spread[kept] / np.sqrt(n))[:, None] * right[kept])
    # Rounding leaves a trace of a mean, which would grow with the spread it is multiplied with.
    scores -= scores.mean(axis=0)
    turned = min(len(basis), n // PER_DIRECTION)
    if kind == "pca" or turned < 2:
        return Components(scores, basis, centre, True)
    start = rng.standard_normal((turned, turned))
    white = np.ascontiguousarray(scores[:, :turned].T)
    w, settled = _turn(white, start, most, tolerance)
    scores[:, :turned] = scores[:, :turned] @ w.T
    basis[:turned] = w @ basis[:turned]
    return Components(scores, basis, centre, settled)
