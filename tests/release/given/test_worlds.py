"""Among how many records people hide, beside all worlds one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.release.given.worlds import Histories
from tests.oracle import worlds as oracle

Classes = list[tuple[int, ...]]


def hidden(classes: Classes, values: list[int]) -> dict[tuple[int, ...], int]:
    """By exchanges of values, or by places that went the same way."""
    places = oracle.in_places(classes, values)
    return {own: max(n, places[own]) for own, n in oracle.hidden(classes, values).items()}


def counted(classes: Classes, values: list[int], k: int = 100) -> dict[tuple[int, ...], int]:
    people = Histories(np.array(classes), np.array(values), np.arange(len(values)))
    among = people.hidden(k)
    return {own: int(among[g]) for own, g in zip(classes, people.groups.tolist(), strict=True)}


def forest(classes: Classes) -> bool:
    """Whether the pairs of classes of those who are in both releases make no ring."""
    pairs = {own for own in classes if min(own) >= 0}
    parent: dict[tuple[int, int], tuple[int, int]] = {}

    def root(node: tuple[int, int]) -> tuple[int, int]:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    for a, b in sorted(pairs):
        one, other = root((0, a)), root((1, b))
        if one == other:
            return False
        parent[one] = other
    return True


def together(classes: Classes, group: tuple[int, ...]) -> bool:
    """Whether a group is in one release only, or all who stayed of one of its classes."""
    full = {own for own in classes if min(own) >= 0}
    alone = [sum(own[side] == group[side] for own in full) == 1 for side in (0, 1)]
    return min(group) < 0 or any(alone)


people = st.tuples(st.integers(-1, 1), st.integers(-1, 1)).filter(lambda own: max(own) >= 0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(people, st.integers(0, 2)), min_size=1, max_size=7))
def test_two_releases_against_all_worlds(table: list[tuple[tuple[int, int], int]]) -> None:
    classes, values = [own for own, _ in table], [value for _, value in table]
    truth, found = hidden(classes, values), counted(classes, values)
    assert all(found[group] <= truth[group] for group in found)
    if forest(classes):
        asked = [group for group in found if together(classes, group)]
        # Of all ways to fill places one is tried; of exchanges none is missed.
        exchanged = oracle.hidden(classes, values)
        assert all(found[g] >= exchanged[g] for g in asked)


several = st.lists(st.integers(-1, 1), min_size=3, max_size=3).map(tuple)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(several.filter(lambda own: max(own) >= 0), st.integers(0, 2)),
        min_size=1,
        max_size=6,
    )
)
def test_three_releases_never_hide_more_than_all_worlds_do(
    table: list[tuple[tuple[int, ...], int]],
) -> None:
    classes, values = [own for own, _ in table], [value for _, value in table]
    truth, found = hidden(classes, values), counted(classes, values)
    assert all(found[group] <= truth[group] for group in found)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(several.filter(lambda own: max(own) >= 0), st.integers(0, 1)), max_size=6)
)
def test_places_that_went_the_same_way_can_be_exchanged(
    table: list[tuple[tuple[int, ...], int]],
) -> None:
    classes, values = [own for own, _ in table], [value for _, value in table]
    could = oracle.possible(classes, values)
    assert all(many <= could[own] for own, many in oracle.in_places(classes, values).items())


def test_whoever_takes_a_place_hides_who_left_in_every_year() -> None:
    """A class of five, one leaves in each year and another comes with the same value."""
    classes: Classes = [(0, -1, -1), (0, 0, -1), *[(0, 0, 0)] * 3, (-1, 0, 0), (-1, -1, 0)]
    assert set(counted(classes, [0, 1, 0, 1, 2, 0, 1]).values()) == {5}
    # With another value the newcomer fills nothing: both are seen.
    other = counted(classes, [0, 1, 0, 1, 2, 2, 1])
    assert other[0, -1, -1] < 5
    assert other[-1, 0, 0] < 5


# Two classes of five, of which one person each left, with values 0 and 1, and the others of both
# were put together: either could have left with either value.
LEFT: Classes = [(0, -1), *[(0, 0)] * 4, (1, -1), *[(1, 0)] * 4]


def test_those_who_left_hide_where_others_left_whose_value_they_could_have_had() -> None:
    found = counted(LEFT, [0, 1, 1, 0, 0, 1, 0, 0, 1, 1])
    # Those who stayed cannot do without the value of the one who left, which is no news.
    assert found == {(0, -1): 5, (0, 0): 5, (1, -1): 5, (1, 0): 5}
    # With another value among them, which neither can have had, one record fewer.
    assert counted(LEFT, [0, 1, 1, 0, 2, 1, 0, 0, 1, 1])[0, -1] == 4
    # Nobody of the second class had the first one's value: nothing can have been exchanged.
    assert counted(LEFT, [0, 1, 1, 0, 0, 1, 1, 1, 1, 1])[0, -1] == 1


def test_what_those_who_stayed_surely_have_is_compared_with_their_whole_class() -> None:
    """The first and the last surely have 0, though every release shows a 1 beside it."""
    classes: Classes = [(-1, 0, 0), (-1, -1, 0), (0, 0, -1), (0, 0, 0), (0, -1, 0)]
    assert min(counted(classes, [0, 0, 0, 1, 0], 2).values()) < 2


def test_one_alone_who_left_is_found_by_subtraction_whoever_has_the_same_value() -> None:
    classes: Classes = [(0, -1), *[(0, 0)] * 9]
    assert counted(classes, [0] * 10)[0, -1] == 1
    assert counted(classes, [0, 1] * 5)[0, -1] == 1


def test_whose_value_changed_exchanges_nothing() -> None:
    found = counted(LEFT, [0, 1, 1, 0, 0, -1, 0, 0, 1, 1])
    assert found[0, -1] == 1
    assert found[1, -1] == 1
    # The record of one who stayed still looks like those that somebody who left could have had.
    classes, values = np.array(LEFT), np.array([0, 1, 1, 0, -1, 1, 0, 0, 1, 1])
    shown = np.repeat(values[:, None], 2, axis=1)
    shown[4] = (0, 2)
    people = Histories(classes, values, np.arange(10), shown)
    assert people.hidden(9)[people.groups[0]] == 5
    shown[4] = (2, 0)
    people = Histories(classes, values, np.arange(10), shown)
    assert people.hidden(9)[people.groups[0]] == 4
    assert people.hidden(9)[people.groups[4]] == 4


@pytest.mark.parametrize("k", [4, 5])
def test_groups_of_k_need_no_other_world(k: int) -> None:
    found = counted(LEFT, [0, 1, 1, 0, 2, 1, 0, 0, 1, 1], k)
    assert found[0, 0] == 4


def test_several_records_of_one_are_not_exchanged() -> None:
    units = np.array([0, 0, *range(1, 9)])
    people = Histories(np.array(LEFT), np.array([0, 1, 1, 0, 0, 1, 0, 0, 1, 1]), units)
    assert np.array_equal(people.hidden(5), people.sizes)
