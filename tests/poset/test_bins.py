"""Bins of one width, how many of them join, and how they are written."""

from __future__ import annotations

import datetime as dt
import math
import re
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.poset.interval import Interval
from sfumato.poset.trees.bins import Bins
from tests.oracle.poset import nested
from tests.poset.test_sources import levels_of

whole = st.integers(-(10**6), 10**6)
decimals = st.integers(-999, 999).map(lambda n: n / 10)


def test_width_and_fanouts_by_hand() -> None:
    ages = [-3, 0, 4, 5, 9, 10, 38, 89, 90, 120]
    tree = Bins(width=5, fanouts=[2, 2], low=0, high=90).bind(ages)
    assert levels_of(tree, ages)[1:] == [
        ["<0", "[0, 4]", "[0, 4]", "[5, 9]", "[5, 9]", "[10, 14]", "[35, 39]", "[85, 89]"]
        + [">=90"] * 2,
        ["<0", *["[0, 9]"] * 4, "[10, 19]", "[30, 39]", "[80, 89]", ">=90", ">=90"],
        ["<0", *["[0, 19]"] * 5, "[20, 39]", "[80, 89]", ">=90", ">=90"],
        ["*"] * 10,
    ]


def test_the_origin_is_where_a_bin_begins() -> None:
    assert Bins(width=10, origin=18).bind([17, 18, 27]).at_level([17, 18, 27], 1) == [
        "[8, 17]",
        "[18, 27]",
        "[18, 27]",
    ]
    assert Bins(width=10, low=18).bind([17, 18]).at_level([17, 18], 1) == ["<18", "[18, 27]"]
    dated = Bins(width=7, origin=dt.date(2024, 1, 1)).bind([dt.date(2024, 1, 8)])
    assert dated.at_level([dt.date(2024, 1, 8)], 1) == ["[2024-01-08, 2024-01-14]"]


def test_decimals_are_cut_as_they_are_written() -> None:
    values = [0.1, 0.2, 0.3, 0.7]
    tree = Bins(width=0.1, pattern="{low} to {next}").bind(values)
    assert tree.at_level(values, 1) == ["0.1 to 0.2", "0.2 to 0.3", "0.3 to 0.4", "0.7 to 0.8"]


def test_the_last_days_there_are() -> None:
    days = [dt.date.min, dt.date(1970, 1, 1), dt.date.max]
    tree = Bins(width=30, fanouts=[10]).bind(days)
    first, middle, last = tree.at_level(days, 1)
    assert first.startswith("[0001-01-01, ")
    assert middle == "[1970-01-01, 1970-01-30]"
    assert last.endswith(", 9999-12-31]")
    with pytest.raises(ValueError, match=r"no date comes after the last bin -> \{high\}"):
        Bins(width=30, pattern="{low} {next}").bind(days)
    moments = [dt.datetime.min, dt.datetime(2020, 1, 1, 12), dt.datetime.max]
    assert Bins(width=2).bind(moments).at_level(moments, 1)[1:] == [
        "[2020-01-01T00:00:00, 2020-01-02T23:59:59.999999]",
        "[9999-12-31T00:00:00, 9999-12-31T23:59:59.999999]",
    ]


