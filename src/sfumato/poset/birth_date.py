"""Dates of birth: a group's day, month or year if it shares one, else its age range."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from ..protocols import Poset, PosetSource, Structure
from .bound import pair_labels, places, sorted_codes, unknown
from .values.scale import _EPOCH, _date, _dates, _period
from .values.text import SUPPRESSED, text

DAY, MONTH, YEAR, RANGE, NOTHING = range(5)

_RANGE = re.compile(r"age ([0-9]+)(?:-([0-9]+)|(\+))?")
_DIGITS = re.compile(r"[0-9]{8}")
_SLASHED = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")


class BirthDate(PosetSource):
    """Dates of birth: day, month, year, then age range.

    A group is published as the day, the month "1978-02" or the year "1978" that all share; else,
    whether or not its years straddle two ranges, as the range of ages that holds them all on the
    base date, "age 19-30"; else as "*". Age is counted in birthdays, and whoever was born on
    29 February has one on 1 March in other years. Unless given, the base date is 1 January after
    the latest date of the column. Who is older than the last range is in "age 81+". The measure is
    the share of the days between the column's first and last that a label leaves open.

    >>> born = BirthDate(ages=[5, 18, 30, 45], base="2006-01-01").bind(
    ...     [dt.date(1978, 2, 1), dt.date(1978, 2, 13), dt.date(1978, 11, 13),
    ...      dt.date(1979, 10, 13), dt.date(1999, 5, 5)])
    >>> born.lub(["1978-02-01", "1978-02-13"]), born.lub(["1978-02", "1978-11-13"])
    ('1978-02', '1978')
    >>> born.lub(["1978", "1979-10-13"]), born.lub(["1978", "1999-05-05"])
    ('age 19-30', '*')
    """

    name: ClassVar[str] = "birth-date"
    aliases: ClassVar[tuple[str, ...]] = ("date-of-birth",)
    paper: ClassVar[str] = (
        "H. Katirai: A theory and toolkit for the mathematics of privacy, 2006 (DateOfBirthPoset)"
    )
    example: ClassVar[dict[str, Any]] = {"ages": [5, 18, 30, 45, 65, 80]}
    shorthand: ClassVar[str] = "ages"

    ages: tuple[Annotated[int, Field(ge=0, le=500)], ...] = Field(
        (5, 18, 30, 45, 65, 80),
        description="the last age of each range, rising; the first range begins at 0",
    )
    base: dt.date | None = Field(
        None, description="when ages are counted; else 1 January after the latest date"
    )
    midpoint: bool = Field(
        False,
        description="publish dates instead: the 15th of the month, 15 June of the year, or the "
        "birth date of who is of the range's middle age; ages beyond the last range are then "
        "suppressed, and a date that may stand for a range is read as one",
    )

    @field_validator("ages")
    @classmethod
    def _rising(cls, ages: tuple[int, ...]) -> tuple[int, ...]:
        if any(one >= other for one, other in pairwise(ages)):
            raise ValueError("each age must be larger than the one before")
        return ages

    @field_validator("base", mode="before")
    @classmethod
    def _as_date(cls, base: Any) -> Any:
        return _read_date(base) if isinstance(base, str) and _DIGITS.fullmatch(base) else base

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> BirthDatePoset:
        """The dates of the column; `counts` is not looked at."""
        days = np.unique([_day(_read_date(value)) for value in domain]).astype(np.int64)
        base = self.base
        if base is None:
            year = _date(days[-1]).year + 1 if days.size else 2000
            base = dt.date(min(year, dt.MAXYEAR), 1, 1)
        if days.size and days[-1] > _day(base):
            raise ValueError(
                f"{_date(days[-1])} lies after the base date {base} -> give a later `base`"
            )
        return BirthDatePoset(days, base, self.ages, midpoint=self.midpoint)


def _read_date(value: Any) -> dt.date:
    """A date as Polars, ISO 8601 (with or without hyphens) or the United States write it."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    spelt = text(value).strip()
    try:
        if _DIGITS.fullmatch(spelt):
            return dt.date(int(spelt[:4]), int(spelt[4:6]), int(spelt[6:]))
        if found := _SLASHED.fullmatch(spelt):
            return dt.date(int(found[3]), int(found[1]), int(found[2]))
        return dt.datetime.fromisoformat(spelt).date()
    except ValueError:
        raise unknown(
            "value", [spelt], "a date", 'write it as 1978-02-13, and use kind = "date"'
        ) from None


