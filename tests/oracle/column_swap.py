"""Column swapping as plainly as can be."""

from __future__ import annotations

from collections import Counter

import numpy as np


def correlations(x: np.ndarray) -> np.ndarray:
    """Of every two columns, as numpy has them; zero on the diagonal."""
    return np.corrcoef(x, rowvar=False).reshape(x.shape[1], x.shape[1]) - np.eye(x.shape[1])


def excess(x: np.ndarray, column: int, bound: float) -> float:
    """The squares of what the correlations of one column exceed the bound by."""
    return float((np.maximum(np.abs(correlations(x)[column]) - bound, 0.0) ** 2).sum())


def best_swap(x: np.ndarray, column: int, bound: float) -> float:
    """The least excess that is reached by a swap of any two rows in that column."""
    found = np.inf
    for a in range(len(x)):
        for b in range(a):
            y = x.copy()
            y[a, column], y[b, column] = x[b, column], x[a, column]
            found = min(found, excess(y, column, bound))
    return found


def sources(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """For each cell of `after`, the row of `before` that its value came from (no ties)."""
    found = np.empty(before.shape, dtype=np.int64)
    for j in range(before.shape[1]):
        at = {value: i for i, value in enumerate(before[:, j].tolist())}
        found[:, j] = [at[value] for value in after[:, j].tolist()]
    return found


def reproduced(
    unique_of: list[tuple[object, ...]], release: list[tuple[object, ...]]
) -> np.ndarray:
    """For each record that occurs once in the first list, whether the release has it."""
    has, times = set(release), Counter(unique_of)
    return np.array([one in has for one in times if times[one] == 1])
