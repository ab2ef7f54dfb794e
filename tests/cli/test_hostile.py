"""Commands on a file whose name, columns and cells were chosen to be obeyed by a terminal."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import sfumato as sf
from sfumato import aside
from sfumato.cli import ending, show
from sfumato.errors import InputError, OutputError
from sfumato.release.plan.plan import Plan
from tests.cli.test_cli import Ended as Ended
from tests.cli.test_cli import sfumato as sfumato
from tests.contract.hostile import count, harmless, hostile

ESCAPES = "\x1b[2J\u202e\x9b1A.parquet"
INJECTS = 'x\n[[steps]]\nuse = "mdav"\nk = 2\n.parquet'


def plainly(done: Ended) -> None:
    assert harmless(done.out + done.err)
    assert "Traceback" not in done.err
    assert done.code in (0, 2, 3, 4)


@pytest.mark.parametrize("which", range(count()))
def test_from_a_file_to_a_release(sfumato, which: int, tmp_path: Path) -> None:
    name = (ESCAPES, INJECTS)[which % 2]
    table = hostile(which)
    sf.write(table, tmp_path / name, suppressed="~ ~")
    drafted = sfumato("init", name, "--output", "p.toml")
    plainly(drafted)
    assert drafted.code == 0, drafted.err
    plan = Plan.read(tmp_path / "p.toml")
    assert sorted(plan.columns) == sorted(table.names)
    assert all(step.use.name != "mdav" for step in plan.steps)
    assert stat.S_IMODE((tmp_path / "p.toml").stat().st_mode) == 0o600
    plainly(sfumato("init", name, "--output", "p.toml", "--replace", "--json"))
    plainly(sfumato("protect", "p.toml", "--output", "out"))
    plainly(sfumato("protect", "p.toml", "--output", "out", "--replace", "--json"))
    if (tmp_path / "out").is_dir():
        plainly(sfumato("recount", "out"))
        plainly(sfumato("assess", name, "out/data.csv", "--output", "a.html"))
    plainly(sfumato("information", name))
    plainly(sfumato("table", "init", name, "--dimensions", table.schema.quasi[1]))


@pytest.mark.parametrize("word", ["\x1b[2J", "a\rb", "\x9b1A", "\u202eb", "\ud800"])
def test_wrong_words_are_shown(sfumato, word: str) -> None:
    for arguments in (("protect", f"{word}.toml"), ("explain", word), (word,), ("init", word)):
        done = sfumato(*arguments)
        plainly(done)
        assert done.code == 2
        done.err.encode()


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show.notes_aside("one\nnote: \x1b[2J")
    show.print_json({"a\x9b": ["\u202e\x1b", "é"]})
    show.grid(("a\x1b[2J",), [("  b\n\x9b",)])
    ending.failed(InputError("no \x1b[2J", remedy="\r"), json=False)
    shown = capsys.readouterr()
    assert harmless(shown.out + shown.err)
    assert shown.err.count("note:") == 2
    assert shown.err.count("\n") == 3
    assert '"é"' in shown.out


def test_a_file_name_that_is_no_text(sfumato, tmp_path: Path) -> None:
    name = os.fsdecode(b"x\xff.csv")
    try:
        (tmp_path / name).write_text("sex,age\nf,1\nm,2\n")
    except OSError:
        pytest.skip("the file system holds no such name")
    done = sfumato("init", name, "--output", "p.toml")
    plainly(done)
    assert done.code == 2
    assert "rename" in done.err
    assert not (tmp_path / "p.toml").exists()


def test_what_lies_beside_a_target_is_not_written_through(tmp_path: Path) -> None:
    """Links under every name that a temporary file had, and under the target's own."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    target = tmp_path / "plan.toml"
    for name in (".plan.toml.part", ".plan.part.toml", ".plan.toml.tmp", "plan.toml"):
        (tmp_path / name).symlink_to(victim)
    aside.write_text(target, "new", private=True)
    assert victim.read_text() == "mine"
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(OutputError, match="exists already"):
        aside.write_text(target, "newer", private=True, replace=False)


def test_modes_and_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o022)
    try:
        aside.write_text(tmp_path / "public", "x", private=False)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o644
    with pytest.raises(OutputError), aside.replacing(tmp_path / "new", replace=True) as path:
        path.with_name("no").rename(path)
    assert [p.name for p in tmp_path.iterdir()] == ["public"]
    long = "n" * 255
    aside.write_text(tmp_path / long, "x", private=True)
    assert (tmp_path / long).read_text() == "x"
    with pytest.raises(OutputError, match="no character"):
        aside.write_text(tmp_path / "odd", "\ud800", private=True)
    assert not (tmp_path / "odd").exists()
