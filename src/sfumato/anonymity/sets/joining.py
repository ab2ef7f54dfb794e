"""Groups that break a criterion on confidential values, joined with others until they keep it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...criteria.classes import Grouping
from ...data.partition import Partition
from ...errors import MethodError
from ...kernels.sets.joining import best_partners
from ...kernels.sets.rows import common_items
from ...progress import report
from ...protocols import Criterion

if TYPE_CHECKING:
    from ...data.table import Table
    from .base import Sets


def joined_until_kept(
    found: Partition, sets: Sets, table: Table, criteria: Sequence[Criterion]
) -> Partition:
    """The partition with every group that breaks a criterion joined with the one it fits best.

    It goes in rounds: joining may break what held, where a criterion is not monotone. One group of
    everybody is the last resort; where even that breaks a criterion, nothing can be done.
    """
    labels = found.labels.copy()
    while True:
        grouping = Grouping.of(table, labels)
        kept = np.logical_and.reduce([criterion.keeps(grouping) for criterion in criteria])
        broken = np.flatnonzero(~kept)
        groups = int(kept.size)
        report("joining groups", groups - broken.size, groups)
        if not broken.size:
            return Partition(labels, found.facts, found.warnings)
        if groups == 1:
            names = ", ".join(str(criterion.name) for criterion in criteria)
            raise MethodError(
                f"even all records together break {names}",
                remedy="loosen the limit, or leave rare confidential values out",
            )
        partition = Partition(labels)
        starts, items = common_items(sets.starts, sets.items, partition.order, partition.starts)
        partner = best_partners(starts, items, sets.utilities, partition.sizes, broken)
        labels = _merged(broken, partner, groups)[labels]


def _merged(broken: np.ndarray, partner: np.ndarray, groups: int) -> np.ndarray:
    """The new number of each group when every broken one goes to its partner's."""
    lead = np.arange(groups)
    for b, p in zip(broken.tolist(), partner.tolist(), strict=True):
        low, high = sorted((_root(lead, b), _root(lead, p)))
        lead[high] = low
    for g in range(groups):
        lead[g] = lead[lead[g]]  # a lead is never above its group: one pass from below is enough
    return np.unique(lead, return_inverse=True)[1].reshape(-1)


def _root(lead: np.ndarray, group: int) -> int:
    while lead[group] != group:
        group = int(lead[group])
    return group
