"""The system an attacker has to solve, made as small as it gets, once for all cells.

Everything is said in moves: how far each cell is from one table that is possible (the true one,
where it is known). What is published does not move, so it drops out, and so does every number that
is large only because the cells are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ...kernels.arrays import Floats, Ints
from ...kernels.interpreted import suited
from ...kernels.tables.moves import propagate, roots, tie
from ..cells.relations import Relations

ROUNDS = 20
"""Rounds of bound propagation; more of them narrow little and never change the answer."""


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves that are left: cell i moves by factor[i] * move[of[i]], where of[i] is its class.

    Cells with of[i] = -1 cannot move: they are published, or follow from what is.
    """

    of: Ints
    factor: Floats
    matrix: csr_array
    """Relations between the classes: matrix @ moves = 0."""
    low: Floats
    """The bounds of each class, as the publication states them; 0 lies between."""
    high: Floats
    outer_low: Floats
    """Bounds that follow from the relations one by one: no move goes further."""
    outer_high: Floats
    component: Ints
    """The component of each class; classes in different ones move independently."""
    row_component: Ints

    @cached_property
    def blocks(self) -> list[tuple[Ints, Ints]]:
        """The relations and the classes of each component."""
        count = int(self.component.max(initial=-1)) + 1
        columns = np.argsort(self.component, kind="stable")
        rows = np.argsort(self.row_component, kind="stable")
        at = np.searchsorted(self.component[columns], np.arange(count + 1))
        down = np.searchsorted(self.row_component[rows], np.arange(count + 1))
        return [(rows[down[k] : down[k + 1]], columns[at[k] : at[k + 1]]) for k in range(count)]


def moves(relations: Relations, low: Floats, high: Floats) -> Moves:
    """The moves that keep the relations and these bounds (low <= 0 <= high)."""
    n = relations.n
    parent, factor = np.arange(n, dtype=np.int64), np.ones(n)
    still = (low >= 0) & (high <= 0)
    matrix = relations.matrix
    # Relations among published cells are most of a large table: away with them at the outset.
    matrix = _live(matrix, still)
    bound_low, bound_high = low.astype(np.float64), high.astype(np.float64)
    while True:
        sizes = np.diff(matrix.indptr)
        entry = matrix.indptr[:-1]
        alone = matrix.indices[entry[sizes == 1]]
        pairs = entry[sizes == 2]
        if not alone.size and not pairs.size:
            break
        still[alone] = True
        suited(tie, pairs.size)(
            matrix.indices[pairs].astype(np.int64),
            matrix.indices[pairs + 1].astype(np.int64),
            -matrix.data[pairs + 1] / matrix.data[pairs],
            parent,
            factor,
            still,
        )
        root, times = suited(roots, n)(parent, factor)
        still = still | still[root]
        folded = csr_array((times, (np.arange(n), root)), shape=(n, n))
        matrix = _live(matrix[sizes > 2] @ folded, still)
    root, times = suited(roots, n)(parent, factor)
    still = still[root]
    # A class goes as far as the narrowest of its cells.
    a, b = bound_low / times, bound_high / times
    bound_low, bound_high = np.full(n, -np.inf), np.full(n, np.inf)
    np.maximum.at(bound_low, root, np.minimum(a, b))
    np.minimum.at(bound_high, root, np.maximum(a, b))
    still |= ((bound_low >= 0) & (bound_high <= 0))[root]
    matrix = _distinct(_live(matrix, still))
    outer_low, outer_high = bound_low.copy(), bound_high.copy()
    suited(propagate, matrix.nnz * ROUNDS)(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data,
        outer_low,
        outer_high,
        ROUNDS,
    )
    kept = np.flatnonzero((root == np.arange(n)) & ~still)
    number = np.full(n, -1, np.int64)
    number[kept] = np.arange(kept.size)
    matrix = csr_array(matrix[:, kept])
    rows, columns = matrix.shape
    joint = csr_array(
        (
            np.ones(matrix.nnz, np.int8),
            (np.repeat(np.arange(rows), np.diff(matrix.indptr)), rows + matrix.indices),
        ),
        shape=(rows + columns, rows + columns),
    )
    _, label = connected_components(joint, directed=False)
    # Numbered by their first class, which does not depend on scipy's order.
    first = np.unique(label[rows:], return_index=True)
    rank = np.full(int(label.max(initial=-1)) + 1, -1, np.int64)
    rank[first[0][np.argsort(first[1])]] = np.arange(first[0].size)
    return Moves(
        of=np.where(still, -1, number[root]),
        factor=times,
        matrix=matrix,
        low=bound_low[kept],
        high=bound_high[kept],
        outer_low=outer_low[kept],
        outer_high=outer_high[kept],
        component=rank[label[rows:]],
        row_component=rank[label[:rows]],
    )


def _live(matrix: csr_array, still: np.ndarray) -> csr_array:
    """The same without what cannot move, and without empty relations."""
    found = csr_array(matrix)
    size = np.abs(found.data)
    keep = ~still[found.indices] & (size > 0)
    # Entries that cancelled leave rounding behind where coefficients are not whole.
    largest = np.zeros(found.shape[0])
    row = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    np.maximum.at(largest, row, size)
    keep &= size > 1e-12 * largest[row]
    counts = np.bincount(row[keep], minlength=found.shape[0])
    starts = np.concatenate(([0], np.cumsum(counts[counts > 0])))
    return csr_array(
        (found.data[keep], found.indices[keep], starts),
        shape=(starts.size - 1, found.shape[1]),
    )


def _distinct(matrix: csr_array) -> csr_array:
    """The same without relations that repeat another one, up to a factor."""
    matrix.sort_indices()
    seen: set[bytes] = set()
    keep = np.zeros(matrix.shape[0], bool)
    for r in range(matrix.shape[0]):
        part = slice(matrix.indptr[r], matrix.indptr[r + 1])
        scaled = np.round(matrix.data[part] / matrix.data[part.start], 12)
        key = matrix.indices[part].tobytes() + (scaled + 0.0).tobytes()
        keep[r] = key not in seen
        seen.add(key)
    return csr_array(matrix[keep])
