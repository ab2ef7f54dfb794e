"""Multiple imputation, one record at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize


def nearest(scores: Sequence[float], mine: float, own: int, d: int) -> tuple[set[int], set[int]]:
    """Donors that must be among those to choose from, and those that may be.

    All d nearest but for ties at the far end; more than d with the very score are all chosen from.
    """
    others = [i for i in range(len(scores)) if i != own]
    same = {i for i in others if scores[i] == mine}
    if len(same) >= d:
        return same, same
    far = sorted(abs(scores[i] - mine) for i in others)[:d][-1]
    must = {i for i in others if abs(scores[i] - mine) < far}
    return must, {i for i in others if abs(scores[i] - mine) <= far}


def least_squares(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, int]:
    """Coefficients, residual sum of squares, (X'X)^-1 and the rank."""
    scale = np.sqrt((x**2).sum(axis=0))
    back = np.linalg.pinv(x / scale, rcond=1e-10) / scale[:, None]
    coefficients = back @ y
    residuals = y - x @ coefficients
    rank = int(np.linalg.matrix_rank(x / scale, tol=1e-10))
    return coefficients, float(residuals @ residuals), back @ back.T, rank


def logistic(x: np.ndarray, y: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """The posterior mode, by a general minimizer."""

    def loss(b: np.ndarray) -> float:
        eta = x @ b
        return float(np.logaddexp(0, eta).sum() - y @ eta + 0.5 * precision @ b**2)

    found: np.ndarray = minimize(loss, np.zeros(x.shape[1]), method="BFGS", tol=1e-10).x
    return found


def rare(rows: Sequence[tuple[object, ...]], k: int) -> list[bool]:
    """Which rows fewer than k share."""
    return [list(rows).count(row) < k for row in rows]
