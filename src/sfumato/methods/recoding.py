"""Global recoding: one level of detail for a whole column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ..data.codec import bind, decode, domain_values, encode
from ..data.schema import SUPPRESSED
from ..errors import MethodError
from ..poset.tree import Tree
from ..protocols import Method, Outcome

if TYPE_CHECKING:
    from ..data.table import Table


class GlobalRecoding(Method):
    """Publish every value of a column at one level of its hierarchy.

    Level 0 is the value itself, the last level is "*". The hierarchy is the column's poset (a
    hierarchy file, prefixes, bins, or one balanced by frequency).
    """

    name: ClassVar[str] = "global-recoding"
    example: ClassVar[dict[str, Any]] = {"levels": {"zip": 1, "birth_date": 2}}
    paper: ClassVar[str] = "Willenborg & de Waal 2001, Elements of Statistical Disclosure Control"

    levels: Annotated[
        dict[str, Annotated[int, Field(ge=0)]],
        Field(description="the level of each column: {zip = 1, birth_date = 2}", min_length=1),
    ]

    @model_validator(mode="after")
    def _levels_say_it_all(self) -> Self:
        if self.columns:
            raise ValueError("name the columns in levels, not in columns")
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        series, columns, facts = [], [], {}
        for name, level in self.levels.items():
            column = table.schema[name]
            if level == 0:
                continue
            found = encode(table[name])
            counts = np.bincount(found.codes, minlength=len(found.domain) + 1)[1:]
            poset = bind(column, found.domain, counts)
            labels = self._labels(name, poset, domain_values(column, found.domain), level)
            if len(labels) != len(found.domain):  # an ordinal's domain is all of its categories
                used = found.domain.to_physical().to_numpy()
                labels = [labels[i] for i in used]
            merged = pl.Series(labels, dtype=pl.String)
            published = merged.unique(maintain_order=True)
            series.append(decode(found.codes, merged, name).cast(pl.Enum(published)))
            columns.append(column.with_(generalized=True, bound=poset))
            facts[name] = {
                "level": level,
                "values before": len(found.domain),
                "after": len(published),
            }
        if not series:
            return Outcome(table, facts={"levels": "all zero: nothing was recoded"})
        return Outcome(table.with_columns(series, columns), facts=facts)

    def _labels(self, name: str, poset: Any, values: list[Any], level: int) -> list[str]:
        if not isinstance(poset, Tree):
            if level == 1:  # without a hierarchy there is the value, and everything
                return [SUPPRESSED] * len(values)
            raise MethodError(
                f"column {name!r} has no hierarchy, so it has no level {level}",
                remedy=f'{name} = {{ poset = {{ kind = "balanced" }} }}, or level 0 or 1',
            )
        if level >= poset.levels:
            raise MethodError(
                f"the hierarchy of column {name!r} has levels 0 to {poset.levels - 1}, not {level}",
                remedy=f"levels.{name} = {poset.levels - 1}",
            )
        return list(poset.at_level(values, level))
