"""The benchmark whose figures stand in the declarations, and what it could not measure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def costs(target: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], list[Any]]:
    command = [sys.executable, "benchmarks/costs.py", "--only", "mondrian", "--json", str(target)]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True)
    return done, json.loads(target.read_text())["mondrian"]


def test_it_measures_a_candidate(tmp_path: Path) -> None:
    done, (found,) = costs(tmp_path / "figures.json", "--records", "3000")
    assert done.returncode == 0, done.stderr
    assert found["records"] == 3000
    assert found["label"] == "mondrian k=5"
    assert 0 < found["cpu"] < 60
    assert found["peak"] > 10 * 2**20, "the table and the program are counted"
    assert "mondrian k=5" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has spent")
def test_one_that_takes_too_long_is_tried_on_fewer_records(tmp_path: Path) -> None:
    asked = ("--records", "3000", "--patience", "0")
    done, (first, fewer) = costs(tmp_path / "figures.json", *asked)
    assert (first["records"], fewer["records"]) == (3000, 300)
    assert first["why"] == "> 0 CPU s"
    assert "cpu" not in first
    assert done.returncode == 1
    assert "not measured: mondrian" in done.stderr
