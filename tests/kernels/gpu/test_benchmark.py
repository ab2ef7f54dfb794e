"""`make bench-gpu` runs from end to end where there is no card, and compares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif("NUMBA_ENABLE_CUDASIM" not in os.environ, reason="a card is measured in full")
def test_few_records_on_the_simulator(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    words = ["--quick", "--only", "own-rank", "mdav, k = 3", "--json", str(told)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "gpu.py"), *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(told.read_text())["rows"]
    assert [row["work"] for row in rows] == ["own-rank", "own-rank", "mdav, k = 3"]
    assert all(row["same"] and row["sent"] for row in rows)
    assert not any("seconds" in row for row in rows)
    assert "| own-rank | 24 | 10 |" in done.stdout
