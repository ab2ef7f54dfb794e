"""What rank swapping gives away to whoever knows p: how far each column's values can have gone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...declaration import Declaration
from ...errors import MeasureError
from ...kernels.neighbours.rank_windows import (
    Sorted,
    Windows,
    gather,
    sort_column,
    span_windows,
    value_windows,
    widened,
)
from ...protocols import Context, Method, Partitioner
from ..pair import Pair
from ..schema import Kind
from ..table import Table
from .linked import Categories, Known, Numbers, acted_on, entered

RANK_SWAP = "rank-swap"


class KnownLimit(Declaration):
    """What whoever links rank-swapped records knows: how far ranks can have moved."""

    p: float | None = Field(
        None,
        gt=0,
        le=100,
        description="largest difference of ranks, in percent of records; as in "
        "the rank-swap steps unless given",
    )
    count: int = Field(
        0, ge=0, description="largest difference of ranks as a number; replaces p if given"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.count and self.p is not None:
            raise ValueError("give p or count, not both")
        return self


def in_given_orders(context: Context) -> Context:
    """The same with categories that published swaps ranked by an order as ordinals of that order,
    since whoever knows p knows the order, too."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for step in context.mechanism:
        for name, order in getattr(step, "orders", {}).items():
            found.setdefault(name, set()).add(order)
    pair = context.pair
    orders = {
        name: next(iter(listed))
        for name, listed in found.items()
        if len(listed) == 1 and all(_holds(t, name) for t in (pair.original, pair.masked))
    }
    if not orders:
        return context
    pair = Pair(_ordinal(pair.original, orders), _ordinal(pair.masked, orders), pair.rows)
    reference = context.reference and _ordinal(context.reference, orders)
    return replace(context, pair=pair, reference=reference)


def _holds(table: Table, name: str) -> bool:
    if name not in table.schema:
        return False
    column = table.schema[name]
    return column.kind in (Kind.NOMINAL, Kind.ORDINAL) and not column.generalized


def _ordinal(table: Table, orders: Mapping[str, tuple[str, ...]]) -> Table:
    """A table with these columns as ordinals; a value that an order does not name is missing."""
    here = {name: order for name, order in orders.items() if _holds(table, name)}
    ranked = [
        table[name].cast(pl.String).cast(pl.Enum(list(order)), strict=False)
        for name, order in here.items()
    ]
    kinds = [
        table.schema[name].with_(kind=Kind.ORDINAL, categories=order)
        for name, order in here.items()
    ]
    return table.with_columns(ranked, kinds)


class Reach(NamedTuple):
    """How many ranks a column's values can have moved: first in the whole file, then in the
    released records alone. Records may be left out in between, and then a rank is not the same."""

    whole: int = 0
    released: int = 0


def reaches(
    steps: Sequence[Method | Partitioner],
    known: Known,
    *,
    p: float | None = None,
    count: int = 0,
) -> tuple[dict[str, Reach], dict[str, str]]:
    """How far each known column's values can have moved, and why others have no known limit.

    `p` (percent of the released records that have a value, rounded up) or `count` is taken for
    every column of numbers where one is given. Else the published steps say so: swaps add up, each
    by the records that it was given, and a column that another method changed as well has no known
    limit. A column that no published step touches keeps its values.
    """
    pair, given = known.numbers.pair, p is not None or bool(count)
    if not given and not any(step.name == RANK_SWAP for step in steps):
        raise MeasureError(
            "no step of the release is a rank-swap: how far ranks may differ is not known",
            remedy="give p (percent of the records) or count (ranks)",
        )
    found, loose = dict.fromkeys(known.names, Reach()), dict[str, str]()
    if given:
        for name in known.numbers.names:
            found[name] = Reach(0, count or _ranks(p or 0.0, _present(pair, name, "released")))
        if not steps:
            reason = "is not known to have been left alone"
            loose = dict.fromkeys(known.categories.names, reason)
    for step, records in zip(steps, entered(steps, pair), strict=True):
        for name in acted_on(step, pair.original):
            if name not in found or (given and name in known.numbers.names):
                continue
            if step.name != RANK_SWAP or name not in known.numbers.names:
                loose[name] = f"was changed by {step.name} too"
            else:
                found[name] = _further(found[name], step, pair, name, records)
    found = {name: reach for name, reach in found.items() if name not in loose}
    if not found:
        raise MeasureError(
            "no known column was masked by rank-swap alone",
            remedy="give p (percent of the records) or count (ranks)",
        )
    return found, loose


def _further(reach: Reach, step: Any, pair: Pair, name: str, records: str) -> Reach:
    whole, released = reach
    if records == "all" and pair.masked.height < pair.original.height:
        return Reach(whole + int(step.reach(_present(pair, name, "all"))), released)
    # Of a swap between two steps that leave records out it is known only that it had no more than
    # all: the released records lie no more ranks apart than those among which they were swapped.
    here = "released" if records == "released" else "all"
    return Reach(whole, released + int(step.reach(_present(pair, name, here))))


def _present(pair: Pair, name: str, records: str) -> int:
    """Values of a column that were ranked: suppressed cells had one."""
    fewer = pair.masked.height < pair.original.height
    if records == "released" and fewer:
        hidden = int(pair.masked.suppressed(name).sum())
        return _values(pair.masked, name) + hidden
    return _values(pair.original, name)


def _values(table: Table, name: str) -> int:
    return table.height - int(table[name].null_count())


def _ranks(p: float, present: int) -> int:
    """p percent of the ranks, rounded upwards, which leaves no true record out."""
    return max(1, math.ceil(p / 100 * present - 1e-9))


def windows_of(
    numbers: Numbers,
    categories: Categories,
    x: np.ndarray,
    codes: np.ndarray,
    reach: Mapping[str, Reach],
) -> Windows:
    """The masked records that each row of x and of codes can have become, column by column."""
    columns, runs = [], []
    for j, name in enumerate(numbers.names):
        if name not in reach:
            continue
        column = sort_column(numbers.masked[:, j], numbers.hidden[:, j])
        low = high = x[:, j]
        if reach[name].whole:
            before = numbers.original[:, j]
            low, high = widened(low, high, np.sort(before[~np.isnan(before)]), reach[name].whole)
        ends = widened(low, high, column.values, reach[name].released)
        columns.append(column)
        runs.append(span_windows(x[:, j], *ends, column))
    for j, name in enumerate(categories.names):
        if name in reach:
            column, run = equal_codes(categories, j, codes[:, j])
            columns.append(column)
            runs.append(run)
    return gather(columns, runs)


def equal_codes(
    categories: Categories, j: int, codes: np.ndarray
) -> tuple[Sorted, tuple[np.ndarray, np.ndarray]]:
    """A column of categories, and the run of records that are equal to each code."""
    column = sort_column(_floats(categories.masked[:, j]), categories.hidden[:, j])
    zero = np.zeros(codes.size)
    return column, value_windows(_floats(codes), column, zero, zero)


def _floats(codes: np.ndarray) -> np.ndarray:
    """Codes as numbers; 0 is missing."""
    return np.where(codes == 0, np.nan, codes.astype(np.float64))
