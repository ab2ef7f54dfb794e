"""Least squares with totals: the quadratic program of controlled adjustment, signs given.

Minimise sum w z^2 where the relations hold and low <= z <= high, by a primal-dual interior-point
method. The normal equations are sparse; their matrix is singular where relations follow from
others, which a tiny diagonal and a refinement take care of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels.arrays import Floats
from ..program import Infeasible

STEPS = 200
DIAGONAL = 1e-10


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves that were found, the objective, and a bound on the least one, if proven."""

    z: Floats
    objective: float
    bound: float | None = None


def least_squares(matrix: Any, weights: Floats, low: Floats, high: Floats) -> Moves:
    """The moves of least weighted squares. Raises Infeasible where there are none."""
    from scipy.sparse import diags_array

    z = np.where(low == high, low, 0.0)
    free = np.flatnonzero(high > low)
    part = matrix.tocsc()[:, free].tocsr()
    due = -np.asarray(matrix @ z)
    rows = np.flatnonzero(np.diff(part.indptr))
    needed = np.maximum(np.maximum(low[free], -high[free]), 0.0)
    scale = max(float(needed.max(initial=0.0)), float(np.abs(due).max(initial=0.0)))
    idle = np.delete(np.abs(due), rows)
    if np.any(idle > 1e-9 * max(scale, 1e-300)):
        raise Infeasible
    if scale > 0 and free.size:
        # Each cell in a unit of its own, in which all squares count alike.
        unit = scale / np.sqrt(np.maximum(weights[free], 1e-12 * weights[free].max(initial=1e-300)))
        unit /= np.median(unit) / scale
        squares = weights[free] * unit**2
        usual = float(np.median(squares))
        x, bound = _interior(
            (part[rows] @ diags_array(unit / scale)).tocsr(),
            due[rows] / scale,
            squares / usual,
            low[free] / unit,
            high[free] / unit,
        )
        still = float(weights @ z**2)
        z[free] = x * unit
        return Moves(z, float(weights @ z**2), still + usual * bound)
    objective = float(weights @ z**2)
    return Moves(z, objective, objective)


def _interior(
    matrix: Any, due: Floats, w: Floats, low: Floats, high: Floats
) -> tuple[Floats, float]:
    """Mehrotra's predictor and corrector: the point, and a bound by the relations' multipliers."""
    m = matrix.shape[0]
    below, above = np.isfinite(low), np.isfinite(high)
    width = np.where(below & above, high - low, 1.0)
    z: Floats = np.clip(0.0, np.where(below, low, -1.0), np.where(above, high, 1.0))
    push = np.minimum(0.1, width / 4)
    z = np.maximum(z, np.where(below, low + push, -np.inf))
    z = np.minimum(z, np.where(above, high - push, np.inf))
    a, b = np.where(below, 1.0, 0.0), np.where(above, 1.0, 0.0)
    y = np.zeros(m)
    # The distances to the bounds are carried along: near a bound a difference would lose digits.
    s, t = np.where(below, z - low, 1.0), np.where(above, high - z, 1.0)
    turned = matrix.T.tocsr()
    bound = 0.0
    for _ in range(STEPS):
        # Whatever the multipliers are, the least of the Lagrangian within the bounds is a bound.
        slope = turned @ y
        least = np.clip(slope / (2 * w), low, high)
        bound = max(bound, float(y @ due + (w * least**2 - slope * least).sum()))
        primal = due - matrix @ z
        dual = slope + a - b - 2 * w * z
        mu = float(a @ s + b @ t) / max(int(below.sum() + above.sum()), 1)
        size = float(w @ z**2)
        # The bound proves how near the point is; beyond that only rounding errors grow.
        close = min(float(a @ s + b @ t), size - bound) <= 1e-9 * max(size, 1e-12)
        if np.abs(primal).max(initial=0.0) < 1e-11 and close:
            break
        with np.errstate(over="ignore"):  # a cell at its bound
            theta = 1.0 / (2 * w + a / s + b / t)
        given = (matrix, turned, _normal(matrix, turned, theta), theta, primal, dual, a, b, s, t)
        dz, dy, da, db = _direction(-a * s, -b * t, *given)
        p = _length((s[below], dz[below]), (t[above], -dz[above]))
        d = _length((a, da), (b, db))
        then = float((a + d * da) @ (s + p * dz * below) + (b + d * db) @ (t - p * dz * above))
        sigma = (max(then, 0.0) / max(float(a @ s + b @ t), 1e-300)) ** 3
        ra = np.where(below, sigma * mu - a * s - da * dz, 0.0)
        rb = np.where(above, sigma * mu - b * t + db * dz, 0.0)
        dz, dy, da, db = _direction(ra, rb, *given)
        p = _length((s[below], dz[below]), (t[above], -dz[above]))
        d = _length((a, da), (b, db))
        # One length for both: the quadratic term ties them together.
        p = d = min(p, d) * 0.9995
        if not (np.all(np.isfinite(dz)) and np.all(np.isfinite(dy))) or p < 1e-13:
            break
        z, y, a, b = z + p * dz, y + d * dy, a + d * da, b + d * db
        s, t = np.where(below, s + p * dz, 1.0), np.where(above, t - p * dz, 1.0)
    if np.abs(due - matrix @ z).max(initial=0.0) > 1e-7 * (1 + np.abs(z).max()):
        raise Infeasible
    return z, bound


def _direction(
    ra: Floats,
    rb: Floats,
    matrix: Any,
    turned: Any,
    solve: Callable[[Floats], Floats],
    theta: Floats,
    primal: Floats,
    dual: Floats,
    a: Floats,
    b: Floats,
    s: Floats,
    t: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Newton's step for the point, the relations' multipliers and those of the bounds, where the
    products of bounds and multipliers are to change by `ra` and `rb`."""
    rhs = dual + ra / s - rb / t
    dy = solve(primal - matrix @ (theta * rhs))
    dz = theta * (rhs + turned @ dy)
    return dz, dy, (ra - a * dz) / s, (rb + b * dz) / t


def _normal(matrix: Any, turned: Any, theta: Floats) -> Callable[[Floats], Floats]:
    """A solver of (A theta A') y = r."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    normal = (matrix @ (diags_array(theta) @ turned)).tocsc()
    diagonal = normal.diagonal()
    root = 1 / np.sqrt(np.maximum(diagonal, 1e-300))
    scaled = (diags_array(root) @ normal @ diags_array(root)).tocsc()
    factor = splu(
        scaled + DIAGONAL * diags_array(np.ones(root.size), format="csc"),
        permc_spec="MMD_AT_PLUS_A",
        options={"SymmetricMode": True},
        diag_pivot_thresh=0.0,
    )

    def solve(r: Floats) -> Floats:
        r = r * root
        x = factor.solve(r)
        for _ in range(4):
            off = r - scaled @ x
            if np.abs(off).max(initial=0.0) <= 1e-14 * np.abs(r).max(initial=0.0):
                break
            x = x + factor.solve(off)
        found: Floats = x * root
        return found

    return solve


def _length(*pairs: tuple[Floats, Floats]) -> float:
    """How far amounts may go along their directions before one is negative; 1 at most."""
    ends = (np.min(x[dx < 0] / -dx[dx < 0], initial=np.inf) for x, dx in pairs)
    return min(1.0, *map(float, ends))
