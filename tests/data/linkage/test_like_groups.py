"""A release of another tool whose labels are values of the original as well."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.linkage.like import like_original
from sfumato.poset.trees.sources import Hierarchy

ROWS = [
    ["Cardiologist", "Doctor", "Employed", "*"],
    ["Surgeon", "Doctor", "Employed", "*"],
    ["Civil", "Engineer", "Employed", "*"],
]
JOBS = ["Doctor", "Surgeon", "Cardiologist", "Civil", "Engineer", "Employed"]
SHOWN = ["Doctor", "Doctor", "Doctor", "Engineer", "Engineer", "Employed"]


def _people() -> sf.Table:
    return sf.table({"job": JOBS * 3}, quasi=["job"], posets={"job": Hierarchy(levels=ROWS)})


def test_values_that_became_groups_are_labels() -> None:
    """They once passed for values, without any loss, and linkage missed who they cover."""
    made, shown = _people(), pl.DataFrame({"job": SHOWN * 3})
    assert like_original(shown, made).schema["job"].generalized
    assert sf.measure("ncp", made, shown).value > 0
    # Of the records that fit, the class that leaves least open: 9, 6 and 3 of them.
    assert sf.measure("record-linkage", made, shown).value == pytest.approx(3 / 18)


@pytest.mark.parametrize(
    "shown",
    [JOBS * 3, sorted(JOBS * 3), JOBS * 2, ["Surgeon", *JOBS[1:]] * 3, ["Doctor", "Surgeon"] * 9],
    ids=["unchanged", "shuffled", "fewer", "moved down", "redrawn"],
)
def test_other_changes_leave_values(shown: list[str]) -> None:
    found = like_original(pl.DataFrame({"job": shown}), _people())
    assert not found.schema["job"].generalized


def test_numbers_beside_the_mark_of_suppression_are_numbers() -> None:
    """A microaggregated age with a "*" was text, and no measure of numbers applied to it."""
    before = sf.table({"age": [30, 41, 52, None], "x": [1, 2, 3, 4]}, quasi=["age", "x"])
    after = like_original(
        pl.DataFrame({"age": ["35.5", "*", "35.5", None], "x": ["*", "[1, 2]", "3", "4"]}), before
    )
    assert after["age"].to_list() == [35.5, None, 35.5, None]
    assert after.suppressed("age").tolist() == [False, True, False, False]
    assert not after.schema["age"].generalized
    assert after.schema["x"].generalized
    starred = like_original(pl.DataFrame({"age": ["*"] * 4}), before)
    assert starred.schema["age"].generalized


def test_a_set_that_names_people_does_not_tell_who_is_who() -> None:
    """A dropped column of telephone numbers kept a release from being written."""
    kinds = {"role": "identifier", "kind": "set"}
    schema = sf.Schema([sf.Column("phones", **kinds), sf.Column("age", kind="integer")])
    assert schema.person is None
    named = sf.Column("id", role="identifier", kind="nominal")
    assert schema.with_column(named).person == "id"
