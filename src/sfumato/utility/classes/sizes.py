"""Information loss read off the sizes of equivalence classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...criteria.classes import equivalence_classes
from ...data.linkage.linking import require_records
from ...protocols import Context, Measurement
from ..cells import untold
from ..loss import TableLoss

_BEFORE = "the same figure before masking"


class Discernibility(TableLoss):
    """Sum of squared class sizes.

    Each record costs the number of records that it cannot be told from: those that are published
    alike, sets with the same items. A suppressed record, dropped from the table or published with
    every quasi-identifier suppressed, cannot be told from any and costs the size of the original.
    Sets that show nothing are a class like others. `detail["share"]` is the figure divided by its
    largest value, the squared size of the original.

    >>> import sfumato as sf
    >>> original, masked = {"q": ["a", "b", "c", "d"]}, {"q": ["ab", "ab", "cd", "cd"]}
    >>> sf.measure("discernibility", sf.table(original, quasi="q"), masked).value
    8.0
    """

    name: ClassVar[str] = "discernibility"
    paper: ClassVar[str] = (
        "Bayardo & Agrawal (2005), Data privacy through optimal k-anonymization, ICDE"
    )
    decimals: ClassVar[int | None] = None
    usual: ClassVar[bool] = True

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        n = pair.original.height
        classes = equivalence_classes(pair.masked)
        hidden = untold(pair, classes.columns)
        dropped = max(n - pair.masked.height, 0)
        cost = np.where(hidden, n, classes.of_records(classes.sizes))
        value = float(cost.sum()) + float(n) * dropped
        detail = {
            "classes": len(classes),
            "records": pair.masked.height,
            "suppressed_records": dropped + int(hidden.sum()),
            "share": value / float(n) ** 2,
            "baseline": _BEFORE,
        }
        return self.result(
            value,
            baseline=float(np.sum(equivalence_classes(pair.original).sizes ** 2)),
            per_record=cost.astype(np.float64),
            detail=detail,
        )


class AverageClassSize(TableLoss):
    """Records per class, divided by k.

    1 is the least that k-anonymous classes can have, if k is given; without it the figure is the
    mean class size.

    >>> import sfumato as sf
    >>> original, masked = {"q": ["a", "b", "c", "d"]}, {"q": ["ab", "ab", "cd", "cd"]}
    >>> sf.measure("average-class-size", sf.table(original, quasi="q"), masked, k=2).value
    1.0
    """

    name: ClassVar[str] = "average-class-size"
    paper: ClassVar[str] = (
        "LeFevre, DeWitt & Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE"
    )
    decimals: ClassVar[int | None] = None
    usual: ClassVar[bool] = True

    k: int = Field(1, ge=1, description="the k to divide by")

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        classes = equivalence_classes(pair.masked)
        before = equivalence_classes(pair.original)
        detail: dict[str, Any] = {
            "classes": len(classes),
            "records": pair.masked.height,
            "k": self.k,
            "baseline": _BEFORE,
        }
        if pair.masked.height < pair.original.height:
            detail["dropped_records"] = pair.original.height - pair.masked.height
        return self.result(
            float(classes.sizes.mean()) / self.k,
            baseline=float(before.sizes.mean()) / self.k,
            detail=detail,
        )
