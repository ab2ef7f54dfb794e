"""Plans for sets: what `init` drafts can be run at once, and what a refused plan is offered."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.errors import ReleaseRefused
from sfumato.release.plan.guess import guess, long_form

N = 120


def _sets(n: int = N) -> list[list[int]]:
    found: list[list[int]] = sf.generators.targeting(n, d=25, mean=5, seed=2)["items"].to_list()
    return found


def _drafted(folder: Path, name: str) -> tuple[sf.Plan, str]:
    """The plan that `init` writes, once `protect` has run it."""
    for words in (["init", str(folder / name)], ["protect", str(folder / "data.toml")]):
        if words[0] == "init":
            words += ["-o", str(folder / "data.toml")]
        with pytest.raises(SystemExit) as ended:
            run(words)
        assert not ended.value.code
    text = (folder / "data.toml").read_text()
    return sf.Plan.read(folder / "data.toml"), text


def _counted(plan: sf.Plan) -> dict[str, int]:
    return {one.name: getattr(one.thing, "k", 0) for one in plan.requirements}


@pytest.mark.parametrize("name", ["data.dat", "data.parquet"])
def test_nothing_but_sets(tmp_path: Path, name: str) -> None:
    if name.endswith("dat"):
        lines = "\n".join(" ".join(map(str, one)) for one in _sets())
        (tmp_path / name).write_text(lines + "\n")
    else:
        pl.DataFrame({"items": _sets()}).write_parquet(tmp_path / name)
    plan, text = _drafted(tmp_path, name)
    assert str(plan.columns["items"].role) == "quasi"
    assert "a handful of items finds a person" in text
    assert [step.use.name for step in plan.steps] == ["set-mondrian"]
    assert _counted(plan)["k-anonymity"] == plan.steps[0].use.k == 5
    published = pl.read_csv(tmp_path / "data-release" / "data.csv", infer_schema=False)
    assert published.group_by("items").len()["len"].min() >= 5  # type: ignore[operator]


def test_sets_beside_other_quasi_identifiers(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    day = dt.date(1950, 1, 1)
    pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N),
            "age": rng.integers(0, 99, N),
            "height": rng.normal(170, 10, N),
            "birth_date": [day + dt.timedelta(int(x)) for x in rng.integers(0, 20_000, N)],
            "zip": [f"{x:05d}" for x in rng.integers(2000, 2009, N)],
            "attributes": _sets(),
            "pay": rng.normal(size=N),
        }
    ).write_parquet(tmp_path / "data.parquet")
    plan, text = _drafted(tmp_path, "data.parquet")
    listed = ["sex", "age", "height", "birth_date", "zip"]
    assert plan.input.sets == {"columns": listed, "into": "attributes_2"}
    assert "k-anonymity holds for all quasi-identifiers together" in text
    assert [step.use.name for step in plan.steps] == ["set-mondrian"]
    published = pl.read_csv(tmp_path / "data-release" / "data.csv", infer_schema=False)
    assert published.columns == ["attributes_2", "attributes", "pay"]
    sizes = published.group_by("attributes", "attributes_2").len()["len"]
    assert sizes.min() >= 5  # type: ignore[operator]
    shown = " ".join(published["attributes_2"].to_list())
    assert not any(f"age=[{year}," in shown for year in (90, 95))  # in one bin, HIPAA 3


def test_a_table_in_memory_is_told_how() -> None:
    text = sf.draft_plan(sf.table({"sex": ["f", "m"] * 10, "buys": [["a"], ["b"]] * 10}))
    assert "call enumerate_sets" in text
    assert sf.Plan.parse(text).input.sets == {"columns": ["sex"], "into": "attributes"}


@pytest.mark.parametrize("text_cells", [False, True])
def test_sets_of_diagnoses_are_said_to_be_whole(text_cells: bool) -> None:
    cells = [["E11.9", "I10"], ["I10"], ["J18.9", "I10", "N18.3"]] * 20
    column = [" ".join(cell) for cell in cells] if text_cells else cells
    text = sf.draft_plan(sf.table({"dx": column, "sex": ["f", "m"] * 30}))
    plan = sf.Plan.parse(text)
    assert str(plan.columns["dx"].role) == "confidential"
    assert "published whole" in next(line for line in text.splitlines() if line.startswith("dx"))
    assert "# No step guards dx: published whole" in text
    assert [step.use.name for step in plan.steps] == ["mondrian"]


@pytest.mark.parametrize("name", ["drugs", "income_sources", "label", "visits", "x"])
def test_other_sets_are_quasi_whatever_their_name(name: str) -> None:
    assert str(guess(sf.table({name: _sets()}))[0].role) == "quasi"


def test_sets_that_name_people_are_dropped() -> None:
    assert str(guess(sf.table({"phones": _sets()}))[0].role) == "identifier"


def test_a_long_table_is_told_how_to_be_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"person": range(N), "code": _sets(), "sex": ["f", "m"] * (N // 2)})
    long = frame.explode("code").drop_nulls()
    assert long_form(sf.table(long)) == ("person", "code")
    long.drop("sex").write_csv(tmp_path / "data.csv")
    text = sf.draft_plan(str(tmp_path / "data.csv"))
    assert 'sets = { id = "person", item = "code" }' in text
    assert sf.Plan.parse(text).input.sets == {}
    # What it suggests can be run.
    columns = 'code = { role = "quasi", kind = "set" }\nperson = { role = "identifier" }\n'
    suggested = (
        '[input]\npath = "data.csv"\nsets = { id = "person", item = "code" }\n'
        f"[columns]\n{columns}"
        '[[steps]]\nuse = "set-mondrian"\nk = 5\n[require]\nk-anonymity = 5\n'
    )
    assert all(line in text for line in columns.splitlines())
    (tmp_path / "plan.toml").write_text(suggested)
    plan = sf.Plan.read(tmp_path / "plan.toml")
    options = {"sets": plan.input.sets, "quasi": ["code"], "identifier": ["person"]}
    release = sf.protect(sf.read(str(tmp_path / "data.csv"), **options), plan, seed=1)
    assert release.table.names == ["code"]


@pytest.mark.parametrize(
    "columns",
    [
        {"sex": ["f", "f", "m", "m"] * 9, "zip": ["1", "2", "3", "4"] * 9},
        {"person": list(range(36)), "code": ["a", "b"] * 18},
        {
            "person": [1, 2] * 18,
            "code": ["a", "b", "c"] * 12,
            "cost": [float(i) for i in range(36)],
        },
    ],
)
def test_other_tables_are_not_long(columns: dict[str, list[object]]) -> None:
    assert long_form(sf.table(columns)) is None


def _changes(steps: list[object], **require: object) -> list[str]:
    table = sf.table({"buys": _sets()}, quasi=["buys"])
    asked = {name.replace("_", "-"): words for name, words in require.items()}
    with pytest.raises(ReleaseRefused) as caught:
        sf.protect(table, steps, seed=1, require=asked)
    for remedy in caught.value.remedies:
        sf.protect(table, remedy.plan, seed=1)
    return [remedy.change for remedy in caught.value.remedies]


@pytest.mark.parametrize(
    ("require", "change"),
    [
        ({"k_anonymity": 4}, 'use = "set-mondrian", k = 4'),
        ({"kk_anonymity": 4}, 'use = "kk-cluster", k = 4'),
        ({"k1_anonymity": 4}, 'use = "k1-top-down", k = 4'),
        ({"km_anonymity": {"k": 4, "m": 3}}, 'use = "km-suppression", k = 4, m = 3'),
    ],
)
def test_refused_sets_are_offered_searches_for_sets(
    require: dict[str, object], change: str
) -> None:
    assert _changes([], **require) == [change]  # nor a limit of 1


def test_steps_for_sets_are_strengthened_or_replaced() -> None:
    found = _changes([sf.method("km-suppression", k=2, m=1)], km_anonymity={"k": 4, "m": 2})
    assert 'use = "km-suppression", k = 4, m = 2 instead of km-suppression' in found
    found = _changes([sf.method("set-mondrian", k=2)], k_anonymity=4)
    assert found[0] == "steps.1: k = 4"
    assert not any("local-suppression" in one or '"mondrian"' in one for one in found)


def test_no_limit_of_1_is_offered() -> None:
    table = sf.table({"a": list(range(12)), "b": list(range(12))}, quasi=["a", "b"])
    with pytest.raises(ReleaseRefused) as caught:
        sf.protect(
            table, [], seed=1, require={"k-anonymity": 3, "record-linkage": {"at-most": 0.2}}
        )
    assert not any("= 1" in one.change.split(";")[-1] for one in caught.value.remedies)
    assert all("k-anonymity = 1" not in one.change for one in caught.value.remedies)
