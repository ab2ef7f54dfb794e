"""Shares of values in each class beside those in the whole: beta-likeness and delta-disclosure."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...protocols import OnParts
from ..classes import Grouping, ValueCounts
from ..verdict import ROUNDING, Judged, OfValues, largest, shares, whole_shares


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
    letter: ClassVar[str] = "beta"
    settles: ClassVar[bool] = False
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "whole"

    at_most: float = Field(gt=0, allow_inf_nan=False, description="beta (also accepted as beta)")
    variant: Literal["basic", "enhanced"] = Field(
        "basic", description="whether gains are also limited by how frequent a value is"
    )

    def _judged(self, grouping: Grouping) -> Judged:
        column, counts = self._of(grouping)
        figures = self._figures(grouping, counts)
        kept = figures <= self.at_most * (1 + ROUNDING) + ROUNDING
        words = "enhanced beta-likeness" if self.variant == "enhanced" else "beta-likeness"
        detail = {"column": column.name, "variant": self.variant}
        return Judged(figures, kept, f"{words} of {column.name}", self.at_most, detail)

    def _figures(self, grouping: Grouping, counts: ValueCounts) -> np.ndarray:
        whole = whole_shares(counts)[counts.code]
        gain = (shares(counts, len(grouping)) - whole) / whole
        if self.variant == "enhanced":
            allowed = np.minimum(self.at_most, -np.log(whole))
            # A value that everybody has gains nothing, and may gain nothing.
            open_ = allowed > 0
            gain = np.where(open_, gain * self.at_most / np.where(open_, allowed, 1.0), 0.0)
        return largest(counts.cls, gain, len(grouping))


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
    letter: ClassVar[str] = "delta"
    settles: ClassVar[bool] = False
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "whole"

    at_most: float = Field(
        gt=0,
        allow_inf_nan=False,
        description="delta, which figures stay below (also accepted as delta)",
    )

    def _judged(self, grouping: Grouping) -> Judged:
        column, counts = self._of(grouping)
        whole = whole_shares(counts)
        apart = np.abs(np.log2(shares(counts, len(grouping)) / whole[counts.code]))
        figures = largest(counts.cls, apart, len(grouping))
        held = np.bincount(counts.cls, minlength=len(grouping))
        lacking = held < int((whole > 0).sum())
        # The comparison is strict: what equals delta but for rounding breaks it.
        kept = (figures < self.at_most * (1 - ROUNDING)) & ~lacking
        detail: dict[str, Any] = {"column": column.name}
        if lacking.any():
            detail["because"] = "some classes lack a value that the whole has"
            detail["classes_that_lack_a_value"] = int(lacking.sum())
        subject = f"delta-disclosure of {column.name}"
        return Judged(figures, kept, subject, self.at_most, detail)
