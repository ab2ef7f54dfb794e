"""What the local search of local recoding keeps: groups as lists of records, and their costs.

Costs are those of kernels/joins/lub.py: `cost[g]` is what one record of group g costs at the
group's least upper bound, so that the whole search minimizes the sum of size times cost.

For the threads, groups are dealt out to parts (see `local_recoding`): a part changes nothing but
its own groups, their records, and its own stretch of free names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..joins.lub import Joins, States, cell_cost, join

Rows = NDArray[np.int32]


class Groups(NamedTuple):
    """Arrays that the compiled functions change in place; nothing but arrays, so that they can be
    borrowed."""

    states: States  # (u, d) of the distinct records
    distinct: Rows  # (n,) which distinct record each record is
    copy_at: Ints  # (u + 1,) where the copies of each distinct record start in `copy`
    copy: Rows  # (n,)
    near: Rows  # (u, t) cheap partners of each distinct record, cheapest first; -1: none
    label: Rows  # (n,) group of each record
    after: Rows  # (n,) next record of the same group; -1: the last
    first: Rows  # (g,) first record of each group
    size: Ints  # (g,) records; 0 where the name is free
    cost: Floats  # (g,)
    lub: States  # (g, d)
    part: Rows  # (g,) part that owns the name
    free: Rows  # (g,) each part's stretch begins with its free names
    free_at: Ints  # (p + 1,) where the stretches begin
    free_count: Ints  # (p,) free names of each
    active: Rows  # (n,) each part's stretch: records at which its steps begin
    active_at: Ints  # (p + 1,)


@njit(cache=True, nogil=True)
def group_costs(joins: Joins, groups: Groups) -> float:
    """Count every group's cost afresh from its records; the sum over all records."""
    d = groups.states.shape[1]
    total = 0.0
    bound = np.empty(d, np.int64)
    for g in range(groups.size.size):
        groups.cost[g] = 0.0
        if groups.size[g] == 0:
            continue
        i = groups.first[g]
        for j in range(d):
            bound[j] = groups.states[groups.distinct[i], j]
        i = groups.after[i]
        while i >= 0:
            t = groups.distinct[i]
            for j in range(d):
                bound[j] = join(joins, j, bound[j], groups.states[t, j])
            i = groups.after[i]
        for j in range(d):
            groups.cost[g] += cell_cost(joins, j, bound[j])
            groups.lub[g, j] = bound[j]
        total += groups.cost[g] * groups.size[g]
    return total
