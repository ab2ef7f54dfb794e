"""Kill the writer at any moment: a release is complete or absent, always."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato.release.publish import private_path, publish

WRITER = """
import os, sys
import altair, numba, polars, vl_convert
import sfumato as sf
from sfumato.release import api, release, report, run

# Only imported, never used: threads that libraries start do not survive a fork.
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        table = sf.generators.hospital(300, seed=1)
        made = sf.protect(table, [sf.method("mondrian", k=5)], seed=1, measures=())
        made.save(line.strip(), replace=True)
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

    def begin(target: Path) -> int:
        """A child that writes; returns when it has made its staging folder."""
        assert writer.stdin is not None
        assert writer.stdout is not None
        for left in folder.glob(
            ".out.*.staging"
        ):  # of the last child: not to be taken for this one's
            shutil.rmtree(left)
        writer.stdin.write(f"{target}\n".encode())
        writer.stdin.flush()
        child = int(writer.stdout.readline())
        start = time.monotonic()
        while not list(folder.glob(".out.*.staging")) and time.monotonic() - start < 60:
            time.sleep(0.0002)
        return child

    begin(public)
    start = time.monotonic()
    assert writer.stdout.readline() == b"over\n"
    whole = time.monotonic() - start
    for attempt in range(attempts):
        if attempt % 2:  # half of them with nothing there before, half replacing what there is
            for left in (public, private_path(public)):
                shutil.rmtree(left, ignore_errors=True)
        child = begin(public)
        time.sleep(rng.uniform(0, 1.2 * whole))
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
    writer.stdin.close()
    assert writer.wait(30) == 0
    return count


def test_ten_kills(tmp_path: Path) -> None:
    count = kill_at_random(tmp_path, 10, seed=0)
    assert count["absent"] + count["complete"] == 10
    assert count["while writing"] >= 3
    assert count["absent"] > 0
    assert count["complete"] > 0


@pytest.mark.heavy
def test_two_hundred_kills(tmp_path: Path) -> None:
    count = kill_at_random(tmp_path, 200, seed=1)
    print(count)
    assert count["while writing"] >= 100
    assert count["absent"] > 20
    assert count["complete"] > 20


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
        (left / name / "report.html").write_text(text)
        mark = "seed.json" if "private" in name else "evidence.json"
        (left / name / mark).write_text('{"sfumato": "0"}')
    (left / "lock").touch()
    (tmp_path / "out.private").mkdir()
    (tmp_path / "out.private" / "report.html").write_text("new")

    def fail(folder: Path) -> None:
        assert (tmp_path / "out" / "report.html").read_text() == "old"
        assert (tmp_path / "out.private" / "report.html").read_text() == "old"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path / "out", write_small, fail, replace=True)
    assert (tmp_path / "out" / "report.html").read_text() == "old"
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
