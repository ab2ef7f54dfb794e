"""Group reductions against lists, counters and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels import groups as module
from sfumato.kernels.groups import (
    group_distinct,
    group_means,
    group_medians,
    group_min_max,
    group_modes,
    group_order,
)
from tests.oracle import groups as oracle

GROUPS = 4
label_lists = st.lists(st.integers(-1, GROUPS - 1), max_size=40)
numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 1e16, -1e16, 1e-300])


def _labels(values: list[int]) -> np.ndarray:
    labels = np.array(values, np.int64)
    labels.flags.writeable = False  # as a Partition gives them
    return labels


@given(label_lists)
def test_order(values: list[int]) -> None:
    members = oracle.members(values, GROUPS)
    order, offsets = group_order(_labels(values), GROUPS)
    assert [order[offsets[g] : offsets[g + 1]].tolist() for g in range(GROUPS)] == members


def test_groups_default_to_the_greatest_label() -> None:
    assert group_order(_labels([2, -1, 0, 2]))[1].tolist() == [0, 1, 1, 3]
    assert group_order(_labels([]))[1].tolist() == [0]
    assert group_order(np.array([126, -1], np.int8))[1].tolist() == [0] * 127 + [1]


@given(st.data(), label_lists)
def test_means_are_accurate(data: st.DataObject, values: list[int]) -> None:
    n = len(values)
    x = np.array(data.draw(st.lists(numbers, min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    means = group_means(_labels(values), x, GROUPS)
    for g, rows in enumerate(oracle.members(values, GROUPS)):
        for j in range(2):
            members = x[rows, j].tolist()
            total = oracle.exact_sum(members)
            # Second-order error of compensated summation, and one rounding of the result.
            slack = Fraction(len(members) * 2.0**-103) * oracle.exact_sum([abs(v) for v in members])
            if not rows:
                assert np.isnan(means[g, j])
                continue
            mean = total / len(rows)
            assert abs(Fraction(float(means[g, j])) - mean) <= slack + Fraction(
                math.ulp(float(mean))
            )


@given(st.floats(-1e300, 1e300), st.integers(1, 60))
def test_the_mean_of_equal_values_is_that_value(value: float, n: int) -> None:
    assert group_means(np.zeros(n, np.int64), np.full(n, value)).tolist() == [value]


def test_means_keep_missing_and_infinite_values() -> None:
    found = group_means(_labels([0, 0, 1, 1]), np.array([1.0, np.nan, np.inf, 1.0]))
    assert np.isnan(found[0])
    assert found[1] == np.inf


@given(st.data(), label_lists, st.booleans())
def test_medians(data: st.DataObject, values: list[int], lower: bool) -> None:
    n = len(values)
    x = np.array(data.draw(st.lists(numbers, min_size=n, max_size=n)))
    found = group_medians(_labels(values), x, GROUPS, lower=lower)
    for g, rows in enumerate(oracle.members(values, GROUPS)):
        if rows:
            assert found[g] == oracle.median(x[rows].tolist(), lower=lower)
        else:
            assert np.isnan(found[g])


@pytest.mark.parametrize("n", [module.SHORT, module.SHORT + 1, 501, 502])
def test_medians_of_large_groups(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.round(rng.normal(size=(2 * n, 2)), 1)
    labels = rng.permutation(np.repeat([0, 1], n))
    for lower in (False, True):
        found = group_medians(labels, x, lower=lower)
        for g in (0, 1):
            for j in (0, 1):
                members = x[labels == g, j].tolist()
                assert found[g, j] == oracle.median(members, lower=lower)


def test_a_missing_member_leaves_no_median() -> None:
    found = group_medians(_labels([0, 0, 1]), np.array([1.0, np.nan, 2.0]))
    assert np.isnan(found[0])
    assert found[1] == 2.0


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int32])
@given(data=st.data(), values=label_lists)
def test_codes(dtype: type, data: st.DataObject, values: list[int]) -> None:
    n = len(values)
    missing = 0 if np.dtype(dtype).kind == "u" else -1
    # Codes beyond ROOMY are ranked first; a byte has none.
    large = [] if dtype is np.uint8 else [module.ROOMY + 1, 2**31 - 1]
    code = st.integers(missing, 4) | st.sampled_from([missing, *large])
    codes = np.array(data.draw(st.lists(code, min_size=2 * n, max_size=2 * n)), dtype).reshape(n, 2)
    labels = _labels(values)
    modes = group_modes(labels, codes, GROUPS)
    low, high, gaps = group_min_max(labels, codes, GROUPS)
    assert modes.dtype == low.dtype == high.dtype == codes.dtype
    for j in range(2):
        column = codes[:, j].copy()
        assert group_modes(labels, column, GROUPS).tolist() == modes[:, j].tolist()
        starts, found = group_distinct(labels, column, GROUPS)
        assert found.dtype == codes.dtype
        for g, rows in enumerate(oracle.members(values, GROUPS)):
            members = column[rows].tolist()
            assert modes[g, j] == oracle.mode(members, missing)
            assert (low[g, j], high[g, j], gaps[g, j]) == oracle.least_and_greatest(
                members, missing
            )
            assert found[starts[g] : starts[g + 1]].tolist() == oracle.distinct(members, missing)


def test_large_groups_list_their_codes_in_order() -> None:
    rng = np.random.default_rng(7)
    labels, codes = rng.integers(0, 3, 3000), rng.integers(0, 400, 3000).astype(np.int32)
    starts, found = group_distinct(labels, codes)
    for g in range(3):
        expected = np.unique(codes[labels == g]).tolist()
        assert found[starts[g] : starts[g + 1]].tolist() == expected


def test_column_order_of_the_matrix_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    labels, codes = rng.integers(0, 9, 100), rng.integers(-1, 9, (100, 3)).astype(np.int32)
    left, right = (group_min_max(labels, matrix) for matrix in (codes, np.asfortranarray(codes)))
    for one, other in zip(left, right, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("labels", "codes", "message"),
    [
        (np.array([0, -2]), np.zeros(2, np.int32), "from -2"),
        (np.array([0, 5]), np.zeros(2, np.int32), "to 5"),
        (np.array([0]), np.zeros(2, np.int32), "1 labels for 2 records"),
        (np.array([0.0, 1.0]), np.zeros(2, np.int32), "signed integers"),
        (np.array([0, 1]), np.array([0, -2], np.int32), "below -1"),
        (np.array([0, 1]), np.zeros(2), "codes are"),
        (np.array([0, 1]), np.zeros((2, 1, 1), np.int32), "dimensions"),
    ],
)
def test_refusals_name_the_fault(labels: np.ndarray, codes: np.ndarray, message: str) -> None:
    for reduce in (group_modes, group_min_max, group_distinct):
        with pytest.raises(ValueError, match=message):
            reduce(labels, codes, 2)
