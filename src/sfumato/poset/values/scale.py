"""Scales: how numbers, dates and times become numbers that can be compared, and text again."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from .text import float_text, text

Number = int | float
Step = float | Literal["month", "year"]

_EPOCH = dt.date(1970, 1, 1).toordinal()
_MIDNIGHT = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_DAY = 86_400_000_000
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_PERIOD = r"[0-9]{4}(?:-[0-9]{2})?"


class Scale(ABC):
    """An order on values: every value is a number, every number has a text."""

    whole: bool = True
    """Whether values are whole numbers of steps, so that "below 30" is "29 at most"."""
    pattern: str
    """A regular expression for one value."""
    separators: str = r",|;|-|–|—|\.\.\.?|…|to"
    """What may stand between the ends of an interval."""
    dtype: Any = np.int64
    day: int = 1
    """A day, or one where values are no dates."""
    least: Number = -math.inf
    most: Number = math.inf
    """The first and the last number that has a text."""

    @abstractmethod
    def number(self, value: Any) -> Number:
        """The number of a value."""

    @abstractmethod
    def text(self, number: Number) -> str:
        """The text of a number; reads back as the same number."""

    @abstractmethod
    def span(self, text: str) -> tuple[Number, Number]:
        """The first and last number that a text may stand for: "2020" is a whole year of dates."""

    @abstractmethod
    def floor(self, number: Number, step: Step) -> Number:
        """The largest multiple of the step that is not above the number."""

    @abstractmethod
    def ceil(self, number: Number, step: Step) -> Number:
        """The smallest multiple of the step that is not below the number."""

    @abstractmethod
    def check_step(self, step: Step) -> None:
        """`ValueError` where the scale has no such step."""

    def array(self, values: Sequence[Any]) -> np.ndarray:
        """The numbers of many values."""
        try:
            return np.array(self._numbers(values), dtype=self.dtype)
        except OverflowError:
            raise ValueError(
                'it holds whole numbers beyond 64 bits -> if they are codes, use kind = "nominal"'
            ) from None

    def _numbers(self, values: Sequence[Any]) -> Sequence[Number] | np.ndarray:
        return [self.number(value) for value in values]

    def positions(self, numbers: np.ndarray) -> np.ndarray:
        """Where the numbers lie, as float64; dates and times in days."""
        return numbers.astype(np.float64)


class NumberScale(Scale):
    """Whole or real numbers."""

    pattern = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self.dtype = np.int64 if whole else np.float64

    def number(self, value: Any) -> Number:
        if isinstance(value, str):
            return self.span(value)[0]
        if isinstance(value, np.generic):
            value = value.item()
        try:
            found = value if isinstance(value, int) else float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{text(value)!r} is not a number") from None
        return self._tidy(found)

    def _tidy(self, number: Number) -> Number:
        if isinstance(number, int) and self.whole:
            return number
        try:
            number = float(number) + 0.0  # -0.0 and 0.0 are one place
        except OverflowError:
            raise ValueError(f"{number} is too large for a column of real numbers") from None
        if not math.isfinite(number):
            raise ValueError(f"{number} has no place in an interval -> make it missing")
        return int(number) if self.whole and number.is_integer() else number

    def _numbers(self, values: Sequence[Any]) -> Sequence[Number] | np.ndarray:
        types = set(map(type, values))
        if types == {int} and self.whole:
            return values
        if types == {float} and not self.whole:
            numbers = np.asarray(values, dtype=np.float64) + 0.0
            if np.isfinite(numbers).all():
                return numbers
        found = super()._numbers(values)
        if self.whole:
            stray = next((number for number in found if isinstance(number, float)), None)
            if stray is not None:
                raise ValueError(f'{stray} is not a whole number -> use kind = "continuous"')
        return found

    def text(self, number: Number) -> str:
        return str(number) if isinstance(number, int) else float_text(float(number))

    def span(self, text: str) -> tuple[Number, Number]:
        try:
            found: Number = int(text) if re.fullmatch("[+-]?[0-9]+", text) else float(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a number") from None
        found = self._tidy(found)
        return found, found

    def check_step(self, step: Step) -> None:
        if isinstance(step, str):
            raise ValueError(f'numbers cannot be rounded to the "{step}" -> round_to = 5')

    def floor(self, number: Number, step: Step) -> Number:
        # In fractions of the decimal texts: three times 0.1 is 0.3, not 0.30000000000000004.
        unit = Fraction(repr(step))
        return self._tidy(_plain(math.floor(Fraction(repr(number)) / unit) * unit))

    def ceil(self, number: Number, step: Step) -> Number:
        unit = Fraction(repr(step))
        return self._tidy(_plain(math.ceil(Fraction(repr(number)) / unit) * unit))


def _plain(number: Fraction) -> Number:
    return number.numerator if number.denominator == 1 else float(number)


class DateScale(Scale):
    """Dates, as days since 1970."""

    pattern = rf"(?:{_DATE}|{_PERIOD})"
    separators = Scale.separators + "|/"
    least = dt.date.min.toordinal() - _EPOCH
    most = dt.date.max.toordinal() - _EPOCH

    def number(self, value: Any) -> Number:
        if isinstance(value, str):
            return self.span(value)[0]
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[D]").item()
        if not isinstance(value, dt.date):
            raise ValueError(f"{text(value)!r} is not a date")
        return value.toordinal() - _EPOCH

    def _numbers(self, values: Sequence[Any]) -> Sequence[Number] | np.ndarray:
        if set(map(type, values)) == {dt.date}:
            return np.fromiter(map(dt.date.toordinal, values), np.int64, len(values)) - _EPOCH
        return super()._numbers(values)

    def text(self, number: Number) -> str:
        return _date(number).isoformat()

    def span(self, text: str) -> tuple[Number, Number]:
        first, last = _dates(text)
        return first.toordinal() - _EPOCH, last.toordinal() - _EPOCH

    def check_step(self, step: Step) -> None:
        if not isinstance(step, str) and step != int(step):
            raise ValueError(f'dates are rounded to whole days, not {step} -> round_to = "month"')

    def floor(self, number: Number, step: Step) -> Number:
        if isinstance(step, str):
            return _period(_date(number), step)[0].toordinal() - _EPOCH
        return max(int(number // step * step), self.least)

    def ceil(self, number: Number, step: Step) -> Number:
        if isinstance(step, str):
            return _period(_date(number), step)[1].toordinal() - _EPOCH
        return min(int(-(-number // step) * step), self.most)


class MomentScale(Scale):
    """Dates with a time of day (no time zone), as microseconds since 1970."""

    pattern = rf"(?:{_DATE}(?:[T ]{_TIME})?|{_PERIOD})"
    separators = Scale.separators + "|/"
    day = _DAY
    least = (dt.datetime.min - _MIDNIGHT) // _MICROSECOND
    most = (dt.datetime.max - _MIDNIGHT) // _MICROSECOND

    def number(self, value: Any) -> Number:
        if isinstance(value, str):
            return self.span(value)[0]
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if not isinstance(value, dt.date):
            raise ValueError(f"{text(value)!r} is not a date")
        if not isinstance(value, dt.datetime):
            value = dt.datetime.combine(value, dt.time())
        if value.tzinfo is not None:
            raise ValueError(
                f"{value.isoformat()} has a time zone -> convert the column to local time"
            )
        since: dt.timedelta = value - _MIDNIGHT
        return since // _MICROSECOND

    def text(self, number: Number) -> str:
        return (_MIDNIGHT + int(number) * _MICROSECOND).isoformat()

    def span(self, text: str) -> tuple[Number, Number]:
        if ":" in text:
            try:
                moment = dt.datetime.fromisoformat(text)
            except ValueError:
                raise ValueError(f"{text!r} is not a date and time") from None
            number = self.number(moment)
            return number, number
        first, last = _dates(text)
        return self.number(first), self.number(last) + _DAY - 1

    def check_step(self, step: Step) -> None:
        DateScale().check_step(step)

    def floor(self, number: Number, step: Step) -> Number:
        return DateScale().floor(number // _DAY, step) * _DAY

    def ceil(self, number: Number, step: Step) -> Number:
        if isinstance(step, str):
            return DateScale().ceil(number // _DAY, step) * _DAY + _DAY - 1
        return DateScale().ceil(-(-number // _DAY), step) * _DAY

    def positions(self, numbers: np.ndarray) -> np.ndarray:
        return numbers / _DAY


def _date(number: Number) -> dt.date:
    return dt.date.fromordinal(int(number) + _EPOCH)


def _dates(text: str) -> tuple[dt.date, dt.date]:
    """The first and last day of a date, a month ("2020-03") or a year ("2020")."""
    try:
        if re.fullmatch(_DATE, text):
            day = dt.date.fromisoformat(text)
            return day, day
        if re.fullmatch(_PERIOD, text):
            first = dt.date.fromisoformat(f"{text}-01" if "-" in text else f"{text}-01-01")
            return _period(first, "month" if "-" in text else "year")
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a date (YYYY-MM-DD)")


def _period(day: dt.date, step: str) -> tuple[dt.date, dt.date]:
    if step == "year":
        return day.replace(month=1, day=1), day.replace(month=12, day=31)
    return day.replace(day=1), day.replace(day=calendar.monthrange(day.year, day.month)[1])


# One of each, so that what was read on a scale can be looked up by it.
_WHOLE, _REAL = NumberScale(whole=True), NumberScale(whole=False)
_DAYS, _MOMENTS = DateScale(), MomentScale()


def scale_of(values: Sequence[Any]) -> Scale:
    """The scale on which these values lie; `ValueError` if they are neither numbers nor dates."""
    types = {type(value) for value in values}
    if all(issubclass(t, int | np.integer) and not issubclass(t, bool) for t in types):
        return _WHOLE if types else _REAL
    if all(issubclass(t, dt.date | np.datetime64) for t in types):
        timed = types != {dt.date} and any(
            (isinstance(v, dt.datetime) and (v.tzinfo is not None or v.time() != dt.time()))
            or (isinstance(v, np.datetime64) and v != v.astype("datetime64[D]"))
            for v in values
        )
        return _MOMENTS if timed else _DAYS
    no_numbers = str | bool | np.bool_ | dt.date | dt.time | dt.timedelta | None
    stray = [value for value in values if isinstance(value, no_numbers)]
    if not stray:
        return _REAL
    raise ValueError(
        f"value {text(stray[0])!r} has no place on a scale of numbers or dates -> "
        'use the poset "value-set" or "hierarchy", or mend the column\'s kind'
    )
