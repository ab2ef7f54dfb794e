"""The cheapest secondary suppression, with a proof: cutting planes, then branch and cut."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...kernels.arrays import Bools
from ..audit.audit import audit
from ..audit.witness import Witnesses
from ..base import TableMethod
from ..cells.table import CellTable
from ..outcome import TableOutcome, suppressed
from ..threats.problem import Problem
from .branch_and_cut import BranchAndCut
from .sequential import extended, searched

_HASTY = (
    "the time was up before a first protection was complete: the rest was hidden by the first "
    "movement found; allow more seconds, or use sequential-suppression"
)

_QUICK = 300_000
"""Simplex iterations of the protection that the search starts from, ..."""
_SHARE = 0.4
"""... and the share of the time that it may take."""


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
    hasty: bool = False
    """Whether the time was up before a first protection was found with care."""


def solve(
    problem: Problem,
    *,
    start: Bools | None = None,
    proofs: Witnesses | None = None,
    seconds: float = 600.0,
    gap: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Solved:
    """Hide the cheapest cells that meet every threat; the best found where the time is too short.

    `start` is a set of hidden cells to begin with (what it lacks is added), `proofs` what it is
    known to protect. The search ends when the cost is within the share `gap` of the bound. The
    result always protects, and the bound always holds. A MethodError where even hiding everything
    does not protect some cell.
    """
    search = BranchAndCut(problem, seconds, gap, np.random.default_rng(0) if rng is None else rng)
    search.open(start, proofs)
    search.improve(0.15 * seconds)
    while not search.done and not search.late:
        search.relax(0.5 * seconds)
        if search.done or not search.probe(0.1 * seconds):
            break
    search.branch()
    hidden = problem.primary | search.attacker.merged.spread(search.best)
    cost = float(problem.costs[hidden & ~problem.primary].sum())
    found = Solved(
        hidden,
        cost,
        min(search.bound + search.certain, cost),
        search.done,
        search.rounds,
        len(search.master.cuts),
        search.protector.witnesses(search.held),
        search.hasty,
    )
    _verify(problem, found)
    return found


def _verify(problem: Problem, found: Solved) -> None:
    """Ask the audit, which knows nothing of the search, whether every threat is met."""
    lower, upper = problem.known_bounds(found.hidden)
    seen = audit(problem, lower, upper, witnesses=found.witnesses, exact=False)
    if not seen.enough.all():
        cell = int(problem.threats.cell[np.flatnonzero(~seen.enough)[0]])
        raise MethodError(
            f"the protection found does not stand up to the audit: cell {cell} is too narrow",
            remedy="this is a fault of the search; use sequential-suppression, and report it",
        )


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

    seconds: float = Field(
        600.0, gt=0, description="after so many seconds the best protection found is taken"
    )
    gap: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="good enough: what a protection may cost above the least, as a share of it",
    )

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        began = time.monotonic()
        quick = searched(problem, 0, _QUICK, until=began + _SHARE * self.seconds)
        start, proofs = quick.hidden(), quick.ledger.witnesses()
        left = max(self.seconds - (time.monotonic() - began), 0.1)
        found = solve(problem, start=start, proofs=proofs, seconds=left, gap=self.gap, rng=rng)
        cost = float(problem.costs[start & ~problem.primary].sum())
        if quick.ledger.complete and cost < found.cost and not found.proven:
            found = replace(found, hidden=start, cost=cost, witnesses=proofs, hasty=False)
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
        if found.hasty:
            return replace(outcome, warnings=(short, _HASTY))
        return replace(outcome, warnings=(short,))

    def extend(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, rng: np.random.Generator
    ) -> TableOutcome:
        # Where a proof was found it is found again; where the time was up, it would be up again.
        if outcome.facts.get("proven cheapest"):
            return self.protect(table, problem, rng)
        return extended(problem, outcome)
