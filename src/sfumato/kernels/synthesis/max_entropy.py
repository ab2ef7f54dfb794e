"""Densities of greatest entropy with given moments.

Of all densities on a set with E f = t the one of greatest entropy is exp(lambda . f) up to a factor
(an exponential family), and lambda minimizes the convex dual log integral exp(lambda . (f - t)).
The integral is a sum over weighted points: a grid in one dimension, draws from a proposal in more,
whose weights are the reciprocals of its density. At the minimum the weighted points have the given
moments exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

_NEWTON = 200
_MET = 1e-8
"""Largest gap to a moment, in the deviation of its feature over the points."""
_RIDGE = 1e-10


class Tilt(NamedTuple):
    """The multipliers, the points' weights (sum 1), and whether the moments are met."""

    multipliers: np.ndarray
    weights: np.ndarray
    met: bool

    @property
    def effective(self) -> float:
        """Kish's effective number of points."""
        return float(1.0 / (self.weights**2).sum())


def tilt(
    features: np.ndarray,
    target: np.ndarray,
    base: np.ndarray,
    start: np.ndarray | None = None,
) -> Tilt:
    """Weights proportional to exp(base + lambda . f) that give the features their target means.

    Newton's method with halved steps on the dual, which is convex: it ends with the moments met, or
    finds that no weights meet them.

    >>> found = tilt(np.array([[0.0], [1.0]]), np.array([0.8]), np.zeros(2))
    >>> found.weights.round(6).tolist(), found.met
    ([0.2, 0.8], True)
    """
    scale = features.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    f = (features - target) / scale
    x = np.zeros(f.shape[1]) if start is None else start * scale
    value, weights = _dual(f, base, x)
    for _ in range(_NEWTON):
        gradient = weights @ f
        if float(np.abs(gradient).max(initial=0.0)) < _MET:
            return Tilt(x / scale, weights, True)
        hessian = (f * weights[:, None]).T @ f - np.outer(gradient, gradient)
        hessian[np.diag_indices_from(hessian)] += _RIDGE * max(float(np.trace(hessian)), 1e-300)
        try:
            step = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            break
        slope, size = float(gradient @ step), 1.0
        while size > 1e-8:
            after, moved = _dual(f, base, x + size * step)
            if after <= value + 1e-4 * size * slope:
                break
            size /= 2
        else:
            break
        x, value, weights = x + size * step, after, moved
    return Tilt(x / scale, weights, float(np.abs(weights @ f).max(initial=0.0)) < 1e2 * _MET)


def _dual(f: np.ndarray, base: np.ndarray, x: np.ndarray) -> tuple[float, np.ndarray]:
    """log sum exp(base + f . x), and its terms' shares."""
    power = base + f @ x
    if not np.isfinite(power).all():
        return float("inf"), np.full(len(f), 1.0 / len(f))
    most = float(power.max())
    terms = np.exp(power - most)
    total = float(terms.sum())
    return most + float(np.log(total)), terms / total


def systematic(weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n points drawn by their weights, each its expected number of times or one more or less."""
    at = (np.arange(n) + rng.random()) / n
    found = np.searchsorted(np.cumsum(weights), at)
    return np.minimum(rng.permutation(found), weights.size - 1)


class Family(NamedTuple):
    """A log-density b.v + v'Qv + sum_j (c_j u_j^3 + alpha[j, i] + beta[j, i] u_j), i the interval
    of u_j, over the v for which every u = a v lies between low and high."""

    a: np.ndarray
    low: np.ndarray
    high: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray
    cubic: np.ndarray
    edges: np.ndarray
    """(p, intervals - 1); infinite where a column has fewer."""
    alpha: np.ndarray
    beta: np.ndarray


def rejuvenate(
    v: np.ndarray, family: Family, step: np.ndarray, rounds: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Points after some rounds of Metropolis' algorithm, which leaves the density as it is, and the
    share of moves accepted. `step` is a root of the proposal's covariance."""
    made, accepted = v.copy(), 0
    chunk = max(1, 8_000_000 // max(rounds * v.shape[1], 1))
    for start in range(0, len(v), chunk):
        part = made[start : start + chunk]
        moves = rng.standard_normal((len(part), rounds, v.shape[1])) @ step.T
        accepted += _metropolis(part, moves, np.log(rng.random((len(part), rounds))), family)
    return made, accepted / max(len(v) * rounds, 1)


@njit(cache=True, nogil=True)
def _log_density(v: Array, f: Family) -> float:
    d, p = f.a.shape
    total = 0.0
    for i in range(d):
        inner = f.linear[i]
        for j in range(d):
            inner += f.quadratic[i, j] * v[j]
        total += inner * v[i]
    for j in range(p):
        u = 0.0
        for i in range(d):
            u += f.a[i, j] * v[i]
        if u < f.low[j] or u > f.high[j]:
            return -np.inf
        at = 0
        while at < f.edges.shape[1] and u > f.edges[j, at]:
            at += 1
        total += f.cubic[j] * u * u * u + f.alpha[j, at] + f.beta[j, at] * u
    return total


@njit(cache=True, nogil=True)
def _metropolis(v: Array, moves: Array, thresholds: Array, family: Family) -> int:
    accepted = 0
    for i in range(v.shape[0]):
        now = _log_density(v[i], family)
        for r in range(moves.shape[1]):
            to = v[i] + moves[i, r]
            then = _log_density(to, family)
            if thresholds[i, r] < then - now:
                v[i] = to
                now = then
                accepted += 1
    return accepted
