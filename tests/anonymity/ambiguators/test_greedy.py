"""Greedy ambiguation beside figure 11 of the thesis, done naively, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

import sfumato as sf
from sfumato.anonymity.ambiguators.greedy import Greedy
from sfumato.data.codec import Matrix, code
from sfumato.data.partition import Cover, Partition
from sfumato.data.points.encoding import Encoding
from sfumato.data.table import Table, table
from sfumato.errors import MethodError, SfumatoError
from sfumato.kernels.classes.ambiguate import grow_classes, grow_cover
from sfumato.kernels.classes.record_trie import exact_costs
from sfumato.methods.verbs.generalize import Generalize
from sfumato.poset.or_missing import OrMissing
from sfumato.poset.trees.sources import Hierarchy
from tests.oracle import ambiguators as oracle
from tests.oracle.mixed_tables import COLUMNS, mixed_table

RNG = np.random.default_rng(0)
MEASURES = ["ncp", "height", "column-mi", "value-mi"]


def search(found: Table, **parameters: object) -> Partition | Cover:
    chosen = Greedy.build(parameters)
    return chosen.partition(Matrix(found, found.schema.quasi), RNG)


def sets_of(cover: Partition | Cover) -> list[list[int]]:
    assert isinstance(cover, Cover)
    return [
        cover.members[a:b].tolist()
        for a, b in zip(cover.starts[:-1], cover.starts[1:], strict=True)
    ]


def covers_its_own(original: Table, masked: Table) -> None:
    """Every published cell is the record's own value, or one above it."""
    for name in original.schema.quasi:
        poset = OrMissing(code(original, name).poset)
        own, published = original[name].to_list(), masked[name].cast(pl.String).to_list()
        for value, label in zip(own, published, strict=True):
            if label is None:
                assert value is None
            else:
                assert poset.leq(value, label), (name, value, label)


@given(
    st.integers(0, 10**6),
    st.integers(2, 14),
    st.integers(2, 5),
    st.sampled_from(MEASURES),
    st.integers(1, 7),
)
def test_it_is_figure_11(seed: int, n: int, k: int, measure: str, columns: int) -> None:
    k = min(k, n)
    data = mixed_table(seed, n, columns=COLUMNS[-columns:] if seed % 2 else COLUMNS[:columns])
    chosen = Greedy.build({"k": k, "measure": measure, "target": "ill"})
    x = Matrix(data, data.schema.quasi)
    try:
        priced = chosen.price(x)
    except MethodError:
        assert measure == "column-mi"  # no column tells anything
        return
    records = oracle.Records.of(priced.joins, priced.states)
    found, cost, ties = grow_cover(
        priced.joins, priced.states, k, monotone=priced.monotone, threads=1 + seed % 3
    )
    for i in range(n):
        members, tied = oracle.greedy_set(records, i, k, range(n))
        assert found[i].tolist() == members
        assert cost[i] == records.cost(members)
        assert ties[i] == tied
    assert sets_of(chosen.partition(x, RNG)) == found.tolist()


@pytest.mark.parametrize("values", [8, 300])
def test_it_is_figure_11_where_declared_values_fall_upwards(values: int) -> None:
    """Nothing is passed over because a wider cell seemed dearer, however many values there are."""
    rng = np.random.default_rng(3)
    n = 400
    parents = {f"v{i}": [f"g{i // 5}", f"h{i % 3}"] for i in range(values)}
    nodes = sorted({*parents, *(group for found in parents.values() for group in found), "*"})
    posets = {
        name: {
            "kind": "partial-order",
            "parents": parents,
            "values": {node: float(-rng.integers(0, 9)) for node in nodes},
        }
        for name in "abc"
    }
    columns = {name: [f"v{i}" for i in rng.permutation(n) % values] for name in "abc"}
    data = table(columns, quasi=list("abc"), posets=posets)
    priced = Greedy.build({"k": 3}).price(Matrix(data, data.schema.quasi))
    records = oracle.Records.of(priced.joins, priced.states)
    found, cost, _ = grow_cover(priced.joins, priced.states, 3, monotone=priced.monotone)
    for i in range(0, n, 40):
        members, _ = oracle.greedy_set(records, i, 3, range(n))
        assert found[i].tolist() == members
        assert cost[i] == records.cost(members)


