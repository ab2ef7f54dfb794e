"""Raising a parameter until a risk is low enough."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import MethodError, ParameterError
from sfumato.release.plan.plan import Plan


def people(n: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(1)
    return pl.DataFrame({"age": draw.normal(40, 9, n), "pay": draw.normal(9, 2, n)})


def linkage(k: int) -> float:
    """Record linkage after mdav, through the public interface."""
    table = sf.table(people(), quasi=["age", "pay"])
    release = sf.protect(table, sf.method("mdav", k=k), seed=1)
    return float(release.evidence["record-linkage"])


def test_it_finds_the_smallest_size_that_keeps_the_limit() -> None:
    table = sf.table(people(), quasi=["age", "pay"])
    by_size = {k: linkage(k) for k in range(2, 16)}
    limit = 0.12
    found = sf.tune(table, sf.method("mdav", k=2), measure="record-linkage", at_most=limit, stop=15)
    # One pass through all sizes is the oracle; here the measure falls steadily enough.
    assert found.value == min(k for k, value in by_size.items() if value <= limit)
    assert found.met
    for trial in found.trials:
        assert trial.mean == pytest.approx(by_size[trial.value])
    assert found.plan.steps[0].use.k == found.value  # type: ignore[union-attr]
    assert found.plan.tune is None
    # What was tuned is promised, and so counted on the release that is made of it.
    assert found.plan.requirements[0].at_most == limit
    assert sf.protect(table, found.plan, seed=1).evidence.findings[0].met


def test_a_limit_out_of_reach_is_an_error_with_what_was_reached() -> None:
    table = sf.table(people(), quasi=["age", "pay"])
    found = sf.tune(table, sf.method("mdav", k=2), measure="record-linkage", at_most=0.0, stop=5)
    assert not found.met
    with pytest.raises(MethodError, match="no k up to 5 brings record-linkage to 0"):
        _ = found.plan


def test_random_steps_are_averaged_over_draws() -> None:
    table = sf.table(people(), quasi=["age", "pay"])
    steps = [sf.method("rank-swap", p=20), sf.method("mdav", k=2)]
    found = sf.tune(
        table, steps, measure="record-linkage", at_most=1.0, draws=3, seed=5, also=["sse"]
    )
    (trial,) = found.trials
    assert len(trial.measured) == 3
    assert len(set(trial.measured)) > 1
    assert trial.also["sse"] > 0
    assert trial.judged == max(trial.measured)
    mean = sf.tune(
        table, steps, measure="record-linkage", at_most=1.0, draws=3, seed=5, judge_by="mean"
    )
    assert mean.trials[0].judged == pytest.approx(np.mean(trial.measured))
    again = sf.tune(
        table, steps, measure="record-linkage", at_most=1.0, draws=3, seed=5, also=["sse"]
    )
    assert again.trials == found.trials


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs a limit"),
        ({"at_most": 0.1, "parameter": "q"}, "no step has a whole number 'q'"),
        ({"at_most": 0.1, "step": 2}, "there is no step 2"),
        ({"at_most": 0.1, "start": 9, "stop": 3}, "start at 9 and stop at 3"),
        ({"at_most": 0.1, "measure": "class-sizes"}, "better the higher"),
    ],
)
def test_what_cannot_be_tuned_is_said(options: dict[str, object], said: str) -> None:
    table = sf.table(people(), quasi=["age", "pay"])
    wanted = {"measure": "record-linkage", **options}
    with pytest.raises(ParameterError, match=said):
        sf.tune(table, sf.method("mdav"), **wanted)  # type: ignore[arg-type]


PLAN = """
[input]
path = "people.csv"

[columns]
age = "quasi"
pay = "quasi"

[[steps]]
use = "mdav"
k = 2

[tune]
measure = "record-linkage"
at-most = 0.12
stop = 15

[output]
path = "release"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    people().write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


def test_a_plan_can_ask_for_it(plan: Path) -> None:
    read = Plan.read(plan)
    assert Plan.parse(read.to_toml()) == read
    table = sf.table(people(), quasi=["age", "pay"])
    with pytest.raises(ParameterError, match="leaves k to be tuned"):
        sf.protect(table, read)
    assert (
        sf.tune(table, read).value
        == sf.tune(
            table, sf.method("mdav", k=2), measure="record-linkage", at_most=0.12, stop=15
        ).value
    )


