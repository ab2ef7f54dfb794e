"""(k,1)-anonymity: every published record fits k original ones."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ..data.pair import Pair
from ..data.table import Table
from ..errors import MeasureError
from ..protocols import Criterion, Finding
from .classes import Grouping
from .containment import containment, published_of
from .people import People, people_of
from .verdict import verdict


class K1Anonymity(Criterion):
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
    shorthand: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True

    k: Annotated[int, Field(ge=1, description="originals that every published record fits")]
    original: Annotated[
        People,
        Field(
            description="file of the originals, for a release without them",
            json_schema_extra={"file": True},
        ),
    ] = ""

    def keeps(self, grouping: Grouping) -> np.ndarray:
        kept: np.ndarray = grouping.sizes >= self.k
        return kept

    def check(self, table: Table) -> Finding:
        if self.original == "":
            raise MeasureError(
                "(k,1)-anonymity is counted against the original records, which a release does not "
                "hold",
                remedy='k1-anonymity = { k = 5, original = "FILE" }, or require it in the plan '
                "that makes the release",
            )
        return self._counted(table, self.original)

    def check_pair(self, pair: Pair) -> Finding:
        return self._counted(pair.masked, pair.original, pair.rows)

    def _counted(self, table: Table, original: Any, rows: np.ndarray | None = None) -> Finding:
        grouping = Grouping.published(table)
        columns = grouping.classes.columns
        people = people_of(original, table, columns, who="the original table")
        found = containment(people, table, grouping.classes.first, columns)
        own = published_of(rows, grouping.classes.labels, people.height)
        fits = found.counts(at_most=self.k, own=own)
        detail: dict[str, Any] = {"quasi_identifiers": list(columns), "records": table.height}
        if found.sets is not None:
            detail["counted"] = "up to k"
        return verdict(
            self,
            grouping,
            fits,
            fits >= self.k,
            subject="(k,1)-anonymity",
            limit=self.k,
            at_least=True,
            detail=detail,
        )
