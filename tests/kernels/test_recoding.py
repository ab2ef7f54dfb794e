"""The kernels of local recoding beside naive ones, on tables with every kind of column."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import CellCosts, cell_costs
from sfumato.data.table import Table
from sfumato.kernels import recoding as kernel
from sfumato.kernels.joins.cells import addresses, joined, make_cells, pair_cost
from sfumato.kernels.joins.lub import INTERVAL, MANY, cell_cost, join
from sfumato.kernels.recoding import _search
from sfumato.kernels.recoding._lattice import nodes
from sfumato.kernels.recoding._levels import Levels
from sfumato.kernels.recoding._near import nearest
from sfumato.kernels.recoding._rules import (
    DISTINCT,
    ENTROPY,
    EQUAL,
    ORDERED,
    Rules,
    group_keeps,
    make_rules,
)
from tests.oracle import local_recoding as oracle
from tests.oracle.mixed_tables import COLUMNS, mixed_table


def costs(seed: int, n: int, *, missing: bool = True) -> CellCosts:
    """A table with every kind of column, as the kernels see it."""
    return cell_costs(Matrix(mixed_table(seed, n, missing=missing), COLUMNS))


@njit
def _looked_up(cells, j, a, b):  # type: ignore[no-untyped-def]
    columns, cost, table = addresses(cells)
    return joined(columns, table, j, a, b), pair_cost(columns, cost, table, j, a, b)


@given(st.integers(0, 10**6))
def test_cells_are_those_of_lub(seed: int) -> None:
    found = costs(seed, 12)
    cells = make_cells(found.joins)
    for j in range(len(COLUMNS)):
        states = {int(state) for state in found.states[:, j]}
        states |= {int(join(found.joins, j, a, b)) for a, b in product(states, states)}
        for a, b in product(states, states):
            upper = int(join(found.joins, j, a, b))
            got = _looked_up(cells, j, a, b)
            assert got[0] == upper
            assert got[1] == pytest.approx(float(cell_cost(found.joins, j, upper)), abs=1e-12)


def test_a_large_order_is_looked_up_in_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.kernels.joins.cells.MOST_PAIRS", 4)
    test_cells_are_those_of_lub.hypothesis.inner_test(3)  # type: ignore[attr-defined]


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1, max_size=4))
def test_nodes_come_once_and_from_cheap_to_dear(prices: list[list[float]]) -> None:
    rising = [sorted(column) for column in prices]
    at = np.concatenate(([0], np.cumsum([len(column) for column in rising])))
    flat = np.concatenate(rising)
    levels = Levels(np.zeros((flat.size, 1), np.int32), at, flat)
    found = [tuple((node - at[:-1]).tolist()) for node in nodes(levels)]
    assert sorted(found) == sorted(product(*[range(len(column)) for column in rising]))
    totals = [sum(c[i] for c, i in zip(rising, node, strict=True)) for node in found]
    assert totals == pytest.approx(sorted(totals))


@given(st.integers(0, 10**6), st.integers(2, 40), st.booleans())
def test_partners_are_the_cheapest_when_all_are_looked_at(seed: int, n: int, apart: bool) -> None:
    found = costs(seed, n)
    records = kernel.records(found.joins, found.states, 2, seed)
    states, joins = records.kinds, found.joins
    u = len(states)
    classes = np.arange(u, dtype=np.int32) % 2 if apart else None
    near = nearest(joins, states, records.orders, 4, u, classes, threads=1)
    assert np.array_equal(near, nearest(joins, states, records.orders, 4, u, classes, threads=3))
    for t in range(u):
        gaps = sorted(oracle.cost(joins, states[[t, s]], [0, 0]) / 2 for s in range(u) if s != t)
        for part in [near[t, :2], near[t, 2:]] if apart else [near[t]]:
            partners = [int(s) for s in part if s >= 0]
            assert t not in partners
            assert len(set(partners)) == len(partners)
            own = [oracle.cost(joins, states[[t, s]], [0, 0]) / 2 for s in partners]
            assert own == pytest.approx(sorted(own))
            if not apart:
                assert own == pytest.approx(gaps[: len(own)])
                assert len(own) == min(4, u - 1)


RULES = st.lists(
    st.tuples(st.sampled_from([EQUAL, ORDERED, DISTINCT, ENTROPY]), st.floats(0.05, 2.5)),
    max_size=2,
)


def rules_of(rules: list[tuple[int, float]], seed: int, n: int) -> Rules | None:
    """Rules on random codes 1, 2, 3 (0 too, where rules know of it)."""
    rng = np.random.default_rng(seed)
    made = []
    for kind, limit in rules:
        codes = rng.integers(0 if kind in (DISTINCT, ENTROPY) else 1, 4, n)
        if kind == ORDERED:
            codes = np.unique(codes, return_inverse=True)[1].reshape(-1) + 1
        if kind == DISTINCT:
            limit = max(round(limit), 1)
        made.append((kind, limit, codes))
    return make_rules(n, made)


def naive_keeps(rules: Rules | None, rows: list[int]) -> bool:
    """Whether some records keep the rules."""
    kept = True
    if rules is None:
        return kept
    for q in range(rules.kind.size):
        codes, limit = rules.codes[:, q].tolist(), rules.limit[q]
        if rules.kind[q] == EQUAL:
            kept &= oracle.total_variation(codes, rows) <= limit + 1e-9
        elif rules.kind[q] == ORDERED:
            kept &= oracle.ordered_distance(codes, rows) <= limit + 1e-9
        elif rules.kind[q] == DISTINCT:
            kept &= len({codes[row] for row in rows} - {0}) >= limit
        else:
            kept &= oracle.effective_values(codes, rows) >= limit - 1e-9
    return kept


@given(RULES, st.integers(0, 10**6), st.integers(1, 20))
def test_rules_are_counted_as_defined(
    given_rules: list[tuple[int, float]], seed: int, size: int
) -> None:
    rules = rules_of(given_rules, seed, 25)
    rows = np.random.default_rng(seed).permutation(25)[:size]
    if rules is not None:
        assert bool(group_keeps(rules, rows)) == naive_keeps(rules, rows.tolist())


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(2, 6), RULES, st.integers(1, 3))
def test_every_group_has_k_and_no_record_is_lost(
    seed: int, n: int, k: int, given_rules: list[tuple[int, float]], epochs: int
) -> None:
    k = min(k, n)
    found = costs(seed, n)
    rules = rules_of(given_rules, seed, n)
    records = kernel.records(found.joins, found.states, k, seed, rules)
    built = kernel.construct(records)
    assert np.bincount(built).min() >= k
    search = kernel.begin(records, built)
    before = search.total
    labels = search.groups.label
    assert before == pytest.approx(oracle.cost(found.joins, found.states, labels.tolist()))
    kept = [
        naive_keeps(rules, np.flatnonzero(labels == g).tolist()) for g in np.unique(labels).tolist()
    ]
    with kernel.workers(1) as pool:
        for turn in range(epochs):
            kernel.epoch(search, 40, 0.1 * turn, pool)
            now = search.groups.label.tolist()
            assert search.total == pytest.approx(oracle.cost(found.joins, found.states, now))
            sizes = np.bincount(now)
            assert sizes[sizes > 0].min() >= k
            assert np.array_equal(sizes, search.groups.size[: sizes.size])
            if all(kept):
                for g in set(now):
                    assert naive_keeps(rules, np.flatnonzero(search.groups.label == g).tolist())
    best = kernel.best_labels(search)
    assert search.best_total <= before + 1e-9
    assert np.bincount(best).min() >= k
    got = kernel.total_cost(found.joins, found.states, best)
    assert got == pytest.approx(oracle.cost(found.joins, found.states, best.tolist()))
    assert got == pytest.approx(search.best_total)


@given(st.integers(0, 10**6), st.integers(4, 7), st.integers(2, 3))
@settings(max_examples=25)
def test_small_tables_are_solved(seed: int, n: int, k: int) -> None:
    found = costs(seed, n)
    records = kernel.records(found.joins, found.states, k, seed)
    search = kernel.begin(records, kernel.construct(records))
    with kernel.workers(1) as pool:
        for turn in range(6):
            kernel.epoch(search, 150, 0.3 if turn % 2 == 0 else 0.0, pool)
    optimum = min(
        oracle.cost(found.joins, found.states, labels) for labels in oracle.partitions(n, k)
    )
    assert search.best_total == pytest.approx(optimum)


@pytest.mark.parametrize("ruled", [False, True])
def test_threads_do_not_alter_the_result(ruled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_search, "PART", 100)
    found = costs(1, 900)
    rules = rules_of([(EQUAL, 0.3)], 1, 900) if ruled else None
    results = []
    for threads in (1, 2, 5):
        records = kernel.records(found.joins, found.states, 3, 7, rules)
        search = kernel.begin(records, kernel.construct(records), threads)
        assert search.parts == 8
        with kernel.workers(threads) as pool:
            for _ in range(3):
                kernel.epoch(search, 50, 0.05, pool)
        results.append(kernel.best_labels(search))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def _values_of(table: Table, labels: np.ndarray) -> float:
    """What the sets of values of "colour" cost, counted as they are defined."""
    values = table["colour"].to_list()
    most = max(len(set(values)) - 1, 1)
    return sum(
        (len({values[i] for i in np.flatnonzero(labels == g)}) - 1) / most * int(size)
        for g, size in enumerate(np.bincount(labels))
        if size
    )


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(8, 60), st.integers(2, 5), RULES)
def test_sets_of_more_values_than_bits_cost_what_they_are(
    seed: int, n: int, k: int, given_rules: list[tuple[int, float]]
) -> None:
    columns = ("colour", "age")
    table = mixed_table(seed, n, missing=False, columns=columns)
    few = cell_costs(Matrix(table, columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.data.generalized.cell_costs.MOST_BITS", 2)
        many = cell_costs(Matrix(table, columns), exact=True)
    assert many.joins.kind.tolist() == [MANY, INTERVAL] or len(set(table["colour"])) <= 2
    rules = rules_of(given_rules, seed, n)
    records = kernel.records(many.joins, many.states, k, seed, rules)
    search = kernel.begin(records, kernel.construct(records))
    with kernel.workers(1) as pool:
        for turn in range(3):
            labels = search.groups.label.astype(np.int64)
            by_bits = oracle.cost(few.joins, few.states, labels.tolist())
            assert search.total == pytest.approx(by_bits)
            whole = oracle.cost(few.joins.column(0), few.states[:, :1], labels.tolist())
            assert whole == pytest.approx(_values_of(table, labels))
            kernel.epoch(search, 60, 0.1 * turn, pool)


def test_too_few_records_are_refused() -> None:
    found = costs(0, 3)
    with pytest.raises(ValueError, match="3 records cannot form a group of k = 4"):
        kernel.records(found.joins, found.states, 4)
