"""Marginals of a release, as shares of the cells in which people lie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ..field import Coded

QUANTILES = 20
MOST_COLUMNS = 30
"""Columns up to which pairs of them are taken; of more, each by itself."""
_DENSE = 4_000_000


def marginals(columns: int) -> list[tuple[int, int]]:
    """Pairs of columns; (j, j) is column j by itself."""
    if 2 <= columns <= MOST_COLUMNS:
        return [(a, b) for a in range(columns) for b in range(a)]
    return [(j, j) for j in range(columns)]


def released_shares(coded: Coded, a: int, b: int) -> np.ndarray:
    """float64: the share of the release in each cell of two columns (bins of a, bins of b); of one,
    (bins, 1). Labels are spread by the release's own shares, the two columns independently."""
    own = coded.spread(a)
    if a == b:
        counts = np.bincount(coded.cells[:, a], minlength=own.shape[0])
        return np.asarray(own.T @ counts)[:, None] / max(len(coded.cells), 1)
    other = coded.spread(b)
    shape = own.shape[0], other.shape[0]
    joint = coded.cells[:, a].astype(np.int64) * shape[1] + coded.cells[:, b]
    if shape[0] * shape[1] <= _DENSE:
        found = np.bincount(joint, minlength=shape[0] * shape[1]).reshape(shape)
        spread = own.T @ found @ other
    else:
        cells, counts = np.unique(joint, return_counts=True)
        places = (cells // shape[1], cells % shape[1])
        spread = (own.T @ sparse.csr_matrix((counts, places), shape=shape) @ other).toarray()
    return np.asarray(spread, dtype=np.float64) / max(len(coded.cells), 1)


def shares_of(people: np.ndarray, shape: tuple[int, int], a: int, b: int) -> np.ndarray:
    """float64: the share of people in each cell of two columns, or of one."""
    return np.bincount(_cells(people, shape, a, b), minlength=shape[0] * shape[1]).reshape(
        shape
    ) / max(len(people), 1)


def at(shares: np.ndarray, people: np.ndarray, a: int, b: int) -> np.ndarray:
    """float64: the share of each person's cell."""
    found: np.ndarray = shares.ravel()[_cells(people, (shares.shape[0], shares.shape[1]), a, b)]
    return found


def _cells(people: np.ndarray, shape: tuple[int, int], a: int, b: int) -> np.ndarray:
    first = people[:, a].astype(np.int64)
    return first if a == b else first * shape[1] + people[:, b]


def summed(
    coded: Coded, people: np.ndarray, of: Callable[[np.ndarray, int, int], np.ndarray]
) -> np.ndarray:
    """float64: the sum over all marginals of what `of` says of the released shares, the cells of
    people looked up in it."""
    total = np.zeros(len(people))
    for a, b in marginals(len(coded.bins)):
        total += at(of(released_shares(coded, a, b), a, b), people, a, b)
    return total