@given(st.integers(0, 10**6), st.integers(2, 14), st.integers(2, 4))
def test_closed_classes_are_those_of_a_naive_search(seed: int, n: int, k: int) -> None:
    k = min(k, n)
    data = mixed_table(seed, n)
    priced = Greedy.build({"k": k}).price(Matrix(data, data.schema.quasi))
    records = oracle.Records.of(priced.joins, priced.states)
    order = np.random.default_rng(seed).permutation(n)
    labels, _ = grow_classes(priced.joins, priced.states, k, order=order)
    assert labels.tolist() == oracle.classes(records, k, order.tolist())


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 6), st.sampled_from(MEASURES))
def test_sets_hold_k_and_cells_cover_their_own(seed: int, n: int, k: int, measure: str) -> None:
    data = mixed_table(seed, max(n, k))
    try:
        found = search(data, k=k, measure=measure)
    except MethodError:
        return
    for row, members in enumerate(sets_of(found)):
        assert members[0] == row
        assert len(set(members)) == k
    masked = Generalize().apply(data, found, data.schema.quasi, RNG).table
    covers_its_own(data, masked)


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 6))
def test_repaired_classes_keep_k(seed: int, n: int, k: int) -> None:
    data = mixed_table(seed, max(n, k))
    found = search(data, k=k, repair="k")
    assert isinstance(found, Partition)
    assert found.smallest >= k
    masked = Generalize().apply(data, found, data.schema.quasi, RNG).table
    covers_its_own(data, masked)
    counts = masked.frame.group_by(data.schema.quasi).len()["len"]
    assert counts.to_numpy().min() >= k


@pytest.mark.parametrize("measure", ["ncp", "value-mi"])
def test_long_columns_are_searched_exactly(measure: str) -> None:
    """Columns with more values than a table holds go another way."""
    rng = np.random.default_rng(4)
    n = 500
    frame = {
        "w": [f"w{i:03d}" for i in rng.integers(0, 400, n)],
        "t": [f"{i:03d}" for i in rng.integers(0, 700, n)],
        "y": rng.normal(size=n).round(1),
        "x": rng.normal(size=n),
        "ill": rng.choice(["flu", "gout"], n),
    }
    frame["x"][:20] = np.nan
    rows = [[f"{i:03d}", f"{i // 10:02d}*", f"{i // 100}**", "*"] for i in range(700)]
    data = table(
        pl.DataFrame(frame).fill_nan(None),
        kinds={"t": "nominal"},
        posets={"t": Hierarchy(levels=rows)},
        quasi=["w", "t", "y", "x"],
        target=["ill"],
    )
    chosen = Greedy.build({"k": 3, "measure": measure})
    priced = chosen.price(Matrix(data, data.schema.quasi))
    records = oracle.Records.of(priced.joins, priced.states)
    found, _, ties = grow_cover(priced.joins, priced.states, 3, monotone=priced.monotone)
    for i in range(0, n, 37):
        members, tied = oracle.greedy_set(records, i, 3, range(n))
        assert (found[i].tolist(), ties[i]) == (members, tied)


def test_threads_never_alter_it() -> None:
    data = mixed_table(1, 300)
    priced = Greedy(k=4).price(Matrix(data, data.schema.quasi))
    one, other = (grow_cover(priced.joins, priced.states, 4, threads=t) for t in (1, 3))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


def test_costs_on_the_grid_are_nearly_the_same_and_add_up_exactly() -> None:
    data = mixed_table(2, 50)
    found = Greedy(k=4).price(Matrix(data, data.schema.quasi))
    again = exact_costs(found.joins)
    assert (again.cost == found.joins.cost).all()
    costs = found.joins.cost.tolist()
    assert sum(costs) == sum(reversed(costs)) == sum(sorted(costs))


def test_importance_keeps_a_column_precise() -> None:
    data = mixed_table(3, 60, missing=False)
    wide = Generalize().apply(data, search(data), data.schema.quasi, RNG).table["age"]
    dear = search(data, importance={"age": 100})
    narrow = Generalize().apply(data, dear, data.schema.quasi, RNG).table["age"]
    exact = [series.cast(pl.String).str.contains(r"^\d+$").sum() for series in (wide, narrow)]
    assert exact[1] > exact[0]


def test_ties_are_told_as_a_share_of_many_only() -> None:
    many = search(mixed_table(1, 100, columns=("tree", "colour", "level", "age")), k=5)
    assert 0 < many.facts["ties"] < 1
    assert round(many.facts["ties"], 2) == many.facts["ties"]
    assert "ties" not in search(mixed_table(1, 5), k=3).facts