def _day(date: dt.date) -> int:
    return date.toordinal() - _EPOCH


def years_before(base: dt.date, years: int) -> dt.date:
    """The latest birth date of who is `years` old on the base date.

    >>> years_before(dt.date(2024, 2, 29), 1), years_before(dt.date(2023, 2, 28), 3)
    (datetime.date(2023, 2, 28), datetime.date(2020, 2, 28))
    """
    year = base.year - years
    if year < dt.MINYEAR:
        return dt.date.min
    try:
        return base.replace(year=year)
    except ValueError:
        return base.replace(year=year, day=28)


class Ages(NamedTuple):
    """Ages from `first` to `last`, None where there is no last, and their days of birth."""

    first: int
    last: int | None
    low: int
    high: int

    @property
    def label(self) -> str:
        """As it is published."""
        if self.last is None:
            return f"age {self.first}+"
        return f"age {self.first}" + (f"-{self.last}" if self.last > self.first else "")


class _Label(NamedTuple):
    """The days that a value or label stands for, and how coarse it is."""

    low: int
    high: int
    level: int


_EVERYTHING = _Label(_day(dt.date.min), _day(dt.date.max), NOTHING)


class BirthDatePoset(Poset):
    """The dates of birth of one column.

    Text is read as a label, and in a poset of midpoints as the coarsest that it may be; dates are
    values. `level_ids` numbers the day, month, year and range of each code, and `level_costs` says
    what each costs to publish. Days have height 0, "*" has height 4.
    """

    spans: ClassVar[bool] = True

    def __init__(
        self, days: np.ndarray, base: dt.date, ages: Sequence[int], *, midpoint: bool = False
    ) -> None:
        self.base, self._days, self._midpoint = base, days, midpoint
        firsts = [0, *(age + 1 for age in ages)]
        lasts: list[int | None] = [*ages, None]
        if midpoint:
            firsts, lasts = firsts[:-1], lasts[:-1]
        self.ranges = [self._range(a, b) for a, b in zip(firsts, lasts, strict=True)]
        # By day of birth: the oldest come first.
        self._starts = np.array([r.low for r in self.ranges[::-1]], dtype=np.int64)
        self._by_label = {r.label: r for r in self.ranges}
        self._middles = {self._middle(r): r for r in self.ranges} if midpoint else {}

    def __repr__(self) -> str:
        return f"BirthDatePoset({self._days.size:,} days, ages on {self.base})"

    @property
    def structure(self) -> Structure:
        return Structure(levels=self)

    def _range(self, first: int, last: int | None) -> Ages:
        high = _day(years_before(self.base, first))
        low = dt.date.min
        if last is not None and self.base.year - last - 1 >= dt.MINYEAR:
            low = years_before(self.base, last + 1) + dt.timedelta(1)
        return Ages(first, last, _day(low), high)

    def _middle(self, ages: Ages) -> str:
        """The birth date of who is of the middle age: half a year more where that is uneven."""
        years, half = divmod(ages.first + (ages.last or ages.first), 2)
        middle = years_before(self.base, years)
        if half:
            months = middle.year * 12 + middle.month - 1 - 6
            year, month = max(months // 12, dt.MINYEAR), months % 12 + 1
            last = _period(dt.date(year, month, 1), "month")[1].day
            middle = dt.date(year, month, min(middle.day, last))
        return middle.isoformat()

    def _ages(self, day: int) -> Ages | None:
        """The range of ages that a day of birth falls into."""
        at = int(np.searchsorted(self._starts, day, side="right")) - 1
        found = self.ranges[::-1][at] if at >= 0 else None
        return found if found is not None and day <= found.high else None

    def _read(self, value: Any) -> _Label:
        if not isinstance(value, str):
            day = _day(_read_date(value))
            return _Label(day, day, DAY)
        spelt = value.strip()
        if spelt == SUPPRESSED:
            return _EVERYTHING
        if spelt in self._middles:
            found = self._middles[spelt]
            return _Label(found.low, found.high, RANGE)
        if spelt.startswith("age"):
            return self._read_ages(spelt)
        if re.fullmatch("[0-9]{4}(-[0-9]{2})?", spelt):
            first, last = _dates(spelt)
            return _Label(_day(first), _day(last), MONTH if "-" in spelt else YEAR)
        date = _read_date(spelt)
        if self._midpoint and date.day == 15:
            step = "year" if date.month == 6 else "month"
            first, last = _period(date, step)
            return _Label(_day(first), _day(last), YEAR if step == "year" else MONTH)
        return _Label(_day(date), _day(date), DAY)

    def _read_ages(self, label: str) -> _Label:
        found = self._by_label.get(label)
        if found is None:
            known = ", ".join(r.label for r in self.ranges)
            what = _RANGE.fullmatch(label)
            where = f"one of the ranges {known}" if what else 'a range of ages such as "age 19-30"'
            raise unknown("label", [label], where, "mend `ages`")
        return _Label(found.low, found.high, RANGE)

    def _at(self, level: int, day: int) -> _Label | None:
        """What a day becomes at a level; None where it is in no range of ages."""
        if level == DAY:
            return _Label(day, day, DAY)
        if level == RANGE:
            ages = self._ages(day)
            return None if ages is None else _Label(ages.low, ages.high, RANGE)
        if level == NOTHING:
            return _EVERYTHING
        first, last = _period(_date(day), "month" if level == MONTH else "year")
        return _Label(_day(first), _day(last), level)

    def _join(self, low: int, high: int, level: int = DAY) -> _Label:
        """The finest label, of that level or coarser, that holds all days from low to high."""
        for coarser in range(level, NOTHING):
            found = self._at(coarser, low)
            if found is not None and high <= found.high:
                return found
        return _EVERYTHING

    def _label(self, found: _Label) -> str:
        if found.level == NOTHING:
            return SUPPRESSED
        if found.level == RANGE:
            ages = self._ages(found.low)
            assert ages is not None
            return self._middle(ages) if self._midpoint else ages.label
        date = _date(found.low)
        if self._midpoint and found.level != DAY:
            return date.replace(month=6 if found.level == YEAR else date.month, day=15).isoformat()
        return date.isoformat()[: {DAY: 10, MONTH: 7, YEAR: 4}[found.level]]

    def leq(self, lower: Any, upper: Any) -> bool:
        low, high = self._read(lower), self._read(upper)
        return high.low <= low.low and low.high <= high.high and low.level <= high.level

    def lub(self, values: Iterable[Any]) -> str:
        found = [self._read(value) for value in values]
        if not found:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        low, high = min(one.low for one in found), max(one.high for one in found)
        return self._label(self._join(low, high, max(one.level for one in found)))

    def height(self, value: Any) -> int:
        return self._read(value).level

    def measure(self, value: Any) -> float:
        return self._share(self._read(value))

    def _share(self, found: _Label) -> float:
        if found.level in (DAY, NOTHING):
            return float(found.level == NOTHING)
        if not self._days.size:
            return 0.0
        first, last = int(self._days[0]), int(self._days[-1])
        covered = min(found.high, last) - max(found.low, first)
        return min(max(covered / max(last - first, 1), 0.0), 1.0)

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        days = np.array([_day(_read_date(value)) for value in values], dtype=np.int64)
        return sorted_codes(self._days, days, lambda day: str(_date(day)))

    @cached_property
    def positions(self) -> np.ndarray:
        return places(self._days.astype(np.float64))

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        days = [0, *self._days.tolist()]
        return pair_labels(
            low, high, self._days.size, lambda a, b: self._label(self._join(days[a], days[b]))
        )

    @cached_property
    def _levels(self) -> list[list[_Label | None]]:
        """What each day becomes at each level; None where it has no range of ages."""
        return [[self._at(level, day) for day in self._days.tolist()] for level in range(NOTHING)]

    @cached_property
    def level_ids(self) -> np.ndarray:
        """int32 (4, m + 1): equal numbers at a level are published alike there."""
        out = np.zeros((4, self._days.size + 1), dtype=np.int32)
        for level, row in enumerate(self._levels):
            # Whoever has no range is alone at that level.
            keys = [(1, one.low) if one else (0, at) for at, one in enumerate(row)]
            number = {key: place for place, key in enumerate(dict.fromkeys(keys), 1)}
            out[level, 1:] = [number[key] for key in keys]
        return out

    def level_costs(self, by: str = "ncp") -> np.ndarray:
        """float64 (4, m + 1): what each code costs, published at each level."""
        out = np.zeros((4, self._days.size + 1))
        for level, row in enumerate(self._levels):
            if by == "height":
                out[level, 1:] = level / NOTHING
            else:
                out[level, 1:] = [0.0 if one is None else self._share(one) for one in row]
        return out
