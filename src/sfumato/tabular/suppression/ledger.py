"""Who is protected by what: every side of every threat, and the move that proves it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ..audit.witness import Witnesses
from ..threats.problem import Problem, Unprotectable
from .local_lp import LEAST, Move, fitted
from .merged import Merged


class Ledger:
    """Side s is a threat upwards or downwards; it is proven by a move of its group by `need`.

    A move serves any number of sides, each at its own multiple of it. Where a need slides, what one
    side cannot have is asked of the other.
    """

    def __init__(self, problem: Problem, merged: Merged) -> None:
        self.problem, self.merged = problem, merged
        threats = problem.threats
        up, down = needs(problem)
        both = np.concatenate((np.arange(len(threats)), np.arange(len(threats))))
        sense = np.repeat([1.0, -1.0], len(threats))
        need = np.concatenate((up, down))
        asked = np.flatnonzero(need > 0)
        self.threat: Ints = both[asked]
        self.need: Floats = need[asked]
        cell = threats.cell[self.threat]
        self.group: Ints = merged.group[cell]
        self.sense: Floats = sense[asked] * merged.sign[cell]
        lost = np.flatnonzero(self.group < 0)
        if lost.size:
            raise impossible(problem, int(self.threat[lost[0]]))
        self.known = [
            frozenset(merged.group[threats.known(int(t))].tolist()) - {-1} for t in self.threat
        ]
        least = np.minimum(np.concatenate((threats.up, threats.down)), need)
        self.floor: Floats = least[asked]
        """What a side needs by itself."""
        self.across: Ints = _across(self.threat, self.need > self.floor * (1 + LEAST))
        """The side that can take over from one whose need slides, else -1."""
        self.proof: list[Move | None] = [None] * self.threat.size
        self.users: list[set[int]] = [set() for _ in range(merged.n)]
        """The sides whose proof moves a group."""
        order = np.argsort(self.group, kind="stable")
        starts = np.searchsorted(self.group[order], np.arange(merged.n + 1)).tolist()
        listed = order.tolist()
        self.sides = [listed[a:b] for a, b in pairwise(starts)]
        """The sides of each group."""

    def __len__(self) -> int:
        return int(self.threat.size)

    @property
    def complete(self) -> bool:
        """Whether every side is proven."""
        return None not in self.proof

    def amount(self, side: int) -> float:
        """How far the side's group has to move."""
        return float(self.need[side] * self.sense[side])

    def multiple(self, side: int, move: Move) -> float | None:
        """How often the side needs the move, backwards if negative; None if it proves nothing."""
        at = int(np.searchsorted(move.groups, self.group[side]))
        if at == move.groups.size or move.groups[at] != self.group[side]:
            return None
        times = self.amount(side) / float(move.moves[at])
        if not -move.back * (1 + LEAST) <= times <= move.ahead * (1 + LEAST):
            return None
        known = self.known[side]
        if known and not known.isdisjoint(move.groups.tolist()):
            return None
        return times

    def far(self, side: int, move: Move) -> float:
        """How far a move takes the side's group the way it needs."""
        at = int(np.searchsorted(move.groups, self.group[side]))
        if at == move.groups.size or move.groups[at] != self.group[side]:
            return 0.0
        if not self.known[side].isdisjoint(move.groups.tolist()):
            return 0.0
        step = float(move.moves[at] * self.sense[side])
        return step * move.ahead if step > 0 else -step * move.back

    def lean(self, side: int, most: float) -> int:
        """Ask no more than `most` of a side, and the rest across: that side, or -1 if it cannot."""
        other = int(self.across[side])
        if other < 0 or most < self.floor[side] * (1 - LEAST):
            return -1
        taken = min(float(self.need[side]), max(most, float(self.floor[side])))
        if taken <= LEAST * self.need[side]:
            taken = 0.0
            self.prove(side, STILL)
        self.need[other] += self.need[side] - taken
        self.need[side] = taken
        proof = self.proof[other]
        if proof is not None and self.multiple(other, proof) is None:
            self.prove(other, None)
        return other

    def served(self, move: Move, among: set[int]) -> list[int]:
        """Which of these sides a move proves."""
        return [
            side
            for group in move.groups.tolist()
            for side in self.sides[group]
            if side in among and self.multiple(side, move) is not None
        ]

    def prove(self, side: int, move: Move | None) -> None:
        """Let a side stand on this move, or on none, and no longer on the one before."""
        before = self.proof[side]
        if before is not None:
            for group in before.groups.tolist():
                self.users[group].discard(side)
        self.proof[side] = move
        if move is not None:
            for group in move.groups.tolist():
                self.users[group].add(side)

    def rest(self, left: set[int], move: Move) -> int:
        """Let all of these sides stand on the move that it proves, and take them out; how many."""
        served = self.served(move, left)
        for side in served:
            self.prove(side, move)
        left.difference_update(served)
        return len(served)

    def resting_on(self, groups: Iterable[int]) -> set[int]:
        """The sides whose proof moves any of these groups."""
        found: set[int] = set()
        for group in groups:
            found |= self.users[group]
        return found

    def witnesses(self) -> Witnesses:
        """All proofs, cell by cell."""
        parts: list[tuple[Ints, Floats]] = []
        threat: list[int] = []
        for side, move in enumerate(self.proof):
            times = None if move is None else self.multiple(side, move)
            if move is None or times is None:
                continue
            which, cells = self.merged.cells(move.groups)
            parts.append((cells, times * move.moves[which] * self.merged.sign[cells]))
            threat.append(int(self.threat[side]))
        return Witnesses.of(threat, [cells for cells, _ in parts], [moves for _, moves in parts])

    def read(self, witnesses: Witnesses) -> None:
        """Take over proofs from elsewhere, where they hold."""
        from scipy.sparse import csr_array

        merged, count = self.merged, len(witnesses)
        if not count or not len(merged.relations):
            return
        group = merged.group[witnesses.cells]
        which = np.repeat(np.arange(count), np.diff(witnesses.starts))
        bad = np.zeros(count, bool)
        bad[which[group < 0]] = True
        kept = np.flatnonzero((group >= 0) & (witnesses.moves != 0))
        # Cells of a group move together, so that one of them tells the group's move.
        _, first = np.unique(which[kept] * merged.n + group[kept], return_index=True)
        kept = kept[first]
        which, group = which[kept], group[kept]
        moves = witnesses.moves[kept] * merged.sign[witnesses.cells[kept]]
        starts = np.searchsorted(which, np.arange(count + 1))
        moved = csr_array((moves, group, starts), shape=(count, merged.n))
        off = np.abs(moved @ merged.relations.matrix.T).max(axis=1).toarray().ravel()
        size = np.zeros(count)
        np.maximum.at(size, which, np.abs(moves))
        bad |= (off > LEAST * size) | (size == 0)
        by_threat: dict[int, list[int]] = {}
        for side, threat in enumerate(self.threat.tolist()):
            by_threat.setdefault(threat, []).append(side)
        good = [
            (side, fitted(merged, group[at], moves[at]))
            for w in np.flatnonzero(~bad).tolist()
            for at in (slice(int(starts[w]), int(starts[w + 1])),)
            for side in by_threat.get(int(witnesses.threat[w]), ())
        ]
        self._share(good)
        for side, move in good:
            if self.proof[side] is None and self.multiple(side, move) is not None:
                self.prove(side, move)

    def _share(self, good: list[tuple[int, Move]]) -> None:
        """Split sliding needs as these moves can carry them."""
        far: dict[int, float] = {}
        for side, move in good:
            if self.across[side] >= 0:
                far[side] = max(far.get(side, 0.0), self.far(side, move))
        for side, most in far.items():
            other = int(self.across[side])
            enough = most + far.get(other, 0.0) >= self.need[side] + self.need[other]
            if most < self.need[side] and enough:
                self.lean(side, most)


