"""Full-domain generalization against trying every combination of levels."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.lattice.columns import publish
from sfumato.anonymity.lattice.full_domain import FullDomain
from sfumato.anonymity.lattice.optimal import Budget
from sfumato.anonymity.lattice.strategies import incognito_minimal, ola_minimal, search
from sfumato.criteria.classes import equivalence_classes
from sfumato.data.table import Table
from sfumato.errors import MethodError, ParameterError
from sfumato.poset.trees.sources import Hierarchy
from tests.oracle import lattice as oracle

MEASURES = ("loss", "precision", "entropy", "discernibility", "average-class-size")
UTILITY = {
    "loss": "ncp",
    "precision": "precision",
    "entropy": "entropy-loss",
    "discernibility": "discernibility",
    "average-class-size": "average-class-size",
}


@st.composite
def hierarchies(draw: st.DrawFn, j: int) -> oracle.Paths:
    """A tree over some values: at each level neighbours may meet."""
    values = [f"v{j}{i}" for i in range(draw(st.integers(1, 5)))]
    paths: dict[object, tuple[str, ...]] = {v: (v,) for v in values}
    block = list(range(len(values)))
    for level in range(1, draw(st.integers(1, 3))):
        joins = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
        for i in range(1, len(values)):
            if joins[i]:
                old, new = block[i], block[i - 1]
                block = [new if b == old else b for b in block]
        for i, v in enumerate(values):
            paths[v] = (*paths[v], f"c{j}.{level}.{block[i]}")
    return {v: (*path, "*") for v, path in paths.items()}


@st.composite
def tables(
    draw: st.DrawFn, missing: bool = True
) -> tuple[Table, list[oracle.Row], list[Any], list[str]]:
    d = draw(st.integers(1, 3))
    n = draw(st.integers(4, 24))
    paths = [draw(hierarchies(j)) for j in range(d)]
    columns = []
    for one in paths:
        some = st.sampled_from(sorted(map(str, one)))
        some = st.one_of(some, some, some, st.none()) if missing else some
        column = draw(st.lists(some, min_size=n, max_size=n))
        if all(value is None for value in column):
            column[0] = next(iter(one))
        columns.append(column)
    ill = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n, max_size=n))
    names = [f"q{j}" for j in range(d)]
    posets = {
        name: Hierarchy(levels=tuple(one.values())) for name, one in zip(names, paths, strict=True)
    }
    frame = pl.DataFrame({**dict(zip(names, columns, strict=True)), "ill": ill})
    kinds = dict.fromkeys(names, "nominal")
    table = sf.table(frame, quasi=names, confidential="ill", posets=posets, kinds=kinds)
    return table, list(zip(*columns, strict=True)), paths, ill


SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])


def smallest_class(table: Table) -> int:
    """k, recounted by SQL on what is published."""
    names = ", ".join(f'"{name}"' for name in table.schema.quasi)
    published = table.frame.with_columns(
        [
            pl.when(pl.Series(table.suppressed(name))).then(pl.lit("*"))
            .otherwise(pl.col(name).cast(pl.String)).alias(name)
            for name in table.schema.quasi
        ]
    ).to_arrow()  # fmt: skip
    assert published.num_rows
    found = duckdb.sql(f"select min(n) from (select count(*) n from published group by {names})")
    return int(found.fetchall()[0][0])


@settings(max_examples=150)
@given(
    tables(),
    st.integers(1, 4),
    SHARES,
    st.sampled_from(MEASURES),
    st.sampled_from(["none", "l", "t", "risk"]),
    st.booleans(),
)
def test_the_optimum_is_that_of_trying_everything(
    given_table: Any, k: int, share: float, measure: str, rule: str, weigh: bool
) -> None:
    table, rows, paths, ill = given_table
    weights = [1.0 + j for j in range(len(paths))] if weigh else []
    if weigh and measure in ("discernibility", "average-class-size"):
        weights = []
    rules: dict[str, tuple[list[Any], list[oracle.Keeps]]] = {
        "none": ([], []),
        "l": ([{"use": "l-diversity", "l": 2}], [oracle.distinct_values(ill, 2)]),
        "t": ([{"use": "t-closeness", "t": 0.3}], [oracle.close(ill, 0.3)]),
        "risk": ([{"use": "average-risk", "at_most": 0.3}], [oracle.mean_risk(0.3)]),
    }
    criteria, keeps = rules[rule]
    method = FullDomain(
        k=k,
        suppress=share,
        measure=measure,
        criteria=criteria,
        importance={f"q{j}": w for j, w in enumerate(weights)},
    )
    most = int(share * len(rows) + 1e-9)
    task = oracle.Task(rows, paths, k, most, measure, weights, keeps)
    if any(oracle.ambiguous(task, node) for node in oracle.nodes(task)):
        return
    wanted = oracle.best(task)
    if wanted is None:
        with pytest.raises(MethodError, match=r"no combination of levels|found no levels"):
            method.mask(table, np.random.default_rng(0))
        return
    outcome = method.mask(table, np.random.default_rng(0))
    assert outcome.facts[measure] == pytest.approx(wanted, abs=6e-5)
    levels = tuple(outcome.facts["levels"].values())
    assert oracle.evaluate(task, levels) == pytest.approx(wanted)
    assert smallest_class(outcome.table) >= k
    gone = outcome.partition.labels < 0
    assert gone.sum() <= most
    if not weights:
        found = sf.measure(UTILITY[measure], table, outcome.table).value
        shown = 1 - found if measure == "precision" else found
        assert shown == pytest.approx(wanted, abs=1e-9)
    for one in method.criteria:
        assert one.check(outcome.table).met


def skewed(seed: int) -> Table:
    """Some hundred records over five columns of up to four levels: hundreds of nodes."""
    rng = np.random.default_rng(seed)
    names, frame, posets = [f"q{j}" for j in range(5)], {}, {}
    for j, name in enumerate(names):
        m = int(rng.integers(2, 13))
        step = int(rng.integers(2, 4))
        depth = int(rng.integers(0, 3))
        rows = []
        for i in range(m):
            above = [f"{name}.{level}.{i // step**level}" for level in range(1, depth + 1)]
            rows.append((f"v{i}", *above, "*"))
        posets[name] = Hierarchy(levels=tuple(rows))
        frame[name] = [f"v{i}" for i in (m * rng.random(150) ** (1 + j % 3)).astype(int)]
    frame["ill"] = rng.choice(["a", "b", "c"], 150, p=[0.6, 0.3, 0.1]).tolist()
    return sf.table(frame, quasi=names, confidential="ill", posets=posets)


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(2, 8),
    st.sampled_from([0.0, 0.05, 0.2, 1.0]),
    st.sampled_from(MEASURES),
    st.sampled_from([(), ({"use": "t-closeness", "t": 0.4},)]),
)
def test_nothing_better_is_ruled_out(
    seed: int, k: int, share: float, measure: str, criteria: Any
) -> None:
    """The nodes that were looked at against every node: equal, and the first of equal ones."""
    table = skewed(seed)
    method = FullDomain(k=k, suppress=share, measure=measure, criteria=criteria)
    lattice = method.lattice(table, table.schema.quasi)
    found = search(lattice, "optimal", Budget())
    looked = lattice.looked_at
    judged = {v: lattice.judge(v) for v in product(*map(range, lattice.shape.tolist()))}
    wanted = min((one.value, v) for v, one in judged.items() if one.allowed)
    assert (found.value, found.levels) == wanted
    assert looked <= lattice.size


@settings(max_examples=60)
@given(tables(), st.integers(1, 4), SHARES, st.sampled_from(MEASURES))
def test_walks_that_last_are_optimal(given_table: Any, k: int, share: float, measure: str) -> None:
    table, rows, paths, _ = given_table
    task = oracle.Task(rows, paths, k, int(share * len(rows) + 1e-9), measure)
    wanted = oracle.best(task)
    for strategy in ("top-down", "bottom-up"):
        method = FullDomain(k=k, suppress=share, measure=measure, strategy=strategy, steps=10**6)
        found = method.mask(table, np.random.default_rng(0))
        assert found.facts[measure] == pytest.approx(wanted, abs=6e-5)
        assert "ended early" not in found.facts


@settings(max_examples=60)
@given(tables(), st.integers(1, 4), SHARES)
def test_minimal_nodes_and_the_lowest_height(given_table: Any, k: int, share: float) -> None:
    table, rows, paths, _ = given_table
    task = oracle.Task(rows, paths, k, int(share * len(rows) + 1e-9))
    wanted = oracle.minimal(task)
    columns = table.schema.quasi

    def made(strategy: str) -> Any:
        return FullDomain(k=k, suppress=share, strategy=strategy).lattice(table, columns)

    assert set(incognito_minimal(made("incognito"))) == wanted
    assert set(ola_minimal(made("ola"))) == wanted
    found = search(made("samarati"), "samarati", Budget())
    lowest = min(map(sum, wanted))
    if any(oracle.evaluate(task, v) is not None for v in wanted if sum(v) == lowest):
        assert found.levels is not None
        assert sum(found.levels) == lowest
    if share == 0:
        # Without suppression loss grows upwards, so that the best minimal node is the best of all.
        best = min(value for v in wanted if (value := oracle.evaluate(task, v)) is not None)
        for strategy in ("ola", "incognito", "optimal"):
            lattice = made(strategy)
            node = search(lattice, strategy, Budget())
            assert lattice.published(node.value) == pytest.approx(best)


@settings(max_examples=40)
@given(tables(), st.integers(2, 4), SHARES, st.integers(1, 12))
def test_whatever_the_strategy_and_budget_the_table_is_k_anonymous(
    given_table: Any, k: int, share: float, steps: int
) -> None:
    table, rows, paths, _ = given_table
    task = oracle.Task(rows, paths, k, int(share * len(rows) + 1e-9))
    for strategy in ("optimal", "samarati", "incognito", "datafly", "ola", "top-down", "bottom-up"):
        limited = {"steps": steps} if strategy in ("optimal", "top-down", "bottom-up") else {}
        method = FullDomain(k=k, suppress=share, strategy=strategy, **limited)
        outcome = method.mask(table, np.random.default_rng(0))
        assert smallest_class(outcome.table) >= k
        assert (outcome.partition.labels < 0).mean() <= share + 1e-9
        if "gap" in outcome.facts:
            wanted = oracle.best(task)
            assert wanted is not None
            assert outcome.facts["lower bound"] <= wanted + 6e-5 <= outcome.facts["loss"] + 2e-4


def test_datafly_raises_the_column_with_most_labels() -> None:
    zips = [f"{i:03d}" for i in range(8)] * 2
    table = sf.table(
        {"zip": zips, "sex": ["f", "m"] * 8},
        quasi=["zip", "sex"],
        posets={"zip": Hierarchy(levels=tuple((z, z[:2], "*") for z in sorted(set(zips))))},
    )
    outcome = FullDomain(k=2, strategy="datafly").mask(table, np.random.default_rng(0))
    assert outcome.facts["levels"] == {"zip": 0, "sex": 0}
    outcome = FullDomain(k=8, strategy="datafly").mask(table, np.random.default_rng(0))
    assert outcome.facts["levels"] == {"zip": 1, "sex": 0}


def test_a_column_without_a_hierarchy_is_kept_or_suppressed() -> None:
    table = sf.table({"age": [30, 31, 32, 33], "sex": ["f", "f", "m", "m"]}, quasi=["age", "sex"])
    outcome = FullDomain(k=2).mask(table, np.random.default_rng(0))
    assert outcome.table["age"].to_list() == ["*"] * 4
    assert outcome.table["sex"].to_list() == ["f", "f", "m", "m"]
    assert outcome.facts["without a hierarchy"] == ["age", "sex"]
    assert "age has no hierarchy" in outcome.warnings[0]
    assert table["age"].to_list() == [30, 31, 32, 33]


def test_missing_stays_missing_below_the_last_level() -> None:
    rows = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"))
    table = sf.table(
        {"q": ["a", "b", None, None, "c", "d"]}, quasi=["q"], posets={"q": Hierarchy(levels=rows)}
    )
    outcome = FullDomain(k=2).mask(table, np.random.default_rng(0))
    assert outcome.table["q"].to_list() == ["ab", "ab", None, None, "cd", "cd"]


def test_a_few_suppressed_records_are_given_company() -> None:
    """One record stands alone; published as the only "*" it still would."""
    table = sf.table({"q": ["a"] * 5 + ["b"] * 3 + ["c"]}, quasi=["q"])
    outcome = FullDomain(k=2, suppress=0.5).mask(table, np.random.default_rng(0))
    assert outcome.partition.labels.tolist() == [0] * 5 + [-1] * 4
    assert outcome.table["q"].to_list() == ["a"] * 5 + [None] * 4
    assert outcome.table.suppressed("q").tolist() == [False] * 5 + [True] * 4
    assert "suppressed share" not in outcome.facts
    # Two of nine are not enough for that.
    outcome = FullDomain(k=2, suppress=0.25).mask(table, np.random.default_rng(0))
    assert outcome.facts["levels"] == {"q": 1}


def test_a_small_share_of_a_large_table_is_told() -> None:
    town = ["a"] * 15_000 + ["b"] * 15_000 + [f"c{i}" for i in range(105)]
    outcome = FullDomain(k=5, suppress=0.01).mask(
        sf.table({"q": town}, quasi=["q"]), np.random.default_rng(0)
    )
    assert outcome.facts["suppressed share"] == 0.0035


def test_what_was_generalized_and_suppressed_before() -> None:
    table = sf.table({"age": list(range(20, 40)), "sex": ["f", "m"] * 10}, quasi=["age", "sex"])
    first = sf.protect(table, sf.method("mondrian", k=4), seed=0, measures=()).table
    outcome = FullDomain(k=10).mask(first, np.random.default_rng(0))
    assert smallest_class(outcome.table) >= 10
    loss = sf.measure("ncp", table, outcome.table).value
    assert outcome.facts["loss"] == pytest.approx(loss, abs=6e-5)


@settings(max_examples=60)
@given(
    tables(),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([
        {"use": "k-map", "k": 6},
        {"use": "delta-presence", "at_most": 0.5},
        {"use": "delta-presence", "at_most": 0.6, "at_least": 0.1},
    ]),
    st.data(),
)  # fmt: skip
def test_people_are_counted_by_what_is_published(
    given_table: Any, k: int, share: float, rule: Any, data: st.DataObject
) -> None:
    """A node is allowed where the check of what it publishes is met."""
    table, rows, paths, _ = given_table
    person = st.tuples(*(st.sampled_from([*sorted(map(str, one)), None]) for one in paths))
    others = data.draw(st.lists(person, max_size=40))
    everyone = sf.table(
        pl.DataFrame([*rows, *others], schema=dict.fromkeys(table.schema.quasi, pl.String),
                     orient="row"),
        quasi=table.schema.quasi,
    )  # fmt: skip
    method = FullDomain(k=k, suppress=share, criteria=[{**rule, "population": everyone}])
    lattice = method.lattice(table, table.schema.quasi)
    allowed = []
    for levels in product(*map(range, lattice.shape.tolist())):
        judged = lattice.judge(levels)
        if judged.allowed:
            gone = lattice.labels(levels) < 0
            shown = publish(table, lattice.ladders, levels, gone)
            assert method.criteria[0].check(shown).met
            allowed.append((judged.value, levels))
        elif share == 0:
            shown = publish(table, lattice.ladders, levels, np.zeros(table.height, dtype=bool))
            assert smallest_class(shown) < k or not method.criteria[0].check(shown).met
    if allowed:
        outcome = method.mask(table, np.random.default_rng(0))
        assert tuple(outcome.facts["levels"].values()) == min(allowed)[1]
    else:
        with pytest.raises(MethodError, match=r"no combination of levels|found no levels"):
            method.mask(table, np.random.default_rng(0))


@settings(max_examples=80)
@given(tables(), st.integers(1, 4), SHARES, st.sampled_from(MEASURES), st.data())
def test_what_was_suppressed_before_is_one_class_with_the_suppressed(
    given_table: Any, k: int, share: float, measure: str, data: st.DataObject
) -> None:
    table, _, _, _ = given_table
    before = table
    for name in table.schema.quasi:
        mask = np.array(
            data.draw(st.lists(st.booleans(), min_size=table.height, max_size=table.height))
        )
        mask &= table[name].is_not_null().to_numpy()
        mask &= data.draw(st.booleans())
        kept = table[name].zip_with(pl.Series(~mask), pl.Series([None], dtype=pl.String))
        table = table.with_columns([kept], [table.schema[name]], {name: mask})
    method = FullDomain(k=k, suppress=share, measure=measure)
    lattice = method.lattice(table, table.schema.quasi)
    found = search(lattice, "optimal", Budget())
    judged = {v: lattice.judge(v) for v in product(*map(range, lattice.shape.tolist()))}
    assert (found.value, found.levels) == min((j.value, v) for v, j in judged.items() if j.allowed)
    outcome = method.mask(table, np.random.default_rng(0))
    assert smallest_class(outcome.table) >= k
    classes = equivalence_classes(outcome.table)
    assert len(np.unique(outcome.partition.labels)) == len(classes)
    if measure != "entropy":  # that of the values as they come
        value = sf.measure(UTILITY[measure], before, outcome.table, align="position").value
        value = 1 - value if measure == "precision" else value
        assert outcome.facts[measure] == pytest.approx(value, abs=6e-5)


def test_k_map_goes_by_labels() -> None:
    zips = [f"{i:02d}" for i in range(100)]
    tree = Hierarchy(levels=tuple((z, z[0] + "x", "*") for z in zips))
    everyone = sf.table({"zip": zips}, kinds={"zip": "nominal"})
    table = sf.table({"zip": ["01", "12", "23"]}, quasi=["zip"], posets={"zip": tree})
    rule = {"use": "k-map", "k": 5, "population": everyone}
    outcome = FullDomain(k=1, criteria=[rule]).mask(table, np.random.default_rng(0))
    assert outcome.table["zip"].to_list() == ["0x", "1x", "2x"]


def test_keys_of_several_words() -> None:
    """Fourteen columns of 100 values do not fit one word."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 100, (300, 14))
    codes[150:] = codes[:150]
    names = [f"q{j}" for j in range(14)]
    table = sf.table({name: codes[:, j] for j, name in enumerate(names)}, quasi=names)
    assert FullDomain(k=2).lattice(table, names).fields.words == 2
    outcome = FullDomain(k=2).mask(table, np.random.default_rng(0))
    assert set(outcome.facts["levels"].values()) == {0}
    codes[0, 7] = (codes[0, 7] + 1) % 100
    table = sf.table({name: codes[:, j] for j, name in enumerate(names)}, quasi=names)
    outcome = FullDomain(k=2).mask(table, np.random.default_rng(0))
    assert [name for name, level in outcome.facts["levels"].items() if level] == ["q7"]


