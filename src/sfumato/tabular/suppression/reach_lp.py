"""The attacker's linear program in two shapes: over all cells, or over the cells that span them.

Both answer the same question: how far can one cell move if each cell keeps to its bounds? The dual
solution comes as weights: whatever moves, the cell's movement is the weighted sum of all movements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.arrays import Floats, Ints
from ..cells.relations import Relations
from ..highs import load, model, solver
from .spanning import Span


def _solver() -> Any:
    return solver(
        presolve="off",
        primal_feasibility_tolerance=1e-9,
        dual_feasibility_tolerance=1e-9,
        simplex_scale_strategy=0,
    )


class CellProgram:
    """A column for every cell, an equation for every relation."""

    def __init__(self, relations: Relations) -> None:
        self.highs = _solver()
        zero = np.zeros(relations.n)
        load(self.highs, relations, zero, zero, zero)
        self._transposed = relations.matrix.T.tocsr()
        self._all = np.arange(relations.n, dtype=np.int32)
        self._aimed = -1

    def set_objective(self, cell: int, way: int, lower: Floats, upper: Floats) -> None:
        """Move this cell up (way 1) or down (-1) within these bounds of all cells."""
        if self._aimed not in (-1, cell):
            self.highs.changeColCost(self._aimed, 0.0)
        self._aimed = cell
        self.highs.changeColCost(cell, float(-way))
        self.highs.changeColsBounds(self._all.size, self._all, lower, upper)

    def solved(self, cell: int, way: int) -> tuple[Floats, Floats]:
        """Movements and weights of all cells."""
        solution = self.highs.getSolution()
        weights = self._transposed @ np.asarray(solution.row_dual)
        weights[cell] += way
        return np.asarray(solution.col_value), weights


class BaseProgram:
    """A column for every base cell, a row for every total: quicker where totals are many."""

    def __init__(self, span: Span) -> None:
        from scipy.sparse import csr_array, vstack

        self._base, self._totals = span.base, span.totals
        rows = csr_array(vstack([span.sums, span.rest]))
        rows.sum_duplicates()
        self._rows = rows
        self._transposed = rows.T.tocsr()
        self._spare = span.rest.shape[0]
        self._place: Ints = np.empty(span.base.size + span.totals.size, np.int64)
        self._place[span.base] = np.arange(span.base.size)
        self._place[span.totals] = np.arange(span.totals.size)
        self._is_total = np.zeros(self._place.size, bool)
        self._is_total[span.totals] = True
        self.highs = _solver()
        zero = np.zeros(span.base.size)
        free = np.zeros(rows.shape[0])
        self.highs.passModel(model(rows, zero, zero, zero, free, free))
        self._columns = np.arange(span.base.size, dtype=np.int32)
        self._ranges = np.arange(span.totals.size, dtype=np.int32)

    def _aim(self, cell: int, way: int) -> Floats:
        """The cell's movement in terms of the base cells."""
        found = np.zeros(self._base.size)
        at = int(self._place[cell])
        if self._is_total[cell]:
            part = slice(self._rows.indptr[at], self._rows.indptr[at + 1])
            found[self._rows.indices[part]] = way * self._rows.data[part]
        else:
            found[at] = way
        return found

    def set_objective(self, cell: int, way: int, lower: Floats, upper: Floats) -> None:
        """Move this cell up (way 1) or down (-1) within these bounds of all cells."""
        base, totals, highs = self._base, self._totals, self.highs
        highs.changeColsCost(base.size, self._columns, -self._aim(cell, way))
        highs.changeColsBounds(base.size, self._columns, lower[base], upper[base])
        highs.changeRowsBounds(totals.size, self._ranges, lower[totals], upper[totals])

    def solved(self, cell: int, way: int) -> tuple[Floats, Floats]:
        """Movements and weights of all cells."""
        solution = self.highs.getSolution()
        duals = np.asarray(solution.row_dual)
        moves, weights = np.empty(self._place.size), np.empty(self._place.size)
        moves[self._base] = solution.col_value
        moves[self._totals] = np.asarray(solution.row_value)[: self._totals.size]
        weights[self._base] = self._aim(cell, way) + self._transposed @ duals
        weights[self._totals] = -duals[: self._totals.size]
        return moves, weights
