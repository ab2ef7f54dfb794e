"""Information loss of numbers, written out cell by cell."""

from __future__ import annotations

import math
from itertools import combinations, combinations_with_replacement

import numpy as np


def _mean(x: list[float]) -> float:
    return math.fsum(x) / len(x)


def _moment(columns: list[list[float]], powers: list[int]) -> float:
    """The central product moment of some columns."""
    centred = [[v - _mean(c) for v in c] for c in columns]
    rows = zip(*centred, strict=True)
    return _mean([math.prod(v**q for v, q in zip(row, powers, strict=True)) for row in rows])


def _covariance(x: list[float], y: list[float]) -> float:
    n = len(x)
    return _moment([x, y], [1, 1]) * n / (n - 1)


def _correlation(x: list[float], y: list[float]) -> float:
    spread = math.sqrt(_covariance(x, x) * _covariance(y, y))
    return _covariance(x, y) / spread if spread else 0.0


def _relative(a: float, b: float, zeros: str) -> float | None:
    if a == 0:
        return None if zeros == "leave-out" else float(a != b)
    return abs(a - b) / abs(a) if zeros == "leave-out" else min(1.0, abs(a - b) / abs(a))


def _variation(pairs: list[tuple[float, float]], zeros: str) -> float:
    terms = [t for t in (_relative(a, b, zeros) for a, b in pairs) if t is not None]
    return _mean(terms) if terms else 0.0


def five_parts(x: np.ndarray, y: np.ndarray, zeros: str, *, scaled: bool = False) -> list[float]:
    """IL1 to IL5 (Domingo-Ferrer & Torra 2001), with IL1s where `scaled`."""
    xs, ys = ([list(map(float, c)) for c in t.T] for t in (x, y))
    p = len(xs)
    cells = [(a, b) for c, d in zip(xs, ys, strict=True) for a, b in zip(c, d, strict=True)]
    if scaled:
        values = _mean(
            [
                abs(a - b) / (math.sqrt(2) * math.sqrt(_covariance(c, c)))
                for c, d in zip(xs, ys, strict=True)
                for a, b in zip(c, d, strict=True)
            ]
        )
    else:
        values = _variation(cells, zeros)
    means = [(_mean(c), _mean(d)) for c, d in zip(xs, ys, strict=True)]
    covariances = [
        (_covariance(xs[i], xs[j]), _covariance(ys[i], ys[j]))
        for i, j in combinations_with_replacement(range(p), 2)
    ]
    variances = [(_covariance(c, c), _covariance(d, d)) for c, d in zip(xs, ys, strict=True)]
    correlations = [
        abs(_correlation(xs[i], xs[j]) - _correlation(ys[i], ys[j]))
        for i, j in combinations(range(p), 2)
    ]
    return [
        values,
        _variation(means, zeros),
        _variation(covariances, zeros),
        _variation(variances, zeros),
        _mean(correlations),
    ]


def _pil(change: float, variance: float) -> float:
    """2 P(0 <= Z <= |change| / sd), by the error function."""
    if abs(change) < 1e-12:
        return 0.0
    return math.erf(abs(change) / math.sqrt(variance) / math.sqrt(2))


def probabilistic_parts(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """PIL of means, variances, covariances and correlations (quantiles need a density: apart)."""
    xs, ys = ([list(map(float, c)) for c in t.T] for t in (x, y))
    n, p = x.shape
    found: dict[str, list[float]] = {k: [] for k in ("means", "variances", "covariances")}
    found["correlations"] = []
    for c, d in zip(xs, ys, strict=True):
        m2, m4 = _moment([c], [2]), _moment([c], [4])
        found["means"].append(_pil(_mean(d) - _mean(c), m2 / n))
        found["variances"].append(_pil(_moment([d], [2]) - m2, (m4 - m2**2) / n))
    for i, j in combinations(range(p), 2):
        c, d = [xs[i], xs[j]], [ys[i], ys[j]]
        mu = {(a, b): _moment(c, [a, b]) for a in range(5) for b in range(5) if a + b <= 4}
        found["covariances"].append(
            _pil(_moment(d, [1, 1]) - mu[1, 1], (mu[2, 2] - mu[1, 1] ** 2) / n)
        )
        r = _correlation(*c)
        inner = (
            mu[2, 2] / mu[1, 1] ** 2
            + (mu[4, 0] / mu[2, 0] ** 2 + mu[0, 4] / mu[0, 2] ** 2) / 4
            + mu[2, 2] / (2 * mu[2, 0] * mu[0, 2])
            - (mu[3, 1] / (mu[1, 1] * mu[2, 0]) + mu[1, 3] / (mu[1, 1] * mu[0, 2]))
        )
        found["correlations"].append(_pil(_correlation(*d) - r, r**2 / n * inner))
    return {kind: _mean(values) for kind, values in found.items()}


def kernel_density(point: float, x: np.ndarray, bandwidth: float) -> float:
    """The Gaussian kernel estimate, term by term."""
    return _mean(
        [
            math.exp(-0.5 * ((point - v) / bandwidth) ** 2) / bandwidth / math.sqrt(2 * math.pi)
            for v in x
        ]
    )


def loadings(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """RF, C and F by their definitions: correlations with scores, and what gives those scores."""
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    _, _, vt = np.linalg.svd(z, full_matrices=False)
    scores = z @ vt.T
    unit = scores / scores.std(axis=0, ddof=1)
    rf = np.array([[np.corrcoef(a, b)[0, 1] for b in unit.T] for a in z.T])
    first = rf[:, 0] ** 2
    coefficients = np.linalg.lstsq(z, unit, rcond=None)[0]
    return rf, first, coefficients
