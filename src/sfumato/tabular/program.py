"""One linear or integer program, from arrays to a solution with its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.arrays import Bools, Floats
from .highs import model, solver

WHOLE = 1e-6
"""How far from a whole number still counts as one."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The best point that was found, its objective, and a bound that no point beats."""

    x: Floats
    objective: float
    bound: float
    proven: bool


class Infeasible(Exception):
    """No point meets all constraints."""


class OutOfTime(Exception):
    """The time ended before any point was found."""


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise costs * x where row_lower <= matrix x <= row_upper and lower <= x <= upper."""

    matrix: Any
    """scipy.sparse, rows by variables."""
    costs: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats
    whole: Bools | None = None
    """Variables that must be whole numbers."""

    def solve(
        self,
        *,
        seconds: float,
        gap: float = 1e-9,
        start: Floats | None = None,
        relaxed: bool = False,
    ) -> Solution:
        """The optimum, or the best point when the time is up. `start` is a point to begin with."""
        import highspy

        found = solver(time_limit=max(seconds, 0.01))
        integer = self.whole is not None and not relaxed and bool(self.whole.any())
        if integer:
            found.setOptionValue("mip_rel_gap", gap)
            found.setOptionValue("mip_abs_gap", 0.0)
        else:
            found.setOptionValue("primal_feasibility_tolerance", 1e-9)
        found.passModel(self._model(integer))
        if start is not None and integer:
            given = highspy.HighsSolution()
            given.col_value = list(start)
            found.setSolution(given)
        found.run()
        status = found.getModelStatus()
        kinds = highspy.HighsModelStatus
        if status in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):
            raise Infeasible
        information = found.getInfo()
        usable = information.primal_solution_status == 2
        optimal = status == kinds.kOptimal
        if not usable or (not integer and not optimal):
            raise OutOfTime
        value = float(information.objective_function_value)
        bound = float(information.mip_dual_bound) if integer else value
        return Solution(np.array(found.getSolution().col_value), value, bound, optimal)

    def _model(self, integer: bool) -> Any:
        import highspy

        lp = model(
            self.matrix.tocsr(), self.costs, self.lower, self.upper, self.row_lower, self.row_upper
        )
        if integer and self.whole is not None:
            kind = highspy.HighsVarType
            lp.integrality_ = [kind.kInteger if w else kind.kContinuous for w in self.whole]
        return lp