def test_a_cover_says_what_it_promises_and_its_lineage_is_private() -> None:
    data = mixed_table(1, 40)
    release = sf.protect(data, sf.method("greedy", k=3), seed=1, measures=())
    assert any("(k,1)" in note for note in release.evidence.notes)
    (lineage,) = release.private.lineage.values()
    assert lineage.tolist() == sets_of(search(data, k=3))
    with pytest.raises(sf.ReleaseRefused):
        sf.protect(data, sf.method("greedy", k=3), require={"k-anonymity": 3}, seed=1)
    repaired = sf.method("greedy", k=3, repair="k")
    assert sf.protect(data, repaired, require={"k-anonymity": 3}, seed=1).table.height == 40


def test_lineage_names_original_rows_after_records_were_dropped(tmp_path: Path) -> None:
    data = mixed_table(1, 60)
    steps = [sf.method("sampling", share=0.5), sf.method("greedy", k=3)]
    release = sf.protect(data, steps, seed=1, measures=())
    lineage = release.private.lineage["2-greedy"]
    rows = release.pair.rows
    assert rows is not None
    assert sorted(rows.tolist()) == np.flatnonzero(lineage[:, 0] >= 0).tolist()
    assert (lineage[rows, 0] == rows).all()
    assert np.isin(lineage[rows], rows).all()
    release.save(tmp_path / "out", allow_guessable_seed=True)
    written = pl.read_parquet(tmp_path / "out.private" / "lineage.parquet")
    assert written["2-greedy"].to_numpy().tolist() == lineage.tolist()


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"k": 50}, "cannot form a set of 50"),
        ({"importance": {"nose": 2}}, "importance names 'nose'"),
        ({"measure": "column-mi", "importance": {"nose": 2}}, "importance names 'nose'"),
        ({"measure": "value-mi", "target": "nose"}, "no such column"),
        ({"measure": "model", "target": "tree"}, "among the columns to generalize"),
        ({"measure": "model", "model": "os.system"}, "not a model of scikit-learn"),
        ({"measure": "model", "model": "sklearn.nothing.At"}, "has no model"),
        ({"measure": "model", "model": "sklearn.linear_model.Ridge"}, "does not predict classes"),
    ],
)
def test_bad_input_is_named(parameters: dict[str, object], what: str) -> None:
    with pytest.raises(SfumatoError, match=what) as error:
        search(mixed_table(1, 40), **parameters)
    assert error.value.remedy


