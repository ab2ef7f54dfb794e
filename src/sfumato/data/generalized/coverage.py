"""Which values of a column the labels of a release cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which values each label covers, by rank: 1..d, and 0 for missing, which only "*" covers and
    what says so.

    Either each label covers the ranks low..high (empty where low > high), or
    `members[starts[i]:starts[i + 1]]`, sorted. `unknown` counts values that only "*" covers because
    their hierarchy does not have them.
    """

    ranks: np.ndarray
    """int64: the rank of each value, in the order in which the values were given."""
    low: np.ndarray
    high: np.ndarray
    starts: np.ndarray | None = None
    members: np.ndarray | None = None
    unknown: int = 0

    def of(self, label: int) -> np.ndarray:
        """The ranks that a label covers."""
        if self.starts is None or self.members is None:
            return np.arange(self.low[label], self.high[label] + 1)
        return self.members[self.starts[label] : self.starts[label + 1]]

    def with_missing(self, labels: np.ndarray) -> Coverage:
        """The same, where these labels cover missing as well, which makes them no runs."""
        starts, members = self.starts, self.members
        if starts is None or members is None:
            counts = np.maximum(self.high - self.low + 1, 0)
            starts = np.concatenate(([0], np.cumsum(counts)))
            members = np.arange(starts[-1]) + np.repeat(self.low - starts[:-1], counts)
        members = np.insert(members, starts[:-1][labels], 0)
        starts = starts + np.concatenate(([0], np.cumsum(labels)))
        nothing = np.zeros(0, dtype=np.int64)
        return Coverage(self.ranks, nothing, nothing, starts, members, self.unknown)
