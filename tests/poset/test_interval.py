"""Intervals over numbers and dates."""

from __future__ import annotations

import datetime as dt
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.poset.interval import Interval, IntervalPoset
from sfumato.poset.values.ranges import EVERYTHING, Range, range_label, read_range
from sfumato.poset.values.scale import DateScale, MomentScale, NumberScale, Scale
from tests.oracle.poset import Sets

LOW, HIGH = -6, 9
WHOLE, REAL, DATES = NumberScale(whole=True), NumberScale(whole=False), DateScale()
INFINITE = float("inf")

small = st.integers(LOW, HIGH)
spans = st.tuples(small, small).map(sorted).map(tuple)
reals = st.floats(allow_nan=False, allow_infinity=False)


def label_of(span: tuple[int, int]) -> str:
    return f"[{span[0]}, {span[1]}]" if span[0] < span[1] else str(span[0])


def points(span: tuple[int, int]) -> frozenset[object]:
    return frozenset(range(span[0], span[1] + 1))


def whole(**parameters: Any) -> IntervalPoset:
    return Interval(**parameters).bind(list(range(LOW, HIGH + 1)))


@given(spans, spans)
def test_order_is_inclusion(a: tuple[int, int], b: tuple[int, int]) -> None:
    poset = whole()
    assert poset.leq(label_of(a), label_of(b)) == (points(a) <= points(b))


@given(spans, spans, spans)
def test_laws_of_a_partial_order(
    one: tuple[int, int], two: tuple[int, int], three: tuple[int, int]
) -> None:
    poset = whole()
    a, b, c = label_of(one), label_of(two), label_of(three)
    assert poset.leq(a, a)
    assert poset.leq(a, "*")
    assert not poset.leq("*", a)
    if poset.leq(a, b) and poset.leq(b, a):
        assert a == b
    if poset.leq(a, b) and poset.leq(b, c):
        assert poset.leq(a, c)
    if poset.leq(a, b):
        assert poset.measure(a) <= poset.measure(b) <= poset.measure("*") == 1
        assert poset.height(a) <= poset.height(b) < poset.height("*")


@given(st.lists(spans, min_size=1, max_size=4))
def test_least_upper_bound(given_spans: list[tuple[int, int]]) -> None:
    universe = [points(s) for s in combinations_with_replacement(range(LOW, HIGH + 1), 2)]
    least = Sets(universe).lub(points(s) for s in given_spans)
    assert whole().lub(map(label_of, given_spans)) == label_of((min(least), max(least)))  # type: ignore[type-var, arg-type]


@given(st.lists(small, min_size=1, max_size=4), st.sampled_from([2, 3, 5]))
def test_rounded_bounds_are_least_among_the_rounded(values: list[int], step: int) -> None:
    grid = [n for n in range(LOW - step, HIGH + step + 1) if n % step == 0]
    universe = [points((n, n)) for n in range(LOW, HIGH + 1)]
    universe += [points(s) for s in combinations_with_replacement(grid, 2) if s[0] < s[1]]
    least = Sets(dict.fromkeys(universe)).lub(points((v, v)) for v in values)
    poset = whole(round_to=step)
    assert poset.lub(values) == label_of((min(least), max(least)))  # type: ignore[type-var, arg-type]
    codes = poset.codes([min(values), max(values)])
    assert poset.labels(codes[:1], codes[1:]) == [poset.lub(values)]


def test_measure_is_the_share_of_the_domain() -> None:
    poset = Interval(low=0, high=100).bind([18, 40, 65])
    figures = {"[20, 30]": 0.1, "40": 0, "*": 1, "<=30": 0.3, ">=80": 0.2, "[-50, 50]": 0.5}
    assert {label: poset.measure(label) for label in figures} == figures
    assert poset.measure("[200, 300]") == 0
    assert Interval().bind([18, 40, 68]).measure("[18, 43]") == 0.5
    assert poset.measure(40) == 0


def test_a_constant_column_and_an_empty_one() -> None:
    constant = Interval().bind([7])
    assert constant.labels(np.array([1]), np.array([1])) == ["7"]
    assert [constant.measure(label) for label in ("7", "[0, 9]", "*")] == [0, 0, 1]
    empty = Interval().bind([])
    assert empty.codes([]).tolist() == []
    assert empty.labels(np.array([]), np.array([])) == []
    assert empty.positions.shape == (1,)
    assert empty.measure("*") == 1


