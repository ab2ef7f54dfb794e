"""Moves and swaps at their exact cost, and tabu search by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.codec import Matrix
from sfumato.data.generalized import cell_costs
from sfumato.data.table import Table
from sfumato.kernels.classes.moves import (
    Groups,
    groups_of,
    move,
    move_change,
    swap_change,
    total_cost,
)
from sfumato.kernels.classes.regroup import cut_large, reform, regroup
from sfumato.kernels.classes.tabu import best_step
from sfumato.kernels.joins import lub
from sfumato.kernels.joins.prices import ANY, WHOLE, in_units, joined_cell
from sfumato.poset.birth_date import BirthDate
from tests.oracle import recoding_searches as oracle
from tests.oracle.mixed_tables import mixed_table

RANDOM = np.array([7], np.uint64)


def some_groups(table: Table, k: int, seed: int) -> Groups:
    """A random partition, in groups of k to 2k - 1."""
    priced = oracle.priced(table)
    labels = np.random.default_rng(seed).integers(0, 2, table.height)
    if min(np.bincount(labels, minlength=2)) < k:
        labels[:] = 0
    labels = cut_large(priced.prices, priced.states, labels, k)
    return groups_of(priced.prices, priced.states, labels, k)


def in_order(s: Groups) -> None:
    """What the groups keep is what their members say."""
    labels = np.unique(s.label, return_inverse=True)[1].reshape(-1)
    assert int(s.cost.sum()) == total_cost(s.prices, s.states, labels)
    fresh = groups_of(s.prices, s.states, labels, s.k)
    assert np.array_equal(np.sort(fresh.cost), np.sort(s.cost))
    for g in np.flatnonzero(s.size):
        rows = s.member[g, : s.size[g]]
        assert (s.label[rows] == g).all()
        assert np.array_equal(s.place[rows], np.arange(rows.size))
        for m in range(rows.size):
            rest = np.delete(rows, m)
            alone = groups_of(s.prices, s.states[rest], np.zeros(rest.size, np.int64), rest.size)
            assert np.array_equal(s.others[2 * s.k * g + m], alone.bound[0])
    assert sorted(s.free[: s.counts[0]]) == np.flatnonzero(s.size == 0).tolist()


@pytest.mark.parametrize("small", [0, 400])
def test_prices_are_those_of_the_joins(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed into three arrays, every kind of column joins and costs as before."""
    monkeypatch.setattr(cell_costs, "SMALL_TREE", small)
    table = mixed_table(1, 60)
    table = table.with_columns([table["born"]], [table.schema["born"].with_(poset=BirthDate())])
    found = cell_costs.cell_costs(Matrix(table, table.schema.quasi), importance={"age": 3.0})
    kinds = set(found.joins.kind.tolist())
    assert kinds >= {lub.ORDER, lub.INTERVAL, lub.LEVELS, lub.VALUES, lub.POWER}
    assert (lub.TREE in kinds) == (small == 0)
    prices, x = in_units(found.joins), found.states.copy()
    scale = WHOLE / found.joins.star.sum()
    for j in range(x.shape[1]):
        for i in range(1, len(x)):
            # Joined again and again, so that bounds are joined as well as records.
            state = lub.join(found.joins, j, x[i - 1, j], x[i, j])
            assert lub.join(prices, j, x[i - 1, j], x[i, j]) == state
            wanted = int(lub.cell_cost(found.joins, j, state) * scale + 0.5)
            assert joined_cell(prices, j, x[i - 1, j], x[i, j]) == pytest.approx(wanted, abs=1)
            if i % 4:
                x[i, j] = state


@pytest.mark.parametrize(
    "name",
    [
        *("k-member", "certainty-bottom-up", "certainty-top-down"),
        *("tabu", "annealing", "genetic-recoding"),
    ],
)
def test_every_kind_of_column_serves(name: str) -> None:
    steps = {"steps": 20} if name in ("tabu", "annealing", "genetic-recoding") else {}
    for seed in range(5):
        table = mixed_table(seed, 70)
        found = sf.partition(table, sf.method(name, k=3, **steps), seed)
        assert found.smallest >= 3
        release = sf.protect(
            table, sf.method(name, k=3, **steps), require={"k-anonymity": 3}, seed=1
        )
        assert release.table.height == 70


@given(oracle.tables(16), st.integers(2, 3), st.integers(0, 99))
def test_every_move_and_swap_costs_what_it_says(table: Table, k: int, seed: int) -> None:
    s = some_groups(table, k, seed)
    cost = oracle.cost_of(table)
    before = oracle.total(cost, s.label)
    assert before == int(s.cost.sum())
    names = np.flatnonzero(s.size)
    for i in range(table.height):
        for b in names:
            if b != s.label[i]:
                labels = s.label.copy()
                labels[i] = b
                assert move_change(s, i, int(b)) == oracle.total(cost, labels) - before
        for r in np.flatnonzero(s.label != s.label[i]):
            labels = s.label.copy()
            labels[i], labels[r] = s.label[r], s.label[i]
            change = oracle.total(cost, labels) - before
            assert swap_change(s, i, int(r), ANY) == change
            assert swap_change(s, i, int(r), change + 1) == change
            assert swap_change(s, i, int(r), change) >= change or change > 0
            assert swap_change(s, i, int(r), change - 5) >= change - 5


