"""Intervals and levels as nodes, against joining and counting by hand."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.ambiguators.greedy import Greedy
from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.data.generalized.information import (
    NodeMatrix,
    node_information,
    target_codes,
    value_costs,
)
from sfumato.data.generalized.value_nodes import MOST_ENDS, IntervalNodes
from sfumato.data.table import table
from sfumato.kernels.joins.ancestors import all_pairs
from sfumato.kernels.joins.lub import cell_cost, join
from sfumato.poset.nodes import LevelNodes
from tests.oracle import information as oracle

ROWS = st.lists(st.tuples(st.integers(0, 7), st.sampled_from("xy")), min_size=2, max_size=40)


@given(ROWS)
def test_intervals_tell_what_the_values_in_them_do(rows: list[tuple[int, str]]) -> None:
    values, classes = (list(side) for side in zip(*rows, strict=True))
    t = table({"v": values, "c": classes}, kinds={"v": "integer"})
    x = NodeMatrix(Matrix(t, ["v"]), rare=1)
    coded, domain = x.coded(0), sorted(set(values))
    told = node_information(coded.structure, coded.codes, target_codes(t, "c"), 1)
    assert told is not None
    pairs = coded.structure.pairs
    assert pairs is not None
    nodes, joined = pairs.leaf_nodes, pairs.join_table
    for a, low in enumerate(domain, 1):
        for b, high in enumerate(domain, 1):
            inside = {str(v) for v in range(min(low, high), max(low, high) + 1)}
            wanted = oracle.information_of(inside, [str(v) for v in values], classes, 1)
            assert told[joined[nodes[a], nodes[b]]] == pytest.approx(wanted, abs=1e-12)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(1, 8))
def test_intervals_join_to_the_smallest_that_holds_both(counts: list[int], rare: int) -> None:
    found = IntervalNodes(np.array([0, *counts]), rare)
    table_, leaves = found.join_table, found.leaf_nodes
    n = len(table_)
    assert n <= MOST_ENDS * (MOST_ENDS + 1) // 2
    assert (np.diff(leaves[1:]) >= 0).all()
    assert (table_ == table_.T).all()
    assert (np.diag(table_) == np.arange(n)).all()
    whole = table_[leaves[1], leaves[-1]]
    assert (table_[whole] == whole).all()
    a, b, c = np.random.default_rng(0).integers(0, n, (3, 50))
    assert (table_[table_[a, b], c] == table_[a, table_[b, c]]).all()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 10**6))
def test_levels_join_at_the_finest_that_holds_both(steps: list[int], seed: int) -> None:
    fine = np.cumsum([0, *steps])
    ids = np.stack([np.arange(fine.size), fine, fine // 3])
    found = LevelNodes(np.insert(ids, 0, -1, axis=1))
    ptr, lists = found.ancestor_ptr, found.ancestor_idx
    n = ptr.size - 1
    joined = all_pairs(ptr, lists.astype(np.int32))
    above = [set(lists[ptr[i] : ptr[i + 1]].tolist()) for i in range(n)]
    for i in range(n):
        assert lists[ptr[i]] == i
        assert (np.diff(lists[ptr[i] : ptr[i + 1]]) > 0).all()
        for j in range(n):
            assert joined[i, j] == min(above[i] & above[j])
    a, b = np.random.default_rng(seed).integers(1, fine.size + 1, 2)
    level = next((lv for lv in range(3) if ids[lv, a - 1] == ids[lv, b - 1]), 3)
    offsets = np.cumsum([0, *(len(set(row)) for row in ids.tolist())])
    at = joined[found.leaf_nodes[a], found.leaf_nodes[b]]
    assert offsets[level] <= at < (offsets[level + 1] if level < 3 else n)


@pytest.mark.parametrize("values", [5, 2000])
def test_a_value_that_is_kept_costs_what_it_does_not_tell(values: int) -> None:
    """Few values are joined by a table, many by their lists of ancestors."""
    n = values * 10
    word = [f"w{i % values:04d}" for i in range(n)]
    high = [i % values == 1 or i // values == 0 for i in range(n)]
    t = table({"w": word, "high": high}, posets={"w": {"kind": "suppression"}}, target=["high"])
    x = NodeMatrix(Matrix(t, ["w"]), 6)
    nodes, most = value_costs(x, "high")
    found = cell_costs(x, node_costs=nodes)
    plain, told = found.states[:2, 0]
    assert most > 0
    assert cell_cost(found.joins, 0, told) < cell_cost(found.joins, 0, plain)
    assert cell_cost(found.joins, 0, join(found.joins, 0, told, plain)) == 1.0


def test_dates_are_joined_and_sets_and_what_is_passed_through_are_left() -> None:
    days = [dt.date(1950 + i // 8, 1 + i % 8, 3) for i in range(80)]
    ill = [i < 40 for i in range(80)]
    t = table(
        {"born": days, "bill": range(80), "colour": ["a", "b"] * 40, "ill": ill},
        posets={"born": {"kind": "birth-date"}, "bill": {"kind": "pass-through"}},
        quasi=["born", "bill", "colour"],
        target=["ill"],
    )
    x = Matrix(t, t.schema.quasi)
    valued = NodeMatrix(x, 6)
    assert [valued.coded(j).instead is not None for j in range(3)] == [True, False, False]
    release = sf.protect(t, sf.method("greedy", k=3, measure="value-mi"), seed=0, measures=())
    assert release.table.height == 80


def test_values_are_weighed_apart_from_their_columns() -> None:
    """Columns that are kept or suppressed, and numbers: the two measures are not one."""
    rng = np.random.default_rng(3)
    n = 200
    part = rng.choice(["n", "s", "w"], n)
    age = rng.integers(60, 90, n)
    high = (part == "n") & (rng.random(n) < 0.8) | (age > 85)
    t = table(
        {"part": part, "age": age, "sex": rng.choice(["f", "m"], n), "high": high},
        posets={"part": {"kind": "suppression"}, "sex": {"kind": "suppression"}},
        quasi=["part", "age", "sex"],
        target=["high"],
    )
    x = Matrix(t, t.schema.quasi)
    by = [Greedy(k=3, measure=m).price(x) for m in ("column-mi", "value-mi")]
    assert by[0].monotone.all()
    assert not by[1].monotone.any()
    parts = [Greedy(k=3, measure=m).partition(x, rng).members for m in ("column-mi", "value-mi")]
    assert (parts[0] != parts[1]).any()
