"""Intervals of numbers and dates as published text, and back.

Sfumato writes `[20, 29]`, `[20, 30)`, `<=30` and plain values. It reads those exactly, and the
commonest spellings of other tools: `20-29`, `[20-29]`, `[20, 30[`, `]20, 30]`, `20..29`,
`20 to 29`, `<30`, `65+`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .scale import Number, Scale
from .text import SUPPRESSED

INFINITY = math.inf


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, with or without the ends themselves."""

    low: Number
    high: Number
    low_open: bool = False
    high_open: bool = False

    @property
    def exact(self) -> bool:
        """Whether it holds one number only."""
        return self.low == self.high

    def covers(self, other: Range) -> bool:
        """Whether every number of `other` is in this range.

        >>> Range(0, 9).covers(Range(3, 9)), Range(0, 9, high_open=True).covers(Range(3, 9))
        (True, False)
        """
        return self._low_key <= other._low_key and other._high_key <= self._high_key

    @property
    def _low_key(self) -> tuple[Number, bool]:
        return self.low, self.low_open

    @property
    def _high_key(self) -> tuple[Number, bool]:
        return self.high, not self.high_open


EVERYTHING = Range(-INFINITY, INFINITY)


def hull(ranges: Iterable[Range]) -> Range:
    """The smallest range that covers them all."""
    listed = list(ranges)
    lowest = min(listed, key=lambda r: r._low_key)
    highest = max(listed, key=lambda r: r._high_key)
    return Range(lowest.low, highest.high, lowest.low_open, highest.high_open)


def range_label(found: Range, scale: Scale) -> str:
    """The text of a range.

    >>> from .scale import NumberScale
    >>> [range_label(r, NumberScale(whole=True)) for r in (Range(20, 29), Range(7, 7), EVERYTHING)]
    ['[20, 29]', '7', '*']
    """
    if found == EVERYTHING:
        return SUPPRESSED
    if found.low == -INFINITY:
        return f"{'<' if found.high_open else '<='}{scale.text(found.high)}"
    if found.high == INFINITY:
        return f"{'>' if found.low_open else '>='}{scale.text(found.low)}"
    if found.exact:
        return scale.text(found.low)
    left, right = "(" if found.low_open else "[", ")" if found.high_open else "]"
    return f"{left}{scale.text(found.low)}, {scale.text(found.high)}{right}"


@functools.cache
def _grammar(value: str, separators: str) -> tuple[re.Pattern[str], ...]:
    between = rf"\s*(?:{separators})\s*"
    return (
        re.compile(value),
        re.compile(
            rf"(?P<left>[\[(\]])\s*(?P<a>{value}){between}(?P<b>{value})\s*(?P<right>[\])\[])"
        ),
        re.compile(rf"(?P<a>{value}){between}(?P<b>{value})"),
        re.compile(rf"(?P<sign><=|>=|=<|=>|<|>|≤|≥)\s*(?P<a>{value})"),
        re.compile(rf"(?P<a>{value})\s*\+"),
    )


_AT_MOST, _AT_LEAST = ("<=", "=<", "≤"), (">=", "=>", "≥")


@functools.lru_cache(maxsize=1 << 16)
def read_range(label: str, scale: Scale) -> Range:
    """The range that a label stands for; `ValueError` if it is none.

    >>> from .scale import NumberScale
    >>> ages = NumberScale(whole=True)
    >>> [(r.low, r.high) for r in (read_range(t, ages) for t in ("[20, 29]", "20-29", "[20,30["))]
    [(20, 29), (20, 29), (20, 29)]
    """
    label = label.strip()
    if label == SUPPRESSED:
        return EVERYTHING
    value, bracketed, bare, compared, plus = _grammar(scale.pattern, scale.separators)
    if value.fullmatch(label):
        return Range(*scale.span(label))
    if found := (bracketed.fullmatch(label) or bare.fullmatch(label)):
        parts = found.groupdict()
        low_open, high_open = parts.get("left", "[") != "[", parts.get("right", "]") != "]"
        low = scale.span(parts["a"])[low_open]
        high = scale.span(parts["b"])[not high_open]
        return _checked(low, high, low_open, high_open, label, scale)
    if found := compared.fullmatch(label):
        first, last = scale.span(found["a"])
        if found["sign"] in _AT_MOST:
            return Range(-INFINITY, last)
        if found["sign"] in _AT_LEAST:
            return Range(first, INFINITY)
        if found["sign"] == "<":
            return _checked(-INFINITY, first, False, True, label, scale)
        return _checked(last, INFINITY, True, False, label, scale)
    if found := plus.fullmatch(label):
        return Range(scale.span(found["a"])[0], INFINITY)
    raise ValueError(f'label "{label}" is neither a value nor an interval such as "[20, 29]"')


def _checked(
    low: Number, high: Number, low_open: bool, high_open: bool, label: str, scale: Scale
) -> Range:
    # On a scale of whole steps every range has a closed form: nothing lies between 29 and 30.
    if scale.whole and low_open and low != -INFINITY:
        low, low_open = math.floor(low) + 1, False
    if scale.whole and high_open and high != INFINITY:
        high, high_open = math.ceil(high) - 1, False
    if low > high or (low == high and (low_open or high_open)):
        raise ValueError(f'label "{label}" holds nothing: its lower end is above its upper end')
    return Range(low, high, low_open, high_open)
