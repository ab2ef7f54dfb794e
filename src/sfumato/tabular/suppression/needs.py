"""What has to be shown for a table to be protected, one movement of one cell at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...kernels.arrays import Floats, Ints
    from ..threats.problem import Problem

UP, DOWN, SLIDE = 1, -1, 0


@dataclass(frozen=True, eq=False)
class Needs:
    """Need k: cell[k] must be movable by size[k] upwards (way UP) or downwards (DOWN), or both ways
    together (SLIDE), while the cells known[k] stay where they are."""

    cell: Ints
    way: Ints
    size: Floats
    known: tuple[Ints, ...]
    threat: Ints

    def __len__(self) -> int:
        return int(self.cell.size)


def needs_of(problem: Problem) -> Needs:
    """The needs of a problem: nothing that is 0, nothing twice, the largest of equals.

    Room beyond the attacker's own bounds cannot be had by any protection, so it is not asked for.
    """
    threats = problem.threats
    found: dict[tuple[int, int, tuple[int, ...]], tuple[float, int]] = {}
    for t in range(len(threats)):
        p = int(threats.cell[t])
        above = problem.upper[p] - problem.values[p]
        below = problem.values[p] - problem.lower[p]
        known = tuple(sorted(set(threats.known(t).tolist()) - {p}))
        for way, size in (
            (UP, min(threats.up[t], above)),
            (DOWN, min(threats.down[t], below)),
            (SLIDE, min(threats.slide[t], above + below)),
        ):
            # Noise in the bounds of large values is no need.
            if size > 1e-12 * abs(problem.values[p]):
                key = (p, way, known)
                if size > found.get(key, (0.0, 0))[0]:
                    found[key] = (float(size), t)
    for p, way, known in list(found):
        size, t = found[p, way, known]
        both = found.get((p, UP, known), (0.0, 0))[0] + found.get((p, DOWN, known), (0.0, 0))[0]
        if way == SLIDE and size <= both:
            del found[p, way, known]
    keys = list(found)
    return Needs(
        np.array([key[0] for key in keys], np.int64),
        np.array([key[1] for key in keys], np.int64),
        np.array([found[key][0] for key in keys]),
        tuple(np.array(key[2], np.int64) for key in keys),
        np.array([found[key][1] for key in keys], np.int64),
    )
