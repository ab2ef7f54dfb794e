"""The released records that lie nearest to people, by the columns that an intruder knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.neighbours.nearest_cells import Index, People, Released, index, nearest_cells
from .columns import Columns


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Looks for people among released records, all in one random order that breaks ties."""

    columns: Columns
    order: np.ndarray
    """a permutation of the released records"""

    @cached_property
    def _half(self) -> np.ndarray:
        """Half the range of each number, over people and release, which of the largest numbers is
        still one; 0.5 where there is none."""
        of = self.columns
        found = np.full(of.measured, 0.5)
        for j in range(of.measured):
            seen = np.concatenate((of.numbers[:, j], of.low[:, j], of.high[:, j]))
            seen = seen[np.isfinite(seen)]
            if seen.size and seen.max() > seen.min():
                found[j] = max(seen.max() / 2 - seen.min() / 2, np.finfo(float).tiny)
        return found

    def _scaled(self, numbers: np.ndarray) -> np.ndarray:
        """In units of each column's range."""
        return np.asarray(numbers / self._half / 2)

    @cached_property
    def index(self) -> Index:
        """The released records, ready to be searched."""
        of = self.columns
        codes = of.cells.copy()
        for c in range(len(of.bins)):
            codes[of.hidden(c), c] = -1
        # Only what has labels needs to know what they cover.
        tables = [
            of.covers(c).ravel() if b.labels else np.zeros(0, bool) for c, b in enumerate(of.bins)
        ]
        starts = np.cumsum([0] + [table.size for table in tables])[:-1]
        covers = np.concatenate([np.zeros(0, bool), *tables]).astype(np.uint8)
        low, high = self._scaled(of.low), self._scaled(of.high)
        counts = np.array(of.counts, dtype=np.int64)
        return index(
            Released(low, high, codes, counts, covers, starts.astype(np.int64)), self.order
        )

    @cached_property
    def _people(self) -> People:
        of = self.columns
        far = np.ones((len(of.numbers), of.measured + len(of.bins)))
        for j, exact in enumerate(of.exact):
            x = of.numbers[:, j] / self._half[j] / 2
            known = ~np.isnan(x)
            if exact.size:
                far[known, j] = _mean_distance(x[known], exact / self._half[j] / 2)
        for c, bins in enumerate(of.bins):
            exact = np.bincount(of.cells[:, c], minlength=bins.count)[: bins.count]
            if exact.sum():
                far[:, of.measured + c] = 1.0 - exact[of.codes[:, c]] / exact.sum()
        return People(self._scaled(of.numbers), of.codes, far)

    def nearest(self, k: int) -> np.ndarray:
        """int64 (people, k): the nearest records of those in the data, then of others."""
        return nearest_cells(self._people, self.index, k)[0]


def _mean_distance(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far each number is from the sorted values, on average."""
    at = np.searchsorted(values, x)
    below = np.concatenate(([0.0], np.cumsum(values)))
    found: np.ndarray = x * (2 * at - values.size) + below[-1] - 2 * below[at]
    return np.maximum(found / values.size, 0.0)
