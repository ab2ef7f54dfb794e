"""Finding the links between columns: in order of their mutual information, while they help.

A link is tried where an information criterion of the training part gains by it, the best first; it
stays if the test part becomes more probable. The test guards against too many links, so that the
criterion is Akaike's unless the stricter Bayesian one is asked for. Links that would make a cycle,
too large a table, or too large a clique for exact inference are not tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..errors import MethodError
from ..progress import report
from .axis import Axis
from .network import FEWEST, Network, all_nodes, backbone, conditional, fit
from .records import Node, Records
from .robust import fit_robust

TEST_SHARE = 0.25
STRENGTHS = (1.0, 4.0, 16.0)
CELLS = 200_000
"""Entries of the largest table of a field, its own column's parent included."""
CLIQUE = 300_000
"""States of the largest clique that exact inference may meet."""
_PRICE = math.log2(math.e)
"""Bits that a parameter must be worth (AIC)."""
Allowed = Callable[[int, int], bool]
"""Whether a link between two columns may be tried."""


def learn(
    records: Records,
    *,
    parents: int = 2,
    target: int | None = None,
    estimation: str = "shares",
) -> Network:
    """A network for these records. With a `target` (a column's number), only links into or out of
    that column's fields are sought first; then the others, as ever. Cells that are known in part
    count in shares, or by robust Bayes `estimation`."""
    axes = records.axes
    if not axes or not records.weights.sum():
        raise MethodError(
            "there are no records to learn a network from", remedy="use a table that has records"
        )
    search = _Search(records, parents)
    if target is not None:
        search.grow(lambda a, b: target in (a, b))
    search.grow(lambda a, b: True)
    return search.network(robust=estimation == "robust")


