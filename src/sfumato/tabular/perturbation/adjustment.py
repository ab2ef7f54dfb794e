"""Controlled tabular adjustment: a safe table near the true one that adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...kernels.arrays import Bools, Floats
from ...measurement import Finding
from ..audit.audit import Audit
from ..base import TableMethod
from ..cells.relations import Relations
from ..cells.table import CellTable
from ..outcome import TableOutcome
from ..program import Infeasible, OutOfTime
from ..threats.problem import Problem
from .adjustment_l2 import Moves
from .adjustment_program import Adjustment
from .multiples import Choice, whole_numbers

ENOUGH = 1e-8
"""What a move may lack, relative to the value."""


class ControlledAdjustment(TableMethod):
    """Move sensitive cells to safe values and change the others as little as adding up allows.

    Each sensitive cell ends at least its need above its value or below it; which way is chosen
    with the moves. `distance` is the sum of weighted changes (L1) or of their squares (L2). For L1
    the ways are found by integer programming, or where there are too many by choosing blocks of
    them anew; for L2 by branch and bound from those of L1. Zeros that are known stay, and no cell
    leaves the bounds that everybody knows.

    No figure of the result is told to be exact; which cells were moved, and which way, is secret.
    """

    name: ClassVar[str] = "controlled-adjustment"
    aliases: ClassVar[tuple[str, ...]] = ("cta",)
    paper: ClassVar[str] = (
        "Dandekar & Cox 2002, Synthetic tabular data; Castro 2006, Minimum-distance controlled "
        "perturbation methods for large-scale tabular data protection, EJOR 171:39-52"
    )
    random: ClassVar[bool] = True

    distance: Literal["L1", "L2"] = Field(
        "L1", description="the sum of the changes, or of their squares"
    )
    weights: Literal["relative", "unit", "cost"] = Field(
        "relative",
        description="a change counts relative to the value, as it is, or by the cell's cost",
    )
    integer: bool | None = Field(
        None, description="whole numbers only; unless given, where a count has whole numbers"
    )
    excess: float = Field(
        0.5,
        ge=0,
        le=10,
        description="how much further than its need a sensitive cell moves at most, as a share "
        "of it, drawn at random: the move itself would tell the rule",
    )
    seconds: float = Field(
        60.0, gt=0, description="the time for choosing the ways; the best found is taken"
    )

    def stronger(self) -> dict[str, Any]:
        return {"excess": min(2 * self.excess, 10.0)}

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        if not self.excess:
            return self._adjusted(table, problem, rng)
        further = 1.0 + self.excess * rng.random(problem.n)[problem.threats.cell]
        threats = replace(
            problem.threats, up=further * problem.threats.up, down=further * problem.threats.down
        )
        try:
            return self._adjusted(table, problem.with_(threats=threats), rng)
        except MethodError:
            # Where there is no room beyond the needs, the needs themselves must do.
            return self._adjusted(table, problem, rng)

    def _adjusted(
        self, table: CellTable, problem: Problem, rng: np.random.Generator
    ) -> TableOutcome:
        whole = self.integer
        if whole is None:
            whole = table.is_count and bool(np.all(problem.values == np.rint(problem.values)))
        task = adjustment(problem, self._weights(problem), whole)
        try:
            moves = self._moves(task, rng)
        except Infeasible as error:
            raise MethodError(
                "no adjusted table exists: the sensitive cells cannot all move by their needs "
                "within the bounds while the table adds up",
                remedy="allow cells that are fixed to change, widen the bounds, or ask for less",
            ) from error
        except OutOfTime as error:
            raise MethodError(
                f"no adjusted table was found within {self.seconds:g} seconds",
                remedy="allow more seconds",
            ) from error
        signs = np.where(moves.z[task.at] > 0, 1, -1)
        z = repaired(problem.relations, moves.z, problem.values, *task.bounds(signs))
        published = problem.values + z
        warnings: list[str] = []
        bound = moves.bound
        if whole:
            published, warned = self._whole(task, problem, published)
            warnings += warned
            bound = bound if not warned and self.distance == "L1" else None
        if not moved_enough(problem, published).all():
            warnings.append("some sensitive cells did not move by all of their needs")
        change = published - problem.values
        cost = task.weights @ (np.abs(change) if self.distance == "L1" else change**2)
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[problem.fixed] = upper[problem.fixed] = problem.values[problem.fixed]
        return TableOutcome(
            published=published,
            lower=lower,
            upper=upper,
            hidden=np.zeros(problem.n, bool),
            cost=float(cost),
            bound=bound,
            facts={"distance": self.distance},
            warnings=tuple(warnings),
        )

    def judged(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, audit: Audit
    ) -> list[Finding]:
        """That every sensitive cell was moved: what is published says nothing exact, so there are
        no intervals to audit."""
        enough = moved_enough(problem, outcome.published)
        short = int((~enough).sum())
        return [
            Finding(
                "adjustment",
                "the number of sensitive cells that did not move by all they need",
                float(short),
                0.0,
                not short,
                at_least=False,
                broken=short,
                of=int(enough.size),
                of_what="sensitive cells",
            )
        ]

    def _weights(self, problem: Problem) -> Floats:
        if self.weights == "unit":
            return np.ones(problem.n)
        if self.weights == "cost":
            return problem.costs.astype(np.float64)
        size = np.abs(problem.values)
        # A value near 0 must not outweigh the whole table.
        least = float(size[size > 0].min(initial=np.inf))
        return 1.0 / np.maximum(size, least if np.isfinite(least) else 1.0)

    def _moves(self, task: Adjustment, rng: np.random.Generator) -> Moves:
        if self.distance == "L1":
            return task.search(rng, seconds=self.seconds)
        first = task.search(rng, seconds=self.seconds / 4, patience=self.seconds)
        signs = np.where(first.z[task.at] > 0, 1, -1)
        return task.search_l2(signs, rng, seconds=self.seconds * 0.75)

    def _whole(
        self, task: Adjustment, problem: Problem, published: Floats
    ) -> tuple[Floats, list[str]]:
        """The nearest whole numbers that add up and keep the moves of the sensitive cells."""
        near = np.rint(published)
        exact = np.abs(published - near) <= 1e-6 * np.maximum(1.0, np.abs(published))
        if bool(exact.all()) and not problem.relations.sums(near).any():
            return near, []
        low_move, high_move = task.bounds(
            np.where(published[task.at] > problem.values[task.at], 1, -1)
        )
        least = np.ceil(np.maximum(problem.values + low_move, -(2.0**60)) - 1e-5)
        most = np.floor(np.minimum(problem.values + high_move, 2.0**60) + 1e-5)
        floor = np.where(exact, near, np.floor(published))
        rest = np.where(exact, 0.0, published - floor)
        for s in range(4):
            low = np.clip(floor - s, least, most).astype(np.int64)
            high = np.clip(floor + ~exact + s, least, most).astype(np.int64)
            choice = Choice(floor.astype(np.int64), exact, low, high, 1 - 2 * rest, rest)
            try:
                found = whole_numbers(problem.relations, choice, seconds=self.seconds)
            except (Infeasible, OutOfTime):
                continue
            return found.k.astype(np.float64), ["figures were rounded to whole numbers that add up"]
        return published, ["no whole numbers were found that add up: figures have decimals"]


def needs(problem: Problem) -> tuple[Floats, Floats]:
    """How far each threatened cell must go up, or down: threat by threat, (up, down).

    As far as the bounds allow. A width that is asked for as a whole is shared by both sides.
    """
    t, cell = problem.threats, problem.threats.cell
    room, below = (
        problem.upper[cell] - problem.values[cell],
        problem.values[cell] - problem.lower[cell],
    )
    up, down = np.minimum(t.up, room), np.minimum(t.down, below)
    more = np.maximum(t.slide - up - down, 0.0) / 2
    return np.minimum(up + more, room), np.minimum(down + more, below)


def moved_enough(problem: Problem, published: Floats) -> Bools:
    """Whether the cell of each threat was moved by what it needs, up or down."""
    up, down = needs(problem)
    cell = problem.threats.cell
    move = published[cell] - problem.values[cell]
    tiny = ENOUGH * np.maximum(np.abs(problem.values[cell]), np.maximum(up, down))
    return (
        ((up > 0) & (move >= up - tiny))
        | ((down > 0) & (move <= -(down - tiny)))
        | ((up <= 0) & (down <= 0))
    )


def adjustment(problem: Problem, weights: Floats, whole: bool = False) -> Adjustment:
    """What controlled adjustment has to solve for this problem."""
    asked_up, asked_down = needs(problem)
    up, down = np.zeros(problem.n), np.zeros(problem.n)
    np.maximum.at(up, problem.threats.cell, asked_up)
    np.maximum.at(down, problem.threats.cell, asked_down)
    # No need on one side only means that the bounds leave no room there.
    at = np.flatnonzero((up > 0) | (down > 0))
    still = np.flatnonzero(problem.fixed[at])
    if still.size:
        raise MethodError(
            f"cell {at[still[0]]} is sensitive and must be published as it is",
            remedy="let it change, or do not call it sensitive",
        )
    below = np.where(problem.fixed, 0.0, problem.values - problem.lower)
    above = np.where(problem.fixed, 0.0, problem.upper - problem.values)
    up, down = up[at], down[at]
    far = (np.ceil(up - 1e-9), np.ceil(down - 1e-9)) if whole else (up, down)
    return Adjustment(
        problem.relations,
        np.maximum(below, 0.0),
        np.maximum(above, 0.0),
        weights,
        at,
        np.minimum(far[0], above[at]),
        np.minimum(far[1], below[at]),
        up > 0,
        down > 0,
    )


def repaired(relations: Relations, z: Floats, values: Floats, low: Floats, high: Floats) -> Floats:
    """The moves with the solver's rounding errors taken out, so that every relation holds.

    The correction of a cell is in proportion to its size, and cells at a bound stay there.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import lsmr

    z = np.clip(z, low, high)
    for margin in (1e-6, 0.0, -1.0):
        size = np.abs(values) + np.abs(z)
        # The last round lets cells leave a bound by a rounding error.
        free = (z > low + margin * size) & (z < high - margin * size) & (high > low)
        root = np.where(free, size, 0.0)
        for _ in range(3):
            off = relations.sums(z)
            rows = np.zeros(len(relations))
            np.maximum.at(rows, relations.rows, size[relations.cells])
            if np.all(np.abs(off) <= 1e-12 * rows):
                return z
            weigh = 1 / np.maximum(rows, 1e-300)
            scaled = diags_array(weigh) @ relations.matrix @ diags_array(root)
            step = lsmr(scaled, off * weigh, atol=1e-15, btol=1e-15, conlim=0, maxiter=2000)[0]
            z = z - root * step
    return z