@given(st.lists(reals, min_size=1, max_size=30))
def test_real_labels_read_back_bit_for_bit(values: list[float]) -> None:
    poset = Interval().bind(sorted(set(values)))
    codes = poset.codes(values)
    assert np.array_equal(poset.positions[codes], np.array(values))
    low, high = int(codes.min()), int(codes.max())
    (label,) = poset.labels(np.array([low]), np.array([high]))
    assert read_range(label, REAL) == Range(min(values), max(values))
    assert label == poset.lub(values)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=10, unique=True))
def test_whole_labels_are_exact_beyond_the_floats(values: list[int]) -> None:
    poset = Interval().bind(sorted(values))
    low, high = min(values), max(values)
    (label,) = poset.labels(poset.codes([low]), poset.codes([high]))
    assert read_range(label, WHOLE) == Range(low, high)


@given(st.lists(st.dates(), min_size=1, max_size=10, unique=True))
def test_date_labels_read_back(values: list[dt.date]) -> None:
    poset = Interval().bind(sorted(values))
    low, high = min(values), max(values)
    (label,) = poset.labels(poset.codes([low]), poset.codes([high]))
    assert label == (str(low) if low == high else f"[{low}, {high}]")
    assert read_range(label, DATES) == Range(DATES.number(low), DATES.number(high))
    days = [(value - dt.date(1970, 1, 1)).days for value in sorted(values)]
    assert poset.positions[1:].tolist() == days


@given(reals, reals, st.booleans(), st.booleans())
def test_every_range_reads_back(a: float, b: float, low_open: bool, high_open: bool) -> None:
    low, high = min(a, b) + 0.0, max(a, b) + 0.0
    forms = [Range(low, low), Range(-INFINITE, high, high_open=high_open), EVERYTHING]
    forms += [Range(low, INFINITE, low_open=low_open)]
    forms += [Range(low, high, low_open, high_open)] if low < high else []
    assert [read_range(range_label(form, REAL), REAL) for form in forms] == forms


@pytest.mark.parametrize(
    ("label", "low", "high"),
    [
        ("25", 25, 25),
        ("25.0", 25, 25),
        (" 20-29 ", 20, 29),
        ("[20-29]", 20, 29),
        ("[20,30[", 20, 29),
        ("[20, 30)", 20, 29),
        ("]19, 29]", 20, 29),
        ("(19, 30)", 20, 29),
        ("(19.0, 29.0]", 20, 29),
        ("20..29", 20, 29),
        ("20...29", 20, 29),
        ("20 - 29", 20, 29),
        ("20–29", 20, 29),
        ("20 to 29", 20, 29),
        ("0-4", 0, 4),
        ("-5--1", -5, -1),
        ("-5-3", -5, 3),
        ("[-5, -1]", -5, -1),
        ("1e1-2e+1", 10, 20),
        ("<=30", -INFINITE, 30),
        ("<30", -INFINITE, 29),
        ("≤ 30", -INFINITE, 30),
        (">65", 66, INFINITE),
        (">=65", 65, INFINITE),
        ("65+", 65, INFINITE),
        ("*", -INFINITE, INFINITE),
    ],
)
def test_other_tools_intervals_of_whole_numbers(label: str, low: float, high: float) -> None:
    assert read_range(label, WHOLE) == Range(low, high)


def test_half_open_intervals_of_real_numbers_leave_their_end_out() -> None:
    poset = Interval().bind([20.0, 25.5, 30.0, 40.0])
    assert poset.leq(25.5, "[20, 30)")
    assert not poset.leq(30, "[20, 30)")
    assert poset.leq("[20, 30)", "[20, 30]")
    assert not poset.leq("[20, 30]", "[20, 30)")
    assert poset.lub(["[20, 30)", "(25, 30]"]) == "[20, 30]"
    assert poset.lub(["(20, 30)", 25]) == "(20, 30)"
    assert poset.measure("[20, 30)") == 0.5


