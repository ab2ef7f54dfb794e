"""Jobs side by side, what ends them, and a journal that survives it."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, MachineError, MethodError
from sfumato.explore import runner as runner_module
from sfumato.explore.runner import Journal, Runner, digest
from tests.explore.advising.made_up import made_up, options, searched
from tests.explore.works import Job, Worked, Works


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are started for the first jobs, short as they are."""
    monkeypatch.setattr(runner_module, "PATIENCE", 0.0)


JOBS = [Job(i) for i in range(7)]


def done(runner: Runner, jobs: list[Job]) -> dict[int, Worked]:
    return dict(runner.run(jobs))


def test_two_workers_give_what_one_gives() -> None:
    expected = {i: Worked(i * i, (i, (i / 3, 1e-300))) for i in range(7)}
    for workers in (1, 2):
        with Runner(Works(), Worked, workers=workers) as runner:
            assert done(runner, JOBS) == expected
            assert runner.new == 7


def test_what_methods_print_is_no_answer() -> None:
    with Runner(Works(), Worked, workers=2) as runner:
        jobs = [Job(i, "prints") for i in range(3)]
        assert [done(runner, jobs)[i].number for i in range(3)] == [0, 1, 4]


def test_a_worker_that_is_ended_says_how() -> None:
    with Runner(Works(), Worked, workers=2) as runner:
        with pytest.raises(MachineError, match="ended by signal 9, perhaps for want of memory"):
            done(runner, [Job(1), Job(2, "dies"), Job(3)])
        # The others are not waited for in vain, and new ones take their place.
        assert done(runner, [Job(4), Job(5)])[0].number == 16


def test_an_error_in_a_worker_is_told_as_it_is() -> None:
    with Runner(Works(), Worked, workers=2) as runner:
        with pytest.raises(MethodError, match="no such luck") as told:
            done(runner, [Job(1, "fails"), Job(2)])
        assert told.value.remedy == "another number"
        with pytest.raises(RuntimeError, match="Unsendable"):
            done(runner, [Job(3, "odd"), Job(4)])


def test_a_run_that_is_left_in_the_middle_can_be_followed_by_another() -> None:
    """As where time is up on one rung and the next has some of its own."""
    with Runner(Works(), Worked, workers=2) as runner:
        for _ in range(3):
            running = runner.run([Job(i + 10 * runner.new) for i in range(1, 5)])
            next(running)
            running.close()
        assert done(runner, JOBS)[6].number == 36


def test_a_journal_keeps_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    with Runner(Works(), Worked, Journal(path), workers=1) as runner:
        first = done(runner, JOBS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with Runner(Works(), Worked, Journal(path), workers=1) as runner:
        assert done(runner, [*JOBS, Job(9)]) == {**first, 7: Worked(81, (9, (3.0, 1e-300)))}
        assert runner.new == 1
    with Runner(Works("of another table"), Worked, Journal(path), workers=1) as runner:
        assert done(runner, JOBS) == first
        assert runner.new == 7
    assert len(path.read_text().splitlines()) == 15


@pytest.mark.parametrize("left", [0, 1, 30, 69])
def test_a_line_that_was_cut_is_done_again(left: int, tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    with Runner(Works(), Worked, Journal(path), workers=1) as runner:
        expected = done(runner, JOBS)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:left])
    with Runner(Works(), Worked, Journal(path), workers=1) as runner:
        assert done(runner, JOBS) == expected
        assert runner.new == 4
    assert [json.loads(line)["form"] for line in path.read_text().splitlines()] == [1] * 7


def test_what_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text in ("my notes\n", '{"form": 2, "key": "x"}\n', "[1]\n\xff\n"):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(InputError, match=r"notes\.txt is no journal of trials"):
            Journal(path)
        assert path.read_bytes() == text.encode("latin-1")
    path.write_text("")
    assert not Journal(path).known


def test_a_search_that_was_killed_goes_on(tmp_path: Path) -> None:
    found = {f"m{i}": [(0.1 + i / 50 + j / 30, 0.1 - j / 40) for j in range(5)] for i in range(6)}
    expected = searched(made_up(found), options(found))
    path = tmp_path / "trials.jsonl"
    for killed in (1, 5, len(expected.tried) - 1):
        path.unlink(missing_ok=True)
        ground = made_up(found, broken_at=killed)
        with pytest.raises(KeyboardInterrupt):
            searched(ground, options(found), journal=Journal(path))
        path.write_bytes(path.read_bytes() + b'{"form": 1, "key": "ab')
        ground = made_up(found)
        again = searched(ground, options(found), journal=Journal(path))
        assert [one.figures for one in again.tried] == [one.figures for one in expected.tried]
        assert [one.figures for one in again.shown] == [one.figures for one in expected.shown]
        assert again.confirmed == expected.confirmed
        assert len(ground.asked) == again.runner.new
        assert len(ground.asked) <= len(expected.tried) - killed


def test_another_table_has_another_digest() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 3], "ill": ["a", "b", "b", "a"]})
    table = sf.table(frame, quasi=["age"], confidential=["ill"])
    column = table.schema["age"]
    others = [
        sf.table(
            frame.with_columns(age=pl.Series([1, 2, 2, 3])), quasi=["age"], confidential=["ill"]
        ),
        sf.table(frame.reverse(), quasi=["age"], confidential=["ill"]),
        sf.table(frame, quasi=["age", "ill"]),
        sf.table(frame.rename({"age": "old"}), quasi=["old"], confidential=["ill"]),
        sf.table(frame, quasi=["age"], confidential=["ill"], posets={"age": {"kind": "interval"}}),
        table.with_columns([], [replace(column, person=True)]),
    ]
    digests = [digest(one) for one in (table, *others)]
    assert len({*digests}) == len(digests)
    assert digest(sf.table(frame.clone(), quasi=["age"], confidential=["ill"])) == digests[0]
    assert digest(table, 1) != digest(table, 2)
