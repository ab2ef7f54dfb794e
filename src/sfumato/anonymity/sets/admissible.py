"""Admissible sets: the subsets of one person's items that at least k people have.

There may be more of them than anybody can list. One is drawn uniformly by walking down the tree of
decisions, each item told or not, with a chance in proportion to an upper bound of how many
admissible sets lie below; what the bounds of both sides leave of that above is refused, and the
walk begins again. Every admissible set is then reached with the same chance, 1 / the first bound,
whatever the bounds: they multiply out along the way, and a set itself has the bound 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import ParameterError

_TRIES = 20_000
_MOST_ITEMS = 1_000
"""2 to this power is still a number."""

Pick = Callable[[np.ndarray], "int | None"]
"""Draws a place by its weight."""


@dataclass(frozen=True, eq=False)
class Family:
    """The admissible sets of one person, by what the others have of the person's items."""

    has: np.ndarray
    """bool[others that differ, items]."""
    others: np.ndarray
    """How many people each row of `has` is."""
    k: int

    @classmethod
    def of(cls, has: np.ndarray, k: int) -> Family:
        """Of the other people's share in the person's items, each of which k - 1 others have."""
        if has.shape[1] > _MOST_ITEMS:
            raise ParameterError(
                f"a person with {has.shape[1]:,} items has more sets than can be counted",
                remedy='choice = "tree"',
            )
        some = np.packbits(has[has.any(axis=1)], axis=1)
        rows, others = np.unique(some, axis=0, return_counts=True)
        return cls(np.unpackbits(rows, axis=1, count=has.shape[1]).astype(bool), others, k)

    def drawn(self, pick: Pick) -> list[int]:
        """An admissible set, each with the same chance."""
        for _ in range(_TRIES):
            found = self.attempt(pick)
            if found is not None:
                return found
        raise ParameterError(
            f"no admissible set was met in {_TRIES:,} tries: there are few among many candidates",
            remedy='choice = "tree", or leave out items',
        )

    def attempt(self, pick: Pick) -> list[int] | None:
        """One walk down the tree: an admissible set, or None where it was refused."""
        group, open_ = np.arange(self.others.size), np.arange(self.has.shape[1])
        told: list[int] = []
        bound = self.bound(group, open_)
        while open_.size:
            item, rest = int(open_[0]), open_[1:]
            inside = group[self.has[group, item]]
            common = self.has[np.ix_(inside, rest)].T @ self.others[inside] >= self.k - 1
            sides = (inside, rest[common]), (group, rest)
            bounds = [self.bound(*side) for side in sides]
            side = pick(np.array([*bounds, max(bound - sum(bounds), 0.0)]))
            if side is None or side == len(sides):
                return None
            (group, open_), bound = sides[side], bounds[side]
            if side == 0:
                told.append(item)
        return told

    def bound(self, group: np.ndarray, open_: np.ndarray) -> float:
        """No fewer than the admissible sets that add some of the open items to those told.

        `group` are the others who have what was told. Besides adding nothing, a set is admissible
        where k - 1 of them have it: the subsets of what each of them has, counted together, hold it
        k - 1 times, and it is a subset of what somebody has who is not among the k - 2 who have
        most. Since k - 1 have every open item, each of these bounds is no less than the sum of
        those of both sides of an item, and so is the least of them.
        """
        others = self.others[group]
        sizes = self.has[np.ix_(group, open_)].sum(axis=1)
        order = np.argsort(-sizes, kind="stable")
        subsets, others = np.exp2(sizes[order].astype(np.float64)) - 1.0, others[order]
        before = np.cumsum(others) - others
        left = others - np.clip(self.k - 2 - before, 0, others)
        together = float(others @ subsets) / (self.k - 1)
        return min(2.0 ** int(open_.size), 1.0 + float(left @ subsets), 1.0 + together)
