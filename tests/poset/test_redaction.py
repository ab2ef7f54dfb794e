"""Codes whose characters are hidden from either side."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.poset.trees.redaction import Redaction
from tests.oracle.poset import nested
from tests.poset.test_sources import levels_of


def test_from_the_right_by_hand() -> None:
    zips = ["02138", "02139", "10001"]
    tree = Redaction(hidden=[1, 3]).bind(zips)
    assert levels_of(tree, zips) == [
        zips,
        ["0213*", "0213*", "1000*"],
        ["02***", "02***", "10***"],
        ["*"] * 3,
    ]


def test_shorter_codes_are_filled_up() -> None:
    ages = [7, 38, 140]
    assert levels_of(Redaction(align="right", length=3).bind(ages), ages)[1:] == [
        ["__*", "_3*", "14*"],
        ["_**", "_**", "1**"],
        ["*"] * 3,
    ]
    assert levels_of(Redaction(align="left", length=3).bind(ages), ages)[1:3] == [
        ["7_*", "38*", "14*"],
        ["7**", "3**", "1**"],
    ]
    assert levels_of(Redaction(align="left", side="left", length=3).bind(ages), ages)[1:3] == [
        ["*__", "*8_", "*40"],
        ["**_", "**_", "**0"],
    ]


@given(
    st.lists(st.text("ab-1 ", min_size=1, max_size=6), min_size=1, max_size=9, unique=True),
    st.sets(st.integers(1, 7)),
    st.sampled_from(["left", "right"]),
    st.sampled_from(["left", "right"]),
    st.integers(0, 3),
)
def test_a_level_joins_what_is_alike_where_it_shows(
    values: list[str], hidden: set[int], side: str, align: str, more: int
) -> None:
    values.sort()
    longest = max(map(len, values)) + more
    words = {"hidden": sorted(hidden), "side": side, "align": align, "length": longest}
    tree = Redaction.build(words).bind(values)
    columns = levels_of(tree, values)
    assert nested(columns)
    steps = [n for n in sorted(hidden) or range(1, longest) if n < longest]
    assert tree.levels == len(steps) + 2
    padded = [v.ljust(longest, "_") if align == "left" else v.rjust(longest, "_") for v in values]
    for count, column in zip(steps, columns[1:-1], strict=True):
        shown = [p[:-count] if side == "right" else p[count:] for p in padded]
        for one, label in zip(shown, column, strict=True):
            assert len(label) == longest
            assert label.strip("*") == one.strip("*")
            for other, told in zip(shown, column, strict=True):
                assert (one == other) == (label == told)
        assert not set(column) & set(values)


def test_characters_that_could_be_mistaken() -> None:
    with pytest.raises(ValueError, match=r'"a\*" holds "\*".* -> character = '):
        Redaction().bind(["a*", "ab"])
    assert Redaction(character="#").bind(["a*", "ab"]).lub(["a*", "ab"]) == "a#"
    with pytest.raises(ValueError, match=r'"a_b" holds "_".* -> pad = '):
        Redaction(length=3).bind(["a_b", "ab"])
    # Where nothing is filled up, it may be in a code.
    assert Redaction().bind(["a_b", "abc"]).levels == 4
    with pytest.raises(ValueError, match="empty text"):
        Redaction().bind(["", "ab"])


@pytest.mark.parametrize(
    "words",
    [
        {"hidden": [2, 1]},
        {"hidden": [0]},
        {"character": "**"},
        {"character": ""},
        {"pad": "*"},
        {"side": "middle"},
        {"length": 0},
        {"length": 10**9},
    ],
)
def test_what_hides_nothing(words: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Redaction.build(words)


def test_columns_of_nothing_and_of_one_character() -> None:
    assert Redaction().bind([]).levels == 2
    assert Redaction(hidden=[1, 2]).bind([]).levels == 4
    assert Redaction(length=3).bind([]).levels == 4
    assert Redaction().bind(["a", "b"]).lub(["a", "b"]) == "*"


@pytest.mark.parametrize("words", [{}, {"align": "right"}, {"hidden": [1, 3]}, {"side": "left"}])
def test_no_label_tells_how_long_another_code_is(words: dict[str, Any]) -> None:
    seen = ["10021", "10022", "10031"]
    told = []
    for hidden in ("1", "1000123", "999999999"):
        with pytest.raises(ValueError, match=r"values have . to . characters -> length = "):
            Redaction.build(words).bind(sorted([*seen, hidden]))
        tree = Redaction.build({**words, "length": 9}).bind(sorted([*seen, hidden]))
        told.append((levels_of(tree, seen), tree.levels))
    assert told[0] == told[1] == told[2]
    with pytest.raises(ValueError, match="a value has 9 characters, more than length = 7 -> "):
        Redaction.build({**words, "length": 7}).bind([*seen, "999999999"])
    # All are equally long: what is published tells it by itself.
    assert levels_of(Redaction.build({**words, "length": 5}).bind(seen), seen) == levels_of(
        Redaction.build(words).bind(seen), seen
    )
