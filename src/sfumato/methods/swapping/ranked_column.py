"""Ordered columns that change places between random subsets of the records."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.schema import ORDERED
from ...data.table import Table
from ...errors import MethodError
from ...kernels.swapping.ranked_columns import ranked_columns
from ...protocols import Method, Outcome
from ..counts import exact_shares, published_shares
from .base import is_moved, rearranged, sorted_rows, without_order


class RankedColumnSwap(Method):
    """Swap whole ordered columns between random subsets of the records.

    The records are divided at random into subsets of equal size, once for all columns. Each column
    is sorted within each subset, and the r-th smallest value of one subset goes to the record that
    has the r-th smallest of another; which subset receives from which is drawn for each column, and
    none keeps its own. Columns keep their values exactly. Between two random subsets of m records
    the value at quantile q moves by about sqrt(2 q (1 - q) / m) in rank, as a share of all: smaller
    subsets protect more and weaken the relations between columns more. No distance is impossible.

    Where a column's values do not divide evenly (because of missing values, which stay, or the
    number of records) some of the larger subsets are left aside, drawn at random; each then
    exchanges the value it holds with whoever holds the next larger one.
    """

    name: ClassVar[str] = "ranked-column-swap"
    perturbs: ClassVar[bool | None] = True
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = ORDERED
    paper: ClassVar[str] = (
        "Carlson & Salabasis 2002, A data-swapping technique using ranks: a method for disclosure "
        "control, Research in Official Statistics 6(2)"
    )

    subsets: int = Field(10, ge=2, description="random subsets that the records are divided into")
    size: int = Field(0, ge=0, description="records of a subset, about; replaces subsets if given")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.size and "subsets" in self.model_fields_set:
            raise ValueError("give subsets or size, not both")
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        count = max(2, table.height // self.size) if self.size else self.subsets
        if table.height < count:
            raise MethodError(
                f"{table.height} records cannot be divided into {count} subsets",
                remedy="use fewer `subsets`" if table.height > 1 else "use another method",
            )
        subset = rng.permutation(np.arange(table.height, dtype=np.int64) % count)
        series, moved, aside = [], {}, {}
        for name in chosen:
            order = sorted_rows(table[name], rng)
            over = left_aside(subset[order], count, rng)
            places = ranked_columns(subset[order], over, cycle(count, rng))
            series.append(rearranged(table[name], order, places))
            moved[name] = is_moved(places)
            aside[name] = int(over.sum())
        facts = {
            "subsets": count,
            "share of values moved": published_shares(moved),
            "values exchanged with the next larger": aside,
        }
        return Outcome(
            table.with_columns(series),
            facts=facts,
            secrets={"share of values moved": exact_shares(moved)},
            warnings=without_order(left),
        )


def left_aside(subset: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Which records to leave aside, so that every subset has as many as the smallest of them."""
    sizes = np.bincount(subset, minlength=count)
    if sizes.min() == sizes.max():
        return np.zeros(subset.size, dtype=bool)
    mixed = rng.permutation(subset.size)
    by_subset = mixed[np.argsort(subset[mixed], kind="stable")]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    rank = np.arange(subset.size) - starts[subset[by_subset]]
    over = np.empty(subset.size, dtype=bool)
    over[by_subset] = rank >= sizes.min()
    return over


def cycle(count: int, rng: np.random.Generator) -> np.ndarray:
    """For each of the subsets the one that it receives from: a random cycle through all of them."""
    order = rng.permutation(count)
    target = np.empty(count, dtype=np.int64)
    target[order] = np.roll(order, -1)
    return target
