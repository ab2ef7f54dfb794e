"""The sets of columns that tell most records apart, without looking at all sets.

A column more never tells fewer records apart. The pairs that a set separates are those that its
columns separate, taken together: what a column adds is the less the more columns there are already
(Nemhauser, Wolsey & Fisher 1978). So a set together with the j columns that add most to it now is a
bound for all that grow out of it by j columns. Different combinations have no such bound; they are
at most those of the set times the most values that each column has within one of its groups. What
cannot beat the best sets known is not looked at, and so the best ones are found with proof.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from sfumato.progress import report

from ..arrays import Codes, Ints
from .refine import Groups, cut, everybody, room, scratch

Aim = Literal["separation", "distinction"]


Chosen = tuple[int, ...]


class Told(NamedTuple):
    """What a set of columns tells apart."""

    chosen: Chosen
    alike: int
    """Ordered pairs of records that agree on all of them."""
    distinct: int
    """Different combinations."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best sets of one size."""

    sets: list[Told]
    """The best first; of sets as good as the last, some may not be among them."""
    at_most: int | None
    """How good a set can be that was not looked at: the least pairs that may agree, or the most
    combinations. None where these are proved to be the best."""


@njit(cache=True, nogil=True)
def _judge(
    rows: Codes, starts: Codes, codes: Codes, weight: Ints, seen: Ints, total: Ints
) -> tuple[int, int, int]:
    """Of groups cut by a column: ordered pairs of different records that still agree, the pieces,
    and the most pieces of one group."""
    alike, pieces, widest = 0, 0, 0
    seen[:] = -1
    for g in range(starts.size - 1):
        before = pieces
        for p in range(starts[g], starts[g + 1]):
            r = rows[p]
            c, w = codes[r], weight[r]
            if seen[c] != g:
                seen[c] = g
                total[c] = 0
                pieces += 1
            alike += 2 * total[c] * w
            total[c] += w
        widest = max(widest, pieces - before)
    return alike, pieces, widest


class _Beside(NamedTuple):
    """A column beside a set: how good they are together, what it adds, and the most values that it
    has in one group of the set. Of a larger set the latter two are bounds."""

    column: int
    worth: int
    adds: int
    widest: int


