"""A tree of columns, each depending on one other, learnt from cells that may tell only in part.

A cell is what it says of each state of its column: 1 for those that it may be and 0 for the others,
or the share of a state that it covers. Columns are linked where they share most information (Chow &
Liu 1968), less what as many states may share by chance: a forest, where nothing is left. Its tables
are fitted by expectation and maximization, since a cell that tells in part counts for each of its
states as the rest of its record makes it probable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints

Evidence = Sequence[NDArray[np.floating]]
"""For each column what each record's cell says of its states, (records, states)."""
BORROWED = 5.0
"""Records of the whole table that each state of a column is lent by, so that few tell little."""
_DEVIATIONS = 3.0
"""Standard deviations of what is shared by chance that are taken off."""
_BLOCK = 4096


class Pair(NamedTuple):
    """A link, as a block of records sees it."""

    child: int
    above: Floats
    """(records, the parent's states): what all but the child's side says of the parent"""
    below: Floats
    """(records, the child's states): what the child's side says of it"""


@dataclass(frozen=True, eq=False)
class DependenceTree:
    """How probable the states of each column are, given that of the column it depends on."""

    parent: Ints
    """-1 where a column depends on none"""
    order: Ints
    """parents before their children"""
    tables: tuple[Floats, ...]
    """(the parent's states, states), rows summing to 1; one row where there is no parent"""

    def posteriors(self, evidence: Evidence) -> list[Floats]:
        """For each column how probable its states are, record by record, given all cells."""
        rows = len(evidence[0])
        found = [np.empty((rows, table.shape[1])) for table in self.tables]
        for start in range(0, rows, _BLOCK):
            block = slice(start, start + _BLOCK)
            beliefs, _ = self._passed([one[block] for one in evidence])
            for out, belief in zip(found, beliefs, strict=True):
                out[block] = belief
        return found

    def _passed(self, evidence: Evidence) -> tuple[list[Floats], list[Pair]]:
        """The posteriors of some records, and their links."""
        own = [np.asarray(one, dtype=np.float64) for one in evidence]
        children: list[list[int]] = [[] for _ in own]
        for c in self.order.tolist():
            if self.parent[c] >= 0:
                children[self.parent[c]].append(c)
        sent: dict[int, Floats] = {}
        below = list(own)
        for j in self.order[::-1].tolist():
            for c in children[j]:
                below[j] = below[j] * sent[c]
            if self.parent[j] >= 0:
                sent[j] = _scaled(below[j] @ self.tables[j].T)
        beliefs, links = list(own), []
        above: list[Floats] = list(own)
        for j in self.order.tolist():
            p = int(self.parent[j])
            first = self.tables[j] if p < 0 else _scaled(above[j] @ self.tables[j])
            beliefs[j] = _shares(below[j] * first)
            for c, others in zip(
                children[j], _all_but([sent[c] for c in children[j]]), strict=True
            ):
                above[c] = _scaled(own[j] * first * others)
                links.append(Pair(c, above[c], below[c]))
        return beliefs, links

    def fitted(self, evidence: Evidence) -> DependenceTree:
        """The tree with the tables that one more round of expectation and maximization gives."""
        single = [np.zeros(table.shape[1]) for table in self.tables]
        joint = [np.zeros_like(table) for table in self.tables]
        for start in range(0, len(evidence[0]), _BLOCK):
            block = [one[start : start + _BLOCK] for one in evidence]
            beliefs, links = self._passed(block)
            for total, belief in zip(single, beliefs, strict=True):
                total += belief.sum(axis=0)
            for c, up, down in links:
                mass = ((up @ self.tables[c]) * down).sum(axis=1)
                weight = np.divide(1.0, mass, out=np.zeros(mass.size), where=mass > 0)
                joint[c] += self.tables[c] * ((up * weight[:, None]).T @ down)
        return replace(self, tables=_tables(self.parent, single, joint))


