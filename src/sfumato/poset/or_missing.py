"""Labels of groups in which only some miss a value: "[20, 29] or missing"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..protocols import Poset, Structure
from .values.text import SUPPRESSED, or_missing, without_missing


def share_of(poset: Poset, measured: float, *, mixed: bool) -> float:
    """The share of the domain and "missing" that is left open, given the share of the domain.

    Missing is one more value: of m values, a set of s costs (s - 1) / m, and s / m with missing.
    What is published of all values but an interval is "*", which could be missing, too.
    """
    if measured >= 1.0 and poset.structure.reads != "interval":
        return 1.0
    values = max(poset.positions.size - 1, 1)
    return (measured * (values - 1) + mixed) / values


class OrMissing(Poset):
    """A column's poset over values of which some are missing.

    >>> from sfumato.poset.interval import Interval
    >>> ages = OrMissing(Interval().bind([20, 23, 29, 60]))
    >>> ages.lub(["[20, 23] or missing", "29"]), ages.leq("23", "[20, 29] or missing")
    ('[20, 29] or missing', True)
    >>> ages.measure("[20, 60] or missing"), ages.measure("[20, 30]"), ages.leq(None, "20")
    (1.0, 0.1875, False)
    """

    spans: ClassVar[bool] = False

    def __init__(self, inner: Poset) -> None:
        self._inner = inner

    @property
    def structure(self) -> Structure:
        # How labels without missing values are joined and read says nothing of those with.
        return Structure()

    def leq(self, lower: Any, upper: Any) -> bool:
        if upper == SUPPRESSED:
            return True
        base, mixed = _parts(upper)
        if lower is None:
            return mixed
        value, some = _parts(lower)
        return (mixed or not some) and self._inner.leq(value, base)

    def lub(self, values: Iterable[Any]) -> Any:
        parts = [_parts(value) for value in values]
        found = str(self._inner.lub([base for base, _ in parts]))
        return or_missing(found) if any(mixed for _, mixed in parts) else found

    def height(self, value: Any) -> int:
        base, mixed = _parts(value)
        return max(self._inner.height(base), int(mixed))

    def height_share(self, label: str) -> float:
        # Of widths, which have no ladder, the share of the domain stands in.
        widths = self._inner.structure.reads == "interval"
        return self.measure(label) if widths else super().height_share(label)

    def measure(self, value: Any) -> float:
        base, mixed = _parts(value)
        if base == SUPPRESSED:
            return 1.0
        return share_of(self._inner, self._inner.measure(base), mixed=mixed)

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        return self._inner.codes(values)

    @property
    def positions(self) -> np.ndarray:
        return self._inner.positions

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return self._inner.labels(low, high)

    def count(self, label: str) -> int | None:
        base, mixed = _parts(label)
        found = self._inner.count(base)
        return None if found is None else found + mixed


def _parts(value: Any) -> tuple[Any, bool]:
    return without_missing(value) if isinstance(value, str) else (value, False)
