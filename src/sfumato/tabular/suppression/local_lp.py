"""Small linear programs: the cheapest way to move one cell, among the cells around it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ...kernels.tables.columns import BARRED, HIDDEN, OPEN, program, surroundings
from ..highs import solver
from .merged import Merged

DEAR, CHEAP = 1e4, 1e-4
"""Costs beyond these, beside a usual cell's, count as these: programs stay well scaled."""
FREE = 1e-4
"""What moving a hidden cell costs, so that moves stay near."""
FAR = 1e4
"""No cell needs to move by more than so many times what is asked for."""
SIZES = ((3, 4, 250), (5, 8, 1500))
"""Surroundings that are tried before the whole table: depth, open cells to a relation, cells."""
PATIENCE = 2.0
"""A program that costs so many times what may be spent, by the unit, is given up."""
LABOURED, PER_COLUMN, ENDLESS = 5_000, 1.0, 100_000
"""Simplex iterations, and those to a column, after which an interior point method takes over:
tables with many dimensions have programs so degenerate that the simplex method would need a
hundred thousand, at which it ends in any case ..."""
MANAGEABLE = 50_000
"""... and columns from which on interior points take longer still."""
SIMPLEX = {"solver": "choose", "presolve": "off"}
INTERIOR = {"solver": "ipm", "presolve": "on", "simplex_iteration_limit": 2**31 - 1}
_NEVER = 2**31
WORTH = 100
"""Simplex iterations that one of the interior point method counts for."""
COLUMNWISE, MINIMISE = 1, 1
LEAST, NOTHING = 1e-9, 1e-11
"""A need may be missed by so much of it; a smaller move, beside it, is rounding."""


@dataclass(frozen=True, eq=False)
class Move:
    """Groups and how far each moves; relations hold, for any multiple from -back to ahead."""

    groups: Ints
    moves: Floats
    ahead: float
    back: float


def fitted(merged: Merged, groups: Ints, moves: Floats) -> Move:
    """A move with how often it fits forth and back; groups in rising order."""
    up, down = merged.up[groups], merged.down[groups]
    size = np.abs(moves)
    ahead = np.where(moves > 0, up, down) / size
    back = np.where(moves > 0, down, up) / size
    return Move(groups, moves, float(ahead.min()), float(back.min()))


