"""The narrowest intervals that protect: partial cell suppression as a linear program.

Cell i is to be known only to lie between value - below[i] and value + above[i]. The widths are the
variables; that an attacker must find a sensitive cell movable by its need is a linear program of
its own, whose dual solutions are inequalities on the widths (Benders). They are added until the
cheapest widths meet every need. Widths that meet all needs are kept beside, from the start: they
are what is returned where time ends.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ...progress import report
from ..audit.witness import Witnesses
from ..cells.relations import Relations
from ..highs import load, model, solver
from ..threats.problem import Problem, Unprotectable
from .needs import DOWN, SLIDE, UP, Needs, needs_of

ENOUGH = 1 - 1e-7
"""A need counts as met from this share of it on, until the last check, which is exact."""
AT_ONCE = 20_000
"""Cells times needs up to which all movements are variables of one program."""


@dataclass(frozen=True, eq=False)
class Widths:
    """How far above and below its value each cell must stay possible."""

    below: Floats
    above: Floats
    cost: float
    """The weighted sum of all widths."""
    bound: float
    """No widths that protect cost less than this."""
    witnesses: Witnesses


def unit_costs(problem: Problem) -> Floats:
    """What one unit of width costs: as much as hiding the cell where it is as wide as its value.

    Nothing is free, so that no interval is wider than it must be.
    """
    size = np.abs(problem.values)
    typical = float(np.median(size[size > 0])) if (size > 0).any() else 1.0
    weights: Floats = problem.costs / np.where(size > 0, size, typical)
    usual = float(np.median(weights[weights > 0])) if (weights > 0).any() else 1.0
    return np.maximum(weights, 1e-3 * usual)


def narrowest(
    problem: Problem, *, allowed: Bools | None = None, rounds: int = 200, seconds: float = 600.0
) -> Widths:
    """The cheapest widths that protect, where the cells `allowed` may be shown as intervals.

    Without `allowed`, all but the fixed ones. A MethodError where even the widest do not protect.
    """
    search = _Search(problem, allowed)
    search.extend()
    if not len(search.needs):
        bound = 0.0
    elif search.cells.size * len(search.needs) <= AT_ONCE:
        bound = search.at_once(seconds)
    else:
        bound = search.cut(rounds, seconds)
    below, above, witnesses = search.best_widths()
    cost = float(search.weights @ (search.best_below + search.best_above))
    return Widths(below, above, cost, min(bound, cost), witnesses)


class _Search:
    """The widths so far, and the linear programs that check and extend them."""

    def __init__(self, problem: Problem, allowed: Bools | None) -> None:
        may = ~problem.fixed if allowed is None else allowed & ~problem.fixed
        may = may | problem.primary
        self.problem = problem
        self.needs: Needs = needs_of(problem, np.arange(problem.n), np.ones(problem.n))
        self.cells: Ints = np.flatnonzero(may)
        place = np.full(problem.n, -1)
        place[self.cells] = np.arange(self.cells.size)
        entries = may[problem.relations.cells]
        rows = np.unique(problem.relations.rows[entries], return_inverse=True)[1]
        self.relations = Relations.of(
            rows,
            place[problem.relations.cells[entries]],
            problem.relations.coefs[entries],
            self.cells.size,
        )
        self.room_above = np.maximum(problem.upper - problem.values, 0.0)[self.cells]
        self.room_below = np.maximum(problem.values - problem.lower, 0.0)[self.cells]
        self.weights = unit_costs(problem)[self.cells]
        self.aim: Ints = place[self.needs.cell]
        self.known = [place[k][place[k] >= 0] for k in self.needs.known]
        m = self.cells.size
        self.best_below, self.best_above = np.zeros(m), np.zeros(m)
        self.found: list[tuple[int, Floats]] = []
        self._all = np.arange(m, dtype=np.int32)
        self._attack = solver(
            presolve="off", primal_feasibility_tolerance=1e-9, dual_feasibility_tolerance=1e-9
        )
        load(self._attack, self.relations, np.zeros(m), np.zeros(m), np.zeros(m))
        self._aimed = -1

    # -- what widths allow ------------------------------------------------------------------------

    def reach(
        self, below: Floats, above: Floats, need: int, way: int
    ) -> tuple[float, Floats, Floats]:
        """How far the need's cell can be moved, in units of the need: (far, moves, weights).

        `weights` is what a unit of every cell's width adds, positive above and negative below.
        """
        size, p = float(self.needs.size[need]), int(self.aim[need])
        upper, lower = above / size, -below / size
        upper[self.known[need]] = lower[self.known[need]] = 0.0
        highs = self._attack
        if self._aimed != p:
            if self._aimed >= 0:
                highs.changeColCost(self._aimed, 0.0)
            self._aimed = p
        highs.changeColCost(p, float(-way))
        highs.changeColsBounds(self._all.size, self._all, lower, upper)
        _run(highs)
        solution = highs.getSolution()
        weights = -np.asarray(solution.col_dual)
        weights[np.abs(weights) < 1e-9] = 0.0
        weights[self.known[need]] = 0.0
        moves = np.asarray(solution.col_value)
        return float(way * moves[p]), moves * size, weights

    # -- widths that protect ----------------------------------------------------------------------

    def extend(self) -> None:
        """Widen the best widths until they meet every need, each as cheaply as it can be."""
        self.found = []
        from scipy.sparse import hstack

        m = self.cells.size
        highs = solver(primal_feasibility_tolerance=1e-9, dual_feasibility_tolerance=1e-9)
        matrix = self.relations.matrix
        wide = hstack((matrix, matrix, -matrix)).tocsr()
        costs = np.concatenate((np.zeros(m), self.weights, self.weights))
        still, none = np.zeros(3 * m), np.zeros(wide.shape[0])
        highs.passModel(model(wide, costs, still, still, none, none))
        every = np.arange(3 * m, dtype=np.int32)
        for done, need in enumerate(np.argsort(-self.needs.size, kind="stable")):
            if done % 16 == 0:
                report("widening intervals", done, len(self.needs))
            for way, size in self._asked(int(need)):
                self._move(highs, every, int(need), way, size)

    def _asked(self, need: int) -> list[tuple[int, float]]:
        """The movements that meet a need; a sliding one is shared out."""
        way, size = int(self.needs.way[need]), float(self.needs.size[need])
        if way != SLIDE:
            return [(way, size)]
        up, down = (
            self.reach(self.best_below, self.best_above, need, one)[0] for one in (UP, DOWN)
        )
        down = min(down, 1.0)
        if up + down < ENOUGH:
            # Half of it either way, or what the other way cannot give.
            rooms = self._cap(self.room_below, size), self._cap(self.room_above, size)
            up, down = (min(self.reach(*rooms, need, one)[0], 1.0) for one in (UP, DOWN))
            down = min(max(0.5, 1.0 - up), down)
        return [(DOWN, down * size), (UP, (1.0 - down) * size)]

    def _cap(self, room: Floats, size: float) -> Floats:
        return np.minimum(room, 1e6 * size)

    def _move(self, highs: Any, every: Any, need: int, way: int, size: float) -> None:
        """Widen by the cheapest amounts that let the need's cell move by `size`."""
        if size <= 0:
            return
        m, p, known = self.cells.size, int(self.aim[need]), self.known[need]
        below, above = self.best_below / size, self.best_above / size
        more_above = np.maximum(self._cap(self.room_above, size) / size - above, 0.0)
        more_below = np.maximum(self._cap(self.room_below, size) / size - below, 0.0)
        for part in (below, above, more_above, more_below):
            part[known] = 0.0
        lower = np.concatenate((-below, np.zeros(2 * m)))
        upper = np.concatenate((above, more_above, more_below))
        # The cell itself moves by exactly the need; its own width is paid all the same.
        highs.changeColsBounds(every.size, every, lower, upper)
        fixed = np.array([p, m + p, 2 * m + p], np.int32)
        highs.addRow(float(way), float(way), 3, fixed, np.array([1.0, 1.0, -1.0]))
        _run(highs)
        status = highs.getModelStatus().name
        value = np.asarray(highs.getSolution().col_value)
        highs.deleteRows(1, np.array([highs.getNumRow() - 1], np.int32))
        if status != "kOptimal":
            raise Unprotectable(
                [int(self.needs.cell[need])],
                f"cell {int(self.needs.cell[need])} cannot be protected: even with every cell that "
                "may be changed as wide as the attacker takes it for, it is known too well",
                remedy="let more cells be changed, or ask for less protection",
            )
        moves = (value[:m] + value[m : 2 * m] - value[2 * m :]) * size
        self.best_above = np.maximum(self.best_above, np.where(moves > 0, moves, 0.0))
        self.best_below = np.maximum(self.best_below, np.where(moves < 0, -moves, 0.0))
        self.found.append((need, moves))

    # -- the cheapest widths ----------------------------------------------------------------------

    def at_once(self, seconds: float) -> float:
        """The widths and all movements in one program; the bound is their cost."""
        from scipy.sparse import block_array, coo_array, eye_array, kron

        m, needs = self.cells.size, self.needs
        moved = [
            (need, way)
            for need in range(len(needs))
            for way in ((UP, DOWN) if needs.way[need] == SLIDE else (int(needs.way[need]),))
        ]
        count = len(moved)
        unit = np.array([float(needs.size[need]) for need, _ in moved])
        every = eye_array(count, format="csr")
        adds_up = kron(every, self.relations.matrix)
        moves = kron(every * unit, eye_array(m))
        wide = kron(np.ones((count, 1)), eye_array(m))
        aims = coo_array(
            (
                [float(way) for _, way in moved],
                (
                    [need for need, _ in moved],
                    [i * m + int(self.aim[need]) for i, (need, _) in enumerate(moved)],
                ),
            ),
            shape=(len(needs), count * m),
        )
        whole = block_array(
            [[adds_up, None, None], [-moves, wide, None], [moves, None, wide], [aims, None, None]]
        ).tocsr()
        low = np.concatenate((np.zeros(adds_up.shape[0] + 2 * count * m), np.ones(len(needs))))
        high = np.full(low.size, np.inf)
        high[: adds_up.shape[0]] = 0.0
        reach = np.full(count * m, np.inf)
        for i, (need, _) in enumerate(moved):
            reach[i * m + self.known[need]] = 0.0
        highs = solver(time_limit=seconds)
        lp = model(
            whole,
            np.concatenate((np.zeros(count * m), self.weights, self.weights)),
            np.concatenate((-reach, np.zeros(2 * m))),
            np.concatenate((reach, self.room_above, self.room_below)),
            low,
            high,
        )
        highs.passModel(lp)
        highs.run()
        if highs.getModelStatus().name != "kOptimal":
            return 0.0
        found = np.maximum(np.asarray(highs.getSolution().col_value)[count * m :], 0.0)
        self._take(found[:m], found[m:])
        return float(highs.getInfo().objective_function_value)

    def _take(self, above: Floats, below: Floats) -> None:
        """These widths instead of the best ones, if they are cheaper."""
        if self.weights @ (above + below) < self.weights @ (self.best_above + self.best_below):
            self.best_above, self.best_below = above.copy(), below.copy()
            # What was met up to a tolerance is met exactly from here on.
            self.extend()

    def cut(self, rounds: int, seconds: float) -> float:
        """Cutting planes; better widths replace the best ones. The lower bound they prove."""
        began = time.monotonic()
        m = self.cells.size
        master = solver()
        load(
            master,
            Relations.of(*(np.empty(0, np.int64),) * 2, np.empty(0), 2 * m),
            np.concatenate((self.weights, self.weights)),
            np.zeros(2 * m),
            np.concatenate((self.room_above, self.room_below)),
        )
        for need in range(len(self.needs)):
            self._first_cuts(master, need)
        bound, inside = 0.0, np.concatenate((self.best_above, self.best_below))
        weights = np.concatenate((self.weights, self.weights))
        for turn in range(rounds):
            report("narrowing intervals", turn, rounds)
            _run(master)
            outside = np.maximum(np.asarray(master.getSolution().col_value), 0.0)
            bound = max(bound, float(weights @ outside))
            best = float(weights @ inside)
            if best - bound <= 1e-7 * best or time.monotonic() - began > seconds:
                break
            # Cuts from between the two are deeper than from the cheapest widths themselves.
            if turn % 2 == 0:
                short = self._separate(master, 0.5 * (inside + outside), began + seconds)
                if short == 0:
                    inside = 0.5 * (inside + outside)
                    continue
            if self._separate(master, outside, began + seconds) == 0:
                inside = outside
        self._take(inside[:m], inside[m:])
        return bound

    def _separate(self, master: Any, widths: Floats, until: float) -> int:
        """Add an inequality for every need that these widths do not meet; how many there are."""
        m, short = self.cells.size, 0
        for need in range(len(self.needs)):
            if time.monotonic() > until:
                return short + 1
            way, size = int(self.needs.way[need]), float(self.needs.size[need])
            ways = (UP, DOWN) if way == SLIDE else (way,)
            found = [self.reach(widths[m:], widths[:m], need, one) for one in ways]
            if sum(far for far, _, _ in found) < ENOUGH:
                short += 1
                total_above = sum(np.maximum(weights, 0.0) for _, _, weights in found)
                total_below = sum(np.maximum(-weights, 0.0) for _, _, weights in found)
                self._add(master, np.concatenate((total_above, total_below)), size)
        return short

    def _first_cuts(self, master: Any, need: int) -> None:
        """A cell moves no farther than it is wide, nor than the rest of any of its relations."""
        p, size, m = int(self.aim[need]), float(self.needs.size[need]), self.cells.size
        way = int(self.needs.way[need])
        own = np.zeros(2 * m)
        own[p], own[m + p] = float(way != DOWN), float(way != UP)
        self._add(master, own, size)
        starts, rows, coefs = self.relations.by_cell
        for entry in range(starts[p], starts[p + 1]):
            row = self.relations.matrix[[int(rows[entry])]]
            share = np.zeros(m)
            share[row.indices] = -row.data / coefs[entry]
            share[p] = 0.0
            share[self.known[need]] = 0.0
            up = np.concatenate((np.maximum(share, 0.0), np.maximum(-share, 0.0)))
            down = np.concatenate((np.maximum(-share, 0.0), np.maximum(share, 0.0)))
            self._add(master, up * (way != DOWN) + down * (way != UP), size)

    def _add(self, master: Any, weights: Floats, size: float) -> None:
        """weights * widths >= size, in units that are about 1."""
        at = np.flatnonzero(weights)
        master.addRow(size, np.inf, at.size, at.astype(np.int32), weights[at])

    def best_widths(self) -> tuple[Floats, Floats, Witnesses]:
        """The best widths of all cells, and for every need a table that they leave possible."""
        below, above = np.zeros(self.problem.n), np.zeros(self.problem.n)
        below[self.cells], above[self.cells] = self.best_below, self.best_above
        moved = [(need, np.flatnonzero(move), move) for need, move in self.found]
        proofs = Witnesses.of(
            [int(self.needs.threat[need]) for need, _, _ in moved],
            [self.cells[at] for _, at, _ in moved],
            [move[at] for _, at, move in moved],
        )
        return below, above, proofs


def _run(highs: Any) -> None:
    """Solve, and once more from the beginning where that failed."""
    highs.run()
    if highs.getModelStatus().name not in ("kOptimal", "kInfeasible"):
        highs.clearSolver()
        highs.run()