class _Search:
    def __init__(
        self, codes: Sequence[Codes], weight: Ints, size: int, best: int, aim: Aim, steps: int
    ) -> None:
        self.codes, self.weight, self.records = codes, weight, weight.size
        self.size, self.best, self.steps = size, best, steps
        self.separates = aim == "separation"
        self.most = 0 if self.separates else self.records
        """How good a set is that tells all different records apart."""
        self.own = np.arange(self.records, dtype=np.int32)
        self.work = scratch(max(int(one.max(initial=0)) for one in codes) + 1)
        self.twins = int((weight * weight).sum())
        self.taken = 0
        self.sets: list[list[tuple[int, Told]]] = [[] for _ in range(size + 1)]
        self.open: list[int | None] = [None] * (size + 1)

    @property
    def exhausted(self) -> bool:
        return self.taken >= self.steps

    def look(self, chosen: Chosen, groups: Groups, worth: int, column: int) -> _Beside:
        """A column beside a set with these groups; both together are put among the best."""
        self.taken += 1
        report("looking for columns that tell records apart", self.taken, self.steps)
        alike, pieces, widest = _judge(
            *groups, self.codes[column], self.weight, self.work.place, self.work.met
        )
        told = Told(
            tuple(sorted((*chosen, column))), alike, self.records - groups.rows.size + pieces
        )
        found = -alike if self.separates else told.distinct
        if self.beats(found, len(told.chosen)):
            insort(self.sets[len(told.chosen)], (-found, told))
            del self.sets[len(told.chosen)][self.best :]
        return _Beside(column, found, found - worth, max(widest, 1))

    def beats(self, bound: int, size: int) -> bool:
        """Whether a set of this size would be among the best."""
        known = self.sets[size]
        return len(known) < self.best or bound > -known[-1][0]

    def bounds(self, worth: int, columns: Sequence[_Beside], last: int) -> list[int]:
        """How good a set can become by 1, 2, .. of these columns.

        They were seen beside the set without its last column, which has at most `last` values in a
        group there. A group that is cut into p pieces keeps at least a p-th of its square.
        """
        best = max((one.worth for one in columns), default=0)
        by_adding = accumulate(sorted((one.adds for one in columns), reverse=True))
        found, pieces = [], 1
        for wide, added in zip(
            sorted((one.widest for one in columns), reverse=True), by_adding, strict=True
        ):
            otherwise, pieces = last * pieces, min(pieces * wide, self.records)
            if self.separates:
                squares = max(
                    -(-(self.twins - worth) // pieces), -(-(self.twins - best) // otherwise)
                )
                bound = min(worth + added, self.twins - squares)
            else:
                bound = min(worth * pieces, best * otherwise)
            found.append(min(bound, self.most))
        return found

    def leave(self, bounds: list[int], size: int) -> None:
        """Note how good sets may be that are not looked at, from this size on."""
        for k, bound in enumerate(bounds[: self.size + 1 - size], size):
            known = self.open[k]
            self.open[k] = bound if known is None else max(known, bound)

    def grow(
        self, chosen: Chosen, groups: Groups, worth: int, columns: Sequence[_Beside], last: int
    ) -> None:
        """Look at what a set grows into by these columns, which were seen beside a part of it."""
        size = len(chosen) + 1
        seen = []
        for one in columns:
            if size == self.size and not self.beats(self.bounds(worth, [one], last)[0], size):
                continue
            if self.exhausted:
                self.leave(self.bounds(worth, columns, last), size)
                return
            seen.append(self.look(chosen, groups, worth, one.column))
        if size == self.size:
            return
        # The best first: it soon has what others must beat.
        seen.sort(key=lambda one: (-one.worth, one.column))
        for i, one in enumerate(seen):
            bounds = self.bounds(one.worth, seen[i + 1 :], one.widest)
            sizes = range(size + 1, self.size + 1)
            if not any(self.beats(b, k) for b, k in zip(bounds, sizes, strict=False)):
                continue
            if self.exhausted:
                self.leave(bounds, size + 1)
                continue
            into = room(groups.rows.size)
            cut_up = cut(groups, self.codes[one.column], -1, self.own, self.work, into)[0]
            self.grow((*chosen, one.column), cut_up, one.worth, seen[i + 1 :], one.widest)


def best_sets(
    codes: Sequence[Codes], weight: Ints, size: int, best: int, aim: Aim, steps: int
) -> tuple[list[Best], int]:
    """By size 1..`size` the `best` sets of columns, and how many sets were looked at.

    The records differ from one another on all columns taken together, and occur `weight` times. No
    more than `steps` sets are looked at, and what that leaves unproved is told.

    >>> columns = [np.array(c, np.int32) for c in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1])]
    >>> found, looked = best_sets(columns, np.ones(4, np.int64), 2, 1, "separation", 100)
    >>> [one.sets[0] for one in found]
    [Told(chosen=(0,), alike=4, distinct=2), Told(chosen=(0, 1), alike=0, distinct=4)]
    """
    search = _Search(codes, weight, size, best, aim, steps)
    records = int(weight.sum())
    nothing = search.twins - records * records if search.separates else 1
    anything = _Beside(0, search.most, search.most - nothing, search.records)
    columns = [anything._replace(column=j) for j in range(len(codes))]
    search.grow((), everybody(search.records), nothing, columns, 1)
    # Within the records that are the same there are pairs, too.
    pairs = search.twins - records
    made = []
    for k in range(1, size + 1):
        told = [one._replace(alike=one.alike + pairs) for _, one in search.sets[k]]
        at_most = search.open[k]
        if at_most is not None and not search.beats(at_most, k):
            at_most = None
        elif at_most is not None and search.separates:
            at_most = pairs - at_most
        made.append(Best(told, at_most))
    return made, search.taken
