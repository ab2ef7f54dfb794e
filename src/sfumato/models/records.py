"""The records that a network learns from: distinct ones with their weights, counted in families.

A cell that is known in part (an interval, a set of values) counts in parts: by the frequencies of
the values that it covers, as expectation maximization finds them for its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .augmented import UNKNOWN, Reading
from .axis import Axis

_PASSES = 60
_BLOCK = 1 << 22
_REFINE = 1 << 25
"""Records times states up to which shared labels are counted in more than one pass."""


class Node(NamedTuple):
    """A field: a column's number and a level."""

    axis: int
    level: int


class Extremes(NamedTuple):
    """float64 (parents..., states): records by what may be true of them."""

    sure: np.ndarray
    """Those that have the state beside the parents' for sure."""
    open: np.ndarray
    """Others that may."""
    away: np.ndarray
    """Those that need not have it, and may have a sibling of it."""
    forced: np.ndarray
    """Those that have one of several siblings of it, nobody knows which."""


@dataclass(frozen=True, eq=False)
class Records:
    """Distinct records, by the contents of their cells."""

    readings: tuple[Reading, ...]
    places: np.ndarray
    """int64 (u, d): the content of each cell."""
    weights: np.ndarray
    """float64 (u,): how many records are alike."""
    which: np.ndarray
    """int64 (n,): the distinct record of each."""

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> Records:
        """The distinct records of a table, in an order that does not depend on the rows'."""
        places = np.column_stack([reading.place for reading in readings])
        distinct, which, counts = _distinct(places, [r.likelihood.shape[0] for r in readings])
        return cls(tuple(readings), distinct, counts.astype(np.float64), which)

    @property
    def axes(self) -> list[Axis]:
        """The columns."""
        return [reading.axis for reading in self.readings]

    def weighing(self, weights: np.ndarray) -> Records:
        """The same records, weighed otherwise."""
        return Records(self.readings, self.places, weights, self.which)

    def parted(self, share: float) -> tuple[Records, Records]:
        """Records to learn from, and a share of them to test with.

        Who is tested is drawn by the place among the sorted records, so that neither the order of
        the rows nor a seed matters.
        """
        counts = self.weights.astype(np.int64)
        owner = np.repeat(np.arange(counts.size), counts)
        drawn = np.random.default_rng(counts.sum()).random(owner.size) < share
        test = np.bincount(owner[drawn], minlength=counts.size).astype(np.float64)
        return self.weighing(self.weights - test), self.weighing(test)

    @cached_property
    def vague(self) -> list[np.ndarray]:
        """bool by content, for each column: whether nothing is known."""
        found = []
        for reading in self.readings:
            nothing = (reading.likelihood == reading.likelihood[:, :1]).all(axis=1)
            # A column of one state is known even so.
            nothing &= reading.likelihood.shape[1] > 1
            nothing[UNKNOWN] = True
            found.append(nothing)
        return found

    def state(self, node: Node) -> np.ndarray:
        """int64 (u,): each record's state of a field, -1 where it is not certain."""
        return np.asarray(self.readings[node.axis].at(node.level)[self.places[:, node.axis]])

    @cached_property
    def _partly(self) -> list[bool]:
        """Which columns have cells that are known in part at the finest level."""
        return [
            bool(((r.at(0) < 0) & ~vague)[np.unique(self.places[:, a])].any())
            for a, (r, vague) in enumerate(zip(self.readings, self.vague, strict=True))
        ]

    @cached_property
    def marginals(self) -> list[np.ndarray]:
        """float64 by finest state, for each column: its frequencies, that sum to one."""
        return [self._marginal(a) for a in range(len(self.readings))]

    def _marginal(self, a: int) -> np.ndarray:
        reading = self.readings[a]
        contents = reading.likelihood.shape[0]
        count = np.bincount(self.places[:, a], self.weights, contents)
        count[self.vague[a]] = 0.0
        size = reading.axis.size()
        found = np.full(size, 1.0 / size)
        for _ in range(_PASSES if self._partly[a] else 1):
            parts = reading.likelihood * found
            parts *= (count / np.maximum(parts.sum(axis=1), 1e-300))[:, None]
            # Half a record over all states keeps every one of them possible.
            last, found = found, parts.sum(axis=0) + 0.5 / size
            found = found / found.sum()
            if np.abs(found - last).max() < 1e-6:
                break
        return found

    def _parts(self, node: Node) -> np.ndarray:
        """float64 (contents, states): how a content is shared among the states of a field; nothing
        for unknown ones."""
        reading = self.readings[node.axis]
        parts = reading.likelihood * self.marginals[node.axis]
        parts /= np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)
        parts[self.vague[node.axis]] = 0.0
        return _lifted(parts, reading.axis, node.level)

    def count(self, nodes: Sequence[Node], *, refine: bool = False) -> np.ndarray:
        """float64, one axis for each field (of different columns): how many records have each
        combination of states, of those in which something is known of all of them."""
        shape = tuple(self.axes[n.axis].size(n.level) for n in nodes)
        if not any(self._partly[n.axis] for n in nodes):
            states = [self.state(node) for node in nodes]
            whole = np.logical_and.reduce([s >= 0 for s in states])
            key = np.ravel_multi_index([s[whole] for s in states], shape)
            flat = np.bincount(key, self.weights[whole], int(np.prod(shape)))
            return flat.reshape(shape)
        columns = [n.axis for n in nodes]
        known = np.logical_and.reduce([~self.vague[a][self.places[:, a]] for a in columns])
        known &= self.weights > 0
        sizes = [self.readings[a].likelihood.shape[0] for a in columns]
        tuples, which, _ = _distinct(self.places[known][:, columns], sizes)
        weights = np.bincount(which, self.weights[known], tuples.shape[0])
        found = _expected([self._parts(n) for n in nodes], tuples, weights, shape)
        if refine and tuples.shape[0] * int(np.prod(shape)) <= _REFINE:
            chances = [self._chances(node) for node in nodes]
            for _ in range(8):
                found = _reweighed(chances, tuples, weights, found)
        return found

    def extremes(self, nodes: Sequence[Node]) -> Extremes:
        """What bounds the probability of the last field's states given the others'."""
        shape = tuple(self.axes[n.axis].size(n.level) for n in nodes)
        columns = [n.axis for n in nodes]
        sizes = [self.readings[a].likelihood.shape[0] for a in columns]
        tuples, which, _ = _distinct(self.places[:, columns], sizes)
        weights = np.bincount(which, self.weights, tuples.shape[0])
        possible = [self._possible(n) for n in nodes]
        single = [p * (p.sum(axis=1, keepdims=True) == 1) for p in possible]
        sure = _expected(single, tuples, weights, shape)
        above = self.axes[columns[-1]].above(nodes[-1].level)
        family = (above[:, None] == above).astype(np.float64)
        others = ((possible[-1] @ family - possible[-1]) > 0).astype(np.float64)
        inside = possible[-1] @ family == possible[-1].sum(axis=1, keepdims=True)
        elsewhere = (inside & (possible[-1] == 0)).astype(np.float64)
        siblings = sure @ family - sure
        open_ = _expected(possible, tuples, weights, shape) - sure
        away = _expected([*possible[:-1], others], tuples, weights, shape) - siblings
        forced = _expected([*single[:-1], elsewhere], tuples, weights, shape) - siblings
        # What adds up to nothing is nothing, whatever rounding leaves of it.
        return Extremes(sure, *(np.maximum(one, 0.0) for one in (open_, away, forced)))

    def _possible(self, node: Node) -> np.ndarray:
        """float64 (contents, states): 1 where a content allows a state of a field."""
        reading = self.readings[node.axis]
        allowed = (reading.likelihood > 0).astype(np.float64)
        return (_lifted(allowed, reading.axis, node.level) > 0).astype(np.float64)

    def _chances(self, node: Node) -> np.ndarray:
        """float64 (contents, states): the likelihood of a content in each state of a field."""
        reading, weights = self.readings[node.axis], self.marginals[node.axis]
        mass = _lifted(reading.likelihood * weights, reading.axis, node.level)
        whole = _lifted(weights[None, :], reading.axis, node.level)
        return np.asarray(mass / np.maximum(whole, 1e-300))


