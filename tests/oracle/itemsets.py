"""Sets and their combinations, counted the slow way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np


def support(sets: Sequence[Sequence[int]], items: Sequence[int]) -> int:
    """How many sets hold all the items."""
    return sum(set(items) <= set(one) for one in sets)


def rare(sets: Sequence[Sequence[int]], k: int, m: int) -> dict[tuple[int, ...], int]:
    """Every combination of at most m items that occurs in fewer than k sets, with that number."""
    everything = sorted({item for one in sets for item in one})
    found = {}
    for size in range(1, m + 1):
        for chosen in combinations(everything, size):
            count = support(sets, chosen)
            if 0 < count < k:
                found[chosen] = count
    return found


def rows(sets: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Compressed rows of sets that are sorted."""
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sets]))).astype(np.int64)
    return starts, np.array([item for one in sets for item in one], dtype=np.uint16)
