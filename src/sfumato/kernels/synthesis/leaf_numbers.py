"""Numbers drawn from the leaves of a tree: near those of its records, but nobody's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .trees import Ints, Tree

Floats = NDArray[np.float64]


_WIDE = 40
"""A number is drawn within one in so many of its leaf's numbers, below and above it."""


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
    """What is drawn for the numbers of a tree's records, by leaf and size.

    A value that `common` records of the column have is drawn as it is. Any other gives a number
    anywhere between the values that lie `rare` places (of many, a fortieth of them) below and above
    it among those of its leaf, so that nobody's own shows; at either end of the leaf no farther out
    than its `rare` outermost records are on average, twice, in which none counts for more than all
    that lie less far out. In a leaf with fewer than twice so many of them they are not drawn, but
    the common values there; in one that has none of these either, the places are counted in the
    whole column.
    """

    low: Floats
    high: Floats

    @staticmethod
    def of(tree: Tree, numbers: Floats, rare: int, common: int) -> LeafNumbers:
        """The numbers of the records that the tree was grown of."""
        first = tree.first().astype(np.int64)
        values = numbers[tree.rows]
        values = values[np.lexsort((values, first))]
        _, place, held = np.unique(values, return_inverse=True, return_counts=True)
        shared = held[place] >= common
        low, high = values.copy(), values.copy()
        own = np.flatnonzero(~shared)
        many = np.bincount(first[own], minlength=values.size + 1)[first]
        others = np.bincount(first[shared], minlength=values.size + 1)[first]
        enough = own[many[own] >= 2 * rare]
        low[enough], high[enough] = _between(values[enough], first[enough], rare)
        few = own[(many[own] < 2 * rare) & (others[own] > 0)]
        _take_common(low, high, few, np.flatnonzero(shared), first)
        left = own[(many[own] < 2 * rare) & (others[own] == 0)]
        if left.size:
            rising = own[np.argsort(values[own], kind="stable")]
            at = max(min(rare, own.size // 2), 1)
            ends = _between(values[rising], np.zeros(own.size, dtype=np.int64), at)
            back = np.empty(values.size, dtype=np.int64)
            back[rising] = np.arange(own.size)
            low[left], high[left] = ends[0][back[left]], ends[1][back[left]]
        return LeafNumbers(low, high)

    def drawn(self, at: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """A number for each place among the records."""
        u = rng.random(at.size)
        found: Floats = self.low[at] * (1.0 - u) + self.high[at] * u
        return found


def _between(values: Floats, group: NDArray[np.integer], rare: int) -> tuple[Floats, Floats]:
    """What rising values of groups are drawn between; every group has at least `rare`."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    if not starts.size:
        return values, values
    stops = np.append(starts[1:], values.size)
    which = np.repeat(np.arange(starts.size), stops - starts)
    at = np.arange(values.size)
    far = np.maximum(rare, (stops - starts) // _WIDE)[which]
    low = values[np.maximum(at - far, starts[which])]
    high = values[np.minimum(at + far, stops[which] - 1)]
    inner, outer = starts + rare - 1, stops - rare
    bottom = _end(values[inner], [values[inner] - values[inner - j] for j in range(rare)], -1.0)
    top = _end(values[outer], [values[outer + j] - values[outer] for j in range(rare)], 1.0)
    return np.maximum(low, bottom[which]), np.minimum(high, top[which])


def _end(inner: Floats, excess: Sequence[Floats], sign: float) -> Floats:
    """Where values end: beyond the innermost by twice the mean of what lies beyond it."""
    total = np.zeros(inner.size)
    for place, one in enumerate(excess):
        # Who lies far out alone would be told by a mean that is nearly all theirs.
        total += one if place < 2 else np.minimum(one, total)
    return np.asarray(inner + sign * 2.0 * total / max(len(excess), 1))


def _take_common(
    low: Floats,
    high: Floats,
    few: NDArray[np.integer],
    common: NDArray[np.integer],
    first: NDArray[np.integer],
) -> None:
    """Have records draw the common values of their leaf, one after the other."""
    if not few.size:
        return
    begin = np.searchsorted(first[common], first[few], side="left")
    end = np.searchsorted(first[common], first[few], side="right")
    rank = np.arange(few.size) - np.searchsorted(first[few], first[few], side="left")
    # In steps that meet all of them before any is met twice.
    size = end - begin
    step = np.maximum((size * 0.6180339887498949).astype(np.int64), 1)
    low[few] = high[few] = low[common[begin + rank * step % size]]


def places(tree: Tree, leaf: Ints, u: Floats) -> NDArray[np.int64]:
    """For each drawn record the place in `rows` of its donor: the point u of its leaf."""
    start, stop = tree.start[leaf].astype(np.int64), tree.stop[leaf].astype(np.int64)
    return np.minimum(start + (u * (stop - start)).astype(np.int64), stop - 1)
