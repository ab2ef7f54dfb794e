"""The best node of a lattice, with the proof that there is none better.

Nodes are visited from cheap to dear by a floor that needs no grouping: what the levels cost if
nothing is suppressed. Before a node is looked at, a way up from it is halved again and again. A
coarser node is counted sooner, and what must be suppressed there must be suppressed in all nodes
below it, at a price that they owe beside their floors: the highest node of the way that is enough
to rule out the one below rules out many others. So most nodes are never grouped, whatever the
suppression limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...kernels.lattice.nodes import next_open, node_levels, way_up
from ...kernels.threads import cores
from ...progress import report
from .lattice import Lattice
from .terms import Levels, Seen

MOST_NODES = 1 << 23
"""Lattices up to this size can be searched for the optimum."""
WIDE = 50_000
"""Distinct tuples from which two ways are walked at a time."""
_FORBIDDEN = -1
FAR = np.iinfo(np.int64).max


Best = tuple[int, int, Levels]
"""Value, number and levels of a node that can be published."""


class Found(NamedTuple):
    """Where a search ended."""

    levels: Levels | None
    value: int
    ended: bool = False
    """Whether the budget ended it, so that there may be a better node."""
    bound: int | None = None
    """What no node can be below, where the budget ended the search."""
    best: tuple[Best, ...] = ()
    """The best nodes, as many as were asked for, the very best first."""


@dataclass
class Budget:
    """How long a search may take; its clock starts when it is first looked at, behind the first
    node, so that no compiling counts."""

    seconds: float | None = None
    steps: int | None = None
    started: float | None = None
    by_clock: bool = False

    def spent(self, lattice: Lattice) -> bool:
        """Whether nothing is left of it."""
        if self.steps is not None and lattice.looked_at >= self.steps:
            return True
        if self.seconds is not None:
            now = time.perf_counter()
            self.started = now if self.started is None else self.started
            self.by_clock = now - self.started >= self.seconds
        return self.by_clock


class _Known:
    """Nodes that speak for those below them, and for class measures for those above."""

    def __init__(self, columns: int) -> None:
        self.count = 0
        self.levels = np.zeros((64, columns), dtype=np.int64)
        self.figure = np.zeros(64, dtype=np.int64)

    def add(self, levels: Levels, figure: int) -> None:
        if self.count == self.figure.size:
            self.levels = np.concatenate([self.levels, np.zeros_like(self.levels)])
            self.figure = np.concatenate([self.figure, np.zeros_like(self.figure)])
        self.levels[self.count], self.figure[self.count] = levels, figure
        self.count += 1


def climbs(lattice: Lattice) -> np.ndarray:
    """int64 (d, levels): what one step up costs, for choosing a way; the last are unused."""
    out = np.zeros((len(lattice.ladders), int(lattice.shape.max())), dtype=np.int64)
    for j, step in enumerate(lattice.objective.climbs()):
        out[j, : step.size] = step
    return out


class Optimal:
    """One search for the optimum, or for so many nodes that no other one is better than."""

    def __init__(self, lattice: Lattice, budget: Budget, wanted: int = 1) -> None:
        self.lattice, self.budget, self.wanted = lattice, budget, wanted
        self.floors = lattice.objective.floors()
        self.order = np.argsort(self.floors, kind="stable")
        self.climbs = climbs(lattice)
        self.done = np.zeros(lattice.size, dtype=np.uint8)
        self.above, self.under = _Known(lattice.shape.size), _Known(lattice.shape.size)
        self.best: tuple[Best, ...] = ()

    def run(self) -> Found:
        """The best nodes of all; of those looked at, where the budget ended the search."""
        self._learn(self._look(self.lattice.top, self._limit(())))
        at_once = 2 if len(self.lattice.tuples) >= WIDE else 1
        place = 0
        with ThreadPoolExecutor(min(at_once, cores())) as pool:
            while True:
                starts = []
                for _ in range(at_once):
                    place = self._next(place)
                    if place < self.order.size:
                        starts.append(self._levels(int(self.order[place])))
                        place += 1
                if not starts:
                    break
                if self.budget.spent(self.lattice):
                    return self._stopped(starts)
                self._round(starts, pool.map if at_once > 1 else map)
                place -= len(starts)  # a start may still be open: criteria may have refused it
                report("nodes ruled out", place, self.order.size)
        return self._found()

    def _found(self) -> Found:
        value, _, levels = self.best[0] if self.best else (FAR, -1, None)
        return Found(levels, value, best=self.best)

    def _stopped(self, starts: Sequence[Levels]) -> Found:
        found = self._found()
        bound = min(self.lattice.floor(start) for start in starts)
        return found._replace(ended=True, bound=min(bound, found.value))

    def _limit(self, best: tuple[Best, ...]) -> tuple[int, int]:
        """Value and number of the node that others must be better than."""
        return best[-1][:2] if len(best) == self.wanted else (FAR, -1)

    def _with(self, best: tuple[Best, ...], found: _Looked) -> tuple[Best, ...]:
        if found.value is None:
            return best
        one = (found.value, found.seen.number, found.seen.levels)
        return tuple(sorted({*best, one})[: self.wanted])

    def _levels(self, number: int) -> Levels:
        out = np.empty(self.lattice.shape.size, dtype=np.int64)
        node_levels(number, self.lattice.shape, out)
        return tuple(out.tolist())

    def _next(self, place: int) -> int:
        value, number = self._limit(self.best)
        return int(
            next_open(
                self.order, place, self.floors, self.done, self.lattice.shape, value, number,
                self.above.levels, self.above.figure, self.above.count,
                self.under.levels, self.under.figure, self.under.count,
            )
        )  # fmt: skip

    def _round(self, starts: Sequence[Levels], run: Callable[..., object]) -> None:
        # Every way is walked by what was known before the round, so that threads alter nothing.
        ways = list(run(self._walk, starts))  # type: ignore[call-overload]
        for way in ways:
            for looked in way:
                self._learn(looked)

    def _walk(self, start: Levels) -> list[_Looked]:
        """Halve the way up from a node until its lowest node that does not rule it out is known."""
        lattice = self.lattice
        floor, number = lattice.floor(start), lattice.number(start)
        path = way_up(
            np.array(start, dtype=np.int64), lattice.shape, self.climbs,
            self.above.levels, self.above.figure, self.above.count,
        )  # fmt: skip
        best, looked = self.best, []
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            found = self._look(tuple(path[middle].tolist()), self._limit(best))
            looked.append(found)
            best = self._with(best, found)
            owed = floor + found.seen.owed
            if found.closed or (owed, number) > self._limit(best):
                low = middle + 1
            else:
                high = middle - 1
        return looked

    def _look(self, levels: Levels, limit: tuple[int, int]) -> _Looked:
        lattice = self.lattice
        seen = lattice.see(levels)
        if seen.short > lattice.terms.most:
            return _Looked(seen, True)
        if (seen.value, seen.number) >= limit:
            return _Looked(seen, False)
        judged = lattice.judge(levels)
        if judged.allowed and (judged.value, seen.number) < limit:
            return _Looked(seen, False, judged.value)
        return _Looked(seen, judged.closed)

    def _learn(self, found: _Looked) -> None:
        seen = found.seen
        if self.done[seen.number]:
            return
        self.done[seen.number] = True
        self.above.add(seen.levels, _FORBIDDEN if found.closed else seen.owed)
        if self.lattice.objective.upward:
            self.under.add(seen.levels, seen.least)
        self.best = self._with(self.best, found)


class _Looked(NamedTuple):
    """A node that was looked at, and its figure if it may be among the best."""

    seen: Seen
    closed: bool
    value: int | None = None


def optimal(lattice: Lattice, budget: Budget, wanted: int = 1) -> Found:
    """The nodes with the least figures that can be published; of equal ones the first."""
    return Optimal(lattice, budget, wanted).run()
