"""Perturbation of groups the slow, obvious way: whole matrices, one group after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def averaged(x: np.ndarray, labels: Sequence[int]) -> np.ndarray:
    """Each row replaced by its group's mean."""
    out = np.empty_like(x, dtype=float)
    for g in set(labels):
        rows = [i for i, label in enumerate(labels) if label == g]
        out[rows] = sum(x[i] for i in rows) / len(rows)
    return out


def covariance(x: np.ndarray) -> np.ndarray:
    """Sample covariance, the textbook's sum over records."""
    n, p = x.shape
    mean = sum(x) / n
    out = np.zeros((p, p))
    for row in x:
        out += np.outer(row - mean, row - mean)
    return out / (n - 1)


def theorem_2(x: np.ndarray, labels: Sequence[int]) -> np.ndarray:
    """(N - 1)/(N - G) [S_X - S_xbar] (Li & Sarkar, eq. 11)."""
    n, groups = len(x), len(set(labels))
    lost = covariance(x) - covariance(averaged(x, labels))
    return (n - 1) / (n - groups) * lost


def expected_covariance(
    x: np.ndarray, labels: Sequence[int], noise: np.ndarray, *, centre: bool
) -> np.ndarray:
    """The expected covariance of group means plus A e, by the matrix A itself.

    A takes the group's mean from each of n independent rows e with covariance `noise`; the row of
    a record that is alone stays as it is. C takes the mean of all.
    """
    n = len(x)
    a = np.eye(n)
    if centre:
        for g in set(labels):
            rows = [i for i, label in enumerate(labels) if label == g]
            if len(rows) > 1:
                a[np.ix_(rows, rows)] -= 1 / len(rows)
    c = np.eye(n) - 1 / n
    between = averaged(x, labels)
    return (between.T @ c @ between + np.trace(a.T @ c @ a) * noise) / (n - 1)


def by_rank(labels: Sequence[int], x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Each group's values of x in the order of its values of y."""
    out = list(x)
    for g in set(labels):
        rows = [i for i, label in enumerate(labels) if label == g]
        for i, value in zip(
            sorted(rows, key=lambda i: y[i]), sorted(x[i] for i in rows), strict=True
        ):
            out[i] = value
    return out


def nearest_value(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Each masked number replaced by the nearest value that the original column has."""
    values = np.unique(x)
    return np.array([values[np.argmin(np.abs(values - v))] for v in y])