def _paid(rng: np.random.Generator, n: int) -> pl.DataFrame:
    told, group = rng.normal(size=n).round(1), rng.integers(0, 600, n)
    pay = told + 0.3 * (group // 100) + rng.normal(size=n)
    return pl.DataFrame({"told": told, "code": [f"{g:03d}" for g in group], "pay": pay})


class TestModel:
    """Greedy with a predictive model."""

    @staticmethod
    def _naive(data: Table, k: int, target: str) -> tuple[list[list[int]], object]:
        """One prediction after the other."""
        from sfumato.anonymity.ambiguators.model_growth import ModelGrowth

        x = Matrix(data, data.schema.quasi)
        growth = ModelGrowth.train(x, Greedy(k=k).price(x), target, "")
        n = data.height
        states, joins = growth.records.states, growth.records.joins
        spread = np.ptp(growth.truth, axis=0).max()

        def change(i: int, rows: list[int]) -> float:
            bound = states[i].copy()
            for row in rows:
                bound = oracle.joined(joins, bound, states[row])
            guess = growth.predict(bound[None], growth.fold[[i]])[0]
            return round(float(np.abs(guess - growth.truth[i]).sum() / spread), 9)

        sets = []
        for i in range(n):
            members = [i]
            while len(members) < k:
                left = [t for t in range(n) if t not in members]
                members.append(min(left, key=lambda t: (change(i, [*members, t]), t)))
            sets.append(members)
        return sets, growth

    @pytest.mark.parametrize("target", ["pay", "ill"])
    def test_it_is_the_naive_one(self, target: str) -> None:
        data = mixed_table(5, 25)
        expected, _ = self._naive(data, 3, target)
        assert sets_of(search(data, k=3, measure="model", target=target)) == expected

    def test_classes_keep_k(self) -> None:
        data = mixed_table(5, 44)
        found = search(data, k=5, measure="model", target="pay", repair="k")
        assert isinstance(found, Partition)
        assert found.smallest >= 5

    def test_it_keeps_predictions_better_than_ncp_does(self) -> None:
        rng = np.random.default_rng(1)
        n = 300
        told, noise = rng.normal(size=n), rng.normal(size=n)
        frame = {"a": told.round(2), "b": noise.round(2), "pay": 3 * told + 0.1 * noise}
        data = table(pl.DataFrame(frame), quasi=["a", "b"], target=["pay"])

        def width_of_a(measure: str) -> float:
            found = search(data, k=5, measure=measure)
            masked = Generalize().apply(data, found, ["a", "b"], RNG).table
            poset = code(data, "a").poset
            return float(np.mean([poset.measure(v) for v in masked["a"].cast(pl.String)]))

        assert width_of_a("model") < width_of_a("ncp") / 2

    def test_a_release_tells_no_more_of_the_target_than_the_originals(self) -> None:
        """What is left of a target that only its own record could tell of. With a model that has
        seen all records, the correlation rises by 0.11 on average."""
        rise = {"none": [], "k": []}
        for seed in range(4):
            rng = np.random.default_rng(seed)
            own, others = _paid(rng, 100), _paid(rng, 3000)
            told = {"target": ["pay"], "posets": {"code": {"kind": "prefix", "lengths": [3, 2, 1]}}}
            told |= {"quasi": ["told", "code"], "kinds": {"code": "nominal"}}
            data = table(own, **told)
            encoding = Encoding.of(table(pl.concat([own, others]), **told), ["told", "code"])
            reader = Ridge().fit(encoding.encode(table(others, **told)), others["pay"].to_numpy())

            def tells(release: Table, use: object = (encoding, reader)) -> float:
                guess = use[1].predict(use[0].encode(release))  # type: ignore[index]
                return float(np.corrcoef(guess, release["pay"].to_numpy())[0, 1])

            for repair, found in rise.items():
                sets = search(data, k=3, measure="model", repair=repair)
                masked = Generalize().apply(data, sets, data.schema.quasi, RNG).table
                found.append(tells(masked) - tells(data))
        assert np.mean(rise["none"]) < 0.03
        assert np.mean(rise["k"]) < 0.03

    @pytest.mark.parametrize("lonely", [[0], [0, 10, 20]])
    def test_classes_that_one_fold_holds(self, lonely: list[int]) -> None:
        """The fold's model knows no such class, or one class alone."""
        data = mixed_table(5, 30, missing=False)
        ill = ["gout" if i in lonely else "flu" for i in range(30)]
        frame = data.frame.with_columns(ill=pl.Series(ill))
        found = search(table(frame, quasi=["age"], target=["ill"]), k=3, measure="model")
        assert len(sets_of(found)) == 30

    def test_answers_that_one_fold_holds(self) -> None:
        pay = [1.0 if i == 0 else 2.0 if i == 10 else None for i in range(20)]
        data = table({"a": list(range(20)), "pay": pay}, quasi=["a"], target=["pay"])
        assert len(sets_of(search(data, k=3, measure="model"))) == 20

    def test_large_tables_are_refused(self) -> None:
        with pytest.raises(MethodError, match="all pairs of 3,001 records"):
            search(mixed_table(1, 3001), measure="model")

    def test_another_model(self) -> None:
        model = "sklearn.tree.DecisionTreeRegressor"
        found = search(mixed_table(1, 30), k=3, measure="model", target="pay", model=model)
        again = search(mixed_table(1, 30), k=3, measure="model", target="pay", model=model)
        assert sets_of(found) == sets_of(again)


@pytest.mark.golden
def test_adult(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """Repaired greedy with hierarchies, nobody suppressed: a first partition that is close to what
    ARX 3.9 reaches by iterating its lattice for 3.8 s (0.0563)."""
    home = shared_data("adult")
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country"]
    quasi += ["workclass", "occupation"]
    posets = {
        name: {"kind": "hierarchy", "path": str(home / f"adult_hierarchy_{name}.csv")}
        for name in quasi
    }
    data = sf.read(home / "adult.csv", quasi=quasi, confidential="salary-class", posets=posets)
    chosen = sf.method("greedy", k=5, repair="k")
    release = sf.protect(data, chosen, require={"k-anonymity": 5}, measures=(), seed=0)
    rows = release.pair.rows
    assert rows is not None
    found = round(float(sf.measure("ncp", data.take(rows), release.table)), 4)
    golden_record("greedy, repaired, Adult k=5 NCP", 0.0577, found)
    assert found == 0.0577