def test_a_lattice_too_large_has_a_remedy_and_walks_go_through_it() -> None:
    rng = np.random.default_rng(3)
    names = [f"q{j}" for j in range(24)]
    frame = {name: rng.integers(0, 3, 200) for name in names}
    table = sf.table(frame, quasi=names)
    with pytest.raises(MethodError, match="top-down"):
        FullDomain(k=3).mask(table, np.random.default_rng(0))
    for strategy in ("top-down", "bottom-up"):
        method = FullDomain(k=3, suppress=0.1, strategy=strategy, steps=300)
        one, two = (method.mask(table, np.random.default_rng(s)) for s in (0, 1))
        assert smallest_class(one.table) >= 3
        assert one.facts == two.facts
        assert one.facts["ended early"] == "after its steps"
        assert one.facts["gap"] == pytest.approx(
            one.facts["loss"] - one.facts["lower bound"], abs=2e-4
        )
    clocked = FullDomain(k=3, suppress=0.1, strategy="top-down", seconds=1e-6)
    facts = clocked.mask(table, np.random.default_rng(0)).facts
    assert facts["ended early"] == "by the clock"


def test_two_ways_at_a_time_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    names = ["a", "b", "c", "d"]
    rows = tuple((str(i), f"t{i // 3}", f"n{i // 9}", "*") for i in range(27))
    table = sf.table(
        {name: (rng.integers(0, 27, 400) ** 2 // 27).astype(str) for name in names},
        quasi=names,
        posets={name: Hierarchy(levels=rows) for name in names},
    )
    one = FullDomain(k=4, suppress=0.1).mask(table, rng)
    monkeypatch.setattr("sfumato.anonymity.lattice.optimal.WIDE", 1)
    two = FullDomain(k=4, suppress=0.1).mask(table, rng)
    assert one.facts["levels"] == two.facts["levels"]
    assert one.facts["loss"] == two.facts["loss"]


def test_complaints() -> None:
    table = sf.table({"q": ["a", "b", "c"], "ill": ["x", "x", "x"]}, quasi="q", confidential="ill")
    rng = np.random.default_rng(0)
    with pytest.raises(MethodError, match="cannot be made 4-anonymous"):
        FullDomain(k=4).mask(table, rng)
    with pytest.raises(MethodError, match="importance names 'sex'"):
        FullDomain(k=2, importance={"sex": 2.0}).mask(table, rng)
    with pytest.raises(MethodError, match="whole table as one class") as caught:
        FullDomain(k=2, criteria=[{"use": "l-diversity", "l": 2}]).mask(table, rng)
    assert "raise suppress" in str(caught.value)
    with pytest.raises(ParameterError, match="has no budget"):
        FullDomain.build({"strategy": "ola", "steps": 3})
    with pytest.raises(ParameterError, match="has no figure of them"):
        FullDomain.build({"measure": "discernibility", "importance": {"q": 2.0}})
