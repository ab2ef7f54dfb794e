"""What an attacker is after: how far some classes of cells are known to move, from inside (a table
was found) and from outside (no table goes further)."""

from __future__ import annotations

from dataclasses import dataclass, fields

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


@dataclass(eq=False)
class FeasibleRanges:
    """Target t is class of[t], against an attacker who knows some other classes besides."""

    of: Ints
    known_starts: Ints
    known: Ints
    """Classes of the same component that the attacker knows."""
    need_low: Floats
    """The move down that must be possible; not negative."""
    need_high: Floats
    slide: Floats
    low: Floats
    """Proven possible; not above 0."""
    high: Floats
    outer_low: Floats
    """Nothing beyond is possible."""
    outer_high: Floats
    sure_low: Bools
    """Whether `low` is the end itself."""
    sure_high: Bools
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
        need_low: Floats,
        need_high: Floats,
        slide: Floats,
        shared: Bools,
    ) -> FeasibleRanges:
        """Nothing is proven of these yet but what bounds alone say."""
        count = of.size
        # A class that no relation is left for goes as far as its bounds.
        tied = np.zeros(moves.low.size, bool)
        tied[moves.matrix.indices] = True
        loose = ~tied[of]
        return cls(
            of=of,
            known_starts=starts_of([len(k) for k in known]),
            known=np.array([c for k in known for c in k], np.int64),
            need_low=need_low,
            need_high=need_high,
            slide=slide,
            low=np.where(loose, moves.low[of], 0.0),
            high=np.where(loose, moves.high[of], 0.0),
            outer_low=moves.outer_low[of],
            outer_high=moves.outer_high[of],
            sure_low=np.zeros(count, bool),
            sure_high=np.zeros(count, bool),
            by=np.zeros(count, np.int64),
            shared=shared,
        )

    def knows(self, t: int) -> Ints:
        """The classes that attacker t knows."""
        return self.known[self.known_starts[t] : self.known_starts[t + 1]]

    def settle(self) -> None:
        """Mark the ends where inside and outside meet."""
        for end, outer, sure in (
            (-self.low, -self.outer_low, self.sure_low),
            (self.high, self.outer_high, self.sure_high),
        ):
            near = np.where(np.isfinite(outer), outer * (1.0 - ALIKE), np.inf)
            sure |= end >= near

    def reached(self) -> Bools:
        """Whether the need is proven."""
        share = 1.0 - SHORT
        return (
            (self.high >= share * self.need_high)
            & (-self.low >= share * self.need_low)
            & (self.high - self.low >= share * self.slide)
        )

    def refuted(self) -> Bools:
        """Whether it is certain that the need is not met."""
        share = 1.0 - SHORT
        return (
            (self.outer_high < share * self.need_high)
            | (-self.outer_low < share * self.need_low)
            | (self.outer_high - self.outer_low < share * self.slide)
        )

    def unsettled(self, exact: bool) -> Bools:
        """Whether more must be found out: both ends, or until the need is proven."""
        open_ = ~(self.sure_low & self.sure_high)
        return open_ if exact else open_ & ~self.reached()

    def part(self, which: Ints) -> FeasibleRanges:
        """A copy of some of them."""
        starts, entries = entries_of(self.known_starts, which)
        made = {
            f.name: getattr(self, f.name)[which]
            for f in fields(self)
            if f.name not in ("known", "known_starts")
        }
        return FeasibleRanges(
            **made,
            known_starts=starts,
            known=self.known[entries],
        )

    def merge(self, which: Ints, found: FeasibleRanges) -> None:
        """Take over what was found out about a copy of some of them."""
        self.low[which] = np.minimum(self.low[which], found.low)
        self.high[which] = np.maximum(self.high[which], found.high)
        self.outer_low[which] = np.maximum(self.outer_low[which], found.outer_low)
        self.outer_high[which] = np.minimum(self.outer_high[which], found.outer_high)
        self.sure_low[which] |= found.sure_low
        self.sure_high[which] |= found.sure_high
        self.by[which] = np.maximum(self.by[which], found.by)

    def record(self, columns: Ints, known: Ints, vertex: Vertex, low: Floats, high: Floats) -> None:
        """Take over what a move of the whole component proves, for every target at once.

        `columns` are the targets' positions in the move, `known` those of what attackers know (one
        beyond the last where it is not in the move). The move, and its opposite, are good up to
        the bounds low and high.
        """
        move = vertex.move
        used = np.flatnonzero(move)
        there, back = stretch(move[used], low[used], high[used])
        there, back = max(there, 1.0) if there < np.inf else 1.0, back if back < np.inf else 0.0
        own = move[columns]
        # A defect that is not small beside the target's own move proves nothing of it.
        good = np.abs(own) * SHORT >= vertex.off
        if self.known.size:
            stirs = np.append(move, 0.0)[known] != 0
            moved = np.concatenate(([0], np.cumsum(stirs)))
            good &= moved[self.known_starts[1:]] == moved[self.known_starts[:-1]]
        up, down = np.where(good, own, 0.0), np.where(good, -own, 0.0)
        more_high = np.maximum(np.maximum(up * there, down * back), 0.0)
        more_low = np.minimum(np.minimum(-down * there, -up * back), 0.0)
        changed = (more_high > self.high) | (more_low < self.low)
        self.by[changed] = np.maximum(self.by[changed], WITNESS)
        self.high = np.maximum(self.high, np.minimum(more_high, self.outer_high))
        self.low = np.minimum(self.low, np.maximum(more_low, self.outer_low))


def stretch(move: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """How often a move without zeros, and its opposite, can be made within low <= move <= high."""
    ahead, behind = np.where(move > 0, high, low) / move, np.where(move > 0, low, high) / -move
    return float(ahead.min(initial=np.inf)), float(behind.min(initial=np.inf))
