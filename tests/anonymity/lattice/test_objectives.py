"""What the best node has least of: every measure against its definition, on every node."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.lattice.full_domain import FullDomain
from sfumato.anonymity.lattice.optimal import Budget, optimal
from sfumato.anonymity.lattice.strategies import search
from tests.anonymity.lattice.test_full_domain import skewed, smallest_class, tables
from tests.oracle import lattice as oracle

CELLS = ("loss", "precision", "entropy")
OTHERS = ("kl-divergence", "ambiguity", "classification", "height", "payout")
CLASSES = ("discernibility", "average-class-size")
ECONOMICS = {"benefit": 20.0, "penalty": 30.0, "gain": 10.0, "cost": 3.0}


@st.composite
def terms(draw: st.DrawFn, columns: int, levels: list[int]) -> dict[str, Any]:
    """A measure, its aggregate and coding, weights and bounds."""
    measure = draw(st.sampled_from((*CELLS, *CELLS, *OTHERS, *CLASSES)))
    found: dict[str, Any] = {"measure": measure}
    if measure in CELLS:
        found["aggregate"] = draw(st.sampled_from(["sum", "maximum", "geometric-mean"]))
        found["coding"] = draw(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]))
    if measure in (*CELLS, "payout") and draw(st.booleans()):
        found["importance"] = {f"q{j}": 1.0 + j for j in range(columns)}
    if measure == "payout":
        found["economics"] = ECONOMICS
    if draw(st.booleans()):
        lowest = {f"q{j}": draw(st.integers(0, top)) for j, top in enumerate(levels)}
        highest = {f"q{j}": draw(st.integers(lowest[f"q{j}"], top)) for j, top in enumerate(levels)}
        found |= {"lowest": lowest, "highest": highest}
    return found


def task_of(given_table: Any, k: int, share: float, words: dict[str, Any]) -> oracle.Task:
    _, rows, paths, ill = given_table
    names = [f"q{j}" for j in range(len(paths))]
    importance = words.get("importance", {})
    return oracle.Task(
        rows,
        paths,
        k,
        int(share * len(rows) + 1e-9),
        words["measure"],
        [importance[name] for name in names] if importance else (),
        (),
        words.get("aggregate", "sum"),
        words.get("coding", 0.5),
        ill,
        tuple(ECONOMICS.values()),  # type: ignore[arg-type]
        [words["lowest"][name] for name in names] if "lowest" in words else (),
        [words["highest"][name] for name in names] if "highest" in words else (),
    )


def told(task: oracle.Task, value: float) -> float:
    """As the objective publishes it."""
    return -value if task.measure == "payout" else value


@settings(max_examples=400)
@given(tables(), st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), st.data())
def test_every_node_and_the_best(
    given_table: Any, k: int, share: float, data: st.DataObject
) -> None:
    table, _, paths, _ = given_table
    depth = [len(next(iter(one.values()))) - 1 for one in paths]
    words = data.draw(terms(len(paths), depth))
    task = task_of(given_table, k, share, words)
    method = FullDomain(k=k, suppress=share, **words)
    names = table.schema.quasi
    lattice = method.lattice(table, names)
    first = [one.first for one in lattice.ladders]
    wanted, values = {}, {}
    for node in oracle.nodes(task):
        at = tuple(level - low for level, low in zip(node, first, strict=True))
        found, value = lattice.judge(at), oracle.evaluate(task, node)
        assert found.allowed == (value is not None)
        if value is None:
            continue
        assert lattice.published(found.value) == pytest.approx(told(task, value), abs=1e-8)
        wanted[node], values[at] = value, found.value
    everything = sorted((value, lattice.number(at), at) for at, value in values.items())
    for asked in (1, 3):
        fresh = method.lattice(table, names)
        best = optimal(fresh, Budget(), asked).best
        assert list(best) == everything[:asked]
    for strategy in ("top-down", "bottom-up"):
        walked = search(method.lattice(table, names), strategy, Budget(steps=10**6))
        assert (walked.levels is None) == (not everything)
        if everything:
            assert walked.value == everything[0][0]
    for strategy in ("samarati", "incognito", "ola", "datafly"):
        some = search(method.lattice(table, names), strategy, Budget())
        assert some.levels is None or some.levels in values


@settings(max_examples=100)
@given(
    st.integers(0, 10**6),
    st.integers(2, 8),
    st.sampled_from([0.0, 0.05, 0.2, 1.0]),
    st.sampled_from([(), ({"use": "t-closeness", "t": 0.4},)]),
    st.data(),
)
def test_nothing_better_is_ruled_out(
    seed: int, k: int, share: float, criteria: Any, data: st.DataObject
) -> None:
    """Some hundred nodes: the bounds leave out none of the best."""
    table = skewed(seed)
    lattice = FullDomain().lattice(table, table.schema.quasi)
    words = data.draw(terms(5, [level - 1 for level in lattice.shape.tolist()]))
    method = FullDomain(k=k, suppress=share, criteria=criteria, **words)
    lattice = method.lattice(table, table.schema.quasi)
    found = optimal(lattice, Budget(), 4)
    judged = {v: lattice.judge(v) for v in product(*map(range, lattice.shape.tolist()))}
    every = sorted((one.value, lattice.number(v), v) for v, one in judged.items() if one.allowed)
    assert list(found.best) == every[:4]
    bounded = optimal(method.lattice(table, table.schema.quasi), Budget(steps=5))
    if bounded.ended and bounded.bound is not None and every:
        assert bounded.bound <= every[0][0]
    steps = data.draw(st.integers(3, 40))
    for strategy in ("top-down", "bottom-up"):
        walked = search(method.lattice(table, table.schema.quasi), strategy, Budget(steps=steps))
        if walked.ended and walked.bound is not None and every:
            assert walked.bound <= every[0][0]


@settings(max_examples=150)
@given(tables(), st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), st.data())
def test_cells_that_were_suppressed_before(
    given_table: Any, k: int, share: float, data: st.DataObject
) -> None:
    """Whoever has nothing but "*" left is one class with the suppressed; no bound forgets it."""
    table, _, paths, _ = given_table
    whole = data.draw(st.lists(st.booleans(), min_size=table.height, max_size=table.height))
    for name in table.schema.quasi:
        some = data.draw(st.lists(st.booleans(), min_size=table.height, max_size=table.height))
        mask = (np.array(whole) | np.array(some)) & table[name].is_not_null().to_numpy()
        kept = table[name].zip_with(pl.Series(~mask), pl.Series([None], dtype=pl.String))
        table = table.with_columns([kept], [table.schema[name]], {name: mask})
    words = data.draw(terms(len(paths), [len(next(iter(one.values()))) - 1 for one in paths]))
    method = FullDomain(k=k, suppress=share, **words)
    lattice = method.lattice(table, table.schema.quasi)
    judged = {v: lattice.judge(v) for v in product(*map(range, lattice.shape.tolist()))}
    every = sorted((one.value, lattice.number(v), v) for v, one in judged.items() if one.allowed)
    fresh = method.lattice(table, table.schema.quasi)
    assert list(optimal(fresh, Budget(), 2).best) == every[:2]
    if every:
        outcome = method.mask(table, np.random.default_rng(0))
        assert smallest_class(outcome.table) >= k
        assert tuple(outcome.facts["levels"].values()) == tuple(
            at + one.first for at, one in zip(every[0][2], lattice.ladders, strict=True)
        )


@settings(max_examples=60)
@given(tables(), st.integers(1, 3), st.sampled_from([0.0, 0.25]))
def test_the_same_as_the_measures_of_the_release(given_table: Any, k: int, share: float) -> None:
    table, _, _, _ = given_table
    by_name = {"ambiguity": "ambiguity-metric", "classification": "classification-metric"}
    for measure, utility in by_name.items():
        outcome = FullDomain(k=k, suppress=share, measure=measure).mask(
            table, np.random.default_rng(0)
        )
        assert smallest_class(outcome.table) >= k
        value = sf.measure(utility, table, outcome.table).value
        assert outcome.facts[measure] == pytest.approx(value, abs=6e-5)
    paying = FullDomain(k=k, suppress=share, measure="payout", economics=ECONOMICS)
    outcome = paying.mask(table, np.random.default_rng(0))
    value = sf.measure("payout", table, outcome.table, **ECONOMICS).value
    assert outcome.facts["payout"] == pytest.approx(value, abs=6e-5)


@settings(max_examples=150)
@given(
    st.lists(st.integers(0, 9), min_size=6, max_size=24),
    st.sampled_from(["mean", "median", "mode"]),
    st.sampled_from(CELLS),
    st.sampled_from(["sum", "maximum", "geometric-mean"]),
    st.sampled_from([0.2, 0.5, 0.8]),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.integers(1, 4),
    st.integers(0, 10**6),
)
def test_averages_of_classes(
    ages: list[int],
    how: str,
    measure: str,
    aggregate: str,
    coding: float,
    share: float,
    k: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    towns = [f"t{i}" for i in rng.integers(0, 4, len(ages))]
    by_age = {str(a): (str(a), f"d{a // 3}", "*") for a in range(10)}
    by_town = {f"t{i}": (f"t{i}", f"r{i // 2}", "*") for i in range(4)}
    table = sf.table(
        {"age": ages, "town": towns},
        quasi=["age", "town"],
        posets={
            "age": sf.method("hierarchy", levels=tuple(by_age.values())),
            "town": sf.method("hierarchy", levels=tuple(by_town.values())),
        },
    )
    words: Any = {"measure": measure, "aggregate": aggregate, "coding": coding}
    method = FullDomain(k=k, suppress=share, microaggregate={"age": how}, **words)
    rows = [(str(a), t) for a, t in zip(ages, towns, strict=True)]
    task = oracle.Task(
        rows, [by_age, by_town], k, int(share * len(ages) + 1e-9), measure, (), (), aggregate,
        coding, averages=(how, ""),
    )  # fmt: skip
    lattice = method.lattice(table, ["age", "town"])
    everything = []
    for node in oracle.nodes(task):
        # Nothing but "*" is a class of its own here: the average is still told.
        found, value = lattice.judge(node), oracle.evaluate(task, node)
        assert found.allowed == (value is not None)
        if value is not None:
            assert lattice.published(found.value) == pytest.approx(value, abs=1e-5)
            everything.append((found.value, lattice.number(node), node))
    best = optimal(method.lattice(table, ["age", "town"]), Budget(), 3).best
    assert list(best) == sorted(everything)[:3]
    for strategy in ("top-down", "bottom-up"):
        fresh = method.lattice(table, ["age", "town"])
        assert search(fresh, strategy, Budget(steps=1000)).value == best[0][0]
    outcome = method.mask(table, rng)
    assert smallest_class(outcome.table) >= k
    labels = outcome.partition.labels
    for label in set(labels.tolist()) - {-1}:
        inside = np.flatnonzero(labels == label)
        shown = outcome.table["age"].gather(inside).unique().to_list()
        assert len(shown) == 1
        assert shown[0] == pytest.approx(oracle.average([ages[i] for i in inside], how))
    assert outcome.table.suppressed("age").tolist() == (labels < 0).tolist()
