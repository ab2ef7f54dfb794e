"""Intervals: numbers and dates generalize to the range from a group's smallest to its largest."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..protocols import Poset, PosetSource, Structure
from .bound import check_codes, pair_labels, places, sorted_codes
from .values.ranges import EVERYTHING, Range, hull, range_label, read_range
from .values.scale import Number, Scale, Step, scale_of


class Interval(PosetSource):
    """Numbers and dates, widened to intervals.

    >>> ages = Interval().bind([20, 23, 29, 60])
    >>> ages.lub([20, 29, 23]), ages.lub([23]), ages.measure("[20, 30]"), ages.leq(23, "20-29")
    ('[20, 29]', '23', 0.25, True)
    >>> Interval(round_to=5).bind([21, 23, 29]).lub([21, 29])
    '[20, 30]'
    >>> few = Interval(low=0, high=120, max_width=25).bind([10, 30, 90])
    >>> few.measure("[10, 15]"), few.measure("[10, 35]"), few.measure("[10, 90]")
    (0.2, 1.0, 1.0)
    """

    name: ClassVar[str] = "interval"
    aliases: ClassVar[tuple[str, ...]] = ("range",)
    paper: ClassVar[str] = (
        "K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Mondrian multidimensional k-anonymity, 2006"
    )

    low: int | float | dt.date | None = Field(
        None, description="lower end of the domain to measure against; else the smallest value"
    )
    high: int | float | dt.date | None = Field(
        None, description="upper end of the domain to measure against; else the largest value"
    )
    round_to: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["month", "year"] = Field(
        0,
        description="published intervals are widened to multiples of it "
        '(dates: a number of days, "month" or "year"); 0 leaves them as they are',
    )
    max_width: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="from this width on (dates: days) an interval is worth as little as a "
        "suppressed value; the width of the domain unless given",
    )

    @property
    def interval_step(self) -> Any:
        return self.round_to

    @property
    def ends(self) -> tuple[Any, Any]:
        return self.low, self.high

    def with_ends(self, low: Any, high: Any) -> Interval:
        return self.model_copy(update={"low": low, "high": high})

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> IntervalPoset:
        """The intervals over the column's values; `counts` is not looked at."""
        given = [end for end in (self.low, self.high) if end is not None]
        scale = scale_of(domain if len(domain) else given)
        values = np.unique(scale.array(domain))
        ends: list[Number] = [values[0].item(), values[-1].item()] if values.size else [0, 0]
        for i, (name, end) in enumerate((("low", self.low), ("high", self.high))):
            if end is not None:
                try:
                    ends[i] = scale.number(end)
                except ValueError as error:
                    remedy = "give it as the column's values are"
                    raise ValueError(f"{name}: {error} -> {remedy}") from None
        if not values.size and len(given) == 1:
            ends = [scale.number(given[0])] * 2
        if ends[0] > ends[1]:
            raise ValueError(
                f"the domain would run from {scale.text(ends[0])} down to {scale.text(ends[1])} -> "
                "mend `low` and `high`"
            )
        if self.round_to:
            scale.check_step(self.round_to)
        return IntervalPoset(scale, values, Range(ends[0], ends[1]), self.round_to, self.max_width)


