"""Conditions on a set-valued column: who holds all of some items, in both tables."""

from __future__ import annotations

from functools import reduce

import numpy as np
import polars as pl

from ...data.pair import Pair
from ...data.sets.item_places import places
from ...data.sets.table import SetTable


class SetConditions:
    """One column of sets of some records of both tables."""

    def __init__(self, pair: Pair, name: str, rows: np.ndarray, others: np.ndarray) -> None:
        self.before = SetTable.from_column(_some(pair.original[name], rows))
        after = SetTable.from_column(_some(pair.masked[name], others))
        d = len(self.before.names)
        self._holders = _holders(self.before, np.arange(d), d)
        self._shown = _holders(after, places(self.before.names, after.names), d)
        self._filled = np.flatnonzero(self.before.sizes > 0)
        self._published = len(after)
        share = np.array([h.size for h in self._holders]) / max(len(self.before), 1)
        shown = np.array([h.size for h in self._shown]) / max(len(after), 1)
        # Of those who do not show the item, so many have it.
        self._left = np.clip((share - shown) / np.where(shown < 1, 1 - shown, 1.0), 0.0, 1.0)

    @property
    def empty(self) -> bool:
        """Whether no set holds anything to ask about."""
        return not self._filled.size

    def draw(self, most: int, rng: np.random.Generator) -> np.ndarray:
        """One to `most` items that some record holds together, the frequent ones more often."""
        items = self.before[int(rng.choice(self._filled))]
        size = int(rng.integers(1, min(most, items.size) + 1))
        return np.asarray(rng.choice(items, size, replace=False), dtype=np.int64)

    def truth(self, items: np.ndarray) -> np.ndarray:
        """Which original records hold all of the items, 0 or 1."""
        return _marks(self._holders, items, len(self.before))

    def answer(self, items: np.ndarray) -> np.ndarray:
        """Which masked records show all of the items, 0 or 1."""
        return _marks(self._shown, items, self._published)

    def spread(self, items: np.ndarray) -> np.ndarray:
        """How likely each masked record holds all of the items, for who knows how frequent each is
        in the original: one that is not shown is as likely as it must have been left out, each
        independently."""
        found = np.ones(self._published)
        for item in items.tolist():
            chance = np.full(self._published, self._left[item])
            chance[self._shown[item]] = 1.0
            found *= chance
        return found


def _some(series: pl.Series, rows: np.ndarray) -> pl.Series:
    return series if rows.size == len(series) else series.gather(rows)


def _holders(sets: SetTable, place: np.ndarray, d: int) -> list[np.ndarray]:
    """The records that hold each of the original's items."""
    item = place[sets.items]
    record = np.repeat(np.arange(len(sets)), sets.sizes)
    order = np.argsort(item, kind="stable")
    ends = np.searchsorted(item[order], np.arange(d + 1))
    return np.split(record[order], ends)[1:-1]


def _marks(holders: list[np.ndarray], items: np.ndarray, n: int) -> np.ndarray:
    lists = [holders[item] for item in items.tolist()]
    both = reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), lists)
    found = np.zeros(n)
    found[both] = 1.0
    return found
