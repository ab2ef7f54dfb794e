"""Which masked record belongs to which original one."""

from __future__ import annotations

import pytest

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError


def people(**columns: object) -> Table:
    return table(columns)


def test_alignment_by_position() -> None:
    original, masked = people(x=[1, 2]), people(x=[3, 4])
    pair = Pair.of(original, masked)
    assert pair.aligned
    assert [rows.tolist() for rows in pair.aligned_rows()] == [[0, 1], [0, 1]]
    with pytest.raises(MeasureError, match=r"2 records and the masked table 1.*align=\"KEY\""):
        Pair.of(original, people(x=[3]))


def test_alignment_by_key() -> None:
    original = people(id=[10, 20, 30], x=[1, 2, 3])
    # The masked table is shuffled, lacks one record, holds a stranger, and has its key as text.
    masked = people(id=["30", "99", "10"], x=[0, 0, 0])
    pair = Pair.of(original, masked, "id")
    assert pair.rows is not None
    assert pair.rows.tolist() == [2, -1, 0]
    assert [rows.tolist() for rows in pair.aligned_rows()] == [[2, 0], [0, 2]]


@pytest.mark.parametrize("key", ["row", "key", "__row"])
def test_no_name_of_a_key_column_is_special(key: str) -> None:
    pair = Pair.of(table({key: [1, 2]}), table({key: [2, 1]}), key)
    assert pair.rows is not None
    assert pair.rows.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("original", "masked", "complaint"),
    [
        ({"x": [1]}, {"id": [1]}, "the original table has no column 'id'"),
        ({"id": [1]}, {"x": [1]}, "the masked table has no column 'id'"),
        ({"id": [1, 1]}, {"id": [1]}, "of the original table does not tell its records apart"),
        ({"id": [1]}, {"id": [1, None]}, "of the masked table does not tell its records apart"),
        ({"id": [["a"]]}, {"id": [["a"]]}, "of the original table does not tell its records apart"),
        ({"id": [1]}, {"id": [2]}, "no value of column 'id' occurs in both"),
    ],
)
def test_keys_that_cannot_align(
    original: dict[str, object], masked: dict[str, object], complaint: str
) -> None:
    with pytest.raises(MeasureError, match=complaint):
        Pair.of(table(original), table(masked), "id")


def test_no_alignment() -> None:
    pair = Pair.of(people(x=[1, 2]), people(x=[3]), "none")
    assert not pair.aligned
    with pytest.raises(MeasureError, match="which masked record belongs to which original"):
        pair.aligned_rows()


def test_shared_columns_are_in_the_original_order() -> None:
    pair = Pair.of(people(a=[1], b=[1], c=[1]), people(c=[1], x=[1], a=[1]))
    assert pair.shared() == ["a", "c"]
