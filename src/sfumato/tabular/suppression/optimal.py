"""The cheapest secondary suppression, with a proof: cutting planes, then branch and cut."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...progress import report
from ..base import TableMethod
from ..outcome import suppressed
from .attack import Attacker
from .cuts import Cut, capacity, companions, rounded
from .master import Master
from .protector import Protector, Unprotectable
from .sequential import clean

if TYPE_CHECKING:
    from ...kernels.blocks import Bools, Floats
    from ..cells import CellTable
    from ..outcome import TableOutcome
    from ..problem import Problem
    from ..witness import Witnesses

_LARGE = 300
"""Cells that can move, from which on a quick protection is worth having first."""
_VAIN = 100
"""Tries in a row that settle no cell, or find no inequality, after which trying ends."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Hidden cells that protect, what they cost, and what no protection costs less than."""

    hidden: Bools
    cost: float
    """The costs of the hidden cells that are not sensitive."""
    bound: float
    proven: bool
    """Whether nothing is cheaper (by more than the gap asked for)."""
    rounds: int
    cuts: int
    witnesses: Witnesses
    """A proof for every threat."""


class Search:
    """The state of one run: what protects best so far, and what is known of all protections."""

    def __init__(
        self, problem: Problem, seconds: float, gap: float, rng: np.random.Generator
    ) -> None:
        self.began = time.monotonic()
        self.end = self.began + seconds
        self.seconds, self.gap, self.rng = seconds, gap, rng
        self.problem = problem
        self.attacker = Attacker(problem)
        self.protector = Protector(self.attacker)
        cells = self.attacker.cells
        self.sure: Bools = problem.primary[cells]
        self.costs: Floats = np.where(self.sure, 0.0, problem.costs[cells])
        self.step = _step(self.costs)
        self.master = Master(self.costs, self.sure)
        self.best: Bools = np.ones(cells.size, bool)
        self.cost = np.inf
        self.bound = 0.0
        self.rounds = 0
        self.fruitful: Floats = np.zeros(len(self.attacker.needs))
        self.log = False

    # What is known -------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        room = max(self.gap * self.cost, self.step * (1 - 1e-6), 1e-9 * self.cost)
        return self.cost - self.bound <= room

    @property
    def late(self) -> bool:
        return time.monotonic() > self.end

    @property
    def target(self) -> float:
        """What must not be exceeded to be an improvement."""
        return self.cost - max(self.step, 1e-9 * self.cost)

    def round_bound(self, bound: float) -> float:
        """Costs are multiples of the step."""
        return _round_up(bound, self.step)

    def raise_bound(self, bound: float) -> None:
        self.bound = max(self.bound, min(bound, self.cost))

    def offer(self, hidden: Bools) -> None:
        """A set of cells that protects: thin it out, and keep it if it is the cheapest."""
        order = np.argsort(-self.costs, kind="stable")
        order = order[hidden[order] & ~self.sure[order]]
        thin = self.protector.thin(hidden, order.tolist(), self.end)
        self.master.add(self.protector.cuts)
        self.protector.cuts.clear()
        cost = float(self.costs[thin].sum())
        if cost < self.cost:
            self.best, self.cost = thin, cost
            self.told(f"found {cost:,.0f}")
            self.master.fix(self.cost, self.step)

    def told(self, text: str) -> None:
        if self.log:
            at = time.monotonic() - self.began
            print(f"{at:8.1f}s {text} [{self.bound:,.1f} .. {self.cost:,.1f}]", flush=True)

    # Steps ---------------------------------------------------------------------------------------

    def round_up(self, x: Floats) -> None:
        """Guided by a fractional solution: cells it likes cost less."""
        weights = self.costs * (1.0 - 0.999 * x) + 1e-9 * self.master.unit
        hidden = self.sure | (x > 0.9)
        order = self.rng.permutation(len(self.attacker.needs))
        try:
            self.offer(self.protector.complete(hidden, weights, order, self.end))
        except TimeoutError:
            return

    def separate(self, x: Floats, point: Floats, most: int) -> list[Cut]:
        """Inequalities that x misses, found at `point`."""
        found: list[Cut] = []
        vain = 0
        # Needs that gave inequalities before are likely to give others.
        order = np.argsort(-self.fruitful + self.rng.random(self.fruitful.size))
        for need in order.tolist():
            reach = self.attacker.reach(point, need, exact=False)
            before, vain = len(found), vain + 1
            if reach.far < 1 - 1e-6:
                cut = capacity(self.attacker, need, reach, self.sure)
                if cut is not None:
                    better = rounded(cut, x)
                    if better is not None:
                        found.append(better)
                    if cut.short(x) > 1e-5:
                        found.append(cut)
            self.fruitful[need] *= 0.7
            if len(found) > before:
                self.fruitful[need] += 1.0
                vain = 0
            if len(found) >= most or self.late or (found and vain > _VAIN):
                break
        return found

    def relax(self, seconds: float) -> None:
        """Cutting planes at the linear relaxation until none is missed."""
        master, stop = self.master, min(self.end, time.monotonic() + seconds)
        core = 0.5 * self.best + 0.5 * self.sure
        share, stale = 0.3, 0
        most = 60
        while time.monotonic() < stop and not self.done:
            if not master.solve(self.end - time.monotonic()):
                break
            self.rounds += 1
            before = self.bound
            self.raise_bound(_round_up(master.bound, self.step))
            stale = stale + 1 if self.bound - before < 1e-4 * (self.cost - self.bound) else 0
            master.fix(self.cost, self.step)
            x = master.x
            cuts = companions(self.attacker, x, self.sure)
            point = share * x + (1 - share) * core
            found = self.separate(x, point, most)
            if not found and share < 1:
                share = 1.0
                found = self.separate(x, x, most)
            core = 0.7 * core + 0.3 * x
            new = master.add(cuts + found) + master.recall(x)
            if not new:
                if share >= 1:
                    self.told("no cut missed")
                    break
                share = 1.0
            if self.rounds % 10 == 0:
                self.told(f"round {self.rounds}: {new} new inequalities")
                self.round_up(x)
                master.purge()
            if stale > 30:
                self.told("stale")
                break
            report("bounding", self.rounds, self.rounds + 1)

    def probe(self, seconds: float) -> int:
        """Settle cells by trying: hidden or published, what if the bound then exceeds the cost?"""
        master, settled = self.master, 0
        stop = min(self.end, time.monotonic() + seconds)
        if not master.solve(self.end - time.monotonic()):
            return 0
        x, basis = master.x, master.highs.getBasis()
        # Cells that the relaxation is torn about first.
        order = np.argsort(np.abs(x - 0.5) - 0.1 * self.costs / max(self.master.unit, 1e-300))
        vain = 0
        for cell in order:
            if vain > _VAIN or time.monotonic() > stop:
                break
            if master.lower[cell] == master.upper[cell]:
                continue
            vain += 1
            for value in (0.0, 1.0):
                if abs(x[cell] - value) < 1e-9:
                    continue
                lower, upper = master.lower.copy(), master.upper.copy()
                lower[cell] = upper[cell] = value
                master.bounds(lower, upper)
                in_time = master.solve(stop - time.monotonic() + 1, self.target + self.step)
                if in_time and self.round_bound(master.bound) > self.target:
                    master.lower[cell] = master.upper[cell] = 1 - value
                    settled, vain = settled + 1, 0
                    break
                master.highs.setBasis(basis)
        master.bounds(master.lower, master.upper)
        self.told(f"settled {settled} by trying, {int((master.lower < master.upper).sum())} left")
        return settled

    def branch(self) -> None:
        """Integer programs over the inequalities known; what their solutions miss is added."""
        loose, slice_ = 0.02, max(0.2 * self.seconds, 10.0)
        while not self.late and not self.done:
            self.rounds += 1
            solutions, bound, solved = self.master.integer(
                min(self.end - time.monotonic(), slice_),
                max(loose, self.gap),
                self.best.astype(np.float64),
            )
            self.raise_bound(self.round_bound(bound))
            self.told(f"integer: bound {bound:,.1f}, {len(solutions)} solutions")
            before, new = self.cost, 0
            for x in solutions[:8]:
                try:
                    new += self._learn(x)
                except TimeoutError:
                    return
            if self.cost < before and not self.done:
                # A cheaper protection settles more cells, and the inequalities found since help.
                self.relax(0.1 * self.seconds)
                self.probe(0.05 * self.seconds)
            loose = loose / 2 if new else 0.0
            slice_ = slice_ if solved else 2 * slice_
            report("branching", self.rounds, self.rounds + 1)

    def _learn(self, x: Floats) -> int:
        """From a whole solution of the master: a protection, or the inequalities it misses."""
        hidden = x > 0.5
        missed = self.protector.unmet(hidden, self.end)
        if not missed:
            self.offer(hidden)
            return 0
        cuts = [capacity(self.attacker, need, reach, self.sure) for need, reach in missed]
        new = self.master.add([cut for cut in cuts if cut is not None])
        self.round_up(x)
        # Halfway to what protects, inequalities are deeper.
        return new + self.master.add(self.separate(x, 0.5 * x + 0.5 * self.best, 10**9))


