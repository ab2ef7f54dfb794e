"""Synthetic data the slow, obvious way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import optimize, stats


def design(*columns: Sequence[float]) -> np.ndarray:
    """A constant and the regressors, one record after another."""
    return np.array([[1.0, *row] for row in zip(*columns, strict=True)])


def regression(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fitted values and the maximum likelihood covariance of the residuals, one column of y after
    another; the least squares solution is by singular values, which collinear x do not trouble."""
    n, p = y.shape
    fitted = np.empty((n, p))
    for j in range(p):
        coefficients = np.linalg.pinv(x) @ y[:, j]
        fitted[:, j] = [sum(a * b for a, b in zip(row, coefficients, strict=True)) for row in x]
    covariance = np.zeros((p, p))
    for e in y - fitted:
        covariance += np.outer(e, e) / n
    return fitted, covariance


def covariance(x: np.ndarray) -> np.ndarray:
    """Sample covariance, a sum over records."""
    mean = sum(x) / len(x)
    return sum(np.outer(row - mean, row - mean) for row in x) / (len(x) - 1)


def mean_ranks(values: Sequence[float]) -> list[float]:
    """1 + those below + half of the others that are equal."""
    return [1 + sum(w < v for w in values) + (sum(w == v for w in values) - 1) / 2 for v in values]


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's correlation of the mean ranks."""
    return float(np.corrcoef(mean_ranks(x), mean_ranks(y))[0, 1])


def rank_correlation_behind(rho: float, a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's correlation of two columns with these shares of their values, cut from a normal
    pair with correlation rho: the probability of each pair of values times its mid-ranks."""

    def cells(shares: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
        ends = [0.0]
        for share in shares:
            ends.append(ends[-1] + share)
        scores = [(ends[i] + ends[i + 1]) / 2 for i in range(len(shares))]
        return [float(z) for z in stats.norm.ppf(np.clip(ends, 1e-14, 1 - 1e-14))], scores, ends

    (za, sa, _), (zb, sb, _) = cells(a), cells(b)
    pair = stats.multivariate_normal(cov=[[1, rho], [rho, 1]])
    total = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            corners = [
                pair.cdf([za[i + 1], zb[j + 1]]),
                -pair.cdf([za[i], zb[j + 1]]),
                -pair.cdf([za[i + 1], zb[j]]),
                pair.cdf([za[i], zb[j]]),
            ]
            total += (sa[i] - 0.5) * (sb[j] - 0.5) * sum(corners)
    va = sum(share * (s - 0.5) ** 2 for share, s in zip(a, sa, strict=True))
    vb = sum(share * (s - 0.5) ** 2 for share, s in zip(b, sb, strict=True))
    return float(total / np.sqrt(va * vb))


def alike(cells: Sequence[Sequence[object]]) -> list[int]:
    """How many records agree with each, itself included."""
    return [sum(tuple(other) == tuple(own) for other in cells) for own in cells]


def ridge(x: np.ndarray, y: np.ndarray, prior: float) -> np.ndarray:
    """The slopes of the least squared errors about the means plus prior times their squares."""

    def loss(slopes: np.ndarray) -> float:
        error = (y - y.mean()) - (x - x.mean(axis=0)) @ slopes
        return float(error @ error + prior * slopes @ slopes)

    found: np.ndarray = optimize.minimize(loss, np.zeros(x.shape[1]), tol=1e-14).x
    return found


def truncated_normal(mean: float, variance: float, low: float, high: float) -> stats.rv_continuous:
    """The density of greatest entropy on an interval with these moments is a normal one, cut off:
    its parameters by a search."""

    def gap(parameters: np.ndarray) -> list[float]:
        centre, spread = parameters[0], np.exp(parameters[1])
        law = stats.truncnorm((low - centre) / spread, (high - centre) / spread, centre, spread)
        return [law.mean() - mean, law.var() - variance]

    centre, log_spread = optimize.fsolve(gap, [mean, np.log(variance) / 2], xtol=1e-12)
    spread = np.exp(log_spread)
    return stats.truncnorm((low - centre) / spread, (high - centre) / spread, centre, spread)


def best_share(first: list[float], second: list[float], steps: int = 2000) -> float:
    """Of two models with these log densities at some records, the first's weight in the mixture of
    them that is densest there: by trying all."""

    def worth(share: float) -> float:
        return math.fsum(
            math.log(share * math.exp(a) + (1 - share) * math.exp(b))
            for a, b in zip(first, second, strict=True)
        )

    return max((k / steps for k in range(steps + 1)), key=worth)
