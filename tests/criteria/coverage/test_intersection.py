"""What two releases leave of a confidential value together, against asking for every person."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.coverage.intersection import intersected
from sfumato.data.table import Table

Row = tuple[str, str, str | None]
rows = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from(["flu", "hiv", "cold", None])
    ),
    min_size=1,
    max_size=12,
)


def made(found: list[Row]) -> Table:
    columns: dict[str, Any] = dict(
        zip(("q", "r", "ill"), map(list, zip(*found, strict=True)), strict=True)
    )
    return sf.table(columns, quasi=["q", "r"], confidential=["ill"])


def left(values: list[str | None], own: str | None) -> tuple[int, float]:
    """The different values, and the chance that the most frequent is one's own."""
    counts = {value: values.count(value) for value in values}
    most = [value for value, n in counts.items() if n == max(counts.values())]
    return len(counts), (own in most) / len(most)


@given(rows, st.data())
def test_as_by_asking_for_every_person(found: list[Row], data: st.DataObject) -> None:
    # Both releases hold the same people in other orders; the earlier one publishes q alone.
    order = data.draw(st.permutations(range(len(found))))
    original, earlier = made(found), made([found[i] for i in order])
    result = intersected(original, original, earlier, (("q", "r"), ("q",)), "ill")
    for i, (q, r, own) in enumerate(found):
        here = [ill for a, b, ill in found if (a, b) == (q, r)]
        there = {ill for a, _, ill in found if a == q}
        alone = left(here, own)
        both = left([ill for ill in here if ill in there], own)
        assert (result.alone[i], result.guessed_alone[i]) == alone
        assert (result.left[i], result.guessed[i]) == both


def test_the_person_s_own_value_counts() -> None:
    """The release holds other people's values in the same rows: the original's are asked for."""
    original = made([("a", "x", "flu"), ("a", "x", "flu")])
    release = made([("a", "x", "hiv"), ("a", "x", "hiv")])
    result = intersected(original, release, release, (("q",), ("q",)), "ill")
    np.testing.assert_array_equal(result.guessed_alone, [0, 0])
    np.testing.assert_array_equal(result.guessed, [0, 0])
    np.testing.assert_array_equal(result.left, [1, 1])
