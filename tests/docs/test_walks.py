"""The walks of docs/architecture.md are what happens, in that order."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sfumato"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
STOP = re.compile(r"^    (\S+\.py):(\S+)$", re.MULTILINE)

RECORDS = """
[input]
path = "d.csv"
[columns]
age = { role = "quasi" }
[[steps]]
use = "mondrian"
k = 2
[require]
k-anonymity = 2
"""
SETS = """
[input]
path = "d.parquet"
[columns]
buys = { role = "quasi", kind = "set" }
[[steps]]
use = "set-mondrian"
k = 2
[require]
k-anonymity = 2
"""
TABLE = """
[input]
path = "d.csv"
[table]
dimensions = ["region", "trade"]
value = "pay"
holding = "who"
[table.protect]
use = "sequential-suppression"
[[table.rules]]
use = "p-percent"
p = 10
"""


def walks() -> list[list[tuple[str, str]]]:
    text = PAGE.partition("## Three walks")[2].partition("\n## ")[0]
    starts = ("One record", "One set", "One table")
    parts = [text.partition(start)[2] for start in starts]
    for here, after in enumerate(starts[1:]):
        parts[here] = parts[here].partition(after)[0]
    return [STOP.findall(part) for part in parts]


def followed(arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every function of ours that was entered, in order."""
    calls: list[tuple[str, str]] = []
    prefix = str(SOURCE)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(prefix):
            file = Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix()
            calls.append((file, frame.f_code.co_qualname))

    monkeypatch.chdir(folder)
    sys.setprofile(note)
    try:
        done = CliRunner().invoke(app, arguments)
    finally:
        sys.setprofile(None)
    assert done.exit_code == 0, done.output
    return calls


@pytest.mark.parametrize("which", [0, 1, 2], ids=["record", "set", "table"])
def test_a_walk_goes_as_it_is_written(
    which: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = walks()[which]
    assert len(stops) > 5
    if which == 2:
        columns = {
            "region": ["N", "N", "N", "S", "S", "S", "W", "W", "W"] * 2,
            "trade": ["a", "b", "c"] * 6,
            "who": [f"F{i}" for i in range(18)],
            "pay": [90.0, 20.0, 30.0, 40.0, 15.0, 25.0, 35.0, 45.0, 12.0] * 2,
        }
        sf.write(sf.table(columns), tmp_path / "d.csv")
    else:
        form = "csv" if which == 0 else "parquet"
        ages, baskets = [31, 34, 38, 52, 55, 58], [["a", "b"], ["a"], ["b"]] * 2
        people = {"age": ages} if which == 0 else {"buys": baskets}
        sf.write(sf.table(people), tmp_path / f"d.{form}")
    plan = (RECORDS, SETS, TABLE)[which] + '[output]\npath = "out"\n'
    (tmp_path / "plan.toml").write_text(plan)
    calls = iter(followed(["protect", "plan.toml"], tmp_path, monkeypatch))
    for stop in stops:
        assert any(call == stop for call in calls), f"{stop} was not entered where the walk has it"
