"""Average risk of re-identification."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from .classes import Grouping
from .verdict import OfRelease


class AverageRisk(OfRelease):
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
    example: ClassVar[dict[str, Any]] = {"at-most": 0.1}
    paper: ClassVar[str] = "El Emam (2013), Guide to the de-identification of personal health data"
    subject: ClassVar[str] = "the average risk"
    monotone: ClassVar[bool] = True

    at_most: float = Field(gt=0, le=1, description="largest average risk allowed")

    def _figure(self, grouping: Grouping) -> tuple[float, dict[str, Any]]:
        return len(grouping) / max(int(grouping.sizes.sum()), 1), {}
