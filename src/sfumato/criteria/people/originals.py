"""Criteria that count which originals published records fit: (k,1)- and (k,k)-anonymity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.pair import Pair
from ...data.table import Table
from ...errors import MeasureError
from ...protocols import Criterion, Finding
from ..classes import Grouping
from ..coverage.containment import containment, published_of
from ..verdict import Judged, verdict
from .population import People, people_of

Held = Callable[[], np.ndarray]
"""Counts the published records that each original fits."""


class OfOriginals(Criterion):
    """A criterion counted against the original records."""

    shorthand: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True
    beside_cover: ClassVar[bool] = True
    words: ClassVar[str]
    """How the field calls it."""

    k: int = Field(ge=1, description="originals that every published record fits")
    original: People = Field(
        "",
        description="file of the originals, for a release without them",
        json_schema_extra={"file": True},
    )

    def keeps(self, grouping: Grouping) -> np.ndarray:
        """Classes of at least k: their label covers them all, and they are k records alike."""
        return grouping.sizes >= self.k

    def check(self, table: Table) -> Finding:
        if self.original == "":
            raise MeasureError(
                f"{self.words} is counted against the original records, which a release does not "
                "hold",
                remedy=f'{self.name} = {{ k = 5, original = "FILE" }}, or require it in the plan '
                "that makes the release",
            )
        return self._counted(table, self.original)

    def check_pair(self, pair: Pair) -> Finding:
        return self._counted(pair.masked, pair.original, pair.rows)

    def _counted(self, table: Table, original: Any, rows: np.ndarray | None = None) -> Finding:
        grouping = Grouping.published(table)
        columns = grouping.classes.columns
        if not columns:
            raise MeasureError(
                f"{self.name} means nothing without quasi-identifiers",
                remedy='give the columns that others may know the role "quasi"',
            )
        people = people_of(original, table, columns, who="the original table")
        found = containment(people, table, grouping.classes.first, columns)
        own = published_of(rows, grouping.classes.labels, people.height)
        detail: dict[str, Any] = {"quasi_identifiers": list(columns), "records": table.height}
        if found.sets is not None:
            detail["counted"] = "up to k"
        fits = found.counts(at_most=self.k, own=own)
        sizes = grouping.sizes.astype(np.float64)
        held = partial(found.sums, sizes, at_most=self.k, own=own)
        return self._judged(grouping, fits, held, detail)

    def _judged(
        self, grouping: Grouping, fits: np.ndarray, held: Held, detail: dict[str, Any]
    ) -> Finding:
        """The finding, by how many originals each class fits."""
        return self._of_classes(grouping, fits, self.words, detail)

    def _of_classes(
        self, grouping: Grouping, fits: np.ndarray, subject: str, detail: dict[str, Any]
    ) -> Finding:
        judged = Judged(fits, fits >= self.k, subject, self.k, detail, at_least=True)
        return verdict(self, grouping, judged)


class K1Anonymity(OfOriginals):
    """Every published record fits at least k of the original records, (k,1)-anonymity.

    The figure is the least number of original records whose values all labels of a published record
    cover. It says less than k-anonymity: published records may all differ, and an intruder who sees
    which originals fit which records can rule some out. It is what searches achieve that generalize
    each record by itself.

    It is counted against the original table. A release on its own needs `original`, the file of the
    originals. In a search, a class of k records is enough: its label covers them all. A missing
    value fits originals without a value, a suppressed one all of them. A published set fits all
    originals that contain it; of sets, no more than k originals are counted, so that the figure is
    k where more fit.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> before = table({"age": [20, 25, 29]}, quasi=["age"])
    >>> after = table({"age": ["[20, 25]", "[20, 29]", "[25, 29]"]}, quasi=["age"])
    >>> print(K1Anonymity(k=3).check_pair(Pair.of(before, after)))
    (k,1)-anonymity is 2 (limit 3) in 2 of 3 classes
    """

    name: ClassVar[str] = "k1-anonymity"
    example: ClassVar[dict[str, Any]] = {"k": 5}
    paper: ClassVar[str] = (
        "Gionis, Mazza & Tassa (2008), k-anonymization revisited, ICDE; Katirai (2006), A "
        "theory and toolkit for the mathematics of privacy, MSc thesis, MIT"
    )
    words: ClassVar[str] = "(k,1)-anonymity"


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
