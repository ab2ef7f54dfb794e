"""Sets of hidden cells that protect: checked, completed and thinned out by linear programs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import hstack

from ..audit.witness import Witnesses
from ..highs import model, solver
from ..threats.problem import Unprotectable
from .attack import ENOUGH, Attacker, Reach
from .cuts import Cut, capacity
from .needs import DOWN, SLIDE, UP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...kernels.arrays import Bools, Floats, Ints

_MOVED = 1e-8
"""In units of the need: what moves less stands still."""
_NOISE = 1e-12
"""Of the largest movement: what is left of sums that cancel."""
_DUAL, _PRIMAL = 1, 4
"""Strategies of the solver."""
_MOST = 2_000_000
"""Entries of witnesses; whoever checks finds the others by programs more quickly."""
_KEPT = 4
"""Proofs to remember for each need."""


Proof = tuple["Ints", tuple["Floats", ...]]
"""The groups that a movement moves, and how far (for SLIDE: up, down)."""
Proofs = dict[int, Proof]
"""For needs."""


class Protector:
    """Knows for each need a few sets of cells that, hidden, meet it: most checks are look-ups."""

    def __init__(self, attacker: Attacker) -> None:
        self.attacker = attacker
        self.sure: Bools = attacker.sure
        self.proofs: list[list[Proof]] = [[] for _ in range(len(attacker.needs))]
        self._cheapest: Any = None
        self.cuts: list[Cut] = []
        """Inequalities met on the way that sets which do not protect miss."""
        self._cuts_of: dict[int, list[Cut]] = {}

    def proof(self, hidden: Bools, need: int) -> Proof | None:
        """A remembered proof that these cells meet the need."""
        return next((one for one in self.proofs[need] if hidden[one[0]].all()), None)

    def check(self, hidden: Bools, need: int) -> Reach | None:
        """None where these hidden cells meet the need; otherwise how far they reach."""
        if self.proof(hidden, need) is not None:
            return None
        x = hidden.astype(np.float64)
        reach = self.attacker.reach(x, need, exact=False)
        if reach.far < ENOUGH:
            reach = self.attacker.reach(x, need, exact=True)
        if reach.far < ENOUGH:
            return reach
        # What is published stands still; the solver's tolerance may say otherwise.
        found = tuple(np.where(hidden, moves, 0.0) for moves in reach.moves)
        self._remember(need, found)
        for moves in found:
            self._share(moves, hidden)
        return None

    def unmet(self, hidden: Bools, deadline: float = np.inf) -> list[tuple[int, Reach]]:
        """The needs that these hidden cells do not meet."""
        found = []
        for need in range(len(self.attacker.needs)):
            reach = self.check(hidden, need)
            if reach is not None:
                found.append((need, reach))
            if time.monotonic() > deadline:
                raise TimeoutError
        return found

    def _remember(self, need: int, moves: tuple[Floats, ...]) -> None:
        size = self.attacker.needs.size[need]
        used = np.zeros(self.attacker.size, bool)
        for one in moves:
            used |= np.abs(one) > _NOISE * size
        used[self.attacker.aim[need]] = True
        cells = np.flatnonzero(used)
        self.proofs[need].insert(0, (cells, tuple(one[cells] for one in moves)))
        del self.proofs[need][_KEPT:]

    def held(self, hidden: Bools) -> Proofs:
        """A proof for every need that these groups meet."""
        found: Proofs = {}
        for need in range(len(self.attacker.needs)):
            if self.check(hidden, need) is None:
                found[need] = self.proof(hidden, need) or self.proofs[need][0]
        return found

    def witnesses(self, held: Proofs) -> Witnesses:
        """Proofs of needs as proofs of threats, cell by cell; the shortest where they are many."""
        threat: list[int] = []
        cells: list[Ints] = []
        moves: list[Floats] = []
        merged, entries = self.attacker.merged, 0
        for need, (groups, proof) in sorted(held.items(), key=lambda one: one[1][0].size):
            if entries > _MOST:
                break
            which, members = merged.cells(groups)
            for one in proof:
                served = self.attacker.needs.threats[need].tolist()
                threat += served
                cells += [members] * len(served)
                moves += [one[which] * merged.sign[members]] * len(served)
                entries += members.size * len(served)
        return Witnesses.of(threat, cells, moves)

    def learn(self, groups: Ints, moves: Floats, hidden: Bools) -> None:
        """Remember a movement found elsewhere for every need that it meets."""
        whole = np.zeros(self.attacker.size)
        whole[groups] = moves
        self._share(whole, hidden)

    def _share(self, moves: Floats, hidden: Bools) -> None:
        """A movement found for one need serves every other cell that it moves far enough."""
        attacker, needs = self.attacker, self.attacker.needs
        largest = float(np.abs(moves).max(initial=0.0))
        moved = np.flatnonzero(np.abs(moves) > _NOISE * largest)
        if not moved.size:
            return
        clean = np.zeros(moves.size)
        clean[moved] = moves[moved]
        for sign in (1.0, -1.0):
            turned = sign * clean[moved]
            with np.errstate(divide="ignore"):
                times = np.where(
                    turned > 0, attacker.room_above[moved], attacker.room_below[moved]
                ) / np.abs(turned)
            most = float(times.min())
            if not np.isfinite(most):
                most = float(needs.size.max()) / max(float(np.abs(turned).min()), 1e-300)
            far = np.where(attacker.aim >= 0, clean[attacker.aim], 0.0) * (sign * most)
            for need in np.flatnonzero(far * needs.way >= needs.size * ENOUGH):
                known = attacker.known[need]
                stands = not known.size or not clean[known].any()
                if stands and self.proof(hidden, int(need)) is None:
                    self._remember(int(need), (sign * clean * most,))

    def complete(
        self, hidden: Bools, weights: Floats, order: Iterable[int], deadline: float = np.inf
    ) -> Bools:
        """Hide more until every need is met, need by need, where weights are small (Kelly, Golden &
        Assad 1992), in place; a TimeoutError after the deadline loses nothing."""
        lost = []
        for need in order:
            reach = self.check(hidden, need)
            if reach is None:
                continue
            if not self._hide_for(hidden, weights, need, reach):
                lost.append(need)
            if time.monotonic() > deadline:
                raise TimeoutError
        if lost:
            self._refuse(lost)
        return hidden

    def complete_quickly(self, hidden: Bools) -> Bools:
        """Hide more until every need is met, by whatever movement is found first."""
        hidden, lost, every = hidden.copy(), [], np.ones(hidden.size, bool)
        # With everything hidden, standing still is a vertex to start from: the primal way is short.
        highs = self.attacker.program.highs
        highs.setOptionValue("simplex_strategy", _PRIMAL)
        for need in range(len(self.attacker.needs)):
            if self.proof(hidden, need) is not None:
                continue
            if self.check(every, need) is None:
                hidden[(self.proof(every, need) or self.proofs[need][0])[0]] = True
            else:
                lost.append(need)
        highs.setOptionValue("simplex_strategy", _DUAL)
        if lost:
            self._refuse(lost)
        return hidden

    def _hide_for(self, hidden: Bools, weights: Floats, need: int, reach: Reach) -> bool:
        way, attacker = int(self.attacker.needs.way[need]), self.attacker
        if attacker.aim[need] < 0:
            return False
        if way != SLIDE:
            found = self._cheap_moves(hidden, weights, need, way, 1.0)
            if found is None:
                return False
            hidden |= found
        else:
            p, size = attacker.aim[need], attacker.needs.size[need]
            for one, room in ((UP, attacker.room_above), (DOWN, attacker.room_below)):
                other = reach.moves[1 if one == UP else 0][p] * -one / size
                target = min(room[p] / size, max(1.0 - other, 0.0))
                found = self._cheap_moves(hidden, weights, need, one, target)
                if found is not None:
                    hidden |= found
                    reach = attacker.reach(hidden.astype(np.float64), need, exact=True)
                if reach.far >= ENOUGH:
                    break
        if self.check(hidden, need) is None:
            return True
        # Rounding noise, or a slide that is wider one way than first thought: hide all and let
        # `thin` sort it out.
        every = np.ones(hidden.size, bool)
        if self.check(every, need) is not None:
            return False
        hidden |= True
        return True

    def _cheap_moves(
        self, hidden: Bools, weights: Floats, need: int, way: int, target: float
    ) -> Bools | None:
        """The cells of the cheapest movement, a cell's cost spread over the room that is needed."""
        attacker, n = self.attacker, hidden.size
        if self._cheapest is None:
            both = hstack((attacker.matrix, -attacker.matrix), format="csr")
            self._cheapest = solver(presolve="off", primal_feasibility_tolerance=1e-9)
            still, none = np.zeros(2 * n), np.zeros(both.shape[0])
            self._cheapest.passModel(model(both, still, still, still, none, none))
        highs, size = self._cheapest, attacker.needs.size[need]
        room = np.concatenate((attacker.room_above, attacker.room_below)) / size
        cost = np.where(hidden, 0.0, weights)
        unit = max(float(cost.max()), 1e-300)
        with np.errstate(divide="ignore"):
            cost = np.tile(cost / unit, 2) / np.clip(room, 1e-6, 1.0)
        upper = np.minimum(room, 1e7)
        lower = np.zeros(2 * n)
        stuck = attacker.known[need]
        upper[stuck] = upper[stuck + n] = 0.0
        p = int(attacker.aim[need])
        upper[p] = upper[p + n] = 0.0
        at = p if way == UP else p + n
        lower[at] = upper[at] = target
        every = np.arange(2 * n, dtype=np.int32)
        highs.changeColsCost(2 * n, every, cost)
        highs.changeColsBounds(2 * n, every, lower, upper)
        if not attacker.solve(highs):
            return None
        moves = np.asarray(highs.getSolution().col_value)
        return (moves[:n] > _MOVED) | (moves[n:] > _MOVED)

    def thin(
        self, hidden: Bools, held: Proofs, order: Iterable[int], deadline: float = np.inf
    ) -> tuple[Bools, Proofs]:
        """Publish what is not needed, group by group in this order; `held` proves what is hidden.

        What could not be tried by the deadline stays hidden.
        """
        hidden, held = hidden.copy(), dict(held)
        users: dict[int, set[int]] = {}
        for need, (cells, _) in held.items():
            for cell in cells.tolist():
                users.setdefault(cell, set()).add(need)
        for cell in order:
            if not hidden[cell]:
                continue
            if time.monotonic() > deadline:
                break
            hidden[cell] = False
            if any(cut.short(hidden) > 1e-6 for cut in self._cuts_of.get(cell, ())):
                hidden[cell] = True
                continue
            # Most cells are needed: look first where there are fewest ways round them.
            resting = sorted(users.get(cell, set()), key=lambda k: held[k][0].size)
            try:
                moved = self._again(hidden, resting)
            except TimeoutError:
                moved = None
            if moved is None:
                hidden[cell] = True
                continue
            for need, (cells, moves) in moved.items():
                for old in held[need][0].tolist():
                    users[old].discard(need)
                for new in cells.tolist():
                    users.setdefault(new, set()).add(need)
                held[need] = (cells, moves)
        return hidden, held

    def _again(self, hidden: Bools, needs: Iterable[int]) -> Proofs | None:
        """Proofs of these needs by these hidden cells; None where one of them is not met."""
        moved: Proofs = {}
        for need in needs:
            reach = self.check(hidden, need)
            if reach is not None:
                self._note(need, reach)
                return None
            moved[need] = self.proof(hidden, need) or self.proofs[need][0]
        return moved

    def _note(self, need: int, reach: Reach) -> None:
        cut = capacity(self.attacker, need, reach, self.sure)
        if cut is not None:
            self.cuts.append(cut)
            for cell in cut.cells.tolist():
                self._cuts_of.setdefault(cell, []).append(cut)

    def _refuse(self, lost: list[int]) -> None:
        needs = self.attacker.needs
        cells = sorted({int(needs.cell[need]) for need in lost})
        some = ", ".join(map(str, cells[:10])) + (" ..." if len(cells) > 10 else "")
        raise Unprotectable(
            cells,
            f"cells {some} cannot be protected even if everything that may be hidden is",
            remedy="allow more cells to be hidden, or lower the protection they ask for",
        )
