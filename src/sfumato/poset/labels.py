"""Generalizing what is generalized already: the least upper bound of published labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..protocols import Poset
from .valueset import ValueSetPoset


class LabelPoset(ValueSetPoset):
    """The labels of a column that a method generalized before, joined by the poset they came from.

    A search sees them as categories; what is published for a group is the least upper bound in the
    first poset, never a set of labels.

    >>> from sfumato.poset.interval import Interval
    >>> ages = Interval().bind([20, 23, 29, 60])
    >>> LabelPoset(["[20, 23]", "[29, 60]", "60"], ages).lub(["[20, 23]", "60"])
    '[20, 60]'
    """

    def __init__(self, labels: Sequence[str], of: Poset) -> None:
        super().__init__(labels)
        self._of = of

    def count(self, label: str) -> int | None:
        return None

    def leq(self, lower: Any, upper: Any) -> bool:
        return self._of.leq(lower, upper)

    def lub(self, values: Iterable[Any]) -> str:
        return str(self._of.lub(values))

    def height(self, value: Any) -> int:
        return self._of.height(value)

    def measure(self, value: Any) -> float:
        return self._of.measure(value)

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return [
            self.lub(self._values[a - 1 : b])
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        ]

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        bounds = starts.tolist()
        members = [self._values[code - 1] for code in codes.tolist()]
        return [self.lub(members[a:b]) for a, b in pairwise(bounds)]
