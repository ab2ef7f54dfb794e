"""Part by part from the top of the hierarchies down, then the whole table once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...kernels.arrays import Bools, Floats, Ints
from ...kernels.tables.columns import BARRED, OPEN
from ...kernels.threads import cores
from ...progress import report
from ..audit.witness import Witnesses
from ..base import TableMethod
from ..cells.table import CellTable
from ..lists import by_group
from ..outcome import TableOutcome, suppressed
from ..threats.problem import Problem, Threats, Unprotectable
from .merged import merge
from .sequential import Search, clean, complete, extended
from .subtables import LARGEST, Parts, Subtable, parts

SMALL = 60
"""Cells of a subtable that may be hidden, up to which the cheapest pattern is looked for."""
SWEEPS = 1
"""How often the subtables are gone through from the top, at most."""


def protect_modular(
    problem: Problem,
    *,
    seconds_each: float = 1.0,
    small: int = SMALL,
    largest: int = LARGEST,
    sweeps: int = SWEEPS,
    threads: int | None = None,
) -> tuple[Bools, Witnesses | None, dict[str, Any]]:
    """The cells to hide so that every threat is met, the proof, and how it went.

    Subtables with up to `small` cells that may be hidden are protected as cheaply as possible, with
    `seconds_each` for the proof; without it, and beyond, cell by cell.
    """
    descent = _Descent(problem, parts(problem, largest), seconds_each, small, sweeps)
    descent.run(threads or cores())
    search = _whole(problem, descent.hidden)
    added = int((search.hidden() & ~descent.hidden).sum())
    search.steps += search.program.steps  # What came before had to be done.
    search.clean()
    facts: dict[str, Any] = {
        "subtables": len(descent.parts.tables),
        "subtables looked at again": descent.again,
        "cells hidden for the whole": added,
    }
    return search.hidden(), search.ledger.witnesses(), facts


def _whole(problem: Problem, hidden: Bools) -> Search:
    """The whole table: first what the hidden cells prove by themselves, then hide what is missing.

    (Asked at once for the cheapest move, a search would rather hide cheap cells than use those that
    are hidden already.)
    """
    search = Search(problem, hidden)
    ledger = search.ledger
    left = {side for side, move in enumerate(ledger.proof) if move is None}
    shown = search.state == OPEN
    search.state[shown] = BARRED
    for done, side in enumerate(sorted(left, key=lambda s: (-ledger.need[s], s))):
        if side not in left:
            continue
        report("checking the whole table", done, len(ledger))
        move = search.move(side)
        if move is not None:
            ledger.rest(left, move)
    search.state[shown] = OPEN
    search.complete()
    return search


def least_cost(
    problem: Problem, *, seconds_each: float = 1.0, largest: int = LARGEST, small: int = SMALL
) -> float:
    """No protection of the table costs less than this.

    What protects the whole protects every part, so that a part's least cost, for its own threats
    alone, is spent in it in any case. Each cell's cost is shared out among the parts that it lies
    in: then their sum is spent. Only parts with at most `small` cells that may be hidden are asked.
    """
    from .optimal import solve

    found, total = parts(problem, largest), 0.0
    costs = problem.costs / np.maximum(found.shares, 1)
    ask = _Descent(problem, found, seconds_each, small, 0)
    for done, table in enumerate(found.tables):
        report("bounding the cost", done, len(found.tables))
        threats, _ = ask.threats_of(table.cells, problem.primary, demands=False)
        local = table.problem(problem, problem.primary, threats, costs)
        free = int((~local.primary & ~local.fixed).sum())
        if len(threats) and 0 < free <= small:
            total += max(solve(local, seconds=seconds_each).bound, 0.0)
    return total


@dataclass(frozen=True, eq=False)
class _Step:
    """What the protection of one subtable asks for."""

    cells: Ints
    """Hidden anew."""
    moved: Ints
    """Cells that move where a sensitive one does, ..."""
    up: Floats
    """... and how far: the tables that they also lie in must let them."""
    down: Floats


class _Proofs:
    """The movements found for a subtable, by the names of their threats."""

    def __init__(self, found: Witnesses | None = None, names: Sequence[int] = ()) -> None:
        self.found, self.names = found, names

    def renamed(self, names: Sequence[int]) -> Witnesses | None:
        """Those for threats with these names, numbered as there."""
        if self.found is None:
            return None
        at = {name: i for i, name in enumerate(names)}
        threat = np.array([at.get(self.names[t], -1) for t in self.found.threat], np.int64)
        return replace(self.found, threat=threat).take(np.flatnonzero(threat >= 0))


class _Descent:
    """The cells hidden so far, and which subtables have to be looked at (again)."""

    def __init__(
        self, problem: Problem, found: Parts, seconds: float, small: int, sweeps: int
    ) -> None:
        self.problem, self.parts = problem, found
        self.seconds, self.small, self.sweeps = seconds, small, sweeps
        self.proofs = [_Proofs() for _ in found.tables]
        self.again = 0
        merged = merge(problem)
        self.group, self.sign, self.members = merged.group, merged.sign, merged.members
        self.hidden: Bools = problem.primary.copy()
        self.up, self.down = np.zeros(problem.n), np.zeros(problem.n)
        self.stuck: Bools = problem.fixed | (self.group < 0)
        self.threats = by_group(problem.threats.cell, problem.n)
        self._hide(np.flatnonzero(self.hidden))

    def run(self, threads: int) -> None:
        """Look at every subtable that holds hidden cells, those of one turn side by side."""
        tables = self.parts.tables
        due = np.zeros(len(tables), bool)
        due[self.parts.with_cells(np.flatnonzero(self.hidden))] = True
        turn = np.array([table.turn for table in tables], np.int64)
        with ThreadPoolExecutor(threads) as pool:
            for sweep in range(self.sweeps):
                for now in np.unique(turn[due]):
                    chosen = np.flatnonzero(due & (turn == now))
                    report("protecting subtables", int((turn < now).sum()), len(tables))
                    self.again += chosen.size if sweep else 0
                    due[chosen] = False
                    # Nothing is shared within a turn, so that the order does not matter.
                    steps = pool.map(partial(self.step, first=sweep == 0), chosen.tolist())
                    for i, step in zip(chosen, list(steps), strict=True):
                        self._demand(step)
                        near = self.parts.with_cells(self._hide(step.cells))
                        due[near[near != i]] = True

    def _hide(self, cells: Ints) -> Ints:
        """Hide cells and all that move along with them; which of them are new."""
        groups = np.unique(self.group[cells])
        starts, members = self.members
        all_of = [members[starts[g] : starts[g + 1]] for g in groups if g >= 0]
        wanted = np.concatenate([*all_of, cells]).astype(np.int64)
        fresh = np.unique(wanted[~self.hidden[wanted] & ~self.stuck[wanted]])
        fresh = np.union1d(fresh, cells)
        self.hidden[fresh] = True
        return fresh

    def _demand(self, step: _Step) -> None:
        """Cells that move must be able to in every table, with all that move along with them."""
        starts, members = self.members
        for cell, up, down in zip(step.moved, step.up, step.down, strict=True):
            g = self.group[cell]
            along = members[starts[g] : starts[g + 1]] if g >= 0 else np.array([cell])
            same = self.sign[along] == self.sign[cell]
            self.up[along] = np.maximum(self.up[along], np.where(same, up, down))
            self.down[along] = np.maximum(self.down[along], np.where(same, down, up))

    # One subtable --------------------------------------------------------------------------------

    def step(self, number: int, *, first: bool) -> _Step:
        """Protect a subtable, given what is hidden already."""
        table = self.parts.tables[number]
        try:
            return self._protect(number, table, first, *self._local(table, demands=True))
        except MethodError:
            # What was asked for on behalf of another subtable may be more than there is.
            try:
                return self._protect(number, table, first, *self._local(table, demands=False))
            except Unprotectable:
                # Not by this subtable alone: the whole table decides.
                nothing = np.empty(0)
                none = np.empty(0, np.int64)
                return _Step(none, none, nothing, nothing)

    def _protect(
        self, number: int, table: Subtable, first: bool, problem: Problem, names: list[int]
    ) -> _Step:
        hidden, proofs = complete(
            problem, problem.primary, witnesses=self.proofs[number].renamed(names)
        )
        new = hidden & ~problem.primary
        if first and new.any():
            hidden, proofs = clean(problem, hidden, proofs)
            new = hidden & ~problem.primary
            free = int((~problem.primary & ~problem.fixed).sum())
            if free <= self.small and int(new.sum()) > 1:
                from .optimal import solve

                best = solve(problem, start=hidden, seconds=self.seconds)
                if best.proven and best.cost < problem.costs[new].sum() * (1 - 1e-9):
                    hidden, proofs = complete(problem, best.hidden)
        self.proofs[number] = _Proofs(proofs, names)
        new = hidden & ~problem.primary
        up, down = _moves(problem, proofs)
        at = np.flatnonzero((up > 0) | (down > 0))
        return _Step(table.cells[new], table.cells[at], up[at], down[at])

    def _local(self, table: Subtable, *, demands: bool) -> tuple[Problem, list[int]]:
        """The subtable as a problem of its own, and a name for each of its threats."""
        whole, cells = self.problem, table.cells
        starts, members = self.members
        groups = self.group[cells]
        costs = np.zeros(whole.n)
        there, at, inside = np.unique(groups, return_inverse=True, return_counts=True)
        price = np.zeros(there.size)
        for i, g in enumerate(there):
            if g >= 0:
                own = members[starts[g] : starts[g + 1]]
                price[i] = whole.costs[own][~self.hidden[own]].sum()
        costs[cells] = (price / inside)[at]
        hidden = self.hidden
        threats, names = self.threats_of(cells, hidden, demands=demands)
        problem = table.problem(whole, hidden, threats, costs)
        stuck = (problem.fixed | self.stuck[cells]) & ~hidden[cells]
        return problem.with_(fixed=stuck), names

    def threats_of(self, cells: Ints, hidden: Bools, *, demands: bool) -> tuple[Threats, list[int]]:
        """What is asked of these cells: by the whole problem, and by other subtables."""
        own, threats = self.threats, self.problem.threats
        which = [own[1][own[0][c] : own[0][c + 1]] for c in cells[hidden[cells]]]
        chosen = np.concatenate([*which, np.empty(0, np.int64)]).astype(np.int64)
        nothing = np.empty(0, np.int64)
        known: list[Any] = []
        for t in chosen:
            knows = threats.known(int(t))
            known.append(np.flatnonzero(np.isin(cells, knows)) if knows.size else nothing)
        asked = (
            np.flatnonzero(hidden[cells] & ((self.up[cells] > 0) | (self.down[cells] > 0)))
            if demands
            else nothing
        )
        made = Threats.of(
            np.concatenate((np.searchsorted(cells, threats.cell[chosen]), asked)),
            np.concatenate((threats.up[chosen], self.up[cells[asked]])),
            np.concatenate((threats.down[chosen], self.down[cells[asked]])),
            np.concatenate((threats.slide[chosen], np.zeros(asked.size))),
            known + [nothing] * asked.size,
        )
        return made, [*chosen.tolist(), *(-1 - cells[asked]).tolist()]


def _moves(problem: Problem, witnesses: Witnesses) -> tuple[Floats, Floats]:
    """How far each cell moves, up and down, where every threat is just met."""
    up, down = np.zeros(problem.n), np.zeros(problem.n)
    threats = problem.threats
    for w, t in enumerate(witnesses.threat):
        at = slice(witnesses.starts[w], witnesses.starts[w + 1])
        cells, moves = witnesses.cells[at], witnesses.moves[at]
        own = float(moves[cells == threats.cell[t]].sum())
        need = max(float(threats.up[t] if own > 0 else threats.down[t]), float(threats.slide[t]))
        # A smaller part of a movement is one, too.
        moves = moves * min(1.0, need / max(abs(own), 1e-300))
        up[cells] = np.maximum(up[cells], moves)
        down[cells] = np.maximum(down[cells], -moves)
    return up, down


class ModularSuppression(TableMethod):
    """Protect a hierarchical table part by part from the top, then check it as a whole.

    The table falls into subtables without hierarchy, one to every combination of codes that have
    others below them. They are protected from the top down: what is hidden in one is given to the
    others, with as much room as it needs there; where a subtable hides one of its totals, those
    above are looked at again. Parts that are safe do not make a safe whole: at the end every threat
    is checked in the whole table, what is still missing is hidden, and what nobody needs is
    published again.
    """

    name: ClassVar[str] = "modular-suppression"
    aliases: ClassVar[tuple[str, ...]] = ("hitas",)
    paper: ClassVar[str] = (
        "De Wolf 2002, HiTaS: a heuristic approach to cell suppression in hierarchical tables"
    )
    example: ClassVar[Mapping[str, Any]] = {"seconds_each": 2}

    seconds_each: float = Field(
        1.0,
        gt=0,
        description="seconds for the proof that a small subtable is protected as cheaply as "
        "can be; a subtable that needs longer is protected cell by cell",
    )
    small: int = Field(
        SMALL,
        ge=0,
        description="cells of a subtable that may be hidden, up to which the cheapest ones are "
        "looked for",
    )
    sweeps: int = Field(
        SWEEPS,
        ge=1,
        description="how often the subtables are gone through from the top at most, where "
        "totals were hidden from below; what is left is mended in the whole table",
    )
    bound: bool = Field(
        False,
        description="also prove a least cost, by the proofs for small subtables; takes "
        "`seconds-each` for each",
    )
    largest: int = Field(
        LARGEST,
        ge=10,
        description="cells of a bunch of relations, about, where the table has no cube",
    )

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        hidden, witnesses, facts = protect_modular(
            problem,
            seconds_each=self.seconds_each,
            small=self.small,
            largest=self.largest,
            sweeps=self.sweeps,
        )
        least = None
        if self.bound:
            least = least_cost(
                problem, seconds_each=self.seconds_each, largest=self.largest, small=self.small
            )
        warnings: tuple[str, ...] = ()
        if not problem.cubes:
            warnings = (
                "the table has no cube, only relations: its parts are bunches of relations "
                "that cross one another",
            )
        return suppressed(
            problem, hidden, bound=least, private=facts, warnings=warnings, witnesses=witnesses
        )

    def extend(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, rng: np.random.Generator
    ) -> TableOutcome:
        return extended(problem, outcome)
