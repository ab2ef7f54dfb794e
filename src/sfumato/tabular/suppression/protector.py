"""Sets of hidden cells that protect: checked, completed and thinned out by linear programs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import MethodError
from ..highs import load, solver
from ..relations import Relations
from ..witness import Witnesses
from .attack import ENOUGH, Attacker, Reach
from .cuts import Cut, capacity
from .needs import DOWN, SLIDE, UP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...kernels.blocks import Bools, Floats, Ints

_MOVED = 1e-8
"""In units of the need: what moves less stands still."""
_NOISE = 1e-12
"""Of the largest movement: what is left of sums that cancel."""
_KEPT = 4
"""Proofs to remember for each need."""


class Protector:
    """Knows for each need a few sets of cells that, hidden, meet it: most checks are look-ups."""

    def __init__(self, attacker: Attacker) -> None:
        self.attacker = attacker
        self.sure: Bools = attacker.problem.primary[attacker.cells]
        self.proofs: list[list[Ints]] = [[] for _ in range(len(attacker.needs))]
        self.moves: list[list[tuple[Floats, ...]]] = [[] for _ in range(len(attacker.needs))]
        """For each proof the movements of its cells, in the same order."""
        self._cheapest: Any = None
        self.cuts: list[Cut] = []
        """Inequalities met on the way that sets which do not protect miss."""
        self._cuts_of: dict[int, list[Cut]] = {}

    def proof(self, hidden: Bools, need: int) -> int | None:
        """The number of a remembered proof that these cells meet the need."""
        for number, cells in enumerate(self.proofs[need]):
            if hidden[cells].all():
                return number
        return None

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
        self._remember(need, reach.moves)
        for moves in reach.moves:
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
        used = np.zeros(self.attacker.cells.size, bool)
        for one in moves:
            used |= np.abs(one) > _NOISE * size
        used[self.attacker.aim[need]] = True
        cells = np.flatnonzero(used)
        self.proofs[need].insert(0, cells)
        self.moves[need].insert(0, tuple(one[cells] for one in moves))
        del self.proofs[need][_KEPT:], self.moves[need][_KEPT:]

    def witnesses(self, hidden: Bools) -> Witnesses:
        """A proof for every need that these cells meet."""
        threat, starts = [], [0]
        cells: list[Ints] = [np.empty(0, np.int64)]
        moves: list[Floats] = [np.empty(0)]
        for need in range(len(self.attacker.needs)):
            if self.check(hidden, need) is not None:
                continue
            number = self.proof(hidden, need) or 0
            for one in self.moves[need][number]:
                threat.append(int(self.attacker.needs.threat[need]))
                cells.append(self.attacker.cells[self.proofs[need][number]])
                moves.append(one)
                starts.append(starts[-1] + one.size)
        return Witnesses(
            np.array(threat, np.int64),
            np.array(starts, np.int64),
            np.concatenate(cells),
            np.concatenate(moves),
        )

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
        """Hide more until every need is met, need by need, where weights are small
        (Kelly, Golden & Assad 1992)."""
        hidden, lost = hidden.copy(), []
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
            both = attacker.matrix.tocoo()
            relations = Relations.of(
                np.tile(both.row, 2).astype(np.int64),
                np.concatenate((both.col, both.col + n)).astype(np.int64),
                np.concatenate((both.data, -both.data)),
                2 * n,
            )
            self._cheapest = solver(presolve="off", primal_feasibility_tolerance=1e-9)
            zero = np.zeros(2 * n)
            load(self._cheapest, relations, zero, zero, zero)
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
        highs.run()
        if highs.getModelStatus().name != "kOptimal":
            highs.clearSolver()
            highs.run()
        if highs.getModelStatus().name != "kOptimal":
            return None
        moves = np.asarray(highs.getSolution().col_value)
        used: Bools = (moves[:n] > _MOVED) | (moves[n:] > _MOVED)
        return used

    def thin(self, hidden: Bools, order: Iterable[int], deadline: float = np.inf) -> Bools:
        """Publish what is not needed, cell by cell in this order; `hidden` must protect."""
        hidden = hidden.copy()
        chosen: list[Ints] = []
        for need in range(len(self.attacker.needs)):
            self.check(hidden, need)
            number = self.proof(hidden, need)
            chosen.append(self.proofs[need][number or 0])
        users: dict[int, set[int]] = {}
        for need, cells in enumerate(chosen):
            for cell in cells.tolist():
                users.setdefault(cell, set()).add(need)
        for cell in order:
            if not hidden[cell]:
                continue
            if time.monotonic() > deadline:
                break
            hidden[cell] = False
            moved: dict[int, Ints] = {}
            if any(cut.short(hidden) > 1e-6 for cut in self._cuts_of.get(cell, ())):
                hidden[cell] = True
                continue
            # Most cells are needed: look first where there are fewest ways round them.
            for need in sorted(users.get(cell, set()), key=lambda k: chosen[k].size):
                reach = self.check(hidden, need)
                if reach is not None:
                    hidden[cell] = True
                    self._note(need, reach)
                    break
                moved[need] = self.proofs[need][self.proof(hidden, need) or 0]
            else:
                for need, cells in moved.items():
                    for old in chosen[need].tolist():
                        users[old].discard(need)
                    for new in cells.tolist():
                        users.setdefault(new, set()).add(need)
                    chosen[need] = cells
        return hidden

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


class Unprotectable(MethodError):
    """Some cells cannot be protected by hiding cells."""

    def __init__(self, cells: list[int], message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.cells = cells
