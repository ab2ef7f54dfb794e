"""Exact sums in few limbs: beside fractions, in any order and division."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.kernels.statistics.exact_sum import nearest
from sfumato.kernels.statistics.spanned_sum import LEAST, Extent, Span, extent, put, taken

numbers = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda x: x == 0 or abs(x) >= 2.0 ** (LEAST + 53)
)
lists = st.lists(numbers, min_size=1, max_size=40)


def limbs_of(values: list[float], span: Span) -> np.ndarray:
    """The limbs of a sum, one column aside."""
    limbs = np.zeros((1, 1 + span.limbs), dtype=np.int64)
    for value in values:
        put(limbs, 0, 1, value, span.power, span.inverse)
    assert limbs[0, 0] == 0
    return limbs


def told(limbs: np.ndarray, span: Span) -> float:
    return float(taken(limbs.copy(), 0, 1, span.power, span.bits))


@given(lists)
@example([1.0, 2.0**53, 1.0])
@example([2.0**53, 1.0, 2.0**-900])  # nearly a tie
@example([-(2.0**53), -1.0, -(2.0**-900)])
@example([2.0**53, 1.0])  # a tie, to the even one
@example([2.0**53 + 2, 1.0])
@example([1.7e308] * 3)
@example([1.7e308, 1.7e308, -1.7e308, 5.0])
@example([0.1] * 10)
@example([3.0, -3.0])
def test_the_number_told_is_the_nearest(values: list[float]) -> None:
    span = Span.of(extent(np.array(values)))
    found = told(limbs_of(values, span), span)
    assert found == nearest(sum(map(Fraction, values), Fraction(0)))
    assert math.copysign(1, found) == 1 or found < 0


@given(lists, st.data())
def test_order_and_division_do_not_matter(values: list[float], data: st.DataObject) -> None:
    other = data.draw(st.permutations(values))
    cut = data.draw(st.integers(0, len(values)))
    parts = [np.array(other[:cut]), np.array(other[cut:])]
    known = reduce(Extent.plus, map(extent, parts))
    span = Span.of(known)
    assert known == extent(np.array(values))
    merged = sum(limbs_of(part.tolist(), span) for part in parts)
    assert told(np.asarray(merged), span) == told(limbs_of(values, span), span)


def test_a_span_is_as_wide_as_its_numbers() -> None:
    assert extent(np.array([np.nan, 0.0, -2.0, 8.0])) == Extent(True, 2.0, 8.0, 4)
    assert not extent(np.array([2.0, 0.5])).whole
    assert Span.of(Extent()).limbs == 1
    counts = Span.of(Extent(True, 1.0, 1.0, 10**9))
    assert (counts.limbs, counts.power.tolist()) == (1, [1.0])
    cents = Span.of(Extent(False, 0.01, 1e7, 10**6))
    assert cents.limbs == 2
    # As many as are told fit in: the largest of them, so often.
    many, most = 2**20 - 1, 2.0**52 - 1
    span = Span.of(Extent(True, 1.0, most, many))
    limbs = limbs_of([most], span) * many
    assert told(limbs, span) == float(many * int(most))


def test_what_is_below_a_span_is_cut_off() -> None:
    span = Span.of(Extent(False, 1.0, 2.0, 4))
    unit = float(span.power[0])
    assert told(limbs_of([1.5 * unit, -1.5 * unit, 1.0], span), span) == 1.0
    assert told(limbs_of([1.5 * unit, 0.5 * unit], span), span) == unit
