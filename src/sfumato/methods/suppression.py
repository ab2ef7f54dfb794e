"""Local suppression: take out single cells until nobody stands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ..data.codec import encode
from ..data.schema import SUPPRESSED
from ..errors import MethodError
from ..kernels.suppression import MOST_COLUMNS, local_suppression
from ..protocols import Method, Outcome

if TYPE_CHECKING:
    from ..data.table import Table


class LocalSuppression(Method):
    """Suppress the fewest cells that make every record k-anonymous.

    By default a suppressed cell is a value of its own, so that the k recounted on the file is
    the k that is meant. With reading = "wildcard" a suppressed or missing cell matches every
    value: fewer cells go, but the promise is weaker, and a k-anonymity requirement must then say
    missing = "wildcard" too.
    """

    name: ClassVar[str] = "local-suppression"
    paper: ClassVar[str] = "Samarati & Sweeney 1998; Willenborg & de Waal 2001, chapter 5"

    k: Annotated[int, Field(ge=2, description="records that must share each combination")] = 3
    importance: Annotated[
        dict[str, Annotated[float, Field(gt=0)]],
        Field(
            default_factory=dict,
            description="cost of a cell by column (1 unless given): dear columns are kept",
        ),
    ]
    reading: Annotated[
        Literal["category", "wildcard"],
        Field(description="what a missing or suppressed cell matches: its like, or anything"),
    ] = "category"

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        if table.height < self.k:
            raise MethodError(
                f"a table of {table.height} cannot be made {self.k}-anonymous",
                remedy="release nothing, or lower k",
            )
        if len(chosen) > MOST_COLUMNS:
            raise MethodError(
                f"local-suppression takes up to {MOST_COLUMNS} columns, not {len(chosen)}",
                remedy="name the columns that others may really know",
            )
        stray = [name for name in self.importance if name not in chosen]
        if stray:
            raise MethodError(
                f"importance names {stray[0]!r}, which is not among the columns to suppress in",
                remedy=f"the columns are {', '.join(chosen)}",
            )
        codes = np.column_stack([encode(table[name]).codes.astype(np.int32) for name in chosen])
        missing = np.column_stack([table.missing(name) for name in chosen])
        already = np.column_stack([table.suppressed(name) for name in chosen])
        gone = local_suppression(
            codes,
            self.k,
            np.array([self.importance.get(name, 1.0) for name in chosen]),
            missing=missing,
            already=already,
            reading=self.reading,
            mark="own",
        )
        series, marks = [], {}
        for j, name in enumerate(chosen):
            if not gone[:, j].any():
                continue
            series.append(suppress(table[name], gone[:, j], table.schema[name].generalized))
            marks[name] = gone[:, j] | table.suppressed(name)
        lost = gone & ~missing
        facts: dict[str, Any] = {
            "suppressed cells": {n: int(lost[:, j].sum()) for j, n in enumerate(chosen)},
            "share of cells": float(lost.mean()),
            "missing cells marked alike": int((gone & missing).sum()),
            "reading": self.reading,
        }
        return Outcome(table.with_columns(series, suppressed=marks), facts=facts)


def suppress(series: pl.Series, gone: np.ndarray, generalized: bool) -> pl.Series:
    """The column with some cells suppressed: "*" among labels, null among values."""
    keep = pl.Series(~gone)
    if not generalized:
        return series.zip_with(keep, pl.Series([None], dtype=series.dtype))
    return series.cast(pl.String).zip_with(keep, pl.Series([SUPPRESSED], dtype=pl.String))
