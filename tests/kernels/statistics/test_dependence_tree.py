"""A tree of columns beside enumeration of all that its records could be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.statistics import dependence_tree
from sfumato.kernels.statistics.dependence_tree import BORROWED, DependenceTree, learnt, spanning
from tests.oracle import hidden_cells as oracle

SIZES = (2, 3, 2, 4)


def a_tree(rng: np.random.Generator) -> DependenceTree:
    """Any forest of four columns, numbered in any order."""
    order = rng.permutation(4)
    parent = np.full(4, -1)
    for place, j in enumerate(order.tolist()):
        if place and rng.random() < 0.8:
            parent[j] = order[rng.integers(place)]
    tables = [rng.random((1 if p < 0 else SIZES[p], s)) + 0.01 for p, s in zip(parent, SIZES)]  # noqa: B905
    return DependenceTree(parent, order, tuple(t / t.sum(axis=1, keepdims=True) for t in tables))


def some_cells(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Cells that are exact, labels, or shares."""
    found = []
    for size in SIZES:
        said = (rng.random((n, size)) < 0.5).astype(float)
        said[np.arange(n), rng.integers(0, size, n)] = 1.0
        said[rng.random(n) < 0.2] *= 0.5
        found.append(said)
    return found


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_posteriors_are_those_of_all_worlds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, said = a_tree(rng), some_cells(rng, 5)
    found = tree.posteriors(said)
    for i in range(5):
        worlds = oracle.worlds(tree.parent, tree.tables, [one[i] for one in said])
        for j, size in enumerate(SIZES):
            assert found[j][i] == pytest.approx(oracle.posterior(worlds, j, size))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_a_round_counts_every_record_by_its_worlds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, said = a_tree(rng), some_cells(rng, 6)
    single = [np.zeros(size) for size in SIZES]
    joint = [np.zeros(np.shape(table)) for table in tree.tables]
    for i in range(6):
        worlds = oracle.worlds(tree.parent, tree.tables, [one[i] for one in said])
        for states, weight in worlds.items():
            for j, state in enumerate(states):
                single[j][state] += weight
                joint[j][states[tree.parent[j]] if tree.parent[j] >= 0 else 0, state] += weight
    fitted = tree.fitted(said)
    for j, size in enumerate(SIZES):
        share = (single[j] + 1 / size) / 7
        wanted = share[None, :]
        if tree.parent[j] >= 0:
            wanted = joint[j] + BORROWED * share
            wanted /= wanted.sum(axis=1, keepdims=True)
        assert fitted.tables[j] == pytest.approx(wanted)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    tree, said = a_tree(rng), some_cells(rng, 50)
    whole, fitted = tree.posteriors(said), tree.fitted(said)
    monkeypatch.setattr(dependence_tree, "_BLOCK", 7)
    for one, other in zip(whole, tree.posteriors(said), strict=True):
        np.testing.assert_allclose(one, other)
    for one, other in zip(fitted.tables, tree.fitted(said).tables, strict=True):
        np.testing.assert_allclose(one, other)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_no_forest_shares_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(4) for b in range(a)]
    shared = {pair: float(rng.normal()) for pair in pairs}
    parent, order = spanning(shared, 4)
    place = {j: i for i, j in enumerate(order.tolist())}
    own = [(max(j, p), min(j, p)) for j, p in enumerate(parent.tolist()) if p >= 0]
    assert all(p < 0 or place[p] < place[j] for j, p in enumerate(parent.tolist()))
    best = 0.0
    for chosen in range(2 ** len(pairs)):
        edges = [pair for i, pair in enumerate(pairs) if chosen >> i & 1]
        if not _circles(edges):
            best = max(best, sum(shared[pair] for pair in edges))
    assert sum(shared[pair] for pair in own) == pytest.approx(best)


def _circles(edges: list[tuple[int, int]]) -> bool:
    group = list(range(4))
    for a, b in edges:
        if group[a] == group[b]:
            return True
        group = [group[a] if g == group[b] else g for g in group]
    return False


def test_what_depends_is_linked_and_what_does_not_is_not() -> None:
    rng = np.random.default_rng(3)
    a, alone = rng.integers(0, 4, 4000), rng.integers(0, 4, 4000)
    b = np.where(rng.random(4000) < 0.8, a, rng.integers(0, 4, 4000))
    said = [np.eye(4)[one] for one in (a, alone, b)]
    # Half of the cells of b may be either of two values.
    hidden = rng.random(4000) < 0.5
    said[2][hidden] = np.eye(4)[b[hidden]] + np.eye(4)[(b[hidden] + 1) % 4]
    tree = learnt(said, [np.full(4, 0.25)] * 3, 20)
    assert tree.parent[1] == -1
    assert {int(tree.parent[0]), int(tree.parent[2])} in ({-1, 2}, {-1, 0})
    p = int(tree.parent[2])
    table = tree.tables[2] if p == 0 else tree.tables[0]
    assert np.diag(table) == pytest.approx(np.full(4, 0.85), abs=0.04)


def test_contradictions_say_nothing() -> None:
    tree = a_tree(np.random.default_rng(2))
    said = [np.ones((1, size)) for size in SIZES]
    said[1][:] = 0.0
    assert not any(one.any() for one in tree.posteriors(said)[1])
