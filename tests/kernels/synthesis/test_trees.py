"""Trees against every cut tried one by one, and what is drawn from their leaves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.kernels.synthesis.category_axis import category_axis, coarse, crossed_scores
from sfumato.kernels.synthesis.leaf_numbers import LeafNumbers, middle_ranks, places, quantile_edges
from sfumato.kernels.synthesis.trees import Tree, descend, deviate, grow, judged
from tests.oracle import trees as oracle


def left_of(tree: Tree, node: int, nominal: np.ndarray, levels: int) -> frozenset[int]:
    """The codes that a node sends left."""
    at = int(tree.cut[node])
    if nominal[tree.feature[node]]:
        return frozenset(np.flatnonzero(tree.sides[at : at + levels] == 0).tolist())
    return frozenset(range(at + 1))


def grown(
    seed: int, n: int, leaf: int, least: float, classes: int = 4
) -> tuple[Tree, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A tree of a target that depends on an ordered and on a nominal predictor."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, w, n) for w in (12, 5, 30, 7)]).astype(np.int32)
    nominal = np.array([False, True, False, True])
    levels = codes.max(axis=1).astype(np.int32) + 3
    drift = codes[0] / 4 + np.array([0, 2, 1, 3, 0])[codes[1]] + rng.integers(0, 3, n)
    target = np.floor(drift * classes / 9).clip(0, classes - 1).astype(np.int32)
    scores = middle_ranks(target, classes)[target] + rng.normal(0, 1e-3, n)
    tree = grow(codes, nominal, levels, target, scores, leaf=leaf, least=least)
    return tree, codes, nominal, levels, target, scores


@pytest.mark.parametrize(
    ("seed", "n", "leaf", "least"),
    [(0, 120, 5, 1.0), (1, 200, 3, 0.0), (2, 60, 2, -1.0), (3, 300, 20, 2.75), (4, 90, 10, 0.5)],
)
def test_every_cut_is_the_best_of_all(seed: int, n: int, leaf: int, least: float) -> None:
    tree, codes, nominal, levels, target, scores = grown(seed, n, leaf, least)
    assert sorted(tree.rows.tolist()) == list(range(n))
    assert (tree.start[0], tree.stop[0]) == (0, n)
    for node in range(tree.feature.size):
        rows = tree.rows[tree.start[node] : tree.stop[node]]
        assert rows.size >= leaf
        found = {
            (j, going): value
            for j in range(len(codes))
            for value, going in oracle.cuts(
                codes[j][rows], nominal[j], target[rows], scores[rows], leaf
            )
        }
        best = max(found.values(), default=-np.inf)
        j = int(tree.feature[node])
        if j < 0:
            assert best <= least + 1e-9
            continue
        here = frozenset(codes[j][rows].tolist())
        going = left_of(tree, node, nominal, int(levels[j]))
        assert found[j, going & here] == pytest.approx(best, abs=1e-9)
        assert best > least
        one, other = (tree.rows[tree.start[c] : tree.stop[c]] for c in tree.left[node] + [0, 1])
        assert sorted([*one, *other]) == sorted(rows)
        assert set(codes[j][one].tolist()) == going & here
        if nominal[j]:  # categories that are not here go with the larger side
            absent = set(range(levels[j])) - here
            assert absent & going == (absent if one.size >= other.size else set())
    assert tree.feature.size > 1


def test_the_first_of_equal_cuts_is_taken() -> None:
    codes = np.tile(np.repeat([0, 1], 20), (3, 1)).astype(np.int32)
    target = np.repeat([0, 1], 20).astype(np.int32)
    for nominal in (True, False):
        flags, levels = np.full(3, nominal), np.full(3, 2, np.int32)
        tree = grow(codes, flags, levels, target, target / 2, leaf=2, least=1.0)
        assert tree.feature.tolist() == [0, -1, -1]


def test_chance_is_not_cut() -> None:
    """Predictors that tell nothing, also those of many categories: at 2.75 deviations a search of
    all cuts finds one in few tables."""
    cut = {False: 0, True: 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 40, (4, 400)).astype(np.int32)
        target = rng.integers(0, 6, 400).astype(np.int32)
        for nominal in cut:
            tree = grow(
                codes, np.full(4, nominal), np.full(4, 40, np.int32), target,
                middle_ranks(target, 6)[target], leaf=20, least=2.75,
            )  # fmt: skip
            cut[nominal] += tree.feature[0] >= 0
    assert cut[True] < 20
    assert cut[False] < 60


@pytest.mark.parametrize("freedom", [1, 4, 10, 31])
def test_a_deviate_has_the_tail_of_chi_square(freedom: int) -> None:
    for tail in (0.2, 0.05, 0.01, 0.001):
        found = deviate(stats.chi2.isf(tail, freedom), freedom, 2.0 * freedom)
        assert found == pytest.approx(stats.norm.isf(tail), abs=0.06)


def test_sparse_classes_do_not_seem_to_differ() -> None:
    """Of cuts by chance, with classes of a few records each, the deviates are standard normal."""
    rng = np.random.default_rng(3)
    target = np.concatenate([np.repeat(np.arange(40), 3), np.zeros(280)]).astype(int)
    counts = np.bincount(target)
    n, left = target.size, 60
    share = left / n
    found = []
    for _ in range(4000):
        gone = np.bincount(rng.permutation(target)[:left], minlength=counts.size)
        pearson = (np.sum(gone**2 / counts) - n * share**2) / (share * (1 - share))
        found.append(judged(pearson, 0.0, n, left, counts.size, float(np.sum(1 / counts)), 0.0))
    assert np.mean(found) == pytest.approx(0.0, abs=0.1)
    assert np.std(found) == pytest.approx(1.0, abs=0.1)


@given(
    st.integers(2, 60).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1, max_size=3),
            st.lists(st.integers(0, 2), min_size=n, max_size=n),
        )
    ),
    st.integers(1, 8),
    st.floats(-3, 3),
    st.booleans(),
)
def test_no_leaf_is_smaller_and_records_find_their_own(
    table: tuple[list[list[int]], list[int]], leaf: int, least: float, nominal: bool
) -> None:
    codes, target = np.array(table[0], np.int32), np.array(table[1], np.int32)
    flags, levels = np.full(len(codes), nominal), np.full(len(codes), 5, np.int32)
    scores = middle_ranks(target, 3)[target]
    tree = grow(codes, flags, levels, target, scores, leaf=leaf, least=least)
    leaves = tree.feature < 0
    sizes = (tree.stop - tree.start)[leaves]
    assert sizes.sum() == target.size
    assert leaves.all() or sizes.min() >= leaf
    found = descend(tree, codes, flags)
    for i, node in enumerate(found):
        assert i in tree.rows[tree.start[node] : tree.stop[node]]
    # Of other records every code is known, and each step is the node's.
    others = np.random.default_rng(0).integers(0, 5, (len(codes), 30)).astype(np.int32)
    for i, node in enumerate(descend(tree, others, flags)):
        at = 0
        while tree.feature[at] >= 0:
            goes = int(others[tree.feature[at], i]) in left_of(tree, at, flags, 5)
            at = int(tree.left[at]) + (0 if goes else 1)
        assert at == node
    starts = tree.first()
    for node in np.flatnonzero(leaves):
        assert (starts[tree.start[node] : tree.stop[node]] == tree.start[node]).all()


@given(
    st.lists(st.integers(0, 9).map(float) | st.floats(0, 9), min_size=1, max_size=200),
    st.integers(1, 6),
    st.integers(2, 8),
    st.integers(0, 3),
)
def test_what_numbers_are_drawn_between(
    values: list[float], rare: int, common: int, parts: int
) -> None:
    x = np.array(values)
    code = (np.arange(x.size) % (parts + 1)).astype(np.int32)[None, :]
    tree = grow(
        code, np.array([False]), np.array([parts + 1], np.int32),
        (x > np.median(x)).astype(np.int32), (x > np.median(x)).astype(float), leaf=3, least=-5.0,
    )  # fmt: skip
    found = LeafNumbers.of(tree, x, rare, common)
    lonely = sorted(v for v in values if values.count(v) < common)
    for node in np.flatnonzero(tree.feature < 0):
        start = int(tree.start[node])
        own = np.sort(x[tree.rows[start : tree.stop[node]]]).tolist()
        few = [v for v in own if values.count(v) < common]
        shared = [v for v in own if values.count(v) >= common]
        wanted = oracle.between(few, rare) if len(few) >= 2 * rare else []
        for at, value in enumerate(own, start=start):
            ends = found.low[at], found.high[at]
            if value in shared:
                assert ends == (value, value)
            elif wanted:
                assert ends == pytest.approx(wanted.pop(0), abs=1e-9)
            elif shared:
                assert ends[0] == ends[1]
                assert ends[0] in shared
            else:
                all_ends = oracle.between(lonely, max(min(rare, len(lonely) // 2), 1))
                assert any(ends == pytest.approx(one, abs=1e-9) for one in all_ends)
    made = found.drawn(np.repeat(np.arange(x.size), 20), np.random.default_rng(0)).reshape(-1, 20)
    assert (made >= found.low[:, None] - 1e-9).all()
    assert (made <= found.high[:, None] + 1e-9).all()


def test_places_are_points_of_the_leaf() -> None:
    tree = grow(
        np.repeat([0, 1], (30, 10)).astype(np.int32)[None, :], np.array([False]),
        np.array([2], np.int32), np.repeat([0, 1], (30, 10)).astype(np.int32),
        np.repeat([0.0, 1.0], (30, 10)), leaf=5, least=1.0,
    )  # fmt: skip
    u = np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])
    assert places(tree, np.array([1, 1, 1]), u).tolist() == [0, 15, 29]
    assert places(tree, np.array([2, 2, 2]), u).tolist() == [30, 35, 39]


@pytest.mark.parametrize("seed", range(4))
def test_the_axis_is_that_of_correspondence_analysis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    place = rng.permutation(8)
    codes = rng.integers(0, 8, 300)
    others = np.stack([
        np.clip(place[codes] + rng.integers(-1, 2, 300), 0, 7), rng.integers(0, 3, 300)
    ]).astype(np.uint8)  # fmt: skip
    found = category_axis(codes, 8, others)
    assert found == pytest.approx(oracle.axis(codes.tolist(), 8, others, 5.0), abs=1e-9)
    assert abs(stats.spearmanr(found, place).statistic) > 0.9


def test_each_half_is_scored_by_the_other() -> None:
    rng = np.random.default_rng(5)
    codes, others = rng.integers(0, 6, 200), rng.integers(0, 4, (2, 200)).astype(np.uint8)
    others[0] = np.clip(codes // 2 + rng.integers(0, 2, 200), 0, 3)
    half = rng.random(200) < 0.5
    found = crossed_scores(codes, 6, others, half)
    for own in (half, ~half):
        axis = oracle.axis(codes[~own].tolist(), 6, others[:, ~own], 5.0)[codes[own]]
        assert abs(np.corrcoef(found[own], axis)[0, 1]) == pytest.approx(1.0)
        assert found[own].std() == pytest.approx(axis.std())
        assert found[own].mean() == pytest.approx(0.0, abs=1e-12)
    means = [[found[own & (codes == k)].mean() for k in range(6)] for own in (half, ~half)]
    assert np.corrcoef(means)[0, 1] > 0.9


@pytest.mark.parametrize(("n", "count"), [(400, 30), (2_000, 100)])
def test_an_axis_of_chance_is_not_cut(n: int, count: int) -> None:
    """Scores on an axis fitted to the records themselves would be cut in nearly every table."""
    cut = {"crossed": 0, "own": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 16, (4, n)).astype(np.int32)
        target = rng.integers(0, count, n)
        bins = codes.astype(np.uint8)
        scores = {
            "crossed": crossed_scores(target, count, bins, rng.permutation(n) % 2 == 0),
            "own": category_axis(target, count, bins)[target],
        }
        for name, own in scores.items():
            tree = grow(
                codes, np.zeros(4, bool), np.full(4, 16, np.int32), target.astype(np.int32), own,
                leaf=20, least=2.75,
            )  # fmt: skip
            cut[name] += tree.feature[0] >= 0
    assert cut["crossed"] <= 20
    assert cut["own"] >= 40


def test_an_axis_of_nothing_and_of_very_many() -> None:
    codes = np.arange(6)
    assert category_axis(codes, 6, np.zeros((0, 6), np.uint8)).tolist() == [0, 1, 2, 3, 4, 5]
    many = np.arange(100_000) % 3_000
    noise = np.random.default_rng(0).integers(-2, 3, many.size)
    found = category_axis(many, 3_000, np.clip(many // 188 + noise, 0, 15).astype(np.uint8)[None])
    assert abs(stats.spearmanr(found, np.arange(3_000)).statistic) > 0.95


@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.booleans())
def test_coarse_bins_hold_neighbours_or_the_frequent(values: list[int], nominal: bool) -> None:
    found = coarse(np.array(values, np.int32), 41, nominal=nominal).tolist()
    assert max(found) < 16
    of = dict(zip(values, found, strict=True))
    if not nominal:
        assert all(of[a] <= of[b] for a in of for b in of if a < b)
        return
    counts = Counter(values)
    others = [v for v in of if of[v] == 15]
    assert len({of[v] for v in of if v not in others}) == len(of) - len(others)
    own = [counts[v] for v in of if v not in others]
    assert not others or (len(own) == 15 and max(counts[v] for v in others) <= min(own))


@given(st.lists(st.integers(0, 12).map(float), min_size=1, max_size=80), st.integers(2, 9))
def test_bins_of_numbers(values: list[float], bins: int) -> None:
    x = np.array(values)
    edges = quantile_edges(x, bins)
    assert edges.size < max(bins, 1)
    assert (np.diff(edges) > 0).all()
    assert set(edges.tolist()) <= set(values)
    if len(set(values)) <= bins:
        assert edges.tolist() == sorted(set(values))[1:]
