"""Relations that say something new, and totals in terms of the cells that span the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cells.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...kernels.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class Span:
    """Cells in terms of base cells: totals = sums @ base, and rest @ base = 0."""

    base: Ints
    totals: Ints
    sums: csr_array
    rest: csr_array


def independent(relations: Relations) -> tuple[Relations, Span | None]:
    """The relations without those that follow from the others.

    Each cell that is somewhere the total is expressed by the others once; a relation that then says
    nothing is dropped. (Hierarchical cubes have twice as many relations as are independent.) Also
    the totals in terms of the others, None where they go round in circles.
    """
    from scipy.sparse import csr_array, eye_array

    matrix = relations.matrix
    defined = np.zeros(relations.n, bool)
    defining: dict[int, int] = {}
    for row in range(len(relations)):
        at = slice(matrix.indptr[row], matrix.indptr[row + 1])
        totals = matrix.indices[at][matrix.data[at] == -1.0]
        if totals.size == 1 and not defined[totals[0]] and at.stop - at.start > 1:
            defined[totals[0]] = True
            defining[int(totals[0])] = row
    order = _bottom_up(matrix, defining)
    if order is None:
        return relations, None
    # Expand the totals level by level until only cells that are nowhere a total remain.
    rows = np.array([defining[cell] for cell in order], np.int64)
    identity = eye_array(relations.n, format="csr")
    step = matrix[rows] + csr_array(
        (np.ones(rows.size), (np.arange(rows.size), order)), shape=(rows.size, relations.n)
    )
    pick = identity.copy().tolil()
    pick[order, :] = step
    expand, once = pick.tocsr(), pick.tocsr()
    for _ in range(64):
        following = expand @ once
        if abs(following - expand).nnz == 0:
            break
        expand = following
    left = matrix @ expand
    says = np.zeros(len(relations), bool)
    entry_rows = np.repeat(np.arange(len(relations)), np.diff(left.indptr))
    says[entry_rows[np.abs(left.data) > 1e-9]] = True
    says[rows] = True
    # What is left between base cells may repeat itself, as marginal totals do.
    others = np.flatnonzero(says & ~np.isin(np.arange(len(relations)), rows))
    seen: set[bytes] = set()
    for row in others.tolist():
        one = left[[row]]
        one.sum_duplicates()
        one.sort_indices()
        real = np.abs(one.data) > 1e-9
        data = one.data[real]
        key = one.indices[real].tobytes() + np.round(data / data[0], 9).tobytes()
        if key in seen:
            says[row] = False
        seen.add(key)
    base = np.flatnonzero(~defined)
    kept = others[says[others]]
    span = Span(base, order, csr_array(expand[order][:, base]), csr_array(left[kept][:, base]))
    return _nonempty(relations, matrix, says), span


def _bottom_up(matrix: Any, defining: dict[int, int]) -> Ints | None:
    """The totals in an order in which addends come first; None where they go round in circles."""
    state = dict.fromkeys(defining, 0)
    order: list[int] = []
    for start in defining:
        stack = [start]
        while stack:
            cell = stack[-1]
            if state[cell] == 0:
                state[cell] = 1
                row = defining[cell]
                for below in matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist():
                    if below != cell and below in state:
                        if state[below] == 1:
                            return None
                        if state[below] == 0:
                            stack.append(below)
            else:
                stack.pop()
                if state[cell] == 1:
                    state[cell] = 2
                    order.append(cell)
    return np.array(order, np.int64)


def _nonempty(relations: Relations, matrix: Any, keep: Bools) -> Relations:
    rows = matrix[np.flatnonzero(keep)].tocoo()
    return Relations.of(
        rows.row.astype(np.int64), rows.col.astype(np.int64), rows.data, relations.n
    )


def totals_last(relations: Relations) -> Relations:
    """Relations turned so that a single total, where there is one, has the coefficient -1."""
    rows = relations.rows
    plus = np.bincount(rows[relations.coefs > 0], minlength=len(relations))
    minus = np.bincount(rows[relations.coefs < 0], minlength=len(relations))
    turned = (plus == 1) & (minus > 1)
    coefs = np.where(turned[rows], -relations.coefs, relations.coefs)
    return Relations(relations.starts, relations.cells, coefs, relations.n)
