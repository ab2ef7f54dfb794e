"""Plain searches for local suppression, ladders, and the random order, each beside an oracle."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sfumato.kernels.suppression.at_random import stop_by_class, stop_by_match
from sfumato.kernels.suppression.ladders import Ladder, choices, climb, two_steps
from sfumato.kernels.suppression.matches import pack
from sfumato.kernels.suppression.searches import cell_by_cell, cheapest_sets
from tests.oracle import suppression as recount
from tests.oracle import suppression_searches as oracle

Search = Literal["optimal", "greedy"]
prices = st.sampled_from([0.5, 1.0, 1.0, 1.25, 3.0])


class Case(NamedTuple):
    codes: np.ndarray
    gone: np.ndarray
    k: int
    costs: np.ndarray


@st.composite
def cases(draw: st.DrawFn, most: int = 12) -> Case:
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 4))
    codes = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(0, 2)))
    gone = draw(st.just(np.zeros((n, d), dtype=bool)) | hnp.arrays(bool, (n, d)))
    costs = draw(hnp.arrays(float, d, elements=prices))
    return Case(codes, gone, draw(st.integers(1, min(n, 4))), costs)


@given(cases())
def test_each_record_pays_its_own_optimum(case: Case) -> None:
    suppressed = cheapest_sets(case.codes, case.gone, case.k, case.costs)
    assert recount.fewest_matches(case.codes, suppressed | case.gone) >= case.k
    for i in range(len(case.codes)):
        least = oracle.cheapest_price(case.codes, case.gone, i, case.k, case.costs)
        assert case.costs[suppressed[i]].sum() == pytest.approx(least)


@given(cases())
def test_cell_by_cell_keeps_the_promise_and_spares_those_not_in_need(case: Case) -> None:
    suppressed = cell_by_cell(case.codes, case.gone, case.k, case.costs)
    assert recount.fewest_matches(case.codes, suppressed | case.gone) >= case.k
    assert not (suppressed & case.gone).any()
    for i in range(len(case.codes)):
        if oracle.cheapest_price(case.codes, case.gone, i, case.k, case.costs) == 0:
            assert not suppressed[i].any()


def test_cell_by_cell_takes_what_frees_most_for_its_cost() -> None:
    # Without its first cell the last record is like three others, without its second like one.
    codes = np.array([[0, 0], [0, 0], [0, 0], [1, 1], [1, 0]])
    nothing = np.zeros((5, 2), dtype=bool)
    for costs, lost in (([1.0, 1.0], [0]), ([1.0, 0.2], [1]), ([4.0, 2.5], [1])):
        found = cell_by_cell(codes, nothing, 2, np.array(costs))
        assert np.flatnonzero(found[4]).tolist() == lost


@given(cases(), st.data())
def test_the_random_order_stops_at_the_first_moment(case: Case, data: st.DataObject) -> None:
    free = np.flatnonzero(~case.gone.ravel())
    place = np.full(case.gone.size, -1)
    place[free] = data.draw(st.permutations(range(free.size)))
    place = place.reshape(case.gone.shape)
    expected = oracle.stopping_time(case.codes, place, case.k, wildcard=True)
    assert stop_by_match(case.codes, place, case.k) == expected
    expected = oracle.stopping_time(case.codes, place, case.k, wildcard=False)
    assert stop_by_class(pack(case.codes, case.gone), place, case.k) == expected


def test_too_few_records_are_refused() -> None:
    codes, place = np.zeros((2, 1), np.int64), np.array([[0], [1]])
    with pytest.raises(ValueError, match="cannot be made 3-anonymous"):
        stop_by_match(codes, place, 3)
    with pytest.raises(ValueError, match="cannot be made 3-anonymous"):
        stop_by_class(pack(codes), place, 3)
    with pytest.raises(ValueError, match="not of 3"):
        climb(codes, [two_steps(1, 1.0)], 3)


TREE = Ladder(
    # Leaves 0..3 and 4 (alone under the root), groups 5 = {0, 1} and 6 = {2, 3}, the top 7.
    np.array([[0, 1, 2, 3, 4], [5, 5, 6, 6, 4], [7, 7, 7, 7, 7]]),
    np.array([0, 0, 0, 0, 0, 0.25, 0.25, 1.0]),
)
PATHS = [[0, 5, 7], [1, 5, 7], [2, 6, 7], [3, 6, 7], [4, 7]]


def test_what_is_above_each_label() -> None:
    assert TREE.up().tolist() == [5, 5, 6, 6, 7, 7, 7, 7]
    assert two_steps(2, 1.0).up().tolist() == [2, 2, 2]
    assert choices([TREE, two_steps(3, 1.0)]) == 6


@st.composite
def ladders(draw: st.DrawFn) -> tuple[np.ndarray, list[Ladder], int]:
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    codes = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(0, 4)))
    # Prices that no two sets of labels share, so that there is one optimum.
    made = [
        Ladder(TREE.labels, TREE.price * (1 + 0.137 * j) + 0.01 * np.sqrt(j + 2) * (TREE.price > 0))
        if draw(st.booleans())
        else two_steps(5, 1.0 + 0.0713 * (j + 1) ** 2)
        for j in range(d)
    ]
    return codes, made, draw(st.integers(1, min(n, 4)))


@given(ladders(), st.sampled_from(["optimal", "greedy"]), st.data())
def test_every_published_record_has_company(
    case: tuple[np.ndarray, list[Ladder], int], search: Search, data: st.DataObject
) -> None:
    codes, made, k = case
    already = data.draw(st.just(np.zeros(codes.shape, dtype=bool)) | hnp.arrays(bool, codes.shape))
    shown = climb(codes, made, k, already=already, search=search)
    assert recount.smallest_class(shown) >= k
    for j, ladder in enumerate(made):
        for i, label in enumerate(shown[:, j]):
            # Each label stands for the record's own value at some level.
            assert label in ladder.labels[:, codes[i, j]]
            assert not already[i, j] or label == ladder.top


def test_the_optimum_of_each_record_beside_the_oracle() -> None:
    rng = np.random.default_rng(7)
    whole = 0
    for _ in range(60):
        n, d, k = int(rng.integers(6, 22)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
        # Neighbouring codes are frequent, so that many records can be helped by one step.
        codes = np.minimum(rng.geometric(0.5, (n, d)) - 1, 4)
        # Prices that no two sets of labels share, so that there is one optimum.
        made = [
            Ladder(TREE.labels, np.where(TREE.price > 0, TREE.price + rng.uniform(0, 0.7), 0.0))
            if rng.random() < 0.5
            else two_steps(5, rng.uniform(0.5, 2.0))
            for _ in range(d)
        ]
        paths = [
            PATHS if len(ladder.labels) == 3 else [[code, 5] for code in range(5)]
            for ladder in made
        ]
        prices = [ladder.price.tolist() for ladder in made]
        expected, left = oracle.rounds(paths, prices, codes, k)
        assert len(left) < k  # nobody waits where k could still meet
        if not left:
            whole += 1
            assert [tuple(labels) for labels in climb(codes, made, k).tolist()] == expected
    assert whole > 20


@given(ladders(), st.data())
def test_company_may_be_counted_by_weights(
    case: tuple[np.ndarray, list[Ladder], int], data: st.DataObject
) -> None:
    codes, made, k = case
    weights = st.sampled_from([0.5, 1.0, 2.0, 7.0])
    count = data.draw(hnp.arrays(float, len(codes), elements=weights))
    if count.sum() < k:
        with pytest.raises(ValueError, match="company"):
            climb(codes, made, k, count=count)
        return
    for search in ("optimal", "greedy"):
        shown = climb(codes, made, k, count=count, search=search)  # type: ignore[arg-type]
        for labels in shown:
            assert count[(shown == labels).all(axis=1)].sum() >= k - 1e-6


def test_the_last_one_takes_the_lightest_along() -> None:
    codes = np.array([[0, 0]] * 4 + [[0, 1]])
    made = [two_steps(2, 1.0), two_steps(2, 1.0)]
    shown = climb(codes, made, 2, weight=np.array([5.0, 5.0, 1.0, 5.0, 5.0]))
    assert np.argwhere(shown == 2).tolist() == [[2, 1], [4, 1]]


def test_a_ladder_costs_less_than_suppression() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 5, (200, 3))
    ladders = [TREE] * 3
    plain = [two_steps(5, 1.0)] * 3
    for search in ("optimal", "greedy"):
        climbed = climb(codes, ladders, 4, search=search)  # type: ignore[arg-type]
        gone = climb(codes, plain, 4, search=search)  # type: ignore[arg-type]
        assert TREE.price[climbed].sum() < (gone == 5).sum()
