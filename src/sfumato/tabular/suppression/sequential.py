"""Protect one sensitive cell after the other by small linear programs, and prove it each time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...kernels.arrays import Bools, Ints
from ...kernels.tables.columns import BARRED, HIDDEN, OPEN
from ...progress import report
from ..audit.witness import Witnesses
from ..base import TableMethod
from ..cells.table import CellTable
from ..outcome import TableOutcome, suppressed
from ..threats.problem import Problem
from .joint_proof import prove_jointly
from .ledger import STILL, Ledger, impossible
from .local_lp import LocalProgram, Move
from .merged import Merged, merge

SPARE = 1e-6
"""The share of their room that cells keep where a move came out too large by rounding."""
TIE = 1e-9
BLUR = 0.6, 1.4
LARGE = 10_000
"""Where more cells than this can be hidden, boxes are the only start, and `auto` ends early."""
MANY = 20
"""Where programs are hard and more sides than this are left, movements are looked for that prove
many of them at once."""
TIRED = "cells may be hidden that could be published: the steps asked for were used up"
KEPT = 0.02
"""What moving a hidden cell costs in programs, beside hiding it."""


STEPS = 1_200_000
"""Simplex iterations after which no further cell is tried: about a minute."""


class Search:
    """A pattern of hidden groups with a proof for every side; each step keeps it protected."""

    def __init__(
        self,
        problem: Problem,
        hidden: Bools,
        witnesses: Witnesses | None = None,
        steps: int = STEPS,
        until: float = np.inf,
    ) -> None:
        self.problem = problem
        self.steps, self.until = steps, until
        self.stopped = False
        self.merged: Merged = merge(problem)
        self.ledger = Ledger(problem, self.merged)
        start = self.merged.whole(hidden | problem.primary)
        self.state: Ints = np.where(start, HIDDEN, OPEN).astype(np.int64)
        self.program = LocalProgram(self.merged, self.state)
        if witnesses is not None:
            self.ledger.read(witnesses)
            for group, users in enumerate(self.ledger.users):
                if users:
                    self.state[group] = HIDDEN

    def tired(self) -> bool:
        """Whether as much work was done as was asked for, or the time is up."""
        self.stopped |= self.program.steps >= self.steps or self.late
        if self.until < np.inf:
            self.program.end_at(self.until)
        return self.stopped

    @property
    def late(self) -> bool:
        """Whether the time is up, where there is an end to it."""
        return self.until < np.inf and time.monotonic() > self.until

    @property
    def cost(self) -> float:
        """Of the hidden groups."""
        return float(self.merged.costs[self.state == HIDDEN].sum())

    def hidden(self) -> Bools:
        """The cells hidden now."""
        return self.merged.spread(self.state == HIDDEN) | self.problem.primary

    def move(self, side: int, *, whole: bool = True, dearest: float = np.inf) -> Move | None:
        """A cheap move that proves this side."""
        ledger = self.ledger
        found: Move | None = None
        with self._knowing(side):
            for spare in (0.0, SPARE):
                found = self.program.cheapest(
                    int(ledger.group[side]),
                    ledger.amount(side),
                    kept=KEPT,
                    whole=whole,
                    dearest=dearest,
                    spare=spare,
                )
                if found is None or ledger.multiple(side, found) is not None:
                    break
                found = None
        return found

    @contextmanager
    def _knowing(self, side: int) -> Iterator[None]:
        """What the side's attacker knows cannot move meanwhile."""
        barred = [g for g in self.ledger.known[side] if self.state[g] != BARRED]
        before = self.state[barred]
        self.state[barred] = BARRED
        yield
        self.state[barred] = before

    def complete(self) -> None:
        """Hide more until every side is proven (or the time is up), the widest first."""
        ledger = self.ledger
        left = {side for side, move in enumerate(ledger.proof) if move is None}
        count, together = len(left), False
        pending = sorted(left, key=lambda s: (ledger.need[s], -s))
        while pending and not self.late:
            side = pending.pop()
            if side not in left:
                continue
            other = int(ledger.across[side])
            move = self.move(side) or self._farthest(side)
            if other >= 0 and ledger.proof[other] is None and other not in left:
                left.add(other)  # It has to make up for this side.
                pending.append(other)
            self.state[move.groups] = HIDDEN
            ledger.rest(left, move)
            left.discard(side)
            report("protecting cells", count - len(left), count)
            if self.program.laboured and len(left) > MANY and not together:
                together = True
                for _ in prove_jointly(self, left):
                    report("protecting cells", count - len(left), count)
                    if self.late:
                        break

    def _farthest(self, side: int) -> Move:
        """A move as far as any goes. If that is not enough, the other side has to make up for it
        from now on; where it cannot, nothing protects the cell."""
        ledger = self.ledger
        with self._knowing(side):
            found = self.program.farthest(int(ledger.group[side]), ledger.amount(side))
        if found is not None and ledger.multiple(side, found) is not None:
            return found
        most = 0.0 if found is None else ledger.far(side, found)
        other = ledger.lean(side, most)
        if other < 0:
            raise impossible(self.problem, int(ledger.threat[side]))
        ledger.across[[side, other]] = -1
        return ledger.proof[side] or self.move(side) or found or STILL

    def release(self) -> None:
        """Publish whatever no proof rests on."""
        for group in np.flatnonzero(self.state == HIDDEN).tolist():
            if not self.ledger.users[group] and self.merged.costs[group] > 0:
                self.state[group] = OPEN

    def without(self, group: int, others: Sequence[int] = (), level: bool = False) -> bool:
        """Try to do without this group, and choose anew whether to hide the others: whether a
        cheaper pattern was found, or with `level` one that costs the same."""
        groups = [group, *others]
        ledger, costs = self.ledger, self.merged.costs
        left = ledger.resting_on(groups)
        budget = float(costs[groups].sum()) * (1 + TIE if level else 1 - TIE)
        self.state[groups] = OPEN
        self.state[group] = BARRED
        new: list[int] = []
        proofs: list[tuple[int, Move]] = []
        spent = 0.0
        for side in sorted(left, key=lambda s: (-ledger.need[s], s)):
            if side not in left:
                continue
            move = self.move(side, whole=False, dearest=budget - spent)
            if move is None:
                break
            fresh = move.groups[self.state[move.groups] == OPEN]
            spent += float(costs[fresh].sum())
            if spent >= budget:
                break
            served = ledger.served(move, left)
            self.state[fresh] = HIDDEN
            new += fresh.tolist()
            proofs += [(s, move) for s in served]
            left.difference_update(served)
        if left:
            self.state[new] = OPEN
            self.state[groups] = HIDDEN
            return False
        self.state[group] = OPEN
        for side, move in proofs:
            ledger.prove(side, move)
        return True

    def around(self, group: int, most: int) -> list[int]:
        """The dearest hidden groups that share a relation with this one, not the sensitive."""
        starts, rows, _ = self.merged.relations.by_cell
        if not most or starts[group] == starts[group + 1]:
            return []
        at, cells = self.merged.relations.starts, self.merged.relations.cells
        near = np.unique(
            np.concatenate(
                [cells[at[r] : at[r + 1]] for r in rows[starts[group] : starts[group + 1]]]
            )
        )
        near = near[(self.state[near] == HIDDEN) & ~self.merged.primary[near] & (near != group)]
        order = np.argsort(-self.merged.costs[near], kind="stable")
        return [int(g) for g in near[order[:most]]]

    def clean(self, width: int = 0, rng: np.random.Generator | None = None) -> None:
        """Publish single groups, or swap them for cheaper ones, the dearest first.

        With `width` so many hidden groups in the same relations are chosen anew each time. With
        `rng` programs see costs that are a little off, and what costs the same is exchanged too:
        ties are where such a search gets stuck.
        """
        costs = self.merged.costs
        if rng is not None:
            self.program.costs = costs * rng.uniform(*BLUR, self.merged.n)
        self.release()
        order = np.flatnonzero((self.state == HIDDEN) & (costs > 0) & ~self.merged.primary)
        order = order[np.argsort(-costs[order], kind="stable")]
        for i, group in enumerate(order.tolist()):
            if self.tired():
                break
            if self.state[group] != HIDDEN:
                continue
            if not self.ledger.users[group]:
                self.state[group] = OPEN
            elif self.without(group, self.around(group, width), level=rng is not None):
                self.release()
            report("publishing cells", i + 1, order.size)

    def widen(self, most: int = 5) -> None:
        """Hide single groups that allow dearer ones around them, together, to be published."""
        costs = self.merged.costs
        self.program.costs = costs.copy()
        order = np.flatnonzero(self.state == OPEN)
        for i, group in enumerate(order[np.argsort(costs[order], kind="stable")].tolist()):
            if self.tired():
                break
            if self.state[group] == OPEN:
                self._hide(group, self.around(group, most))
            report("exchanging cells", i + 1, order.size)

    def _hide(self, group: int, near: list[int]) -> None:
        """Hide a group if the others around it can make up for it."""
        costs, ledger = self.merged.costs, self.ledger
        left = float(costs[near].sum())
        if len(near) < 2 or left <= costs[group]:
            return
        before, saved, proofs = self.cost, self.state.copy(), list(ledger.proof)
        self.state[group] = HIDDEN
        changed = False
        for other in near:
            now = self.cost
            if now - left >= before:
                break  # Even publishing all the others would not pay.
            left -= float(costs[other])
            if self.state[other] == HIDDEN and costs[other] > 0:
                changed |= self.without(other)
        if changed:
            self.release()
            if self.cost < before * (1 - TIE):
                return
            for side, proof in enumerate(proofs):
                if proof is not None and ledger.proof[side] is not proof:
                    ledger.prove(side, proof)
        self.state[:] = saved


