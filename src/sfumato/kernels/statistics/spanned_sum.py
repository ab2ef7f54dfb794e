"""Exact sums of float64 whose span is known, in as few limbs as they need: for many sums at once.

The numbers are taken as whole multiples of a power of two that divides all of them. A sum of such
multiples is kept in limbs, as in exact_sum.py, with room for as many as there are, so that nothing
is carried before the end, and neither order nor division of the numbers matters. Small whole
numbers need one limb, usual amounts two or three.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats
from ..interpreted import suited

Limbs = NDArray[np.int64]
"""int64[at, column]: rows in which a sum's limbs lie side by side, from some column on."""
LEAST = -1022
"""What is below 2^LEAST is left out of a sum."""
_ROOM = 62
"""Bits that a limb takes."""
_WHOLE = 52
"""Bits of whole numbers that are float64 without any doubt."""


class Extent(NamedTuple):
    """What is known of numbers before they are added up; of no numbers, as it begins."""

    whole: bool = True
    """Whether all are whole."""
    least: float = np.inf
    """The smallest size that is not 0 ..."""
    most: float = 0.0
    """... and the largest."""
    numbers: int = 0
    """How many there are."""

    def plus(self, other: Extent) -> Extent:
        """Both together."""
        return Extent(
            self.whole and other.whole,
            min(self.least, other.least),
            max(self.most, other.most),
            self.numbers + other.numbers,
        )


def extent(values: Floats) -> Extent:
    """The extent of these numbers, NaN left aside.

    >>> extent(np.array([0.5, np.nan, -3.0, 0.0]))
    Extent(whole=False, least=0.5, most=3.0, numbers=4)
    """
    whole, least, most = suited(_extent, values.size)(values)
    return Extent(bool(whole), float(least), float(most), int(values.size))


@njit(cache=True, nogil=True)
def _extent(values: Floats) -> tuple[bool, float, float]:
    whole, least, most = True, np.inf, 0.0
    for i in range(values.size):
        size = abs(values[i])
        if size > 0:  # which NaN is not
            least, most = min(least, size), max(most, size)
            whole = whole and size == np.floor(size)
    return whole, least, most


class Span(NamedTuple):
    """How sums are kept: limb j counts multiples of power[j] = 2^(least + bits j)."""

    power: Floats
    inverse: Floats
    bits: int

    @property
    def limbs(self) -> int:
        """How many limbs a sum has."""
        return int(self.power.size)

    @classmethod
    def of(cls, known: Extent) -> Span:
        """The span of the sums of numbers of that extent.

        >>> Span.of(Extent(whole=True, least=1.0, most=7.0, numbers=10)).limbs
        1
        """
        low = 0 if known.whole else max(math.frexp(known.least)[1] - 53, LEAST)
        high = math.frexp(known.most)[1]
        bits = min(_ROOM - known.numbers.bit_length(), _WHOLE)
        each = range(low, max(high, low + 1), bits)
        powers = [math.ldexp(1.0, exponent) for exponent in each]
        return cls(np.array(powers), 1.0 / np.array(powers), bits)


@njit(cache=True, nogil=True, inline="always")
def put(limbs: Limbs, at: int, first: int, x: float, power: Floats, inverse: Floats) -> None:
    """Add a number to a sum; what it has below the span's lowest power is cut off."""
    for j in range(power.size - 1, 0, -1):
        piece = int(x * inverse[j])
        limbs[at, first + j] += piece
        x -= piece * power[j]
    limbs[at, first] += int(x * inverse[0])


@njit(cache=True, nogil=True)
def taken(limbs: Limbs, at: int, first: int, power: Floats, bits: int) -> float:
    """The nearest number to a sum, the even one of two; its limbs are used up."""
    _carry(limbs, at, first, power.size, bits)
    top = first + power.size - 1
    negative = limbs[at, top] < 0
    if negative:
        for j in range(first, top + 1):
            limbs[at, j] = -limbs[at, j]
        _carry(limbs, at, first, power.size, bits)
    while top > first and limbs[at, top] == 0:
        top -= 1
    # As many bits as make rounding right, and whether anything follows them.
    found, low, left, more = int(limbs[at, top]), top, 0, False
    for j in range(top - 1, first - 1, -1):
        limb = int(limbs[at, j])
        if found < 1 << 61:
            low, left = j, bits
            while left > 0 and found < 1 << 61:
                found, left = found << 1, left - 1
            found |= limb >> left
            limb &= (1 << left) - 1
        more = more or limb > 0
    if more:
        found |= 1
    size = float(found) * 2.0**left * power[low - first]
    return -size if negative else size


@njit(cache=True, nogil=True)
def _carry(limbs: Limbs, at: int, first: int, many: int, bits: int) -> None:
    """Bring all limbs of a sum but the last into their range, from 0 to 2^bits - 1."""
    for j in range(first, first + many - 1):
        over = limbs[at, j] >> bits
        limbs[at, j] -= over << bits
        limbs[at, j + 1] += over
