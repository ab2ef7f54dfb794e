"""Protect one sensitive cell after the other by small linear programs, and prove it each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from ...kernels.table_columns import BARRED, HIDDEN, OPEN
from ...progress import report
from ..base import TableMethod
from ..outcome import TableOutcome, suppressed
from .ledger import Ledger, impossible
from .local_lp import LocalProgram, Move
from .merged import Merged, merge

if TYPE_CHECKING:
    from ...kernels.blocks import Bools, Ints
    from ..cells import CellTable
    from ..problem import Problem
    from ..witness import Witnesses


SPARE = 1e-6
"""The share of their room that cells keep where a move came out too large by rounding."""
TIE = 1e-9
BLUR = 0.6, 1.4
KEPT = 0.02
"""What moving a hidden cell costs in programs, beside hiding it."""


class Search:
    """A pattern of hidden groups with a proof for every side; each step keeps it protected."""

    def __init__(self, problem: Problem, hidden: Bools, witnesses: Witnesses | None = None) -> None:
        self.problem = problem
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
        barred = [g for g in ledger.known[side] if self.state[g] != BARRED]
        before = self.state[barred]
        self.state[barred] = BARRED
        found: Move | None = None
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
        self.state[barred] = before
        return found

    def complete(self) -> None:
        """Hide more until every side is proven, the widest first."""
        ledger = self.ledger
        left = {side for side, move in enumerate(ledger.proof) if move is None}
        count = len(left)
        order = sorted(left, key=lambda s: (-ledger.need[s], s))
        for side in order:
            if side not in left:
                continue
            move = self.move(side)
            if move is None:
                raise impossible(self.problem, int(ledger.threat[side]))
            self.state[move.groups] = HIDDEN
            served = ledger.served(move, left)
            for s in served:
                ledger.prove(s, move)
            left.difference_update(served)
            report("protecting cells", count - len(left), count)

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


def clean(
    problem: Problem, hidden: Bools, witnesses: Witnesses | None = None
) -> tuple[Bools, Witnesses]:
    """Publish what is not needed, dear cells first: (hidden, proofs)."""
    search = Search(problem, hidden, witnesses)
    search.complete()
    search.clean()
    return search.hidden(), search.ledger.witnesses()


class SequentialSuppression(TableMethod):
    """Protect one sensitive cell after the other by linear programs, then publish what can be.

    The cells with the widest needs come first. Each gets the cheapest move of other cells that a
    small program around it finds (a whole table only where that fails): a table that is as possible
    as the true one. That move also proves widths of other cells in it, which then need no program.
    Afterwards every cell hidden on the way is tried in turn, dear ones first: could it be
    published, or exchanged for cheaper cells? The result is protected at every step.
    """

    name: ClassVar[str] = "sequential-suppression"
    paper: ClassVar[str] = (
        "Kelly, Golden & Assad 1992, Cell suppression: disclosure protection for sensitive tabular "
        "data; Robertson 1993 (CONFID)"
    )

    rounds: Annotated[
        int,
        Field(
            ge=0,
            le=1000,
            description="further rounds: exchanges of several cells at a time first, then cells "
            "hidden so that dearer ones can be published; they end when one brings nothing",
        ),
    ] = 1

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        search = Search(problem, problem.primary)
        search.complete()
        search.clean()
        for extra in range(self.rounds):
            before = search.cost
            if extra:
                search.widen()
            search.clean(2, np.random.default_rng(extra))
            if extra and search.cost >= before:
                break
        return suppressed(problem, search.hidden(), witnesses=search.ledger.witnesses())
