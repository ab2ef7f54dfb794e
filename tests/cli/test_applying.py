"""`sfumato protect PLAN --apply N`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run

PLAN = """\
# Ours.
[input]
path = "people.csv"

[columns]
age = "quasi"
town = "quasi"
illness = "confidential"   # never told

[[steps]]
use = "mondrian"  # groups
k = 2             # too few

[require]
k-anonymity = 6
l-diversity = 2

[output]
path = "release"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    (tmp_path / "sub").mkdir()
    pl.DataFrame(
        {
            "age": rng.integers(20, 80, 200),
            "town": rng.choice(["Ems", "Ulm", "Bonn"], 200),
            "illness": rng.choice(["flu", "cold", "gout"], 200),
        }
    ).write_csv(tmp_path / "sub" / "people.csv")
    (tmp_path / "sub" / "plan.toml").write_text(PLAN)
    return tmp_path / "sub"


def call(*words: str, plan: str = "sub/plan.toml") -> int:
    with pytest.raises(SystemExit) as ended:
        run(["protect", plan, *words])
    return int(ended.value.code or 0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_remedy_releases_and_is_written_as_a_plan(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--apply", "1") == 0
    shown = capsys.readouterr().out
    assert names(folder) == [
        ".sfumato.ledger.lock",
        "people.csv",
        "plan.new.toml",
        "plan.toml",
        "release",
        "release.private",
        "sfumato.ledger",
    ]
    assert (folder / "plan.toml").read_text() == PLAN
    new = (folder / "plan.new.toml").read_text()
    kept = (
        "# Ours.",
        'illness = "confidential"   # never told',
        "k-anonymity = 6",
        "l-diversity = 2",
    )
    assert all(line in new.splitlines() for line in kept)
    came = [line for line in new.splitlines() if line not in PLAN.splitlines()]
    assert came
    assert all(f"+{line}" in shown.splitlines() for line in came if line)
    assert "wrote sub/plan.new.toml" in shown
    with pytest.raises(SystemExit) as ended:
        run(["protect", "sub/plan.new.toml", "--replace"])
    assert not ended.value.code
    assert call("--apply", "1") == 4
    assert "--replace" in capsys.readouterr().err
    assert call("--apply", "2", "--replace", "--json") == 0
    applied = json.loads(capsys.readouterr().out)["applied"]
    assert applied["plan"] == str(Path("sub") / "plan.new.toml")
    assert applied["lines"][:2] == ["--- plan.toml", "+++ plan.new.toml"]


def test_the_same_seed_gives_what_the_refusal_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = str(2**70 + 9)
    assert call("--seed", seed, "--allow-guessable-seed", "--json") == 3
    refused = capsys.readouterr()
    assert "--apply 1" in refused.err
    said = json.loads(refused.out)["remedies"]
    assert call("--seed", seed, "--allow-guessable-seed", "--json", "--apply", "1") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["applied"]["change"] == said[0]["change"]
    figures = [finding["value"] for finding in found["requirements"]]
    assert figures == pytest.approx([finding["value"] for finding in said[0]["estimated"]])


def test_comments_of_steps_survive(folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN.replace("[[steps]]", "# By groups.\n[[steps]]"))
    refused = []
    for number in ("1", "2", "3", "4"):
        code = call("--apply", number, "--replace")
        if code:
            break
        new = (folder / "plan.new.toml").read_text()
        assert all(said in new for said in ("# By groups.", "# groups", "# too few")), new
        refused.append(new)
    assert len(refused) >= 2


def test_where_it_does_not_help_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--apply", "40") == 3
    said = capsys.readouterr().err
    assert "there is no remedy 40" in said
    assert "try 1  " in said
    assert "or  2  " in said
    (folder / "plan.toml").write_text(PLAN.replace("l-diversity = 2", "l-diversity = 4"))
    assert call("--apply", "1") == 3
    assert names(folder) == ["people.csv", "plan.toml"]


def test_a_weaker_limit_is_neither_hinted_at_nor_applied(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.release.remedies.trying.RUNS", 0)
    asked = "k-anonymity = 6\nprosecutor-risk = { at-most = 0.1 }"
    (folder / "plan.toml").write_text(PLAN.replace("k-anonymity = 6\nl-diversity = 2", asked))
    assert call() == 3
    said = capsys.readouterr().err
    assert "try 1  a weaker limit (more risk, or loss): k-anonymity = 2" in said
    assert "--apply" not in said
    assert call("--apply", "1") == 3
    said = capsys.readouterr().err
    assert "remedy 1 asks for less than your plan does, and was not applied" in said
    assert "write it under [require] of sub/plan.toml yourself: k-anonymity = 2" in said
    assert names(folder) == ["people.csv", "plan.toml"]


def test_a_release_that_cannot_be_written_leaves_no_plan(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise sf.errors.OutputError("no room")

    monkeypatch.setattr("sfumato.release.records.release.Release.save", fail)
    assert call("--apply", "1") == 4
    assert names(folder) == ["people.csv", "plan.toml"]


def test_where_nothing_is_refused_there_is_nothing_to_apply(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plan.toml").write_text(PLAN.replace("k = 2 ", "k = 20"))
    assert call("--apply", "1") == 2
    said = capsys.readouterr().err
    assert "nothing was refused" in said
    assert "without --apply" in said
    assert names(folder) == ["people.csv", "plan.toml"]


def test_a_refused_table_is_released_by_its_remedy(tmp_path: Path) -> None:
    sf.write(sf.generators.torra_towns(), tmp_path / "towns.csv")
    plan = tmp_path / "towns.toml"
    plan.write_text(
        '[input]\npath = "towns.csv"\n[table]\ndimensions = ["town", "profession"]\n'
        'value = "salary"\n[[table.rules]]\nuse = "dominance"\nn = 1\nk = 50\n'
        '[table.protect] # by rounding\nuse = "controlled-rounding"\nbase = 5\n'
        '[output]\npath = "made"\n'
    )
    before = plan.read_text()
    assert call("--seed", "1", "--allow-guessable-seed", plan=str(plan)) == 3
    assert not (tmp_path / "made").exists()
    assert call("--seed", "1", "--allow-guessable-seed", "--apply", "1", plan=str(plan)) == 0
    assert (tmp_path / "towns.new.toml").read_text() == before.replace("base = 5\n", "")
    assert (tmp_path / "made").is_dir()
