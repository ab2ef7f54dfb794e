"""A value carried over from one record to another by the regression of their neighbourhood."""

from __future__ import annotations

import numpy as np

_PRIOR = 1.0
"""Records' worth of doubt that the value depends on a coordinate at all (a ridge)."""
_CELLS = 4_000_000


def carried_over(
    points: np.ndarray, values: np.ndarray, rows: np.ndarray, donor: np.ndarray, near: np.ndarray
) -> np.ndarray:
    """For each of `rows` its donor's value plus b (its point - the donor's point), where b is the
    ridge regression of the values on the points over its neighbours near[i] (-1: none).

    That is the fitted value of the row plus the donor's residual.

    >>> points, values = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 2.0, 4.0])
    >>> near = np.array([[1, 2, -1]])
    >>> made = carried_over(points, values, np.array([0]), np.array([1]), near)
    >>> round(float(made[0]), 9)  # slope 2 * 0.5 / (0.5 + 1): the ridge pulls it to zero
    1.333333333
    """
    d = points.shape[1]
    if not d:
        return np.asarray(values[donor].copy())
    made = np.empty(rows.size)
    step = max(1, _CELLS // (d * (d + near.shape[1])))
    for start in range(0, rows.size, step):
        part = slice(start, start + step)
        here = (near[part] >= 0)[:, :, None].astype(np.float64)
        count = here.sum(axis=1, keepdims=True)
        x = points[near[part]] * here
        y = values[near[part]][:, :, None] * here
        x = (x - x.sum(axis=1, keepdims=True) / count) * here
        y = (y - y.sum(axis=1, keepdims=True) / count) * here
        across = x.transpose(0, 2, 1)
        slope = np.linalg.solve(across @ x + _PRIOR * np.eye(d), across @ y)[:, :, 0]
        away = points[rows[part]] - points[donor[part]]
        made[part] = values[donor[part]] + (slope * away).sum(axis=1)
    return made
