"""`sfumato table`, as a new user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.app import run


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        run(list(words))
    code = left.value.code
    return code if isinstance(code, int) else 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sf.write(sf.generators.businesses(200, seed=4), tmp_path / "b.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_file_to_a_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("table", "init", "b.csv", "-d", "region,size", "--value", "turnover") == 0
    assert command("table", "protect", "table.toml", "--seed", "1", "--allow-guessable-seed") == 0
    said = capsys.readouterr().out
    assert "every interval is wide enough" in said
    assert "×" in said
    assert (folder / "table-release" / "report.html").exists()
    assert command("table", "show", "table-release", "--at", "size=small") == 0
    assert "size = small" in capsys.readouterr().out
    assert command("table", "audit", "table-release/data.csv", "--plan", "table.toml") == 0
    assert "every interval is wide enough" in capsys.readouterr().out
    # A second time nothing is overwritten, and with --json there is JSON alone.
    assert command("table", "protect", "table.toml") == 4
    capsys.readouterr()
    words = (
        "table",
        "protect",
        "table.toml",
        "--seed",
        "1",
        "--allow-guessable-seed",
        "--replace",
        "--json",
    )
    assert command(*words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["audit"]["too narrow"] == 0


def test_a_leaky_table_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.csv").write_text("region,value\nTotal,30\nN,10\nS,\n")
    assert command("table", "audit", "t.csv", "-d", "region") == 3
    out = capsys.readouterr()
    assert "TOO NARROW" in out.out
    assert "refused" in out.err


def test_mistakes_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("table", "init", "b.csv", "-d", "nosuch") == 2
    assert "nosuch" in capsys.readouterr().err
    (folder / "p.toml").write_text('[table]\ndimensions = ["region"]\n[output]\npath = "x"\n')
    assert command("table", "protect", "p.toml") == 2
    assert "names no input" in capsys.readouterr().err
    assert command("protect", "p.toml") == 2
    assert "names no input" in capsys.readouterr().err
    assert command("protect", "p.toml", "--given", "x") == 2
    assert "--given is for plans of records" in capsys.readouterr().err


def test_one_command_for_both_kinds_of_plan(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("table", "init", "b.csv", "-d", "region,size", "--value", "turnover") == 0
    assert "sfumato protect table.toml" in capsys.readouterr().out
    plan = folder / "table.toml"
    # So long that a busy machine proves as much as an idle one.
    plan.write_text(
        plan.read_text().replace('modular-suppression"', 'modular-suppression"\nseconds-each = 600')
    )
    assert command("protect", "table.toml", "--seed", "1", "--allow-guessable-seed") == 0
    assert "note: `sfumato" not in capsys.readouterr().err
    one = (folder / "table-release" / "data.csv").read_bytes()
    assert (
        command(
            "table", "protect", "table.toml", "--seed", "1", "--allow-guessable-seed", "--replace"
        )
        == 0
    )
    assert "`sfumato protect table.toml` does the same" in capsys.readouterr().err
    assert (folder / "table-release" / "data.csv").read_bytes() == one
    assert command("protect", "table.toml", "--at", "nosuch=1", "--replace") == 2
