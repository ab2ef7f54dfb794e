"""The density of greatest entropy within bounds: proposal, multipliers, draws.

Standardized columns u are linear in d independent ones, v. The proposal joins the one-dimensional
densities of greatest entropy by a normal copula with the data's correlations. It is close to the
solution, and its density is known, so that weights make the solution exact on the pool whatever the
proposal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...errors import MethodError
from ...kernels.statistics.covariance import root
from ...kernels.synthesis.max_entropy import Family, Tilt, rejuvenate, systematic, tilt

_GRID = 4000
_FLAT = 1e-8
"""Variance that the columns before leave of a column which they determine."""
_BLEND = 0.02
"""Share by which the proposal's correlations are drawn to zero, so that it has room."""
_STRIDE = 1.5
"""Steps of a deviation times this over the root of the dimension. On the line 2.38 would be best
(Roberts, Gelman & Gilks 1997); within bounds shorter steps are accepted more often."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """The moments: correlations of the standardized columns and what is asked of each by itself."""

    names: Sequence[str]
    correlation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cubes: np.ndarray | None
    """E u^3 by column."""
    edges: list[np.ndarray]
    """Inner ends of the intervals of each column."""
    shares: list[np.ndarray]
    sums: list[np.ndarray]
    """E 1[u in interval] and E u 1[u in interval], from the second interval on."""

    def own(self, j: int, u: np.ndarray) -> np.ndarray:
        """Features of column j beyond degree two."""
        parts = [] if self.cubes is None else [u**3]
        place = np.searchsorted(self.edges[j], u)
        for i in range(1, self.edges[j].size + 1):
            inside = (place == i).astype(np.float64)
            parts += [inside, inside * u]
        return np.column_stack(parts) if parts else np.empty((u.size, 0))

    def own_target(self, j: int) -> np.ndarray:
        """Their means."""
        parts = [] if self.cubes is None else [[self.cubes[j]]]
        pairs = np.column_stack([self.shares[j], self.sums[j]]).reshape(-1)
        return np.concatenate([*parts, pairs]) if parts or pairs.size else np.empty(0)


class Solution(NamedTuple):
    """Points and weights, the density behind them, and the columns that v stands for."""

    pool: np.ndarray
    tilt: Tilt
    family: Family
    free: np.ndarray
    moments: int


def solve(wanted: Wanted, size: int, rng: np.random.Generator) -> Solution:
    """The multipliers, over a pool of draws from the proposal."""
    free, a = _independent(wanted.correlation)
    inner = wanted.correlation[np.ix_(free, free)]
    v, log_density = _propose(wanted, free, inner, size, rng)
    u = v @ a
    inside = ((u >= wanted.low) & (u <= wanted.high)).all(axis=1)
    if inside.sum() < size / 20:
        raise MethodError(
            f"only {inside.mean():.1%} of the proposal lies within the bounds of "
            f"{', '.join(wanted.names)}, which depend on one another",
            remedy='leave out columns that are sums of others, or take bounds = "none"',
        )
    v, u, log_density = v[inside], u[inside], log_density[inside]
    upper = np.triu_indices(free.size)
    parts = [v, v[:, upper[0]] * v[:, upper[1]]]
    targets = [np.zeros(free.size), inner[upper]]
    for j in range(len(wanted.names)):
        parts.append(wanted.own(j, u[:, j]))
        targets.append(wanted.own_target(j))
    features, target = np.concatenate(parts, axis=1), np.concatenate(targets)
    if features.shape[1] * 20 > len(v):
        raise MethodError(
            f"{features.shape[1]:,} moments are too many for a pool of {len(v):,} draws",
            remedy="ask for a larger `pool`, or for fewer columns or intervals",
        )
    # Multipliers under which the weights are about even. Some of the pool will do to begin with.
    few = max(len(v) // 5, 20 * features.shape[1])
    shape = np.column_stack([np.ones(len(v[:few])), features[:few]])
    start = np.linalg.lstsq(shape, log_density[:few], rcond=1e-8)[0][1:]
    found = tilt(features, target, -log_density, start)
    if not found.met:
        raise MethodError(
            "no density within the bounds was found with these moments of "
            f"{', '.join(wanted.names)}",
            remedy="ask for a larger `pool`, for fewer intervals, or leave out columns with few "
            "values",
        )
    return Solution(v, found, _family(wanted, a, free.size, found.multipliers), free, target.size)


def draw(
    solution: Solution, wanted: Wanted, n: int, rounds: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """n rows of standardized columns, and the share of moves that were accepted."""
    v = solution.pool[systematic(solution.tilt.weights, n, rng)]
    inner = wanted.correlation[np.ix_(solution.free, solution.free)]
    step = root(inner) * (_STRIDE / np.sqrt(max(solution.free.size, 1)))
    v, accepted = rejuvenate(v, solution.family, step, rounds, rng)
    # Rounding must not lead out of the bounds of a column that is a sum of others.
    return np.clip(v @ solution.family.a, wanted.low, wanted.high), accepted


def _independent(correlation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns that determine the others, and the matrix by which they do (pivoted Cholesky)."""
    rest = correlation.copy()
    chosen: list[int] = []
    while len(chosen) < len(rest) and rest.diagonal().max() > _FLAT:
        j = int(np.argmax(rest.diagonal()))
        chosen.append(j)
        rest = rest - np.outer(rest[:, j], rest[j]) / rest[j, j]
    free = np.sort(np.array(chosen, dtype=np.int64))
    a = np.linalg.solve(correlation[np.ix_(free, free)], correlation[free])
    a[:, free] = np.eye(free.size)
    return free, a