def _step(costs: Floats) -> float:
    """What two different costs differ by at least: for whole numbers their common divisor."""
    whole = np.round(costs)
    if costs.size and np.abs(costs - whole).max() == 0.0 and whole.max() < 2**53:
        return float(np.gcd.reduce(whole.astype(np.int64)))
    return 0.0


def _round_up(bound: float, step: float) -> float:
    """Costs are multiples of the step."""
    if step <= 0 or not np.isfinite(bound):
        return bound
    return float(np.ceil(bound / step - 1e-6) * step)


def solve(
    problem: Problem,
    *,
    start: Bools | None = None,
    seconds: float = 600.0,
    gap: float = 0.0,
    rng: np.random.Generator | None = None,
    log: bool = False,
) -> Solved:
    """Hide the cheapest cells that meet every threat; the best found where the time is too short.

    `start` is a set of hidden cells to begin with (what it lacks is added). The search ends when
    the cost is within the share `gap` of the bound. The result always protects, and the bound
    always holds. A MethodError where even hiding everything does not protect some cell.
    """
    search = Search(problem, seconds, gap, np.random.default_rng(0) if rng is None else rng)
    search.log = log
    cells, order = search.attacker.cells, np.argsort(-search.attacker.needs.size, kind="stable")
    firsts = [search.sure] if start is None else [search.sure | start[cells]]
    if start is None and cells.size > _LARGE:
        # Thinning out two unlike protections finds more inequalities than one.
        firsts.append(search.sure | _start(problem)[cells])
    for first in firsts:
        search.offer(search.protector.complete(first, search.costs, order.tolist()))
    while not search.done and not search.late:
        search.relax(0.5 * seconds)
        if search.done or not search.probe(0.1 * seconds):
            break
    search.branch()
    hidden = problem.primary.copy()
    hidden[cells[search.best]] = True
    cost = float(problem.costs[hidden & ~problem.primary].sum())
    return Solved(
        hidden,
        cost,
        min(search.bound, cost),
        search.done,
        search.rounds,
        len(search.master.cuts),
        search.protector.witnesses(search.best),
    )


