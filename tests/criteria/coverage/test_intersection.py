"""What two releases leave of a confidential value together, against asking for every person."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.coverage import covering as coverings
from sfumato.criteria.coverage.covering import covering, intersected
from sfumato.data.table import Table
from sfumato.errors import MeasureError

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


cells = st.sampled_from(["x", "y", "z", None])


@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=10),
    st.lists(st.tuples(cells, cells, st.booleans()), min_size=1, max_size=10),
)
def test_missing_and_suppressed_cells_fit_as_they_should(
    people: list[tuple[str | None, str | None]],
    published: list[tuple[str | None, str | None, bool]],
) -> None:
    """A missing cell fits who has no value, a suppressed one everybody."""
    people = [*people, *((one, one) for one in "xyz")]
    names = ["q", "r"]
    text = dict.fromkeys(names, pl.String)
    before = sf.table(pl.DataFrame(people, schema=text, orient="row"), quasi=names)
    hidden = np.array([gone for *_, gone in published])
    shown = [(None if gone else q, r) for q, r, gone in published]
    frame = pl.DataFrame(shown, schema=text, orient="row")
    after = sf.table(frame, quasi=names).with_columns([frame["q"]], suppressed={"q": hidden})
    found = covering(before, after, names)
    fitting = []
    for row, (q, r) in zip(found.person, people, strict=True):
        first = found.classes.first
        fits = [(hidden[i] or shown[i][0] == q) and shown[i][1] == r for i in first]
        fitting.append(found.fitting(row).tolist())
        assert fitting[-1] == np.flatnonzero(fits).tolist()
    same = [[one == other for other in fitting] for one in fitting]
    assert np.equal.outer(found.signature, found.signature).tolist() == same


def test_more_than_a_laptop_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words of 64 classes for each of 100 people and of 101 values."""
    everybody = sf.table({"q": range(100)}, quasi=["q"])
    monkeypatch.setattr(coverings, "MOST_BYTES", 201 * 2 * 8)
    assert covering(everybody, everybody, ["q"]).fitting(70).tolist() == [70]
    monkeypatch.setattr(coverings, "MOST_BYTES", 201 * 2 * 8 - 1)
    with pytest.raises(MeasureError, match="100 distinct records beside 100 published classes"):
        covering(everybody, everybody, ["q"])
