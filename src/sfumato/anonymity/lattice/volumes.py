"""Objectives that look at how many combinations of values a class covers.

A class covers the product of what its labels cover. Logarithms of these products add up over the
columns, and so do bounds: of the ambiguity by the inequality of the means, of the divergence since
what the columns lose one by one they lose together.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from ...kernels.lattice.rollup import Tally, column_worths, distinct, layout
from .objectives import Additive
from .terms import Figures, Node

if TYPE_CHECKING:
    from .lattice import Lattice

BITS = 1 << 40
"""The ambiguity is counted in fractions of 2**-40 bits."""
UNITS = 1 << 48
"""The divergence of a table is counted in fractions of 2**-48 bits."""


class Ambiguity(Additive):
    """The mean number of combinations that a published record covers, as a logarithm."""

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        ladders = lattice.ladders
        self.whole = sum(math.log2(one.widest) for one in ladders)
        """Bits that "*" covers."""
        self.rough = 2 * len(ladders) + 8
        self.level_costs = []
        for ladder in ladders:
            counts = lattice.counts(ladder)
            means = [
                float(counts @ np.log2(leaves)[group]) / self.n
                for group, leaves in zip(ladder.groups, ladder.leaves, strict=True)
            ]
            self.level_costs.append(np.floor(np.array(means) * BITS).astype(np.int64))
        self.ground = -self.rough

    def worths(self, j: int, level: int) -> np.ndarray:
        bits = np.log2(self.lattice.ladders[j].leaves[level])
        return np.asarray(np.rint(bits * BITS), dtype=np.int64)

    @property
    def record(self) -> int:
        return BITS // self.n

    def _bits(self, node: Node) -> np.ndarray:
        """float64: log2 of what each class covers."""
        places = self.places(node.levels)
        found = column_worths(node.keys, node.sizes.size, self.lattice.fields, self.worth, places)
        return np.asarray(found.sum(axis=1) / BITS)

    def _mean(self, bits: np.ndarray, sizes: np.ndarray) -> float:
        """log2 of the mean over records; the same in whatever order the classes come."""
        top = float(bits.max())
        return top + math.log2(math.fsum((sizes * np.exp2(bits - top)).tolist()) / self.n)

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        bits, short = self._bits(node), (node.sizes < self.terms.k) & node.own
        least = math.floor(self._mean(bits, node.sizes) * BITS) - self.rough
        if not short.any():
            return Figures(least + self.rough, 0, least)
        value = self.settled(node, short)
        rise = node.sizes[short] * -np.expm1((bits[short] - self.whole) * math.log(2))
        owed = math.fsum(rise.tolist()) / self.n
        if owed <= 0:
            return Figures(value, 0, least)
        # What is added to a mean that is no more than this node's is no less of a rise there.
        over = self.whole + math.log2(owed) - self.floor(node.levels) / BITS
        rises = math.floor(np.logaddexp2(0.0, over) * BITS) - self.rough
        return Figures(value, max(rises, 0), least)

    def settled(self, node: Node, gone: np.ndarray) -> int:
        bits = np.where(gone, self.whole, self._bits(node))
        return math.floor(self._mean(bits, node.sizes) * BITS)

    def prices(self, node: Node) -> np.ndarray:
        return np.asarray(node.sizes * -np.expm1((self._bits(node) - self.whole) * math.log(2)))

    def published(self, value: int) -> float:
        bits = value / BITS
        return 2.0**bits if bits < sys.float_info.max_exp else sys.float_info.max


class Divergence(Additive):
    """What the release leaves unknown of the joint distribution (Kullback-Leibler, in bits).

    Each class is spread evenly over the combinations that it covers, and the suppressed records
    over all there are.
    """

    def __init__(self, lattice: Lattice) -> None:
        super().__init__(lattice)
        ladders, n = lattice.ladders, self.n
        self.unit = UNITS // n
        self.rough = n * (len(ladders) + 4)
        """What rounding may take off, or add to, a sum over the records."""
        self.whole = sum(math.log2(one.domain) for one in ladders)
        fields = layout([[np.arange(max(one.fine[1].size, 1))] for one in ladders])
        known, _ = distinct([one.fine[0] for one in ladders], fields, lattice.count)
        self.known = self._scaled(np.log2(known.counts / n), known.counts)
        """What the table as it came has of itself: the negative entropy of its combinations."""
        self.level_costs = []
        for ladder in ladders:
            counts = lattice.counts(ladder)
            values = np.bincount(ladder.fine[0], lattice.count)
            own = _entropy(values[values > 0], n)
            costs = []
            for group, cells in zip(ladder.groups, ladder.cells, strict=True):
                each = np.bincount(group, counts, cells.size)
                covered = float(each @ np.log2(cells)) / n
                costs.append(covered + _entropy(each[each > 0], n) - own)
            self.level_costs.append(np.floor(np.array(costs) * n * self.unit).astype(np.int64))
        self.ground = -self.rough

    def worths(self, j: int, level: int) -> np.ndarray:
        bits = np.log2(self.lattice.ladders[j].cells[level])
        return np.asarray(np.rint(bits * (UNITS // self.n)), dtype=np.int64)

    @property
    def record(self) -> int:
        return round(self.whole * self.unit)

    def _scaled(self, bits: np.ndarray, sizes: np.ndarray) -> int:
        """So many bits for each record, summed."""
        return int((np.rint(bits * self.unit).astype(np.int64) * sizes).sum())

    def _bits(self, node: Node) -> np.ndarray:
        """float64: log2 of what each class covers."""
        places = self.places(node.levels)
        found = column_worths(node.keys, node.sizes.size, self.lattice.fields, self.worth, places)
        return np.asarray(found.sum(axis=1) / self.unit)

    def _least(self, node: Node, bits: np.ndarray) -> int:
        """The divergence if nothing is suppressed: the closest that the node's classes allow."""
        return self.known + self._scaled(bits - np.log2(node.sizes / self.n), node.sizes)

    def figures(self, node: Node, counted: Tally, *, fixed: bool) -> Figures:
        bits, short = self._bits(node), (node.sizes < self.terms.k) & node.own
        least = self._least(node, bits)
        owed = self._owed(node, bits, short)
        if not fixed:
            return Figures(least + owed - self.rough, owed, least - self.rough)
        value = self.settled(node, short) if short.any() else least
        return Figures(value, owed, least - self.rough)

    def _owed(self, node: Node, bits: np.ndarray, short: np.ndarray) -> int:
        """What suppression adds to the divergence at least, here and in all nodes below.

        It is the divergence of the classes' shares from those that the release gives them: that of
        the short ones, each by itself, and of all others together (log-sum inequality). At most so
        many records are spread over everything.
        """
        most = min(self.terms.most + node.untold, self.n)
        if not most or not short.any():
            return 0
        sizes, rest = node.sizes[short], 1.0 - float(node.sizes[short].sum()) / self.n
        found = self._scaled(np.log2(sizes / most) + self.whole - bits[short], sizes)
        if rest > 0:
            found += math.floor(rest * math.log2(rest) * self.n * self.unit)
        return max(found - self.rough, 0)

    def settled(self, node: Node, gone: np.ndarray) -> int:
        return self.known + int(self._spread(node, gone, np.zeros(1, dtype=np.int64))[0])

    def _spread(self, node: Node, gone: np.ndarray, more: np.ndarray) -> np.ndarray:
        """int64: what the classes cost if these are suppressed, and so many more records."""
        bits = self._bits(node)
        if node.hidden >= 0 and gone.any():
            gone = gone.copy()
            gone[node.hidden] = True  # published alike
        lost, kept = int(node.sizes[gone].sum()), ~gone
        out = np.empty(more.size, dtype=np.int64)
        share, thin = node.sizes[kept] / self.n, np.exp2(bits[kept] - self.whole)
        for i, extra in enumerate(more.tolist()):
            everywhere = (lost + extra) / self.n
            out[i] = self._scaled(bits[kept] - np.log2(share + everywhere * thin), node.sizes[kept])
            if lost:
                nothing = np.array([self.whole - math.log2(everywhere)])
                out[i] += self._scaled(nothing, np.array([lost]))
        return out

    def joins(self, node: Node, gone: np.ndarray, fitting: np.ndarray) -> int:
        # Who joins is spread over everything, and so are the others, the more thickly.
        gone = gone | ~node.own
        sizes, place = np.unique(node.sizes[fitting], return_inverse=True)
        total = self._spread(node, gone, sizes)[place.reshape(-1)]
        many = node.sizes[gone].sum() + node.sizes[fitting]
        bits, share = self._bits(node)[fitting], node.sizes[fitting] / self.n
        kept = bits - np.log2(share + many / self.n * np.exp2(bits - self.whole))
        nothing = self.whole - np.log2(many / self.n)
        change = np.rint((nothing - kept) * self.unit).astype(np.int64) * node.sizes[fitting]
        return int(fitting[np.lexsort((fitting, node.sizes[fitting], total + change))[0]])

    def published(self, value: int) -> float:
        return max(value / (self.unit * self.n), 0.0)


def _entropy(counts: np.ndarray, n: int) -> float:
    """Bits."""
    share = counts / n
    return float(-(share @ np.log2(share)))
