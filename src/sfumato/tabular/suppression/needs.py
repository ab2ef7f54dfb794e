"""What has to be shown for a table to be protected, one movement of one group at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.arrays import Floats, Ints
from ..threats.problem import Problem

UP, DOWN, SLIDE = 1, -1, 0


@dataclass(frozen=True, eq=False)
class Needs:
    """Need k: group[k] must be movable by size[k] upwards (way UP) or downwards (DOWN), or both
    ways together (SLIDE), while the groups known[k] stay where they are."""

    group: Ints
    """-1 where the cell cannot be moved by anything."""
    way: Ints
    size: Floats
    known: tuple[Ints, ...]
    cell: Ints
    """A cell of the group that asks for it, ..."""
    threat: Ints
    """... and its threat."""
    threats: tuple[Ints, ...]
    """All threats that a movement for this need serves."""

    def __len__(self) -> int:
        return int(self.group.size)


def needs_of(problem: Problem, group: Ints, sign: Floats) -> Needs:
    """The needs of a problem: nothing that is 0, nothing twice, the largest of equals.

    Cells of a group move together, those of the other sign the other way. Room beyond the
    attacker's own bounds cannot be had by any protection, so it is not asked for.
    """
    threats = problem.threats
    # Cells that cannot move are kept apart: -1 - cell.
    Key = tuple[int, tuple[int, ...]]
    found: dict[tuple[Key, int], tuple[float, int]] = {}
    served: dict[Key, list[int]] = {}
    for t in range(len(threats)):
        p = int(threats.cell[t])
        above = problem.upper[p] - problem.values[p]
        below = problem.values[p] - problem.lower[p]
        g, turn = int(group[p]), int(sign[p])
        others = threats.known(t)
        known = np.unique(group[others[others != p]])
        key = (g if g >= 0 else -1 - p, tuple(known[known >= 0].tolist()))
        served.setdefault(key, []).append(t)
        for way, size in (
            (turn * UP, min(threats.up[t], above)),
            (turn * DOWN, min(threats.down[t], below)),
            (SLIDE, min(threats.slide[t], above + below)),
        ):
            # Noise in the bounds of large values is no need.
            if size > 1e-12 * abs(problem.values[p]) and size > found.get((key, way), (0.0,))[0]:
                found[key, way] = (float(size), t)
    for key, way in list(found):
        both = found.get((key, UP), (0.0,))[0] + found.get((key, DOWN), (0.0,))[0]
        if way == SLIDE and found[key, way][0] <= both:
            del found[key, way]
    keys = list(found)
    threat = np.array([found[one][1] for one in keys], np.int64)
    return Needs(
        np.array([max(key[0], -1) for key, _ in keys], np.int64),
        np.array([way for _, way in keys], np.int64),
        np.array([found[one][0] for one in keys]),
        tuple(np.array(key[1], np.int64) for key, _ in keys),
        threats.cell[threat],
        threat,
        tuple(np.array(served[key], np.int64) for key, _ in keys),
    )
