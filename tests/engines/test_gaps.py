"""Engines name what they do not run, all of it, before the first step."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.schema import Schema
from sfumato.errors import ParameterError, PlanError
from sfumato.protocols import Engine
from sfumato.registry import entries, find
from sfumato.release.large.gaps import gaps, requirement_gap
from sfumato.release.plan.requirement import Requirement
from tests.engines.gaps import FILE, found


def test_every_gap_is_listed_and_none_that_is_closed() -> None:
    listed = FILE.read_text(encoding="utf-8").splitlines()
    assert found() == listed, "python -m tests.engines.gaps lists them anew"


def test_all_gaps_of_a_plan_are_named_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    people = pl.DataFrame({"age": [30, 31, 40, 41], "pay": [1, 2, 3, 4]})
    people.write_parquet(tmp_path / "in" / "a.parquet")
    plan = sf.Plan.parse(
        """
        [input]
        reference = 0.5
        [engine]
        use = "duckdb"
        [columns]
        age = "quasi"
        pay = "confidential"
        [[steps]]
        use = "ipso"
        [[steps]]
        use = "latin-hypercube"
        [require]
        k-map = { k = 2, population = "all.csv" }
        [measures]
        homogeneous-groups = true
        [output]
        format = "xlsx"
        """.replace("        ", "")
    )
    with pytest.raises(PlanError, match="on the engine duckdb") as caught:
        sf.protect(tmp_path / "in", plan, engine=plan.engine, output=tmp_path / "out")
    told = [complaint.where for complaint in caught.value.complaints]
    assert told == [
        "[input] reference",
        "step 1 (ipso)",
        "step 2 (latin-hypercube)",
        "[require] k-map",
        "[measures] homogeneous-groups",
        "[output] format",
    ]
    assert all(complaint.remedy for complaint in caught.value.complaints)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("kind", ["measure", "attack"])
def test_no_limit_is_taken_on_a_figure_of_a_sample(kind: str) -> None:
    engine: Engine = find("duckdb", "engine").load()()
    taken = set()
    for entry in entries(kind):
        cls = entry.load()
        try:
            thing = cls.build(cls.example)
        except ParameterError:  # it has parameters that must be given
            thing = cls.model_construct()
        if not requirement_gap(Requirement(thing, at_most=0.5), engine, Schema([])):
            taken.add(entry.name)
            assert thing.by_counts or entry.name == "exposure"
    assert ("exposure" in taken) == (kind == "measure")
    sampled = {"record-linkage", "prediction-distance", "interval-disclosure", "bayes-inference"}
    assert not taken & sampled


def test_attacks_are_for_memory_and_the_message_names_them() -> None:
    plan = sf.Plan.parse('[engine]\nuse = "duckdb"\n[require]\nwithstand = true\n')
    (told,) = gaps(plan, Schema([]))
    assert told.where == "[require] withstand"
    assert "attacks the whole release, in memory" in told.what
    assert "sfumato attack" in told.remedy
    assert 'use = "local"' in told.remedy


def test_a_limit_on_a_sampled_risk_is_named_before_the_first_step(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    people = pl.DataFrame({"age": [30, 31, 40, 41], "pay": [1, 2, 3, 4]})
    people.write_parquet(tmp_path / "in" / "a.parquet")
    text = """
        [engine]
        use = "duckdb"
        [columns]
        age = "quasi"
        pay = "confidential"
        [[steps]]
        use = "global-recoding"
        bins = { age = 20 }
        [require]
        prediction-distance = { at-least = 0.01 }
        record-linkage = { at-most = 0.9 }
        [measures]
        """.replace("        ", "")
    with pytest.raises(PlanError, match="no promise of all records") as caught:
        sf.protect(tmp_path / "in", sf.Plan.parse(text), output=tmp_path / "out")
    told = [complaint.where for complaint in caught.value.complaints]
    assert told == ["[require] prediction-distance", "[require] record-linkage"]
    assert all("local" in complaint.remedy for complaint in caught.value.complaints)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
