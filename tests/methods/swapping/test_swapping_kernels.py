"""The kernels of swapping beside their oracles, and what every exchange must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.kernels.swapping.household import (
    multiset_labels,
    sharing_households,
    swap_outside,
    swap_short,
)
from sfumato.kernels.swapping.ranked_columns import ranked_columns
from sfumato.kernels.swapping.shuffling import (
    draw_given,
    normal_correlations,
    possible,
    rank_correlations,
)
from sfumato.kernels.swapping.unbounded import bucket_swap, distance_swap
from sfumato.kernels.swapping.within_groups import pair_within, permute_within
from tests.oracle import swapping as oracle

LAST = np.nextafter(1.0, 0.0)
RARE = 1e-6
"""The false-alarm rate of a statistical test."""

uniform = st.floats(0, LAST) | st.sampled_from([0.0, 0.5, LAST])


def uniforms(n: int) -> st.SearchStrategy[list[float]]:
    return st.lists(uniform, min_size=n, max_size=n)


def is_swap(found: np.ndarray) -> bool:
    """Whether it is its own inverse: positions exchanged in pairs."""
    return bool((found[found] == np.arange(found.size)).all())


@given(st.lists(st.floats(-5, 60), max_size=60))
def test_distance_swap_agrees_with_the_oracle(distances: list[float]) -> None:
    found = distance_swap(distances)
    assert found.tolist() == oracle.distance_swap(distances)
    assert is_swap(found)


@given(st.data(), st.integers(0, 60), st.integers(1, 70), st.sampled_from([0.1, 0.5, 0.9]))
def test_bucket_swap_agrees_with_the_oracle(
    data: st.DataObject, n: int, buckets: int, ratio: float
) -> None:
    choice, inside = data.draw(uniforms(n)), data.draw(uniforms(n))
    found = bucket_swap(n, buckets, choice, inside, ratio)
    assert found.tolist() == oracle.bucket_swap(n, buckets, choice, inside, ratio)
    assert is_swap(found)


def test_many_positions_agree_with_the_oracles() -> None:
    rng = np.random.default_rng(1)
    distances = rng.normal(40, 40, 900)
    assert distance_swap(distances).tolist() == oracle.distance_swap(distances.tolist())
    choice, inside = rng.random(900), rng.random(900)
    for buckets in (2, 30, 900):
        expected = oracle.bucket_swap(900, buckets, choice, inside, 0.5)
        assert bucket_swap(900, buckets, choice, inside).tolist() == expected


def test_buckets_are_drawn_in_proportion_to_their_share() -> None:
    """The first position: bucket s with probability 2^-(s + 1) / K, K the sum over all five."""
    rng = np.random.default_rng(2)
    drawn = [bucket_swap(20, 5, rng.random(20), rng.random(20))[0] // 4 for _ in range(8000)]
    share = 0.5 ** np.arange(1, 6)
    found = stats.chisquare(np.bincount(drawn, minlength=5), 8000 * share / share.sum())
    assert found.pvalue > RARE


labelled = st.lists(st.integers(-1, 4), max_size=40)


def dense(labels: list[int]) -> np.ndarray:
    return np.array(labels, dtype=np.int64)


@given(st.data(), labelled)
def test_permute_within_agrees_with_the_oracle(data: st.DataObject, labels: list[int]) -> None:
    draws = data.draw(uniforms(len(labels)))
    found = permute_within(dense(labels), draws)
    assert found.tolist() == oracle.permute_within(labels, draws)
    assert sorted(found.tolist()) == list(range(len(labels)))
    assert (dense(labels)[found] == dense(labels)).all()
    outside = dense(labels) < 0
    assert (found[outside] == np.flatnonzero(outside)).all()


@given(st.data(), labelled, st.floats(0, 1))
def test_pair_within_agrees_with_the_oracle(
    data: st.DataObject, labels: list[int], rate: float
) -> None:
    draws = data.draw(uniforms(len(labels)))
    rounding = data.draw(uniforms(max(labels, default=-1) + 1))
    found = pair_within(dense(labels), rate, draws, rounding)
    assert found.tolist() == oracle.pair_within(labels, rate, draws, rounding)
    assert is_swap(found)
    assert (dense(labels)[found] == dense(labels)).all()


def test_all_permutations_of_a_group_are_equally_likely() -> None:
    rng = np.random.default_rng(3)
    labels = np.array([0, 1, 0, 0, 1])
    seen = [tuple(permute_within(labels, rng.random(5))[[0, 2, 3]]) for _ in range(6000)]
    assert len(set(seen)) == 6
    assert stats.chisquare([seen.count(one) for one in set(seen)]).pvalue > RARE


def test_the_expected_number_of_pairs_is_the_rate() -> None:
    """Also in groups too small to have it: seven records at 0.3 make 1.05 pairs."""
    rng = np.random.default_rng(4)
    labels = np.repeat([0, 1, 2], [7, 2, 12])
    draws = 4000
    for rate in (0.1, 0.3, 0.8):
        shares = np.array(
            [
                np.mean(pair_within(labels, rate, rng.random(21), rng.random(3)) != np.arange(21))
                for _ in range(draws)
            ]
        )
        error = shares.std() / np.sqrt(draws)
        assert abs(shares.mean() - rate) < stats.norm.isf(RARE / 2) * error


@given(st.data(), st.integers(1, 6), st.integers(0, 6), st.integers(0, 8))
def test_ranked_columns_agree_with_the_oracle(
    data: st.DataObject, subsets: int, size: int, extra: int
) -> None:
    rows = [(s, False) for s in range(subsets) for _ in range(size)]
    rows += [(data.draw(st.integers(0, subsets - 1)), True) for _ in range(extra)]
    rows = data.draw(st.permutations(rows))
    subset, over = np.array([s for s, _ in rows], np.int64), np.array([o for _, o in rows], bool)
    target = data.draw(st.permutations(range(subsets)))
    found = ranked_columns(subset, over, np.array(target, np.int64))
    assert found.tolist() == oracle.ranked_columns(subset.tolist(), over.tolist(), target)
    assert sorted(found.tolist()) == list(range(len(rows)))


@given(st.data(), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_swap_outside_agrees_with_the_oracle(
    data: st.DataObject, rows: list[tuple[int, int]]
) -> None:
    rows.sort()
    n = len(rows)
    group = [g for g, _ in rows]
    block = [4 * g + b for g, b in rows]
    visits = data.draw(st.permutations(range(n)))
    draws, pairs = data.draw(uniforms(n)), data.draw(st.integers(0, n))
    found, vain = swap_outside(dense(group), dense(block), dense(visits), draws, pairs)
    assert (found.tolist(), vain) == oracle.swap_outside(group, block, visits, draws, pairs)
    moved = np.flatnonzero(found != np.arange(n))
    assert all(group[i] == group[found[i]] and block[i] != block[found[i]] for i in moved)
    assert moved.size <= 2 * pairs


@given(st.data(), st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=40))
def test_swap_short_agrees_with_the_oracle(
    data: st.DataObject, rows: list[tuple[int, int, int]]
) -> None:
    rows.sort()
    n = len(rows)
    group, area = [g for g, _, _ in rows], [4 * b + a for _, b, a in rows]
    block = [4 * g + b for g, b, _ in rows]
    visits = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    short = data.draw(st.lists(st.integers(0, 4), min_size=16, max_size=16))
    draws, left = data.draw(uniforms(n)), dense(short)
    found, _ = swap_short(dense(group), dense(block), dense(visits), draws, dense(area), left)
    assert found.tolist() == oracle.swap_short(group, block, visits, draws, area, short)
    assert left.tolist() == short, "the input is not modified"


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=30))
def test_households_that_share_a_cell_are_counted(rows: list[tuple[int, int, int]]) -> None:
    homes, areas, codes = ([row[j] for row in rows] for j in range(3))
    cells = dense([4 * area + code for _, area, code in rows])
    found = sharing_households(cells, dense(homes))
    for i, (_, area, code) in enumerate(rows):
        sharing = {h for h, a, c in rows if (a, c) == (area, code)}
        assert found[i] == len(sharing)
    fewest = oracle.fewest_sharing(homes, areas, codes)
    assert fewest == {h: min(found[i] for i in range(len(rows)) if homes[i] == h) for h in homes}


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), max_size=12))
def test_multiset_labels_agree_with_the_oracle(members: list[list[int]]) -> None:
    codes = np.array([code for household in members for code in household], np.int64)
    starts = np.concatenate(([0], np.cumsum([len(m) for m in members]))).astype(np.int64)
    found = multiset_labels(codes, np.arange(codes.size), starts)
    assert oracle.same_classes(found.tolist(), oracle.multisets(members))


def test_rank_correlations_beside_the_oracle() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 9, (80, 3)).astype(float)
    x[:, 1] += x[:, 0]
    ranks = np.column_stack([oracle.mean_ranks(x[:, j].tolist()) for j in range(3)])
    found = rank_correlations(ranks / 81)
    for i in range(3):
        for j in range(3):
            assert found[i, j] == pytest.approx(oracle.spearman(x[:, i].tolist(), x[:, j].tolist()))


def test_draws_given_others_beside_the_oracle() -> None:
    """One column to draw, two given, the second a copy of the first in part and missing here and
    there."""
    rng = np.random.default_rng(6)
    r = np.array([[1.0, 0.6, 0.6], [0.6, 1.0, 1.0], [0.6, 1.0, 1.0]])
    given = rng.standard_normal((50, 1)).repeat(2, axis=1)
    given[rng.random((50, 2)) < 0.3] = np.nan
    noise = rng.standard_normal((50, 1))
    expected = oracle.draw_given(r, given, noise)
    assert draw_given(r, given, noise) == pytest.approx(np.array(expected), abs=1e-9)


def test_draws_have_the_covariance_of_the_oracle() -> None:
    """Two columns: the same conditional moments as one after the other."""
    rng = np.random.default_rng(7)
    r = np.array([[1, 0.5, 0.3], [0.5, 1, -0.4], [0.3, -0.4, 1]], dtype=float)
    given = np.full((40_000, 1), 1.5)
    noise = rng.standard_normal((40_000, 2))
    found = draw_given(r, given, noise)
    beside = np.array(oracle.draw_given(r, given[:4000], noise[:4000]))
    assert found.mean(axis=0) == pytest.approx([0.45, -0.6], abs=0.03)
    assert np.cov(found.T) == pytest.approx(
        r[:2, :2] - np.outer([0.3, -0.4], [0.3, -0.4]), abs=0.04
    )
    assert np.cov(beside.T) == pytest.approx(np.cov(found.T), abs=0.12)


def test_impossible_correlations_are_made_possible() -> None:
    wrong = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    made, changed = possible(wrong)
    assert np.linalg.eigvalsh(made).min() > -1e-12
    assert np.diag(made).tolist() == [1.0, 1.0, 1.0]
    assert changed == pytest.approx(np.abs(made - wrong).max())
    fine = normal_correlations(np.array([[1.0, 0.4], [0.4, 1.0]]))
    assert possible(fine)[1] == 0.0
    assert fine[0, 1] == pytest.approx(2 * np.sin(np.pi * 0.4 / 6))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distance_swap([np.nan]), "NaN"),
        (lambda: bucket_swap(2, 0, [0, 0], [0, 0]), "at least one"),
        (lambda: bucket_swap(2, 2, [0, 0], [0, 0], 0.0), "ratio"),
        (lambda: pair_within(np.array([0]), 1.5, [0.5], [0.5]), "rate"),
        (lambda: ranked_columns(dense([0, 0]), np.zeros(2, bool), dense([1, 0])), "equally many"),
        (lambda: swap_outside(dense([1, 0]), dense([0, 1]), dense([0, 1]), [0, 0], 1), "sorted"),
        (lambda: swap_outside(dense([0]), dense([]), dense([0]), [0.0], 1), "one block"),
    ],
)
def test_refusals_name_the_fault(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
