"""Who lives together: the column with the role household."""

from __future__ import annotations

import numpy as np

from ...errors import MeasureError
from ..codec import encode
from ..schema import Role
from ..table import Table


def households(table: Table, asking: str) -> np.ndarray:
    """int64: the household 0.. of each record; one without a household is one of its own.

    >>> from sfumato.data.table import table
    >>> households(table({"h": ["b", None, "b", None]}, household="h"), "it").tolist()
    [0, 1, 0, 2]
    """
    named = table.schema.of_role(Role.HOUSEHOLD)
    if len(named) != 1:
        which = f"{len(named)} ({', '.join(named)})" if named else "none"
        raise MeasureError(
            f"{asking} looks at one column with the role household; there is {which}",
            remedy='give the column that ties people together the role "household"',
        )
    labels = encode(table[named[0]]).codes.astype(np.int64)
    return apart(labels, (labels == 0) | table.suppressed(named[0]))


def apart(labels: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """Labels 0.., numbered anew, with one of its own for each record that is alone."""
    labels = np.where(alone, int(labels.max(initial=0)) + 1 + np.arange(labels.size), labels)
    return np.unique(labels, return_inverse=True)[1].reshape(-1)
