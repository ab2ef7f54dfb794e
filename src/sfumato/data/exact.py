"""Columns by their own names.

Polars takes "*" for all columns and "^a.*$" for those that a pattern fits, wherever a text names a
column: what was left out would come back. Selectors by name take names as they are, but some
methods make texts of them again (`cast`, `drop_nulls`, `unique`): no name of others goes there.
Methods of a column find it by its name, too, so that a name that is a pattern does not come in at
all (`schema.refuse_names`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
import polars.selectors as cs
from polars._typing import PolarsDataType


def exactly(name: str) -> cs.Selector:
    """The column of this name, whatever it is.

    >>> frame = pl.DataFrame({"*": [1], "age": [2]})
    >>> frame.select(exactly("*")).columns, frame.select("*").columns
    (['*'], ['*', 'age'])
    """
    return cs.by_name(name)


def each(names: Iterable[str]) -> list[cs.Selector]:
    """The columns of these names, in this order."""
    return [exactly(name) for name in names]


def cast_to(
    frame: pl.DataFrame, types: Mapping[str, PolarsDataType], *, strict: bool = True
) -> pl.DataFrame:
    """The frame with each column in its type."""
    return pl.DataFrame([one.cast(types[one.name], strict=strict) for one in frame])
