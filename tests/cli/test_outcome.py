"""What a newcomer sees: drafts that do not collide, and the line that matters first."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.errors import ParameterError

pytestmark = pytest.mark.exposure


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    staff = pl.DataFrame(
        {
            "age": rng.integers(20, 66, 300),
            "office": rng.choice(["Bonn", "Trier", "Mainz"], 300),
            "income": np.round(rng.lognormal(10, 0.5, 300)).astype(int),
        }
    )
    staff.write_csv("staff.csv")
    staff.head(200).write_csv("guests.csv")
    return tmp_path


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(list(words))
    return int(ended.value.code or 0)


def test_two_drafts_in_a_folder_do_not_collide(folder: Path) -> None:
    for name in ("staff", "guests"):
        assert call("init", f"{name}.csv") == 0
        assert call("protect", f"{name}.toml") == 0
    assert call("init", "staff.csv", "--output", "again.toml") == 0
    assert tomllib.loads(Path("again.toml").read_text())["output"]["path"] == "again-release"
    assert {"staff-release", "guests-release"} <= {path.name for path in folder.iterdir()}
    assert 'path = "staff-release"' in sf.draft_plan("staff.csv")
    assert 'path = "elsewhere"' in sf.draft_plan("staff.csv", output="elsewhere")


def test_a_draft_holds_exposure_to_its_own_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """A limit on record-linkage of 0.2 would let three columns single out one in five."""
    assert call("init", "staff.csv") == 0
    assert call("protect", "staff.toml") == 0
    assert "met  exposure 0 <= 0.05" in capsys.readouterr().out
    plan = Path("staff.toml").read_text()
    wider = plan.replace("[require]\n", "[require]\nrecord-linkage = { at-most = 0.3 }\n")
    Path("wide.toml").write_text(wider)
    assert call("protect", "wide.toml", "--output", "wide") == 0
    said = (
        "single out 30\xa0% of the people here, not 5\xa0%: the plan allows record-linkage as many"
    )
    assert said in capsys.readouterr().out
    assert said in (Path("wide") / "report.html").read_text("utf-8")


def test_a_draft_says_how_to_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("init", "staff.csv") == 0
    text = Path("staff.toml").read_text()
    assert call("map", "staff.toml") == 2
    assert "a draft has some as comments" in capsys.readouterr().err
    head, _, block = text.partition("map.svg\n")
    Path("map.toml").write_text(head + "map.svg\n" + block.replace("# ", ""))
    assert call("map", "map.toml", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["label"] for row in found["releases"]} == {
        f"{use} k={k}" for use in ("mondrian", "mdav") for k in (5, 10, 20)
    }
    assert not found["failed"]


def test_what_matters_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    call("init", "staff.csv")
    capsys.readouterr()
    assert call("protect", "staff.toml") == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[0] == "released 300 records, 3 columns: every requirement is met"
    assert lines[1].startswith("  met  exposure")
    places = [shown.index(word) for word in ("whoever knows", "publish  ", "keep  ", "ncp")]
    assert places == sorted(places)
    assert "Whoever knows one exact value of income and the published age, office finds" in shown
    (folded,) = (line for line in lines if "apply" in line)
    assert folded.startswith("  do not apply: ")
    assert "utility-kept, items-kept" in folded


def test_an_assessment_says_first_whether_it_exposes_people(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("assess", "staff.csv", "staff.csv", "--quasi", "age,office,income") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("do not publish it: exposure")
    assert "whoever knows" in shown.splitlines()[0]
    assert "switched off" not in shown
    call("init", "staff.csv")
    call("protect", "staff.toml")
    capsys.readouterr()
    assert call("assess", "staff.csv", "staff-release", "--plan", "staff.toml") == 0
    assert capsys.readouterr().out.startswith("exposes nobody beyond the limit: exposure 0 <= 0.05")


def test_one_release_is_assessed_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", "staff-release") == 2
    assert "sfumato assess ORIGINAL RELEASE" in capsys.readouterr().err
    with pytest.raises(ParameterError, match="one release was named"):
        sf.compare("staff-release")
