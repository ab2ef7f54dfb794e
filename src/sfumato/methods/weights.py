"""The weights that records carry from a survey."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..data.schema import Role
from ..data.table import Table
from ..errors import MethodError


def weights_of(table: Table, asking: str) -> np.ndarray:
    """The records' weights: one column of that role, every weight positive.

    >>> from ..data.table import table
    >>> weights_of(table({"x": [1, 2], "w": [2.5, 4]}, weight="w"), "a method").tolist()
    [2.5, 4.0]
    """
    names = table.schema.of_role(Role.WEIGHT)
    if len(names) != 1:
        raise MethodError(
            f"{asking} needs one weight column, and the table has {len(names)}",
            remedy='give one column the role "weight", or leave the weights out',
        )
    series = table[names[0]]
    if not series.dtype.is_numeric():
        raise MethodError(
            f"the weight column {names[0]!r} does not hold numbers", remedy="mend the weights"
        )
    found = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    bad = ~(np.isfinite(found) & (found > 0))
    if bad.any():
        raise MethodError(
            f"the weight column {names[0]!r} has no positive number in row {int(bad.argmax()) + 1}",
            remedy="give every record a positive weight",
        )
    return found