def _propose(
    wanted: Wanted, free: np.ndarray, inner: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of the independent columns, and the logarithm of their density."""
    from scipy.special import ndtr

    normal = (1.0 - _BLEND) * inner + _BLEND * np.eye(free.size)
    z = rng.standard_normal((size, free.size)) @ np.linalg.cholesky(normal).T
    precision = np.linalg.inv(normal) - np.eye(free.size)
    log_density = -0.5 * np.einsum("ni,ij,nj->n", z, precision, z, optimize=True)
    v = np.empty_like(z)
    for i, j in enumerate(free.tolist()):
        v[:, i], log_own = _one_column(wanted, j, ndtr(z[:, i]))
        log_density += log_own
    return v, log_density


def _one_column(wanted: Wanted, j: int, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The one-dimensional solution's quantiles at p, and its log-density there."""
    ends = np.linspace(wanted.low[j], wanted.high[j], _GRID + 1)
    u = (ends[1:] + ends[:-1]) / 2
    features = np.column_stack([u, u**2, wanted.own(j, u)])
    target = np.concatenate([[0.0, 1.0], wanted.own_target(j)])
    found = tilt(features, target, np.zeros(_GRID))
    if not found.met:
        raise MethodError(
            f"no density within the bounds has these moments of column {wanted.names[j]!r}: it may "
            "have few different values",
            remedy='leave the column out, ask for fewer intervals, or take bounds = "none"',
        )
    # A cell that rounding has emptied must still have a density.
    cells = np.maximum(found.weights, 1e-300)
    cumulative = np.concatenate([[0.0], np.cumsum(found.weights)])
    at = np.clip(np.searchsorted(cumulative, p * cumulative[-1]) - 1, 0, _GRID - 1)
    within = (p * cumulative[-1] - cumulative[at]) / cells[at]
    v = ends[at] + np.clip(within, 0.0, 1.0) * (ends[1] - ends[0])
    return v, np.log(cells[at])


def _family(wanted: Wanted, a: np.ndarray, d: int, multipliers: np.ndarray) -> Family:
    """The multipliers where the log-density has them."""
    p = len(wanted.names)
    intervals = max((edges.size for edges in wanted.edges), default=0) + 1
    edges = np.full((p, intervals - 1), np.inf)
    alpha, beta = np.zeros((p, intervals)), np.zeros((p, intervals))
    cubic = np.zeros(p)
    upper = np.triu_indices(d)
    linear, at = multipliers[:d].copy(), d
    quadratic = np.zeros((d, d))
    # Half on either side of the diagonal; on it, both halves.
    np.add.at(quadratic, upper, multipliers[at : at + upper[0].size] / 2)
    quadratic = quadratic + quadratic.T
    at += upper[0].size
    for j in range(p):
        if wanted.cubes is not None:
            cubic[j] = multipliers[at]
            at += 1
        edges[j, : wanted.edges[j].size] = wanted.edges[j]
        for i in range(1, wanted.edges[j].size + 1):
            alpha[j, i], beta[j, i] = multipliers[at : at + 2]
            at += 2
    return Family(
        np.ascontiguousarray(a),
        wanted.low,
        wanted.high,
        linear,
        quadratic,
        cubic,
        edges,
        alpha,
        beta,
    )
