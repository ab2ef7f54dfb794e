"""How far an attacker must find a cell movable: linear programs that differ only in their bounds.

The program of one need: move the cell as far as possible while all relations keep their sums and
every cell stays within its room, which is none where the cell is published. Amounts are measured in
units of the need, so that 1 is enough.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ..threats.problem import Problem
from .merged import Merged, merge
from .needs import DOWN, SLIDE, UP, Needs, needs_of
from .reach_lp import BaseProgram, CellProgram
from .spanning import independent, totals_last

ENOUGH = 1 - 1e-7
"""A need counts as met from this share of it on."""
_FAR = 1e7
"""Room that is larger, in units of the need, is as good as unbounded."""


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a cell can be moved, and why no farther."""

    far: float
    """In units of the need."""
    moves: tuple[Floats, ...]
    """The movement (for SLIDE: upwards, downwards), in units of the table."""
    weights: tuple[Floats, ...]
    """For each movement what a unit of every cell's room would add to it, positive for room above,
    negative for room below: the solution of the dual program."""


class Attacker:
    """One linear program for all needs of a problem; only its bounds and its aim change."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        loose = problem.with_(fixed=problem.fixed & ~problem.primary)
        self.merged: Merged = merge(loose)
        self.needs: Needs = needs_of(problem, self.merged.group, self.merged.sign)
        self.size = self.merged.n
        self.room_above, self.room_below = self.merged.up, self.merged.down
        self.aim: Ints = self.needs.group
        self.known = self.needs.known
        self.sure: Bools = self._sure()
        """Groups that are hidden in any protection."""
        within, span = independent(totals_last(self.merged.relations))
        self.matrix = within.matrix
        self.deadline = np.inf
        """After this a program is broken off by a TimeoutError."""
        # Deep hierarchies have many more totals than base cells: a program over these is small.
        deep = span is not None and span.totals.size > 2 * span.base.size
        self.program = BaseProgram(span) if span is not None and deep else CellProgram(within)
        self._bases: dict[tuple[int, int], Any] = {}

    def _sure(self) -> Bools:
        every = np.ones(self.size, bool)
        movable = self.merged.group >= 0
        every[self.merged.group[movable & ~self.problem.primary]] = False
        every[self.aim[self.aim >= 0]] = True
        return every

    def solve(self, highs: Any) -> bool:
        """Solve a program, if need be once more from nothing; whether that was possible.

        A TimeoutError where the deadline passes meanwhile.
        """
        for clear in (False, True):
            if clear:
                highs.clearSolver()
            left = max(self.deadline - time.monotonic(), 0.05)
            highs.setOptionValue("time_limit", highs.getRunTime() + left)
            highs.run()
            status = highs.getModelStatus().name
            if status == "kTimeLimit":
                raise TimeoutError
            if status == "kOptimal":
                return True
        return False

    def reach(self, x: Floats, need: int, *, exact: bool) -> Reach:
        """How far the need's cell can be moved where group i has the share x[i] of its
        room. Unless `exact`, no cell moves by more than the need: quicker, and a smaller reach
        may be found than there is."""
        way = int(self.needs.way[need])
        if self.aim[need] < 0:
            nothing = (np.zeros(self.size),)
            return Reach(0.0, nothing, nothing)
        if way != SLIDE:
            far, moves, weights = self._one(x, need, way, exact)
            return Reach(far, (moves,), (weights,))
        up, moves_up, weights_up = self._one(x, need, UP, exact)
        down, moves_down, weights_down = self._one(x, need, DOWN, exact)
        return Reach(up + down, (moves_up, moves_down), (weights_up, weights_down))

    def _one(self, x: Floats, need: int, way: int, exact: bool) -> tuple[float, Floats, Floats]:
        size = self.needs.size[need]
        cap = _FAR if exact else 1.0
        hidden = x > 1e-12
        with np.errstate(invalid="ignore"):
            upper = np.where(hidden, np.minimum(self.room_above / size * x, cap), 0.0)
            lower = np.where(hidden, -np.minimum(self.room_below / size * x, cap), 0.0)
        upper[self.known[need]] = lower[self.known[need]] = 0.0
        p = int(self.aim[need])
        upper[p], lower[p] = min(upper[p], 1.0), max(lower[p], -1.0)
        key = (p, way)
        highs = self.program.highs
        self.program.set_objective(p, way, lower, upper)
        basis = self._bases.get(key)
        if basis is not None:
            highs.setBasis(basis)
        if not self.solve(highs):
            # Never seen; were it to happen, nothing is claimed: neither a movement nor a cut.
            highs.clearSolver()
            return 0.0, np.zeros(x.size), np.zeros(x.size)
        self._bases[key] = highs.getBasis()
        moves, weights = self.program.solved(p, way)
        weights[np.abs(weights) < 1e-9] = 0.0
        near = np.round(weights)
        weights = np.where(np.abs(weights - near) < 1e-9, near, weights)
        weights[self.known[need]] = 0.0
        return float(way * moves[p]), moves * size, weights
