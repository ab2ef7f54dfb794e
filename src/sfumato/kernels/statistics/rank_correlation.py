"""Rank correlations, the normal correlations behind them, and the nearest matrix that can be one.

A Gaussian copula with correlation rho has Spearman's rank correlation (6/pi) asin(rho/2), so that
rho = 2 sin(pi R/6): that holds where values are all different. Where many are equal, as in columns
of categories, the same rho gives a smaller rank correlation, and the formula gives too small a rho.
`latent_correlation` inverts the right relation for any columns. With the scores s(Z) of a column,
the middles of its ranks as a function of a standard normal Z, and their Hermite coefficients
c_k = E[s(Z) He_k(Z)] / sqrt(k!), Mehler's expansion gives the covariance of two columns' scores as
the sum of c_k d_k rho^k. For columns without ties it is the arc sine above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .scores import uniform_scores

Array = NDArray[Any]

TERMS = 256
"""Terms of Mehler's expansion; only two-valued columns that nearly agree would need more."""
_LEVELS = 4096
"""Steps of a score function that are told apart."""
_HALVINGS = 40
_UNTIED = 3.0 / np.pi
"""The slope at zero of (6/pi) asin(rho/2)."""
_ROUNDING = 1e-10
_EFFORT = 2e8
"""Operations spent on the nearest correlation matrix, about a second."""


def rank_scores(x: np.ndarray) -> np.ndarray:
    """Ranks over m + 1 by column, ties at their mean rank; NaN is missing."""
    return np.column_stack([uniform_scores(column) for column in x.T]) if x.size else x.copy()


def pairwise_correlation(x: np.ndarray) -> np.ndarray:
    """Pearson's correlations, each over the rows that have both values; 0 where there is none,
    because fewer than two rows have both or one of them does not vary in these.

    >>> pairwise_correlation(np.array([[1.0, 2.0], [2.0, 4.0], [np.nan, 7.0]])).round(12).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _pairwise(x)[0]


def _pairwise(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The correlations, and which of them there are."""
    here = (~np.isnan(x)).astype(np.float64)
    counts = np.maximum(here.sum(axis=0), 1.0)
    # Centred first, since sums of squares of numbers far from zero lose their digits.
    centred = np.where(here > 0, x - np.where(here > 0, x, 0.0).sum(axis=0) / counts, 0.0)
    pairs = here.T @ here
    safe = np.maximum(pairs, 1.0)
    sums = centred.T @ here
    squares = (centred**2).T @ here - sums**2 / safe
    products = centred.T @ centred - sums * sums.T / safe
    total = np.diag(squares)
    spread = (squares > _ROUNDING * total[:, None]) & (squares > 0)
    usable = spread & spread.T & (pairs > 1)
    bottom = np.sqrt(np.where(usable, squares * squares.T, 1.0))
    found = np.where(usable, np.clip(products / bottom, -1.0, 1.0), 0.0)
    np.fill_diagonal(found, 1.0)
    return found, usable


def rank_correlation(x: np.ndarray) -> np.ndarray:
    """Spearman's rank correlations with mean ranks for ties; pairs that miss a value are left out.

    >>> rank_correlation(np.array([[1.0, 9.0], [2.0, 8.0], [50.0, -3.0]])).round(12).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    return pairwise_correlation(rank_scores(x))


def known_pairs(x: np.ndarray) -> np.ndarray:
    """Which pairs of columns have a correlation that can be seen; a constant column has none."""
    return _pairwise(x)[1]


def completed(matrix: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Correlations that cannot be seen, such as that of a value with its own absence, as the others
    imply them where two columns are independent given the columns that both are known with (for
    an absence: values are missing at random given the others). Columns with no known one stay 0.

    >>> r = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.8], [0.5, 0.8, 1.0]])
    >>> seen = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]]) > 0
    >>> round(float(completed(r, seen)[0, 1]), 9)
    0.4
    """
    found = matrix.copy()
    varies = np.diag(known)
    for i, j in np.argwhere(np.triu(~known, 1) & varies & varies[:, None]):
        others = np.flatnonzero(known[i] & known[j])
        others = others[(others != i) & (others != j)]
        if others.size:
            inner = np.linalg.pinv(matrix[np.ix_(others, others)], rcond=1e-6, hermitian=True)
            value = float(matrix[i, others] @ inner @ matrix[others, j])
            found[i, j] = found[j, i] = min(max(value, -1.0), 1.0)
    return found