class IntervalPoset(Poset):
    """Intervals over the distinct values of one column.

    Text is read as a label ("25", "[20, 29]", "<=30", "*"); numbers and dates are values. An exact
    value has height 0, an interval 1, a suppressed value 2. An interval as wide as `full_width` is
    worth no more than a suppressed value.
    """

    spans: ClassVar[bool] = True

    def __init__(
        self,
        scale: Scale,
        values: np.ndarray,
        domain: Range,
        round_to: Step = 0,
        max_width: float | None = None,
    ) -> None:
        self._scale, self._values, self._domain, self._step = scale, values, domain, round_to
        self._max_width = max_width

    def __repr__(self) -> str:
        domain = range_label(self._domain, self._scale)
        return f"IntervalPoset({self._values.size:,} values in {domain})"

    @property
    def structure(self) -> Structure:
        return Structure(line=self, full_width=self.full_width)

    def keys(self, values: Sequence[Any]) -> np.ndarray:
        """The values as numbers."""
        try:
            # Whole numbers stay whole: beyond 2**53 floats cannot tell neighbours apart.
            return np.asarray(self._scale.array(values))
        except ValueError:
            return np.array([self._scale.number(value) for value in values], dtype=np.float64)

    def ends(self, label: str) -> Range:
        """The range that a label stands for."""
        return read_range(label, self._scale)

    def _range(self, value: Any) -> Range:
        if isinstance(value, str):
            return read_range(value, self._scale)
        number = self._scale.number(value)
        return Range(number, number)

    def leq(self, lower: Any, upper: Any) -> bool:
        return self._range(upper).covers(self._range(lower))

    def lub(self, values: Iterable[Any]) -> str:
        ranges = [self._range(value) for value in values]
        if not ranges:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        found = hull(ranges)
        return range_label(self._widened(found), self._scale)

    def _widened(self, found: Range) -> Range:
        if not self._step or found.exact:
            return found
        low, high, low_open, high_open = found.low, found.high, found.low_open, found.high_open
        if low != EVERYTHING.low and self._scale.floor(low, self._step) != low:
            low, low_open = self._scale.floor(low, self._step), False
        if high != EVERYTHING.high and self._scale.ceil(high, self._step) != high:
            high, high_open = self._scale.ceil(high, self._step), False
        return Range(low, high, low_open, high_open)

    def height(self, value: Any) -> int:
        found = self._range(value)
        return 0 if found.exact else 2 if found == EVERYTHING else 1

    def height_share(self, label: str) -> float:
        # There is no ladder between a value and everything: the share of the domain stands in.
        return self.measure(label)

    def measure(self, value: Any) -> float:
        found = self._range(value)
        if found.exact:
            return 0.0
        if found == EVERYTHING:
            return 1.0
        low, high = self._domain.low, self._domain.high
        if self._max_width is not None:
            ends = np.clip([found.low, found.high], low, high)
            return min(self._width(*ends.tolist()) / self._max_width, 1.0)
        covered = min(found.high, high) - max(found.low, low)
        return min(max(covered / (high - low), 0.0), 1.0) if high > low else 0.0

    def _width(self, low: Number, high: Number) -> float:
        """The width of a range as `positions` measures it: dates and times in days."""
        first, last = self._scale.positions(np.array([low, high])).tolist()
        return float(last - first)

    @property
    def full_width(self) -> float:
        """The width, as `positions` measures it, that costs as much as a suppressed value."""
        if self._max_width is not None:
            return self._max_width
        return self._width(self._domain.low, self._domain.high)

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        if not len(values):
            return np.zeros(0, dtype=np.int64)
        numbers = self._scale.array(values)
        return sorted_codes(self._values, numbers, self._scale.text)

    @cached_property
    def positions(self) -> np.ndarray:
        return places(self._scale.positions(self._values))

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        scale, step = self._scale, self._step
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        check_codes(low, high, self._values.size)
        marked = np.zeros(self._values.size + 1, dtype=bool)
        marked[low] = marked[high] = True
        used = np.flatnonzero(marked)
        numbers = dict(zip(used.tolist(), self._values[used - 1].tolist(), strict=True))
        exact = {code: scale.text(number) for code, number in numbers.items()}
        floor, ceil = exact, exact
        if step:
            floor = {code: scale.text(scale.floor(n, step)) for code, n in numbers.items()}
            ceil = {code: scale.text(scale.ceil(n, step)) for code, n in numbers.items()}
        return pair_labels(
            low,
            high,
            self._values.size,
            lambda a, b: exact[a] if a == b else f"[{floor[a]}, {ceil[b]}]",
        )
