"""beta-likeness, basic and enhanced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...data.table import Table
from ...protocols import Finding
from ..classes import Grouping, ValueCounts
from ..verdict import ROUNDING, OfValues, largest, shares, verdict, whole_shares


class BetaLikeness(OfValues):
    """No confidential value is much more frequent in a class than in the whole.

    A value of share p in the whole release and q in a class gains (q - p) / p there. The figure is
    the largest gain. Basic beta-likeness allows gains up to beta; enhanced, up to the lesser of
    beta and -log p, so that a frequent value can never become certain. The enhanced figure is the
    gain as a multiple of what is allowed, times beta, so that it too is compared with beta. Losses
    are not limited.

    Shares are of the records whose value is known, in the class and in the whole, unless `missing`
    says that a missing value is a value like any other.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "hiv", "flu"]
    >>> t = table({"q": list("aaaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> print(BetaLikeness(at_most=0.4).check(t))
    beta-likeness of ill is 0.5 (limit 0.4) in 1 of 2 classes
    """

    name: ClassVar[str] = "beta-likeness"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "at-most": 1.0}
    paper: ClassVar[str] = (
        "Cao & Karras (2012), Publishing microdata with a robust privacy guarantee, PVLDB 5(11)"
    )
    shorthand: ClassVar[str] = "at_most"
    monotone: ClassVar[bool] = True

    at_most: float = Field(gt=0, allow_inf_nan=False, description="beta (also accepted as beta)")
    variant: Literal["basic", "enhanced"] = Field(
        "basic", description="whether gains are also limited by how frequent a value is"
    )

    @model_validator(mode="before")
    @classmethod
    def _beta_is_at_most(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "beta" in given and "at_most" not in given:
            return {"at_most" if key == "beta" else key: value for key, value in given.items()}
        return given

    def keeps(self, grouping: Grouping) -> np.ndarray:
        """Classes without too large a gain over the grouping's own records.

        Records that a search leaves out are not part of the whole: count again at the end.
        """
        return self._keeps(self._figures(grouping, self._of(grouping)[1]))

    def _keeps(self, figures: np.ndarray) -> np.ndarray:
        kept: np.ndarray = figures <= self.at_most * (1 + ROUNDING) + ROUNDING
        return kept

    def _figures(self, grouping: Grouping, counts: ValueCounts) -> np.ndarray:
        whole = whole_shares(counts)[counts.code]
        gain = (shares(counts, len(grouping)) - whole) / whole
        if self.variant == "enhanced":
            allowed = np.minimum(self.at_most, -np.log(whole))
            # A value that everybody has gains nothing, and may gain nothing.
            open_ = allowed > 0
            gain = np.where(open_, gain * self.at_most / np.where(open_, allowed, 1.0), 0.0)
        return largest(counts.cls, gain, len(grouping))

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        column, counts = self._of(grouping)
        figures = self._figures(grouping, counts)
        words = "enhanced beta-likeness" if self.variant == "enhanced" else "beta-likeness"
        return verdict(
            self,
            grouping,
            figures,
            self._keeps(figures),
            subject=f"{words} of {column.name}",
            limit=self.at_most,
            detail={"column": column.name, "variant": self.variant},
        )