def latent_correlation(x: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The correlations of standard normal variables that give these rank correlations, once each
    is mapped to the distribution of a column of x. The result may need `nearest_correlation`.

    Where values are rare, a rank correlation of almost nothing asks for a normal one of almost one,
    as for a four-field table with an empty cell. So the rank correlation of N pairs is first shrunk
    by N / (N + 1/s^2 - 1/s0^2), where s is the slope of the relation at zero and s0 = 3/pi that of
    columns without ties: what a normal prior on the normal correlation does, with no effect where
    there are no ties and a vanishing one as N grows.
    """
    c = np.ascontiguousarray([_hermite(column) for column in x.T])
    here = (~np.isnan(x)).astype(np.float64)
    slope = np.outer(c[:, 0], c[:, 0])
    with np.errstate(divide="ignore"):
        doubt = np.maximum(1.0 / slope**2 - 1.0 / _UNTIED**2, 0.0)
    pairs = here.T @ here
    shrunk = np.where(slope > 0, ranks * pairs / np.maximum(pairs + doubt, 1.0), 0.0)
    return _inverted(c, shrunk)


@njit(cache=True, nogil=True)
def _inverted(c: Array, wanted: Array) -> Array:
    """For each pair of columns the rho with sum c_k d_k rho^k as wanted, by halving: it rises."""
    p, terms = c.shape
    found = np.eye(p)
    product = np.empty(terms)
    for i in range(p):
        for j in range(i + 1, p):
            if wanted[i, j] == 0.0:
                continue
            for k in range(terms):
                product[k] = c[i, k] * c[j, k]
            low, high = -1.0, 1.0
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                value = 0.0
                for k in range(terms - 1, -1, -1):
                    value = (value + product[k]) * middle
                if value < wanted[i, j]:
                    low = middle
                else:
                    high = middle
            found[i, j] = found[j, i] = (low + high) / 2
    return found


def _hermite(x: np.ndarray) -> np.ndarray:
    """float64[TERMS]: c_1, c_2, ... of a column's mid-rank scores, scaled to variance one.

    The score is a step function of z; a step of height h at z adds h phi(z) He_{k-1}(z).
    """
    from scipy.special import ndtri

    present = x[~np.isnan(x)]
    _, counts = np.unique(present, return_counts=True)
    if counts.size < 2:
        return np.zeros(TERMS)
    share = counts / present.size
    if share.size > _LEVELS:
        block = np.minimum(((np.cumsum(share) - share / 2) * _LEVELS).astype(np.int64), _LEVELS - 1)
        share = np.bincount(block, weights=share)
        share = share[share > 0]
    above = np.cumsum(share)
    score = above - share / 2
    spread = np.sqrt((share * (score - 0.5) ** 2).sum())
    z = ndtri(above[:-1])
    weight = np.diff(score) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / spread
    found = np.empty(TERMS)
    before, now = np.zeros(z.size), np.ones(z.size)
    for k in range(1, TERMS + 1):
        found[k - 1] = (weight * now).sum() / np.sqrt(k)
        before, now = now, (z * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return found


def nearest_correlation(matrix: np.ndarray, *, tolerance: float = 1e-7) -> tuple[np.ndarray, float]:
    """The nearest correlation matrix, and the largest change of an entry.

    Alternating projections with Dykstra's correction (Higham 2002, Computing the nearest
    correlation matrix, IMA Journal of Numerical Analysis 22). A matrix without eigenvalues below
    zero is given back as it is. Large matrices get fewer projections: the last step then leaves one
    that is near, though not quite the nearest.

    >>> made, change = nearest_correlation(np.array([[1, .9, -.9], [.9, 1, .9], [-.9, .9, 1.0]]))
    >>> bool(np.linalg.eigvalsh(made)[0] > -1e-12), round(change, 2)
    (True, 0.4)
    """
    if np.linalg.eigvalsh(matrix).min(initial=0.0) >= -_ROUNDING:
        return matrix.copy(), 0.0
    now, correction = matrix.copy(), np.zeros_like(matrix)
    for _ in range(int(np.clip(_EFFORT / len(matrix) ** 3, 10, 200))):
        towards = now - correction
        positive = _positive(towards)
        correction = positive - towards
        after = positive.copy()
        np.fill_diagonal(after, 1.0)
        moved = float(np.abs(after - now).max())
        now = after
        if moved <= tolerance:
            break
    # What is left of negative eigenvalues goes by rescaling, which keeps the diagonal.
    made = _positive(now)
    scale = np.sqrt(np.diag(made))
    made = made / np.outer(scale, scale)
    np.fill_diagonal(made, 1.0)
    return made, float(np.abs(made - matrix).max())


def _positive(matrix: np.ndarray) -> np.ndarray:
    """Without its negative eigenvalues."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.clip(values, 0.0, None)) @ vectors.T
