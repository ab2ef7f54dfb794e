"""What swaps share: moving values, and which records may exchange them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field, field_validator

from ...data.codec import encode
from ...data.schema import ORDERED, SET_ASIDE, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.suppression.matches import class_labels
from ...protocols import Method, Outcome
from ..counts import exact_shares, published_shares


class RankedMethod(Method):
    """A method that exchanges the positions of each sorted column on its own."""

    perturbs: ClassVar[bool | None] = True
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = ORDERED

    orders: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="for categories without an order of their own, all values of a column in the "
        "order by which they are ranked, { job = ['farmer', 'clerk', 'judge'] }",
    )

    @field_validator("orders")
    @classmethod
    def _once(cls, orders: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, order in orders.items():
            if len(order) < 2 or len(set(order)) < len(order):
                raise ValueError(f"the order of {name!r} should name two values or more, each once")
        return orders

    def suits(self, table: Table, name: str) -> bool:
        if name not in self.orders:
            return super().suits(table, name)
        column = table.schema[name]
        return column.kind in (Kind.NOMINAL, Kind.ORDINAL) and not column.generalized

    def local_only(self) -> str:
        return (
            "exchanges ranks one after the other, each by what the others left: use "
            "block-rank-swap, whose blocks need not know of one another"
        )

    @abstractmethod
    def places(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """For each of n positions the one whose value it receives."""

    def parameters_used(self, present: dict[str, int]) -> dict[str, Any]:
        """What else the evidence says, by the number of values that each column has."""
        return {}

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        refuse_lone(table, self.name)
        acted = self.touches(table)
        for name in self.orders:
            if name not in acted or not self.suits(table, name):
                raise MethodError(
                    f"`orders` names {name!r}, which is no column of categories that {self.name} "
                    "acts on",
                    remedy="name it in `columns` as well, or take it out of `orders`",
                )
        chosen, left = self.targets(table)
        series, moved, present = [], {}, {}
        for name in chosen:
            order = sorted_rows(in_order(table[name], self.orders.get(name, ())), rng)
            places = self.places(order.size, rng)
            series.append(rearranged(table[name], order, places))
            moved[name] = is_moved(places)
            present[name] = int(order.size)
        facts = {"share of values moved": published_shares(moved), **self.parameters_used(present)}
        return Outcome(
            table.with_columns(series),
            facts=facts,
            secrets={"share of values moved": exact_shares(moved)},
            warnings=without_order(left),
        )


def refuse_lone(table: Table, asking: str) -> None:
    """A single record has nobody to exchange values with, and would be published as it is."""
    if table.height == 1:
        raise MethodError(
            f"{asking} exchanges values between records, and the table has one",
            remedy="do not publish it, or mask it together with others",
        )


def in_order(series: pl.Series, order: Sequence[str]) -> pl.Series:
    """A column of categories with the order that is given for it, if one is."""
    if not order:
        return series
    texts = series.cast(pl.String)
    strange = (texts.is_not_null() & ~texts.is_in(list(order))).arg_true()
    if len(strange):
        row = int(strange[0])
        raise MethodError(
            f"column {series.name!r} holds {texts[row]!r} in row {row + 1}, which its order in "
            "`orders` does not name",
            remedy="name every value of the column, each once",
        )
    return texts.cast(pl.Enum(list(order)))


def sorted_rows(series: pl.Series, rng: np.random.Generator) -> np.ndarray:
    """The rows that have a value, from the lowest to the highest.

    Ties are put in random order: else equal values would always go to the same neighbours.
    """
    rows = np.flatnonzero(series.is_not_null().to_numpy())
    stored = series.drop_nulls().to_physical()
    plain = stored.dtype.is_float() or stored.dtype.is_integer()
    values = stored.to_numpy() if plain else encode(series).codes[rows]
    mixed = rng.permutation(rows.size)
    return rows[mixed[np.argsort(values[mixed], kind="stable")]]


def mean_ranks(series: pl.Series) -> np.ndarray:
    """Ranks, ties sharing their mean; NaN where missing."""
    ranks = series.to_physical().rank("average").cast(pl.Float64)
    return ranks.fill_null(np.nan).to_numpy()


def rearranged(series: pl.Series, order: np.ndarray, places: np.ndarray) -> pl.Series:
    """The column after the position i of its sorted values has received that of places[i]."""
    source = np.arange(len(series))
    source[order] = order[places]
    return gathered(series, source)


def gathered(series: pl.Series, source: np.ndarray) -> pl.Series:
    """The column whose row i holds what was in row source[i]."""
    return series.gather(pl.Series(source)).alias(series.name)


def is_moved(places: np.ndarray) -> np.ndarray:
    """Which positions received another's value."""
    found: np.ndarray = places != np.arange(places.size)
    return found


def without_order(left: list[str]) -> tuple[str, ...]:
    """What is said of columns that cannot be ranked."""
    return tuple(f"{name} was left alone: it has no order" for name in left)


def others_with_order(table: Table, chosen: list[str]) -> list[str]:
    """The columns beside the chosen ones that have an order.

    Identifiers, households and weights carry no statistics of their own.
    """
    return [
        column.name
        for column in table.schema
        if column.name not in chosen
        and column.kind in ORDERED
        and not column.generalized
        and column.role not in SET_ASIDE
    ]


def absent(table: Table, name: str) -> np.ndarray:
    """Which cells of a column stay where they are: missing and suppressed ones."""
    found: np.ndarray = table[name].is_null().to_numpy() | table.suppressed(name)
    return found


def agreeing(table: Table, names: Sequence[str]) -> np.ndarray:
    """A label for each record, shared by those that are equal in all these columns.

    Missing is a value of its own.
    """
    return joined([encode(table[name]).codes for name in names], table.height)


def alike_in_gaps(labels: np.ndarray, table: Table, names: Sequence[str]) -> np.ndarray:
    """The groups, split so that the records of each miss the same of these columns.

    Where whole rows change places a missing value then stays where it was. Records without a group
    (-1) stay without.
    """
    gaps = [mask for name in names if (mask := absent(table, name)).any()]
    if not gaps:
        return labels
    outside = labels < 0
    found = joined([np.where(outside, 0, labels), *gaps], labels.size)
    return np.where(outside, -1, found)


def joined(parts: Sequence[np.ndarray], n: int) -> np.ndarray:
    """A label 0.. for each of n records, shared by those that are equal in all parts."""
    if not parts or not n:
        return np.zeros(n, dtype=np.int64)
    return class_labels(np.column_stack([part.astype(np.int64) for part in parts]))