STILL = Move(np.empty(0, np.int64), np.empty(0), np.inf, np.inf)
"""What proves that nothing is needed."""


def _across(threat: Ints, slides: Bools) -> Ints:
    """For each side of a threat whose need slides the other one; -1 for all others."""
    found = np.full(threat.size, -1, np.int64)
    sliding = np.isin(threat, threat[slides])
    first: dict[int, int] = {}
    for side in np.flatnonzero(sliding).tolist():
        other = first.setdefault(int(threat[side]), side)
        if other != side:
            found[side], found[other] = other, side
    return found


def needs(problem: Problem) -> tuple[Floats, Floats]:
    """What each threat needs above and below, a sliding need shared out between the two.

    No more is asked than the attacker's own bounds leave.
    """
    threats = problem.threats
    values = problem.values[threats.cell]
    above = problem.upper[threats.cell] - values
    below = values - problem.lower[threats.cell]
    up, down = np.minimum(threats.up, above), np.minimum(threats.down, below)
    missing = np.minimum(threats.slide, above + below) - up - down
    short = missing > 0
    up = np.where(short, np.minimum(up + missing / 2, above), up)
    missing = np.minimum(threats.slide, above + below) - up - down
    down = np.where(short, np.minimum(down + np.maximum(missing, 0), below), down)
    missing = np.minimum(threats.slide, above + below) - up - down
    up = np.where(short, np.minimum(up + np.maximum(missing, 0), above), up)
    # Noise in the bounds of large values is no need.
    noise = 1e-12 * np.abs(values)
    return np.where(up > noise, up, 0.0), np.where(down > noise, down, 0.0)


def impossible(problem: Problem, threat: int) -> Unprotectable:
    """The complaint that a cell cannot be protected whatever is hidden."""
    threats = problem.threats
    cell = int(threats.cell[threat])
    known = threats.known(threat)
    knowing = f" against somebody who knows cell {int(known[0])}" if known.size else ""
    return Unprotectable(
        [cell],
        f"cell {cell} cannot be protected{knowing}: even if every other cell were hidden, "
        "its interval would be narrower than asked for",
        remedy="publish fewer cells in any case (fixed cells, empty cells, a-priori bounds), "
        "merge categories, or ask for less room around this cell",
    )
