"""Journeys of people who do not program, each from the beginning to the end; and the plan that each
leaves, run by the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sfumato.cli.app import run
from sfumato.release.staging import private_path
from sfumato.studio.desk import Desk
from tests.studio.browser import journeys
from tests.studio.browser.driving import Registers, Seat

MOST = 12
"""Actions from a file to a published release."""


@pytest.fixture(scope="module")
def people(registers: Registers, tmp_path_factory: pytest.TempPathFactory) -> Registers:
    """A small register, and plans of it."""
    data = journeys.patients(tmp_path_factory.mktemp("people") / "patients.csv")
    return Registers(registers.root, data)


def sfumato(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        run([*words])
    return int(left.value.code or 0)


def written(desk: Desk) -> tuple[Path, Path]:
    """Both halves of what a plan has published."""
    public = desk.base / str(desk.plan.output.path)
    return public, private_path(public)


def same_bytes(desk: Desk, public: Path, private: Path, elsewhere: Path) -> None:
    """The plan by the command line, with the same seed and data, where nothing was published."""
    elsewhere.mkdir()
    for path in desk.base.iterdir():
        if path.suffix in (".toml", ".csv"):
            shutil.copy(path, elsewhere)
    seed = json.loads((private / "seed.json").read_text())["seed"]
    plan, other = elsewhere / desk.path.name, elsewhere / "other"
    assert sfumato("protect", str(plan), "--seed", str(seed), "--output", str(other)) == 0
    names = sorted(path.name for path in public.iterdir())
    assert {"evidence.json", "report.html"} < {*names}
    assert names == sorted(path.name for path in other.iterdir())
    for name in names:
        assert (public / name).read_bytes() == (other / name).read_bytes(), name


def test_a_newcomer_publishes(seat: Seat, tmp_path: Path) -> None:
    file = journeys.patients(tmp_path / "newcomer.csv", odd=True)
    seen: dict[str, str] = {}

    def look(name: str) -> None:
        seen[name] = seat.accessible().words

    desk = journeys.newcomer(seat, file, look)
    assert len(seat.actions) <= MOST, seat.actions
    assert desk.plan.input.sentinels
    assert "Refused: 1 requirement not met" in seen["refused"]
    assert "every requirement is met" in seen["released"]
    assert "The release is written" in seen["written"]
    public, private = written(desk)
    assert sfumato("verify", str(public)) == 0
    same_bytes(desk, public, private, tmp_path / "elsewhere")


def test_a_statistician_chooses(seat: Seat, people: Registers, tmp_path: Path) -> None:
    desk = people.plan("statistician")
    seen: dict[str, str] = {}

    def look(name: str) -> None:
        seen[name] = seat.accessible().words

    journeys.statistician(seat, desk, look)
    step = next(one for one in desk.plan.steps if one.use.name == "full-domain")
    assert dict(step.use.levels or {}) == {"age": 4, "sex": 0, "zip": 3, "admission_type": 0}
    trials = [job for job in desk.jobs if job.kind == "protect"]
    assert [job.state for job in trials] == ["done"] * 3, [job.error for job in trials]
    assert "Side by side" in seen["compared"]
    assert seat.page.locator("#compared table").first.locator("thead th").count() == 4
    assert desk.plan.columns["admission_type"].poset is not None
    assert desk.text.count("not planned") == 2, "one value by the keyboard, one dragged"
    # The node that was chosen in the picture is what the second trial published.
    assert "admission_type = 1" in trials[1].asked["text"]
    found = trials[0].folder
    same_bytes(desk, found / "release", found / "release.private", tmp_path / "elsewhere")


def test_a_maker_of_tables_publishes(seat: Seat, people: Registers, tmp_path: Path) -> None:
    records = people.plan("tables")
    seen: dict[str, str] = {}

    def look(name: str) -> None:
        seen[name] = seat.accessible().words

    desk = journeys.table_maker(seat, records, look)
    assert desk.plan.table is not None
    assert desk.path != records.path
    assert {one.name for one in desk.plan.table.rules} >= {"dominance"}
    assert "True value" in seen["tables"]
    assert "An attacker can say: between" in seen["tables"]
    assert "The release is written" in seen["written"]
    public, private = written(desk)
    assert sfumato("verify", str(public)) == 0
    same_bytes(desk, public, private, tmp_path / "elsewhere")
