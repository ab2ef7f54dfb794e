"""Linear and logistic regression with draws from the posterior, over blocks of rows.

A design too large to hold is given in blocks: a function that yields (X, y) as often as it is
called. Both models are fitted once and drawn from many times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Blocks = Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]

_COLLINEAR = 1e-11
"""Directions whose share of the (scaled) cross-products is below this are left out."""
_PRIOR = 1 / 2.5**2
"""Precision of the prior of logistic coefficients, N(0, 2.5^2): it keeps them finite where a
category never occurs with another (Gelman et al. 2008 recommend the scale)."""
_STEPS = 50
_DONE = 1e-6
"""A Newton step that would move by less than a thousandth of the posterior's spread is the last."""


@dataclass(frozen=True)
class Linear:
    """y = X b + e, e ~ N(0, s^2), with the prior 1/s^2."""

    coefficients: np.ndarray
    root: np.ndarray
    """R with R R^T = (X^T X)^-1 on the directions that the data have."""
    rss: float
    freedom: int
    total: float
    """Sum of squares of y about its mean."""

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """Coefficients and s from their posterior: s^2 = RSS / chi^2, b ~ N(b^, s^2 (X'X)^-1)."""
        s = float(np.sqrt(self.rss / rng.chisquare(self.freedom)))
        step = self.root @ rng.standard_normal(self.root.shape[1])
        return self.coefficients + s * step, s


def fit_linear(blocks: Blocks, width: int) -> Linear:
    """Least squares by the normal equations of scaled columns; residuals by a second pass, since
    differences of sums lose all digits where the fit is close."""
    gram, moment = np.zeros((width, width)), np.zeros(width)
    n, sum_y = 0, 0.0
    for x, y in blocks():
        gram += x.T @ x
        moment += x.T @ y
        n += y.size
        sum_y += float(y.sum())
    scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = values > _COLLINEAR * max(float(values.max(initial=0.0)), 1e-300)
    root = (vectors[:, kept] / np.sqrt(values[kept])) / scale[:, None]
    coefficients = root @ (root.T @ moment)
    rss = total = 0.0
    for x, y in blocks():
        rss += float(((y - x @ coefficients) ** 2).sum())
        total += float(((y - sum_y / max(n, 1)) ** 2).sum())
    return Linear(coefficients, root, rss, n - int(kept.sum()), total)


@dataclass(frozen=True)
class Logistic:
    """P(y = 1) = 1 / (1 + exp(-X b)), first column of X constant."""

    coefficients: np.ndarray
    root: np.ndarray
    """R with R R^T = the inverse of the information."""

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Coefficients from the normal approximation of their posterior (Rubin 1987, p. 169)."""
        return self.coefficients + self.root @ rng.standard_normal(self.root.shape[1])


def fit_logistic(blocks: Blocks, width: int, start: np.ndarray | None = None) -> Logistic:
    """The posterior mode by Newton's method with halved steps, and the information there. `start`
    may be the mode for a part of the data: it saves passes over all of them."""
    prior = np.full(width, _PRIOR)
    prior[0] = 1e-6  # the intercept is free but for what keeps the matrix regular
    b = np.zeros(width) if start is None else start
    value, gradient, information = _logistic(blocks, b, prior)
    for _ in range(_STEPS):
        step = np.linalg.solve(information, gradient)
        gain = float(gradient @ step)
        if gain < _DONE:
            break
        size = 1.0
        while True:
            found = _logistic(blocks, b + size * step, prior)
            if found[0] >= value or size < 1e-6:
                break
            size /= 2
        b = b + size * step
        value, gradient, information = found
    root = np.linalg.inv(np.linalg.cholesky(information)).T
    return Logistic(b, root)


def _logistic(
    blocks: Blocks, b: np.ndarray, prior: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """The log posterior, its gradient and the negative of its second derivative."""
    value = -0.5 * float(prior @ b**2)
    gradient, information = -prior * b, np.diag(prior)
    for x, y in blocks():
        eta = x @ b
        p = chance(eta)
        value += float((y * eta - np.logaddexp(0.0, eta)).sum())
        gradient = gradient + x.T @ (y - p)
        information = information + (x * (p * (1 - p))[:, None]).T @ x
    return value, gradient, information


def chance(eta: np.ndarray) -> np.ndarray:
    """The logistic curve, by tanh, which cannot overflow."""
    return 0.5 + 0.5 * np.tanh(0.5 * eta)
