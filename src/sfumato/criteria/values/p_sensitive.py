"""p-sensitive k-anonymity."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.table import Table
from ...errors import MeasureError
from ...protocols import Criterion, Finding
from ..classes import Grouping
from ..verdict import different, telling, too_small, verdict


class PSensitive(Criterion):
    """Classes of k with at least p different confidential values.

    That is k-anonymity and distinct p-diversity of every confidential column (or of the one named).
    The figure is the least number of different values in a class; where only k is broken, it is the
    size of the smallest class. A missing or suppressed value does not count as one of the p, unless
    `missing` says that it is a value like any other. Of a column of sets the items count, and
    holding none, as far as there are different sets; an item that all of a class hold leaves one
    value.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "flu"]
    >>> t = table({"q": list("aaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> print(PSensitive(k=2, p=2).check(t))
    the number of different values of ill is 1 (limit 2) in 1 of 2 classes
    """

    name: ClassVar[str] = "p-sensitive"
    example: ClassVar[dict[str, Any]] = {"k": 5, "p": 2}
    paper: ClassVar[str] = (
        "Truta & Vinay (2006), Privacy protection: p-sensitive k-anonymity property, ICDE Workshops"
    )
    monotone: ClassVar[bool] = True

    k: int = Field(ge=1, description="smallest class allowed")
    p: int = Field(ge=1, description="different confidential values in every class")
    column: str = Field("", description="confidential column; every one of them unless given")
    missing: Literal["ignore", "value"] = Field(
        "ignore", description="whether a missing confidential value counts as a value"
    )

    @model_validator(mode="after")
    def _p_fits_k(self) -> Self:
        if self.p > self.k:
            raise ValueError(f"{self.p} different values need classes of {self.p}: p is at most k")
        return self

    def keeps(self, grouping: Grouping) -> np.ndarray:
        kept: np.ndarray = (self._figures(grouping) >= self.p) & (grouping.sizes >= self.k)
        return kept

    def _columns(self, grouping: Grouping) -> list[str]:
        if self.column:
            return [grouping.table.schema[self.column].name]
        found = grouping.table.schema.confidential
        if not found:
            raise MeasureError(
                f"{self.name} speaks of confidential columns, and the table has none",
                remedy=f'{self.name} = {{ column = "NAME", ... }}',
            )
        return found

    def _figures(self, grouping: Grouping) -> np.ndarray:
        fewest = np.full(len(grouping), np.iinfo(np.int64).max)
        for name in self._columns(grouping):
            counts = grouping.counts(name)
            if self.missing == "ignore":
                counts = telling(counts)
            fewest = np.minimum(fewest, different(counts, len(grouping)))
        return fewest

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        columns = self._columns(grouping)
        figures = self._figures(grouping)
        fits, large = figures >= self.p, grouping.sizes >= self.k
        detail = {
            "columns": columns,
            "k": int(grouping.sizes.min()),
            "different_values": int(figures.min()),
        }
        if fits.all() and not large.all():
            return too_small(self, grouping, self.k, ~large, detail)
        return verdict(
            self,
            grouping,
            figures,
            fits & large,
            subject=f"the number of different values of {', '.join(columns)}",
            limit=self.p,
            at_least=True,
            detail=detail,
        )
