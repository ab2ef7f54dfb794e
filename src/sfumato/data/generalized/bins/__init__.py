"""A column of original and release in the same bins."""

from __future__ import annotations

from ...pair import Pair
from ...schema import MEASURED, Kind
from .bins import Bins as Bins
from .bins import nothing as nothing
from .categories import categories, items
from .numbers import numbers


def binned(pair: Pair, name: str, quantiles: int, most: int) -> list[Bins]:
    """A column in bins: itself, or one for each item that is told apart of a column of sets."""
    column = pair.original.schema[name]
    if column.kind == Kind.SET and not column.generalized:
        return items(pair, name)
    if column.kind in MEASURED and not column.generalized:
        return [numbers(pair, name, quantiles)]
    return [categories(pair, name, most)]
