"""Trees of dates: days in weeks, months, quarters, years and decades, or by the day of the week."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from ...protocols import PosetSource
from ..values.scale import MomentScale, NumberScale, _date, scale_of
from ..values.text import SUPPRESSED, text
from .grow import nodes_from_rows
from .tree import Tree

Period = Literal["day", "week", "month", "quarter", "year", "decade", "iso-year", "weekday"]

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WRITTEN: dict[str, Callable[[dt.date], str]] = {
    "day": lambda day: day.isoformat(),
    "week": lambda day: f"{day.isocalendar().year:04}-W{day.isocalendar().week:02}",
    "month": lambda day: day.isoformat()[:7],
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10:03}0-{day.year // 10:03}9",
    "iso-year": lambda day: f"{day.isocalendar().year:04} (ISO weeks)",
    "weekday": lambda day: _WEEKDAYS[day.weekday()],
}
_WITHIN: dict[str, tuple[str, ...]] = {
    "day": ("week", "month", "quarter", "year", "decade", "iso-year", "weekday"),
    "week": ("iso-year",),
    "month": ("quarter", "year", "decade"),
    "quarter": ("year", "decade"),
    "year": ("decade",),
    "decade": (),
    "iso-year": (),
    "weekday": (),
}
"""What each period lies within, wherever it lies."""


class DateTree(PosetSource):
    """Dates in ever longer periods: days, weeks, months, quarters, years, decades.

    A level is written "2020-03-14", "2020-W11", "2020-03", "2020-Q1", "2020" and "2020-2029". Each
    period must lie within one of the next. A week may lie in two months and in two years, so that
    above "week" there is only "iso-year", the year that ISO 8601 counts the week to, written
    "2020 (ISO weeks)"; and "weekday" ("Saturday") stands above days alone. Of dates with a time of
    day, "day" is a level of its own; of dates it is the value itself.

    >>> days = DateTree(levels=["month", "quarter", "year"]).bind(
    ...     [dt.date(2020, 3, 14), dt.date(2020, 3, 15), dt.date(2020, 5, 1), dt.date(2021, 1, 1)])
    >>> [days.at_level([dt.date(2020, 3, 14)], level)[0] for level in range(days.levels)]
    ['2020-03-14', '2020-03', '2020-Q1', '2020', '*']
    >>> days.lub(["2020-Q1", "2020-05-01"]), days.measure("2020-Q1")
    ('2020', 0.3333333333333333)
    """

    name: ClassVar[str] = "date"
    example: ClassVar[dict[str, Any]] = {"levels": ["month", "quarter", "year"]}
    shorthand: ClassVar[str] = "levels"

    levels: tuple[Period, ...] = Field(
        ("month", "quarter", "year", "decade"),
        min_length=1,
        description="the periods, the finest first",
    )

    @field_validator("levels")
    @classmethod
    def _nested(cls, levels: tuple[Period, ...]) -> tuple[Period, ...]:
        for fine, coarse in pairwise(levels):
            if coarse in _WITHIN[fine]:
                continue
            if fine == coarse or fine in _WITHIN[coarse]:
                raise ValueError(f'"{coarse}" is not coarser than "{fine}": the finest come first')
            if fine == "week":
                remedy = 'leave one out, or write ["week", "iso-year"]'
            else:
                remedy = "leave one out"
            raise ValueError(f'not every {fine} lies within one {coarse} -> {remedy}')
        return levels

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The periods of the column's dates; `counts` is not looked at."""
        stray = [value for value in domain if not isinstance(value, dt.date | np.datetime64)]
        if stray:
            raise ValueError(f'{text(stray[0])!r} is no date -> kind = "date" for the column')
        scale = scale_of(domain)
        timed = isinstance(scale, MomentScale)
        numbers = [] if isinstance(scale, NumberScale) else np.unique(scale.array(domain)).tolist()
        days = [_date(number // scale.day) for number in numbers]
        # Of dates without a time, the day is the value.
        levels = [level for level in self.levels if timed or level != "day"]
        columns = [[_WRITTEN[level](day) for day in days] for level in levels]
        leaves = [scale.text(number) for number in numbers]
        rows = list(zip(leaves, *columns, [SUPPRESSED] * len(days), strict=True))
        if "weekday" in levels:
            # Monday comes first, whichever day the earliest date is.
            rows = [rows[i] for i in sorted(range(len(days)), key=lambda i: days[i].weekday())]
        name = "the tree of dates"
        return Tree(nodes_from_rows(rows, name, levels=len(levels) + 2), name)
