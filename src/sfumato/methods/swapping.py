"""Swapping values between records of similar rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ..data.codec import encode
from ..data.schema import Kind
from ..kernels.rank_swap import rank_swap
from ..protocols import Method, Outcome

if TYPE_CHECKING:
    from ..data.table import Table


class RankSwap(Method):
    """Swap each value with one whose rank is within p.

    Every column is swapped on its own, so each keeps its values and their distribution exactly,
    while the relations between columns weaken with p. Missing values stay where they are.
    """

    name: ClassVar[str] = "rank-swap"
    random: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    perturbs: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = (Kind.CONTINUOUS, Kind.INTEGER, Kind.ORDINAL, Kind.DATE)
    paper: ClassVar[str] = (
        "Moore 1996, Controlled data-swapping techniques for masking public use data"
    )

    p: Annotated[
        float, Field(gt=0, le=100, description="largest difference of ranks, in percent of records")
    ] = 5.0
    count: Annotated[
        int, Field(ge=0, description="largest difference of ranks as a number; replaces p if given")
    ] = 0

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.count and "p" in self.model_fields_set:
            raise ValueError("give p or count, not both")
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        series, moved = [], {}
        for name in chosen:
            column = table[name]
            rows = np.flatnonzero(column.is_not_null().to_numpy())
            # Ties are put in random order: else equal values would always go to the same
            # neighbours.
            codes = encode(column).codes[rows]
            order = rows[np.lexsort((rng.random(rows.size), codes))]
            reach = self.count or max(1, round(self.p / 100 * rows.size))
            swapped = rank_swap(rows.size, reach, rng.random(rows.size))
            source = np.arange(column.len())
            source[order] = order[swapped]
            series.append(column.gather(pl.Series(source)).alias(name))
            moved[name] = float(np.mean(swapped != np.arange(rows.size))) if rows.size else 0.0
        warnings = tuple(f"{name} was left alone: it has no order" for name in left)
        facts = {"share of values moved": moved}
        return Outcome(table.with_columns(series), facts=facts, warnings=warnings)