@pytest.mark.parametrize(
    ("label", "low", "high"),
    [
        ("2020-01-31", "2020-01-31", "2020-01-31"),
        ("[2020-01-01, 2020-03-31]", "2020-01-01", "2020-03-31"),
        ("2020-01-01/2020-03-31", "2020-01-01", "2020-03-31"),
        ("2020-01-01 - 2020-03-31", "2020-01-01", "2020-03-31"),
        ("2020-01-01-2020-03-31", "2020-01-01", "2020-03-31"),
        ("[2020-01-01, 2020-04-01[", "2020-01-01", "2020-03-31"),
        ("2020-02", "2020-02-01", "2020-02-29"),
        ("2020", "2020-01-01", "2020-12-31"),
        ("2019-2020", "2019-01-01", "2020-12-31"),
        ("[2019, 2021[", "2019-01-01", "2020-12-31"),
    ],
)
def test_other_tools_intervals_of_dates(label: str, low: str, high: str) -> None:
    assert range_label(read_range(label, DATES), DATES) == (
        low if low == high else f"[{low}, {high}]"
    )


@pytest.mark.parametrize(
    ("label", "scale"),
    [
        ("adult", WHOLE),
        ("", WHOLE),
        ("29-20", WHOLE),
        ("(20, 20]", REAL),
        ("(20, 21)", WHOLE),
        ("1e999", REAL),
        ("nan", REAL),
        ("2020-02-30", DATES),
        ("2020-13", DATES),
        ("12", DATES),
        ("2020-01-31T25:00", MomentScale()),
    ],
)
def test_what_is_no_interval_is_refused_by_name(label: str, scale: Scale) -> None:
    with pytest.raises(ValueError, match=r"neither|holds nothing|no place|is not a date|12"):
        read_range(label, scale)


def test_unknown_labels_and_values_are_refused() -> None:
    poset = Interval().bind([1, 2, 3])
    with pytest.raises(ValueError, match='label "young" is neither'):
        poset.measure("young")
    with pytest.raises(ValueError, match=r'value "9" \(and 1 more\) is not among'):
        poset.codes([1, 9, 10])
    with pytest.raises(ValueError, match="nothing has no least upper bound"):
        poset.lub([])
    with pytest.raises(ValueError, match="0 is missing"):
        poset.labels(np.array([0]), np.array([2]))
    with pytest.raises(ValueError, match="0 is missing"):
        poset.labels(np.array([2]), np.array([1]))


