"""`sfumato ledger`, and `protect` beside what it knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.cli.app import run

PLAN = """
[input]
path = "people.csv"
[columns]
id = "identifier"
name = "identifier"
age = "quasi"
[[steps]]
use = "mondrian"
k = 5
[require]
k-anonymity = 5
[measures]
[output]
path = "first"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(1)
    numbers = range(1000, 1040)
    frame = {"id": numbers, "name": [f"N{i}" for i in numbers], "age": rng.integers(20, 60, 40)}
    pl.DataFrame(frame).write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sfumato(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        run(list(words))
    return int(left.value.code or 0)


def protect(*words: str) -> int:
    return sfumato("protect", "plan.toml", "--person", "id", *words)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert sfumato("ledger", *words, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_second_release_is_refused_given_or_excepted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert protect() == 0
    assert "no earlier release of these people is known to this ledger" in capsys.readouterr().err
    assert protect("--output", "second") == 3
    shown = capsys.readouterr().err
    assert "is 40 (limit 0)" in shown
    assert '[input] given = ["first"]' in shown
    assert not (folder / "second").exists()
    assert protect("--output", "second", "--given", "first") == 0
    assert "were judged with it" in capsys.readouterr().err
    because = "handed to one office"
    assert protect("--output", "third", "--ledger-exception", because) == 0
    assert because in capsys.readouterr().err
    assert because in (folder / "third" / "report.html").read_text()
    assert protect("--replace", "--ledger-exception", because) == 0
    states = [(one["path"], one["state"]) for one in told(capsys, "show")["releases"]]
    assert states[0] == ("first", "retired")
    assert states[-1] == ("first", "published")


def test_without_a_person_the_terminal_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("protect", "plan.toml") == 0
    shown = capsys.readouterr().err
    assert "cannot be known" in shown
    assert "--person" in shown
    assert told(capsys, "show")["releases"][0]["people"] is None
    assert sfumato("ledger", "show") == 0
    assert "unknown" in capsys.readouterr().out


def test_show_forget_and_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sfumato("ledger", "show") == 4
    assert "there is no ledger" in capsys.readouterr().err
    assert protect() == 0
    capsys.readouterr()
    assert sfumato("ledger", "show", "--ledger", str(folder / "sfumato.ledger")) == 0
    shown = capsys.readouterr().out
    for word in ("first", "records", "40", "published", "age"):
        assert word in shown
    assert sfumato("ledger", "forget") == 2
    assert sfumato("ledger", "forget", "first", "--before", "2020-01-01") == 2
    assert sfumato("ledger", "forget", "nothing") == 2
    assert told(capsys, "forget", "--before", "2020-01-01") == {"forgotten": []}
    assert told(capsys, "forget", "first") == {"forgotten": ["first"]}
    assert sfumato("ledger", "show") == 0
    assert "no release is known" in capsys.readouterr().out
    assert sfumato("ledger", "off") == 0
    assert protect("--output", "second") == 0
    assert "ledger of releases is off" in capsys.readouterr().err
    assert told(capsys, "show") == {"off": True, "releases": []}
    assert sfumato("ledger", "show") == 0
    assert "nothing is recorded" in capsys.readouterr().out
    assert told(capsys, "off", "--undo")["off"] is False
    assert protect("--output", "third") == 0
    assert [one["path"] for one in told(capsys, "show")["releases"]] == ["third"]