def complete(
    problem: Problem, hidden: Bools, *, witnesses: Witnesses | None = None
) -> tuple[Bools, Witnesses]:
    """Hide what is missing until every threat is met: (hidden, proofs)."""
    search = Search(problem, hidden, witnesses)
    search.complete()
    return hidden | search.hidden(), search.ledger.witnesses()


def extended(problem: Problem, outcome: TableOutcome) -> TableOutcome:
    """An outcome with more cells hidden, so that threats added since are met, too."""
    hidden, proofs = complete(problem, outcome.hidden, witnesses=outcome.witnesses)
    return suppressed(
        problem,
        hidden,
        facts=outcome.facts,
        private=outcome.private,
        warnings=outcome.warnings,
        witnesses=proofs,
    )


def clean(
    problem: Problem,
    hidden: Bools,
    witnesses: Witnesses | None = None,
    steps: int = STEPS,
) -> tuple[Bools, Witnesses]:
    """Publish what is not needed, dear cells first: (hidden, proofs)."""
    search = Search(problem, hidden, witnesses, steps)
    search.complete()
    search.steps += search.program.steps  # Completing had to be done.
    search.clean()
    return search.hidden(), search.ledger.witnesses()


def searched(problem: Problem, rounds: int, steps: int, until: float = np.inf) -> Search:
    """The cheapest search of all starts; where the time ends before one is complete, whatever is
    hidden and proven until then."""
    starts: list[tuple[Bools, Witnesses | None]] = []
    if not (_large(problem) and problem.cubes):
        starts.append((problem.primary, None))
    if problem.cubes:
        from .hypercube import cover

        starts.append(cover(problem))
    found = []
    for hidden, witnesses in starts:
        search = Search(problem, hidden, witnesses, steps, until)
        search.complete()
        search.steps += search.program.steps  # Completing had to be done.
        if search.ledger.complete:
            _improve(search, rounds)
        found.append(search)
    return min(found, key=lambda search: (not search.ledger.complete, search.cost))


