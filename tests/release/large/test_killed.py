"""A run that is killed leaves a whole release or none, and the next one sweeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from tests.engines.people import in_pieces, people

PLAN = """
[engine]
use = "duckdb"
memory = "512 MiB"
[input]
others = "insensitive"
[columns]
id = "identifier"
[[steps]]
use = "rounding"
columns = ["pay"]
base = 100
[require]
exposure = false
[measures]
[output]
format = "parts"
"""
CHILD = """
import os, signal, sys
import sfumato as sf

source, target, last = sys.argv[1:]

def listen(what, done, of):
    if what == last:
        os.kill(os.getpid(), signal.{signal})

sf.protect(source, sf.Plan.read(sys.argv[1] + ".toml"), 2**90, output=target, progress=listen)
"""


def run(folder: Path, last: str, by: str) -> subprocess.CompletedProcess[str]:
    """A run that ends itself at that stage."""
    source = folder / "in"
    if not source.exists():
        in_pieces(people(), source, 3)
        (folder / "in.toml").write_text(PLAN)
    (folder / "out").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", CHILD.format(signal=by), source, folder / "out" / "release", last],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("stage", ["rounding", "writing", "counting again", "measuring"])
def test_a_killed_run_publishes_nothing_and_the_next_one_sweeps(tmp_path: Path, stage: str) -> None:
    killed = run(tmp_path, stage, "SIGKILL")
    assert killed.returncode == -signal.SIGKILL
    left = [path.name for path in (tmp_path / "out").iterdir()]
    assert left
    assert all(name.endswith(".staging") for name in left), left
    assert run(tmp_path, "never", "SIGKILL").returncode == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert not any(name.endswith(".staging") for name in names)
    assert {"release", "release.private"} <= names
    parts = sorted((tmp_path / "out" / "release" / "data").iterdir())
    assert sum(pl.read_parquet(part).height for part in parts) == people().height


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    stopped = run(tmp_path, "writing", "SIGINT")
    assert "KeyboardInterrupt" in stopped.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_refused_release_writes_nothing(tmp_path: Path) -> None:
    source = in_pieces(people(), tmp_path / "in", 2)
    plan = sf.Plan.parse(PLAN.replace("exposure = false", "exposure = false\nk-anonymity = 5"))
    with pytest.raises(sf.ReleaseRefused):
        sf.protect(
            source,
            plan.with_(input=plan.input.told({"others": "quasi"})),
            2**90,
            output=tmp_path / "r",
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
