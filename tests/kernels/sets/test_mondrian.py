"""Mondrian for sets against its oracle, and what every partition must satisfy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.mondrian import _choice as choice
from sfumato.kernels.sets.mondrian import _search as kernel
from sfumato.kernels.sets.mondrian._search import set_mondrian
from sfumato.progress import listening
from tests.oracle.set_mondrian import set_mondrian as oracle

WAYS: list[tuple[Any, bool, bool]] = [
    (choose, lookahead, relaxed)
    for choose in ("even", "entropy", "utility")
    for lookahead in (False, True)
    for relaxed in (False, True)
    if choose == "utility" or not lookahead
]
Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def table_of(sets: list[frozenset[int]], utilities: list[float]) -> Table:
    starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    items = np.array([a for s in sets for a in sorted(s)], dtype=np.uint16)
    return starts, items, np.array(utilities, dtype=np.float64)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[frozenset[int]], list[float], int]:
    d = draw(st.integers(1, 9))
    # Few distinct sets and utilities, so that there are ties.
    kinds = draw(st.lists(st.frozensets(st.integers(0, d - 1)), min_size=1, max_size=12))
    sets = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=40))
    utilities = draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.5, 7.0]), min_size=d, max_size=d))
    return sets, utilities, draw(st.integers(2, min(5, len(sets))))


@pytest.mark.parametrize(("choose", "lookahead", "relaxed"), WAYS)
@given(given=tables())
def test_as_the_oracle(given: Any, choose: Any, lookahead: bool, relaxed: bool) -> None:
    sets, utilities, k = given
    starts, items, worth = table_of(sets, utilities)
    n_log_n = choice.logarithms(len(sets)).tolist()
    expected = oracle(sets, utilities, k, choose, lookahead, relaxed, n_log_n)
    found = set_mondrian(
        starts, items, worth, k, choose=choose, lookahead=lookahead, relaxed=relaxed
    )
    np.testing.assert_array_equal(found, expected)


def random_table(n: int, d: int, seed: int, dtype: Any = np.uint16) -> Table:
    rng = np.random.default_rng(seed)
    kinds = rng.random((8, d)) ** 2
    has = rng.random((n, d)) < kinds[rng.integers(8, size=n)]
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(has.sum(1), out=starts[1:])
    return starts, np.nonzero(has)[1].astype(dtype), rng.uniform(1, 100, d)


def sets_of(table: Table) -> list[frozenset[int]]:
    starts, items, _ = table
    return [frozenset(items[a:b].tolist()) for a, b in pairwise(starts)]


@pytest.mark.parametrize(("choose", "lookahead", "relaxed"), WAYS)
@pytest.mark.parametrize("k", [2, 7])
def test_larger_tables_as_the_oracle(choose: Any, lookahead: bool, relaxed: bool, k: int) -> None:
    table = random_table(300, 40, 1)
    n_log_n = choice.logarithms(300).tolist()
    expected = oracle(sets_of(table), table[2].tolist(), k, choose, lookahead, relaxed, n_log_n)
    found = set_mondrian(*table, k, choose=choose, lookahead=lookahead, relaxed=relaxed)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("choose", ["even", "utility"])
@pytest.mark.parametrize("seed", range(3))
def test_classes_that_are_moved_as_they_are(choose: Any, seed: int) -> None:
    """Large classes keep items that are no longer live: it must not show."""
    table = random_table(1500, 60, seed)
    n_log_n = choice.logarithms(1500).tolist()
    expected = oracle(sets_of(table), table[2].tolist(), 6, choose, True, True, n_log_n)
    found = set_mondrian(*table, 6, choose=choose, lookahead=True, relaxed=True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("choose", "lookahead", "relaxed"), WAYS)
def test_neither_threads_nor_the_size_of_tasks_matter(
    choose: Any, lookahead: bool, relaxed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = random_table(1200, 30, 2)

    def found(threads: int) -> np.ndarray:
        return set_mondrian(
            *table, 5, choose=choose, lookahead=lookahead, relaxed=relaxed, threads=threads
        )

    expected = found(1)
    for task, levels, share in ((40, 8, 64), (100, 3, 4), (300, 0, 2), (11, 30, 1000)):
        monkeypatch.setattr(kernel, "TASK", task)
        monkeypatch.setattr(kernel, "LEVELS", levels)
        monkeypatch.setattr(kernel, "SHARE", share)
        for threads in (1, 2, 5):
            np.testing.assert_array_equal(found(threads), expected)


def test_pairs_and_lists_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(200, 30, 3)
    counts = np.bincount(table[1], minlength=30)
    lens, names = np.diff(table[0]), np.arange(30)
    args = (table[1], lens, 0, counts, 3, names, table[2])
    n_log_n = choice.logarithms(200)
    whole = choice.implied_gains.py_func(*args)
    item = choice.by_entropy.py_func(table[1], lens, 0, counts, 200, 3, n_log_n)
    monkeypatch.setattr(choice, "ROOM", 70)
    np.testing.assert_array_equal(choice.implied_gains.py_func(*args), whole)
    assert choice.by_entropy.py_func(table[1], lens, 0, counts, 200, 3, n_log_n) == item


@given(given=tables(), way=st.sampled_from(WAYS), threads=st.integers(1, 3))
def test_classes_keep_k_and_labels_are_contiguous(given: Any, way: Any, threads: int) -> None:
    sets, utilities, k = given
    choose, lookahead, relaxed = way
    table = table_of(sets, utilities)
    labels = set_mondrian(
        *table, k, choose=choose, lookahead=lookahead, relaxed=relaxed, threads=threads
    )
    assert labels.dtype == np.int64
    assert np.bincount(labels).min() >= k
    for label in range(labels.max() + 1):
        members = [sets[i] for i in np.flatnonzero(labels == label)]
        assert all(frozenset.intersection(*members) <= one for one in members)


def test_wide_items_give_the_same_classes() -> None:
    for way in WAYS:
        choose, lookahead, relaxed = way
        narrow, wide = random_table(150, 20, 4), random_table(150, 20, 4, np.int32)
        a, b = (
            set_mondrian(*t, 3, choose=choose, lookahead=lookahead, relaxed=relaxed)
            for t in (narrow, wide)
        )
        np.testing.assert_array_equal(a, b)


def test_inputs_stay_as_they_are_and_may_be_read_only() -> None:
    table = random_table(200, 20, 5)
    before = [part.copy() for part in table]
    for part in table:
        part.flags.writeable = False
    set_mondrian(*table, 4)
    for part, copy in zip(table, before, strict=True):
        np.testing.assert_array_equal(part, copy)


@pytest.mark.parametrize("empty", [0, 1])
def test_sets_without_items(empty: int) -> None:
    starts, items, utilities = np.zeros(7, dtype=np.int64), np.empty(0, np.uint16), np.ones(empty)
    for choose, lookahead, relaxed in WAYS:
        found = set_mondrian(
            starts, items, utilities, 2, choose=choose, lookahead=lookahead, relaxed=relaxed
        )
        assert found.tolist() == [0] * 6


def test_a_relaxed_cut_leaves_those_behind_who_have_least_to_lose() -> None:
    sets = [frozenset(s) for s in ({0, 1}, {0}, {0, 1}, {0, 1}, {1})]
    table = table_of(sets, [1.0, 1.0])
    assert set_mondrian(*table, 2, choose="even").tolist() == [0] * 5
    found = set_mondrian(*table, 2, choose="even", relaxed=True)
    assert found.tolist() == [0, 1, 0, 0, 1]


def test_progress_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "TASK", 50)
    monkeypatch.setattr(kernel, "SHARE", 1000)
    table = random_table(3000, 20, 6)
    heard: list[tuple[int, int]] = []
    with listening(lambda what, done, of: heard.append((done, of))):
        set_mondrian(*table, 4)
    done = [d for d, _ in heard]
    assert done == sorted(done)
    assert done[-1] == 3000
    assert {of for _, of in heard} == {3000}
    assert len(heard) > 5


@pytest.mark.parametrize("k", [1, 9])
def test_k_out_of_range(k: int) -> None:
    with pytest.raises(ValueError, match="k is at least 2"):
        set_mondrian(*random_table(8, 3, 7), k)
