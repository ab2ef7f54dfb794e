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
from ..audit.inversion import Needs, cover, turned
from ..base import TableMethod
from ..cells.relations import Relations
from ..cells.table import CellTable
from ..outcome import TableOutcome
from ..program import Infeasible, OutOfTime
from ..threats.problem import Problem
from .adjustment_l2 import Moves
from .adjustment_program import Adjustment
from .multiples import Choice, whole_numbers
from .origins import came_from, counts_from, small_counts, unbounded

DECIMALS = 6
"""Decimals that published figures have at most."""
ENOUGH = 1e-8
"""What a move may lack, relative to the value."""


class ControlledAdjustment(TableMethod):
    """Move sensitive cells to safe values and change the others as little as adding up allows.

    Each sensitive cell ends at least its need above its value or below it, and further by a share
    that is drawn: the least move would be the need, which leaves two values to whoever knows the
    rule. Which way it goes is chosen with the moves. `distance` is the sum of weighted changes (L1)
    or of their squares (L2). For L1 the ways are found by integer programming, or where there are
    too many by choosing blocks of them anew; for L2 by branch and bound from those of L1. Zeros
    that are known stay, and no cell leaves the bounds that everybody knows. Figures have no more
    decimals than the table's own, so that moved cells look like all others; the weights of the
    changes are drawn, too. Sensitive counts that need no more than 1 go above the greatest of them.

    No figure of the result is told to be exact; which cells were moved, and which way, is secret.
    The audit inverts it: the values from which a sensitive cell could have come to where it is must
    be as many as its need asks, and no guess may be near enough to more than half of them.
    """

    name: ClassVar[str] = "controlled-adjustment"
    aliases: ClassVar[tuple[str, ...]] = ("cta",)
    paper: ClassVar[str] = (
        "Dandekar & Cox 2002, Synthetic tabular data; Castro 2006, Minimum-distance controlled "
        "perturbation methods for large-scale tabular data protection, EJOR 171:39-52"
    )
    random: ClassVar[bool] = True
    shows: ClassVar[str] = "other numbers"
    inverts: ClassVar[bool] = True

    distance: Literal["L1", "L2"] = Field(
        "L1", description="the sum of the changes, or of their squares"
    )
    weights: Literal["relative", "unit", "cost"] = Field(
        "relative",
        description="a change counts relative to the value, as it is, or by the cell's cost",
    )
    integer: bool | None = Field(
        None,
        description="whole numbers only; unless given, no more decimals than the table's own; "
        "false: any number, which shows who was moved",
    )
    excess: float = Field(
        3.0,
        ge=0,
        le=10,
        description="how much further than its need a sensitive cell moves at most, as a share "
        "of it, drawn at random; with less than 2.5 few tables pass the audit",
    )
    seconds: float = Field(
        60.0, gt=0, description="the time for choosing the ways; the best found is taken"
    )

    def stronger(self) -> dict[str, Any]:
        return {"excess": min(2 * self.excess, 10.0)}

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        weights = self._weights(problem)
        problem = self._drawn(table, problem, rng)
        if self.excess:
            # Weights that nobody knows: else the cheapest moves could be worked out.
            weights = weights * 4.0 ** rng.random(problem.n)
        unit, grain = unit_of(problem.values), self._grain(problem)
        task = adjustment(problem, weights, grain)
        try:
            moves = self._moves(task, rng)
        except Infeasible as error:
            raise MethodError(
                "no adjusted table exists: the sensitive cells cannot all move by their needs "
                "within the bounds while the table adds up",
                remedy="allow cells that are fixed to change, widen the bounds, or ask for less "
                "(a smaller `excess`, smaller needs)",
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
        if grain:
            published, warned = self._whole(task, problem, published, grain)
            warnings += warned
            bound = bound if not warned and self.distance == "L1" else None
        if not moved_enough(problem, published).all():
            warnings.append("some sensitive cells did not move by all of their needs")
        change = published - problem.values
        cost = task.weights @ (np.abs(change) if self.distance == "L1" else change**2)
        lower, upper = problem.lower.copy(), problem.upper.copy()
        told = problem.fixed.copy()
        if unit and not grain:
            # Who sees decimals beside numbers without them knows which were not moved.
            told |= np.abs(change) <= 1e-6 * unit
        lower[told] = upper[told] = problem.values[told]
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

    def _drawn(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> Problem:
        """The problem with needs that are drawn, each between itself and 1 + excess times it."""
        further = self.excess * rng.random(problem.n)
        t, (few, greatest) = problem.threats, small_counts(table, problem)
        above = greatest + 1.0 + np.floor(further) - problem.values
        small, times = few[t.cell], 1.0 + further[t.cell]
        up = np.where(small, above[t.cell], times * t.up)
        down = np.where(small, 0.0, times * t.down)
        return problem.with_(threats=replace(t, up=up, down=down))

    def audited(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, audit: Audit
    ) -> Audit:
        """What each attacker finds possible who knows rule and method: the values that a move of
        between the need and 1 + excess times it brings to where the cell is, as far as what it
        knows and what was not changed leave them possible."""
        cell, counts = audit.threats.cell, table.is_count
        values, published = problem.values[cell], outcome.published[cell]
        most = unbounded(problem, *of_cells(problem))
        moved = Needs.of(values, most[0][cell], most[1][cell], counts=counts)
        pieces = came_from(values, published, moved, 1.0 + self.excess, self._grain(problem))
        few, greatest = small_counts(table, problem)
        small = few[cell]
        pieces[small] = counts_from(published[small], problem.lower[cell][small], greatest)
        low, high = turned(values, audit.low, audit.high)
        pieces[:, :, 0] = np.maximum(pieces[:, :, 0], low[:, None])
        pieces[:, :, 1] = np.minimum(pieces[:, :, 1], high[:, None])
        asked = needs(problem.with_(threats=audit.threats))
        inverted = cover(pieces, Needs.of(values, *asked, counts=counts))
        # One step of the table's unit is more than such a cell needs: of the few numbers that it
        # could have come from, each would be right.
        coarse = ~small & (np.maximum(*asked) < self._grain(problem))
        return replace(audit, inverted=np.where(coarse, 0.0, inverted))

    def judged(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, audit: Audit
    ) -> list[Finding]:
        """That every sensitive cell was moved, and that nobody can tell from where."""
        enough = moved_enough(problem, outcome.published)
        short = int((~enough).sum())
        moved = Finding(
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
        return [moved, *audit.findings(table)]

    def _grain(self, problem: Problem) -> float:
        """What published numbers are multiples of; 0 for any number."""
        return unit_of(problem.values) if self.integer is None else float(self.integer)

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
        self, task: Adjustment, problem: Problem, published: Floats, grain: float
    ) -> tuple[Floats, list[str]]:
        """The nearest multiples of `grain` that add up and keep the moves of sensitive cells."""
        digits = round(-np.log10(grain))
        near = np.rint(published / grain)
        exact = np.abs(published / grain - near) <= 1e-6 * np.maximum(1.0, np.abs(near))
        if bool(exact.all()) and not problem.relations.sums(near).any():
            return np.round(near * grain, digits), []
        low_move, high_move = task.bounds(
            np.where(published[task.at] > problem.values[task.at], 1, -1)
        )
        far = 2.0**52
        least = np.ceil(np.maximum((problem.values + low_move) / grain, -far) - 1e-5)
        most = np.floor(np.minimum((problem.values + high_move) / grain, far) + 1e-5)
        floor = np.where(exact, near, np.floor(published / grain))
        rest = np.where(exact, 0.0, published / grain - floor)
        for s in range(4):
            low = np.clip(floor - s, least, most).astype(np.int64)
            high = np.clip(floor + ~exact + s, least, most).astype(np.int64)
            choice = Choice(floor.astype(np.int64), exact, low, high, 1 - 2 * rest, rest)
            try:
                found = whole_numbers(problem.relations, choice, seconds=self.seconds)
            except (Infeasible, OutOfTime):
                continue
            return np.round(found.k * grain, digits), ["figures were rounded so that they add up"]
        raise MethodError(
            f"no adjusted table in multiples of {grain:g} was found that adds up: with other "
            "decimals moved cells could be told from the others",
            remedy="allow more seconds, or [table.protect] integer = false where that does no harm",
        )


def unit_of(values: Floats) -> float:
    """The power of ten that all values are multiples of, 1 at most; 0 where there is none."""
    for digits in range(DECIMALS + 1):
        scaled = values * 10.0**digits
        if np.abs(scaled).max(initial=0.0) > 1e11:
            break
        if np.all(np.abs(scaled - np.rint(scaled)) <= 1e-4):
            return float(10.0**-digits)
    return 0.0


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


def of_cells(problem: Problem) -> tuple[Floats, Floats]:
    """The same cell by cell: the greatest of its threats'."""
    up, down = np.zeros(problem.n), np.zeros(problem.n)
    for way, asked in zip((up, down), needs(problem), strict=True):
        np.maximum.at(way, problem.threats.cell, asked)
    return up, down


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


def adjustment(problem: Problem, weights: Floats, grain: float = 0.0) -> Adjustment:
    """What controlled adjustment has to solve for this problem; in multiples of `grain`, if any."""
    up, down = of_cells(problem)
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
    far = [np.ceil(way / grain - 1e-9) * grain if grain else way for way in (up, down)]
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