@pytest.mark.parametrize(
    ("domain", "parameters", "message"),
    [
        ([1.0, float("nan")], {}, "nan has no place"),
        ([1.0, float("inf")], {}, "inf has no place"),
        (["a"], {}, "value 'a' has no place on a scale .*value-set"),
        ([True, False], {}, "value-set"),
        ([2**70], {}, "beyond 64 bits"),
        ([1, 2], {"low": 5}, "from 5 down to 2"),
        ([1, 2], {"low": dt.date(2020, 1, 1)}, "low: '2020-01-01' is not a number"),
        ([dt.date(2020, 1, 1)], {"high": 3}, "high: '3' is not a date"),
        ([1, 2], {"round_to": "month"}, "cannot be rounded"),
        ([dt.date(2020, 1, 1)], {"round_to": 0.5}, "whole days"),
        ([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)], {}, "time zone"),
        ([dt.time(12)], {}, "no place on a scale"),
    ],
)
def test_columns_without_intervals(domain: list[Any], parameters: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Interval(**parameters).bind(domain)


def test_negative_zero_is_zero() -> None:
    poset = Interval().bind([-0.0, 0.0, 1.0])
    assert poset.codes([-0.0, 0.0, 1.0]).tolist() == [1, 1, 2]
    assert poset.labels(np.array([1, 1]), np.array([1, 2])) == ["0", "[0, 1]"]


def test_rounded_ends_are_decimal() -> None:
    poset = Interval(round_to=0.1).bind([0.25, 0.31, 0.7])
    assert poset.lub([0.31, 0.7]) == "[0.3, 0.7]"
    assert poset.lub([0.25]) == "0.25"
    assert poset.labels(np.array([1]), np.array([2])) == ["[0.2, 0.4]"]


def test_dates_widen_to_months_years_and_days() -> None:
    days = [dt.date(2020, 2, 3), dt.date(2020, 2, 27), dt.date(2021, 1, 1)]
    assert Interval(round_to="month").bind(days).lub(days[:2]) == "[2020-02-01, 2020-02-29]"
    assert Interval(round_to="year").bind(days).lub(days) == "[2020-01-01, 2021-12-31]"
    week = Interval(round_to=7).bind(days).lub(days[:2])
    assert week == "[2020-01-30, 2020-02-27]"


def test_times_of_day_have_their_own_scale() -> None:
    moments = [dt.datetime(2020, 1, 31), dt.datetime(2020, 1, 31, 12), dt.datetime(2020, 2, 1)]
    poset = Interval().bind(moments)
    label = poset.lub(moments)
    assert label == "[2020-01-31T00:00:00, 2020-02-01T00:00:00]"
    assert poset.leq(moments[1], label)
    assert poset.leq(moments[1], "2020-01-31")
    assert not poset.leq(moments[2], "2020-01-31")
    assert np.diff(poset.positions[1:]).tolist() == [0.5, 0.5]
    assert poset.measure("2020-01-31") == pytest.approx(1.0)
    assert Interval().bind([moments[0], moments[2]]).lub(moments[:1]) == "2020-01-31"


def test_many_groups_have_the_labels_of_few() -> None:
    rng = np.random.default_rng(5)
    poset = Interval().bind([1.5, 2.0, 7.25, 9.0])
    low = rng.integers(1, 5, 300_000)
    high = np.maximum(low, rng.integers(1, 5, low.size))
    found = poset.labels(low, high)
    expected = {
        (a, b): poset.labels(np.array([a]), np.array([b]))[0]
        for a in range(1, 5)
        for b in range(a, 5)
    }
    assert found == [expected[pair] for pair in zip(low.tolist(), high.tolist(), strict=True)]


def test_the_declaration_survives_a_plan_file() -> None:
    declared = Interval(low=dt.date(2020, 1, 1), high=dt.date(2021, 1, 1), round_to="month")
    ends = {"low": dt.date(2020, 1, 1), "high": dt.date(2021, 1, 1)}
    assert declared.parameters() == {**ends, "round_to": "month"}
    assert Interval.build(declared.parameters()) == declared
    assert Interval.build({"round-to": 5}).bind([1, 9]).lub([1, 9]) == "[0, 10]"
    (complaint,) = Interval.complaints({"round_to": -1})[:1]
    assert "round_to" in str(complaint)


def test_times_of_day_widen_to_days_and_months() -> None:
    moments = [dt.datetime(2020, 1, 30, 8), dt.datetime(2020, 1, 31, 12, 30)]
    by_day = Interval(round_to=1).bind(moments)
    assert by_day.lub(moments) == "[2020-01-30T00:00:00, 2020-02-01T00:00:00]"
    by_month = Interval(round_to="month").bind(moments)
    assert by_month.lub(moments) == "[2020-01-01T00:00:00, 2020-01-31T23:59:59.999999]"
    assert by_month.lub(moments[1:]) == "2020-01-31T12:30:00"


@pytest.mark.parametrize(
    ("domain", "spelt"),
    [
        ([1, 2], ["1", np.int64(2)]),
        ([1.5, 2.0], ["1.5", np.float64(2.0)]),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], ["2020-01-01", np.datetime64("2020-01-02")]),
        (
            [dt.datetime(2020, 1, 1, 6), dt.datetime(2020, 1, 2)],
            ["2020-01-01 06:00", np.datetime64("2020-01-02", "ns")],
        ),
    ],
)
def test_values_may_come_as_text_or_from_arrays(domain: list[Any], spelt: list[Any]) -> None:
    assert Interval().bind(domain).codes(spelt).tolist() == [1, 2]


def test_a_value_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5 is not a whole number"):
        Interval().bind([1, 2]).codes([1.5])
    with pytest.raises(ValueError, match="'5' is not a date"):
        Interval().bind([dt.datetime(2020, 1, 1, 6)]).measure(5)
    with pytest.raises(ValueError, match="is not a number"):
        Interval().bind([1.5]).leq(dt.date(2020, 1, 1), "*")
