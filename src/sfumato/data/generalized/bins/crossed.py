"""The table of two columns in bins, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .bins import Bins

_DENSE = 2**19
"""Cells of a table that is counted as an array, not as a list of the cells that occur."""


def crossed(a: Bins, b: Bins) -> tuple[Any, Any]:
    """The shares of the cells of two columns in the original and in the release; of large tables
    sparse matrices."""
    own = _counted(a.before, b.before, (a.count, b.count)) / a.before.size
    found = _counted(a.after, b.after, (a.count + a.labels, b.count + b.labels)) / a.after.size
    if a.labels:
        found = a.folded @ found
    if b.labels:
        found = (b.folded @ found.T).T
    if sparse.issparse(own) != sparse.issparse(found):
        own, found = sparse.csr_matrix(own), sparse.csr_matrix(found)
    return own, found


def total_variation(a: Bins, b: Bins) -> float:
    """Half the sum of the differences of the shares of two columns' cells."""
    return apart(*crossed(a, b))


def apart(own: Any, found: Any) -> float:
    """The same of shares that were counted."""
    return float(min(abs(own - found).sum() / 2.0, 1.0))


def _counted(x: np.ndarray, y: np.ndarray, shape: tuple[int, int]) -> Any:
    """How many records have each pair of places: an array, or where that is large, its cells that
    occur."""
    if shape[0] * shape[1] > _DENSE:
        return sparse.csr_matrix((np.ones(x.size), (x, y)), shape=shape)
    both = x.astype(np.int64) * shape[1] + y
    return np.bincount(both, minlength=shape[0] * shape[1]).reshape(shape)
