"""The search for the cheapest protection: bounds from cutting planes, and protections from them."""

from __future__ import annotations

import contextlib
import time

import numpy as np

from ...kernels.arrays import Bools, Floats
from ...progress import report
from ..audit.witness import Witnesses
from ..threats.problem import Problem
from .attack import Attacker
from .cuts import Cut, capacity, companions, rounded
from .exchange import begun, exchanged
from .master import Master
from .protector import Proofs, Protector

_LARGE = 300
"""Cells that can move, from which on a quick protection is worth having first."""
_FEW = 10
"""Inequalities in a round, below which more are looked for at the relaxation itself."""
_ROUNDING = 0.25
"""The share of the time that may go into rounding solutions of the relaxation."""
_BARREN = 25
"""Needs in a row without an inequality, after which a round is content with what it has."""
_VAIN = 100
"""Tries in a row that settle no cell, or find no inequality, after which trying ends."""


class BranchAndCut:
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
        every = self.attacker.merged.costs
        self.sure: Bools = self.attacker.sure
        self.costs: Floats = np.where(self.sure, 0.0, every)
        self.certain = float(every[self.sure].sum())
        """What every protection costs; not counted until the end."""
        self.step = _step(self.costs)
        self.master = Master(self.costs, self.sure)
        self.best: Bools = np.ones(every.size, bool)
        self.held: Proofs = {}
        """A proof for every need by the best."""
        self.cost = np.inf
        self.rounding = 0.0
        """Seconds spent on rounding solutions."""
        self.hasty = False
        """Whether the time was too short even for a first protection."""
        self.bound = 0.0
        self.rounds = 0
        self.fruitful: Floats = np.zeros(len(self.attacker.needs))

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

    def offer(self, hidden: Bools, held: Proofs | None = None, until: float = np.inf) -> None:
        """Groups that protect: thin them out, and keep them if they are the cheapest."""
        held = self.protector.held(hidden) if held is None else held
        order = np.argsort(-self.costs, kind="stable")
        order = order[hidden[order] & ~self.sure[order]]
        thin, held = self.protector.thin(hidden, held, order.tolist(), min(self.end, until))
        self.master.add(self.protector.cuts)
        self.protector.cuts.clear()
        cost = float(self.costs[thin].sum())
        if cost < self.cost:
            self.best, self.cost, self.held = thin, cost, held
            self.master.fix(self.cost, self.step)

    # A first protection --------------------------------------------------------------------------

    def open(self, start: Bools | None, witnesses: Witnesses | None = None) -> None:
        """Any protection: a cheap one while there is time, then whatever comes first. `witnesses`
        are proofs for the start, as far as there are any."""
        merged, attacker = self.attacker.merged, self.attacker
        hidden = (
            self.sure.copy()
            if start is None
            else self.sure | merged.whole(start | self.problem.primary)
        )
        order = np.argsort(-attacker.needs.size, kind="stable")
        if hidden.size > _LARGE:
            until = self.began + 0.3 * self.seconds
            shown = self.problem.primary | merged.spread(hidden)
            found = begun(self.problem, shown, until, witnesses)
            if found is not None:
                hidden |= found[0]
                for move in found[1]:
                    self.protector.learn(move.groups, move.moves, hidden)
        attacker.deadline = hurry = self.began + 0.4 * self.seconds
        try:
            self.protector.complete(hidden, self.costs, order.tolist(), hurry)
        except TimeoutError:
            self.hasty = True
        attacker.deadline = np.inf
        if self.hasty:
            hidden = self.protector.complete_quickly(hidden)
        held = self.protector.held(hidden)
        attacker.deadline = self.end
        if hidden.size > _LARGE:
            # Exchanges are quicker; their result is thinned out.
            self.best, self.cost, self.held = hidden, float(self.costs[hidden].sum()), held
        else:
            self.offer(hidden, held)

    def improve(self, seconds: float) -> None:
        """Exchange cells for cheaper ones; for tables that are not tiny."""
        if self.costs.size <= _LARGE or self.late:
            return
        until = min(self.end, time.monotonic() + seconds)
        start = self.problem.primary | self.attacker.merged.spread(self.best)
        witnesses = self.protector.witnesses(self.held)
        found = exchanged(self.problem, start, witnesses, until)
        hidden, moves = (self.best, []) if found is None else found
        hidden = hidden | self.sure
        for move in moves:
            self.protector.learn(move.groups, move.moves, hidden)
        with contextlib.suppress(TimeoutError):
            self.offer(hidden, until=time.monotonic() + 0.15 * self.seconds)

    # Steps ---------------------------------------------------------------------------------------

    def round_up(self, x: Floats) -> None:
        """Guided by a fractional solution: cells it likes cost less.

        Left out where it has taken too much of the time already.
        """
        now = time.monotonic()
        if self.rounding > _ROUNDING * (now - self.began):
            return
        weights = self.costs * (1.0 - 0.999 * x) + 1e-9 * self.master.unit
        hidden = self.sure | (x > 0.9)
        order = self.rng.permutation(len(self.attacker.needs))
        until = min(self.end, now + 0.1 * self.seconds)
        with contextlib.suppress(TimeoutError):
            self.offer(self.protector.complete(hidden.copy(), weights, order, until), until=until)
        self.rounding += time.monotonic() - now

    def separate(self, x: Floats, point: Floats, most: int) -> list[Cut]:
        """Inequalities that x misses, found at `point`."""
        found: list[Cut] = []
        vain = 0
        # Needs that gave inequalities before are likely to give others.
        order = np.argsort(-self.fruitful + self.rng.random(self.fruitful.size))
        for need in order.tolist():
            try:
                reach = self.attacker.reach(point, need, exact=False)
            except TimeoutError:
                break
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
            if len(found) >= most or self.late or (found and vain > _BARREN):
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
            if len(found) < _FEW and share < 1:
                found += self.separate(x, x, most)
            # Few inequalities: the point was too deep among what protects.
            share = min(share * 1.5, 1.0) if len(found) < _FEW else max(0.9 * share, 0.3)
            core = 0.7 * core + 0.3 * x
            new = master.add(cuts + found) + master.recall(x)
            if not new:
                break
            if self.rounds % 10 == 0:
                self.round_up(x)
                master.purge()
            if stale > 30:
                break
            report("bounding", self.rounds, self.rounds + 1)

    def probe(self, seconds: float) -> int:
        """Settle cells by trying: hidden or published, what if the bound then exceeds the cost?"""
        master, settled, now = self.master, 0, time.monotonic()
        # It often brings nothing: no more than half as long as everything before.
        stop = min(self.end, now + seconds, now + max(0.5 * (now - self.began), 1.0))
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
