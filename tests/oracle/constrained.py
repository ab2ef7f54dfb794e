"""Cutting top down under criteria, as plainly as it can be said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.data.partition import Partition
from sfumato.data.table import Table


def top_down(table: Table, k: int, keeps: Callable[[np.ndarray], bool]) -> Partition:
    """Cut a node at the median of its widest column, else of the next, if both sides have k records
    and the table so cut keeps the criteria."""
    x = np.column_stack([table[name].to_numpy() for name in table.schema.quasi]).astype(float)
    width = np.maximum(np.ptp(x, axis=0), 1e-300)
    labels = np.zeros(len(x), np.int64)
    waiting, groups = [0], 1
    while waiting:
        node = waiting.pop()
        rows = np.flatnonzero(labels == node)
        for j in np.argsort(-np.ptp(x[rows], axis=0) / width, kind="stable"):
            upper = rows[x[rows, j] > np.median(x[rows, j])]
            if upper.size < k or rows.size - upper.size < k:
                continue
            labels[upper] = groups
            if keeps(labels):
                waiting += [node, groups]
                groups += 1
                break
            labels[upper] = node
    return Partition.of(labels)
