"""(k,k)-anonymity: published records fit k originals each, and originals k published records."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...protocols import Finding
from ..classes import Grouping
from .originals import Held, OfOriginals


class KKAnonymity(OfOriginals):
    """Every published record fits k originals, and every original k published records.

    The first half is (k,1)-anonymity. The second, (1,k), is what (k,1) lacks: an intruder who knows
    a person's values finds at least k published records that may be that person's. It still says
    less than k-anonymity: the intruder may rule some of them out by seeing which originals fit no
    other record.

    The figure is the smaller of the two least counts; where a half is broken, the finding speaks of
    that half. It is counted against the original table: a release on its own needs `original`, the
    file of the originals. A missing value fits originals without a value, a suppressed one all of
    them; a published set fits all originals that contain it, and counting on sets stops at k.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> before = table({"buys": [["tea"], ["tea", "milk"], ["milk"]]}, quasi=["buys"])
    >>> after = table({"buys": [["tea"], ["tea"], ["milk"]]}, quasi=["buys"])
    >>> print(KKAnonymity(k=2).check_pair(Pair.of(before, after)))
    (1,k)-anonymity is 1 (limit 2) in 1 of 3 originals
    """

    name: ClassVar[str] = "kk-anonymity"
    example: ClassVar[dict[str, Any]] = {"k": 5}
    paper: ClassVar[str] = "Gionis, Mazza & Tassa (2008), k-anonymization revisited, ICDE"
    words: ClassVar[str] = "(k,k)-anonymity"

    k: int = Field(ge=1, description="originals of a published record, and the other way round")

    def _judged(
        self, grouping: Grouping, fits: np.ndarray, held: Held, detail: dict[str, Any]
    ) -> Finding:
        fitted = held()
        least, fewest = int(fits.min()), int(fitted.min())
        detail |= {"k1": least, "1k": fewest}
        if least < self.k or fewest >= self.k:
            figures = np.minimum(fits, fewest) if fewest >= self.k else fits
            subject = "(k,1)-anonymity" if least < self.k else self.words
            return self._of_classes(grouping, figures, subject, detail)
        return Finding(
            requirement=self.name,
            subject="(1,k)-anonymity",
            value=float(fewest),
            limit=float(self.k),
            met=False,
            at_least=True,
            broken=int((fitted < self.k).sum()),
            of=fitted.size,
            of_what="originals",
            detail=detail,
        )