def _lifted(parts: np.ndarray, axis: Axis, level: int) -> np.ndarray:
    """Columns of finest states added up to those of a level."""
    if level == 0:
        return parts
    found = np.zeros((parts.shape[0], axis.size(level)))
    np.add.at(found.T, axis.up[level], parts.T)
    return found


def _distinct(
    places: np.ndarray, sizes: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows, which of them each row is, and how many rows are."""
    key = np.zeros(places.shape[0], dtype=np.int64)
    room = 1
    for j, size in enumerate(sizes):
        if room > (1 << 62) // max(size, 1):
            _, key = np.unique(key, return_inverse=True)
            room = int(key.max(initial=0)) + 1
        key, room = key * size + places[:, j], room * size
    _, first, which, counts = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    return places[first], which.reshape(-1), counts


def _expected(
    parts: Sequence[np.ndarray], tuples: np.ndarray, weights: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """Sums of outer products: the first field against all others at once, in blocks."""
    others = int(np.prod(shape[1:]))
    found = np.zeros((shape[0], others))
    step = max(_BLOCK // max(others, shape[0], 1), 1)
    for start in range(0, tuples.shape[0], step):
        rows = slice(start, start + step)
        first = parts[0][tuples[rows, 0]] * weights[rows, None]
        rest = np.ones((first.shape[0], 1))
        for j in range(1, len(parts)):
            more = parts[j][tuples[rows, j]]
            rest = (rest[:, :, None] * more[:, None, :]).reshape(rest.shape[0], -1)
        found += first.T @ rest
    return found.reshape(shape)


def _reweighed(
    chances: Sequence[np.ndarray], tuples: np.ndarray, weights: np.ndarray, joint: np.ndarray
) -> np.ndarray:
    """One pass of expectation maximization over a family's own joint counts."""
    found = np.zeros(joint.size)
    prior = joint.ravel() / max(joint.sum(), 1e-300)
    step = max(_BLOCK // joint.size, 1)
    for start in range(0, tuples.shape[0], step):
        rows = slice(start, start + step)
        fit = np.ones((weights[rows].size, 1))
        for j, chance in enumerate(chances):
            more = chance[tuples[rows, j]]
            fit = (fit[:, :, None] * more[:, None, :]).reshape(fit.shape[0], -1)
        fit *= prior
        total = fit.sum(axis=1)
        found += (weights[rows] / np.maximum(total, 1e-300)) @ fit
    return found.reshape(joint.shape)
