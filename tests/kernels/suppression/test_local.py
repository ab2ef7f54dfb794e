"""Local suppression: promises recounted naively, cost against the best and against a greedy way."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sfumato.kernels.suppression import _subsets as subsets
from sfumato.kernels.suppression import _wildcard as wildcard
from sfumato.kernels.suppression.local import local_suppression, subsets_are_complete
from sfumato.kernels.suppression.matches import class_sizes, match_counts
from tests.oracle import suppression as oracle

OPTIONS: list[dict[str, Any]] = [
    {"reading": "category", "mark": "missing"},
    {"reading": "category", "mark": "own"},
    {"reading": "wildcard"},
]


class Case(NamedTuple):
    codes: np.ndarray
    missing: np.ndarray
    already: np.ndarray
    k: int
    costs: np.ndarray
    weights: np.ndarray

    def run(self, **options: Any) -> np.ndarray:
        return local_suppression(
            self.codes,
            self.k,
            self.costs,
            missing=self.missing,
            already=self.already,
            weights=self.weights,
            **options,
        )


prices = st.sampled_from([0.5, 1.0, 1.0, 1.25, 3.0])


@st.composite
def cases(draw: st.DrawFn, most: int = 14, columns: int = 4) -> Case:
    n, d = draw(st.integers(1, most)), draw(st.integers(1, columns))
    codes = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(0, 2)))
    no = st.just(np.zeros((n, d), dtype=bool))
    missing = draw(no | hnp.arrays(bool, (n, d)))
    already = draw(no | hnp.arrays(bool, (n, d)))
    k = draw(st.integers(1, min(n, 4)))
    costs = draw(st.just(np.ones(d)) | hnp.arrays(float, d, elements=prices))
    weights = draw(st.just(np.ones(n)) | hnp.arrays(float, n, elements=prices))
    return Case(codes, missing, already, k, costs, weights)


def shown(case: Case, suppressed: np.ndarray, mark: str) -> np.ndarray:
    return oracle.appearance(case.codes, case.missing, suppressed | case.already, mark)


@given(cases(), st.sampled_from(["missing", "own"]))
def test_every_published_record_occurs_k_times(case: Case, mark: str) -> None:
    suppressed = case.run(mark=mark)
    assert oracle.smallest_class(shown(case, suppressed, mark)) >= case.k


@given(cases())
def test_every_record_matches_k(case: Case) -> None:
    wild = case.run(reading="wildcard") | case.missing | case.already
    assert oracle.fewest_matches(case.codes, wild) >= case.k


@given(cases(), st.sampled_from(OPTIONS))
def test_what_is_gone_is_not_suppressed_again(case: Case, options: dict[str, Any]) -> None:
    suppressed = case.run(**options)
    assert not (suppressed & case.already).any()
    if options.get("mark") != "own":
        assert not (suppressed & case.missing).any()


@given(cases(most=6, columns=3), st.sampled_from(["missing", "own"]))
def test_the_cost_is_never_below_the_optimum(case: Case, mark: str) -> None:
    free = case.missing | case.already
    before = shown(case, np.zeros_like(free), mark)
    best = oracle.optimal_cost(before, free, case.k, case.costs, case.weights)
    assert oracle.cost(case.run(mark=mark), free, case.costs, case.weights) >= best - 1e-9


@given(cases())
def test_under_wildcards_nobody_pays_for_others(case: Case) -> None:
    """Only records in need are suppressed, and in no more than would be enough for themselves."""
    gone = case.missing | case.already
    suppressed = case.run(reading="wildcard")
    d = case.codes.shape[1]
    for i in np.flatnonzero(suppressed.any(axis=1)):
        least = np.inf
        for mask in range(1 << d):
            chosen = (mask >> np.arange(d)) & 1 == 1
            wild = gone.copy()
            wild[i] |= chosen
            if match_counts(case.codes, wild)[i] >= case.k:
                least = min(least, case.costs[chosen].sum())
        assert match_counts(case.codes, gone)[i] < case.k
        # Sets of about the same cost (less than one more column) count as equal.
        assert case.costs[suppressed[i]].sum() < least + case.costs.min()


@given(cases(), st.sampled_from(OPTIONS), st.randoms(use_true_random=False))
def test_order_of_records_is_the_only_source_of_ties(
    case: Case, options: dict[str, Any], random: Any
) -> None:
    first = case.run(**options)
    assert (case.run(**options) == first).all()
    order = list(range(len(case.codes)))
    random.shuffle(order)
    moved = Case(
        case.codes[order],
        case.missing[order],
        case.already[order],
        case.k,
        case.costs,
        case.weights[order],
    )
    assert (case.run(rng_order=order, **options)[order] == moved.run(**options)).all()


@given(cases(), st.sampled_from(OPTIONS))
def test_inputs_are_not_modified(case: Case, options: dict[str, Any]) -> None:
    arrays = [value for value in case if isinstance(value, np.ndarray)]
    before = [value.copy() for value in arrays]
    case.run(**options)
    for value, was in zip(arrays, before, strict=True):
        assert (value == was).all()


@given(cases(), st.sampled_from(OPTIONS))
def test_nothing_is_suppressed_without_need(case: Case, options: dict[str, Any]) -> None:
    assert not case._replace(k=1).run(**options).any()
    alike = case._replace(
        codes=np.tile(case.codes[0], (len(case.codes), 1)),
        missing=np.tile(case.missing[0], (len(case.codes), 1)),
        already=np.tile(case.already[0], (len(case.codes), 1)),
    )
    assert not alike.run(**options).any()


@given(st.lists(st.integers(0, 4), min_size=2, max_size=8), st.integers(2, 3))
def test_one_column(values: list[int], k: int) -> None:
    assume(len(values) >= k)
    codes = np.array(values)[:, None]
    suppressed = local_suppression(codes, k)
    free, ones = np.zeros_like(suppressed), np.ones(len(values))
    assert suppressed.sum() == oracle.optimal_cost(codes, free, k, np.ones(1), ones)


@pytest.mark.parametrize("reading", ["category", "wildcard"])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_records_with_nothing_in_common(reading: Any, k: int) -> None:
    codes = np.arange(10)[:, None] * np.ones(3, dtype=np.int64)
    suppressed = local_suppression(codes, k, reading=reading)
    # As values of their own all must go; as wildcards the last record may keep its values.
    assert suppressed.all() if reading == "category" else suppressed.sum() == 3 * (k - 1)


def test_dear_columns_are_kept() -> None:
    # Each pair agrees in all columns but two, either of which would do.
    codes = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    for dear in range(3):
        costs = np.where(np.arange(3) == dear, 10.0, 1.0)
        lost = local_suppression(codes, 2, costs).sum(axis=0)
        assert lost[dear] == 0
        assert lost.sum() == 8


def test_light_records_are_recruited() -> None:
    codes = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [0, 1]])
    weights = np.array([5.0, 5.0, 1.0, 5.0, 5.0])
    suppressed = local_suppression(codes, 2, weights=weights)
    assert np.argwhere(suppressed).tolist() == [[2, 1], [4, 1]]


def test_a_lone_record_takes_a_class_along_that_can_spare_nobody() -> None:
    codes = np.array([[0, 0], [0, 0], [0, 0], [5, 1], [5, 1], [5, 2]])
    suppressed = local_suppression(codes, 3)
    assert np.argwhere(suppressed).tolist() == [[3, 1], [4, 1], [5, 1]]


def test_missing_looks_suppressed_or_is_marked() -> None:
    codes = np.array([[0, 0], [0, 1], [0, 2]])
    missing = np.array([[False, False], [False, True], [False, False]])
    alike = local_suppression(codes, 3, missing=missing)
    assert np.argwhere(alike).tolist() == [[0, 1], [2, 1]]
    marked = local_suppression(codes, 3, missing=missing, mark="own")
    assert np.argwhere(marked).tolist() == [[0, 1], [1, 1], [2, 1]]


def gap(n: int, d: int, k: int, values: int, *, plain: bool) -> float:
    """The cost of 60 random tables divided by their optimal cost."""
    rng = np.random.default_rng(n * 100 + d * 10 + k)
    ours = best = 0.0
    for _ in range(60):
        codes = rng.integers(0, values, (n, d))
        free = rng.random((n, d)) < (0.0 if plain else 0.15)
        costs = np.ones(d) if plain else rng.uniform(0.5, 2.0, d)
        weights = np.ones(n) if plain else rng.uniform(0.5, 2.0, n)
        suppressed = local_suppression(codes, k, costs, missing=free, weights=weights)
        ours += oracle.cost(suppressed, free, costs, weights)
        before = np.where(free, oracle.EMPTY, codes)
        best += oracle.optimal_cost(before, free, k, costs, weights)
    return ours / best


@pytest.mark.parametrize(
    ("n", "d", "k", "values"),
    [(6, 3, 2, 3), (6, 3, 3, 3), (6, 2, 2, 3), (5, 3, 2, 2)],
)
def test_the_mean_gap_to_the_optimum_is_small(n: int, d: int, k: int, values: int) -> None:
    assert 1 <= gap(n, d, k, values, plain=True) <= 1.08
    assert 1 <= gap(n, d, k, values, plain=False) <= 1.12


def skewed(n: int, seed: int, sizes: tuple[int, ...] = (2, 2, 6, 16, 7, 40, 100)) -> np.ndarray:
    """Independent columns in which the r-th value has a share in proportion to 1 / r."""
    rng = np.random.default_rng(seed)
    shares = [1 / np.arange(1, size + 1) for size in sizes]
    return np.column_stack([rng.choice(s.size, n, p=s / s.sum()) for s in shares])


@pytest.mark.parametrize("k", [3, 10])
def test_clearly_cheaper_than_greedy_and_near_the_bound(k: int) -> None:
    codes = skewed(4000, k)
    suppressed = local_suppression(codes, k)
    baseline = oracle.greedy(codes, k)
    for cells in (suppressed, baseline):
        assert class_sizes(np.where(cells, 0, codes + 1)).min() >= k
    assert suppressed.sum() < 0.75 * baseline.sum()
    assert suppressed.sum() < 1.15 * oracle.cheapest_own_sets(codes, k, np.ones(7)).sum()


def test_wildcards_need_fewer_cells() -> None:
    codes = skewed(4000, 1)
    wild = local_suppression(codes, 3, reading="wildcard")
    assert match_counts(codes, wild).min() >= 3
    assert wild.sum() < 0.5 * local_suppression(codes, 3).sum()


def test_nearly_equal_costs_do_about_as_well_as_equal_ones() -> None:
    codes = skewed(4000, 2)
    tilted = 1 + 0.01 * np.arange(7)
    cells = local_suppression(codes, 3, tilted).sum()
    assert cells < 1.05 * local_suppression(codes, 3).sum()


@pytest.mark.parametrize("options", OPTIONS)
def test_a_narrowed_search_keeps_the_promise(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subsets, "WORK", 0)
    assert not subsets_are_complete(1, 1)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, (300, 8))
    missing = rng.random(codes.shape) < 0.05
    suppressed = local_suppression(codes, 3, missing=missing, **options)
    if options["reading"] == "wildcard":
        assert match_counts(codes, suppressed | missing).min() >= 3
    else:
        seen = oracle.appearance(codes, missing, suppressed, options["mark"])
        assert oracle.smallest_class(seen) >= 3
    assert suppressed.mean() < 0.9


def test_cells_are_given_back_also_in_small_helpings(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = skewed(500, 4)
    monkeypatch.setattr(wildcard, "ROUNDS", 0)
    kept = local_suppression(codes, 3, reading="wildcard")
    monkeypatch.setattr(wildcard, "ROUNDS", 8)
    given_back = local_suppression(codes, 3, reading="wildcard")
    monkeypatch.setattr(wildcard, "PAIRS", 10)
    slowly = local_suppression(codes, 3, reading="wildcard")
    for cells in (kept, given_back, slowly):
        assert match_counts(codes, cells).min() >= 3
    assert not (given_back & ~kept).any()
    assert given_back.sum() < slowly.sum() < kept.sum()


def test_records_wider_than_a_word() -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 2000, (60, 9))
    codes[:, 3:] //= 1000
    for reading in ("category", "wildcard"):
        suppressed = local_suppression(codes, 4, reading=reading)  # type: ignore[arg-type]
        if reading == "category":
            assert class_sizes(np.where(suppressed, 0, codes + 1)).min() >= 4
        else:
            assert match_counts(codes, suppressed).min() >= 4
        assert not suppressed.all()


@given(hnp.arrays(float, st.integers(1, 6), elements=prices), st.integers(1, 70))
def test_sets_come_in_the_order_of_their_cost(costs: np.ndarray, most: int) -> None:
    found = subsets.cheapest_subsets(costs, most)
    every = sorted(subsets.cost_of(costs, mask) for mask in range(1 << costs.size))
    assert len(set(found)) == len(found) == min(most, 1 << costs.size)
    assert [subsets.cost_of(costs, mask) for mask in found] == pytest.approx(every[: len(found)])


def test_what_is_wrong_is_said() -> None:
    codes = [[0, 1], [1, 1]]
    with pytest.raises(ValueError, match="2 records cannot be made 3-anonymous"):
        local_suppression(codes, 3)
    with pytest.raises(ValueError, match="0 records cannot"):
        local_suppression(np.zeros((0, 2), dtype=np.int64), 1)
    with pytest.raises(ValueError, match="63 columns are too many"):
        local_suppression(np.zeros((2, 63), dtype=np.int64), 1)
    for costs in ([1.0], [1.0, 0.0], [1.0, np.nan], [1.0, np.inf]):
        with pytest.raises(ValueError, match="costs must be 2 positive"):
            local_suppression(codes, 2, costs)
    with pytest.raises(ValueError, match="weights must be 2 positive"):
        local_suppression(codes, 2, weights=[1.0, -1.0])
    with pytest.raises(ValueError, match="missing must be boolean"):
        local_suppression(codes, 2, missing=[[False, False]])
    with pytest.raises(ValueError, match="already must be boolean"):
        local_suppression(codes, 2, already=[[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="unknown reading 'any'"):
        local_suppression(codes, 2, reading="any")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="permutation"):
        local_suppression(codes, 2, rng_order=[0, 0])
