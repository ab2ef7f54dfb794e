"""Labels of groups in which only some miss a value."""

from __future__ import annotations

import pytest

from sfumato.poset.interval import Interval
from sfumato.poset.or_missing import OrMissing
from sfumato.poset.trees.sources import Hierarchy
from sfumato.poset.values.text import or_missing, set_label, without_missing
from sfumato.poset.valueset import LabelPoset, ValueSet


def test_shares_count_missing_as_one_more_value() -> None:
    ages = OrMissing(Interval().bind([20, 30, 40, 50]))
    # u = 30 / 3 = 10: of a range of 30 + 10.
    assert ages.measure("[20, 30]") == pytest.approx(10 / 40)
    assert ages.measure("[20, 30] or missing") == pytest.approx(20 / 40)
    assert ages.measure("20 or missing") == pytest.approx(10 / 40)
    assert ages.measure("[20, 50] or missing") == 1.0
    sets = OrMissing(ValueSet().bind(list("abcd")))
    assert sets.measure("{a, b}") == pytest.approx(1 / 4)
    assert sets.measure("{a, b} or missing") == pytest.approx(2 / 4)
    assert sets.measure("*") == 1.0
    assert sets.count("{a, b} or missing") == 3
    only = OrMissing(ValueSet().bind(["a"]))
    assert (only.measure("a"), only.measure("a or missing")) == (0.0, 1.0)


def test_order() -> None:
    towns = OrMissing(
        Hierarchy(levels=[["Bern", "west", "*"], ["Chur", "east", "*"]]).bind(["Bern"])
    )
    assert towns.lub(["Bern", "Bern or missing"]) == "Bern or missing"
    assert towns.lub(["Bern or missing", "Chur"]) == "*"
    assert towns.leq("Bern", "west or missing")
    assert towns.leq("Bern or missing", "west or missing")
    assert not towns.leq("Bern or missing", "west")
    assert towns.leq(None, "west or missing")
    assert not towns.leq(None, "west")
    assert towns.height("Bern or missing") == 1


def test_values_that_look_like_it_are_quoted() -> None:
    assert without_missing(or_missing("{a, b}")) == ("{a, b}", True)
    assert or_missing(or_missing("a")) == "a or missing"
    assert set_label(["no or missing"]) == '{"no or missing"}'
    poset = ValueSet().bind(["no", "no or missing"])
    assert poset.lub(["no or missing"]) == '{"no or missing"}'


def test_labels_with_missing_are_joined_again() -> None:
    ages = Interval().bind([20, 23, 29, 60])
    labels = LabelPoset(["[20, 23] or missing", "29"], ages)
    assert labels.lub(["[20, 23] or missing", "29"]) == "[20, 29] or missing"
