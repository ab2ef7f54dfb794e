"""Journeys of people who do not program, each from the beginning to the end; and the plan that each
leaves, run by the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sfumato.cli.app import run
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
        seen[name] = seat.words

    desk = journeys.newcomer(seat, file, look)
    assert len(seat.actions) <= MOST, seat.actions
    assert desk.plan.input.sentinels
    assert "Refused: 1 requirement not met" in seen["refused"]
    assert "every requirement is met" in seen["released"]
    report = seat.served.root / "out" / "report.html"
    assert "The release is written" in seen["written"]
    assert report.is_file()
    assert sfumato("verify", str(report.parent)) == 0
    same_bytes(desk, report.parent, desk.base / "out.private", tmp_path / "elsewhere")


def test_a_statistician_chooses(seat: Seat, people: Registers, tmp_path: Path) -> None:
    desk = people.plan("statistician")
    seen: dict[str, str] = {}

    def look(name: str) -> None:
        seen[name] = seat.words

    journeys.statistician(seat, desk, look)
    step = next(one for one in desk.plan.steps if one.use.name == "full-domain")
    assert step.use.levels


def test_a_maker_of_tables_publishes(seat: Seat, people: Registers, tmp_path: Path) -> None:
    records = people.plan("tables")
    seen: dict[str, str] = {}

    def look(name: str) -> None:
        seen[name] = seat.words

    desk = journeys.table_maker(seat, records, look)
    assert desk.plan.table is not None
