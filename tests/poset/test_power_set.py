"""Sets of traits against plain intersections."""

from __future__ import annotations

from itertools import chain

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import code
from sfumato.poset.sets.power_set import MOST_TRAITS, PowerSet, PowerSetPoset
from tests.oracle.poset_orders import common_traits
from tests.poset.searched import check_joins, check_release, one_column
from tests.poset.test_text import NASTY

TRAITS = ["hiv", "renal", "colon", "a, b", "*", "{x}", "+", ""]
traits = st.frozensets(st.sampled_from(TRAITS))
Sets = list[frozenset[str]]
sets = st.lists(traits, min_size=1, max_size=6, unique=True)


def bound(given_sets: Sets) -> PowerSetPoset:
    return PowerSet(traits=TRAITS).bind([sorted(one) for one in given_sets])


@given(sets, st.data())
def test_groups_are_published_as_what_they_share(given_sets: Sets, data: st.DataObject) -> None:
    poset = bound(given_sets)
    set_of = dict(
        zip(poset.codes([sorted(s) for s in given_sets]).tolist(), given_sets, strict=True)
    )
    assert sorted(set_of) == list(range(1, len(given_sets) + 1))
    codes = st.lists(st.sampled_from(sorted(set_of)), min_size=1, unique=True).map(sorted)
    groups = data.draw(st.lists(codes, min_size=1, max_size=4))
    starts = np.cumsum([0, *map(len, groups)])
    labels = poset.set_labels(starts, np.array(list(chain.from_iterable(groups))))
    for group, label in zip(groups, labels, strict=True):
        members = [set_of[c] for c in group]
        shared, whole = common_traits(members)
        assert label == poset.lub([sorted(one) for one in members])
        assert frozenset(poset.members(label)) == shared
        full = len(shared) == len(TRAITS)
        assert poset.measure(label) == (0 if whole or full else 1 - len(shared) / len(TRAITS))
        for one in given_sets:
            below = one == shared if whole or full else shared <= one
            assert poset.leq(sorted(one), label) == below


@given(sets, st.data())
def test_laws_of_a_partial_order(given_sets: Sets, data: st.DataObject) -> None:
    poset = bound(given_sets)
    values = st.sampled_from([sorted(one) for one in given_sets])
    groups = st.lists(values, min_size=1, max_size=3)
    a, b, c = (poset.lub(data.draw(groups)) for _ in range(3))
    assert poset.leq(a, a)
    assert poset.leq(a, "*")
    if poset.leq(a, b) and poset.leq(b, a):
        assert a == b
    if poset.leq(a, b) and poset.leq(b, c):
        assert poset.leq(a, c)
    if poset.leq(a, b):
        assert poset.measure(a) <= poset.measure(b)
        assert poset.height(a) < poset.height(b) or a == b
    joined = poset.lub([a, b])
    assert poset.leq(a, joined)
    assert poset.leq(b, joined)
    if poset.leq(a, c) and poset.leq(b, c):
        assert poset.leq(joined, c)


@given(st.lists(st.lists(NASTY, max_size=3, unique=True), min_size=1, max_size=5))
def test_labels_read_back_whatever_the_traits(values: list[list[str]]) -> None:
    poset = PowerSet().bind(values)
    for one in values:
        for other in values:
            label = poset.lub([one, other])
            assert poset.leq(one, label)
            assert set(poset.members(label)) == set(one) & set(other)


@given(st.lists(traits, min_size=1, max_size=5))
def test_searches_join_and_pay_as_the_poset_does(given_sets: Sets) -> None:
    values = [sorted(one - {"", "a, b", "{x}"}) for one in given_sets]
    check_joins(PowerSet(traits=TRAITS), pl.Series([*values, None], dtype=pl.List(pl.String)))


@given(st.lists(st.text("01", min_size=4, max_size=4), min_size=2, max_size=6))
def test_bits(values: list[str]) -> None:
    source = PowerSet()
    poset = source.bind(sorted(set(values)))
    label = poset.lub(values)
    if len(set(values)) == 1:
        assert label == values[0]
    else:
        bits = ["1" if all(v[i] == "1" for v in values) else "*" for i in range(4)]
        assert label == ("".join(bits) if "1" in bits else "*")
    assert all(poset.leq(value, label) for value in values)
    check_joins(source, [*values, None])


def test_true_and_false_are_one_trait() -> None:
    masked = check_release(PowerSet(), [True, True, False, False, True], k=2)
    assert set(masked["x"].cast(pl.String)) <= {"0", "1", "*"}
    poset = code(one_column(PowerSet(), [True, False, None]), "x").poset
    assert poset.lub(["true", "false"]) == "*"
    assert poset.lub(["true", "true"]) == "1"
    assert poset.leq("false", "0")
    check_joins(PowerSet(), [True, False, None])


def test_columns_of_sets_are_released_and_measured() -> None:
    values = [["hiv"], ["hiv", "renal"], ["renal", "hiv"], ["colon"], [], ["colon", "hiv"]]
    masked = check_release(PowerSet(), values, k=2)
    assert masked.schema["x"].generalized
    with_blanks = [["a b"], ["a", "b"], ["a b"], ["a", "b"]]
    assert set(check_release(PowerSet(), with_blanks)["x"]) == {"{a b}", "{a, b}"}


def test_a_star_alone_means_suppressed() -> None:
    for values in (["*", "hiv"], [" * ", "hiv"]):
        with pytest.raises(ValueError, match="means suppressed -> make it missing"):
            PowerSet().bind(values)
    # As the remedy says: in quotes, or among other traits, it is a trait as others are.
    poset = PowerSet().bind(['{"*"}', "* hiv", "hiv"])
    label = poset.lub(['{"*"}', "* hiv"])
    assert label == '{"*"}+'
    assert poset.leq('{"*"}', label)
    assert poset.leq("* hiv", label)
    assert not poset.leq("hiv", label)
    check_release(PowerSet(), ['{"*"}', "* hiv", "hiv", "hiv"], k=2)


def test_too_many_traits() -> None:
    with pytest.raises(ValueError, match=r"63 traits, .* at most 62 -> recode"):
        PowerSet().bind([[str(i) for i in range(MOST_TRAITS + 1)]])
    full = PowerSet().bind([[str(i) for i in range(MOST_TRAITS)], ["1"]])
    assert full.elements == 62
    assert full.element_bits.max() == 2**62 - 1


def test_what_cannot_be_read() -> None:
    poset = PowerSet(bits=3).bind(["011"])
    for bad in ("01", "0110", "0x1", "{a}"):
        with pytest.raises(ValueError, match="3 bits"):
            poset.measure(bad)
    with pytest.raises(ValueError, match='"flu" is not among'):
        PowerSet(traits=["hiv"]).bind(["hiv flu"])
    with pytest.raises(ValueError, match="do not name"):
        PowerSet(traits=["a"], bits=2)
    with pytest.raises(ValueError, match="named twice"):
        PowerSet(traits=["a", "a"])
    with pytest.raises(ValueError, match="among the column's values"):
        poset.codes(["111"])


def test_named_traits_make_bits_of_text() -> None:
    poset = PowerSet(traits=["renal", "hiv", "colon"]).bind(["011", "001"])
    assert poset.members("**1") == ("colon",)
    assert PowerSet(traits=["011", "001"]).bind(["011", "001"]).elements == 2
