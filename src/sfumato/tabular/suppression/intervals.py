"""Intervals in place of numbers: as much as can be told of cells that must not be published."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ...nested import named
from ..audit.audit import Audit, audit
from ..audit.feasible_ranges import SHORT
from ..audit.inversion import Needs, cover, inner, turned
from ..base import Protection, TableMethod
from ..cells.table import CellTable
from ..outcome import TableOutcome
from ..threats.insiders import strangers
from ..threats.problem import Problem, Threats, Unprotectable

STEPS = 10
"""An interval is at least so many steps of its grid wide: rounding adds a fifth at most."""


class IntervalPublication(TableMethod):
    """Publish intervals in place of cells that another method hides.

    Each is what follows from the published numbers, all totals and what everybody knows beforehand,
    rounded outward: it tells nothing that hiding does not, but spares the reader the linear
    programs. An interval that is made from the need of a cell gives the cell away, for the need is
    a share of it and the width is seen: the narrowest intervals that protect (partial cell
    suppression, Fischetti & Salazar-González 2003) are such. So nothing here depends on a hidden
    number, a rule, or on who is sensitive, but through the choice of what is hidden.

    More is hidden than suppression would hide, for a reader takes an interval at its word.
    Sensitive cells may be as low as everybody knows beforehand, wherever hiding can give that.
    Of each of them enough values are left to strangers and to insiders who know a hidden cell, and
    who know that its need had to be met: as many as the need asks on both sides, and no guess is
    nearer than the need of the value that is true to more than half of them. Where cells that hang
    together cannot be given so much, crosses are printed in place of intervals. A need of a third
    of the value or more is such a case.
    """

    name: ClassVar[str] = "interval-publication"
    aliases: ClassVar[tuple[str, ...]] = ("partial-suppression",)
    random: ClassVar[bool] = True
    keeps_totals: ClassVar[bool] = True
    shows: ClassVar[str] = "intervals"
    inverts: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Fischetti & Salazar-González 2003, Partial cell suppression: a new methodology for "
        "statistical disclosure control (intervals in place of crosses; here as wide as follows "
        "from the publication)"
    )

    by: Protection = named("modular-suppression", "the method that hides cells")

    def asked(self, table: CellTable, problem: Problem) -> Problem:
        """That sensitive cells may be as low as everybody knows beforehand, where hiding all that
        may be hidden would give that."""
        deep = problem.with_(threats=_deepened(problem))
        everything = ~problem.fixed | problem.primary
        found = audit(deep, *problem.known_bounds(everything), exact=False)
        down = np.where(found.enough, deep.threats.down, problem.threats.down)
        return problem.with_(threats=replace(problem.threats, down=down))

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        try:
            return self.by.protect(table, problem, rng)
        except Unprotectable:
            return self.by.protect(table, _eased(problem), rng)

    def extend(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, rng: np.random.Generator
    ) -> TableOutcome:
        try:
            return self.by.extend(table, problem, outcome, rng)
        except Unprotectable:
            return self.by.extend(table, _eased(problem), outcome, rng)

    def told(
        self, table: CellTable, problem: Problem, solved: Problem, outcome: TableOutcome
    ) -> tuple[Problem, TableOutcome]:
        hidden = outcome.lower < outcome.upper
        problem = _as_before(problem, solved)
        found = audit(problem, outcome.lower, outcome.upper, witnesses=outcome.witnesses)
        short = found.threats.cell[_inverted(table, problem, found) < 1.0 - SHORT]
        low, high = problem.lower.copy(), problem.upper.copy()
        cells = _apart(problem, hidden, short)
        nothing = np.zeros(cells.size)
        everybody = problem.with_(threats=Threats.of(cells, nothing, nothing))
        ranges = audit(everybody, outcome.lower, outcome.upper)
        low[cells], high[cells] = outward(ranges.low, ranges.high)
        low, high = np.maximum(low, problem.lower), np.minimum(high, problem.upper)
        # An interval that says no more than everybody knows is not worth printing.
        says = hidden & ((low > problem.lower) | (high < problem.upper))
        return problem, replace(
            outcome,
            hidden=hidden & ~says,
            shown=(np.where(says, low, np.nan), np.where(says, high, np.nan)),
            facts={"intervals": int(says.sum())},
        )

    def audited(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, audit: Audit
    ) -> Audit:
        """Where intervals are printed the method is inverted: every value between the ends that
        follow from the publication could have led to it. Crosses are judged as hidden cells."""
        assert outcome.shown is not None
        printed = ~np.isnan(outcome.shown[0][audit.threats.cell])
        return replace(
            audit, inverted=np.where(printed, _inverted(table, problem, audit), audit.cover)
        )


def _deepened(problem: Problem) -> Threats:
    """Threats that ask for all the room below the value; those of insiders in proportion."""
    threats, stranger = problem.threats, strangers(problem)[problem.threats.cell]
    room = (problem.values - problem.lower)[threats.cell]
    first = np.where(stranger >= 0, threats.down[stranger], 0.0)
    asked = np.isfinite(room) & (first > 0)
    times = np.divide(room, first, out=np.ones(room.size), where=asked)
    return replace(threats, down=np.maximum(times, 1.0) * threats.down)


def _eased(problem: Problem) -> Problem:
    """No more room below than above: for insiders who came later, as low as can be is too much."""
    threats = problem.threats
    down = np.where(threats.up > 0, np.minimum(threats.down, threats.up), threats.down)
    return problem.with_(threats=replace(threats, down=down))


def _as_before(problem: Problem, solved: Problem) -> Problem:
    """All insiders who were added, with the needs that there were beforehand."""
    threats, first = solved.threats, len(problem.threats)
    stranger = strangers(solved)[threats.cell[first:]]
    up = threats.up[stranger]
    part = np.divide(threats.up[first:], up, out=np.ones(up.size), where=up > 0)
    down = np.minimum(threats.down[first:], part * problem.threats.down[stranger])
    return solved.with_(threats=replace(threats, down=np.concatenate((problem.threats.down, down))))


def _inverted(table: CellTable, problem: Problem, found: Audit) -> Floats:
    """What is left to whoever knows that each interval was wide enough to strangers, too: it is
    nearer to neither end than the need, but where everybody knew that end beforehand."""
    cell, values = found.threats.cell, found.values
    needs = Needs.of(values, found.need_up, found.need_down, counts=table.is_count)
    known = turned(values, problem.lower[cell], problem.upper[cell])
    low, high = inner(needs, values, turned(values, found.low, found.high), known)
    stranger = strangers(problem.with_(threats=found.threats))[cell]
    seen = stranger >= 0
    low[seen] = np.maximum(low[seen], low[stranger[seen]])
    high[seen] = np.minimum(high[seen], high[stranger[seen]])
    left = np.stack((low, high), axis=1)[:, None, :]
    return np.minimum(found.cover, cover(left, needs))


def _apart(problem: Problem, hidden: Bools, short: Ints) -> Ints:
    """The hidden cells that do not hang together with any of `short`, directly or by others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    relations = problem.relations
    live = hidden[relations.cells]
    size = problem.n + len(relations)
    ties = (relations.cells[live], problem.n + relations.rows[live])
    graph = coo_array((np.ones(int(live.sum())), ties), shape=(size, size))
    of = connected_components(graph, directed=False)[1][: problem.n]
    return np.flatnonzero(hidden & ~np.isin(of, of[short]))


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
