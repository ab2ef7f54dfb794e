"""What every step made of the records, and what undoing one of them changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from tests.contract.tables import ordinary
from tests.engines.people import in_pieces, people

SEED = 2**90
PLAN = sf.Plan.parse("""
[[steps]]
use = "hash"
[[steps]]
use = "sampling"
share = 0.8
[[steps]]
use = "mondrian"
k = 4
[[steps]]
use = "uncorrelated-noise"
columns = ["pay"]
[require]
exposure = false
""")


def test_every_step_has_its_records_its_facts_and_its_rows() -> None:
    table = ordinary(missing=True)
    release = sf.protect(table, PLAN, seed=SEED)
    steps = release.steps
    assert [(s.number, s.name) for s in steps] == [
        (1, "hash"),
        (2, "sampling"),
        (3, "mondrian"),
        (4, "uncorrelated-noise"),
    ]
    assert [s.step for s in steps] == list(release.plan.steps)
    assert steps["mondrian"].parameters == {"k": 4}
    assert steps[-1].name == "uncorrelated-noise"
    assert len(steps[1:3]) == 2
    hashed, sampled, grouped, noisy = steps
    assert "key" in json.dumps(hashed.secrets, default=str)
    assert hashed.table["age"].equals(table["age"])
    assert np.array_equal(hashed.rows, np.arange(table.height))  # type: ignore[arg-type]
    assert not hashed.table["who"].equals(table["who"])
    for stage in (sampled, grouped, noisy):
        assert stage.rows is not None
        assert stage.table.height == stage.rows.size == 48
    assert sampled.table["pay"].equals(table["pay"].gather(sampled.rows))  # type: ignore[arg-type]
    assert grouped.table.schema["age"].generalized
    assert not sampled.table.schema["age"].generalized
    assert grouped.facts["columns"] == sf.things.Mondrian(k=4).targets(sampled.table)[0]
    assert noisy.table["age"].equals(grouped.table["age"])
    assert not noisy.table["pay"].equals(grouped.table["pay"])


def test_the_last_step_is_the_release_before_its_records_are_shuffled() -> None:
    release = sf.protect(ordinary(), PLAN, seed=SEED)
    last = release.steps[-1]
    assert last.rows is not None
    assert release.pair.rows is not None
    place = {int(row): at for at, row in enumerate(last.rows)}
    order = np.array([place[int(row)] for row in release.pair.rows])
    shuffled = last.table.take(order).frame.select(release.table.names)
    assert shuffled.equals(release.table.frame)


@pytest.mark.parametrize("measure", ["record-linkage", "marginals", "class-sizes", "exposure"])
def test_a_stage_is_measured_as_a_release_of_its_steps_is(measure: str) -> None:
    """So many steps released alone, by the same seed, have the same figure."""
    table = ordinary()
    release = sf.protect(table, PLAN, seed=SEED)
    for stage in release.steps:
        plan = PLAN.with_(steps=PLAN.steps[: stage.number])
        alone = sf.protect(table, plan, seed=SEED)
        found = stage.measure(measure)
        assert float(found) == pytest.approx(float(alone.measure(measure)), nan_ok=True)
        assert found.depends == alone.measure(measure).depends


def test_columns_that_name_people_do_not_count_unless_they_are_masked() -> None:
    table = ordinary()
    release = sf.protect(table, PLAN.without("hash"), seed=SEED)
    assert "who" in release.steps[0].table.names
    told = release.steps[0].measure("exposure").detail["names people"]
    assert [one["column"] for one in told] == ["born"]


def test_what_is_shown_of_a_stage_holds_no_value() -> None:
    table = sf.table(
        {"name": ["Xanthippe"] * 4, "age": [98765] * 4}, quasi="age", identifier="name"
    )
    release = sf.protect(table, sf.method("mondrian", k=2), seed=SEED)
    assert repr(release.steps) == "[Stage(1 mondrian: 4 records x 2 columns)]"
    for shown in (repr(release), repr(release.steps[0]), str(release.steps)):
        assert "Xanthippe" not in shown
        assert "98765" not in shown


def test_nothing_of_it_is_written(tmp_path: Path) -> None:
    table = ordinary()
    for name, plan in (("a", PLAN), ("b", PLAN)):
        (tmp_path / name).mkdir()
        release = sf.protect(table, plan, seed=SEED)
        if name == "b":
            assert len(release.steps) == 4
        release.save(tmp_path / name / "out")
    a, b = (
        {p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("out*/*")}
        for n in "ab"
    )
    assert a
    assert a == b


def test_the_kind_of_frame_is_the_one_that_came() -> None:
    frame = pd.DataFrame({"age": [30, 31, 50, 51], "pay": [1.0, 2.0, 3.0, 4.0]})
    table = sf.table(frame, quasi=["age"], confidential=["pay"])
    release = sf.protect(table, sf.method("mdav", k=2), seed=SEED)
    assert isinstance(release.steps[0].data, pd.DataFrame)
    assert isinstance(sf.protect(ordinary(), PLAN, seed=SEED).steps[0].data, pl.DataFrame)


def test_several_releases_of_the_same_records_are_several_tables() -> None:
    table = sf.table({"x": np.arange(30.0), "y": np.arange(30.0) % 7}, quasi="x", confidential="y")
    method = sf.method("multiple-imputation", m=3)
    release = sf.protect(table, method, seed=SEED, require={"exposure": False})
    assert len(release.steps[0].tables) == len(release.steps[0].data) == 3


def test_records_that_stem_from_nobody_have_no_rows() -> None:
    table = sf.table({"x": np.arange(30.0), "y": np.arange(30.0) % 7}, quasi="x", confidential="y")
    plan = [sf.method("gaussian-copula"), sf.method("uncorrelated-noise", columns=["y"])]
    release = sf.protect(table, plan, seed=SEED, require={"exposure": False})
    assert [stage.rows for stage in release.steps] == [None, None]


def test_names_that_are_no_step_or_several_are_refused() -> None:
    release = sf.protect(ordinary(), PLAN, seed=SEED)
    with pytest.raises(ParameterError, match=r"3 \(mondrian\)"):
        release.steps["mdav"]
    with pytest.raises(IndexError):
        release.steps[4]
    noise = sf.method("uncorrelated-noise", columns=["pay"])
    twice = sf.protect(ordinary(), [noise, noise], seed=SEED, require={"exposure": False})
    with pytest.raises(ParameterError, match="steps 1 and 2"):
        twice.steps["uncorrelated-noise"]


def test_the_public_face_and_other_engines_have_none(tmp_path: Path) -> None:
    release = sf.protect(ordinary(), PLAN, seed=SEED)
    with pytest.raises(ParameterError, match="public face"):
        release.public().steps  # noqa: B018
    in_pieces(people(), tmp_path / "in", 2)
    plan = sf.Plan.parse(
        '[engine]\nuse = "duckdb"\n[input]\nothers = "insensitive"\n[columns]\nage = "quasi"\n'
        '[[steps]]\nuse = "global-recoding"\nbins = { age = 20 }\n'
        "[require]\nexposure = false\n[measures]\n"
    )
    large = sf.protect(tmp_path / "in", plan, SEED, output=tmp_path / "out")
    with pytest.raises(ParameterError, match='engine="local"'):
        large.steps  # noqa: B018


@pytest.mark.parametrize("seed", range(5))
def test_undo_leaves_what_came_before_as_it_was(seed: int) -> None:
    """What comes after draws the same if its random numbers belong to records, else anew."""
    table = ordinary()
    plan = sf.Plan.parse("""
    [[steps]]
    use = "uncorrelated-noise"
    columns = ["pay"]
    [[steps]]
    use = "mondrian"
    k = 4
    [[steps]]
    use = "pram"
    columns = ["illness"]
    [[steps]]
    use = "rank-swap"
    columns = ["pay"]
    [require]
    exposure = false
    """)
    release = sf.protect(table, plan, seed=2**90 + seed)
    undone = sf.protect(table, release.plan.without("mondrian"), seed=release.private.seed)
    assert undone.steps[0].table.frame.equals(release.steps[0].table.frame)
    assert undone.steps[1].table["age"].equals(table["age"])
    pram, swap = ((undone.steps[n].table, release.steps[n].table) for n in ("pram", "rank-swap"))
    assert pram[0]["illness"].equals(pram[1]["illness"])
    assert swap[0]["pay"].sort().equals(swap[1]["pay"].sort())
    assert not swap[0]["pay"].equals(swap[1]["pay"])
