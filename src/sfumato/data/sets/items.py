"""The items of set-valued columns: one column's among another's, and what they are worth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from ...errors import Complaint, SchemaError
from ...poset.values.text import text
from ..schema import Column

UNCLOSED = (
    "sets that hold what stands above their items, and some do not",
    'sets = { columns = ["NAME"], into = "NAME", hierarchies = true }, or enumerate_sets',
)
"""What is wrong with sets that a hierarchy is searched in, and what to do."""


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


def items_above(column: Column) -> Mapping[str, str]:
    """Of each item what stands next above it, as the column's poset says."""
    try:
        return {} if column.poset is None else column.poset.above()
    except ValueError as error:
        raise SchemaError("the table", [Complaint(column.name, str(error))]) from error


def item_parents(column: Column, names: pl.Series) -> np.ndarray:
    """int64: the number of the item next above each one, of those that there are; -1 for none.

    The poset "items" tells: `poset = { kind = "items", parents = { milk = "dairy" } }`.
    """
    above = items_above(column)
    labels = [text(name) for name in names.to_list()] if above else []
    number = {label: at for at, label in enumerate(labels)}
    found = np.full(len(names), -1, dtype=np.int64)
    for at, label in enumerate(labels):
        while label in above and found[at] < 0:
            label = above[label]
            found[at] = number.get(label, -1)
    return found


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
