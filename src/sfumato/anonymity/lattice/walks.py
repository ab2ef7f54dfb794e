"""Walks through lattices that are too large to be gone through: the most promising node first.

Both are exact where their budget lasts: only nodes that cannot hold anything better are left out.
Where it does not they say how far the best node found may be from the best there is.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from ...progress import report
from .lattice import WHOLE, Lattice, Levels
from .optimal import MOST_NODES, Budget, Found, floors

STEPS = 2_000
"""Nodes that a walk looks at unless it is told otherwise."""

AFFORDABLE = 1 << 31
"""Nodes of the lattice, times nodes seen, for which a bound is worked out node by node."""


def _neighbours(lattice: Lattice, levels: Levels, step: int) -> list[Levels]:
    return [
        (*levels[:j], level + step, *levels[j + 1 :])
        for j, level in enumerate(levels)
        if 0 <= level + step <= lattice.top[j]
    ]


def top_down(lattice: Lattice, budget: Budget) -> Found:
    """From everything suppressed downwards, always from the best node that is open."""
    return _Walk(lattice, budget, up=False).run()


def bottom_up(lattice: Lattice, budget: Budget) -> Found:
    """From the table as it is upwards, always from the node that promises most: its figure, and
    what the records beyond the suppression limit would cost once more."""
    return _Walk(lattice, budget, up=True).run()


class _Walk:
    def __init__(self, lattice: Lattice, budget: Budget, *, up: bool) -> None:
        self.lattice, self.budget, self.up = lattice, budget, up
        if budget.seconds is None and budget.steps is None:
            budget.steps = STEPS
        self.best: tuple[int, int, Levels] | None = None
        self.heap: list[tuple[int, int, Levels]] = []
        self.pushed: set[int] = set()
        self.record = {"discernibility": lattice.n, "average-class-size": 1}.get(
            lattice.terms.measure, WHOLE // lattice.n
        )

    def run(self) -> Found:
        """Walk until nothing is open or the budget is spent."""
        lattice = self.lattice
        self._open(lattice.top)  # something to publish, whatever happens
        if self.up:
            self.heap.clear()
            self._dive()
        while self.heap:
            if self.budget.spent(lattice):
                return self._stopped()
            _, _, levels = heappop(self.heap)
            if self._hopeless(levels):
                continue
            for other in _neighbours(lattice, levels, 1 if self.up else -1):
                if lattice.number(other) not in self.pushed:
                    self._open(other)
            report("nodes checked", lattice.looked_at, self.budget.steps or lattice.size)
        return self._found()

    def _dive(self) -> None:
        """Straight up by the most promising step until a node can be published."""
        levels = self.lattice.bottom
        self._open(levels)
        while levels != self.lattice.top and not self.budget.spent(self.lattice):
            steps = _neighbours(self.lattice, levels, 1)
            levels = min(steps, key=lambda other: self._promise(other)[1:])
            self._open(levels)
            if self._promise(levels)[0] <= 0 and self.lattice.judge(levels).allowed:
                return

    def _promise(self, levels: Levels) -> tuple[int, int, int]:
        """Records beyond the limit; the figure with what they would cost once more; the number."""
        seen = self.lattice.see(levels)
        over = seen.short - self.lattice.terms.most
        return over, seen.value + max(over, 0) * self.record, seen.number

    def _open(self, levels: Levels) -> None:
        lattice = self.lattice
        over, promise, number = self._promise(levels)
        seen = lattice.see(levels)
        self.pushed.add(number)
        if over <= 0 and (self.best is None or (seen.value, seen.number) < self.best[:2]):
            judged = lattice.judge(levels)
            if judged.allowed and (
                self.best is None or (judged.value, seen.number) < self.best[:2]
            ):
                self.best = (judged.value, seen.number, levels)
            if judged.closed and not self.up:
                return
        if over <= 0 or self.up:
            heappush(self.heap, (promise, number, levels))

    def _hopeless(self, levels: Levels) -> bool:
        """Whether nothing better can lie further on."""
        if self.best is None:
            return False
        seen = self.lattice.see(levels)
        if self.up:
            return seen.least > self.best[0]
        return self.lattice.floor(self.lattice.bottom) + seen.owed > self.best[0]

    def _found(self) -> Found:
        return Found(None, 0) if self.best is None else Found(self.best[2], self.best[0])

    def _stopped(self) -> Found:
        found = self._found()
        bound = lower_bound(self.lattice)
        return Found(found.levels, found.value, True, min(bound, found.value))


def lower_bound(lattice: Lattice) -> int:
    """What no node can be below, from what was seen and from the columns one at a time."""
    bound = _by_columns(lattice)
    if lattice.size > MOST_NODES or lattice.size * lattice.looked_at > AFFORDABLE:
        return bound
    owed = np.zeros(lattice.shape.tolist(), dtype=np.int64)
    shut = np.zeros(owed.shape, dtype=bool)
    for seen in lattice.seen():
        box = tuple(slice(0, level + 1) for level in seen.levels)
        np.maximum(owed[box], seen.owed, out=owed[box])
        if seen.short > lattice.terms.most:
            shut[box] = True
    least = (floors(lattice).reshape(owed.shape) + owed)[~shut]
    return max(bound, int(least.min())) if least.size else bound


def _by_columns(lattice: Lattice) -> int:
    """What no node can be below, from the columns one at a time.

    A column at some level, with all others at the top, already must suppress some records; every
    node with that level owes the price. For each price the cheapest levels that owe no more are the
    best one could hope for.
    """
    if lattice.terms.measure == "average-class-size":
        return -(lattice.n // lattice.terms.k)
    if lattice.terms.measure == "discernibility":
        return lattice.n * min(lattice.terms.k, lattice.n)
    owed, costs = [], lattice.level_costs
    for j, ladder in enumerate(lattice.ladders):
        prices = []
        for level in range(ladder.levels):
            seen = lattice.see((*lattice.top[:j], level, *lattice.top[j + 1 :]))
            prices.append(-1 if seen.short > lattice.terms.most else seen.owed)
        owed.append(np.array(prices, dtype=np.int64))
    bounds = []
    for price in np.unique(np.concatenate(owed)).tolist():
        if price < 0:
            continue
        least = [
            cost[(owes >= 0) & (owes <= price)].min(initial=WHOLE)
            for cost, owes in zip(costs, owed, strict=True)
        ]
        bounds.append(lattice.ground + price + sum(int(cost) for cost in least))
    return int(min(bounds))
