"""Means, covariances and their square roots, where values may be missing."""

from __future__ import annotations

import numpy as np


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances, each over the pairs of values that are present (NaN is missing)."""
    present = ~np.isnan(x)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, x, 0.0).sum(axis=0) / counts
    centred = np.where(present, x - mean, 0.0)
    pairs = present.astype(np.float64).T @ present.astype(np.float64)
    return mean, centred.T @ centred / np.maximum(pairs - 1, 1)


def root(covariance: np.ndarray) -> np.ndarray:
    """A matrix R with R R^T = covariance. Eigenvalues below zero, which missing values and rounding
    leave, are taken as zero."""
    scale = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    # The correlation matrix: columns of very different size lose no digits to one another.
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) * scale[:, None]


def normal_rows(covariance: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n rows of N(0, covariance)."""
    return rng.standard_normal((n, covariance.shape[0])) @ root(covariance).T
