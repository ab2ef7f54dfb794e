"""What tables with totals leave of hidden cells: every filling with whole numbers is tried."""

from __future__ import annotations

import itertools

import numpy as np


def fillings(totals: np.ndarray, low: np.ndarray, high: np.ndarray, most: int) -> np.ndarray:
    """(fillings, cells): all between the bounds whose first cells are 0..most and whose others are
    sums of these, as the rows of `totals` (0 and 1) say."""
    inner = np.array(list(itertools.product(range(most + 1), repeat=totals.shape[1])))
    cells = np.concatenate((inner, inner @ totals.T), axis=1)
    found: np.ndarray = cells[((cells >= low) & (cells <= high)).all(axis=1)]
    return found
