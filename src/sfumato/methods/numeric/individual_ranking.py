"""Microaggregation of each column by itself."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import Matrix, from_floats
from ...data.schema import ORDERED, Kind
from ...data.table import Table
from ...kernels.groups import group_means, group_medians
from ...kernels.micro.ordering import optimal_univariate
from ...protocols import Method, Outcome
from ..suppression.cells import suppress

NO_K = (
    "individual-ranking groups each column alone and does not give k-anonymity: combinations of "
    "columns stay as rare as they were (up to 97 % of records were re-identified after it, with k "
    "as high as 10)"
)


class IndividualRanking(Method):
    """Replace each value by the mean of k or more similar values of its column alone.

    Little is lost, and little is protected: it does not give k-anonymity. Values are sorted and
    cut into groups of k to 2k - 1 with the least information loss ("optimal"), or into groups of k
    by rank, of which the last takes the rest ("fixed"); equal values may be split, by row.
    Ordinals take the (lower) median. Missing values stay missing; where a column has fewer than k
    values they are suppressed.
    """

    name: ClassVar[str] = "individual-ranking"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    kinds: ClassVar[tuple[str, ...]] = ORDERED
    paper: ClassVar[str] = (
        "Defays & Nanopoulos 1993, Panels of enterprises and confidentiality: the small aggregates "
        "method; Lasko 2007, section 2.3.4"
    )

    k: int = Field(5, ge=2, description="smallest group")
    sizes: Literal["optimal", "fixed"] = Field(
        "optimal", description="groups of k to 2k - 1 with the least loss, or of k by rank"
    )
    whole: bool = Field(False, description="round integer columns to whole numbers")

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        series, columns, marks = [], [], {}
        facts: dict[str, Any] = {"columns": chosen, "groups": {}}
        warnings = [NO_K, *(f"{name} was left alone: it has no order" for name in left)]
        for name in chosen:
            column = table.schema[name]
            values = Matrix(table, [name]).numeric[:, 0]
            present = ~np.isnan(values)
            if 0 < present.sum() < self.k:
                made = suppress(table[name], present, column.generalized)
                marks[name] = present | table.suppressed(name)
                facts.setdefault("suppressed cells", {})[name] = int(present.sum())
                warnings.append(
                    f"{name} has {present.sum()} values, fewer than k = {self.k}: all suppressed"
                )
                groups = 0
            else:
                made, groups = self._column(table, name, values, present)
            facts["groups"][name] = groups
            series.append(made)
            whole = column.kind != Kind.INTEGER or made.dtype.is_integer()
            columns.append(column if whole else column.with_(kind=Kind.CONTINUOUS))
        return Outcome(
            table.with_columns(series, columns, marks), facts=facts, warnings=tuple(warnings)
        )

    def _column(
        self, table: Table, name: str, values: np.ndarray, present: np.ndarray
    ) -> tuple[pl.Series, int]:
        """The column with group centres for values, and the number of groups."""
        column, known = table.schema[name], values[present]
        if not known.size:
            return table[name], 0
        labels = self._groups(known)
        if column.kind == Kind.ORDINAL:
            centres = group_medians(labels, known, lower=True)
        else:
            centres = group_means(labels, known)
        out = values.copy()
        out[present] = centres[labels]
        made = from_floats(out, column, table[name], whole=self.whole)
        return made, centres.size

    def _groups(self, values: np.ndarray) -> np.ndarray:
        if self.sizes == "optimal":
            return optimal_univariate(values, self.k)
        rank = np.empty(values.size, np.int64)
        rank[np.argsort(values, kind="stable")] = np.arange(values.size)
        return np.minimum(rank // self.k, values.size // self.k - 1)
