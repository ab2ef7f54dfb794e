"""Posets by brute force: every label is the plain set of the values that it may stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, product


class Sets:
    """Value sets and whole-number intervals: order is inclusion, bounds are found by search."""

    def __init__(self, universe: Iterable[frozenset[object]]) -> None:
        self.universe = list(universe)

    def lub(self, given: Iterable[frozenset[object]]) -> frozenset[object]:
        """The one upper bound in the universe that is below every other."""
        listed = list(given)
        upper = [u for u in self.universe if all(s <= u for s in listed)]
        (least,) = [u for u in upper if all(u <= other for other in upper)]
        return least


class Tree:
    """A hierarchy as nothing but its rows."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self.rows = [list(row) for row in rows]
        for row in self.rows:
            self._finish(row)
        self.labels = list(dict.fromkeys(label for row in self.rows for label in row))
        groups = {b for row in self.rows for a, b in pairwise(row) if a != b}
        self.leaves = [v for v in dict.fromkeys(row[0] for row in self.rows) if v not in groups]

    def _finish(self, row: list[str]) -> None:
        """A row that stops early goes on as other rows do after its last label."""
        for other in self.rows:
            if row[-1] in other and other[-1] != row[-1]:
                at = len(other) - 1 - other[::-1].index(row[-1])
                row.append(other[at + 1])
                self._finish(row)
                return

    def below(self, label: str) -> set[str]:
        """The leaves under a label."""
        return {row[0] for row in self.rows if label in row and row[0] in self.leaves}

    def leq(self, lower: str, upper: str) -> bool:
        """Whether `upper` is met on the way up from `lower`, in some row."""
        return any(lower in row and upper in row[row.index(lower) :] for row in self.rows)

    def lub(self, labels: Iterable[str]) -> str:
        """The upper bound that is below every other."""
        listed = list(labels)
        upper = [u for u in self.labels if all(self.leq(label, u) for label in listed)]
        (least,) = [u for u in upper if all(self.leq(u, other) for other in upper)]
        return least

    def measure(self, label: str) -> float:
        """Leaves below the label, less one, in those of the tree, less one (loss metric, NCP)."""
        return (len(self.below(label)) - 1) / (len(self.leaves) - 1)

    def at_level(self, leaf: str, level: int) -> str:
        """What stands in that column of the leaf's row."""
        row = next(row for row in self.rows if row[0] == leaf)
        return row[level]


def lightest_cut(counts: Sequence[int], groups: int) -> int:
    """Smallest possible weight of the heaviest group when items are cut into runs of neighbours."""
    if groups == 1:
        return sum(counts)
    best = sum(counts)
    for first in range(1, len(counts) - groups + 2):
        rest = lightest_cut(counts[first:], groups - 1)
        best = min(best, max(sum(counts[:first]), rest))
    return best


def lightest_split(counts: Sequence[int], groups: int) -> int:
    """Smallest possible weight of the heaviest group when any items may go together."""
    best = sum(counts)
    for choice in product(range(groups), repeat=len(counts)):
        if len(set(choice)) == groups:
            loads = [0] * groups
            for item, group in enumerate(choice):
                loads[group] += counts[item]
            best = min(best, max(loads))
    return best


def nested(levels: Sequence[Sequence[str]]) -> bool:
    """Whether whoever shares a label at one level shares a label at the next."""
    return all(
        len({upper for low, upper in zip(fine, coarse, strict=True) if low == label}) == 1
        for fine, coarse in pairwise(levels)
        for label in fine
    )
