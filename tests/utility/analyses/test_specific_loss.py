"""cluster-loss, fuzzy-cluster-loss, prediction-loss, query-error and analytic-validity."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.kernels.statistics.clusterings import agreement
from sfumato.release.pairing import as_pair
from sfumato.utility.analyses.readable import ReadableColumn
from tests.oracle.specific import answer, mantaras, pair_indices


def _people(n: int = 600, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    sex = rng.choice(["f", "m"], n)
    income = 1000 + 40 * age + 500 * (sex == "m") + rng.normal(0, 200, n)
    return pl.DataFrame({"age": age, "sex": sex, "income": income})


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=25))
def test_indices_are_counts_of_pairs(labels: list[tuple[int, int]]) -> None:
    first, second = map(list, zip(*labels, strict=True))
    found = agreement(np.array(first), np.array(second))
    for name, value in pair_indices(first, second).items():
        assert found[name] == pytest.approx(value, abs=1e-9)
    assert found["mantaras"] == pytest.approx(mantaras(first, second), abs=1e-9)


def test_clusters_survive_a_small_change_and_not_a_shuffle() -> None:
    rng = np.random.default_rng(2)
    centres = rng.normal(0, 10, (5, 3))
    x = pl.DataFrame(centres[rng.integers(0, 5, 500)] + rng.normal(0, 0.5, (500, 3)))
    near = x + pl.DataFrame(rng.normal(0, 0.1, (500, 3)), schema=x.columns)
    far = pl.DataFrame({name: x[name].shuffle(seed=i) for i, name in enumerate(x.columns)})
    for algorithm in ("k-means", "ward", "gaussian-mixture"):
        loss = [
            sf.measure("cluster-loss", x, y, clusters=5, algorithm=algorithm) for y in (near, far)
        ]
        assert loss[0].value < 0.05 < 0.3 < loss[1].value
        assert loss[0].detail["indices"]["rand"] > 0.95
    kept = sf.measure("cluster-loss", x, x, clusters=5, index="mantaras")
    assert kept.value == pytest.approx(0, abs=1e-12)
    fuzzy = [sf.measure("fuzzy-cluster-loss", x, y, clusters=5) for y in (x, near, far)]
    assert fuzzy[0].value == 0
    assert fuzzy[0].detail["d1"] == 0
    assert fuzzy[0].value < fuzzy[1].value < fuzzy[2].value
    objective = fuzzy[1].detail["objective"]
    assert objective["masked"] == pytest.approx(objective["original"], rel=0.2)


def test_too_few_records_for_the_clusters() -> None:
    with pytest.raises(sf.SfumatoError, match="15 clusters"):
        sf.measure("cluster-loss", {"a": [1.0, 2.0, 3.0]}, {"a": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("model", ["forest", "tree", "linear", "nearest"])
def test_a_model_loses_nothing_on_the_same_table_and_all_on_a_shuffled_one(model: str) -> None:
    people = _people()
    masked = people.with_columns(income=pl.col("income").shuffle(seed=4))
    table = sf.table(people, quasi=["age", "sex"], confidential=["income"])
    same = sf.measure("prediction-loss", table, people, model=model)
    assert same.value == pytest.approx(0, abs=1e-12)
    lost = sf.measure("prediction-loss", table, masked, model=model)
    assert lost.value > 0.5
    assert lost.baseline == pytest.approx(same.detail["scores"]["original"], abs=0.05)
    classes = sf.measure("prediction-loss", table, masked, target="sex", model=model)
    assert classes.detail["score"] == "accuracy"
    assert classes.value > 0.05


def test_models_learn_from_labels_and_from_drawn_records() -> None:
    people = _people()
    table = sf.table(people, quasi=["age", "sex"], confidential=["income"])
    coarse = sf.protect(table, sf.method("mondrian", k=10), seed=1)
    found = sf.measure("prediction-loss", table, coarse.table, align="none", model="linear")
    near = coarse.measure("prediction-loss", model="linear")
    assert near.value < 0.2 < near.baseline
    assert found.value == pytest.approx(near.value, abs=0.2)


def test_prediction_needs_a_target() -> None:
    with pytest.raises(sf.SfumatoError, match="nothing to predict"):
        sf.measure("prediction-loss", {"a": [1.0, 2.0]}, {"a": [1.0, 2.0]})


def test_a_masked_column_is_read_as_the_sets_its_labels_cover() -> None:
    original = sf.table({"age": [20, 25, 30, 40], "job": list("abca")}, quasi=["age", "job"])
    labels = pl.DataFrame(
        {"age": ["[20, 29]", "[20, 29]", "[30, 40]", "*"], "job": ["{a, b}", "b", "c", None]}
    )
    pair = as_pair(original, labels, "position")
    sets: dict[str, list[set[object]]] = {
        "age": [{20, 25}, {20, 25}, {30, 40}, {20, 25, 30, 40}],
        "job": [{"a", "b"}, {"b"}, {"c"}, set()],
    }
    wanted: dict[str, set[object]] = {"age": {25, 30}, "job": {"a", "c"}}
    columns = {name: ReadableColumn(pair, name) for name in sets}
    age = columns["age"].satisfies(np.array([False, True, True, False]), 25, 30)
    job = columns["job"].satisfies(np.array([True, False, True]), 0, 0)
    for name, found in (("age", age), ("job", job)):
        assert found.tolist() == [answer([[s]], [wanted[name]]) for s in sets[name]]
    records = [list(pair_of) for pair_of in zip(*sets.values(), strict=True)]
    assert float((age * job).sum()) == answer(records, list(wanted.values()))
    assert columns["age"].features()[1][:, 0].tolist() == [22.5, 22.5, 35.0, 28.75]


def test_queries_are_exact_on_the_same_table_and_wrong_on_a_coarse_one() -> None:
    people = _people()
    for aggregate in ("count", "sum"):
        same = sf.measure("query-error", people, people, aggregate=aggregate, of="income")
        assert same.value == pytest.approx(0, abs=1e-12)
    table = sf.table(people, quasi=["age", "sex"], confidential=["income"])
    errors = [
        sf.protect(table, sf.method("mondrian", k=k), seed=1).measure("query-error").value
        for k in (3, 60)
    ]
    assert 0 < errors[0] < errors[1]
    doubled = pl.concat([people, people])
    found = sf.measure("query-error", people, doubled, align="none", expand=False)
    assert found.value == pytest.approx(1.0, abs=0.02)  # every answer is twice the truth
    assert sf.measure("query-error", people, doubled, align="none").value == pytest.approx(0)
    sampled = sf.measure("query-error", people, doubled, align="none", expand=False, sample=300)
    assert sampled.value == pytest.approx(1.0, abs=0.4)  # as before, but for drawing 300 of each


@pytest.mark.parametrize(
    ("values", "reach"), [(2, 0.5), (4, 0.25), (1000, 0.316)], ids=["binary", "four", "many"]
)
def test_conditions_come_as_near_to_the_selectivity_as_the_values_allow(
    values: int, reach: float
) -> None:
    x = pl.DataFrame({"v": np.arange(4000) % values})
    found = sf.measure("query-error", x, x, conditions=1, selectivity=0.316, queries=200)
    assert found.detail["selectivity"] == pytest.approx(reach, abs=0.01)


def test_a_model_of_shuffled_records_loses_nothing() -> None:
    people = _people()
    table = sf.table(people, quasi=["age", "sex"], confidential=["income"])
    shuffled = people.sample(fraction=1.0, shuffle=True, seed=3)
    for model in ("forest", "nearest"):
        found = sf.measure("prediction-loss", table, shuffled, align="none", model=model)
        assert abs(found.value) < 0.03


def test_warm_clusters_of_few_distinct_records() -> None:
    x = pl.DataFrame({"a": [1.0, 2.0, 9.0] * 10})
    assert sf.measure("cluster-loss", x, x, clusters=5, warm=True).value == 0


def test_validity_is_a_checklist() -> None:
    people = _people()
    same = sf.measure("analytic-validity", people, people)
    assert same.value == 0
    assert same.detail["valid"]
    assert same.detail["sub_domains"] == ["sex"]
    broken = people.with_columns(income=pl.col("income").shuffle(seed=3))
    found = sf.measure("analytic-validity", people, broken)
    checks = found.detail["checklist"]
    # Shuffled incomes keep their quantiles and marginals; means by sex and the covariance go.
    assert checks["quantiles"]["failed"] == 0
    assert checks["marginals of sex"]["failed"] == 0
    assert checks["means by sex"] == {"failed": 2, "of": 4}
    assert checks["covariances by sex"]["failed"] >= 2
    assert found.value == pytest.approx(
        sum(c["failed"] for c in checks.values()) / sum(c["of"] for c in checks.values())
    )
    by_age = sf.measure("analytic-validity", people, broken, domains=["age"])
    assert by_age.detail["checklist"]["marginals of age"]["of"] == 5
    with pytest.raises(sf.SfumatoError, match="not in both"):
        sf.measure("analytic-validity", people, people.drop("sex"), domains=["sex"])
    with pytest.raises(sf.SfumatoError, match="no sub-domain"):
        sf.measure("analytic-validity", people, people, least=10_000)
    gone = people.with_columns(sex=pl.when(pl.int_range(600) < 60).then("sex"))
    lost = sf.measure("analytic-validity", people, gone, domains=["sex"])
    assert lost.detail["checklist"]["marginals of sex"]["failed"] == 3


def test_a_variable_passes_with_its_means_and_its_variances() -> None:
    rng = np.random.default_rng(6)
    x = pl.DataFrame({"g": ["a", "b"] * 200, "v": rng.normal(size=400), "w": rng.normal(size=400)})
    wider = x.with_columns(v=pl.col("v").mean().over("g") * -1 + pl.col("v") * 2)
    assert sf.measure("analytic-validity", x, x).detail["variables_that_pass"] == 2
    found = sf.measure("analytic-validity", x, wider)
    assert found.detail["checklist"]["means by g"]["failed"] == 0
    assert found.detail["variables_that_pass"] == 1
