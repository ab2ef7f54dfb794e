"""Published searches over the lattice of generalizations, on one engine.

All of them suppose that going up never breaks what is asked, which holds for k and a suppression
limit, and without suppression for every criterion that calls itself monotone. What they return can
be published in any case; whether it is what their papers promise then depends on the criteria.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import combinations

import numpy as np

from ...errors import MethodError
from ...progress import report
from .lattice import Lattice
from .objectives import Additive
from .optimal import FAR, MOST_NODES, Budget, Found, optimal
from .terms import Levels

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
    """A walk through a lattice that is too large to be gone through, the most promising node first.

    It is exact where its budget lasts: only nodes that cannot hold anything better are left out.
    Where it does not it says how far the best node found may be from the best there is.
    """

    def __init__(self, lattice: Lattice, budget: Budget, *, up: bool) -> None:
        self.lattice, self.budget, self.up = lattice, budget, up
        if budget.seconds is None and budget.steps is None:
            budget.steps = STEPS
        self.best: tuple[int, int, Levels] | None = None
        self.heap: list[tuple[int, int, Levels]] = []
        self.pushed: set[int] = set()
        self.record = lattice.objective.record

    def run(self) -> Found:
        """Walk until nothing is open or the budget is spent."""
        lattice = self.lattice
        if lattice.see(lattice.top).short > lattice.terms.most:
            return Found(None, 0)  # nor does anything below
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
    least = (lattice.objective.floors().reshape(owed.shape) + owed)[~shut]
    return max(bound, int(least.min())) if least.size else bound


def _by_columns(lattice: Lattice) -> int:
    """What no node can be below, from the columns one at a time.

    A column at some level, with all others at the top, already must suppress some records; every
    node with that level owes the price. For each price the cheapest levels that owe no more are the
    best one could hope for.
    """
    objective = lattice.objective
    if not isinstance(objective, Additive):
        return objective.bound()
    owed, costs = [], objective.level_costs
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
            cost[(owes >= 0) & (owes <= price)].min(initial=FAR)
            for cost, owes in zip(costs, owed, strict=True)
        ]
        bounds.append(objective.ground + price + sum(int(cost) for cost in least))
    return int(min(bounds))


PAPERS = {
    "optimal": "Kohlmayer, Prasser, Eckert, Kemper & Kuhn (2012), Flash: efficient, stable and "
    "optimal k-anonymity, PASSAT; Kohlmayer, Prasser & Kuhn (2015), The cost of quality: "
    "implementing generalization and suppression for anonymizing biomedical data with minimal "
    "information loss, J Biomed Inform 58",
    "samarati": "Samarati (2001), Protecting respondents' identities in microdata release, IEEE "
    "TKDE 13(6)",
    "incognito": "LeFevre, DeWitt & Ramakrishnan (2005), Incognito: efficient full-domain "
    "k-anonymity, SIGMOD",
    "datafly": "Sweeney (2002), Achieving k-anonymity privacy protection using generalization and "
    "suppression, IJUFKS 10(5)",
    "ola": "El Emam et al. (2009), A globally optimal k-anonymity method for the de-identification "
    "of health data, JAMIA 16(5)",
    "top-down": "Prasser, Bild, Eicher, Spengler & Kuhn (2016), Lightning: utility-driven "
    "anonymization of high-dimensional data, Transactions on Data Privacy 9(2)",
    "bottom-up": "Wang, Yu & Chakraborty (2004), Bottom-up generalization: a data mining solution "
    "to privacy protection, ICDM",
}


def passes(lattice: Lattice, levels: Levels) -> bool:
    """Whether a node has what is asked."""
    if not lattice.terms.rules:
        return lattice.see(levels).short <= lattice.terms.most
    return lattice.judge(levels).allowed


def best_of(lattice: Lattice, nodes: list[Levels]) -> Found:
    """The best of these that can be published, else the top, else nothing."""
    for chosen in (nodes, [lattice.top]):
        judged = [(lattice.judge(levels), levels) for levels in chosen]
        allowed = [(found.value, lattice.number(v), v) for found, v in judged if found.allowed]
        if allowed:
            value, _, levels = min(allowed)
            return Found(levels, value)
    return Found(None, 0)


class Tags:
    """What is known of every node without looking: 1 passes, -1 does not, 0 nothing."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.tags = np.zeros(lattice.shape.tolist(), dtype=np.int8)

    def passes(self, levels: Levels) -> bool:
        """Whether a node passes; it is looked at only where nothing tells."""
        known = self.tags[levels]
        if known:
            return bool(known > 0)
        found = passes(self.lattice, levels)
        if found:
            self.tags[tuple(slice(level, None) for level in levels)] = 1
        else:
            self.tags[tuple(slice(0, level + 1) for level in levels)] = -1
        return found


def heights(shape: list[int]) -> np.ndarray:
    """The sum of levels of every node of a lattice."""
    out = np.zeros(shape, dtype=np.int32)
    for j, size in enumerate(shape):
        along = [1] * len(shape)
        along[j] = size
        out += np.arange(size, dtype=np.int32).reshape(along)
    return out


def _nodes(where: np.ndarray) -> Iterator[Levels]:
    for row in np.argwhere(where).tolist():
        yield tuple(row)