@given(
    st.one_of(
        st.lists(whole, min_size=1, max_size=12, unique=True),
        st.lists(decimals, min_size=1, max_size=12, unique=True),
    ),
    st.one_of(st.integers(1, 1000), st.integers(1, 99).map(lambda n: n / 10)),
    st.lists(st.integers(2, 4), max_size=3),
    st.one_of(st.none(), whole, decimals),
    st.sampled_from(["", "{low}..{next}"]),
)
def test_bins_hold_what_is_written(
    values: list[Any], width: Any, fanouts: list[int], origin: Any, pattern: str
) -> None:
    values.sort()
    if width < 1 and isinstance(values[0], int):
        width *= 10
    tree = Bins(width=width, fanouts=fanouts, origin=origin, pattern=pattern).bind(values)
    columns = levels_of(tree, values)
    assert nested(columns)
    assert len(columns) == len(fanouts) + 3
    start, unit = Fraction(str(origin or 0)), Fraction(str(width))
    interval = Interval().bind(values)
    for joined, labels in zip(accumulate((1, *fanouts), mul), columns[1:-1], strict=True):
        places = [math.floor((Fraction(str(v)) - start) / (unit * joined)) for v in values]
        for value, at, label in zip(values, places, labels, strict=True):
            for other, there, told in zip(values, places, labels, strict=True):
                assert (at == there) == (label == told)
                if not pattern:
                    assert interval.leq(other, label) == (at == there), (value, other)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({}, "either `edges` or `width`"),
        ({"edges": [1], "width": 2}, "either `edges` or `width`"),
        ({"edges": [1], "fanouts": [2]}, "stand beside `width`"),
        ({"edges": [1], "low": 0}, "stand beside `width`"),
        ({"width": 0}, "width"),
        ({"width": -1.5}, "width"),
        ({"width": float("inf")}, "width"),
        ({"width": float("nan")}, "width"),
        ({"width": 5, "fanouts": [1]}, "fanouts"),
        ({"width": 5, "low": 9, "high": 9}, "low must be less than high"),
        ({"width": 5, "low": 9, "origin": dt.date(2020, 1, 1)}, "numbers or dates, not both"),
        ({"width": 5, "pattern": "{low.__class__}"}, "{low.__class__} is no placeholder"),
        ({"width": 5, "pattern": "{low!r}"}, "no placeholder"),
        ({"width": 5, "pattern": "{}"}, "no placeholder"),
        ({"width": 5, "pattern": "{low"}, "a brace stands alone"),
        ({"width": 5, "pattern": "{{low}}"}, "a brace stands alone"),
        ({"width": 5, "pattern": "bin"}, "one label to all"),
    ],
)
def test_what_makes_no_bins(words: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Bins.build(words)
    assert told in str(caught.value)


def test_labels_that_could_be_mistaken() -> None:
    for pattern in ("{low}", "{high}"):
        with pytest.raises(ValueError, match=r'"[04]" stands for two groups -> give `pattern`'):
            Bins(width=5, pattern=pattern).bind([0, 1, 4])
    with pytest.raises(ValueError, match='"from 0" stands for two groups'):
        Bins(width=5, fanouts=[2], pattern="from {low}").bind([0, 1, 7])
    with pytest.raises(ValueError, match=r"no real number is the last of its bin -> \{next\}"):
        Bins(width=5, pattern="{low}-{high}").bind([0.5])
    with pytest.raises(ValueError, match="dates are cut at whole days"):
        Bins(width=2.5).bind([dt.date(2020, 1, 1)])
    with pytest.raises(ValueError, match=r"origin: .* is not a date -> give it as"):
        Bins(width=2, origin=5).bind([dt.date(2020, 1, 1)])


@pytest.mark.parametrize("values", [[1, 29, 30], [2**53, 2**53 + 1, 2**53 + 2], [1.5, 29.0, 30.0]])
@pytest.mark.parametrize("width", [1e-15, 1e-9, 0.5, 1.1, 1.5, 2])
@pytest.mark.parametrize("pattern", ["", "{low} to {next}"])
def test_no_label_leaves_out_its_own_values(values: list[Any], width: float, pattern: str) -> None:
    source = Bins(width=width, fanouts=[2], pattern=pattern)
    if isinstance(values[0], int) and width < 1:
        with pytest.raises(ValueError, match=f"no bin of width {width} holds two whole numbers"):
            source.bind(values)
        return
    if width < 1e-9:
        with pytest.raises(ValueError, match=r"is too fine: the bin of 29 .* -> a larger width"):
            source.bind(values)
        return
    tree = source.bind(values)
    for level in (1, 2):
        for value, label in zip(values, tree.at_level(values, level), strict=True):
            ends = [Fraction(end) for end in re.findall(r"[\d.]+", label)]
            closed = not pattern and isinstance(value, int)
            assert ends[0] <= value
            assert value <= ends[-1] if closed else value < ends[-1]


def test_given_edges_take_a_pattern_too() -> None:
    tree = Bins(edges=[0, 18, 65], pattern="{low} to {high}").bind([3, 17, 18, 70])
    assert tree.at_level([3, 17, 18, 70], 1) == ["0 to 17", "0 to 17", "18 to 64", ">=65"]


def test_an_empty_column_has_all_levels() -> None:
    assert Bins(width=5, fanouts=[2, 2]).bind([]).levels == 5
