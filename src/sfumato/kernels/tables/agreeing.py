"""The most probable values of hidden cells that agree with published counts.

Records that look alike are one group, and its candidates are the values that its hidden cells may
have together. How many of a group have each candidate are the whole numbers sought: the likeliest
ones of which the counts, cell by cell of the published tables, are the published ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..arrays import Floats, Ints

NODES = 200
"""Nodes that the search may open: steps, not seconds, so that the result is the same anywhere."""
_GAP = 1e-3


class Table(NamedTuple):
    """A published table, as far as groups can fill it."""

    cell: Ints
    """the cell of each candidate, -1 where it has none"""
    left: Floats
    """what other records leave of each cell's count"""


def agreeing(
    sizes: Ints, group: Ints, chance: Floats, tables: Sequence[Table], seconds: float | None = None
) -> Floats | None:
    """How many of its group have each candidate; None where that was not found in time.

    `group` is that of each candidate, `chance` (above 0) how probable it is. A cell may stay below
    its count, as where people of the tables are not in the release, and goes above it only if there
    is no other way.

    >>> agreeing(np.array([2]), np.array([0, 0]), np.array([0.9, 0.1]),
    ...          [Table(np.array([0, 1]), np.array([0.0, 2.0]))]).tolist()
    [0.0, 2.0]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count, groups = group.size, sizes.size
    blocks = [sparse.csr_matrix((np.ones(count), (group, np.arange(count))), (groups, count))]
    low, high = [sizes.astype(np.float64)], [sizes.astype(np.float64)]
    for table in tables:
        at = np.flatnonzero(table.cell >= 0)
        shape = (table.left.size, count)
        blocks.append(sparse.csr_matrix((np.ones(at.size), (table.cell[at], at)), shape))
        low.append(np.full(table.left.size, -np.inf))
        high.append(table.left)
    cells = sum(table.left.size for table in tables)
    beyond = sparse.vstack((sparse.csr_matrix((groups, cells)), -sparse.identity(cells)))
    cost = -np.log(chance)
    # Dearer than changing the values of all records.
    dear = 1.0 + float(sizes.sum() * np.ptp(cost))
    found = milp(
        np.concatenate((cost, np.full(cells, dear))),
        constraints=LinearConstraint(
            sparse.hstack((sparse.vstack(blocks), beyond), format="csr"),
            np.concatenate(low),
            np.concatenate(high),
        ),
        integrality=np.concatenate((np.ones(count), np.zeros(cells))),
        bounds=Bounds(0.0, np.inf),
        options={"node_limit": NODES, "mip_rel_gap": _GAP}
        | ({} if seconds is None else {"time_limit": max(seconds, 1.0)}),
    )
    return None if found.x is None else np.round(found.x[:count])
