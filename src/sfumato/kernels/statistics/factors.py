"""What describes the structure of a numeric table: covariances, correlations, principal components.

V covariances, R correlations, RF correlations of variables with principal components, F the
coefficients that give the components' scores; C the share of each variable that some of the
components explain. All from R's eigenvectors; a component without variance explains nothing and has
no scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .covariance import moments

_NOTHING = 1e-10
"""Eigenvalues of a correlation matrix below this are rounding."""


class Structure(NamedTuple):
    """The matrices of one table."""

    V: np.ndarray
    R: np.ndarray
    RF: np.ndarray
    F: np.ndarray
    eigenvalues: np.ndarray

    def commonalities(self, components: int = 1) -> np.ndarray:
        """The share of each variable that the first components explain together."""
        found: np.ndarray = (self.RF[:, :components] ** 2).sum(axis=1)
        return found


def structure(x: np.ndarray) -> Structure:
    """The matrices of a table without missing values; a constant column correlates with none."""
    _, covariance = moments(x)
    deviation = np.sqrt(np.diag(covariance))
    varies = deviation > 0
    scale = np.where(varies, deviation, 1.0)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, np.where(varies, 1.0, 0.0))
    values, vectors = np.linalg.eigh(correlation)
    values, vectors = values[::-1], vectors[:, ::-1]
    present = values > _NOTHING * max(1, x.shape[1])
    values = np.where(present, values, 0.0)
    loadings = vectors * np.sqrt(values)
    scores = np.where(present, vectors / np.sqrt(np.where(present, values, 1.0)), 0.0)
    return Structure(covariance, correlation, loadings, scores, values)


def aligned(before: Structure, after: Structure) -> Structure:
    """The second table's components with the signs that fit the first's: an eigenvector is as good
    as its negative."""
    sign = np.where((before.RF * after.RF).sum(axis=0) < 0, -1.0, 1.0)
    return after._replace(RF=after.RF * sign, F=after.F * sign)
