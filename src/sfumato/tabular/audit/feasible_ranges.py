"""What an attacker is after: how far some classes of cells are known to move, from inside (a table
was found) and from outside (no table goes further)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ..lists import entries_of, starts_of
from .attack_lp import Vertex
from .presolve import Moves

SHORT = 1e-6
"""The share of its need that an interval may lack and still count as wide enough, and the largest
defect of a witness, as a share of the move that it proves."""
ALIKE = 1e-9
"""Inner and outer ends that differ by less than this share are the same."""
BOUNDS, WITNESS, PROGRAM = 0, 1, 2
"""What settled a target: bounds alone, a witness found for another one, its own program."""
DOWN, UP = 0, 1
SIGNS = (-1.0, 1.0)
"""The two ways that a class can move."""


@dataclass(eq=False)
class FeasibleRanges:
    """Target t is class of[t], against an attacker who knows some other classes besides.

    How far it moves is not negative, and has a row for DOWN and one for UP.
    """

    of: Ints
    known_starts: Ints
    known: Ints
    """Classes of the same component that the attacker knows."""
    need: Floats
    """The move that must be possible."""
    slide: Floats
    """The width that must be possible."""
    inner: Floats
    """Proven possible."""
    outer: Floats
    """Nothing beyond is possible."""
    sure: Bools
    """Whether `inner` is the end itself."""
    by: Ints
    shared: Bools
    """Whether several cells stand for it, whose needs may differ: one refuted, another met."""

    def __len__(self) -> int:
        return int(self.of.size)

    @classmethod
    def at(
        cls,
        moves: Moves,
        of: Ints,
        known: list[tuple[int, ...]],
        need: Floats,
        slide: Floats,
        shared: Bools,
    ) -> FeasibleRanges:
        """Nothing is proven of these yet but what bounds alone say."""
        # A class that no relation is left for goes as far as its bounds.
        tied = np.zeros(moves.low.size, bool)
        tied[moves.matrix.indices] = True
        return cls(
            of=of,
            known_starts=starts_of([len(k) for k in known]),
            known=np.array([c for k in known for c in k], np.int64),
            need=need,
            slide=slide,
            inner=np.where(tied[of], 0.0, np.stack((0.0 - moves.low, moves.high))[:, of]),
            outer=np.stack((0.0 - moves.outer_low, moves.outer_high))[:, of],
            sure=np.zeros((2, of.size), bool),
            by=np.zeros(of.size, np.int64),
            shared=shared,
        )

    def knows(self, t: int) -> Ints:
        """The classes that attacker t knows."""
        return self.known[self.known_starts[t] : self.known_starts[t + 1]]

    def settle(self) -> None:
        """Mark the ends where inside and outside meet."""
        near = np.where(np.isfinite(self.outer), self.outer * (1.0 - ALIKE), np.inf)
        self.sure |= self.inner >= near

    def reached(self) -> Bools:
        """Whether the need is proven."""
        share = 1.0 - SHORT
        wide = self.inner.sum(axis=0) >= share * self.slide
        met: Bools = (self.inner >= share * self.need).all(axis=0) & wide
        return met

    def refuted(self) -> Bools:
        """Whether it is certain that the need is not met."""
        share = 1.0 - SHORT
        narrow = self.outer.sum(axis=0) < share * self.slide
        missed: Bools = (self.outer < share * self.need).any(axis=0) | narrow
        return missed

    def exact(self) -> Bools:
        """Whether both ends are known."""
        both: Bools = self.sure[DOWN] & self.sure[UP]
        return both

    def unsettled(self, exact: bool) -> Bools:
        """Whether more must be found out: both ends, or until the need is proven."""
        open_ = ~self.exact()
        return open_ if exact else open_ & ~self.reached()

    def part(self, which: Ints) -> FeasibleRanges:
        """A copy of some of them."""
        starts, entries = entries_of(self.known_starts, which)
        lists: dict[str, Any] = {"known_starts": starts, "known": self.known[entries]}
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in lists}
        return FeasibleRanges(**{name: it[..., which] for name, it in rest.items()}, **lists)

    def merge(self, which: Ints, found: FeasibleRanges) -> None:
        """Take over what was found out about a copy of some of them."""
        self.inner[:, which] = np.maximum(self.inner[:, which], found.inner)
        self.outer[:, which] = np.minimum(self.outer[:, which], found.outer)
        self.sure[:, which] |= found.sure
        self.by[which] = np.maximum(self.by[which], found.by)

    def limit(self, side: int, t: int, far: float) -> None:
        """Target t goes no further than `far` to this side."""
        self.outer[side, t] = max(self.inner[side, t], min(self.outer[side, t], far))

    def unnoticed(self, move: Floats, known: Ints) -> Bools:
        """Whether nothing moves that the attacker of each target knows; `known` are the positions
        of what attackers know in the move (one beyond the last where it is not in it)."""
        stirs = np.append(move, 0.0)[known] != 0
        moved = np.concatenate(([0], np.cumsum(stirs)))
        same: Bools = moved[self.known_starts[1:]] == moved[self.known_starts[:-1]]
        return same

    def record(self, columns: Ints, known: Ints, vertex: Vertex, low: Floats, high: Floats) -> None:
        """Take over what a move of the whole component proves, for every target at once.

        `columns` are the targets' positions in the move, `known` those of what attackers know. The
        move, and its opposite, are good up to the bounds low and high.
        """
        move = vertex.move
        used = np.flatnonzero(move)
        there, back = stretch(move[used], low[used], high[used])
        there, back = max(there, 1.0) if there < np.inf else 1.0, back if back < np.inf else 0.0
        own = move[columns]
        # A defect that is not small beside the target's own move proves nothing of it.
        good = (np.abs(own) * SHORT >= vertex.off) & self.unnoticed(move, known)
        own = np.where(good, own, 0.0)
        ways = np.stack((-own, own))
        more = np.maximum(np.maximum(ways * there, ways[::-1] * back), 0.0)
        changed = (more > self.inner).any(axis=0)
        self.by[changed] = np.maximum(self.by[changed], WITNESS)
        self.inner = np.maximum(self.inner, np.minimum(more, self.outer))


def stretch(move: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """How often a move without zeros, and its opposite, can be made within low <= move <= high."""
    ahead, behind = np.where(move > 0, high, low) / move, np.where(move > 0, low, high) / -move
    return float(ahead.min(initial=np.inf)), float(behind.min(initial=np.inf))
