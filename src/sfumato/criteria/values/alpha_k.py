"""(alpha, k)-anonymity."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.table import Table
from ...errors import MeasureError
from ...protocols import Finding
from ..classes import Grouping, ValueCounts
from ..verdict import ROUNDING, OfValues, largest, shares, too_small, verdict


class AlphaK(OfValues):
    """Classes of k in which no confidential value takes more than a share alpha.

    With a `value` named, the share of that value alone is limited; without, that of every value
    (general (alpha, k)-anonymity). The figure is the largest share in a class; where a class is
    smaller than k and all shares are kept, it is the size of the smallest class. A missing or
    suppressed value hides nothing: shares are of the records whose value is known, unless `missing`
    says that it is a value like any other. Of a column of sets, the share of a class that holds
    each item is limited.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "hiv"]
    >>> t = table({"q": list("aaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> print(AlphaK(k=2, alpha=0.5).check(t))
    the largest share of a value of ill is 0.6667 (limit 0.5) in 1 of 2 classes
    >>> AlphaK(k=2, alpha=0.5, value="hiv").check(t).met
    True
    """

    name: ClassVar[str] = "alpha-k-anonymity"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "k": 5, "alpha": 0.5}
    paper: ClassVar[str] = (
        "Wong, Li, Fu & Wang (2006), (alpha, k)-anonymity: an enhanced k-anonymity model for "
        "privacy preserving data publishing, KDD"
    )
    monotone: ClassVar[bool] = True

    k: int = Field(ge=1, description="smallest class allowed")
    alpha: float = Field(gt=0, le=1, description="largest share of a value in a class")
    value: str = Field("", description="the value whose share is limited; every value unless given")

    def keeps(self, grouping: Grouping) -> np.ndarray:
        kept: np.ndarray = self._keeps(self._figures(grouping)) & (grouping.sizes >= self.k)
        return kept

    def _keeps(self, figures: np.ndarray) -> np.ndarray:
        kept: np.ndarray = figures <= self.alpha + ROUNDING
        return kept

    def _figures(self, grouping: Grouping) -> np.ndarray:
        column, counts = self._of(grouping)
        share = shares(counts, len(grouping))
        if self.value:
            chosen = counts.code == self._code(counts, column.name)
            return largest(counts.cls[chosen], share[chosen], len(grouping))
        return largest(counts.cls, share, len(grouping))

    def _code(self, counts: ValueCounts, name: str) -> int:
        found = np.flatnonzero((counts.values.cast(pl.String) == self.value).to_numpy())
        if not found.size:
            raise MeasureError(
                f"column {name!r} holds no value {self.value!r}: to limit its share means nothing",
                remedy="write the value as the column has it, or leave the requirement out",
            )
        return int(found[0]) + 1

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        figures = self._figures(grouping)
        fits, large = self._keeps(figures), grouping.sizes >= self.k
        column, _ = self._of(grouping)
        detail = {
            "column": column.name,
            "k": int(grouping.sizes.min()),
            "largest_share": float(figures.max()),
        }
        if fits.all() and not large.all():
            return too_small(self, grouping, self.k, ~large, detail)
        what = repr(self.value) if self.value else "a value"
        return verdict(
            self,
            grouping,
            figures,
            fits & large,
            subject=f"the largest share of {what} of {column.name}",
            limit=self.alpha,
            detail=detail,
        )
