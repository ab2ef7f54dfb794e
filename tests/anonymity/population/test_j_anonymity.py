"""j-anonymity: the prediction beside its formula, the ladder, and the audit by a count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymity.population.j_anonymity import JAnonymity
from sfumato.anonymity.population.j_audit import audit_j_anonymity
from sfumato.data.generalized.label_places import LabelPlaces
from sfumato.errors import MethodError, ParameterError
from sfumato.models.augmented import axes_of, read
from sfumato.models.population_counts import Levels, PopulationCounts
from sfumato.models.records import Records
from tests.models.people import people
from tests.oracle import bayes as oracle


def masked(table: sf.Table, reference: sf.Table | None = None, **more: Any) -> Any:
    method = JAnonymity(**{"k": 5, "population": 20 * table.height, **more})
    return method.mask_against(table, np.random.default_rng(0), reference)


def counts_of(table: sf.Table, population: int, **more: Any) -> PopulationCounts:
    axes = axes_of(table, table.names, missing=True)
    return PopulationCounts(
        Records.of([read(axis, table) for axis in axes]), population, k=5, **more
    )


def test_chances_beside_the_formula() -> None:
    found = counts_of(people(150), 1500, shape=2.0)
    place, job, age = found.axes
    rng = np.random.default_rng(0)
    for _ in range(30):
        row = int(rng.integers(found.states.shape[0]))
        levels = [int(rng.integers(axis.levels + 1)) for axis in (place, job, age)]
        shown = found.lifted(np.array(levels), np.array([row]))[0]
        part = int(found.part[row])
        joint = oracle.joint(found.networks[part])
        inside = np.ones(found.states.shape[0], dtype=bool)
        for a, axis in enumerate((place, job, age)):
            if levels[a] < axis.levels:
                joint = np.compress(axis.up[levels[a]] == shown[a], joint, axis=a)
                inside &= axis.up[levels[a]][found.states[:, a]] == shown[a]
        f = int(found.sample.weights[inside].sum())
        got = found.chances(Levels(np.array([levels]), shown[None, :]), np.array([part]))[0]
        if f >= 5:
            assert got == 1
        else:
            want = oracle.at_least(5, f, 2.0, float(joint.sum()), 150, 1500)
            assert got == pytest.approx(want, abs=1e-9)


def test_more_people_more_released() -> None:
    table = people(200)
    shares = []
    for population in (200, 2000, 200_000):
        shown = masked(table, population=population).table
        same = [
            (shown[name].cast(pl.String) == table[name].cast(pl.String)).to_numpy()
            for name in table.names
        ]
        shares.append(float(np.logical_and.reduce(same).mean()))
    assert shares == sorted(shares)
    assert shares[-1] > 0.95


def test_the_sample_counts_for_itself() -> None:
    """Where the data are the population, prediction is counting: everything shown has k."""
    table = people(300)
    found = masked(table, population=300)
    audit = audit_j_anonymity(table, found.table, k=5)
    assert audit.error == 0
    assert audit.counts.min() >= 5


def tenth(population: sf.Table, seed: int, share: float = 0.1) -> sf.Table:
    rng = np.random.default_rng(seed)
    n = int(population.height * share)
    return population.take(np.sort(rng.choice(population.height, n, replace=False)))


def modular(m: int, seed: int) -> sf.Table:
    """Three independent columns, and one that follows from all three together, which no network of
    pairs can see: four people share each combination, also without the last column."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, m, (4 * m**3, 3))
    x = np.column_stack([x, x.sum(axis=1) % m]).astype(str)
    names = [f"c{j}" for j in range(4)]
    return sf.table(
        {name: x[:, j] for j, name in enumerate(names)},
        quasi=names,
        kinds=dict.fromkeys(names, "nominal"),
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_confidence_is_kept(seed: int) -> None:
    """A tenth of a known population: the promise is broken no more often than stated, though the
    records as they are would break it."""
    population = people(6000, seed)
    sample = tenth(population, seed)
    found = masked(sample, population=6000, k=30)
    audit = audit_j_anonymity(population, found.table, k=30)
    assert audit_j_anonymity(population, sample, k=30).error > 0.1
    assert audit.kept
    assert (~audit.suppressed).mean() > 0.9
    assert "at most 5%" in str(audit)


@pytest.mark.parametrize("seed", range(3))
def test_the_confidence_is_kept_where_the_network_is_wrong_in_parts(seed: int) -> None:
    """The network is far off for whole records and right for coarser ones: what the counts say of
    the former must not be believed of the latter."""
    population = modular(25, seed)
    sample = tenth(population, seed, 0.0096)
    audit = audit_j_anonymity(population, masked(sample, population=62_500).table, k=5)
    assert audit_j_anonymity(population, sample, k=5).error > 0.3
    assert audit.kept
    assert not audit.suppressed.any()


def test_the_least_favourable_shape() -> None:
    """No shape from the lowest up to the Poisson distribution makes k people less probable."""
    found = counts_of(people(150), 1500)
    plain = Levels(np.zeros_like(found.states), found.states)
    got = found.chances(plain, found.part)
    assert np.isinf(found.shapes[-1])
    for shape in (found.shape, 10 * found.shape, 1e9):
        other = counts_of(people(150), 1500, shape=shape).chances(plain, found.part)
        assert (got <= other + 0.01).all()
    unseen = np.exp2(found.whole_bits) * (1500 - 150)
    for chance, f, mean in zip(got, found.sample.weights, unseen, strict=True):
        if f < 5:
            below = sum(math.exp(-mean) * mean**u / math.factorial(u) for u in range(5 - int(f)))
            assert chance <= 1 - below + 1e-9


def weighed(table: sf.Table, weights: Any) -> sf.Table:
    column = sf.table({"w": weights}, weight="w").schema["w"]
    return table.with_columns([pl.Series("w", weights)], [column])


def test_design_weights() -> None:
    table = people(200)
    plain = masked(table, population=4000)
    for weight in (1.0, 20.0):
        same = masked(weighed(table, np.full(200, weight)), population=4000)
        assert same.table.frame.drop("w").equals(plain.table.frame)
        assert not same.warnings
    with pytest.raises(MethodError, match=r"weights in column 'w' differ.*subsample"):
        masked(weighed(table, np.where(np.arange(200) < 50, 1.0, 10.0)), population=4000)
    with pytest.raises(MethodError, match="differ"):
        masked(weighed(table, [None, *[20.0] * 199]), population=4000)
    with pytest.raises(MethodError, match="stand for 4,000 people"):
        masked(weighed(table, np.full(200, 20.0)), population=40_000)
    doubtful = masked(weighed(table, np.full(200, 20.0)), population=5000)
    assert "too large" in doubtful.warnings[0]
    # Of data that are no sample, nothing is learnt.
    uneven = weighed(table, np.arange(1.0, 201))
    masked(uneven, people(1000, seed=5), population=4000, sample=False)


def test_a_reference_that_repeats_the_data() -> None:
    population = modular(8, 0)
    rows = np.random.default_rng(0).permutation(population.height)
    table, others = population.take(rows[:300]), population.take(rows[300:1200])
    assert not masked(table, others, population=2048).warnings
    again = population.take(rows[:1200])
    assert "repeat" in masked(table, again, population=2048).warnings[0]


def test_labels_cover_their_values_and_missing_stays_missing() -> None:
    table = people(150)
    gap = table["place"].set(pl.Series(np.arange(150) % 7 == 0), None)
    table = table.with_columns([gap])
    shown = masked(table, population=400).table
    assert shown.schema["place"].generalized
    for name in table.names:
        domain = table[name].drop_nulls().unique().sort()
        reader = LabelPlaces(table.schema[name], domain)
        values = domain.to_list()
        for before, after in zip(table[name], shown[name].cast(pl.String), strict=True):
            if before is None:
                assert after in (None, "*")
            else:
                covered = reader.covered(after)
                assert covered is not None
                assert before in [values[i] for i in covered]


def test_a_reference_helps() -> None:
    table, others = people(150), people(1200, seed=5)
    alone = masked(table, population=3000).table
    helped = masked(table, others, population=3000).table
    kept = [
        sum((one[n].cast(pl.String) == table[n].cast(pl.String)).sum() for n in table.names)
        for one in (alone, helped)
    ]
    assert kept[1] > kept[0]
    masked(table, others, population=3000, sample=False)


def test_facts_tell_no_handful() -> None:
    facts = masked(people(200), population=200_000).facts
    for name in ("released as they are", "generalized records", "suppressed records"):
        assert name not in facts or 0.05 <= facts[name] <= 0.95


def test_the_audit_beside_a_count() -> None:
    rng = np.random.default_rng(2)
    table = sf.table(
        {"a": rng.choice(list("xyz"), 80), "b": rng.integers(0, 5, 80)}, quasi=["a", "b"]
    )
    shown = sf.table(
        {"a": ["{x, y}", "z", "*", "x"], "b": ["[1, 3]", "2", "4", "*"]}, quasi=["a", "b"],
        kinds={"a": "nominal"},
    )  # fmt: skip
    sets: list[list[set[object]]] = [
        [{"x", "y"}, {1, 2, 3}], [{"z"}, {2}], [set("xyz"), {4}], [{"x"}, set(range(5))]
    ]  # fmt: skip
    shown = shown.with_schema(sf.Schema(column.with_(generalized=True) for column in shown.schema))
    audit = audit_j_anonymity(table, shown, k=3)
    assert audit.counts.tolist() == oracle.covering(table.frame.rows(), sets)
    assert audit.plain.tolist() == [False, True, False, False]


def test_what_cannot_be() -> None:
    table = people(50)
    with pytest.raises(MethodError, match="smaller than"):
        masked(table, population=10)
    with pytest.raises(MethodError, match="no sample"):
        masked(table, sample=False)
    with pytest.raises(MethodError, match="reference table has no column"):
        masked(table, sf.table({"x": [1]}))
    with pytest.raises(ParameterError, match="population"):
        sf.method("j-anonymity", k=5)