def test_the_command_writes_the_tuned_plan(plan: Path) -> None:
    run = CliRunner()
    made = plan.with_name("tuned.toml")
    result = run.invoke(app, ["tune", str(plan), "-o", str(made), "--json"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    tuned = Plan.read(made)
    assert tuned.steps[0].use.k == said["value"]  # type: ignore[union-attr]
    assert tuned.tune is None
    shown = run.invoke(app, ["tune", str(plan), "--also", "sse"])
    assert f"k = {said['value']}" in shown.stdout
    assert "sse" in shown.stdout


def test_protect_tunes_first(plan: Path) -> None:
    result = CliRunner().invoke(app, ["protect", str(plan), "--json"])
    assert result.exit_code == 0, result.output
    evidence = json.loads(result.stdout)
    assert evidence["measures"]["record-linkage"]["value"] <= 0.12
    assert any(note.startswith("tuned: k = ") for note in evidence["notes"])


def test_random_searches_are_drawn_several_times() -> None:
    table = sf.table(people(), quasi=["age", "pay"])
    found = sf.tune(table, sf.method("fuzzy", k=3), measure="record-linkage", at_most=1.0, seed=0)
    assert len(found.trials[0].measured) == 5
    once = sf.tune(table, sf.method("mdav", k=3), measure="record-linkage", at_most=1.0, seed=0)
    assert len(once.trials[0].measured) == 1


def test_records_that_a_release_holds_out_are_held_out_here() -> None:
    plan = Plan.parse('[input]\nreference = 0.5\n[columns]\nage = "quasi"\npay = "quasi"\n'
                      '[[steps]]\nuse = "mdav"\nk = 2\n')  # fmt: skip
    half = sf.tune(people(), plan, measure="record-linkage", at_most=1.0, seed=3)
    release = sf.protect(people(), plan, seed=3)
    assert half.trials[0].mean == pytest.approx(float(release.evidence["record-linkage"]))


def test_measures_that_differ_in_a_parameter_are_both_shown() -> None:
    table = sf.table(people(), quasi=["age", "pay"])
    also = [{"use": "second-closest-linkage", "scale": scale} for scale in ("range", "none")]
    found = sf.tune(table, sf.method("mdav", k=3), measure="record-linkage", at_most=1.0, also=also)
    assert len(found.trials[0].also) == 2


def test_one_document_even_where_the_limit_is_out_of_reach(plan: Path) -> None:
    result = CliRunner().invoke(
        app, ["tune", str(plan), "--at-most", "0.0", "--stop", "4", "--json"]
    )
    assert result.exit_code == 2
    assert json.loads(result.stdout)["met"] is False


def test_the_same_seed_tunes_and_releases_the_same(plan: Path, tmp_path: Path) -> None:
    random = PLAN.replace('use = "mdav"', 'use = "fuzzy"').replace("stop = 15", "draws = 2")
    plan.write_text(random)
    written = []
    for name in ("a", "b"):
        result = CliRunner().invoke(
            app, ["protect", str(plan), "--seed", str(2**70), "-o", str(tmp_path / name)]
        )
        assert result.exit_code == 0, result.output
        written.append((tmp_path / name / "data.csv").read_bytes())
    assert written[0] == written[1]
    evidence = json.loads((tmp_path / "a" / "evidence.json").read_text("utf-8"))
    assert any(note.startswith("tuned: k = ") for note in evidence["notes"])


def test_a_size_beyond_the_table_ends_the_search_with_what_was_tried() -> None:
    table = sf.table(people(), quasi=["age", "pay"])
    found = sf.tune(table, sf.method("mdav", k=40), measure="record-linkage", at_most=0.0, stop=500)
    assert not found.met
    assert max(trial.value for trial in found.trials) <= 60


@pytest.mark.parametrize("wrong", [{"at_most": float("nan")}, {"parameter": "whole", "at_most": 1}])
def test_no_search_is_begun_in_vain(wrong: dict[str, object]) -> None:
    step = sf.method("individual-ranking")
    with pytest.raises(ParameterError):
        sf.tune(sf.table(people(), quasi=["age", "pay"]), step, **wrong)  # type: ignore[arg-type]
