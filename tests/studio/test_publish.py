"""What the studio publishes is what the command line publishes, byte for byte, and nothing that is
private ever leaves by it."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.errors import InputError, SfumatoError
from sfumato.studio.asked import Asked
from sfumato.studio.desk import Desk
from sfumato.studio.rooms import placed, protect, publish
from sfumato.studio.tasks.protecting import SEED
from tests.studio.here import PLAN, at_once, desk, do, page, people

TABLE = """
[input]
path = "businesses.csv"
[table]
dimensions = ["region", "size"]
value = "turnover"
[[table.rules]]
use = "p-percent"
p = 10
[table.protect]
use = "modular-suppression"
[output]
path = "out"
"""
GROUPS = '[[steps]]\nuse = "mondrian"'
PRAM = '[[steps]]\nuse = "pram"\ncolumns = ["disease"]\nchange = 0.3\n\n'
RANDOM = PLAN.replace(GROUPS, PRAM + GROUPS)
PERSON = RANDOM.replace('path = "people.csv"', 'path = "people.csv"\nperson = "id"')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    people(tmp_path)
    sf.write(sf.generators.businesses(40, seed=4), tmp_path / "businesses.csv")
    monkeypatch.chdir(tmp_path)
    at_once(monkeypatch)
    return tmp_path


def tried(at: Desk) -> Desk:
    do(protect.ROOM, "run", at)
    job = at.last("protect")
    assert job is not None
    assert job.state == "done", job.error
    return at


def published(at: Desk, **form: str) -> Desk:
    do(publish.ROOM, "write", tried(at), **form)
    job = at.last("publish")
    assert job is not None
    assert job.state == "done", job.error
    return at


def sfumato(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        run(list(words))
    return int(left.value.code or 0)


def seed_of(at: Desk) -> str:
    job = at.last("protect")
    assert job is not None
    return (job.folder / SEED).read_text()


@pytest.mark.parametrize("text", [RANDOM, PERSON, TABLE], ids=["records", "people", "table"])
def test_the_command_line_writes_the_same_bytes(text: str, folder: Path) -> None:
    at = published(desk(folder, text))
    (folder / "other").mkdir()
    assert sfumato("protect", "plan.toml", "--seed", seed_of(at), "--output", "other/out") == 0
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == ["data.csv", "evidence.json", "report.html"]
    for name in names:
        mine = (folder / "out" / name).read_bytes()
        assert mine == (folder / "other" / "out" / name).read_bytes(), name
    assert (folder / "sfumato.ledger").exists()
    private = json.loads((folder / "out.private" / "seed.json").read_text())
    assert str(private["seed"]) == seed_of(at)


def test_what_was_looked_at_is_what_is_written(folder: Path) -> None:
    at = published(desk(folder, RANDOM))
    job = at.last("protect")
    assert job is not None
    for name in ("data.csv", "report.html", "evidence.json"):
        assert (job.folder / "release" / name).read_bytes() == (folder / "out" / name).read_bytes()
    framed = publish.ROOM.files["report"](Asked(at))
    assert framed.framed
    assert framed.body == (folder / "out" / "report.html").read_bytes()


def test_two_trials_have_two_seeds_that_no_page_tells(folder: Path) -> None:
    at = tried(desk(folder, RANDOM))
    first = seed_of(at)
    at = published(at)
    assert seed_of(at) != first
    assert int(first) >= 2**64
    for job in at.jobs:
        assert (job.folder / "asked.json").read_text().find(seed_of(at)) == -1
        assert seed_of(at) not in json.dumps(job.result)
    for room in (protect.ROOM, publish.ROOM):
        assert seed_of(at) not in page(room, at)


def test_nothing_is_published_without_a_trial_of_this_very_plan(folder: Path) -> None:
    at = desk(folder)
    assert "the plan was not tried" in page(publish.ROOM, at)
    with pytest.raises(InputError):
        do(publish.ROOM, "write", at)
    tried(at)
    assert "Write the release" in page(publish.ROOM, at)
    at.edit("other", lambda text: text.replace("k = 5", "k = 7"))
    assert "were changed since they were last tried" in page(publish.ROOM, at)
    with pytest.raises(InputError):
        do(publish.ROOM, "write", at)
    tried(at)
    people(folder, 70)  # other data
    assert "were changed since they were last tried" in page(publish.ROOM, at)
    with pytest.raises(InputError):
        do(publish.ROOM, "write", at)
    assert not (folder / "out").exists()


def test_the_task_itself_publishes_no_other_plan(folder: Path) -> None:
    at = tried(desk(folder))
    trial = at.last("protect")
    assert trial is not None
    at.edit("other", lambda text: text.replace("k = 5", "k = 7"))
    at.start("publish", "writing", {"trial": trial.name})
    job = at.last("publish")
    assert job is not None
    assert job.state == "failed"
    assert "are not those of the trial" in job.error["message"]
    at.start("publish", "writing", {"trial": "../00001-protect"})
    assert "no such trial" in at.last("publish").error["message"]  # type: ignore[union-attr]
    assert not (folder / "out").exists()


def test_a_refused_plan_is_not_published(folder: Path) -> None:
    at = desk(folder, PLAN.replace("k-anonymity = 5", "k-anonymity = 30"))
    do(protect.ROOM, "run", at)
    assert "was refused" in page(publish.ROOM, at)
    with pytest.raises(InputError):
        do(publish.ROOM, "write", at)


def test_a_release_that_is_there_is_replaced_only_when_asked(folder: Path) -> None:
    at = published(desk(folder))
    old = (folder / "out.private" / "seed.json").read_bytes()
    tried(at)
    assert "Already there: out, out.private." in page(publish.ROOM, at)
    with pytest.raises(InputError, match="already"):
        do(publish.ROOM, "write", at)
    assert (folder / "out.private" / "seed.json").read_bytes() == old
    do(publish.ROOM, "write", at, replace="yes")
    assert at.last("publish").state == "done"  # type: ignore[union-attr]
    assert (folder / "out.private" / "seed.json").read_bytes() != old


def test_people_who_were_published_before_need_a_reason(folder: Path) -> None:
    at = published(desk(folder, PERSON))
    at.edit("another folder", lambda text: text.replace('"out"', '"second"'))
    do(protect.ROOM, "run", at)
    shown = page(protect.ROOM, at)
    assert "These people were published before" in shown
    assert 'name="reason"' in shown
    with pytest.raises(InputError):
        do(protect.ROOM, "exception", at, reason="  ")
    do(protect.ROOM, "exception", at, reason="the same <b>people</b>")
    assert tomllib.loads(at.text)["output"]["ledger-exception"] == "the same <b>people</b>"
    job = at.current("protect")
    assert job is not None
    assert job.state == "done", job.error
    do(publish.ROOM, "write", at)
    assert "the same &lt;b&gt;people" in (folder / "second" / "report.html").read_text()
    names = [path.name for path in placed.releases(at)]
    assert names == ["out", "second"]


def test_a_conflict_that_comes_meanwhile_asks_for_the_reason_at_once(folder: Path) -> None:
    at = tried(desk(folder, PERSON))
    shutil.copy(folder / "plan.toml", folder / "elsewhere.toml")
    assert sfumato("protect", "elsewhere.toml", "--output", "first") == 0
    do(publish.ROOM, "write", at)
    shown = page(publish.ROOM, at)
    assert "It was not written" in shown
    assert 'name="exception"' in shown
    do(publish.ROOM, "write", at, exception="both are needed")
    assert (folder / "out" / "data.csv").exists()
    assert "both are needed" in (folder / "out" / "report.html").read_text()


def test_it_is_told_what_is_written_where(folder: Path) -> None:
    at = tried(desk(folder))
    shown = page(publish.ROOM, at)
    assert f"{folder / 'out'}/" in shown
    assert f"{folder / 'out.private'}/" in shown
    assert str(folder / "sfumato.ledger") in shown
    assert "random order" in shown
    assert not (folder / "sfumato.ledger").exists()
    do(publish.ROOM, "write", at)
    for half in ("out", "out.private"):
        for path in (folder / half).rglob("*"):
            if path.is_file():
                assert path.relative_to(folder / half).as_posix() in shown
                assert path.name in placed._SENTENCES or path.name in placed._PRIVATE or (
                    half == "out" and path.name == "data.csv"
                )  # fmt: skip


def test_public_downloads_are_of_the_public_folder_alone(folder: Path) -> None:
    at = tried(desk(folder))
    file = publish.ROOM.files["public"]
    with pytest.raises(SfumatoError):  # a trial is not public
        file(Asked(at, {"release": "0", "file": "0"}))
    do(publish.ROOM, "write", at)
    addresses = re.findall(
        r"publish/file/public\?release=(\d+)&amp;file=(\d+)", page(publish.ROOM, at)
    )
    assert len(addresses) == 3
    for release, number in addresses:
        sent = file(Asked(at, {"release": release, "file": number}))
        assert sent.download in ("data.csv", "report.html", "evidence.json")
        assert sent.body == (folder / "out" / sent.download).read_bytes()
        assert not sent.framed
    for query in ({"release": "0", "file": "3"}, {"release": "1", "file": "0"}, {"file": "-1"}):
        with pytest.raises(SfumatoError):
            file(Asked(at, query))
    (folder / "out" / "zz").symlink_to(folder / "out.private" / "seed.json")
    with pytest.raises(SfumatoError):
        file(Asked(at, {"release": "0", "file": "3"}))


def test_a_release_that_was_changed_does_not_hold(folder: Path) -> None:
    at = published(desk(folder))
    assert "It holds" in page(publish.ROOM, at)
    (folder / "out" / "data.csv").write_text("age\n1\n")
    do(publish.ROOM, "verify", at, number="0")
    assert "It does not hold" in page(publish.ROOM, at)


def test_another_release_of_the_same_data_is_listed_and_strangers_are_not(folder: Path) -> None:
    at = desk(folder)
    assert sfumato("protect", "plan.toml", "--output", "before") == 0
    shutil.copytree(folder / "before", folder / "orphan")
    (folder / "empty").mkdir()
    assert [path.name for path in placed.releases(at)] == ["before"]
    assert "Nobody has checked it" in page(publish.ROOM, at)
    do(publish.ROOM, "verify", at, number="0")
    assert "It holds" in page(publish.ROOM, at)


def test_options_of_the_output_are_words_of_the_plan(folder: Path) -> None:
    at = desk(folder)
    do(publish.ROOM, "output", at, output__path="there", output__format="parquet",
       output__shuffle__there="")  # fmt: skip
    assert tomllib.loads(at.text)["output"] == {
        "path": "there",
        "format": "parquet",
        "shuffle": False,
    }
    assert "# what the office decided" in at.text
    assert "stay in the order of your data" in page(publish.ROOM, at)


def test_what_does_not_fit_into_memory_is_written_at_once(folder: Path) -> None:
    text = PLAN.replace("[columns]", '[engine]\nuse = "duckdb"\n\n[columns]', 1)
    at = desk(folder, text.replace('path = "out"', 'path = "out"\nformat = "parquet"'))
    do(protect.ROOM, "run", at)
    assert "publish it at once" in page(protect.ROOM, at)
    shown = page(publish.ROOM, at)
    assert "there is no trial" in shown
    do(publish.ROOM, "write", at)
    job = at.last("publish")
    assert job is not None
    assert job.state == "done", job.error
    assert "It holds" in page(publish.ROOM, at)


def test_a_table_has_its_own_words(folder: Path) -> None:
    at = desk(folder, TABLE)
    shown = page(protect.ROOM, at)
    assert "always there" not in shown
    assert "Open Tables" in shown
    published(at)
    shown = page(protect.ROOM, at)
    assert "every requirement is met" in shown
    assert "look closer at" in shown