def _start(problem: Problem) -> Bools:
    """A quick protection; the sensitive cells alone where there is none: the search says why."""
    try:
        return clean(problem, problem.primary)[0]
    except MethodError:
        return problem.primary


class OptimalSuppression(TableMethod):
    """Hide the cheapest cells that protect every sensitive one, with a proof of the optimum.

    An attacker's linear program is run backwards: where it shows a cell too narrow, its dual says
    which other cells have to give room, and the cheapest cells that satisfy all such inequalities
    are looked for by an integer program, until they protect. Where the time is too short the best
    protection found is returned, and how much cheaper another could be at most.
    """

    name: ClassVar[str] = "optimal-suppression"
    aliases: ClassVar[tuple[str, ...]] = ("fischetti-salazar",)
    paper: ClassVar[str] = (
        "Fischetti & Salazar-Gonzalez 2001, Solving the cell suppression problem on tabular data "
        "with linear constraints"
    )
    example: ClassVar[Mapping[str, Any]] = {"seconds": 60}

    seconds: Annotated[
        float, Field(gt=0, description="after so many seconds the best protection found is taken")
    ] = 600.0
    gap: Annotated[
        float,
        Field(
            ge=0,
            lt=1,
            description="good enough: what a protection may cost above the least, as a share of it",
        ),
    ] = 0.0

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        try:
            found = solve(problem, seconds=self.seconds, gap=self.gap, rng=rng)
        except Unprotectable as error:
            some = "; ".join(f"{cell} ({table.name(cell)})" for cell in error.cells[:5])
            more = f" and {len(error.cells) - 5} more" if len(error.cells) > 5 else ""
            raise MethodError(
                f"{self.name}: hiding everything that may be hidden does not protect the cells "
                f"{some}{more}",
                remedy=error.remedy,
            ) from error
        outcome = suppressed(
            problem,
            found.hidden,
            bound=found.bound,
            facts={"proven cheapest": found.proven},
            witnesses=found.witnesses,
        )
        if found.proven:
            return outcome
        short = (
            f"the time ({self.seconds:g} seconds) did not suffice for a proof: "
            f"a protection may exist that costs up to {outcome.gap or 0.0:.2%} less"
        )
        return replace(outcome, warnings=(short,))
