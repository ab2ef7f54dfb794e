"""The labels of classes that are being joined, and what joining two would cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ...data.generalized.label_places import Labels
from ...data.schema import SUPPRESSED
from ...data.table import Table

MOST_PARTNERS = 64
"""Classes that are compared before two are joined; more would take too long."""


class Joining:
    """Classes by the row that each begins with; labels are read by the original's posets."""

    def __init__(self, masked: Table, original: Table, first: np.ndarray) -> None:
        names = masked.schema.quasi
        self._readers = [Labels.of(original, name) for name in names]
        rows = pl.Series(first)
        shown = [
            masked[name].cast(pl.String, strict=False).gather(rows).to_list() for name in names
        ]
        self._labels: list[list[Any]] = [list(one) for one in zip(*shown, strict=True)]

    def cheapest(self, one: int, others: Sequence[int]) -> int | None:
        """The class that joining `one` with costs least."""
        candidates = [other for other in others if other != one][:MOST_PARTNERS]
        return min(candidates, key=lambda other: self._cost(one, other), default=None)

    def _joined(self, j: int, a: Any, b: Any) -> Any:
        if a == b:
            return a
        if a is None or b is None or SUPPRESSED in (a, b):
            return SUPPRESSED
        try:
            return self._readers[j].poset(a).lub([a, b])
        except ValueError:
            return SUPPRESSED

    def _cost(self, one: int, other: int) -> float:
        total = 0.0
        for j, (a, b) in enumerate(zip(self._labels[one], self._labels[other], strict=True)):
            label = self._joined(j, a, b)
            if label is not None:
                total += 1.0 if label == SUPPRESSED else self._readers[j].measure(label)
        return total

    def join(self, one: int, other: int) -> None:
        """`other` becomes what the two have in common."""
        pairs = zip(self._labels[one], self._labels[other], strict=True)
        self._labels[other] = [self._joined(j, a, b) for j, (a, b) in enumerate(pairs)]