@given(oracle.tables(16), st.integers(2, 3), st.integers(0, 99))
def test_the_best_step_is_the_best(table: Table, k: int, seed: int) -> None:
    s = some_groups(table, k, seed)
    names = np.flatnonzero(s.size)
    groups = [s.member[g, : s.size[g]].tolist() for g in names]
    stays = np.zeros(table.height, np.int64)
    change, i, b, r = best_step(s, names, names.size, stays, 1, -ANY)
    wanted = oracle.best_change(oracle.cost_of(table), groups, k)
    assert (None if i < 0 else change) == wanted
    # Whoever must stay does, unless that would be the best of all.
    stays[:] = 9
    assert best_step(s, names, names.size, stays, 1, -ANY)[1] < 0
    if wanted is not None:
        assert best_step(s, names, names.size, stays, 1, wanted + 1)[0] == wanted
        before = int(s.cost.sum())
        move(s, i, b, r)
        assert int(s.cost.sum()) - before == wanted
        in_order(s)


@given(oracle.tables(), st.integers(2, 4), st.integers(0, 99))
def test_groups_formed_anew_cost_what_they_say(table: Table, k: int, seed: int) -> None:
    s = some_groups(table, k, seed)
    names = np.zeros(20, np.int64)
    alive = np.flatnonzero(s.size)[:3]
    names[: alive.size] = alive
    pool = np.concatenate([s.member[g, : s.size[g]] for g in alive])
    part = np.zeros(pool.size, np.int64)
    rest = int(s.cost.sum() - s.cost[alive].sum())
    wanted, cost = reform(s, pool, pool.size, part, RANDOM)
    sizes = np.bincount(part, minlength=wanted)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    regroup(s, names, alive.size, pool, pool.size, part, wanted)
    assert int(s.cost.sum()) == rest + cost
    in_order(s)


@pytest.mark.parametrize("name", ["tabu", "annealing", "genetic-recoding"])
@given(
    table=oracle.tables(40),
    k=st.integers(2, 5),
    seed=st.integers(0, 99),
    start=st.sampled_from(["mondrian", "k-member", "certainty-top-down", "mdav"]),
)
def test_never_worse_than_the_start(name: str, table: Table, k: int, seed: int, start: str) -> None:
    steps = {"tabu": 30, "annealing": 100, "genetic-recoding": 6}[name]
    search = sf.method(name, k=k, start=start, steps=steps)
    found = sf.partition(table, search, seed)
    assert len(found) == table.height
    assert found.smallest >= k
    cost = oracle.cost_of(table)
    before, after = found.facts["loss before"], found.facts["loss after"]
    assert after <= before
    assert after == round(100 * oracle.total(cost, found.labels) / oracle.WHOLE / len(found), 2)
    assert np.array_equal(found.labels, sf.partition(table, search, seed).labels)


def test_what_a_start_may_not_say() -> None:
    with pytest.raises(sf.SfumatoError, match="holds for its start as well"):
        sf.method("tabu", start={"use": "mondrian", "k": 3})


def test_the_clock_ends_it() -> None:
    rng = np.random.default_rng(1)
    table = sf.table(
        {"a": rng.integers(0, 99, 300), "b": rng.integers(0, 99, 300)}, quasi=["a", "b"]
    )
    for name in ("tabu", "annealing", "genetic-recoding"):
        found = sf.partition(table, sf.method(name, seconds=0.2), 0)
        assert found.facts["ended by the clock"]
        assert found.facts["loss after"] < found.facts["loss before"]
        assert "0.2 seconds" in found.warnings[0]


def test_criteria_are_kept_and_the_start_with_them_is_never_better() -> None:
    rng = np.random.default_rng(1)
    data = {"a": rng.integers(0, 99, 200), "ill": rng.choice(["x", "y", "z"], 200)}
    table = sf.table(data, quasi=["a"], confidential="ill")
    rules = [{"use": "l-diversity", "at-least": 3}]
    for name in ("tabu", "annealing", "genetic-recoding"):
        found = sf.partition(table, sf.method(name, steps=200, criteria=rules), 0)
        assert all(len(set(data["ill"][rows])) == 3 for rows in found)
        assert found.facts["loss after"] <= found.facts["loss before"]


@pytest.mark.golden
def test_loss_on_adult(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    table, limit = oracle.adult(shared_data("adult"), 3000), 0.126
    for seed in range(5):
        got = oracle.ncp(table, sf.method("tabu", k=5, steps=10_000), seed)
        golden_record(f"tabu Adult 3,000, k=5, NCP, seed {seed}", f"<= {limit}", round(got, 4))
        assert got <= limit
