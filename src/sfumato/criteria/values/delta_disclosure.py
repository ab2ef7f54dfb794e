"""delta-disclosure privacy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ...data.table import Table
from ...protocols import Finding
from ..classes import Grouping, ValueCounts
from ..verdict import ROUNDING, OfValues, largest, shares, verdict, whole_shares


class DeltaDisclosure(OfValues):
    """In every class each confidential value is about as frequent as in the whole.

    For every value of share p in the whole release and q in a class, |log2(q / p)| is smaller than
    delta. Every class must therefore hold every value: the logarithm of nothing has no bound. The
    figure is the largest |log2(q / p)| of the values that classes hold; where classes lack values,
    the finding says so and is not met.

    Shares are of the records whose value is known, in the class and in the whole, unless `missing`
    says that a missing value is a value like any other. A class without any known value holds none.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "flu", "hiv", "flu", "hiv"]
    >>> t = table({"q": list("aaaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> print(DeltaDisclosure(at_most=0.5).check(t))
    delta-disclosure of ill is 0.585 (limit 0.5) in 1 of 2 classes
    """

    name: ClassVar[str] = "delta-disclosure"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "at-most": 1.0}
    paper: ClassVar[str] = (
        "Brickell & Shmatikov (2008), The cost of privacy: destruction of data-mining utility in "
        "anonymized data publishing, KDD"
    )
    shorthand: ClassVar[str] = "at_most"
    monotone: ClassVar[bool] = True

    at_most: float = Field(
        gt=0,
        allow_inf_nan=False,
        description="delta, which figures stay below (also accepted as delta)",
    )

    @model_validator(mode="before")
    @classmethod
    def _delta_is_at_most(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "delta" in given and "at_most" not in given:
            return {"at_most" if key == "delta" else key: value for key, value in given.items()}
        return given

    def keeps(self, grouping: Grouping) -> np.ndarray:
        """Classes that are close enough to the grouping's own records.

        Records that a search leaves out are not part of the whole: count again at the end.
        """
        figures, lacking = self._figures(grouping, self._of(grouping)[1])
        return self._keeps(figures, lacking)

    def _keeps(self, figures: np.ndarray, lacking: np.ndarray) -> np.ndarray:
        # The comparison is strict: what equals delta but for rounding breaks it.
        kept: np.ndarray = (figures < self.at_most * (1 - ROUNDING)) & ~lacking
        return kept

    def _figures(self, grouping: Grouping, counts: ValueCounts) -> tuple[np.ndarray, np.ndarray]:
        """The largest figure of each class, and which classes lack a value."""
        whole = whole_shares(counts)
        apart = np.abs(np.log2(shares(counts, len(grouping)) / whole[counts.code]))
        held = np.bincount(counts.cls, minlength=len(grouping))
        lacking = held < int((whole > 0).sum())
        return largest(counts.cls, apart, len(grouping)), lacking

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        column, counts = self._of(grouping)
        figures, lacking = self._figures(grouping, counts)
        detail: dict[str, Any] = {"column": column.name}
        if lacking.any():
            detail["because"] = "some classes lack a value that the whole has"
            detail["classes_that_lack_a_value"] = int(lacking.sum())
        return verdict(
            self,
            grouping,
            figures,
            self._keeps(figures, lacking),
            subject=f"delta-disclosure of {column.name}",
            limit=self.at_most,
            detail=detail,
        )
