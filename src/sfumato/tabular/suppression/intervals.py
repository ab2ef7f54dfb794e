"""Intervals in place of numbers: as much as can be told of a cell that must not be published."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...kernels.arrays import Bools, Floats
from ...nested import named
from ..audit.audit import audit
from ..base import Protection, TableMethod
from ..cells.table import CellTable
from ..outcome import TableOutcome
from ..threats.problem import Problem, Threats
from .partial import narrowest

STEPS = 10
"""An interval is at least so many steps of its grid wide: rounding adds a fifth at most."""


class IntervalPublication(TableMethod):
    """Publish intervals in place of cells, as narrow as protection allows.

    how="audited": another method hides cells, and each is shown as the interval that anybody could
    work out from what is published, rounded outward. That tells nothing new, but spares the reader
    the linear programs.

    how="partial" chooses the intervals: wide enough, together with all totals, that every sensitive
    cell stays as uncertain as it must, and as narrow as that allows, width counted at the cost of
    hiding the cell where it is as wide as its value. It may touch more cells than suppression does,
    each of them less. An interval laid around the value by the protection levels would give the
    value away, as its midpoint for instance. So each is widened by the share `blur` of its width,
    of which a random part goes below, and is then rounded outward to whole steps of a grid. A
    reader who knows all this and the protection levels of a cell besides still finds a stretch of
    about `blur` times the narrower interval possible: from 1 on, it is as wide as what protects.
    """

    name: ClassVar[str] = "interval-publication"
    aliases: ClassVar[tuple[str, ...]] = ("partial-suppression",)
    random: ClassVar[bool] = True
    keeps_totals: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Fischetti & Salazar-González 2003, Partial cell suppression: a new methodology for "
        "statistical disclosure control"
    )

    how: Literal["partial", "audited"] = Field(
        "partial",
        description="`partial`: the narrowest intervals that protect; `audited`: those that "
        "follow from the cells that `by` leaves",
    )
    by: Protection = named(
        "modular-suppression",
        "the method that hides cells; for `partial`, which cells become intervals in tables with "
        "more than `largest` cells",
    )
    blur: float = Field(
        1.5,
        ge=0.1,
        le=10,
        description="the share of its width by which a chosen interval is widened, at random "
        "more below or above the value",
    )
    largest: int = Field(
        5000, ge=0, description="cells up to which any cell may become an interval"
    )
    seconds: float = Field(
        600.0,
        gt=0,
        description="time after which intervals are not made narrower any more; they protect "
        "all the same",
    )

    def stronger(self) -> dict[str, Any]:
        return {"blur": min(2 * self.blur, 10.0)}

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        if self.how == "audited":
            return self._audited(table, problem, rng)
        allowed: Bools | None = None
        warnings: tuple[str, ...] = ()
        if int((~problem.fixed).sum()) > self.largest:
            given = self.by.protect(table, problem, rng)
            allowed = given.hidden
            warnings = (
                f"the table is large: only the cells that {self.by.name} hides become intervals",
                *given.warnings,
            )
        widths = narrowest(problem, allowed=allowed, seconds=self.seconds)
        low, high = placed(problem, widths.below, widths.above, self.blur, rng)
        return self._outcome(
            problem,
            low,
            high,
            (widths.below > 0) | (widths.above > 0) | problem.primary,
            cost=widths.cost,
            bound=widths.bound,
            witnesses=widths.witnesses,
            warnings=warnings,
        )

    def _audited(
        self, table: CellTable, problem: Problem, rng: np.random.Generator
    ) -> TableOutcome:
        given = self.by.protect(table, problem, rng)
        cells = np.flatnonzero(given.hidden)
        nothing = np.zeros(cells.size)
        everybody = problem.with_(threats=Threats.of(cells, nothing, nothing))
        found = audit(everybody, given.lower, given.upper)
        low, high = given.lower.copy(), given.upper.copy()
        low[cells], high[cells] = outward(found.low, found.high)
        return self._outcome(
            problem,
            np.maximum(low, given.lower),
            np.minimum(high, given.upper),
            given.hidden,
            cost=given.cost,
            bound=given.bound,
            witnesses=given.witnesses,
            warnings=given.warnings,
        )

    def _outcome(
        self,
        problem: Problem,
        low: Floats,
        high: Floats,
        unpublished: Bools,
        *,
        cost: float,
        bound: float | None,
        witnesses: object,
        warnings: tuple[str, ...],
    ) -> TableOutcome:
        lower = np.where(unpublished, low, problem.values)
        upper = np.where(unpublished, high, problem.values)
        # An interval that says no more than everybody knows is not worth printing.
        says = unpublished & ((lower > problem.lower) | (upper < problem.upper))
        return TableOutcome(
            published=np.where(unpublished, np.nan, problem.values),
            lower=lower,
            upper=upper,
            hidden=unpublished & ~says,
            shown=(np.where(says, lower, np.nan), np.where(says, upper, np.nan)),
            cost=cost,
            bound=bound,
            facts={
                "intervals": int(says.sum()),
                "cells not shown": int((unpublished & ~says).sum()),
            },
            warnings=warnings,
            witnesses=witnesses,  # type: ignore[arg-type]
        )


def placed(
    problem: Problem, below: Floats, above: Floats, blur: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Intervals that hold value - below and value + above, laid at random around them."""
    # As many draws as cells, so that a cell's place does not depend on the others' widths.
    part = rng.random(problem.n)
    # A sensitive cell without any need is at least not shown to the last digit.
    least = np.where(problem.primary & (below + above <= 0), 1e-2 * np.abs(problem.values), 0.0)
    least = np.where(problem.primary & (below + above + least <= 0), 1.0, least)
    more = blur * (below + above) + least
    low = problem.values - below - part * more
    high = problem.values + above + (1 - part) * more
    low, high = outward(np.maximum(low, problem.lower), np.minimum(high, problem.upper))
    return np.maximum(low, problem.lower), np.minimum(high, problem.upper)


def outward(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The intervals rounded outward to multiples of a readable step: 1, 2 or 5 times a power of
    ten, a tenth of the width at most. What is infinite stays so, and its other end is rounded to
    two digits."""
    width = high - low
    endless = ~np.isfinite(width)
    size = np.maximum(
        np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0)
    )
    width = np.where(endless, size, width)
    with np.errstate(divide="ignore", invalid="ignore"):
        power = 10.0 ** np.floor(np.log10(width / STEPS))
        digit = width / STEPS / power
    step = power * np.select([digit >= 5, digit >= 2], [5.0, 2.0], 1.0)
    # A step below the last digit of the number itself would be lost.
    wide = np.isfinite(step) & (step > 1e-14 * size)
    step = np.where(wide, step, 1.0)
    down, up = np.floor(low / step) * step, np.ceil(high / step) * step
    return (
        np.where(wide & np.isfinite(low), np.minimum(down, low), low),
        np.where(wide & np.isfinite(high), np.maximum(up, high), high),
    )
