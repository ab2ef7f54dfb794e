"""Average risk of re-identification."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ..data.table import Table
from ..protocols import Criterion, Finding
from .classes import Grouping


class AverageRisk(Criterion):
    """The chance of re-identification, averaged over the records, stays below a limit.

    A record of a class of f is found with a chance 1 / f by somebody who knows that it is in the
    release. The mean over the records is the number of classes divided by the number of records. It
    is a figure of the whole release: a search hears the same of every class. Sampling weights do
    not enter, since this intruder knows who takes part.

    >>> from sfumato.data.table import table
    >>> t = table({"q": list("aaabb")}, quasi=["q"])
    >>> print(AverageRisk(at_most=0.2).check(t))
    the average risk is 0.4 (limit 0.2) in 2 of 2 classes
    """

    name: ClassVar[str] = "average-risk"
    beside_cover: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {"at-most": 0.1}
    paper: ClassVar[str] = "El Emam (2013), Guide to the de-identification of personal health data"
    shorthand: ClassVar[str] = "at_most"
    monotone: ClassVar[bool] = True

    at_most: Annotated[float, Field(gt=0, le=1, description="largest average risk allowed")]

    def keeps(self, grouping: Grouping) -> np.ndarray:
        return np.full(len(grouping), self._figure(grouping) <= self.at_most)

    def _figure(self, grouping: Grouping) -> float:
        return len(grouping) / max(int(grouping.sizes.sum()), 1)

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        figure = self._figure(grouping)
        met = figure <= self.at_most
        return Finding(
            requirement=self.name,
            subject="the average risk",
            value=figure,
            limit=self.at_most,
            met=met,
            at_least=False,
            broken=0 if met else len(grouping),
            of=len(grouping),
            detail={"classes": len(grouping), "records": table.height},
        )
