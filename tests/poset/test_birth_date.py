"""Dates of birth against the rule read case by case."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.poset.birth_date import BirthDate, BirthDatePoset, years_before
from tests.oracle.poset_orders import age_on, birth_label
from tests.poset.searched import check_joins, check_release

D = dt.date
NEW_YEAR = D(2006, 1, 1)
ENDS = (5, 18, 30, 45, 65, 80)
BASES = st.sampled_from(
    [D(2006, 1, 1), D(2004, 2, 29), D(2005, 2, 28), D(2005, 3, 1), D(2005, 7, 9)]
)
born = st.one_of(
    st.dates(D(1900, 1, 1), D(2004, 2, 28)),
    st.sampled_from([D(1996, 2, 29), D(2000, 2, 29), D(2000, 2, 28), D(2000, 3, 1), D(1999, 7, 9)]),
)
groups = st.lists(born, min_size=1, max_size=4)


def bound(dates: list[dt.date], base: dt.date = NEW_YEAR) -> BirthDatePoset:
    return BirthDate(ages=ENDS, base=base).bind(sorted(set(dates)))


@given(groups, BASES)
@example([D(2000, 2, 29), D(2001, 3, 1)], D(2006, 2, 28))
@example([D(1987, 1, 1), D(1986, 12, 31)], D(2006, 1, 1))
def test_groups_are_published_by_the_rule(dates: list[dt.date], base: dt.date) -> None:
    poset = bound(dates, base)
    expected = birth_label(dates, base, ENDS)
    assert poset.lub(dates) == expected
    codes = poset.codes(dates)
    assert poset.labels(codes.min(keepdims=True), codes.max(keepdims=True)) == [expected]
    assert all(poset.leq(one, expected) for one in dates)


@given(born, BASES)
def test_ages_are_counted_in_birthdays(one: dt.date, base: dt.date) -> None:
    age = age_on(base, one)
    assert years_before(base, age + 1) < one <= years_before(base, age)
    label = next(
        (f"age {low}-{high}" for low, high in zip((0, 6, 19, 31, 46, 66), ENDS, strict=True)
         if low <= age <= high),
        "age 81+",
    )  # fmt: skip
    poset = bound([one], base)
    assert [r.label for r in poset.ranges if poset.leq(one, r.label)] == [label]


@given(st.lists(groups, min_size=3, max_size=3), BASES)
def test_laws_of_a_partial_order(three: list[list[dt.date]], base: dt.date) -> None:
    poset = bound([one for group in three for one in group], base)
    a, b, c = (poset.lub(group) for group in three)
    assert poset.leq(a, a)
    assert poset.leq(a, "*")
    if poset.leq(a, b) and poset.leq(b, a):
        assert a == b
    if poset.leq(a, b) and poset.leq(b, c):
        assert poset.leq(a, c)
    if poset.leq(a, b):
        assert poset.measure(a) <= poset.measure(b) <= poset.measure("*") == 1
        assert poset.height(a) < poset.height(b) or a == b
    joined = poset.lub([a, b])
    assert poset.leq(a, joined)
    assert poset.leq(b, joined)
    assert poset.measure(a) == 0 or poset.height(a) > 0


@given(st.lists(born, min_size=1, max_size=6), BASES)
def test_searches_join_and_pay_as_the_poset_does(dates: list[dt.date], base: dt.date) -> None:
    check_joins(BirthDate(ages=ENDS, base=base), [*dates, None])
    check_joins(BirthDate(ages=[30], base=base, midpoint=True), [D(1950, 6, 1), D(1951, 6, 1)])


def test_a_year_may_straddle_two_ranges() -> None:
    """On 1 July 2006, who was born in 1987 is 18 or 19."""
    base = D(2006, 7, 1)
    dates = [D(1987, 3, 1), D(1987, 9, 1), D(1988, 1, 1)]
    poset = bound(dates, base)
    assert poset.lub(dates[:2]) == "1987"
    assert not poset.leq("1987", "age 6-18")
    assert poset.lub(dates[1:]) == "age 6-18"
    assert poset.lub(dates) == "*"
    assert poset.lub(["1987", dates[2]]) == "*"
    assert poset.lub(["age 6-18", dates[1]]) == "age 6-18"


def test_the_usual_base_is_the_new_year_after_the_latest_date() -> None:
    poset = BirthDate().bind([D(1950, 5, 5), D(2003, 12, 31)])
    assert poset.base == D(2004, 1, 1)
    assert poset.leq(D(2003, 12, 31), "age 0-5")
    with pytest.raises(ValueError, match="2003-12-31 lies after the base date 2000-01-01"):
        BirthDate(base="2000-01-01").bind([D(2003, 12, 31)])


def test_dates_in_other_spellings() -> None:
    poset = BirthDate(base="20060101").bind(["2/13/1978", "19780213", "1978-02-01"])
    assert poset.codes(["2/13/1978", "19780213", D(1978, 2, 1)]).tolist() == [2, 2, 1]
    moments = BirthDate().bind([dt.datetime(1978, 2, 13, 8), np.datetime64("1978-02-13T09:30")])
    assert moments.codes([dt.datetime(1978, 2, 13, 23)]).tolist() == [1]
    for bad in ("13/2/1978", "1978-13-01", "soon", "age 3-4", "1978-14"):
        with pytest.raises(ValueError, match=r"date|range"):
            poset.measure(bad)
    with pytest.raises(ValueError, match="larger than the one before"):
        BirthDate(ages=[5, 5])
    with pytest.raises(ValueError, match="among the column's values"):
        poset.codes([D(1999, 1, 1)])


def test_measures_are_shares_of_the_days_between_first_and_last() -> None:
    poset = bound([D(1975, 1, 1), D(1985, 1, 1)])
    days = (D(1985, 1, 1) - D(1975, 1, 1)).days
    assert poset.measure("1978-02") == 27 / days
    assert poset.measure("1978") == 364 / days
    assert poset.measure("1975") == 364 / days
    assert poset.measure("1985") == 0  # no day but the last is left
    assert poset.measure("age 19-30") == (D(1985, 1, 1) - D(1975, 1, 2)).days / days
    assert [poset.height(v) for v in ("1978-02-13", "1978-02", "1978", "age 19-30", "*")] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip


def test_midpoints() -> None:
    dates = [D(1978, 2, 1), D(1978, 2, 13), D(1978, 11, 13), D(1979, 10, 13), D(1920, 1, 1),
             D(1921, 1, 1)]  # fmt: skip
    poset = BirthDate(ages=[25, 30, 50], base=D(2006, 1, 1), midpoint=True).bind(sorted(dates))
    assert poset.lub(dates[:2]) == "1978-02-15"
    assert poset.lub(dates[:3]) == "1978-06-15"
    assert poset.lub(dates[:4]) == "1978-01-01"  # 28 years old, between 26 and 30
    assert poset.lub(dates[4:]) == "*"
    for group in (dates[:1], dates[:2], dates[:3], dates[:4], dates):
        assert all(poset.leq(one, poset.lub(group)) for one in group)
    assert poset.measure("1978-06-15") > poset.measure("1978-02-15") > 0
    uneven = BirthDate(ages=[20, 25], base=D(2006, 8, 31), midpoint=True).bind(sorted(dates))
    assert [uneven._middle(r) for r in uneven.ranges] == ["1996-08-31", "1983-08-31"]
    halves = BirthDate(ages=[0, 1, 4], base=D(2006, 8, 31), midpoint=True).bind(sorted(dates))
    assert halves._middle(halves.ranges[2]) == "2003-08-31"
    odd = BirthDate(ages=[1], base=D(2006, 8, 31), midpoint=True).bind(sorted(dates))
    assert odd._middle(odd.ranges[0]) == "2006-02-28"


def test_ranges_lie_side_by_side() -> None:
    for base in (D(2006, 1, 1), D(2004, 2, 29), D(2005, 2, 28)):
        poset = bound([D(1990, 1, 1)], base)
        for young, old in pairwise(poset.ranges):
            assert young.low == old.high + 1


def test_a_release_of_dates() -> None:
    rng = np.random.default_rng(7)
    dates = [D(1930, 1, 1) + dt.timedelta(int(days)) for days in rng.integers(0, 25_000, 80)]
    masked = check_release(BirthDate(), dates, k=4)
    assert masked["x"].dtype == pl.String
    assert any(label.startswith("age ") for label in masked["x"].cast(pl.String))
