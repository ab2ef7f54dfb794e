"""Lists of different lengths, one after the other: where each starts, and what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.arrays import Ints


def starts_of(sizes: Any) -> Ints:
    """Where lists of these sizes start, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def by_group(group: Ints, count: int) -> tuple[Ints, Ints]:
    """The members of each group in their order: starts, members. A negative group is none."""
    order = np.argsort(group, kind="stable")
    order = order[np.searchsorted(group[order], 0) :]
    return np.searchsorted(group[order], np.arange(count + 1)).astype(np.int64), order


def entries_of(starts: Ints, which: Ints) -> tuple[Ints, Ints]:
    """Some of the lists: their starts, and the places of their entries."""
    sizes = starts[which + 1] - starts[which]
    ends = starts_of(sizes)
    return ends, np.arange(ends[-1]) + np.repeat(starts[which] - ends[:-1], sizes)
