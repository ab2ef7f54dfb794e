"""Options that say how a file is read."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.app import run

ROWS = "".join(f"{20 + i};{'N' if i % 2 else 100 * i};{i % 28 + 1}/03/1999\n" for i in range(1, 41))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age;income;seen\n" + ROWS)
    return tmp_path


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(list(arguments))
    return int(ended.value.code or 0)


def drafted(folder: Path, *options: str) -> dict[str, Any]:
    assert call("init", "t.csv", "--output", "p.toml", "--replace", *options) == 0
    return tomllib.loads((folder / "p.toml").read_text())


def test_init_takes_and_writes_what_is_said(folder: Path) -> None:
    plain = drafted(folder)
    assert plain["columns"]["income"]["kind"] == "integer"
    assert plain["input"] == {"path": "t.csv", "sentinels": {"income": ["N"]}}
    told = drafted(
        folder, "--sentinel", "income=N", "--delimiter", ";", "--dates", "seen=%d/%m/%Y",
        "--missing", "none", "--header", "--encoding", "utf-8", "--decimal", ",",
    )  # fmt: skip
    assert told["columns"]["income"]["kind"] == "integer"
    assert told["input"] == {
        "path": "t.csv",
        "delimiter": ";",
        "encoding": "utf-8",
        "decimal": ",",
        "missing": ["none"],
        "sentinels": {"income": ["N"]},
        "header": True,
        "dates": {"seen": "%d/%m/%Y"},
    }


def test_init_without_a_header(folder: Path) -> None:
    assert set(drafted(folder, "--no-header")["columns"]) == {"column_1", "column_2", "column_3"}


def test_assess_takes_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "m.csv").write_text("age;income;seen\n" + ROWS)
    given = ("--sentinel", "income=N", "--delimiter", ";", "--measures", "sse", "--quasi", "income")
    assert call("assess", "t.csv", "m.csv", "--align", "position", *given, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert "sse" in json.dumps(found)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--sheet", "A"), "sheet cannot be used with csv"),
        (("--sentinel", "incme=N"), "there is no such column"),
        (("--dates", "%d/%m/%Y"), "names no column"),
        (("--thousands", "x"), "cannot stand between thousands"),
    ],
)
def test_wrong_options_are_named(
    options: tuple[str, str], what: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("init", "t.csv", *options) == 2
    assert what in capsys.readouterr().err
    assert not (folder / "t.toml").exists()
