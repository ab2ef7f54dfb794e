"""A disk that is full ends a command with exit code 4 and a remedy: never with a fault."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.app import run
from tests.engines.people import in_pieces, people
from tests.full_disks import short_files, small_disk
from tests.release.large.test_killed import PLAN as LARGE

PLAN = """
[input]
path = "register.csv"
others = "insensitive"
person = "record_no"
[columns]
record_no = "identifier"
name = "identifier"
birth_date = "quasi"
zip = "quasi"
[[steps]]
use = "mondrian"
k = 5
[require]
k-anonymity = 5
exposure = false
[measures]
[output]
ledger-exception = "the disk is filled on purpose"
"""
MAP = """
[[map.methods]]
use = "rank-swap"
p = [5, 40]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_LEDGER_KEY", "a key that nobody guesses")
    sf.write(sf.generators.hospital(200, seed=1), "register.csv")
    Path("plan.toml").write_text(PLAN)
    Path("map.toml").write_text(PLAN + MAP)
    return tmp_path


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as found:
        run(list(words))
    return int(found.value.code or 0)


def content(release: Path) -> dict[str, bytes]:
    parts = (release, release.with_name(f"{release.name}.private"))
    return {
        str(path): path.read_bytes() for part in parts for path in part.rglob("*") if path.is_file()
    }


def told(said: str) -> None:
    """One error with its remedy, and no traceback."""
    assert "Traceback" not in said
    assert "fault in Sfumato" not in said
    assert said.count("error: ") == 1
    assert "  -> " in said


SIZES = (4, 24, 60, 100, 140, 180, 220, 260, 300, 340)
"""KiB; a release of these people and its ledger take about 300."""


def test_a_full_disk_leaves_the_earlier_release_or_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Filled at many moments, with an earlier release and without one."""
    disk, codes = folder / "disk", set()
    for size in SIZES:
        for earlier in (False, True):
            with small_disk(disk, 2048):
                if earlier:
                    assert ended("protect", "plan.toml", "--output", "disk/release") == 0
                room = shutil.disk_usage(disk).free - (size << 10)
                (disk / "ballast").write_bytes(bytes(room))
                before = content(disk / "release")
                capsys.readouterr()
                more = ["--replace"] if earlier else []
                code = ended("protect", "plan.toml", "--output", "disk/release", *more)
                said = capsys.readouterr().err
                codes.add((earlier, code))
                assert not list(disk.glob(".*.staging"))
                if code == 0:
                    assert content(disk / "release") != before
                    continue
                assert code == 4
                told(said)
                assert f"the disk of {disk}" in said
                assert "nothing was written" in said
                assert content(disk / "release") == before
    assert codes == {(False, 0), (False, 4), (True, 0), (True, 4)}


def test_files_that_may_not_grow_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for size in (0, 3, 8, 40):
        with short_files(size):
            assert ended("protect", "plan.toml", "--output", "release") == 4
        said = capsys.readouterr().err
        told(said)
        assert "larger than this disk or session allows" in said
        assert not list(folder.glob("release*"))
        assert not list(folder.glob(".release*"))


def test_an_engine_that_has_no_room_names_its_temporary_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the disk is filled while it works: the reserve is not asked for then."""
    in_pieces(people(), folder / "in", 2)
    Path("large.toml").write_text(LARGE)
    with small_disk(folder / "disk", 4096):
        words = ("protect", "large.toml", "--input", "in", "--output", "disk/release")
        assert ended(*words) == 4
        said = capsys.readouterr().err
        assert not list((folder / "disk").iterdir())
    told(said)
    assert "[engine] temporary" in said


COMMANDS = {
    "init": ("init", "register.csv", "--output", "disk/plan.toml"),
    "table": ("table", "init", "register.csv", "-d", "sex,zip", "--output", "disk/table.toml"),
    "tune": ("tune", "plan.toml", "--at-most", "1", "--measure", "uniques", "-o", "disk/t.toml"),
    "map": ("map", "map.toml", "--output", "disk/map.csv"),
    "figure": ("map", "map.toml", "--output", "disk/map.html"),
    "assess": ("assess", *["register.csv"] * 2, "--measures", "uniques", "-o", "disk/a.html"),
    "split": ("split", "register.csv", "disk/a.csv", "disk/b.csv"),
    "generate": ("generate", "synthetic-sets", "-o", "disk/s.parquet", "-n", "3000"),
    "hospital": ("generate", "hospital", "-o", "disk/h.xlsx", "-n", "300"),
    "demo": ("demo", "--output", "disk/demo", "--records", "500"),
    "ledger": ("ledger", "off", "--ledger", "disk"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_writes_says_so(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(folder / "disk", 16):
        (folder / "disk" / "ballast").write_bytes(bytes(16 << 10))
        assert ended(*COMMANDS[name]) == 4
        left = {path.name for path in (folder / "disk").iterdir()} - {"ballast"}
    assert left <= {"demo", ".sfumato.ledger.lock"}
    said = capsys.readouterr().err
    told(said)
    assert ("holds a part of the demo" in said) == ("demo" in left)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_standard_output_that_takes_nothing_is_told_with_what_is_there(folder: Path) -> None:
    code = "from sfumato.cli import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "protect", "plan.toml", "--output", "release"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
    assert done.returncode == 4
    assert "the release is there already: release" in done.stderr
    assert "standard output" in done.stderr
    assert "Traceback" not in done.stderr
