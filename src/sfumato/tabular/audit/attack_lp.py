"""One linear program with many objectives: how far each cell of a component can move.

Only the objective changes from cell to cell, so the last vertex stays feasible, and the primal
simplex goes on from it. Whatever the solver says of a vertex is checked by adding up: a vertex that
breaks a relation proves nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..highs import model, solver

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...kernels.arrays import Floats, Ints

SIZE = 1e3
"""The largest bound of a program after scaling; with the tolerance of 1e-9 this leaves twelve
digits."""
TIGHT, LOOSE = 1e-9, 1e-7
DUAL, PRIMAL = 1, 4
"""HiGHS's simplex strategies."""


@dataclass(frozen=True, eq=False)
class Vertex:
    """A move that a program found."""

    move: Floats
    off: float
    """By how much it misses a relation or a bound, at most."""
    best: bool
    """Whether no other move goes further."""


class Program:
    """The moves of some classes of cells: matrix @ move = 0, low <= move <= high."""

    def __init__(
        self,
        matrix: csr_array,
        low: Floats,
        high: Floats,
        reach: float,
        deadline: float | None = None,
    ) -> None:
        import highspy

        self.matrix, self.low, self.high = matrix, low, high
        self.deadline = deadline
        self.scale = 2.0 ** np.round(np.log2(SIZE / reach)) if reach > 0 else 1.0
        self.grain = 10 * TIGHT / self.scale
        """What the solver cannot tell from nothing."""
        self.held: Ints = np.empty(0, np.int64)
        self._statuses = highspy.HighsModelStatus
        rows, columns = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[1])
        self.highs: Any = solver(
            presolve="off",
            primal_feasibility_tolerance=TIGHT,
            dual_feasibility_tolerance=TIGHT,
        )
        self.highs.passModel(
            model(matrix, columns, low * self.scale, high * self.scale, rows, rows)
        )
        self.started = False

    def late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def hold(self, columns: Ints) -> None:
        """Keep these where they are until `free`: an attacker knows them."""
        zero = np.zeros(columns.size)
        self._bound(columns, zero, zero)
        self.held = columns

    def free(self) -> None:
        """Let go of what was held."""
        held = self.held
        self._bound(held, self.low[held] * self.scale, self.high[held] * self.scale)
        self.held = held[:0]

    def _bound(self, columns: Ints, low: Floats, high: Floats) -> None:
        if columns.size:
            self.highs.changeColsBounds(columns.size, columns.astype(np.int32), low, high)

    def basis(self) -> Any:
        """Where the solver stands, for another program of the same shape."""
        return self.highs.getBasis()

    def begin(self, basis: Any) -> None:
        """Go on from there."""
        self.started = self.highs.setBasis(basis).name == "kOk"

    def towards(self, weights: Floats, *, interior: bool = False) -> Vertex:
        """A vertex that goes far by these weights, to start from; by an interior point method where
        the program is so large that the simplex takes long from nothing."""
        every = np.arange(weights.size, dtype=np.int32)
        self.highs.changeColsCost(weights.size, every, -weights)
        if interior:
            self.highs.setOptionValue("solver", "ipm")
            self.highs.setOptionValue("presolve", "on")
            best = self._tried()
            self.highs.setOptionValue("solver", "choose")
            self.highs.setOptionValue("presolve", "off")
            self.started = best
            found = self._checked(best)
        else:
            found = self._run()
        self.highs.changeColsCost(weights.size, every, np.zeros(weights.size))
        return found

    def farthest(self, column: int, sign: float) -> Vertex:
        """A move that takes this class as far as it goes, upwards (1) or downwards (-1)."""
        self.highs.changeColCost(column, -sign)
        found = self._run()
        self.highs.changeColCost(column, 0.0)
        return found

    def _run(self) -> Vertex:
        highs = self.highs
        highs.setOptionValue("simplex_strategy", PRIMAL if self.started else DUAL)
        best = self._tried()
        if not best and not self.late():
            # A basis that went bad: once more from nothing, and if need be less strictly.
            highs.clearSolver()
            highs.setOptionValue("simplex_strategy", DUAL)
            best = self._tried()
            if not best and not self.late():
                highs.clearSolver()
                highs.setOptionValue("primal_feasibility_tolerance", LOOSE)
                highs.setOptionValue("dual_feasibility_tolerance", LOOSE)
                best = self._tried()
                highs.setOptionValue("primal_feasibility_tolerance", TIGHT)
                highs.setOptionValue("dual_feasibility_tolerance", TIGHT)
        self.started = best
        return self._checked(best)

    def _tried(self) -> bool:
        if self.deadline is not None:
            left = max(self.deadline - time.monotonic(), 0.0)
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + left)
        self.highs.run()
        return bool(self.highs.getModelStatus() == self._statuses.kOptimal)

    def _checked(self, best: bool) -> Vertex:
        """The solver's vertex in the table's units, and how far it is from being a table."""
        move = np.asarray(self.highs.getSolution().col_value, dtype=np.float64)
        if move.size != self.low.size or not np.isfinite(move).all():
            return Vertex(np.zeros(self.low.size), 0.0, False)
        # Powers of two: scaling back loses nothing, and clipping makes the bounds exact.
        move = np.clip(move / self.scale, self.low, self.high)
        move[self.held] = 0.0
        off = float(np.abs(self.matrix @ move).max(initial=0.0))
        return Vertex(move, off, best)
