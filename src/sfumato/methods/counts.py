"""The weights that records carry from a survey, and what may be published of counts of records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import polars as pl

from ..data.schema import Role
from ..data.table import Table
from ..engines.relation import Relation
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
    if (row := _first_without(found)) is not None:
        raise _no_weight(names[0], row)
    return found


def weight_column(data: Relation, asking: str) -> str:
    """The weight column's name, if all records have a weight."""
    weights_of(data.empty, asking)
    (name,) = data.schema.of_role(Role.WEIGHT)
    rows = [row for row in data.fold([name], partial(_without, name)) if row is not None]
    if rows:
        raise _no_weight(name, min(rows))
    return name


def _without(name: str, part: Table, numbers: np.ndarray) -> int | None:
    """The number of the first record without a weight."""
    order = np.argsort(numbers, kind="stable")
    found = part[name].cast(pl.Float64).fill_null(np.nan).to_numpy()[order]
    row = _first_without(found)
    return None if row is None else int(numbers[order[row]])


def _first_without(weights: np.ndarray) -> int | None:
    bad = ~(np.isfinite(weights) & (weights > 0))
    return int(bad.argmax()) if bad.any() else None


def _no_weight(name: str, row: int) -> MethodError:
    return MethodError(
        f"the weight column {name!r} has no positive number in row {row + 1}",
        remedy="give every record a positive weight",
    )


FEWEST_TOLD = 10
"""Records from which a realised count is published, as is the number of the others: that none, or
all, of a few were changed says who was, and chance no longer shields anybody."""


def exact_shares(chosen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Shares by name, for those who may know them."""
    return {name: float(one.mean()) if one.size else 0.0 for name, one in chosen.items()}


def published_shares(chosen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Shares by name, to two decimals; without those that rest on few records.

    >>> published_shares({"a": np.arange(60) < 20, "b": np.arange(60) < 55})
    {'a': 0.33}
    """
    return {
        name: round(float(one.mean()), 2)
        for name, one in chosen.items()
        if min(int(one.sum()), int((~one).sum())) >= FEWEST_TOLD
    }


def at_least(count: int) -> str:
    """A count as it may be published.

    >>> at_least(1200), at_least(3)
    ('1,200', 'fewer than 10')
    """
    return f"{count:,}" if count >= FEWEST_TOLD else f"fewer than {FEWEST_TOLD}"
