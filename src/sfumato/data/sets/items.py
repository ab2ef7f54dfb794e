"""The items of set-valued columns: one column's among another's, and what they are worth."""

from __future__ import annotations

import numpy as np
import polars as pl

from ...errors import Complaint, SchemaError
from ...poset.values.text import text
from ..schema import Column


def places(names: pl.Series, others: pl.Series) -> np.ndarray:
    """int64: where each of the other names stands among the first; -1 where it does not.

    >>> places(pl.Series(["gin", "tea"]), pl.Series(["milk", "tea"])).tolist()
    [-1, 1]
    """
    where = pl.DataFrame({"item": names.cast(pl.String), "at": np.arange(len(names))})
    asked = pl.DataFrame({"item": others.cast(pl.String)})
    found = asked.join(where, on="item", how="left", maintain_order="left")["at"]
    return found.fill_null(-1).cast(pl.Int64).to_numpy()


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
