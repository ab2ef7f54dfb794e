"""Value sets over categories."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.poset.valueset import ValueSet
from tests.oracle.poset import Sets
from tests.poset.test_text import NASTY

domains = st.lists(NASTY, min_size=1, max_size=6, unique=True).map(sorted)


def subsets(values: list[str]) -> list[frozenset[object]]:
    sizes = range(1, len(values) + 1)
    return [frozenset(s) for s in chain.from_iterable(combinations(values, n) for n in sizes)]


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[str], list[list[int]]]:
    values = draw(domains)
    codes = st.lists(st.integers(1, len(values)), min_size=1, unique=True).map(sorted)
    return values, draw(st.lists(codes, min_size=1, max_size=6))


def published(values: list[str], chosen: list[list[int]]) -> list[str]:
    starts = np.cumsum([0, *map(len, chosen)])
    return ValueSet().bind(values).set_labels(starts, np.array(list(chain.from_iterable(chosen))))


@given(groups())
def test_labels_mean_exactly_their_members(given_groups: tuple[list[str], list[list[int]]]) -> None:
    values, chosen = given_groups
    poset = ValueSet().bind(values)
    labels = published(values, chosen)
    sets = [frozenset(values[c - 1] for c in codes) for codes in chosen]
    for label, members in zip(labels, sets, strict=True):
        assert poset.lub([label]) == label
        singles = [poset.labels(np.array([c]), np.array([c]))[0] for c in range(1, len(values) + 1)]
        inside = {v for v, single in zip(values, singles, strict=True) if poset.leq(single, label)}
        assert inside == members
    for a, one in zip(labels, sets, strict=True):
        for b, other in zip(labels, sets, strict=True):
            assert (a == b) == (one == other)
            assert poset.leq(a, b) == (one <= other)
            if one <= other:
                assert poset.measure(a) <= poset.measure(b)
                assert poset.height(a) <= poset.height(b)


@given(groups())
def test_least_upper_bound(given_groups: tuple[list[str], list[list[int]]]) -> None:
    values, chosen = given_groups
    oracle = Sets(subsets(values))
    least = oracle.lub(frozenset(values[c - 1] for c in codes) for codes in chosen)
    expected = published(values, [[c for c, v in enumerate(values, 1) if v in least]])
    assert [ValueSet().bind(values).lub(published(values, chosen))] == expected


@given(groups())
def test_measure_counts_the_values_left_open(
    given_groups: tuple[list[str], list[list[int]]],
) -> None:
    values, chosen = given_groups
    poset = ValueSet().bind(values)
    found = [poset.measure(label) for label in published(values, chosen)]
    assert found == [(len(codes) - 1) / max(len(values) - 1, 1) for codes in chosen]


@given(st.integers(64, 90), st.data())
def test_large_domains_have_the_same_labels(size: int, data: st.DataObject) -> None:
    values = [f"v{i:02}" for i in range(size)]
    code = st.integers(1, size)
    chosen = data.draw(st.lists(st.lists(code, min_size=1, unique=True).map(sorted), min_size=1))
    chosen.append(list(range(1, size + 1)))

    def expected(codes: list[int]) -> str:
        if len(codes) in (1, size):
            return values[codes[0] - 1] if len(codes) == 1 else "*"
        return "{" + ", ".join(values[c - 1] for c in codes) + "}"

    assert published(values, chosen) == [expected(codes) for codes in chosen]


def test_everything_is_published_as_suppressed_where_there_is_a_choice() -> None:
    assert published(["a", "b"], [[1, 2], [1], [2]]) == ["*", "a", "b"]
    assert published(["a"], [[1]]) == ["a"]
    only = ValueSet().bind(["a"])
    assert [only.measure("a"), only.measure("*")] == [0, 1]
    assert only.leq("a", "*")
    assert not only.leq("*", "a")
    assert [only.height("a"), only.height("*")] == [0, 2]


def test_runs_of_categories_are_sets() -> None:
    poset = ValueSet().bind(["low", "middle", "high"])
    assert poset.labels(np.array([1, 2, 1, 3]), np.array([2, 3, 3, 3])) == [
        "{low, middle}",
        "{middle, high}",
        "*",
        "high",
    ]
    assert poset.positions[1:].tolist() == [1, 2, 3]
    assert not poset.spans


def test_values_that_look_like_labels_stay_apart() -> None:
    values = ["*", "a", "b", "{a, b}"]
    poset = ValueSet().bind(values)
    labels = [poset.labels(np.array([c]), np.array([c]))[0] for c in range(1, 5)]
    assert labels == ['{"*"}', "a", "b", '{"{a, b}"}']
    assert [poset.measure(label) for label in labels] == [0, 0, 0, 0]
    assert poset.measure("{a, b}") == pytest.approx(1 / 3)
    assert poset.codes(values).tolist() == [1, 2, 3, 4]


def test_other_tools_sets() -> None:
    poset = ValueSet().bind(["a", "b", "c", "d"])
    for label in ("{a,b}", "a,b", " {a, b} ", "a, b"):
        assert poset.lub([label]) == "{a, b}"
    assert poset.measure(" * ") == 1


def test_numbers_and_booleans_are_found_by_their_text() -> None:
    poset = ValueSet().bind([1, 2, 30])
    assert poset.codes([30, 1]).tolist() == [3, 1]
    assert poset.lub([1, 30]) == "{1, 30}"
    assert ValueSet().bind([False, True]).codes(["true"]).tolist() == [2]


def test_what_it_does_not_know_is_refused_by_name() -> None:
    poset = ValueSet().bind(["green", "red"])
    with pytest.raises(ValueError, match=r'label "rde" is not made of .* did you mean "red"'):
        poset.measure("rde")
    with pytest.raises(ValueError, match=r'"\{red, blue\}" is not made of'):
        poset.leq("red", "{red, blue}")
    with pytest.raises(ValueError, match=r'value "blue" \(and 1 more\)'):
        poset.codes(["red", "blue", "pink"])
    with pytest.raises(ValueError, match='both written "a b"'):
        ValueSet().bind(["a b", "c", "a b"])
    with pytest.raises(ValueError, match="nothing has no least upper bound"):
        poset.lub([])
    with pytest.raises(ValueError, match="without values"):
        poset.set_labels(np.array([0, 1, 1]), np.array([1]))
    with pytest.raises(ValueError, match="0 is missing"):
        poset.set_labels(np.array([0, 2]), np.array([0, 1]))


def test_an_empty_column_binds() -> None:
    poset = ValueSet().bind([])
    assert poset.set_labels(np.array([0]), np.array([], dtype=int)) == []
    assert poset.measure("*") == 1
