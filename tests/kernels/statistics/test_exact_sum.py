"""Exact sums: beside fractions and fsum, in any order and division."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.statistics import exact_sum
from sfumato.kernels.statistics.exact_sum import exactly, limbs_by, limbs_of, merged, rounded

numbers = st.floats(allow_nan=False, allow_infinity=False)
lists = st.lists(numbers, min_size=1, max_size=50)


@given(lists)
def test_the_sum_is_exact_and_its_number_the_nearest(values: list[float]) -> None:
    limbs = limbs_of([np.array(values)])
    assert exactly(limbs) == [sum(map(Fraction, values))]
    try:
        wanted = math.fsum(values)
    except OverflowError:  # of the sum, or only on the way
        wanted = float(rounded(limbs)[0])
        assert math.isinf(wanted) or abs(Fraction(wanted)) <= abs(exactly(limbs)[0]) * 2
    assert rounded(limbs).tolist() == [wanted]


@given(lists, st.data())
def test_order_and_division_give_the_same_limbs(values: list[float], data: st.DataObject) -> None:
    whole = limbs_of([np.array(values)])
    other = np.array(data.draw(st.permutations(values)))
    cuts = data.draw(st.lists(st.integers(0, len(values)), max_size=4).map(sorted))
    parts = [limbs_of([part]) for part in np.split(other, cuts)]
    assert merged(parts).tobytes() == whole.tobytes()


@given(st.lists(st.tuples(st.integers(0, 3), numbers), min_size=1, max_size=40))
def test_sums_by_group(pairs: list[tuple[int, float]]) -> None:
    group = np.array([g for g, _ in pairs])
    found = exactly(limbs_by(np.array([x for _, x in pairs]), group, 4))
    assert found == [sum((Fraction(x) for h, x in pairs if h == g), Fraction(0)) for g in range(4)]


def test_what_is_missing_adds_nothing() -> None:
    found = limbs_of(np.array([[1.0, np.nan, 2.5], [np.nan, np.nan, -0.0]]))
    assert rounded(found).tolist() == [3.5, 0.0]
    assert rounded(limbs_of(np.empty((2, 0)))).tolist() == [0.0, 0.0]


def test_a_sum_beyond_all_numbers_is_infinite_and_comes_back() -> None:
    huge = np.full((1, 4), 1.7e308)
    assert rounded(limbs_of(huge)).tolist() == [np.inf]
    assert rounded(limbs_of(-huge)).tolist() == [-np.inf]
    assert rounded(merged([limbs_of(huge), limbs_of(-huge[:, :3])])).tolist() == [1.7e308]


def test_carries_are_taken_before_limbs_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code holds its own `_ROOM`: the plain one is asked to carry after two numbers."""
    monkeypatch.setattr(exact_sum, "_ROOM", 2)
    values = np.array([5e-324, 1e308, -1e-5, 2.0**52 + 1, 1e308])
    plain = np.zeros((1, exact_sum.LIMBS), dtype=np.int64)
    exact_sum._add.py_func(values, np.zeros(1, dtype=np.int64), plain)
    assert plain.tobytes() == limbs_of([values]).tobytes()
