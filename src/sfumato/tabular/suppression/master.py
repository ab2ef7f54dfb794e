"""The master program: the cheapest cells that satisfy all inequalities found so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..highs import solver
from .cuts import Cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...kernels.arrays import Bools, Floats


def _empty(costs: Floats, lower: Floats, upper: Floats) -> Any:
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = costs.size, 0
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, lower, upper
    lp.row_lower_ = lp.row_upper_ = np.empty(0)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.zeros(1, np.int32)
    return lp


def _add(highs: Any, cuts: Sequence[Cut]) -> None:
    if not cuts:
        return
    starts = np.cumsum([0, *(cut.cells.size for cut in cuts)]).astype(np.int32)
    highs.addRows(
        len(cuts),
        np.array([cut.least for cut in cuts]),
        np.full(len(cuts), np.inf),
        int(starts[-1]),
        starts[:-1],
        np.concatenate([cut.cells for cut in cuts]).astype(np.int32),
        np.concatenate([cut.coefs for cut in cuts]),
    )


class Master:
    """Cuts and the linear program over them; cuts that lie idle leave the program for the pool."""

    def __init__(self, costs: Floats, sure: Bools) -> None:
        self.costs = np.where(sure, 0.0, costs)
        self.lower = np.where(sure, 1.0, 0.0)
        self.upper = np.ones(costs.size)
        # A usual cost, not the largest: what the solver takes for equal must be less than a step.
        dear = self.costs[self.costs > 0]
        self.unit = float(np.median(dear)) if dear.size else 1.0
        """Costs are divided by this: the solver's tolerances are absolute."""
        self.cuts: list[Cut] = []
        self._keys: set[bytes] = set()
        self._inside = np.empty(0, np.int64)
        self._idle = np.empty(0, np.int64)
        self._rows: Any = None
        self._pooled: Any = None
        self.local = (self.lower.copy(), self.upper.copy())
        self._settled = False
        self._root: tuple[float, Floats] = (-np.inf, self.costs)
        self.highs = solver(simplex_scale_strategy=0)
        self.highs.passModel(_empty(self.costs / self.unit, self.lower, self.upper))
        self.x: Floats = self.lower.copy()
        self.bound = 0.0
        self.reduced: Floats = self.costs.copy()

    def add(self, cuts: Sequence[Cut]) -> int:
        """Take in those that are new."""
        new = []
        for cut in cuts:
            if cut.key not in self._keys:
                self._keys.add(cut.key)
                new.append(cut)
        self._enter(range(len(self.cuts), len(self.cuts) + len(new)), new)
        self.cuts += new
        return len(new)

    def _enter(self, numbers: Sequence[int], cuts: Sequence[Cut]) -> None:
        self._inside = np.concatenate((self._inside, np.array(numbers, np.int64)))
        self._idle = np.concatenate((self._idle, np.zeros(len(numbers), np.int64)))
        _add(self.highs, cuts)
        if cuts:
            self._rows = None

    def _matrix(self, cuts: Sequence[Cut]) -> Any:
        from scipy.sparse import csr_array

        starts = np.cumsum([0, *(cut.cells.size for cut in cuts)])
        none: list[Any] = [np.empty(0)]
        return csr_array(
            (
                np.concatenate([cut.coefs for cut in cuts] + none),
                np.concatenate([cut.cells for cut in cuts] + none).astype(np.int64),
                starts,
            ),
            shape=(len(cuts), self.costs.size),
        )

    def bounds(self, lower: Floats, upper: Floats) -> None:
        """Solve with these bounds from now on, within the ones of the whole search."""
        self.local = (np.maximum(lower, self.lower), np.minimum(upper, self.upper))
        self._settled = bool((lower > self.lower).any() or (upper < self.upper).any())
        every = np.arange(lower.size, dtype=np.int32)
        self.highs.changeColsBounds(lower.size, every, *self.local)

    def solve(self, seconds: float, cutoff: float = np.inf) -> bool:
        """Solve the linear program; False where the time did not suffice.

        Where nothing satisfies the inequalities, or nothing below the cutoff, the bound says so.
        """
        lower, upper = self.local
        if (lower > upper).any():
            self.bound = np.inf
            return True
        highs = self.highs
        highs.setOptionValue("time_limit", highs.getRunTime() + max(seconds, 0.01))
        highs.setOptionValue("objective_bound", min(cutoff / self.unit, 1e300))
        highs.run()
        status = highs.getModelStatus().name
        if status == "kInfeasible":
            self.bound = np.inf
            return True
        if status not in ("kOptimal", "kObjectiveBound"):
            return False
        solution = highs.getSolution()
        self.x = np.clip(np.asarray(solution.col_value), lower, upper)
        duals = np.maximum(np.asarray(solution.row_dual), 0.0)
        if self._rows is None:
            cuts = [self.cuts[n] for n in self._inside]
            self._rows = self._matrix(cuts)
            self._turned = self._rows.T.tocsr()
            self._least = np.array([cut.least for cut in cuts])
        if duals.size:
            idle = np.asarray(solution.row_value) > self._least + 1e-6
            self._idle = np.where(idle, self._idle + 1, 0)
        # The bound is added up from the duals, so that no tolerance of the solver is in it.
        reduced = self.costs / self.unit - (self._turned @ duals if duals.size else 0.0)
        total = float(duals @ self._least) if duals.size else 0.0
        total += float(np.where(reduced > 0, lower, upper) @ reduced)
        self.reduced = reduced * self.unit
        self.bound = total * self.unit
        if self.bound > self._root[0] and not self._settled:
            self._root = (self.bound, self.reduced)
        return True

    def probe(self, bound: float) -> float:
        """By how much the bound rises under the bounds now set, judged by a few iterations."""
        keep = self.x, self.bound, self.reduced, self._idle
        self.highs.setOptionValue("simplex_iteration_limit", 100)
        self.highs.setOptionValue("objective_bound", 1e300)
        self.highs.run()
        self.highs.setOptionValue("simplex_iteration_limit", 2**31 - 1)
        status = self.highs.getModelStatus().name
        if status == "kInfeasible":
            gain = np.inf
        else:
            value = self.highs.getInfo().objective_function_value * self.unit
            gain = max(value - bound, 0.0) if status in ("kOptimal", "kIterationLimit") else 0.0
        self.x, self.bound, self.reduced, self._idle = keep
        return gain

    def purge(self, after: int = 10) -> None:
        """Take cuts out of the program that were slack that often in a row."""
        old = self._idle >= after
        if old.sum() < 50:
            return
        self.highs.deleteRows(int(old.sum()), np.flatnonzero(old).astype(np.int32))
        self._inside, self._idle = self._inside[~old], self._idle[~old]
        self._rows = None

    def recall(self, x: Floats, slack: float = 1e-6) -> int:
        """Bring back cuts of the pool that x misses."""
        if self._pooled is None or self._pooled[0].shape[0] < 0.9 * len(self.cuts):
            self._pooled = (self._matrix(self.cuts), np.array([cut.least for cut in self.cuts]))
        matrix, least = self._pooled
        missed = np.flatnonzero(least - matrix @ x > slack)
        back = np.setdiff1d(missed, self._inside)
        self._enter(back.tolist(), [self.cuts[n] for n in back])
        return int(back.size)

    def fix(self, best: float, step: float) -> int:
        """Settle cells that no protection cheaper than `best` has otherwise: by reduced costs."""
        bound, reduced = self._root
        room = best - step - bound + 1e-9 * max(abs(best), 1.0)
        if not np.isfinite(room):
            return 0
        open_ = self.lower < self.upper
        never = open_ & (reduced > room)
        always = open_ & (-reduced > room)
        self.upper[never], self.lower[always] = 0.0, 1.0
        changed = np.flatnonzero(never | always).astype(np.int32)
        if changed.size and not self._settled:
            self.bounds(self.lower, self.upper)
        return int(changed.size)

    def integer(
        self, seconds: float, gap: float, start: Floats
    ) -> tuple[list[Floats], float, bool]:
        """Solve with whole x: (solutions found, bound, whether it was solved to the gap)."""
        import highspy

        highs = solver(mip_rel_gap=gap, mip_abs_gap=0.0, time_limit=max(seconds, 0.05))
        highs.passModel(_empty(self.costs / self.unit, self.lower, self.upper))
        _add(highs, self.cuts)
        n = self.costs.size
        every = np.arange(n, dtype=np.int32)
        highs.changeColsIntegrality(n, every, np.full(n, highspy.HighsVarType.kInteger))
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        highs.setSolution(solution)
        found: list[Floats] = []
        highs.setOptionValue("mip_improving_solution_save", True)
        highs.run()
        status = highs.getModelStatus().name
        info = highs.getInfo()
        if status == "kInfeasible":
            return [], np.inf, True
        for saved in highs.getSavedMipSolutions():
            found.append(np.round(np.asarray(saved.col_value)))
        values = np.asarray(highs.getSolution().col_value)
        if values.size == n and status in ("kOptimal", "kTimeLimit", "kInterrupt"):
            last = np.round(values)
            if np.isfinite(info.objective_function_value) and info.primal_solution_status == 2:
                found.append(last)
        return found[::-1], float(info.mip_dual_bound) * self.unit, status == "kOptimal"
