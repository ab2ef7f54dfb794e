"""Dates and moments in every form that people write, also several in one column."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..schema import Kind
from .view import ENOUGH, View

_D, _M, _Y = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:1[5-9]\d\d|2[01]\d\d)"
# The years of other calendars, and the digits of other scripts.
_Y_ANY = r"(?:1[3-9]\d\d|2[0-6]\d\d)"
_ERA = r"(?:明治|大正|昭和|平成|令和|民國|民国|[MTSHR]\.?) ?(?:元|\d{1,3})"
# The first letters of the months in many languages.
_MONTH = (
    r"(?:jan|ene|gen|sty|feb|fev|fév|lut|mar|mär|mrz|mrt|maa|apr|avr|abr|kwi|may|mai|mag|mei|maj"
    r"|jun|jui|giu|cze|jul|lug|lip|aug|aou|aoû|ago|sie|sep|set|wrz|oct|okt|ott|out|paź|paz|nov|noi"
    r"|lis|dec|déc|dez|dic|gru|des|tammi|helmi|huhti|touko|kesä|heinä|elo|syys|loka|marras|joulu"
    r"|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara|led|úno|bře|dub|kvě|čer|srp|zář|říj|pro|már|ápr|máj|jún"
    r"|júl|sze|ian|iun|iul|янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек|січ|лют|бер|кві|тра|чер|лип"
    r"|сер|вер|жов|лис|гру|ιαν|φεβ|μαρ|απρ|μα[ιΐϊ]|ιου|αυγ|σεπ|οκτ|νοε|δεκ|يناير|فبراير|مارس|[أا]بريل|مايو"
    r"|يوني|يولي|[أا]غسطس|سبتمبر|[أا]كتوبر|نوفمبر|ديسمبر)\p{L}*"
)
_OF = r"(?:de |del |di |of |van )?"
_TIME = (
    r"[T ,]+(?:um |à |at )?\d{1,2}[:h.]\d{2}(?::\d{2}(?:[.,]\d+)?)? ?(?:[ap]\.?m\.?|uhr)?"
    r"(?:z| ?utc| ?[+-]\d\d(?::?\d\d)?)?"
)
_DAY = r"(?:\p{L}{2,10}[.,]? )?"
_DATES = (
    rf"{_Y}[-/. ]{_M}[-/. ]{_D}",
    rf"{_D}[-/. ]{_M}[-/. ](?:{_Y}|\d\d)",
    rf"{_M}[-/]{_D}[-/](?:{_Y}|\d\d)",
    rf"{_D}(?:\.|st|nd|rd|th|er|º)?[ -]?{_OF}{_MONTH}\.?,?[ -]?{_OF}(?:{_Y}|\d\d)",
    rf"{_MONTH}\.? {_D}(?:st|nd|rd|th)?,? {_Y}",
    rf"{_Y}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])",
    rf"(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2]){_Y}",
    rf"{_Y}[- ]{_MONTH}[- ]{_D}",
    rf"{_Y_ANY}[-/.]{_M}[-/.]{_D}",
    rf"{_D}[-/.]{_M}[-/.]{_Y_ANY}",
    rf"\d{{4}} ?[年년] ?{_M} ?[月월] ?{_D} ?[日일]?",
    rf"\d{{4}}\. ?{_M}\. ?{_D}\.?",
    rf"{_ERA} ?[年./-] ?{_M} ?[月./-] ?{_D} ?日?",
    r"[\p{Nd}--0-9]{4}[-/.][\p{Nd}--0-9]{1,2}[-/.][\p{Nd}--0-9]{1,2}",
    r"[\p{Nd}--0-9]{1,2}[-/. ](?:[\p{Nd}--0-9]{1,2}|\p{L}+)[-/. ][\p{Nd}--0-9]{4}",
    rf"ngày {_D} tháng {_M} năm {_Y}",
)
_MONTHS = (
    *(rf"{_M}[-/.]{_Y}", rf"{_Y}[-/.]{_M}", rf"{_MONTH}\.?[ -/]{_OF}{_Y}"),
    *(rf"\d{{4}} ?[年년] ?{_M} ?[月월]", rf"{_ERA}年(?:{_M}月)?"),
)
DATE = f"(?i){_DAY}(?:{'|'.join((*_DATES, *_MONTHS))})(?: ?г\\.?| года)?"
MOMENT = f"(?i){_DAY}(?:{'|'.join(_DATES)}){_TIME}"
CLOCK = r"(?i)(?:[01]?\d|2[0-3])[:h][0-5]\d(?::[0-5]\d)?(?: ?[ap]m)?"
_MOST, _SOME = 0.5, 0.3
_FEW_MOMENTS = 0.5
_FIRST, _LAST = 1850, 2150
_SECONDS, _MILLISECONDS = (3e8, 4.2e9), (3e11, 4.2e12)
_SERIALS = (3_650, 73_051)


def dated(view: View, named: bool) -> str | None:
    """ "date", "date-time" or None; where the name speaks of a date, fewer values must be one."""
    if view.kind == Kind.DATE:
        return "date-time" if _has_times(view.values) else "date"
    if view.kind == Kind.CONTINUOUS and not named:
        return None
    if view.values.dtype.is_numeric():
        return _numeric(view, named)
    if not view.textual or not len(view.texts):
        return None
    moments = view.share(MOMENT)
    found = view.share(DATE) + moments
    if found < _MOST and view.share(CLOCK) >= _MOST and view.distinct > ENOUGH:
        return "date-time"
    if found < (_SOME if named else _MOST):
        return None
    return "date-time" if moments > _FEW_MOMENTS * found else "date"


def _has_times(values: pl.Series) -> bool:
    """Whether moments are told more finely than by days."""
    if not isinstance(values.dtype, pl.Datetime):
        return False
    return bool((values.dt.truncate("1d") != values).any())


def _numeric(view: View, named: bool) -> str | None:
    """20240131, or where the name says so seconds since 1970 and days of a spreadsheet."""
    if not view.whole_numbers:
        return None
    low, high = view.range
    numbers = view.numbers
    spans = low >= _FIRST * 10_000 and high < _LAST * 10_000
    if spans and _fits(numbers % 100, numbers // 100 % 100):
        return "date"
    if named and low >= 1_010_000 and high < 32_000_000:
        years = numbers % 10_000
        if _fits(numbers // 1_000_000, numbers // 10_000 % 100) and years.min() >= _FIRST:
            return "date"
    if named and (is_seconds(view) or (_MILLISECONDS[0] <= low and high <= _MILLISECONDS[1])):
        return "date-time"
    return "date" if named and _SERIALS[0] <= low and high <= _SERIALS[1] else None


def is_seconds(view: View) -> bool:
    """Whether whole numbers can be seconds since 1970, of our time."""
    if not view.values.dtype.is_integer() or not len(view.numbers):
        return False
    return _SECONDS[0] <= view.range[0] and view.range[1] <= _SECONDS[1]


def _fits(day: np.ndarray, month: np.ndarray) -> bool:
    """Whether nearly all numbers can be days and months."""
    return bool(((day >= 1) & (day <= 31) & (month >= 1) & (month <= 12)).mean() > 0.95)


def is_years(view: View, named: bool) -> bool:
    """Whether whole numbers are years: between 1850 and 2150, and by themselves near to ours."""
    if not len(view.numbers) or not view.whole_numbers:
        return False
    low, high = view.range
    if named:
        usual = np.quantile(view.numbers, (0.05, 0.95))
        return bool(usual[0] >= _FIRST and usual[1] <= _LAST)
    return low >= 1900 and high <= 2040 and view.distinct >= 5
