"""The finisher for sets: exact gains, valid groups, never less utility, the same on any cores."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.refine._pool import (
    fill,
    grow,
    make_pool,
    move_gain,
    polish,
    swap_gain,
    tally,
)
from sfumato.kernels.sets.refine._search import Search, begin, epoch
from sfumato.kernels.sets.refine._steps import improve
from tests.oracle.set_clusters import kept

Sets = list[frozenset[int]]


def _packed(sets: Sets, d: int) -> tuple[np.ndarray, np.ndarray]:
    starts = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(np.int64)
    items = np.array(
        [i for s in sets for i in sorted(s)], dtype=np.uint16 if d <= 65536 else np.int32
    )
    return starts, items


def _table(seed: int, n: int, d: int) -> tuple[Sets, np.ndarray]:
    """Sets with frequent and rare items; whole utilities, some 0."""
    rng = np.random.default_rng(seed)
    has = rng.random((n, d)) < rng.uniform(0.05, 0.95, d)
    return [frozenset(np.flatnonzero(row).tolist()) for row in has], rng.integers(0, 9, d) * 1.0


def _labels(seed: int, n: int, k: int) -> np.ndarray:
    """A random partition into groups of k or more, large ones among them."""
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(1, n // k + 1))
    rest = rng.integers(0, groups, n - groups * k)
    return rng.permutation(np.concatenate([np.repeat(np.arange(groups), k), rest]))


def _begin(sets: Sets, u: np.ndarray, labels: np.ndarray, k: int, seed: int = 0) -> Search:
    return begin(*_packed(sets, u.size), u, labels, k, np.random.default_rng(seed))


tables = st.tuples(st.integers(0, 10**6), st.integers(4, 40), st.integers(1, 90), st.integers(2, 5))


@given(tables)
def test_gains_are_those_counted_from_the_labels(given_: tuple[int, int, int, int]) -> None:
    seed, n, d, k = given_
    k = min(k, n // 2)
    sets, u = _table(seed, n, d)
    random = np.array([seed], np.uint64)
    pool = make_pool(n, n // k + 1, d // 64 + 1, d)
    pool.record[:] = np.arange(n)
    group = pool.group
    starts, items = _packed(sets, d)
    words = fill(pool, starts, items, u, n, k)
    assert not pool.times.any()
    assert (pool.slot == -1).all()
    groups = grow(pool, n, words, k, random)
    assert np.bincount(group).min() >= k
    pool.size[:groups] = -1
    tally(pool, n, words, groups)
    before = kept(sets, u.tolist(), group.tolist())
    assert np.dot(pool.size[:groups], pool.value[:groups]) == before
    rng = np.random.default_rng(seed)
    for _ in range(20):
        p, q = (int(i) for i in rng.integers(n, size=2))
        g, h = int(group[p]), int(group[q])
        if g == h:
            continue
        moved = group.copy()
        moved[p] = h
        if pool.size[g] > k:
            assert move_gain(pool, words, p, h) == kept(sets, u.tolist(), moved.tolist()) - before
        moved[q] = g
        assert swap_gain(pool, words, p, q) == kept(sets, u.tolist(), moved.tolist()) - before
    if pool.size.max() < 2 * k:
        polished = polish(pool, n, words, groups, k, 0.0)
        assert polished == kept(sets, u.tolist(), group.tolist())
        assert polished >= before
        assert k <= pool.size[:groups].min()
        assert pool.size.max() < 2 * k


@given(tables, st.booleans())
def test_every_step_wins_what_it_says(given_: tuple[int, int, int, int], wide: bool) -> None:
    seed, n, d, k = given_
    k = min(k, n // 2)
    sets, u = _table(seed, n, d)
    search = _begin(sets, u, _labels(seed, n, k), k)
    starts, items = _packed(sets, d)
    if wide:
        items = items.astype(np.int32)
    rows, sizes = search.rows, search.sizes
    value = kept(sets, u.tolist(), search.labels().tolist())
    assert value >= kept(sets, u.tolist(), _labels(seed, n, k).tolist())
    random = np.array([seed], np.uint64)
    for _ in range(12):
        sizes, won, taken = improve(starts, items, u, rows, sizes, k, 1, random)
        assert won >= 0
        assert taken <= 1
        assert sorted(rows.tolist()) == list(range(n))
        assert k <= sizes.min()
        assert sizes.max() < 2 * k
        search.sizes = sizes
        now = kept(sets, u.tolist(), search.labels().tolist())
        assert now == value + won
        value = now


@given(tables, st.integers(0, 3000))
def test_never_less_utility_and_no_more_steps(
    given_: tuple[int, int, int, int], steps: int
) -> None:
    seed, n, d, k = given_
    k = min(k, n)
    sets, u = _table(seed, n, d)
    labels = _labels(seed, n, k)
    search = _begin(sets, u, labels, k, seed)
    assert search.before == kept(sets, u.tolist(), labels.tolist())
    for _ in range(2):
        epoch(search, steps - search.steps, size=8)
    assert search.steps <= steps
    found = search.labels()
    assert np.bincount(found).min() >= k
    assert search.utility() == kept(sets, u.tolist(), found.tolist())
    assert search.utility() >= search.before


def test_the_same_whatever_the_threads_and_another_with_another_seed() -> None:
    sets, u = _table(3, 400, 60)
    labels = _labels(3, 400, 4)
    found = []
    for threads, seed in ((1, 0), (2, 0), (5, 0), (1, 1)):
        search = _begin(sets, u, labels, 4, seed)
        for _ in range(3):
            assert not epoch(search, 3000, threads=threads, size=64)
        found.append(search.labels())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] != found[3]).any()


def test_the_clock_ends_after_whole_blocks_that_steps_repeat(monkeypatch: Any) -> None:
    sets, u = _table(4, 600, 40)
    labels = _labels(4, 600, 3)
    late = _begin(sets, u, labels, 3)
    assert epoch(late, 10**9, deadline=-np.inf)
    assert late.steps == 0
    ticks = iter(range(10**6))
    clock = "sfumato.kernels.sets.refine._search.time.monotonic"
    monkeypatch.setattr(clock, lambda: float(next(ticks)))
    stopped = _begin(sets, u, labels, 3)
    assert epoch(stopped, 10**9, deadline=3.5, size=50, threads=2)
    monkeypatch.undo()
    assert stopped.steps == 4 * 256
    again = _begin(sets, u, labels, 3)
    assert not epoch(again, stopped.steps, size=50)
    np.testing.assert_array_equal(stopped.labels(), again.labels())


def _partitions(rows: list[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into groups of k or more."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for size in range(k - 1, len(rows)):
        for others in combinations(rest, size):
            for found in _partitions([r for r in rest if r not in others], k):
                yield [[first, *others], *found]


@pytest.mark.parametrize("k", [2, 3])
def test_it_finds_the_optimum_of_tiny_tables(k: int) -> None:
    found = 0
    for seed in range(12):
        sets, u = _table(seed, 8, 6)
        best = 0.0
        for groups in _partitions(list(range(8)), k):
            label = [next(g for g, rows in enumerate(groups) if i in rows) for i in range(8)]
            best = max(best, kept(sets, u.tolist(), label))
        search = _begin(sets, u, np.zeros(8, np.int64), k, seed)
        epoch(search, 256)
        assert search.utility() <= best
        found += search.utility() == best
    assert found == 12


def test_records_without_a_group_stay_out_and_small_groups_are_refused() -> None:
    sets, u = _table(5, 30, 10)
    labels = _labels(5, 28, 3)
    labels = np.concatenate([labels, [-1, -1]])
    search = _begin(sets, u, labels, 3)
    epoch(search, 500)
    assert (search.labels() < 0).tolist() == (labels < 0).tolist()
    with pytest.raises(ValueError, match="fewer than k = 3"):
        _begin(sets, u, np.arange(30) // 2, 3)


def test_many_items_empty_sets_and_twins() -> None:
    rng = np.random.default_rng(6)
    sets = [frozenset(rng.choice(70_000, 30, replace=False).tolist()) for _ in range(20)]
    sets = [*sets * 2, *[frozenset[int]()] * 5]
    search = _begin(sets, np.ones(70_000), _labels(6, 45, 2), 2)
    assert search.items.dtype == np.int32
    for _ in range(4):
        epoch(search, 3000)
    # Every set has a twin; the empty ones have each other.
    assert search.utility() == 40 * 30


def test_an_interruption_ends_the_threads_soon() -> None:
    sets, u = _table(7, 4000, 60)
    search = _begin(sets, u, _labels(7, 4000, 4), 4)

    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    # A thousand blocks of many steps would take minutes.
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        epoch(search, 10**9, tell=interrupt, size=16, threads=1, steps=20_000)
    assert time.monotonic() - begun < 60
