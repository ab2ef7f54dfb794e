"""Random rounding that adds up and is right on average."""

from __future__ import annotations

import time

import numpy as np

from ...kernels.arrays import Floats
from ..cells.relations import Relations
from ..program import WHOLE, Infeasible, OutOfTime, Program


def random_corner(
    relations: Relations, rest: Floats, rng: np.random.Generator, *, seconds: float
) -> tuple[Floats, bool]:
    """A corner of the roundings that add up, whose expectation is `rest`; and whether it is one.

    `rest` is what each cell has beyond the lower multiple, in bases. It lies among the roundings,
    where fractions are allowed: a line from a random corner through it leaves them at a point with
    fewer fractions, and `rest` is a mixture of both. One of the two is drawn with the weight that
    it has in the mixture, until it is a corner. In two-way tables corners are whole numbers.

    When the time is up the point reached so far is returned, and False.
    """
    begun = time.monotonic()
    x = rest.copy()
    while True:
        free = np.flatnonzero((x > 0) & (x < 1))
        if not free.size:
            return x, True
        left = seconds - (time.monotonic() - begun)
        part = relations.matrix.tocsc()[:, free].tocsr()
        due = np.asarray(part @ x[free])
        rows = np.flatnonzero(np.diff(part.indptr))
        cost, one = rng.normal(size=free.size), np.ones(free.size)
        try:
            if left <= 0:
                raise OutOfTime
            corner = (
                Program(part[rows], cost, 0 * one, one, due[rows], due[rows]).solve(seconds=left).x
            )
        except (OutOfTime, Infeasible):
            return x, False
        corner = np.where(np.abs(corner - np.rint(corner)) < WHOLE, np.rint(corner), corner)
        away = x[free] - corner
        up, down = away > WHOLE, away < -WHOLE
        stretch = min(
            float(np.min((1 - x[free][up]) / away[up], initial=np.inf)),
            float(np.min(x[free][down] / -away[down], initial=np.inf)),
        )
        if not np.isfinite(stretch) or rng.random() < stretch / (1 + stretch):
            x[free] = corner
            return x, True
        moved = np.clip(x[free] + stretch * away, 0.0, 1.0)
        # Whatever reached a whole number stays there; one cell at least did.
        x[free] = np.where(np.abs(moved - np.rint(moved)) < 1e-9, np.rint(moved), moved)
