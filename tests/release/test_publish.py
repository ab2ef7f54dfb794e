"""Kill the writer at any moment: a release is complete or absent, always."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato.release.publish import private_path, publish

WRITER = """
import os, sys
import sfumato as sf
from sfumato.release import release as module

table = sf.generators.hospital(300, seed=1)
plan = sf.Plan.parse('''
[[steps]]
use = "mondrian"
k = 5
[require]
k-anonymity = 5
''')
release = sf.protect(table, plan, seed=1, measures=())
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    # One child for each attempt, so that the imports are paid once.
    child = os.fork()
    if child == 0:
        release.save(line.strip(), replace=True)
        os._exit(0)
    sys.stdout.write(f"{child}\\n"); sys.stdout.flush()
    os.waitpid(child, 0)
    sys.stdout.write("over\\n"); sys.stdout.flush()
"""


def write_small(folder: Path) -> None:
    (folder / "data.csv").write_text("x\n1\n")


def complete(public: Path, names: set[str]) -> bool:
    """Every file is there and whole, the private twin too."""
    if {p.name for p in public.iterdir()} != names:
        return False
    json.loads((public / "evidence.json").read_text())
    rows = (public / "data.csv").read_text().count("\n")
    closed = (public / "report.html").read_text().rstrip().endswith("</html>")
    private = private_path(public)
    json.loads((private / "seed.json").read_text())
    return rows == 301 and closed and (private / "alignment.parquet").is_file()


def kill_at_random(folder: Path, attempts: int, seed: int) -> dict[str, int]:
    """Kill the writer `attempts` times; count how it ended, fail on anything half-written."""
    rng = random.Random(seed)
    env = {**os.environ, "POLARS_MAX_THREADS": "1"}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"ready\n"
    public = folder / "out"
    names = {"data.csv", "evidence.json", "report.html"}
    count = {"absent": 0, "complete": 0, "while writing": 0}
    usual = 0.05
    for _ in range(attempts):
        writer.stdin.write(f"{public}\n".encode())
        writer.stdin.flush()
        child = int(writer.stdout.readline())
        start = time.monotonic()
        while not list(folder.glob(".out.*.staging")) and time.monotonic() - start < 5:
            time.sleep(0.0002)
        time.sleep(rng.uniform(0, usual))
        staging = [p for p in folder.glob(".out.*.staging") if any(p.iterdir())]
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            staging = []
        assert writer.stdout.readline() == b"over\n"
        if staging and staging[0].exists():
            count["while writing"] += 1
        if public.exists():
            assert complete(public, names), "a half-written release"
            count["complete"] += 1
        else:
            count["absent"] += 1
        usual = min(max(time.monotonic() - start, 0.02), 0.4)
    writer.stdin.close()
    assert writer.wait(30) == 0
    return count


def test_twenty_kills(tmp_path: Path) -> None:
    count = kill_at_random(tmp_path, 20, seed=0)
    assert sum((count["absent"], count["complete"])) == 20
    assert count["while writing"] >= 5


@pytest.mark.heavy
def test_two_hundred_kills(tmp_path: Path) -> None:
    count = kill_at_random(tmp_path, 200, seed=1)
    print(count)
    assert count["while writing"] >= 100


def test_what_a_dead_run_left_is_swept(tmp_path: Path) -> None:
    left = tmp_path / ".out.abc.staging"
    left.mkdir()
    (left / "lock").touch()
    (left / "public").mkdir()
    publish(tmp_path / "out", write_small, write_small)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private"]


def test_a_replacement_that_died_is_put_back(tmp_path: Path) -> None:
    """Killed between its renames: the old release lies aside, the new private half is in place."""
    left = tmp_path / ".out.abc.staging"
    for name, text in (("old-public", "old"), ("old-private", "old"), ("public", "new")):
        (left / name).mkdir(parents=True)
        (left / name / "data.csv").write_text(text)
        for mark in ("evidence.json", "seed.json"):
            (left / name / mark).write_text('{"sfumato": "0"}')
    (left / "lock").touch()
    (tmp_path / "out.private").mkdir()
    (tmp_path / "out.private" / "data.csv").write_text("new")

    def fail(folder: Path) -> None:
        assert (tmp_path / "out" / "data.csv").read_text() == "old"
        assert (tmp_path / "out.private" / "data.csv").read_text() == "old"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path / "out", write_small, fail, replace=True)
    assert (tmp_path / "out" / "data.csv").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private"]


@pytest.mark.parametrize("broken", ["public", "private"])
def test_a_writer_that_fails_leaves_nothing(tmp_path: Path, broken: str) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError("disk full")

    writers = (fail, write_small) if broken == "public" else (write_small, fail)
    with pytest.raises(OSError, match="disk full"):
        publish(tmp_path / "out", *writers)
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_sweep_each_other(tmp_path: Path) -> None:
    def outer(folder: Path) -> None:
        publish(tmp_path / "other", write_small, write_small)
        publish(tmp_path / "out", write_small, write_small)
        write_small(folder)

    from sfumato.errors import OutputError

    with pytest.raises(OutputError, match="exists already"):
        publish(tmp_path / "out", outer, write_small)
    assert (tmp_path / "out" / "data.csv").read_text() == "x\n1\n"