class LocalProgram:
    """Moves of a merged table, one program after the other.

    `state` says of each group whether it is OPEN, HIDDEN or BARRED; the caller changes it.
    """

    def __init__(self, merged: Merged, state: Ints) -> None:
        self.merged = merged
        self.state = state
        self.programs = 0
        self.steps = 0
        """Simplex iterations so far: work that is the same on every machine."""
        self.costs = merged.costs.copy()
        """Costs by which programs choose; the caller may change them."""
        relations = merged.relations
        self._rows = relations.starts, relations.cells
        self._cells = relations.by_cell
        self._seen, self._passed = np.zeros(merged.n, np.int64), np.zeros(len(relations), np.int64)
        self._stamp = 0
        self._first = np.zeros(len(relations), np.int64)
        self._highs = solver(primal_feasibility_tolerance=1e-9, **SIMPLEX)
        self._too_large = _NEVER
        """Columns from which on programs are left to the interior point method at once."""

    def end_at(self, time_: float) -> None:
        """Break off a program that takes longer than this; it then finds nothing."""
        left = max(time_ - time.monotonic(), 0.05)
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)

    def cheapest(
        self,
        group: int,
        amount: float,
        *,
        kept: float = 0.02,
        rounds: int = 1,
        whole: bool = True,
        dearest: float = np.inf,
        spare: float = 0.0,
    ) -> Move | None:
        """A move of `group` by `amount` (with sign) that hides little; None if there is none.

        Hiding an open group costs its cost, whatever it moves by; the program takes that by the
        unit and is solved again with units that fit what was found, `rounds` times. Hidden groups
        cost `kept` of theirs, so that dear ones are left alone where possible. Unless `whole`, only
        the surroundings are searched, and only moves that hide less than `dearest` are of use. All
        others leave `spare` of their room, where rounding would take more than there is.
        """
        merged, state = self.merged, self.state
        if (merged.up if amount > 0 else merged.down)[group] < abs(amount) * (1 - LEAST):
            return None
        # Where a move must be cheap, the nearest cells hardly ever have one.
        for depth, cheapest, most in (*(SIZES if whole else SIZES[-1:]), (0, 0, 0)):
            if depth and merged.n > most:
                self._stamp += 1
                near = surroundings(
                    group, *self._rows, *self._cells[:2], state, merged.costs, dearest,
                    depth, cheapest, most, self._seen, self._passed, self._stamp,
                )  # fmt: skip
                near.sort()
            elif whole or merged.n <= most:
                usable = (state == HIDDEN) | ((state == OPEN) & (merged.costs < dearest))
                usable[group] = True
                near = np.flatnonzero(usable)
            else:
                break
            found = self._solve(group, amount, near, kept, rounds, dearest, spare)
            if found is not None:
                return found
        return None

    def _solve(
        self,
        group: int,
        amount: float,
        near: Ints,
        kept: float,
        rounds: int,
        dearest: float,
        spare: float,
    ) -> Move | None:
        import highspy

        self.programs += 1
        merged, highs, size = self.merged, self._highs, abs(amount)
        m = near.size
        room_up = np.minimum(merged.up[near] / size * (1 - spare), FAR)
        room_down = np.minimum(merged.down[near] / size * (1 - spare), FAR)
        cost, dear, usual = self.hiding_costs(near, kept)
        with np.errstate(divide="ignore"):
            unit = np.concatenate((cost / np.minimum(room_up, 1), cost / np.minimum(room_down, 1)))
        unit = np.minimum(unit, DEAR)
        low, high = np.zeros(2 * m), np.concatenate((room_up, room_down))
        own = np.flatnonzero(near == group)
        high[own] = high[own + m] = 0.0
        own = own if amount > 0 else own + m
        low[own] = high[own] = 1.0
        unit[own] = 0.0
        starts, index, value, rows = program(near, *self._cells, self._first)
        zeros = np.zeros(rows)
        highs.passModel(
            2 * m, rows, index.size, COLUMNWISE, MINIMISE, 0.0,
            unit, low, high, zeros, zeros, starts, index, value, np.zeros(2 * m, np.int32),
        )  # fmt: skip
        highs.setOptionValue("objective_bound", PATIENCE * dearest / usual)
        best: Move | None = None
        least = np.inf
        for round_ in range(rounds + 1):
            self._run()
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                break
            x = np.asarray(highs.getSolution().col_value)
            moved = x[:m] - x[m:]
            there = np.abs(moved) > NOTHING
            spent = float(cost[there].sum())
            if spent < least:
                least = spent
                best = fitted(merged, near[there], moved[there] * size)
            if round_ == rounds or not (dear & there).any():
                break
            # What moves much is cheap by the unit now, what moves little is dear.
            again = cost / (np.abs(moved) + 0.05)
            again = np.minimum(np.concatenate((again, again)), DEAR)
            again[own] = 0.0
            highs.changeColsCost(2 * m, np.arange(2 * m, dtype=np.int32), again)
        return best

    def farthest(self, group: int, amount: float) -> Move | None:
        """The move that takes `group` as far towards `amount` as any can; None if it stays."""
        import highspy

        merged, highs, size = self.merged, self._highs, abs(amount)
        usable = self.state != BARRED
        usable[group] = True
        near = np.flatnonzero(usable)
        m, own = near.size, int(np.searchsorted(near, group))
        low, gain = np.zeros(2 * m), np.zeros(2 * m)
        high = np.minimum(np.concatenate((merged.up[near], merged.down[near])) / size, FAR)
        back = own + m if amount > 0 else own
        own = own if amount > 0 else own + m
        high[own], high[back], gain[own] = min(high[own], 1.0), 0.0, -1.0
        starts, index, value, rows = program(near, *self._cells, self._first)
        zeros = np.zeros(rows)
        highs.passModel(
            2 * m, rows, index.size, COLUMNWISE, MINIMISE, 0.0,
            gain, low, high, zeros, zeros, starts, index, value, np.zeros(2 * m, np.int32),
        )  # fmt: skip
        highs.setOptionValue("objective_bound", np.inf)
        self._run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        x = np.asarray(highs.getSolution().col_value)
        moved = x[:m] - x[m:]
        there = np.abs(moved) > NOTHING
        if x[own] <= LEAST:
            return None
        return fitted(merged, near[there], moved[there] * size)

    @property
    def laboured(self) -> bool:
        """Whether a program was too much for the simplex method."""
        return self._too_large < _NEVER

    def _run(self) -> None:
        """Solve what was passed, by the simplex method unless programs as large took too long."""
        import highspy

        highs = self._highs
        size = int(highs.getNumCol())
        if size < self._too_large:
            limit = max(LABOURED, min(int(PER_COLUMN * size), ENDLESS))
            highs.setOptionValue("simplex_iteration_limit", limit)
            highs.run()
            self.steps += max(int(highs.getInfo().simplex_iteration_count), 1)
            gave_up = highs.getModelStatus() == highspy.HighsModelStatus.kIterationLimit
            if not gave_up or size > MANAGEABLE:
                return
            self._too_large = size
        for key, value in INTERIOR.items():
            highs.setOptionValue(key, value)
        highs.run()
        self.steps += WORTH * max(int(highs.getInfo().ipm_iteration_count), 1)
        for key, value in SIMPLEX.items():
            highs.setOptionValue(key, value)

    def hiding_costs(self, near: Ints, kept: float) -> tuple[Floats, Bools, float]:
        """What hiding each of these costs, beside a usual one; which are open; a usual cost."""
        open_ = self.state[near] == OPEN
        cost = self.costs[near]
        usual = (float(np.median(cost[open_])) if open_.any() else 0.0) or 1.0
        cost = np.clip(cost / usual, CHEAP, DEAR)
        free = np.where(self.merged.primary[near], 0.0, kept * cost) + FREE
        return np.where(open_, cost, free), open_, usual
