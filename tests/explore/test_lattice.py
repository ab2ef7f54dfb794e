"""The solution space against judging every node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import OutputError, ParameterError
from sfumato.explore import lattice as module
from tests.anonymity.lattice.test_full_domain import skewed, smallest_class
from tests.anonymity.lattice.test_objectives import CELLS, CLASSES, OTHERS


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([*CELLS, *OTHERS, *CLASSES]),
    st.integers(1, 6),
)
def test_what_is_said_of_every_node_is_true(
    seed: int, k: int, share: float, measure: str, best: int
) -> None:
    table = skewed(seed)
    words: dict[str, Any] = {"k": k, "suppress": share, "measure": measure}
    found = sf.lattice(table, best=best, **words)
    every = sf.lattice(table, best=best, exhaustive=True, **words)
    assert found.best == every.best
    assert every.looked_at == every.size == len(every.nodes) == len(found.nodes)
    assert {node.verdict for node in every.nodes} <= {"optimal", "allowed", "refused"}
    last = found.best[-1].value if len(found.best) == best else None
    sign = -1.0 if measure == "payout" else 1.0
    for node, truth in zip(found.nodes, every.nodes, strict=True):
        assert node.levels == truth.levels
        assert node.height == sum(node.levels.values())
        if node.verdict != "ruled out":
            assert node == truth
            continue
        assert node.value is None
        if truth.value is not None:
            assert sign * node.bound <= sign * truth.value + 1e-6
            assert last is not None
            assert sign * truth.value >= sign * last - 1e-9
    allowed = sorted(sign * node.value for node in every.nodes if node.value is not None)
    assert [sign * node.value for node in found.best] == allowed[:best]


def test_a_node_that_is_shown_can_be_published() -> None:
    table = skewed(7)
    found = sf.lattice(table, k=4, suppress=0.1, best=3)
    for node in found.best:
        method = sf.method("full-domain", k=4, suppress=0.1, levels=dict(node.levels))
        outcome = method.mask(table, np.random.default_rng(0))
        assert outcome.facts["loss"] == pytest.approx(node.value, abs=6e-5)
        assert (outcome.partition.labels < 0).mean() == pytest.approx(node.suppressed)
        assert smallest_class(outcome.table) >= 4


def test_the_space_as_data(tmp_path: Path) -> None:
    people = sf.table({"age": [30, 31, 31, 38], "a b": ["f", "f", "m", "m"]}, quasi=["age", "a b"])
    found = sf.lattice(people, k=2, exhaustive=True)
    assert found.frame.columns[:3] == ["level of age", "level of a b", "height"]
    assert found.frame["verdict"].to_list() == ["refused", "refused", "optimal", "allowed"]
    assert found.frame["suppressed"].to_list() == [1.0, 0.5, 0.0, 0.0]
    assert found.edges == [(0, 2), (0, 1), (1, 3), (2, 3)]
    assert found.best[0].words == 'levels = { age = 1, "a b" = 0 }'
    for ending in ("csv", "parquet", "json"):
        found.save(tmp_path / f"nodes.{ending}")
    assert pl.read_csv(tmp_path / "nodes.csv", schema=found.frame.schema).equals(found.frame)
    assert pl.read_parquet(tmp_path / "nodes.parquet").equals(found.frame)
    assert json.loads((tmp_path / "nodes.json").read_text())["size"] == 4
    with pytest.raises(OutputError, match="a lattice cannot be written as"):
        found.save(tmp_path / "nodes.txt")


def test_plans_and_earlier_steps() -> None:
    people = sf.table(
        {"age": [30, 31, 31, 38] * 3, "sex": ["f", "f", "m", "m"] * 3}, quasi=["age", "sex"]
    )
    plan = [
        sf.method("global-recoding", breaks={"age": [31, 35]}),
        sf.method("full-domain", k=3),
    ]
    found = sf.lattice(people, plan)
    release = sf.protect(people, plan, seed=0)
    did = release.evidence.steps[1]["did"]
    assert found.best[0].levels == did["levels"]
    assert found.best[0].value == pytest.approx(did["loss"], abs=6e-5)


def test_budgets_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    table = skewed(3)
    found = sf.lattice(table, k=4, suppress=0.1, steps=4)
    assert found.ended
    assert "open" in set(found.frame["verdict"])
    assert "optimal" not in set(found.frame["verdict"])
    monkeypatch.setattr(module, "MOST_LISTED", 10)
    few = sf.lattice(table, k=4, suppress=0.1)
    assert len(few.nodes) == few.looked_at < few.size
    assert few.best == sf.lattice(table, sf.method("full-domain", k=4, suppress=0.1)).best
    with pytest.raises(ParameterError, match="too many to judge each"):
        sf.lattice(table, k=4, exhaustive=True)
    with pytest.raises(ParameterError, match="the 0 best nodes are none"):
        sf.lattice(table, k=4, best=0)
    with pytest.raises(ParameterError, match="the plan has no lattice"):
        sf.lattice(table, sf.method("mdav", k=4))
    with pytest.raises(ParameterError, match="k is given as well"):
        sf.lattice(table, sf.method("full-domain"), k=4)


def test_nothing_that_is_allowed_is_an_empty_answer() -> None:
    table = sf.table({"q": ["a", "b", "c"], "ill": ["x"] * 3}, quasi="q", confidential="ill")
    found = sf.lattice(table, k=2, criteria=[{"use": "l-diversity", "l": 2}])
    assert found.best == ()
    assert set(found.frame["verdict"]) <= {"refused", "ruled out"}
