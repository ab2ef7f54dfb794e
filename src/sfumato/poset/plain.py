"""The two plainest posets: values that are never generalized, and values that are kept or
suppressed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import MethodError
from ..protocols import PosetSource, Structure
from .bound import check_codes
from .values.text import SUPPRESSED, text
from .valueset import ValueSetPoset


class Suppression(PosetSource):
    """Values that are published or suppressed, with nothing in between.

    >>> sex = Suppression().bind(["f", "m"])
    >>> sex.lub(["f", "f"]), sex.lub(["f", "m"]), sex.measure("*")
    ('f', '*', 1.0)
    """

    name: ClassVar[str] = "suppression"
    paper: ClassVar[str] = (
        "H. Katirai: A theory and toolkit for the mathematics of privacy, 2006 (SuppressionPoset)"
    )

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> SuppressionPoset:
        """The column's values and "*"; `counts` is not looked at."""
        return SuppressionPoset([text(value) for value in domain])


class SuppressionPoset(ValueSetPoset):
    """The distinct values of one column, and "*" above them all.

    A set of values is suppressed unless its smallest is its largest. Sets that another tool
    published are read, and measured by the values that they leave open.
    """

    spans: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._values):,} values)"

    @property
    def structure(self) -> Structure:
        return Structure(sets=self, levels=self)

    def count(self, label: str) -> int | None:
        return None

    def _label(self, codes: Sequence[int]) -> str:
        return super()._label(codes) if len(codes) == 1 else SUPPRESSED

    def height(self, value: Any) -> int:
        return min(super().height(value), 1)

    @cached_property
    def level_ids(self) -> np.ndarray:
        """int32 (1, m + 1): one level, at which every value is alone."""
        return np.arange(len(self._values) + 1, dtype=np.int32)[None, :]

    def level_costs(self, by: str = "ncp") -> np.ndarray:
        """float64 (1, m + 1): a value that is published costs nothing."""
        return np.zeros(self.level_ids.shape)


class PassThrough(PosetSource):
    """Values that are never generalized and cost nothing.

    Each record keeps its own value, whatever its group holds. A quasi-identifier that is passed
    through still counts for k-anonymity: this is meant for columns that no intruder can know.

    >>> bill = PassThrough().bind([120, 4000])
    >>> bill.lub([120, 4000]), bill.measure("4000")
    ('120', 0.0)
    """

    name: ClassVar[str] = "pass-through"
    paper: ClassVar[str] = (
        "H. Katirai: A theory and toolkit for the mathematics of privacy, 2006 (PassThroughPoset)"
    )

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> PassThroughPoset:
        """The column's values, none above another; `counts` is not looked at."""
        return PassThroughPoset([text(value) for value in domain])


class PassThroughPoset(SuppressionPoset):
    """The distinct values of one column, each as good as any other.

    Verbs leave the column as it is (`Structure.unchanged`). A least upper bound is the first value
    that was given, and only a suppressed value costs anything.
    """

    @property
    def structure(self) -> Structure:
        return Structure(sets=self, levels=self, unchanged=True)

    def leq(self, lower: Any, upper: Any) -> bool:
        # To have no name for a group means that no value tells more than another.
        return bool(upper == SUPPRESSED or lower != SUPPRESSED)

    def lub(self, values: Iterable[Any]) -> str:
        for value in values:
            return text(value)
        raise ValueError("nothing has no least upper bound -> give at least one value")

    def height(self, value: Any) -> int:
        return int(value == SUPPRESSED)

    def measure(self, value: Any) -> float:
        return float(value == SUPPRESSED)

    @cached_property
    def level_ids(self) -> np.ndarray:
        """int32 (1, m + 1): one level, at which all values are alike."""
        return np.zeros((1, len(self._values) + 1), dtype=np.int32)

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        check_codes(low, high, len(self._values))
        if bool((low != high).any()):
            raise MethodError(
                "a column that is passed through has no value for a whole group",
                remedy="leave it out of `columns`; its values are published as they are",
            )
        return [self._label([code]) for code in low.tolist()]

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        starts, codes = np.asarray(starts, dtype=np.int64), np.asarray(codes, dtype=np.int64)
        return self.labels(codes[starts[:-1]], codes[starts[1:] - 1])
