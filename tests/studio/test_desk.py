"""A plan on the desk: changes, what is refused, undo, and what happens beside the studio."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.errors import OutputError, PlanError
from sfumato.studio.desk import Conflict, Desk

PLAN = '# mine\n[input]\npath = "a.csv"\n\n[columns]\nage = "quasi"  # known\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "p.toml"
    found.write_text(PLAN)
    return found


def _with(words: str):  # type: ignore[no-untyped-def]
    return lambda text: text + words


def test_a_change_is_written_for_its_owner_alone(path: Path) -> None:
    os.chmod(path, 0o644)
    desk = Desk(path)
    desk.edit("k", _with("# one\n"))
    assert path.read_text() == PLAN + "# one\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert desk.room.stat().st_mode & 0o777 == 0o700
    for one in desk.room.rglob("*"):
        assert not one.stat().st_mode & 0o077


def test_a_room_that_others_could_enter_is_closed(path: Path) -> None:
    room = path.with_suffix(".studio")
    room.mkdir(mode=0o777)
    room.chmod(0o777)
    Desk(path).edit("k", _with("# one\n"))
    assert room.stat().st_mode & 0o777 == 0o700


def test_a_room_that_is_a_link_is_not_written_through(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    path.with_suffix(".studio").symlink_to(other)
    with pytest.raises(OutputError):
        Desk(path).edit("k", _with("# one\n"))
    assert [*other.iterdir()] == []
    assert path.read_text() == PLAN


def test_undo_and_redo_outlast_a_restart(path: Path) -> None:
    desk = Desk(path)
    desk.edit("one", _with("# one\n"))
    desk.edit("two", _with("# two\n"))
    again = Desk(path)
    assert (again.undoable, again.redoable) == ("two", "")
    assert again.undo() == "two"
    assert Desk(path).undo() == "one"
    assert path.read_text() == PLAN
    last = Desk(path)
    assert (last.undoable, last.redoable) == ("", "one")
    assert last.undo() == ""
    assert last.redo() == "one"
    assert Desk(path).redo() == "two"
    assert path.read_text() == PLAN + "# one\n# two\n"


def test_a_change_after_undo_leaves_nothing_to_make_again(path: Path) -> None:
    desk = Desk(path)
    desk.edit("one", _with("# one\n"))
    desk.undo()
    desk.edit("other", _with("# other\n"))
    assert (desk.undoable, desk.redoable) == ("other", "")
    assert desk.redo() == ""
    desk.undo()
    assert path.read_text() == PLAN


def test_an_edit_outside_is_a_change_like_others(path: Path) -> None:
    desk = Desk(path)
    desk.edit("one", _with("# one\n"))
    path.write_text(PLAN + "# by hand\n")
    assert desk.undoable == "a change outside the studio"
    desk.edit("two", _with("# two\n"))
    desk.undo()
    assert path.read_text() == PLAN + "# by hand\n"
    desk.undo()
    assert path.read_text() == PLAN + "# one\n"
    desk.redo()
    assert path.read_text() == PLAN + "# by hand\n"


def test_undoing_an_edit_outside_does_not_lose_it(path: Path) -> None:
    desk = Desk(path)
    desk.edit("one", _with("# one\n"))
    path.write_text(PLAN + "# by hand\n")
    assert desk.undo() == "a change outside the studio"
    assert path.read_text() == PLAN + "# one\n"
    assert desk.redo() == "a change outside the studio"
    assert path.read_text() == PLAN + "# by hand\n"


def test_two_tabs_do_not_overwrite_each_other(path: Path) -> None:
    desk = Desk(path)
    seen = desk.version
    desk.edit("first tab", _with("# first\n"), seen)
    now = path.read_text()
    with pytest.raises(Conflict) as caught:
        desk.edit("second tab", _with("# second\n"), seen)
    assert "+# first" in caught.value.lines
    for move in (desk.undo, desk.redo):
        with pytest.raises(Conflict):
            move(seen)
    assert path.read_text() == now
    desk.edit("second tab", _with("# second\n"), desk.version)
    assert path.read_text().endswith("# first\n# second\n")


def test_what_an_editor_wrote_meanwhile_is_a_conflict_too(path: Path) -> None:
    desk = Desk(path)
    seen = desk.version
    path.write_text(PLAN + "# by hand\n")
    with pytest.raises(Conflict):
        desk.edit("mine", _with("# mine\n"), seen)
    assert path.read_text() == PLAN + "# by hand\n"


@pytest.mark.parametrize(
    "bad",
    ['[[steps]]\nuse = "mondrain"\n', '[columns.sex]\nrole = "qausi"\n', "not toml", "[columns]\n"],
)
def test_a_change_that_would_make_the_plan_wrong_is_refused(path: Path, bad: str) -> None:
    desk = Desk(path)
    with pytest.raises(PlanError):
        desk.edit("bad", _with(bad))
    assert path.read_text() == PLAN
    assert desk.undoable == ""


def test_a_wrong_plan_can_be_mended_step_by_step(path: Path) -> None:
    wrong = PLAN + '[[steps]]\nuse = "mondrain"\n[require]\nk-anonimity = 5\n'
    path.write_text(wrong)
    desk = Desk(path)
    assert len(desk.problems) == 2
    desk.edit("one of two", lambda text: text.replace("mondrain", "mondrian"))
    assert len(desk.problems) == 1
    with pytest.raises(PlanError):
        desk.edit("worse", lambda text: text.replace("mondrian", "mondrain"))


def test_an_edit_that_changes_nothing_is_none(path: Path) -> None:
    desk = Desk(path)
    desk.edit("nothing", lambda text: text)
    assert desk.undoable == ""
    assert not desk.room.exists()


def test_line_ends_and_letters_stay(path: Path) -> None:
    text = PLAN.replace("\n", "\r\n") + "# Zürich\r\n"
    path.write_bytes(text.encode())
    desk = Desk(path)
    desk.edit("one", lambda now: now.replace("known", "known to all"))
    assert path.read_bytes() == text.replace("known", "known to all").encode()
    desk.undo()
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", '{"at": 9, "texts": []}', '{"at": -1, "texts": [{}]}']
)
def test_a_broken_history_is_begun_anew(path: Path, broken: str) -> None:
    desk = Desk(path)
    desk.edit("one", _with("# one\n"))
    (desk.room / "history.json").write_text(broken)
    assert (desk.undoable, desk.redoable) == ("", "")
    desk.edit("two", _with("# two\n"))
    assert desk.undoable == "two"


def test_a_text_that_somebody_changed_in_the_room_is_not_brought_back(path: Path) -> None:
    desk = Desk(path)
    desk.edit("one", _with("# one\n"))
    for one in (desk.room / "texts").iterdir():
        one.write_text("other")
    with pytest.raises(Exception, match="not kept"):
        desk.undo()
    assert path.read_text() == PLAN + "# one\n"


def test_the_history_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.studio.desk._MOST", 4)
    desk = Desk(path)
    for i in range(7):
        desk.edit(f"{i}", lambda text, i=i: PLAN + f"# {i}\n")  # type: ignore[misc]
    assert len([*(desk.room / "texts").iterdir()]) == 4
    undone = [desk.undo() for _ in range(5)]
    assert undone == ["6", "5", "4", "", ""]
    assert path.read_text() == PLAN + "# 3\n"
