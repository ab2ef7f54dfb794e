"""Dates in ever longer periods."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.poset.trees.dates import DateTree
from tests.oracle.poset import nested
from tests.poset.test_sources import levels_of

DAYS = [dt.date(2019, 12, 30), dt.date(2020, 3, 14), dt.date(2020, 12, 31), dt.date(2021, 1, 1)]
NESTED = [
    ["day", "week", "iso-year"],
    ["week"],
    ["day", "month", "quarter", "year", "decade"],
    ["month", "year"],
    ["quarter", "decade"],
    ["day", "weekday"],
    ["weekday"],
    ["iso-year"],
]


@pytest.mark.parametrize(
    ("level", "labels"),
    [
        ("week", ["2020-W01", "2020-W11", "2020-W53", "2020-W53"]),
        ("month", ["2019-12", "2020-03", "2020-12", "2021-01"]),
        ("quarter", ["2019-Q4", "2020-Q1", "2020-Q4", "2021-Q1"]),
        ("year", ["2019", "2020", "2020", "2021"]),
        ("iso-year", ["2020 (ISO weeks)"] * 4),
        ("decade", ["2010-2019", "2020-2029", "2020-2029", "2020-2029"]),
        ("weekday", ["Monday", "Saturday", "Thursday", "Friday"]),
    ],
)
def test_each_period_by_hand(level: str, labels: list[str]) -> None:
    tree = DateTree(levels=[level]).bind(DAYS)
    assert tree.at_level(DAYS, 1) == labels
    assert tree.levels == 3


@pytest.mark.parametrize("levels", NESTED)
@given(days=st.lists(st.dates(), max_size=20, unique=True), timed=st.booleans())
def test_periods_nest_and_follow_time(levels: list[str], days: list[dt.date], timed: bool) -> None:
    values: list[Any] = sorted(days)
    if timed:
        values = [dt.datetime.combine(day, dt.time(9, 30)) for day in values]
    tree = DateTree(levels=levels).bind(values)
    columns = levels_of(tree, values)
    assert nested(columns)
    assert len(tree) == len(values)
    if "weekday" not in levels:
        assert tree.codes(values).tolist() == list(range(1, len(values) + 1))
        # Written labels of one level come in the order of time.
        assert all(one <= other for column in columns for one, other in pairwise(column))
    for column in columns:
        for value, label in zip(values, column, strict=True):
            assert tree.leq(value, label)
            assert tree.lub([label]) == label


def test_times_of_day_have_days_above_them() -> None:
    moments = [dt.datetime(2020, 3, 14), dt.datetime(2020, 3, 14, 9), dt.datetime(2020, 3, 15, 9)]
    tree = DateTree(levels=["day", "month"]).bind(moments)
    assert levels_of(tree, moments)[:3] == [
        ["2020-03-14T00:00:00", "2020-03-14T09:00:00", "2020-03-15T09:00:00"],
        ["2020-03-14", "2020-03-14", "2020-03-15"],
        ["2020-03"] * 3,
    ]
    # All at midnight they are dates, and the day is the value.
    midnight = [dt.datetime(2020, 3, 14), dt.datetime(2020, 4, 1)]
    assert DateTree(levels=["day", "month"]).bind(midnight).levels == 3


def test_weekdays_begin_with_monday() -> None:
    days = [dt.date(2024, 6, day) for day in range(5, 12)]  # from a Wednesday
    tree = DateTree(levels=["weekday"]).bind(days)
    monday = dt.date(2024, 6, 10)
    assert (tree.codes([monday]) == 1).all()
    assert tree.at_level([monday], 1) == ["Monday"]


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        (["week", "month"], 'not every week lies within one month -> leave one out, or write ["we'),
        (["week", "year"], "not every week lies within one year"),
        (["month", "weekday"], "not every month lies within one weekday -> leave one out"),
        (["weekday", "week"], "not every weekday lies within one week"),
        (["month", "iso-year"], "not every month lies within one iso-year"),
        (["year", "month"], '"month" is not coarser than "year": the finest come first'),
        (["year", "year"], '"year" is not coarser than "year"'),
        ([], "levels"),
        (["hour"], "levels"),
    ],
)
def test_periods_that_do_not_nest(levels: list[str], told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        DateTree.build({"levels": levels})
    assert told in str(caught.value)


def test_what_is_no_date() -> None:
    with pytest.raises(ValueError, match="'2020-01-01' is no date -> kind = \"date\""):
        DateTree().bind(["2020-01-01"])
    with pytest.raises(ValueError, match="'5' is no date"):
        DateTree().bind([5])
    zoned = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    with pytest.raises(ValueError, match="time zone -> convert"):
        DateTree().bind([zoned])
    assert DateTree().bind([]).levels == 6
