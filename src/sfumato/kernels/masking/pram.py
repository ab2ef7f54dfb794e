"""Post-randomization: Markov matrices, draws from them, and frequencies freed from them.

A matrix P has a row for each category i that a value may have and a column for each category j
that it may become: P[i, j] = P(V' = j | V = i). The columns begin with the categories of the rows,
in the same order; where a matrix leads to categories that no value had before, these come after.
Shares are the frequencies of the rows' categories, divided by their sum.

Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), "Post randomisation for statistical disclosure
control: theory and implementation", Journal of Official Statistics 14(4), for the method, the
two-stage matrix, and the recovery of frequencies with its covariance.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SINGULAR = 1e10
"""A matrix with a larger condition number is not inverted: ten digits would be lost."""


def destinations(form: str, shares: Floats) -> Floats:
    """What a value becomes that is not left alone.

    "invariant": drawn anew from the column's own frequencies, which keeps them (and may give the
    same value again); "uniform": any other category alike; "proportional": another category, by its
    frequency; "nearest": the category before or after, alike; the ends have one neighbour.

    >>> destinations("invariant", np.array([0.75, 0.25])).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    k = shares.size
    if k == 1:
        return np.ones((1, 1))
    if form == "invariant":
        return np.tile(shares, (k, 1))
    others = ~np.eye(k, dtype=bool)
    if form == "uniform":
        weights = others.astype(np.float64)
    elif form == "proportional":
        weights = np.where(others, shares, 0.0)
    else:
        place = np.arange(k)
        weights = (np.abs(place[:, None] - place) == 1).astype(np.float64)
    return weights / weights.sum(axis=1, keepdims=True)


def staying(k: int, width: int) -> Floats:
    """The matrix that changes nothing, with room for `width` categories."""
    return np.eye(k, width)


def share_changed(matrix: Floats, shares: Floats) -> float:
    """The share of values that the matrix is expected to change."""
    return float(shares @ (1.0 - np.diagonal(matrix)))


def diluted(matrix: Floats, weight: float) -> Floats:
    """(1 - weight) I + weight P: the matrix applied to a share of the values, drawn at random."""
    return (1.0 - weight) * staying(*matrix.shape) + weight * matrix


def backwards(matrix: Floats, shares: Floats) -> Floats:
    """Bayes' reverse: P(V = i | V' = j), a row for each j. A row that is never needed is zero.

    >>> backwards(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0.5, 0.5])).tolist()[0]
    [1.0, 0.0]
    """
    joint = (matrix * shares[:, None]).T
    total = joint.sum(axis=1, keepdims=True)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)


def two_stage(first: Floats, shares: Floats) -> Floats:
    """The first matrix followed by its Bayesian reverse: shares @ P = shares, exactly.

    Every share must be positive.
    """
    return first @ backwards(first, shares)


def cumulative(matrix: Floats) -> Floats:
    """Running sums of each row, for `draw`; each ends in exactly 1 at its last possible column."""
    sums: Floats = np.cumsum(matrix, axis=1)
    last = matrix.shape[1] - 1 - np.argmax(matrix[:, ::-1] > 0, axis=1)
    # Else rounding could leave a sliver above the last sum, or give it to an impossible column.
    return np.where(np.arange(matrix.shape[1]) >= last[:, None], 1.0, sums)


@njit(cache=True, nogil=True)
def draw(row: Ints, starts: Ints, sums: Floats, uniforms: Floats) -> Ints:
    """For each value the place within its row: the first whose running sum exceeds the uniform.

    `sums[starts[r]:starts[r + 1]]` are the running sums of row r, and `row` says which row belongs
    to which value.
    """
    found = np.empty(row.size, np.int64)
    for i in range(row.size):
        low, high = starts[row[i]], starts[row[i] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if sums[middle] > uniforms[i]:
                high = middle
            else:
                low = middle + 1
        found[i] = low - starts[row[i]]
    return found


def invertible(matrix: Floats) -> bool:
    """Whether frequencies before the matrix can be told from those after it."""
    return matrix.shape[0] <= matrix.shape[1] and bool(np.linalg.cond(matrix) < SINGULAR)


def recovered(matrix: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Unbiased frequencies T of the rows' categories from the counts after masking, T', and the
    covariance of their error.

    E T' = P^T T, hence T^ = (P^T)^-1 T'; the left inverse where P leads to more categories. Given
    T, T' is a sum of independent multinomial draws, V = sum_i T_i (diag(p_i) - p_i p_i^T) with p_i
    the i-th row, and T^ has covariance A V A^T, A = (P^T)^-1. V is linear in T: with T^ in its
    place the covariance is estimated without bias, but not always positive.

    >>> p = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> recovered(p, np.array([60.0, 40.0]))[0].round(9).tolist()
    [70.0, 30.0]
    """
    inverse = np.linalg.pinv(matrix.T)
    estimate = inverse @ counts
    spread = np.diag(estimate @ matrix) - matrix.T @ (estimate[:, None] * matrix)
    covariance: Floats = inverse @ spread @ inverse.T
    return estimate, covariance
