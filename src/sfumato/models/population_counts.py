"""How many people of a population share a combination, predicted from a sample of them.

A combination's share of the population is gamma distributed around what a network says of it that
has not seen the combination (the sample is divided into parts, and each part is judged by a network
learnt from the others). The shape of the gamma says how far the network is off; given it, the count
among the people outside the sample is negative binomial.

The sample's own counts bound the shape from below. They do not say which one is cautious: a small
shape believes the sample (one person in a sample of a hundredth speaks for a hundred), a large one
believes the network. So the chance that k people are there is the least over all shapes from that
bound up to the Poisson distribution, where the network is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..progress import report
from .network import Network
from .records import Node, Records
from .structure import learn

PARTS = 4
SHAPES = np.geomspace(0.02, 200.0, 57)
_EVERY = 4
"""Of the shapes within the bounds, every fourth is tried: chances change slowly with them."""
_DROP = 1.92
"""How far the log likelihood may lie below its maximum: 95 % limits."""
_SPREAD = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class Levels:
    """Combinations: at which level each column is shown, and its state there.

    A level equal to the column's number of levels is "*", whose state is 0.
    """

    levels: np.ndarray
    """int64 (m, d)"""
    states: np.ndarray
    """int64 (m, d)"""


class PopulationCounts:
    """Predicts population counts from a sample that is known record by record."""

    def __init__(
        self,
        sample: Records,
        population: int,
        *,
        k: int,
        parents: int = 2,
        shape: float | None = None,
    ) -> None:
        self.sample, self.population, self.k = sample, population, k
        self.size = float(sample.weights.sum())
        self.axes = sample.axes
        columns = range(len(self.axes))
        self.states = np.column_stack([sample.state(Node(a, 0)) for a in columns])
        """int64 (u, d): finest states; -1 where a cell was suppressed before."""
        self.part = parts_of(self.states)
        self.networks: list[Network] = []
        for part in range(PARTS):
            report("learning networks", part, PARTS)
            others = np.where(self.part != part, sample.weights, 0.0)
            if not others.sum():
                others = sample.weights
            self.networks.append(learn(sample.weighing(others), parents=parents))
        self._known: dict[bytes, float] = {}
        self._tallies: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self.shape = shape if shape is not None else self._lowest()
        """The least shape that the counts do not contradict."""
        self.shapes = np.array([self.shape]) if shape is not None else self._tried()

    @cached_property
    def whole_bits(self) -> np.ndarray:
        """float64 (u,): log2 probability of each distinct record, by networks that have not seen
        it; not a number where a cell is unknown."""
        found = np.full(self.states.shape[0], np.nan)
        for part, network in enumerate(self.networks):
            rows = np.flatnonzero((self.part == part) & (self.states >= 0).all(axis=1))
            found[rows] = network.log2(self.states[rows])
        return found

    def _lowest(self) -> float:
        """The lower limit of the gamma's shape, from the counts of combinations in the sample.

        Given that it is in the sample, a combination's count is zero-truncated negative binomial.
        Only combinations for which the answer matters are looked at: those with about k people.
        """
        from scipy.stats import nbinom

        use = ~np.isnan(self.whole_bits) & (self.sample.weights > 0)
        p = np.exp2(self.whole_bits[use])
        f = self.sample.weights[use]
        near = (p * self.population > self.k / 10) & (p * self.population < self.k * 30)
        if near.sum() >= 50:
            p, f = p[near], f[near]
        if not p.size:
            return float(SHAPES[0])
        mean = np.maximum(p * self.size, 1e-12)
        fit = []
        for a in SHAPES:
            rate = a / (a + mean)
            none = nbinom.logpmf(0, a, rate)
            fit.append(float((nbinom.logpmf(f, a, rate) - np.log(-np.expm1(none))).sum()))
        found = np.array(fit)
        return float(SHAPES[np.flatnonzero(found >= found.max() - _DROP)[0]])

    def _tried(self) -> np.ndarray:
        """Shapes from the lowest to infinity. The upper limit of the likelihood is left aside: it
        is about whole records, and a network that is off there may be right of coarser ones."""
        first = int(np.searchsorted(SHAPES, self.shape))
        return np.append(SHAPES[first::_EVERY], np.inf)

    def chances(self, asked: Levels, part: np.ndarray) -> np.ndarray:
        """float64 (m,): how probable it is that k people or more share each combination, under the
        shape that makes it least probable.

        `part` says which part of the sample each stems from, and so which network is asked.
        """
        counts = self.in_sample(asked)
        found = np.ones(counts.size)
        doubtful = np.flatnonzero(counts < self.k)
        if not doubtful.size:
            return found
        p = np.maximum(self._probabilities(asked, part, doubtful), 1e-300)
        f = counts[doubtful]
        found[doubtful] = np.min([self._enough(f, p, a) for a in self.shapes.tolist()], axis=0)
        return found

    def _enough(self, f: np.ndarray, p: np.ndarray, shape: float) -> np.ndarray:
        """The chance of k - f people or more outside the sample, which has f of them."""
        from scipy.stats import nbinom, poisson

        outside = max(self.population - self.size, 0.0)
        if np.isinf(shape):
            return np.asarray(poisson.sf(self.k - f - 1, p * outside))
        rate = shape / p + self.size
        return np.asarray(nbinom.sf(self.k - f - 1, shape + f, rate / (rate + outside)))

    def in_sample(self, asked: Levels) -> np.ndarray:
        """float64 (m,): how many people of the sample share each combination."""
        found = np.zeros(asked.levels.shape[0])
        shapes, which = np.unique(asked.levels, axis=0, return_inverse=True)
        which = which.reshape(-1)
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(shapes.shape[0] + 1))
        for i, levels in enumerate(shapes):
            rows = order[ends[i] : ends[i + 1]]
            keys, tally = self._tally(levels)
            wanted = self._key(levels, asked.states[rows])
            at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
            found[rows] = np.where(keys[at] == wanted, tally[at], 0.0)
        return found

    def _key(self, levels: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Records of one shape as numbers; as bytes where they are too many for that."""
        sizes = [
            self.axes[a].size(level) + 1 if level < self.axes[a].levels else 1
            for a, level in enumerate(levels.tolist())
        ]
        room = 1
        for size in sizes:
            room *= size
        if room < 1 << 62:
            key = np.zeros(states.shape[0], dtype=np.int64)
            for a, size in enumerate(sizes):
                key = key * size + (states[:, a] + 1 if size > 1 else 0)
            return key
        narrow = np.ascontiguousarray(states.astype(np.int32))
        return narrow.view(np.dtype((np.void, narrow.itemsize * narrow.shape[1]))).ravel()

    def _tally(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        name = levels.tobytes()
        if name not in self._tallies:
            keys = self._key(levels, self.lifted(levels, np.arange(self.states.shape[0])))
            distinct, which = np.unique(keys, return_inverse=True)
            counts = np.bincount(which.reshape(-1), self.sample.weights)
            self._tallies[name] = distinct, counts
        return self._tallies[name]

    def lifted(self, levels: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """int64 (r, d): the states of distinct sample records, all shown at these levels."""
        out = np.zeros((rows.size, len(self.axes)), dtype=np.int64)
        for a, level in enumerate(levels.tolist()):
            axis, states = self.axes[a], self.states[rows, a]
            if level < axis.levels:
                out[:, a] = np.where(states >= 0, axis.up[level][states], -1)
        return out

    def _probabilities(self, asked: Levels, part: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.empty(rows.size)
        whole = (asked.levels[rows] == 0).all(axis=1)
        for p, network in enumerate(self.networks):
            mine = whole & (part[rows] == p)
            found[mine] = np.exp2(network.log2(asked.states[rows[mine]]))
        for i in np.flatnonzero(~whole).tolist():
            row, p = int(rows[i]), int(part[rows[i]])
            key = bytes([p]) + asked.levels[row].tobytes() + asked.states[row].tobytes()
            if key not in self._known:
                engine = self.networks[p].engine
                self._known[key] = engine.shown(asked.levels[row], asked.states[row])
            found[i] = self._known[key]
        return found


def parts_of(states: np.ndarray) -> np.ndarray:
    """A part for each distinct record, by its content alone: no seed, no order of rows."""
    mixed = np.zeros(states.shape[0], dtype=np.uint64)
    for a in range(states.shape[1]):
        mixed = (mixed ^ (states[:, a] + 2).astype(np.uint64)) * np.uint64(_SPREAD)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(PARTS)).astype(np.int64)