def samarati(lattice: Lattice, budget: Budget) -> Found:
    """The lowest height at which a node passes, found by halving; the best node of that height."""
    tags, height = Tags(lattice), heights(lattice.shape.tolist())
    low, high = 0, sum(lattice.top)
    while low < high:
        middle = (low + high) // 2
        # Known to pass first, then the rest: one is enough.
        layer = sorted(_nodes(height == middle), key=lambda v: (-int(tags.tags[v]), v))
        if any(tags.passes(levels) for levels in layer):
            high = middle
        else:
            low = middle + 1
    return best_of(lattice, [v for v in _nodes(height == low) if tags.passes(v)])


def minimal(passing: np.ndarray) -> list[Levels]:
    """The passing nodes below which none passes."""
    least = passing.copy()
    for j in range(passing.ndim):
        upper, lower = [slice(None)] * passing.ndim, [slice(None)] * passing.ndim
        upper[j], lower[j] = slice(1, None), slice(0, -1)
        least[tuple(upper)] &= ~passing[tuple(lower)]
    return list(_nodes(least))


def incognito_minimal(lattice: Lattice) -> list[Levels]:
    """Every minimal passing node, by subsets of columns from small to large.

    A subset of the columns at some levels is the node with all others at the top: what does not
    pass there passes with no further column either.
    """
    shape = lattice.shape.tolist()
    survivors: dict[tuple[int, ...], np.ndarray] = {(): np.ones((), dtype=bool)}
    for size in range(1, len(shape) + 1):
        fresh: dict[tuple[int, ...], np.ndarray] = {}
        for columns in combinations(range(len(shape)), size):
            alive = np.ones([shape[j] for j in columns], dtype=bool)
            for at in range(size):
                part = columns[:at] + columns[at + 1 :]
                alive &= np.expand_dims(survivors[part], at)
            fresh[columns] = _breadth_first(lattice, columns, alive)
        survivors = fresh
    return minimal(survivors[tuple(range(len(shape)))])


def _breadth_first(lattice: Lattice, columns: tuple[int, ...], alive: np.ndarray) -> np.ndarray:
    """The candidates that pass; what passes takes along all that lies above."""
    passing, height = np.zeros_like(alive), heights(list(alive.shape))
    for level in range(int(height.max(initial=0)) + 1):
        for node in _nodes(alive & ~passing & (height == level)):
            whole = list(lattice.top)
            for j, at in zip(columns, node, strict=True):
                whole[j] = at
            if passes(lattice, tuple(whole)):
                passing[tuple(slice(at, None) for at in node)] = True
    return passing


def incognito(lattice: Lattice, budget: Budget) -> Found:
    """The best of all minimal nodes."""
    return best_of(lattice, incognito_minimal(lattice))


def datafly(lattice: Lattice, budget: Budget) -> Found:
    """While something is wrong, the column with the most different labels goes up one level."""
    levels = lattice.bottom
    while levels != lattice.top and not lattice.judge(levels).allowed:
        labels = [
            ladder.open[level].size if level + 1 < ladder.levels else 0
            for ladder, level in zip(lattice.ladders, levels, strict=True)
        ]
        j = int(np.argmax(labels))
        levels = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
    return best_of(lattice, [levels])


def ola_minimal(lattice: Lattice) -> list[Levels]:
    """Every minimal passing node, by halving sublattices."""
    tags, height = Tags(lattice), heights(lattice.shape.tolist())
    found: set[Levels] = set()
    been: set[tuple[Levels, Levels]] = set()
    stack = [(lattice.bottom, lattice.top)]
    while stack:
        low, high = stack.pop()
        if (low, high) in been:
            continue
        been.add((low, high))
        tall = sum(high) - sum(low)
        if tall <= 1:
            lowest = low if tags.passes(low) else high
            if tags.passes(lowest):
                found.add(lowest)
            continue
        box = tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))
        for inner in _nodes(height[box] == sum(low) + tall // 2):
            node = tuple(a + b for a, b in zip(low, inner, strict=True))
            stack.append((low, node) if tags.passes(node) else (node, high))
    return [v for v in sorted(found) if not any(w != v and _below(w, v) for w in found)]


def _below(a: Levels, b: Levels) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))


def ola(lattice: Lattice, budget: Budget) -> Found:
    """The best of all minimal nodes, found by halving sublattices."""
    return best_of(lattice, ola_minimal(lattice))


STRATEGIES: dict[str, Callable[[Lattice, Budget], Found]] = {
    "optimal": optimal,
    "samarati": samarati,
    "incognito": incognito,
    "datafly": datafly,
    "ola": ola,
    "top-down": top_down,
    "bottom-up": bottom_up,
}


def search(lattice: Lattice, strategy: str, budget: Budget) -> Found:
    """Run a strategy."""
    check_size(lattice, strategy)
    return STRATEGIES[strategy](lattice, budget)


def check_size(lattice: Lattice, strategy: str) -> None:
    """Stop where a strategy cannot go through so many nodes."""
    size = lattice.size
    if strategy == "incognito":
        size = int(np.prod((lattice.shape + 1).astype(object)))
    if strategy not in ("datafly", "top-down", "bottom-up") and size > MOST_NODES:
        raise MethodError(
            f"the lattice has {lattice.size:,} nodes, more than {strategy} can go through",
            remedy='strategy = "top-down" with `seconds` or `steps`, fewer columns or fewer '
            "levels (`lowest`, `highest`)",
        )
