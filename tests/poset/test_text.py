"""Values and sets as published text."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.poset.values.text import float_text, read_set, set_label, text

NASTY = st.text(
    st.one_of(st.sampled_from(',{}"\\*[]() \t\n;-∅é😀'), st.characters(exclude_categories=["Cs"])),
    max_size=6,
)


@given(st.lists(NASTY, min_size=2, max_size=5, unique=True))
def test_a_set_reads_back_as_the_same_members(members: list[str]) -> None:
    assert read_set(set_label(members)) == members


@given(NASTY)
def test_a_single_value_is_plain_unless_it_could_be_misread(value: str) -> None:
    label = set_label([value])
    if label != value:
        assert read_set(label) == [value]
    else:
        assert label not in ("", "*")
        assert not label.startswith("{")


@given(st.lists(NASTY, min_size=1, max_size=4, unique=True), st.data())
def test_two_sets_never_share_a_label(members: list[str], data: st.DataObject) -> None:
    other = data.draw(st.lists(NASTY, min_size=1, max_size=4, unique=True))
    assert (set_label(members) == set_label(other)) == (members == other)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("a, b", "a, b"),
        ("*", '{"*"}'),
        ("", '{""}'),
        ("{a, b}", '{"{a, b}"}'),
        ("[20, 29]", '{"[20, 29]"}'),
        ("[20,30[", '{"[20,30["}'),
        ("20-29", "20-29"),
        ("Outlying-US(Guam-USVI-etc)", "Outlying-US(Guam-USVI-etc)"),
    ],
)
def test_single_values_as_published(value: str, label: str) -> None:
    assert set_label([value]) == label


@pytest.mark.parametrize("label", ["{", "{}", "{a,}", '{"a}', '{"a"b}', "{a{b}", "a", "{,a}", "{a"])
def test_malformed_sets_are_refused(label: str) -> None:
    with pytest.raises(ValueError, match=r"is not a set|mark|member|stray"):
        read_set(label)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_bit_for_bit(value: float) -> None:
    again = float(float_text(value))
    assert again == value
    assert math.copysign(1, again) == math.copysign(1, value)


@given(st.integers(-(10**15), 10**15))
def test_whole_floats_have_no_decimals(value: int) -> None:
    assert text(float(value)) == text(value) == str(value)


def test_values_of_all_kinds_have_a_text() -> None:
    given_values = [
        True,
        np.bool_(False),
        np.int32(7),
        np.float64(2.5),
        np.datetime64("2020-01-31"),
        np.datetime64("2020-01-31", "ns"),
        dt.datetime(2020, 1, 31),
        dt.datetime(2020, 1, 31, 12, 30),
        "as it is",
    ]
    assert [text(value) for value in given_values] == [
        "true",
        "false",
        "7",
        "2.5",
        "2020-01-31",
        "2020-01-31",
        "2020-01-31",
        "2020-01-31T12:30:00",
        "as it is",
    ]