def learnt(evidence: Evidence, prior: Sequence[Floats], rounds: int) -> DependenceTree:
    """The tree of some records; `prior` is how frequent each column's states are beforehand."""
    n = len(evidence[0])
    own = [_shares(one * first) for one, first in zip(evidence, prior, strict=True)]
    joints = _pairs(own)
    parent, order = spanning({pair: information(joint, n) for pair, joint in joints}, len(own))
    single = [one.sum(axis=0) for one in own]
    joint = [one[None, :] if p < 0 else own[p].T @ own[j] for j, (p, one) in
             enumerate(zip(parent.tolist(), single, strict=True))]  # fmt: skip
    found = DependenceTree(parent, order, _tables(parent, single, joint))
    for _ in range(rounds):
        found = found.fitted(evidence)
    return found


def _pairs(own: Sequence[Floats]) -> Iterator[tuple[tuple[int, int], Floats]]:
    for a in range(len(own)):
        for b in range(a):
            yield (a, b), own[a].T @ own[b]


def information(joint: Floats, n: int) -> float:
    """What two columns tell of each other, in nats, less what as many states would hardly share by
    chance: twice the records times that is distributed as chi-squared.

    >>> round(information(np.array([[50.0, 0.0], [0.0, 50.0]]), 100), 3)
    0.667
    >>> round(information(np.array([[25.0, 25.0], [25.0, 25.0]]), 100), 3)
    -0.026
    """
    total = joint.sum()
    if total <= 0:
        return 0.0
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    here = joint > 0
    even = np.outer(rows, columns)[here] / total
    shared = float((joint[here] * np.log(joint[here] / even)).sum() / total)
    # A state that less than half a record has does not widen the table.
    free = (max((rows > 0.5).sum(), 1) - 1) * (max((columns > 0.5).sum(), 1) - 1)
    return shared - float(free + _DEVIATIONS * np.sqrt(2.0 * free)) / (2.0 * n)


def spanning(shared: dict[tuple[int, int], float], columns: int) -> tuple[Ints, Ints]:
    """The parents of the tree that shares most, -1 where nothing is shared, and an order in which
    parents come first (Prim 1957).

    >>> parent, order = spanning({(1, 0): 0.1, (2, 0): 0.5, (2, 1): 0.3, (3, 0): -0.1}, 4)
    >>> parent.tolist(), order.tolist()
    ([-1, 2, 0, -1], [0, 2, 1, 3])
    """
    weight = np.zeros((columns, columns))
    for (a, b), value in shared.items():
        weight[a, b] = weight[b, a] = value
    parent, best = np.full(columns, -1), np.zeros(columns)
    order, left = [], np.ones(columns, dtype=bool)
    for _ in range(columns):
        j = int(np.argmax(np.where(left, best, -1.0)))
        left[j] = False
        order.append(j)
        nearer = left & (weight[j] > best)
        best[nearer], parent[nearer] = weight[j, nearer], j
    return parent, np.array(order, dtype=np.int64)


def _tables(parent: Ints, single: Sequence[Floats], joint: Sequence[Floats]) -> tuple[Floats, ...]:
    """Chances from counts. One more record is spread evenly, and to each state of a parent some
    records of the whole are lent."""
    found = []
    for p, counts, together in zip(parent.tolist(), single, joint, strict=True):
        share = (counts + 1.0 / counts.size) / (counts.sum() + 1.0)
        if p < 0:
            found.append(share[None, :])
        else:
            lent = together + BORROWED * share
            found.append(lent / lent.sum(axis=1, keepdims=True))
    return tuple(found)


def _scaled(rows: Floats) -> Floats:
    """Rows in parts of their greatest entry, so that products stay within the floats."""
    most = rows.max(axis=1, keepdims=True)
    return np.divide(rows, most, out=np.zeros_like(rows), where=most > 0)


def _shares(rows: Floats) -> Floats:
    total = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)


def _all_but(parts: Sequence[Floats]) -> list[Floats]:
    """For each of several arrays the product of all others, without dividing."""
    before, after = [np.ones((1, 1))], [np.ones((1, 1))]
    for part in parts[:-1]:
        before.append(before[-1] * part)
    for part in parts[:0:-1]:
        after.append(after[-1] * part)
    return [a * b for a, b in zip(before, after[::-1], strict=True)] if parts else []