def _improve(search: Search, rounds: int) -> None:
    search.clean()
    for extra in range(rounds):
        before = search.cost
        if extra:
            search.widen()
        search.clean(2, np.random.default_rng(extra))
        if extra and search.cost >= before:
            break


def _large(problem: Problem) -> bool:
    return int((~problem.fixed).sum()) > LARGE


class SequentialSuppression(TableMethod):
    """Protect one sensitive cell after the other by linear programs, then publish what can be.

    The cells with the widest needs come first. Each gets the cheapest move of other cells that a
    small program around it finds (a whole table only where that fails): a table that is as possible
    as the true one. That move also proves widths of other cells in it, which then need no program;
    where programs are hard, moves are looked for that prove many cells at once.
    In a cube boxes are a second start; in a large one, where they are much faster, the only one.
    Afterwards every cell hidden on the way is tried in turn, dear ones first: could it be
    published, or exchanged for cheaper cells? The result is protected at every step.
    """

    name: ClassVar[str] = "sequential-suppression"
    paper: ClassVar[str] = (
        "Kelly, Golden & Assad 1992, Cell suppression: disclosure protection for sensitive tabular "
        "data; Robertson 1993 (CONFID)"
    )

    rounds: Annotated[int, Field(ge=0, le=1000)] | Literal["auto"] = Field(
        "auto",
        description="further rounds: exchanges of several cells at a time first, then cells "
        "hidden so that dearer ones can be published; they end when one brings nothing; "
        "auto: one where at most 10,000 cells can be hidden, else none",
    )
    steps: int = Field(
        STEPS,
        ge=0,
        description="simplex iterations after which nothing further is published; the cells "
        "that cost most come first",
    )

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        rounds = (0 if _large(problem) else 1) if self.rounds == "auto" else self.rounds
        best = searched(problem, rounds, self.steps)
        warnings = (TIRED,) if best.stopped else ()
        return suppressed(
            problem, best.hidden(), warnings=warnings, witnesses=best.ledger.witnesses()
        )

    def extend(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, rng: np.random.Generator
    ) -> TableOutcome:
        return extended(problem, outcome)
