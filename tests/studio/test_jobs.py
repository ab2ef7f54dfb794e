"""Work in processes of its own: it goes on without the server, ends whole, and never gets lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.aside import write_text
from sfumato.errors import InputError
from sfumato.studio import jobs as module
from sfumato.studio.jobs import ASKED, FAR, FOUND, KEPT, Job, Jobs, seen

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and groups of POSIX")

WAITS = """
import pathlib, signal, subprocess, sys, time
folder = pathlib.Path(sys.argv[-1])
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
deaf += "; time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
child.stdout.readline()
(folder / "child").write_text(str(child.pid))
while not (folder / "go").exists():
    time.sleep(0.02)
(folder / "result.json").write_text('{"came": 1}')
child.kill()
"""
"""A worker that waits for a word, beside a process of its own that does not listen."""
PATIENCE = 60.0


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.setattr(module, "WORKER", ("-c", WAITS))
    found = Jobs(tmp_path / "jobs")
    yield found
    found.end()


def start(jobs: Jobs, kind: str = "wait", **words: Any) -> Job:
    job = jobs.start(kind, "waiting", words, jobs.folder.parent / "plan.toml", "")
    until(lambda: (job.folder / "child").exists() and (job.folder / "child").read_text() != "")
    return job


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def lives(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return False
    return state[0] != "Z"


def child_of(job: Job) -> int:
    return int((job.folder / "child").read_text())


def test_a_job_goes_on_without_the_server_and_is_found_by_the_next(jobs: Jobs) -> None:
    job = start(jobs)
    folder = jobs.folder
    del jobs
    other = Jobs(folder)
    assert [one.name for one in other.running()] == [job.name]
    (job.folder / "go").touch()
    until(lambda: Jobs(folder).running() == [])
    found = Jobs(folder).last("wait")
    assert found is not None
    assert found.state == "done"
    assert found.result == {"came": 1}


def test_a_server_that_is_killed_leaves_its_job_running(jobs: Jobs) -> None:
    code = (
        "import sys, pathlib; from sfumato.studio import jobs as m; "
        "m.WORKER = ('-c', sys.argv[2]); folder = pathlib.Path(sys.argv[1]); "
        "m.Jobs(folder).start('wait', 'waiting', {}, folder / 'plan.toml', ''); "
        "print(1, flush=True); sys.stdin.read()"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(jobs.folder), WAITS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    assert server.stdin is not None
    assert server.stdout.readline() == b"1\n"
    server.kill()
    server.wait()
    server.stdout.close()
    server.stdin.close()
    job = jobs.last("wait")
    assert job is not None
    assert job.state == "running"
    (job.folder / "go").touch()
    until(lambda: job.state != "running")
    assert job.state == "done"


def test_ending_a_job_ends_its_whole_group(jobs: Jobs) -> None:
    job = start(jobs)
    assert lives(child_of(job))
    Jobs(jobs.folder).last("wait").end()  # type: ignore[union-attr]
    assert job.state == "ended"
    until(lambda: not lives(child_of(job)))


def test_a_worker_that_was_killed_is_lost(jobs: Jobs) -> None:
    job = start(jobs)
    os.kill(int((job.folder / "pid").read_text()), signal.SIGKILL)
    until(lambda: job.state != "running")
    assert job.state == "lost"
    assert jobs.running() == []
    os.kill(child_of(job), signal.SIGKILL)


def test_at_most_two_at_once(jobs: Jobs) -> None:
    first, second = start(jobs), start(jobs)
    with pytest.raises(InputError, match="waiting and waiting is under way"):
        jobs.start("wait", "waiting", {}, Path("plan.toml"), "")
    with pytest.raises(InputError):  # whoever asks
        Jobs(jobs.folder).start("wait", "waiting", {}, Path("plan.toml"), "")
    assert len([*jobs]) == 2
    first.end()
    third = start(jobs)
    assert {one.name for one in jobs.running()} == {second.name, third.name}


def test_a_job_is_found_by_its_kind_and_words(jobs: Jobs) -> None:
    jobs.folder.mkdir()
    for number, words in ((1, {"a": 1}), (2, {"a": 2}), (10, {"a": 1})):
        folder = jobs.folder / f"{number:05d}-look"
        folder.mkdir()
        write_text(folder / ASKED, json.dumps({"kind": "look", "words": words}), private=True)
    found = jobs.last("look", {"a": 1})
    assert found is not None
    assert found.name == "00010-look"
    assert jobs.last("look", {"a": 3}) is None
    assert jobs.last("other") is None
    assert jobs.named("00002-look") is not None
    assert jobs.named("../00002-look") is None


def test_old_ones_are_swept_away_and_others_stay(jobs: Jobs) -> None:
    jobs.folder.mkdir()
    for number in range(1, KEPT + 4):
        folder = jobs.folder / f"{number:05d}-{'other' if number == 1 else 'wait'}"
        folder.mkdir()
        asked = {"kind": "other" if number == 1 else "wait"}
        write_text(folder / ASKED, json.dumps(asked), private=True)
        write_text(folder / FOUND, "{}", private=True)
    new = start(jobs)
    left = [one.name for one in jobs]
    assert left[0] == new.name
    assert left[-1] == "00001-other"
    assert len(left) == KEPT + 2


def test_what_is_private_is_its_owners_alone(jobs: Jobs) -> None:
    job = start(jobs)
    assert job.folder.stat().st_mode & 0o777 == 0o700
    for one in (ASKED, "pid", "lock"):
        assert (job.folder / one).stat().st_mode & 0o077 == 0


def test_files_that_a_plan_reads_are_seen_and_its_release_is_not(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    text = (
        '[input]\npath = "a.csv"\n[columns]\nx = { poset = { kind = "hierarchy", path = "h.csv" } }'
        '\n[table]\nhierarchies = { region = "r.csv" }\n[output]\npath = "out"\n'
    )
    for name in ("a.csv", "h.csv", "r.csv", "other.csv"):
        (tmp_path / name).write_text("1")
    before = seen(plan, text)
    assert [one[0] for one in before] == ["a.csv", "h.csv", "r.csv"]
    (tmp_path / "out").mkdir()
    (tmp_path / "other.csv").write_text("22")
    assert seen(plan, text) == before
    for name in ("a.csv", "h.csv", "r.csv"):
        (tmp_path / name).write_text("22")
        assert seen(plan, text) != before
        (tmp_path / name).write_text("1")
        os.utime(tmp_path / name, ns=(0, before[0][2]))
        before = seen(plan, text)
    assert seen(plan, "[[[") == []


def test_the_worker_itself(tmp_path: Path) -> None:
    """A job of the real worker: a plan is drafted, and a fault is told."""
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{i % 50},f\n" for i in range(80)))
    jobs = Jobs(tmp_path / "jobs")
    plan = tmp_path / "people.toml"
    good = jobs.start("draft", "drafting", {"source": str(tmp_path / "people.csv")}, plan, "")
    bad = jobs.start("draft", "drafting", {"source": str(tmp_path / "none.csv")}, plan, "")
    until(lambda: not jobs.running())
    assert good.state == "done"
    assert "[columns]" in plan.read_text()
    assert bad.state == "failed"
    assert "none.csv" in bad.error["message"]
    assert json.loads((good.folder / FAR).read_text())["seconds"] >= 0
