"""From where controlled adjustment could have moved a cell to where it is, by its own rules."""

from __future__ import annotations

import numpy as np

from ...kernels.arrays import Bools, Floats
from ..audit.inversion import Needs
from ..cells.table import CellTable
from ..threats.problem import Problem

NONE = (np.inf, -np.inf)
"""A stretch without any value."""
TINY = 1e-6
"""By what share a move may exceed what was drawn, for rounding errors."""


def came_from(
    values: Floats, published: Floats, needs: Needs, most: float, grain: float = 0.0
) -> Floats:
    """The values that moves between the need and `most` times it, rounded up to multiples of
    `grain`, bring to what is published: float[cells, 2, 2], those that went up and those that went
    down, as amounts on the value's side of 0.

    A cell that adding up took further than that could have come from anywhere beyond its need: to
    take it for one of the others would be an error.
    """
    share, amount = needs.rate > 0, np.abs(values)
    y = np.where(values < 0, -published, published)
    size = np.where(share, np.maximum(amount, 1e-300), 1.0)
    up, down = needs.up / size, needs.down / size
    drawn = (1.0 + TINY) * most * np.where(y > amount, needs.up, needs.down) + (1.0 + TINY) * grain
    times = np.where(np.abs(y - amount) > drawn, np.inf, most)
    high, low = np.maximum(y - grain, 0.0), y + grain
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.where(down < 1, y / (1.0 - down), 0.0)
        far = np.where(times * down < 1, low / (1.0 - times * down), np.inf)
        rose = (
            np.where(share, high / (1.0 + times * up), high - times * up),
            np.where(share, y / (1.0 + up), y - up),
        )
        fell = np.where(share, near, y + down), np.where(share, far, low + times * down)
    pieces: Floats = np.stack((np.stack(rose, axis=1), np.stack(fell, axis=1)), axis=1)
    pieces[:, :, 0] = np.maximum(pieces[:, :, 0], 0.0)
    pieces[up <= 0, 0] = pieces[down <= 0, 1] = NONE
    return pieces


def small_counts(table: CellTable, problem: Problem) -> tuple[Bools, float]:
    """Sensitive counts that nobody may tell from the next one, and the greatest of them.

    A move by a few would tell them, for the counts that are sensitive are few as well. So whatever
    such a count is, it goes above the greatest of them."""
    up, down = problem.needs
    few = problem.primary & table.is_count & (np.maximum(up, down) <= 1.0) & (up + down > 0)
    return few, max(problem.few, float(problem.values[few].max(initial=0.0)))


def counts_from(published: Floats, lower: Floats, greatest: float) -> Floats:
    """The counts from which small ones could have come to what is published; and that itself, as
    nobody sees whether it was sensitive: float[cells, 2, 2]."""
    below = np.stack((np.maximum(lower, 0.0), np.minimum(greatest, published - 1.0)), axis=1)
    itself = np.stack((published, published), axis=1)
    itself[published <= greatest] = NONE
    found: Floats = np.stack((below, itself), axis=1)
    return found


def unbounded(problem: Problem, up: Floats, down: Floats) -> tuple[Floats, Floats]:
    """Needs as other values would have them: a bound that is near the value cuts its need, and so
    would tell it."""
    above, below = problem.upper - problem.values, problem.values - problem.lower
    near = 1.0 - 1e-9
    return (
        np.where(up >= near * above, np.maximum(up, down), up),
        np.where(down >= near * below, np.maximum(up, down), down),
    )
