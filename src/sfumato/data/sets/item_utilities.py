"""What the items of a set-valued column are worth to those who use the release."""

from __future__ import annotations

import numpy as np
import polars as pl

from ...errors import Complaint, SchemaError
from ...poset.values.text import text
from ..schema import Column


def check_utilities(column: Column, names: pl.Series) -> None:
    """Complain of utilities that are those of other items, or that are all nothing."""
    if column.poset is None or column.poset.utilities_of(()) is None or not len(names):
        return
    items = [str(name) for name in names.to_list()]
    what = remedy = ""
    if not item_utilities(column, names).any():
        what, remedy = "every item is worth 0", "give items a utility above 0"
    elif (listed := column.poset.named()) and not listed & set(items):
        what = f"no item that has a utility occurs: {min(listed)!r}, for example, does not"
        remedy = f"write items as the column has them, such as {items[0]!r}"
    if what:
        raise SchemaError("the table", [Complaint(column.name, what, remedy)])


def item_utilities(column: Column, names: pl.Series) -> np.ndarray:
    """float64: the utility of each item, 1 unless the column's poset says otherwise.

    The poset "items" holds them: `poset = { kind = "items", utilities = { hiv = 10 } }`.
    """
    told = None
    try:
        if column.poset is not None:
            told = column.poset.utilities_of([text(name) for name in names.to_list()])
    except ValueError as error:
        raise SchemaError("the table", [Complaint(column.name, str(error))]) from error
    return np.ones(len(names)) if told is None else told
