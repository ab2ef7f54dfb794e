"""The normal model behind data shuffling: correlations by rank, and draws given some columns.

Muralidhar & Sarathy (2006), "Data shuffling: a new masking approach for numerical data",
Management Science 52(5).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..groups import group_order
from ..statistics.covariance import moments, root
from ..suppression.matches import class_labels


def rank_correlations(u: np.ndarray) -> np.ndarray:
    """Spearman's correlations of uniform scores, each over the pairs that are present (NaN is
    missing); 0 with a constant column."""
    covariance = moments(u)[1]
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, np.inf)
    found = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def normal_correlations(rank: np.ndarray) -> np.ndarray:
    """The correlations of normal variables that have these rank correlations: 2 sin(pi r / 6).

    >>> normal_correlations(np.array([0.0, 1.0, -1.0])).round(12).tolist()
    [0.0, 1.0, -1.0]
    """
    return 2.0 * np.sin(np.pi / 6.0 * rank)


def possible(correlations: np.ndarray) -> tuple[np.ndarray, float]:
    """A correlation matrix near this one that some data could have, and by how much it differs.

    Eigenvalues below zero become zero and the diagonal one again. Pairs with different missing
    values, and the sine taken pair by pair, can leave a matrix that no data have.
    """
    values, vectors = np.linalg.eigh(correlations)
    if values.size == 0 or values[0] >= -1e-10:
        return correlations, 0.0
    made = (vectors * np.clip(values, 0.0, None)) @ vectors.T
    scale = np.sqrt(np.diag(made))
    made /= np.outer(scale, scale)
    np.fill_diagonal(made, 1.0)
    return made, float(np.abs(made - correlations).max())


def draw_given(correlations: np.ndarray, given: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Normal scores of the first columns, drawn given those of the others.

    `correlations` are of d columns to draw followed by the q columns of `given` (n, q), whose NaN
    are missing; `noise` is (n, d) standard normal. A record is drawn given the columns that it has,
    so that records are taken together by what they miss.
    """
    d = noise.shape[1]
    drawn = np.empty(noise.shape)
    if not drawn.size:
        return drawn
    present = ~np.isnan(given)
    alike = np.zeros(len(given), np.int64)
    if not present.all():
        alike = class_labels(present.astype(np.int64))
    order, starts = group_order(alike)
    for first, last in pairwise(starts.tolist()):
        rows = order[first:last]
        known = d + np.flatnonzero(present[rows[0]])
        across = correlations[:d, known]
        # The pseudo-inverse: columns that depend on one another exactly say the same thing once.
        inside = np.linalg.pinv(correlations[np.ix_(known, known)], rcond=1e-10, hermitian=True)
        slope = across @ inside
        left = correlations[:d, :d] - slope @ across.T
        drawn[rows] = given[np.ix_(rows, known - d)] @ slope.T + noise[rows] @ root(left).T
    return drawn
