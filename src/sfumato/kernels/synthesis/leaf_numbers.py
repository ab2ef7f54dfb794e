"""Numbers drawn from the leaves of a tree: near those of its records, but nobody's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .trees import Ints, Tree

Floats = NDArray[np.float64]


def quantile_edges(values: Floats, bins: int) -> Floats:
    """Where to cut numbers into at most so many bins: at each of few values, else at quantiles.

    >>> quantile_edges(np.array([3.0, 1.0, 1.0, 2.0]), 8).tolist()
    [2.0, 3.0]
    """
    distinct = np.unique(values)
    if distinct.size <= bins:
        return np.asarray(distinct[1:])
    arranged = np.sort(values)
    return np.unique(arranged[np.arange(1, bins) * values.size // bins])


def middle_ranks(classes: NDArray[np.integer], count: int) -> Floats:
    """The share of records below each class, with half of its own.

    >>> middle_ranks(np.array([0, 0, 1, 2]), 3).tolist()
    [0.25, 0.625, 0.875]
    """
    held = np.bincount(classes, minlength=count)
    found: Floats = (np.cumsum(held) - held / 2) / max(held.sum(), 1)
    return found


@dataclass(frozen=True, eq=False)
class LeafNumbers:
    """The numbers of a tree's records, by leaf and size.

    A value that `rare` records or more have is drawn as it is. Any other gives a number anywhere
    between its neighbours, the next smaller and the next larger one of the leaf, or of the column
    where the leaf has none. The values beyond the `rare` outermost records at either end of the
    column give a number between the innermost and as far beyond these records' mean, not beyond
    the column's end, and none of them counts in it for more than all that lie less far out.
    """

    values: Floats
    """By leaf, rising in each."""
    low: Floats
    high: Floats
    """What each is drawn between."""

    @staticmethod
    def of(tree: Tree, numbers: Floats, rare: int) -> LeafNumbers:
        """The numbers of the records that the tree was grown of."""
        first = tree.first()
        values = numbers[tree.rows]
        values = values[np.lexsort((values, first))]
        n = values.size
        distinct, place, held = np.unique(values, return_inverse=True, return_counts=True)
        new = np.ones(n + 1, dtype=bool)
        new[1:n] = (values[1:] != values[:-1]) | (first[1:] != first[:-1])
        starts = np.flatnonzero(new)
        run = np.cumsum(new[:n]) - 1
        below, above = starts[run] - 1, starts[run + 1]
        inside = (below >= 0) & (first[below] == first)
        low = np.where(inside, values[below], distinct[np.maximum(place - 1, 0)])
        beside = np.minimum(above, n - 1)
        inside = (above < n) & (first[beside] == first)
        high = np.where(inside, values[beside], distinct[np.minimum(place + 1, distinct.size - 1)])
        common = held[place] >= rare
        low[common] = high[common] = values[common]
        _pool_ends(values, low, high, np.repeat(distinct, held), rare)
        return LeafNumbers(values, low, high)

    def drawn(self, at: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """A number for each place among `values`."""
        u = rng.random(at.size)
        found: Floats = self.low[at] * (1.0 - u) + self.high[at] * u
        return found


def _pool_ends(values: Floats, low: Floats, high: Floats, arranged: Floats, rare: int) -> None:
    """Give the outermost records one interval in common, at either end."""
    few = min(rare, arranged.size)
    inner = arranged[-few]
    upper = inner + 2.0 * undominated(arranged[-few:] - inner) / few
    outside = values > inner
    low[outside], high[outside] = inner, min(upper, arranged[-1])
    inner = arranged[few - 1]
    lower = inner - 2.0 * undominated(inner - arranged[:few][::-1]) / few
    outside = values < inner
    low[outside], high[outside] = max(lower, arranged[0]), inner


def undominated(excess: Floats) -> float:
    """The sum of these, in rising order, of which none counts for more than all before it: who lies
    far out alone would be told by a sum that is nearly all theirs.

    >>> undominated(np.array([0.0, 1.0, 2.0, 9.0])), undominated(np.array([0.0, 2.0, 2.0, 3.0]))
    (4.0, 7.0)
    """
    total = 0.0
    for place, one in enumerate(excess):
        total += float(one if place < 2 else min(one, total))
    return total


def places(tree: Tree, leaf: Ints, u: Floats) -> NDArray[np.int64]:
    """For each drawn record the place in `rows` of its donor: the point u of its leaf."""
    start, stop = tree.start[leaf].astype(np.int64), tree.stop[leaf].astype(np.int64)
    return np.minimum(start + (u * (stop - start)).astype(np.int64), stop - 1)
