"""Controlled rounding: every cell becomes a multiple of a base, and the table still adds up."""

from __future__ import annotations

import math
import time
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...kernels.arrays import Bools, Floats, Ints
from ..base import TableMethod
from ..cells.table import CellTable
from ..outcome import TableOutcome
from ..program import Infeasible, OutOfTime
from ..threats.problem import Problem
from .multiples import Choice, Multiples, part_by_part, whole_numbers
from .unbiased import random_corner

EXACT = 1e-9
"""A value this near to a multiple, relative to its size in bases, is one."""
WHOLE_CELLS = 20_000
"""With more cells to round than this, a cube is rounded part by part."""
UNBIASED = 3000
"""With more cells to round than this, random rounding is unbiased only before it is made to add
up."""


class ControlledRounding(TableMethod):
    """Round every cell to a multiple of a base so that the table still adds up.

    Each cell goes to one of its two neighbouring multiples, and multiples stay (zero-restricted),
    with the least sum of changes. Where no such table adds up, cells may go up to `steps` multiples
    further, as few as possible. A sensitive cell goes only to a multiple that leaves its need
    within reach: base and rule are public, so that everybody knows each value within a base.

    Without `base` it is 5 for counts, and for amounts a round number at least as large as the
    widest need. With `random` a cell is rounded up with a probability in proportion to what it has
    beyond the lower multiple, so that figures are unbiased: exactly in two-way tables, elsewhere
    as far as adding up allows.
    """

    name: ClassVar[str] = "controlled-rounding"
    random: ClassVar[bool] = True
    shows: ClassVar[str] = "other numbers"
    paper: ClassVar[str] = (
        "Cox 1987, A constructive procedure for unbiased controlled rounding; "
        "Salazar-Gonzalez 2006, Controlled rounding and cell perturbation"
    )

    base: float | None = Field(
        None, gt=0, description="round to multiples of this; chosen by the needs unless given"
    )
    objective: Literal["nearest", "random"] = Field(
        "nearest", description="the least change, or unbiased: up with a chance by the remainder"
    )
    steps: int = Field(
        3, ge=0, le=20, description="multiples beyond the neighbours, where nothing else adds up"
    )
    search: Literal["auto", "whole", "parts"] = Field(
        "auto", description="the whole table at once, or part by part from the top; by size"
    )
    seconds: float = Field(
        300.0, gt=0, description="the time for it; the best table found by then is taken"
    )

    def stronger(self) -> dict[str, Any]:
        return {"base": None}

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        whole = table.is_count and bool(np.all(problem.values == np.rint(problem.values)))
        base, warnings = self._base(problem, table.is_count, whole)
        target = None
        if self.objective == "random":
            target, warned = self._target(problem, base, rng)
            warnings += warned
        found, s, proven = self._rounded(problem, base, whole, target)
        published: Floats = found.k.astype(np.float64) * base
        lower, upper = self._known(problem, published, base, s, whole)
        if s:
            warnings.append(
                f"no zero-restricted rounding to multiples of {base:g} was found that adds up: "
                f"cells may lie up to {s} {'multiple' if s == 1 else 'multiples'} further"
            )
        moved = problem.fixed & (problem.values != 0) & (published != problem.values)
        if moved.any():
            warnings.append("cells that were to be published as they are were rounded like others")
        if not proven:
            warnings.append("a better rounding than this one may exist: none was proven the best")
        change = np.abs(published - problem.values)
        facts: dict[str, Any] = {
            "base": base,
            "zero-restricted": s == 0,
            "steps": s,
        }
        exact = self.objective == "nearest" and s == 0
        return TableOutcome(
            published=published,
            lower=lower,
            upper=upper,
            hidden=np.zeros(problem.n, bool),
            cost=float(change.sum()),
            bound=found.bound * base if exact and found.bound is not None else None,
            facts=facts,
            warnings=tuple(warnings),
        )

    def _base(self, problem: Problem, count: bool, whole: bool) -> tuple[float, list[str]]:
        """The base, and what to say of it."""
        threats = problem.threats
        room = problem.upper[threats.cell] - problem.values[threats.cell]
        below = problem.values[threats.cell] - problem.lower[threats.cell]
        asked = np.minimum(threats.up, room) + np.minimum(threats.down, below)
        # Counts are known to be whole: a base of b leaves b - 1 on either side.
        need = float(np.max(asked + whole, initial=0.0))
        if self.base is None:
            usual = 5.0 if count else 1.0
            base = usual if need <= usual else round_number(need)
            if base == usual or not count:
                return base, []
            return base, [f"the base is {base:g}: with {usual:g} some cells would lack room"]
        if self.base < need:
            return self.base, [
                f"the base {self.base:g} is smaller than what some sensitive cells need: leave it "
                "out to have it chosen, or take a larger one"
            ]
        return self.base, []

    def _target(
        self, problem: Problem, base: float, rng: np.random.Generator
    ) -> tuple[Floats, list[str]]:
        """Which cells to round up, drawn so that the expectation is the value; what to say."""
        _, _, rest = _split(problem.values, base)
        target, exact = rest, False
        if np.count_nonzero(rest) <= UNBIASED:
            target, exact = random_corner(problem.relations, rest, rng, seconds=self.seconds / 2)
        if not exact:
            target = (rng.random(problem.n) < target).astype(np.float64)
        if exact and np.array_equal(target, np.rint(target)) and not len(problem.threats):
            return target, []
        return target, ["rounding is unbiased only as far as adding up and the needs allow"]

    def _rounded(
        self, problem: Problem, base: float, whole: bool, target: Floats | None
    ) -> tuple[Multiples, int, bool]:
        """The multiples, the steps that were needed, and whether no table is cheaper."""
        choices = [self._choice(problem, base, whole, target, s) for s in range(self.steps + 1)]
        free = int((choices[0].high > choices[0].low).sum())
        one = len(problem.cubes) == 1
        deep = one and any(d.depth.max(initial=0) > 1 for d in problem.cubes[0].dimensions)
        if self.search == "parts" and not one:
            raise MethodError(
                "only a table that is one cube can be rounded part by part", remedy="search = whole"
            )
        begun = time.monotonic()
        if self.search == "parts" or (self.search == "auto" and deep and free > WHOLE_CELLS):
            try:
                found, s = part_by_part(
                    problem.relations, problem.cubes[0], choices, seconds=self.seconds
                )
                return found, s, False
            except (Infeasible, OutOfTime):
                pass
        for s, choice in enumerate(choices):
            left = self.seconds - (time.monotonic() - begun)
            share = left if s in (0, self.steps) else left / 2
            try:
                found = whole_numbers(problem.relations, choice, seconds=share)
            except (Infeasible, OutOfTime):
                # With more room a table is found more easily, if not a good one.
                continue
            best = found.bound is None or found.cost <= found.bound + 1e-6 * max(1, found.cost)
            return found, s, best
        raise MethodError(
            f"no rounding to multiples of {base:g} that adds up was found within {self.steps} "
            f"steps and {self.seconds:g} seconds",
            remedy="allow more steps or seconds, or take another base",
        )

    def _choice(
        self, problem: Problem, base: float, whole: bool, target: Floats | None, s: int
    ) -> Choice:
        """What each cell may become with s steps beyond its neighbouring multiples."""
        floor, exact, rest = _split(problem.values, base)
        low, high = floor - s, floor + ~exact + s
        least = np.floor(np.maximum(problem.lower / base, -(2.0**60)) + EXACT).astype(np.int64)
        most = np.ceil(np.minimum(problem.upper / base, 2.0**60) - EXACT).astype(np.int64)
        low, high = (
            np.maximum(low, np.minimum(least, floor)),
            np.minimum(high, np.maximum(most, floor + ~exact)),
        )
        zero = problem.fixed & (problem.values == 0)
        low[zero] = high[zero] = 0
        down, up = self._room(problem, base, s, whole)
        # Where nothing leaves the need within reach the audit will say so.
        tight = (np.maximum(low, down) <= np.minimum(high, up)) & ~zero
        low, high = (
            np.where(tight, np.maximum(low, down), low),
            np.where(tight, np.minimum(high, up), high),
        )
        goal = rest if target is None else target
        return Choice(floor, exact, low, high, 1 - 2 * goal, goal)

    def _room(self, problem: Problem, base: float, s: int, whole: bool) -> tuple[Ints, Ints]:
        """The least and greatest multiple of each cell that leave its needs within reach."""
        threats, cell = problem.threats, problem.threats.cell
        width = self._width(base, s, whole)
        value = problem.values[cell]
        top = np.minimum(value + threats.up, problem.upper[cell])
        bottom = np.maximum(value - threats.down, problem.lower[cell])
        limit = np.iinfo(np.int64).max // 4
        down, up = np.full(problem.n, -limit), np.full(problem.n, limit)
        tiny = EXACT * np.maximum(1.0, np.abs(value) / base)
        np.maximum.at(down, cell, np.ceil((top - width) / base - tiny).astype(np.int64))
        np.minimum.at(up, cell, np.floor((bottom + width) / base + tiny).astype(np.int64))
        return down, up

    def _width(self, base: float, s: int, whole: bool) -> float:
        """How far a true value may lie from the published one."""
        width = base * (1 + s)
        return width - 1 if whole and float(base).is_integer() else width

    def _known(
        self, problem: Problem, published: Floats, base: float, s: int, whole: bool
    ) -> tuple[Floats, Floats]:
        """What base and rule tell of the true values."""
        width = self._width(base, s, whole)
        lower = np.maximum(problem.lower, published - width)
        upper = np.minimum(problem.upper, published + width)
        zero: Bools = problem.fixed & (problem.values == 0)
        lower[zero] = upper[zero] = 0.0
        return lower, upper


def _split(values: Floats, base: float) -> tuple[Ints, Bools, Floats]:
    """The multiple below each value, whether the value is one, and what it has beyond, in bases."""
    ratio = values / base
    near = np.rint(ratio)
    exact: Bools = np.abs(ratio - near) <= EXACT * np.maximum(1.0, np.abs(ratio))
    floor = np.where(exact, near, np.floor(ratio)).astype(np.int64)
    return floor, exact, np.where(exact, 0.0, ratio - floor)


def round_number(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50 ... (or 0.5, 0.2 ...) that is at least this.

    >>> [round_number(x) for x in (3, 5, 0.03, 1200)]
    [5.0, 5.0, 0.05, 2000.0]
    """
    power = math.floor(math.log10(least))
    ladder = [
        digit * 10.0**p if p >= 0 else digit / 10.0**-p
        for p in (power, power + 1)
        for digit in (1, 2, 5)
    ]
    return next(x for x in ladder if x >= least * (1 - 1e-12))
