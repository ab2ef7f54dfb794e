"""Class restriction on top of any search: classes are spread, k stays, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.codec import Matrix
from sfumato.data.points.space import space_of
from sfumato.errors import MethodError, ParameterError
from tests.oracle import spread as oracle

STARTS = ["mdav", "ward", "refine", "mst", "v-mdav", "mhm", "projected", "mondrian", "clusterer"]


def people(n: int = 240, missing: float = 0.0) -> sf.Table:
    """Similar people have the same class, so that searches make groups of one class."""
    draw = np.random.default_rng(7)
    x = draw.normal(size=(n, 2))
    ill = np.where(x[:, 0] + 0.1 * draw.normal(size=n) > 0.4, "ill", "well")
    age = [None if draw.random() < missing else float(v) for v in x[:, 0]]
    made = {"age": age, "weight": x[:, 1], "sex": draw.choice(["f", "m"], n), "result": ill}
    return sf.table(made, quasi=["age", "weight", "sex"], confidential=["result"])


def alone(table: sf.Table, groups: Any) -> float:
    """The share of records in groups of one class."""
    kinds = [set(table["result"].gather(rows).to_list()) for rows in groups]
    sizes = [len(rows) for rows in groups]
    return sum(s for s, k in zip(sizes, kinds, strict=True) if len(k) == 1) / sum(sizes)


@pytest.mark.parametrize("start", STARTS)
def test_classes_are_spread_inside_the_groups_of_any_search(start: str) -> None:
    table = people()
    before = sf.partition(table, sf.method(start, k=6), seed=2)
    after = sf.partition(table, sf.method("class-restricted", k=6, start=start), seed=2)
    assert isinstance(before, sf.Partition)
    assert isinstance(after, sf.Partition)
    assert alone(table, before) > 0.25
    assert alone(table, after) == 0.0
    assert after.smallest >= 6
    assert after.facts["weighted_jsd"] < after.facts["weighted_jsd before exchanges"] / 10


@pytest.mark.parametrize("start", ["mdav", "mondrian"])
@pytest.mark.parametrize("weight", [0.3, 0.95])
def test_no_exchange_that_is_left_would_help(start: str, weight: float) -> None:
    table = people(32)
    search = sf.method("class-restricted", k=4, start=start, exchange=weight)
    labels = sf.partition(table, search, seed=0).labels.tolist()
    plain = sf.partition(table, sf.method(start, k=4), seed=0).labels.tolist()
    points = space_of(Matrix(table, ["age", "weight", "sex"])).points
    classes = (table["result"] == "ill").cast(int).to_list()
    reached = oracle.objective(points, labels, classes, weight)
    assert reached < oracle.objective(points, plain, classes, weight)
    others = oracle.exchanges(labels, 4)
    assert reached <= min(oracle.objective(points, o, classes, weight) for o in others) + 1e-9


def test_the_weight_chooses_between_classes_and_distances() -> None:
    table = people()
    mst = sf.method("class-restricted", k=5, start="mst", exchange=0.9)
    found, again = (sf.partition(table, mst, seed=seed) for seed in (1, 2))
    assert found.labels.tolist() == again.labels.tolist()
    little = sf.method("class-restricted", k=5, start="mst", exchange=0.01)
    spread = [sf.partition(table, s).facts["weighted_jsd"] for s in (mst, little)]
    assert spread[0] < spread[1]


def test_groups_that_mix_missing_values_stay_as_they_are() -> None:
    table = people(missing=0.02)
    search = sf.method("class-restricted", k=5, start="mondrian")
    before = sf.partition(table, sf.method("mondrian", k=5), seed=0)
    after = sf.partition(table, search, seed=0)
    gone = table["age"].is_null().to_numpy()
    mixed = np.isin(before.labels, np.unique(before.labels[gone]))
    assert 0 < mixed.sum() < len(mixed)
    assert any("were left as they are" in one for one in after.warnings)
    held = [frozenset(rows.tolist()) for rows in after]
    for group in np.unique(before.labels[mixed]):
        assert frozenset(np.flatnonzero(before.labels == group).tolist()) in held


def test_a_release_of_ranges_with_both_classes() -> None:
    table = people()
    step = sf.step(sf.method("class-restricted", k=6, start={"use": "ward"}), then="generalize")
    release = sf.protect(table, step, require={"k-anonymity": 6, "l-diversity": 2}, seed=1)
    assert all(finding.met for finding in release.evidence.findings)
    with pytest.raises(sf.ReleaseRefused):
        sf.protect(
            table,
            sf.step(sf.method("ward", k=6), then="generalize"),
            require={"k-anonymity": 6, "l-diversity": 2},
            seed=1,
        )


def test_what_is_refused() -> None:
    table = people(40)
    with pytest.raises(ParameterError, match="looks at classes itself"):
        sf.method("class-restricted", start="crest")
    with pytest.raises(ParameterError, match="holds for its start"):
        sf.method("class-restricted", start={"use": "mdav", "k": 3})
    with pytest.raises(MethodError, match="overlap"):
        sf.partition(table, sf.method("class-restricted", k=3, start="greedy"))
    bare = table.without(["result"])
    with pytest.raises(MethodError, match="no confidential column"):
        sf.partition(bare, sf.method("class-restricted", k=3))
