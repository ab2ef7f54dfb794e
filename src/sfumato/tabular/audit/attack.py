"""An attack on a table whose true values are not at hand, such as one that another tool protected.

One table that agrees with the publication is found first; from there on everything is as in an
audit, in moves away from that table.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from ...errors import MethodError
from ..highs import model, solver
from .feasible_ranges import DOWN, UP, FeasibleRanges
from .presolve import moves
from .range_search import search_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...kernels.arrays import Bools, Floats, Ints
    from ..cells.relations import Relations

ADDS_UP = 1e-9
"""What a relation may be off, relative to the sum of the sizes of its cells."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """What an attacker knows of some cells: each lies between low and high, and both are
    possible."""

    cells: Ints
    low: Floats
    high: Floats
    exact: Bools
    """Whether both ends are the ends themselves; else the interval is at least so wide."""
    disclosed: Bools
    """Cells whose interval is a point, or narrower than the share `narrow` of its middle."""
    programs: int = 0


def attack(
    relations: Relations,
    lower: Floats,
    upper: Floats,
    cells: Sequence[int] | Ints,
    *,
    narrow: float = 0.0,
    seconds: float | None = None,
) -> Intervals:
    """The interval of each of these cells, where all that is known is lower <= cell <= upper and
    the relations. Published cells have lower = upper; where they are printed rounded, give the
    interval of the rounding."""
    deadline = None if seconds is None else time.monotonic() + seconds
    lower, upper = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    base = possible(relations, lower, upper)
    same = lower == upper
    low = np.where(same, 0.0, np.minimum(lower - base, 0.0))
    high = np.where(same, 0.0, np.maximum(upper - base, 0.0))
    system = moves(relations, low, high)
    which = np.asarray(cells, dtype=np.int64)
    live = np.flatnonzero(system.of[which] >= 0)
    of, back = np.unique(system.of[which[live]], return_inverse=True)
    none = np.zeros((2, of.size))
    ranges = FeasibleRanges.at(system, of, [()] * of.size, none, none[0], none[0] > 0)
    programs = search_ranges(system, ranges, exact=True, deadline=deadline)
    factor = system.factor[which[live]]
    ends = factor * (0.0 - ranges.inner[DOWN, back]), factor * ranges.inner[UP, back]
    down, up = np.zeros(which.size), np.zeros(which.size)
    down[live], up[live] = np.minimum(*ends), np.maximum(*ends)
    exact = np.ones(which.size, bool)
    exact[live] = ranges.exact()[back]
    found = base[which] + down, base[which] + up
    width = up - down
    with np.errstate(invalid="ignore"):
        middle = np.abs(found[0] + found[1]) / 2
        little = np.isfinite(width) & (width <= np.maximum(narrow * middle, 1e-9 * middle))
    return Intervals(which, *found, exact, exact & little, programs)


def possible(relations: Relations, lower: Floats, upper: Floats) -> Floats:
    """A table that agrees with what is published; an error where there is none."""
    import highspy

    crossed = np.flatnonzero((lower > upper) | np.isnan(lower) | np.isnan(upper))
    if crossed.size:
        cell = int(crossed[0])
        raise MethodError(
            f"cell {cell} is said to lie between {lower[cell]:.10g} and {upper[cell]:.10g}",
            remedy="give each cell a lower bound that is not above its upper one",
        )
    free = np.flatnonzero(lower < upper)
    base: Floats = np.where(lower < upper, 0.0, lower)
    rest = -relations.sums(base)
    size = np.asarray(abs(relations.matrix) @ np.abs(base))
    part = csr_array(relations.matrix[:, free])
    rows = np.diff(part.indptr) > 0
    off = np.flatnonzero(~rows & (np.abs(rest) > ADDS_UP * size))
    if off.size:
        raise MethodError(
            f"what is published contradicts itself: relation {int(off[0])} adds up to "
            f"{-rest[off[0]]:.6g} instead of 0",
            remedy="where numbers are printed rounded, give the interval of the rounding",
        )
    if not free.size:
        return base
    part = csr_array(part[rows])
    bounds = np.concatenate((lower[free], upper[free], rest[rows]))
    scale = float(np.abs(bounds[np.isfinite(bounds)]).max(initial=0.0)) or 1.0
    scale = float(2.0 ** np.round(np.log2(1e3 / scale)))
    slack = np.where(np.abs(rest[rows]) > 0, ADDS_UP * size[rows], 0.0)
    lp = model(
        part,
        np.zeros(free.size),
        lower[free] * scale,
        upper[free] * scale,
        (rest[rows] - slack) * scale,
        (rest[rows] + slack) * scale,
    )
    highs = solver(primal_feasibility_tolerance=1e-9)
    highs.passModel(lp)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise MethodError(
            "what is published contradicts itself: no table keeps all relations and bounds",
            remedy="check the bounds, and give the interval of the rounding where numbers are "
            "printed rounded",
        )
    base[free] = np.clip(
        np.asarray(highs.getSolution().col_value) / scale, lower[free], upper[free]
    )
    return base