class _Search:
    """The links so far, and what each further one would gain."""

    def __init__(self, records: Records, parents: int) -> None:
        self.records, self.most = records, parents
        self.axes: list[Axis] = records.axes
        self.nodes = all_nodes(self.axes)
        self.train, self.test = records.parted(TEST_SHARE)
        if not self.train.weights.sum():
            self.train = records
        self.parents: list[list[int]] = [[] for _ in self.nodes]
        self._pairs: dict[tuple[int, int, bool], np.ndarray] = {}
        self._bases = [
            backbone(self.axes[n.axis], n.level, self.train.count([n])) for n in self.nodes
        ]
        self._scores = [self._family(i, []) for i in range(len(self.nodes))]
        self.tried: set[tuple[int, int]] = set()

    def grow(self, allowed: Allowed) -> None:
        """Add links while any gains."""
        gains: dict[tuple[int, int], float] = {}
        count = len(self.nodes)
        for child in range(count):
            report("scoring links", child, count)
            self._rescore(gains, child, allowed)
        added = 0
        while gains:
            (child, parent), gain = max(gains.items(), key=lambda item: (item[1], item[0]))
            if gain <= 0:
                break
            del gains[child, parent]
            self.tried.add((child, parent))
            if not self._possible(child, parent):
                continue
            wider = [*self.parents[child], parent]
            found = self._family(child, wider)
            if self.test.weights.any() and found[1] <= self._scores[child][1]:
                continue
            self.parents[child] = wider
            self._scores[child] = found
            added += 1
            report("adding links", added, added + 1)
            self._rescore(gains, child, allowed)

    def _rescore(self, gains: dict[tuple[int, int], float], child: int, allowed: Allowed) -> None:
        """What each further parent of a field would gain by the information criterion."""
        taken = {self.nodes[p].axis for p in self.parents[child]}
        own = self.nodes[child].axis
        for parent, node in enumerate(self.nodes):
            gains.pop((child, parent), None)
            fresh = node.axis != own and node.axis not in taken
            if not fresh or len(self.parents[child]) >= self.most:
                continue
            if (child, parent) in self.tried or not allowed(own, node.axis):
                continue
            wider = [*self.parents[child], parent]
            if self._entries(child, wider) > CELLS:
                continue
            gains[child, parent] = self._criterion(child, wider) - self._scores[child][0]

    def _entries(self, child: int, parents: Sequence[int]) -> int:
        """Entries of a field's table as exact inference holds it."""
        axis, level = self.nodes[child]
        above = self.axes[axis].size(level + 1) if level + 1 < self.axes[axis].levels else 1
        return math.prod((self._size(p) for p in parents), start=above * self._size(child))

    def _size(self, node: int) -> int:
        axis, level = self.nodes[node]
        return self.axes[axis].size(level)

    def _counts(self, child: int, parents: Sequence[int], *, test: bool) -> np.ndarray:
        """(parents..., states); those of pairs are kept, since both directions ask for them."""
        side = self.test if test else self.train
        if len(parents) != 1:
            return side.count([*(self.nodes[p] for p in parents), self.nodes[child]])
        first, last = min(child, parents[0]), max(child, parents[0])
        a, b = self.nodes[first].axis, self.nodes[last].axis
        key = (a, b, test)
        if key not in self._pairs:
            self._pairs[key] = side.count([Node(a, 0), Node(b, 0)])
        found = self._pairs[key]
        for place, node in enumerate((first, last)):
            axis, level = self.nodes[node]
            if level:
                shape = list(found.shape)
                shape[place] = self.axes[axis].size(level)
                lifted = np.zeros(shape)
                source, into = np.moveaxis(found, place, 0), np.moveaxis(lifted, place, 0)
                np.add.at(into, self.axes[axis].up[level], source)
                found = lifted
        return found if parents[0] == first else found.T

    def _criterion(self, child: int, parents: Sequence[int]) -> float:
        """Log2 likelihood of the training part, less the price of the parameters."""
        axis, level = self.nodes[child]
        counts = self._counts(child, parents, test=False)
        flat = counts.reshape(-1, counts.shape[-1])
        above = self.axes[axis].above(level)
        total = np.zeros((flat.shape[0], int(above.max()) + 1))
        np.add.at(total.T, above, flat.T)
        share = flat / np.maximum(total[:, above], FEWEST)
        fitted = float((flat * np.log2(np.maximum(share, FEWEST))).sum())
        free = flat.shape[0] * (above.size - int(above.max()) - 1)
        # Records in which one of the fields is unknown say nothing here; those without parents do.
        known = float(flat.sum())
        if parents and known:
            fitted *= self._known(child) / known
        return fitted - _PRICE * free

    def _known(self, child: int) -> float:
        axis = self.nodes[child].axis
        return float(self.train.weights[~self.train.vague[axis][self.train.places[:, axis]]].sum())

    def _family(self, child: int, parents: Sequence[int]) -> tuple[float, float]:
        """The criterion on the training part, and the log2 likelihood of the test part."""
        axis, level = self.nodes[child]
        train = self._counts(child, parents, test=False)
        table = conditional(self.axes[axis], level, train, self._bases[child], STRENGTHS[1])
        test = self._counts(child, parents, test=True)
        weight = float(test.sum())
        bits = float((test * np.log2(np.maximum(table, FEWEST))).sum())
        return self._criterion(child, parents), bits / weight if weight else 0.0

    def _possible(self, child: int, parent: int) -> bool:
        if self._reaches(child, parent):
            return False
        return largest_clique(self._families(child, parent), self._sizes()) <= CLIQUE

    def _sizes(self) -> list[int]:
        return [self._size(i) for i in range(len(self.nodes))]

    def _arcs(self, child: int) -> list[int]:
        axis, level = self.nodes[child]
        own = [child - 1] if level + 1 < self.axes[axis].levels else []
        return [*own, *self.parents[child]]

    def _families(self, child: int = -1, parent: int = -1) -> list[set[int]]:
        found = [{i, *self._arcs(i)} for i in range(len(self.nodes))]
        if child >= 0:
            found[child].add(parent)
        return found

    def _reaches(self, start: int, end: int) -> bool:
        """Whether a path leads from one field to another."""
        waiting, seen = [end], set()
        while waiting:
            node = waiting.pop()
            if node == start:
                return True
            if node not in seen:
                seen.add(node)
                waiting += self._arcs(node)
        return False

    def network(self, *, robust: bool = False) -> Network:
        """The network, its tables learnt from all records."""
        best, strength = -np.inf, STRENGTHS[1]
        if self.test.weights.any():
            for candidate in STRENGTHS:
                tables = fit(self.train, self.nodes, self.parents, candidate)
                score = self._score(tables, test=True)
                if score > best:
                    best, strength = score, candidate
        apart = None
        if robust:
            tables, apart = fit_robust(self.records, self.nodes, self.parents, strength)
        else:
            tables = fit(self.records, self.nodes, self.parents, strength, refine=True)
        alone = fit(self.train, self.nodes, [[] for _ in self.nodes], strength)
        facts = {
            "test bits": -best if np.isfinite(best) else None,
            "test bits without links": -self._score(alone, test=True, links=False),
            "strength": strength,
        }
        if apart is not None:
            facts["bounds apart"] = apart
        parents = tuple(map(tuple, self.parents))
        return Network(tuple(self.axes), self.nodes, parents, tables, facts)

    def _score(self, tables: Sequence[np.ndarray], *, test: bool, links: bool = True) -> float:
        """Mean log2 likelihood of a record's known fields."""
        total = 0.0
        for i, table in enumerate(tables):
            counts = self._counts(i, self.parents[i] if links else [], test=test)
            weight = float(counts.sum())
            if weight:
                total += float((counts * np.log2(np.maximum(table, FEWEST))).sum()) / weight
        return total


def largest_clique(families: Sequence[set[int]], sizes: Sequence[int]) -> int:
    """States of the largest clique when fields are eliminated, the cheapest first."""
    near: list[set[int]] = [set() for _ in sizes]
    for family in families:
        for one in family:
            near[one] |= family - {one}
    left, largest = set(range(len(sizes))), 0
    while left:
        cost = {i: math.prod((sizes[j] for j in near[i]), start=sizes[i]) for i in left}
        chosen = min(left, key=lambda i: (cost[i], i))
        largest = max(largest, cost[chosen])
        for one in near[chosen]:
            near[one] |= near[chosen] - {one}
            near[one].discard(chosen)
        left.discard(chosen)
    return largest
