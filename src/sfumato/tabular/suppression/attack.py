"""How far an attacker must find a cell movable: linear programs that differ only in their bounds.

The program of one need: move the cell as far as possible while all relations keep their sums and
every cell stays within its room, which is none where the cell is published. Amounts are measured in
units of the need, so that 1 is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..highs import load, solver
from ..relations import Relations
from .needs import DOWN, SLIDE, UP, Needs, needs_of

if TYPE_CHECKING:
    from ...kernels.blocks import Bools, Floats, Ints
    from ..problem import Problem

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


def independent(relations: Relations, movable: Bools) -> Relations:
    """Relations between movable cells, without those that follow from the others.

    Each cell that is somewhere the total is expressed by the others once; a relation that then says
    nothing is dropped. (Hierarchical cubes have twice as many relations as are independent.)
    """
    from scipy.sparse import csr_array, eye_array

    matrix = relations.matrix
    keep = movable[relations.cells]
    counts = np.bincount(relations.rows[keep], minlength=len(relations))
    starts = np.concatenate(([0], np.cumsum(counts)))
    matrix = csr_array((relations.coefs[keep], relations.cells[keep], starts), shape=matrix.shape)
    defined = np.zeros(relations.n, bool)
    defining: dict[int, int] = {}
    for row in range(len(relations)):
        at = slice(matrix.indptr[row], matrix.indptr[row + 1])
        totals = matrix.indices[at][matrix.data[at] == -1.0]
        if totals.size == 1 and not defined[totals[0]] and at.stop - at.start > 1:
            defined[totals[0]] = True
            defining[int(totals[0])] = row
    order = _bottom_up(matrix, defining)
    if order is None:
        return _nonempty(relations, matrix, counts > 0)
    # Expand the totals level by level until only cells that are nowhere a total remain.
    rows = np.array([defining[cell] for cell in order], np.int64)
    identity = eye_array(relations.n, format="csr")
    step = matrix[rows] + csr_array(
        (np.ones(rows.size), (np.arange(rows.size), order)), shape=(rows.size, relations.n)
    )
    pick = identity.copy().tolil()
    pick[order, :] = step
    expand, once = pick.tocsr(), pick.tocsr()
    for _ in range(64):
        following = expand @ once
        if abs(following - expand).nnz == 0:
            break
        expand = following
    left = matrix @ expand
    says = np.zeros(len(relations), bool)
    entry_rows = np.repeat(np.arange(len(relations)), np.diff(left.indptr))
    says[entry_rows[np.abs(left.data) > 1e-9]] = True
    says[rows] = True
    # What is left between base cells may repeat itself, as marginal totals do.
    others = np.flatnonzero(says & ~np.isin(np.arange(len(relations)), rows))
    seen: set[bytes] = set()
    for row in others:
        one = left[[row]]
        one.sum_duplicates()
        one.sort_indices()
        real = np.abs(one.data) > 1e-9
        data = one.data[real]
        key = one.indices[real].tobytes() + np.round(data / data[0], 9).tobytes()
        if key in seen:
            says[row] = False
        seen.add(key)
    return _nonempty(relations, matrix, says)


def _bottom_up(matrix: Any, defining: dict[int, int]) -> Ints | None:
    """The totals in an order in which addends come first; None where they go round in circles."""
    state = dict.fromkeys(defining, 0)
    order: list[int] = []
    for start in defining:
        stack = [start]
        while stack:
            cell = stack[-1]
            if state[cell] == 0:
                state[cell] = 1
                row = defining[cell]
                for below in matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist():
                    if below != cell and below in state:
                        if state[below] == 1:
                            return None
                        if state[below] == 0:
                            stack.append(below)
            else:
                stack.pop()
                if state[cell] == 1:
                    state[cell] = 2
                    order.append(cell)
    return np.array(order, np.int64)


def _nonempty(relations: Relations, matrix: Any, keep: Bools) -> Relations:
    rows = matrix[np.flatnonzero(keep)].tocoo()
    return Relations.of(
        rows.row.astype(np.int64), rows.col.astype(np.int64), rows.data, relations.n
    )


class Attacker:
    """One linear program for all needs of a problem; only its bounds and its aim change."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.needs: Needs = needs_of(problem)
        self.above: Floats = np.maximum(problem.upper - problem.values, 0.0)
        self.below: Floats = np.maximum(problem.values - problem.lower, 0.0)
        may = (problem.primary | ~problem.fixed) & ((self.above > 0) | (self.below > 0))
        self.movable: Bools = _not_alone(problem.relations, may)
        self.cells: Ints = np.flatnonzero(self.movable)
        self.relations = independent(problem.relations, self.movable)
        place = np.full(problem.n, -1)
        place[self.cells] = np.arange(self.cells.size)
        self.place: Ints = place
        kept = self.relations
        within = Relations(kept.starts, place[kept.cells], kept.coefs, self.cells.size)
        self.matrix = within.matrix
        self.transposed = within.matrix.T.tocsr()
        self.room_above, self.room_below = self.above[self.cells], self.below[self.cells]
        self.known = tuple(place[k][place[k] >= 0] for k in self.needs.known)
        self.aim: Ints = place[self.needs.cell]
        self.highs = solver(
            presolve="off",
            primal_feasibility_tolerance=1e-9,
            dual_feasibility_tolerance=1e-9,
            simplex_scale_strategy=0,
        )
        zero = np.zeros(self.cells.size)
        load(self.highs, within, zero, zero, zero)
        self._all = np.arange(self.cells.size, dtype=np.int32)
        self._aimed = -1
        self._bases: dict[tuple[int, int], Any] = {}
        self.programs = 0

    def reach(self, x: Floats, need: int, *, exact: bool) -> Reach:
        """How far the need's cell can be moved where cell i has the share x[i] (movable cells) of
        its room. Unless `exact`, no cell moves by more than the need: quicker, and a smaller reach
        may be found than there is."""
        way = int(self.needs.way[need])
        if self.aim[need] < 0:
            nothing = (np.zeros(self.cells.size),)
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
        highs = self.highs
        if self._aimed != p:
            if self._aimed >= 0:
                highs.changeColCost(self._aimed, 0.0)
            self._aimed = p
        highs.changeColCost(p, float(-way))
        highs.changeColsBounds(self._all.size, self._all, lower, upper)
        basis = self._bases.get(key)
        if basis is not None:
            highs.setBasis(basis)
        highs.run()
        self.programs += 1
        if highs.getModelStatus().name != "kOptimal":
            highs.clearSolver()
            highs.run()
        if highs.getModelStatus().name != "kOptimal":
            # Never seen; were it to happen, nothing is claimed: neither a movement nor a cut.
            highs.clearSolver()
            return 0.0, np.zeros(x.size), np.zeros(x.size)
        self._bases[key] = highs.getBasis()
        solution = highs.getSolution()
        moves = np.asarray(solution.col_value)
        weights = self.transposed @ np.asarray(solution.row_dual)
        weights[p] += way
        weights[np.abs(weights) < 1e-9] = 0.0
        near = np.round(weights)
        weights = np.where(np.abs(weights - near) < 1e-9, near, weights)
        weights[self.known[need]] = 0.0
        return float(way * moves[p]), moves * size, weights


def _not_alone(relations: Relations, may: Bools) -> Bools:
    """The cells that some relation does not hold in place: one alone in a relation cannot move."""
    may = may.copy()
    while True:
        there = may[relations.cells]
        counts = np.bincount(relations.rows[there], minlength=len(relations))
        alone = there & (counts[relations.rows] == 1)
        if not alone.any():
            return may
        may[relations.cells[alone]] = False
