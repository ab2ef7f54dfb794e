"""What the items of a set-valued column are worth to those who use the release."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..errors import Complaint, SchemaError
from ..poset.text import text
from .schema import Column


def item_utilities(column: Column, names: pl.Series) -> np.ndarray:
    """float64: the utility of each item, 1 unless the column's poset says otherwise.

    The poset "items" holds them: `poset = { kind = "items", utilities = { hiv = 10 } }`.
    """
    of = getattr(column.poset, "utilities_of", None)
    if of is None:
        return np.ones(len(names))
    try:
        found: np.ndarray = of([text(name) for name in names.to_list()])
    except ValueError as error:
        raise SchemaError("the table", [Complaint(column.name, str(error))]) from error
    return found
