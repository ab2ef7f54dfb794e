"""The items that the groups of a release hold in a confidential column of sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.sets.table import SetTable
from ...data.table import Table


@dataclass(frozen=True, eq=False)
class HeldItems:
    """Groups and the items of a column of sets: only the pairs that occur."""

    name: str
    labels: np.ndarray
    """The group of each masked record, -1 for none."""
    known: np.ndarray
    """Records of each group whose set is known."""
    none: np.ndarray
    """Those of them whose set is empty."""
    group: np.ndarray
    """The group of each pair of group and item."""
    count: np.ndarray
    """Records of the group that hold the item."""
    holder: np.ndarray
    """The record of each item that is held in a group."""
    pair: np.ndarray
    """Its pair of group and item."""
    facts: dict[str, Any]

    @classmethod
    def of(cls, table: Table, name: str, labels: np.ndarray) -> HeldItems:
        """The pairs of a published column; `labels` says in which group each record is."""
        sets = SetTable.of(table, name)
        groups, width = int(labels.max()) + 1, max(len(sets.names), 1)
        holder = np.repeat(np.arange(len(sets)), sets.sizes)
        inside = labels[holder] >= 0
        holder = holder[inside]
        key = labels[holder] * width + sets.items[inside]
        found, pair, count = np.unique(key, return_inverse=True, return_counts=True)
        grouped = labels >= 0
        present = ~sets.missing & grouped
        facts: dict[str, Any] = {
            "confidential": [name],
            "items": len(sets.names),
            "groups": groups,
            "records": int(grouped.sum()),
        }
        if present.sum() < grouped.sum():
            facts["missing"] = "a missing set tells nothing"
        if not grouped.all():
            facts["suppressed records left out"] = int((~grouped).sum())
        return cls(
            name,
            labels,
            known=np.bincount(labels[present], minlength=groups),
            none=np.bincount(labels[present & (sets.sizes == 0)], minlength=groups),
            group=found // width,
            count=count,
            holder=holder,
            pair=pair.reshape(-1),
            facts=facts,
        )
