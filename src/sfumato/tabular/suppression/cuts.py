"""Inequalities that every protecting set of hidden cells satisfies.

All have the form sum of coefs * x >= 1 over cells that may be hidden or published, x = 1 if hidden;
a cell that is only useful together with others has the form x[cell] <= sum of x over them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from .attack import Attacker, Reach

_LEAST = 1e-6
"""Smaller coefficients are raised to this: still true, and no trouble for the solver."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The sum of coefs * x[cells] is at least `least`."""

    cells: Ints
    coefs: Floats
    least: float = 1.0

    def short(self, x: Floats | Bools) -> float:
        """By how much x misses it; negative where it keeps it."""
        return float(self.least - self.coefs @ x[self.cells])

    @property
    def key(self) -> bytes:
        """Equal for equal cuts."""
        return self.cells.tobytes() + np.round(self.coefs, 7).tobytes() + str(self.least).encode()


def capacity(attacker: Attacker, need: int, reach: Reach, sure: Bools) -> Cut | None:
    """The room that has to be opened if the need is to be met (Fischetti & Salazar-Gonzalez 2000).

    The dual program weighs the room of every cell; the hidden cells' weighted room is no less than
    the movement. No cell counts for more than what is missing when the sensitive ones (`sure`) are
    hidden, so that rooms without an end do no harm. None where the sensitive cells alone suffice.
    """
    size = attacker.needs.size[need]
    worth = np.zeros(sure.size)
    for weights in reach.weights:
        with np.errstate(invalid="ignore"):
            above = np.where(weights > 0, weights * attacker.room_above, 0.0)
            below = np.where(weights < 0, -weights * attacker.room_below, 0.0)
        worth += above + below
    worth /= size
    missing = 1.0 - float(worth[sure].sum())
    if not missing > 1e-7:
        return None
    cells = np.flatnonzero((worth > 0) & ~sure)
    if not cells.size:
        return None
    coefs = np.clip(worth[cells] / missing, _LEAST, 1.0)
    return Cut(cells, coefs)


def _norm(coefs: Floats) -> float:
    return float(np.linalg.norm(coefs))


def rounded(cut: Cut, x: Floats, tries: int = 8) -> Cut | None:
    """A stronger cut by mixed-integer rounding, if one is found that x misses by more.

    Cells that x hides for the greater part are counted by their absence first: this makes covers of
    the knapsack that a capacity cut is.
    """
    at = x[cut.cells]
    best: tuple[Floats, float] | None = None
    most = max(cut.short(x), 0.0) / max(_norm(cut.coefs), 1e-9) + 1e-4
    fractional = np.unique(np.round(cut.coefs[(at > 1e-6) & (at < 1 - 1e-6)], 9))
    if not fractional.size:
        return None
    if fractional.size > tries:
        fractional = fractional[np.linspace(0, fractional.size - 1, tries).astype(int)]
    for flip in (at > 0.5, np.zeros(at.size, bool)):
        signed = np.where(flip, -cut.coefs, cut.coefs)
        rest = cut.least - float(cut.coefs[flip].sum())
        turned = np.where(flip, 1 - at, at)
        for unit in fractional:
            scaled, target = signed / unit, rest / unit
            share = target - np.floor(target)
            if share < 1e-3 or share > 1 - 1e-6:
                continue
            whole = np.floor(scaled + 1e-9)
            coefs = whole + np.minimum(np.maximum(scaled - whole, 0.0) / share, 1.0)
            short = np.ceil(target) - coefs @ turned
            if short / max(_norm(coefs), 1e-9) > most:
                most = short / _norm(coefs)
                least = np.ceil(target) - coefs[flip].sum()
                best = (np.where(flip, -coefs, coefs), float(least))
        if not flip.any():
            break
    if best is None:
        return None
    coefs, least = best
    coefs = np.where(np.abs(coefs) < 1e-9, 0.0, coefs)
    if coefs.min(initial=0.0) < 0 or least <= 1e-9:
        return None
    kept = coefs > 0
    return Cut(cut.cells[kept], np.clip(coefs[kept] / least, _LEAST, 1.0))


def companions(attacker: Attacker, x: Floats, sure: Bools) -> list[Cut]:
    """Cells that x hides more than all others of a relation together.

    A cell that is hidden alone in a relation can be worked out and so protects nothing; there is a
    cheapest protection without it.
    """
    matrix, found = attacker.matrix, []
    total = np.asarray(abs(matrix).sign() @ x)
    at = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    over = 2 * x[matrix.indices] > total[at] + 1e-6
    for entry in np.flatnonzero(over & ~sure[matrix.indices]):
        row = at[entry]
        cells = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].astype(np.int64)
        found.append(Cut(cells, np.where(cells == matrix.indices[entry], -1.0, 1.0), 0.0))
    return found
