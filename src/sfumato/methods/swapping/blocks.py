"""What swapping inside groups shares: which cells take part, and groups that agree on all of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.codec import encode
from ...data.table import Table
from ...kernels.suppression.matches import class_labels


def absent(table: Table, name: str) -> np.ndarray:
    """Which cells of a column stay where they are: missing and suppressed ones."""
    found: np.ndarray = table[name].is_null().to_numpy() | table.suppressed(name)
    return found


def agreeing(table: Table, names: Sequence[str]) -> np.ndarray:
    """A label for each record, shared by those that are equal in all these columns.

    Missing is a value of its own.
    """
    return joined([encode(table[name]).codes for name in names], table.height)


def alike_in_gaps(labels: np.ndarray, table: Table, names: Sequence[str]) -> np.ndarray:
    """The groups, split so that the records of each miss the same of these columns.

    Where whole rows change places a missing value then stays where it was. Records without a group
    (-1) stay without.
    """
    gaps = [mask for name in names if (mask := absent(table, name)).any()]
    if not gaps:
        return labels
    outside = labels < 0
    found = joined([np.where(outside, 0, labels), *gaps], labels.size)
    return np.where(outside, -1, found)


def joined(parts: Sequence[np.ndarray], n: int) -> np.ndarray:
    """A label 0.. for each of n records, shared by those that are equal in all parts."""
    if not parts or not n:
        return np.zeros(n, dtype=np.int64)
    return class_labels(np.column_stack([part.astype(np.int64) for part in parts]))
