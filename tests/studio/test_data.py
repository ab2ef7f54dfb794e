"""The room Data: what is shown of each column, and what its forms write into the plan."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import InputError, SfumatoError
from sfumato.release.looking.columns import RECORDS, figures_of, reading, records
from sfumato.release.plan.doubts import doubts
from sfumato.studio.asked import Asked
from sfumato.studio.desk import Desk
from sfumato.studio.folder import Folder
from sfumato.studio.jobs import ASKED, FAILED, FOUND, Job, seen
from sfumato.studio.rooms import ROOMS, opening
from sfumato.studio.rooms.data import ROOM
from sfumato.studio.rooms.data_look import key, look, roles
from sfumato.studio.tasks import Work, task
from sfumato.studio.worker import _told
from tests.contract.hostile import NAMES, SHOWN


class Desks(Desk):
    """A desk whose work is done here and at once."""

    started: list[str]

    def start(self, kind: str, what: str, words: Any = None) -> Job:
        self.started = [*getattr(self, "started", []), kind]
        self.make_room()
        jobs = self.room / "jobs"
        folder = jobs / f"{len([*jobs.glob('*')]) + 1:05d}-{kind}"
        folder.mkdir(parents=True)
        words = json.loads(json.dumps(words or {}))
        asked = {"kind": kind, "what": what, "words": words, "plan": str(self.path)}
        asked |= {"text": self.text, "input": seen(self.path, self.text)}
        (folder / ASKED).write_text(json.dumps(asked))
        work = Work(folder, self.path, self.text, words, lambda *_: None)
        try:
            (folder / FOUND).write_text(json.dumps(task(kind)(work)))
        except SfumatoError as error:
            (folder / FAILED).write_text(json.dumps(_told(error, work)))
        return Job(folder)


def written(path: Path, head: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def desk_of(file: Path, **told: Any) -> Desks:
    desk = Desks(file.with_suffix(".toml"))
    desk.start("draft", "Reading", {"source": str(file), **told})
    return desk


def page(desk: Desk, **query: str) -> str:
    return str(ROOM.page(Asked(desk, query, here=f"/plan/{desk.key}/data")))


def send(desk: Desk, action: str, **form: Any) -> str | None:
    fields = {k.replace("__", "."): v if isinstance(v, list) else [v] for k, v in form.items()}
    return ROOM.actions[action](Asked(desk, {}, fields, here=f"/plan/{desk.key}/data"))


def columns(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(desk.text)["columns"]
    return found


@pytest.fixture
def desk(tmp_path: Path) -> Desks:
    rows = [
        [f"P{i:03d}", 20 + i % 50, "fm"[i % 2], ["low", "middle", "high"][i % 3], i % 7, 100 + i]
        for i in range(120)
    ]
    for row in rows[:10]:
        row[4] = ""
    return desk_of(written(tmp_path / "r.csv", ["id", "age", "sex", "level", "q", "pay"], rows))


def test_the_draft_gives_the_cards_and_nothing_is_read_twice(desk: Desks) -> None:
    shown = page(desk)
    assert desk.started == ["draft", "check"]
    for name in ("id", "age", "sex", "level", "q", "pay"):
        assert f'id="name-{key(name)}">{name}</h3>' in shown
    assert "7 different values, 10 missing (8.3\xa0%)" in shown
    assert shown.count("<svg") == 6
    assert "style=" not in shown
    assert "Private" in shown


def test_ids_are_unique_and_every_control_has_a_label(desk: Desks) -> None:
    shown = page(desk)
    ids = re.findall(r'[ "]id="([^"]+)"', shown)
    assert len(ids) == len({*ids})
    labelled = {*re.findall(r'<label[^>]* for="([^"]+)"', shown)}
    for control in re.findall(r"<(?:select|input|textarea) [^>]*>", shown):
        if 'type="hidden"' in control or "aria-label=" in control:
            continue
        assert re.search(r' id="([^"]+)"', control).group(1) in labelled  # type: ignore[union-attr]


def test_unsure_ones_come_first_until_somebody_looked(desk: Desks) -> None:
    open_ = doubts(desk.text)
    assert open_
    first = page(desk).split("All other columns")[0]
    for name in open_:
        assert f'id="name-{key(name)}"' in first
    name = next(iter(open_))
    send(desk, "right", column=key(name))
    assert name not in doubts(desk.text)
    assert f"#   {name}: " not in desk.text
    assert "(as you said)" in desk.text
    for left in doubts(desk.text):
        send(desk, "right", column=key(left))
    assert "Please look at" not in page(desk)
    while desk.undoable:
        desk.undo()
    assert doubts(desk.text) == open_


def test_a_role_and_a_kind_are_edits_of_the_plan(desk: Desks) -> None:
    send(desk, "column", column=key("age"), role="confidential", kind="integer")
    assert columns(desk)["age"]["role"] == "confidential"
    assert desk.undoable == "age: role confidential"
    assert 'value="confidential" selected' in page(desk)
    send(desk, "column", column=key("age"), role="undecided", kind="integer")
    assert "role" not in columns(desk)["age"]
    desk.undo()
    assert columns(desk)["age"]["role"] == "confidential"


def test_an_order_has_categories_that_can_be_moved(desk: Desks) -> None:
    send(desk, "column", column=key("sex"), role="", kind="ordinal")
    assert columns(desk)["sex"]["categories"] == ["f", "m"]
    send(desk, "order", column=key("sex"), up="1")
    assert columns(desk)["sex"]["categories"] == ["m", "f"]
    send(desk, "order", column=key("sex"), up="turn")
    assert columns(desk)["sex"]["categories"] == ["f", "m"]
    send(desk, "column", column=key("sex"), role="", kind="nominal")
    assert "categories" not in columns(desk)["sex"]
    before = desk.text
    with pytest.raises(InputError, match="order"):
        send(desk, "column", column=key("pay"), role="", kind="ordinal")
    assert desk.text == before


def test_the_file_is_read_anew_when_a_kind_changed_and_not_for_a_role(desk: Desks) -> None:
    page(desk)
    desk.started = []
    send(desk, "column", column=key("age"), role="confidential", kind="")
    page(desk)
    assert desk.started == []
    send(desk, "column", column=key("q"), role="", kind="nominal")
    page(desk)
    assert "columns" in desk.started
    again = [*desk.started]
    page(desk)
    assert desk.started.count("columns") == again.count("columns")
    assert look(desk).fresh


def test_a_changed_file_is_read_anew(desk: Desks) -> None:
    page(desk)
    desk.started = []
    file = desk.base / "r.csv"
    file.write_text(file.read_text() + "P999,33,f,low,1,7\n")
    assert not look(desk).fresh
    page(desk)
    assert "columns" in desk.started
    assert look(desk).found["records"] == 121


def test_several_columns_at_once(desk: Desks) -> None:
    send(desk, "several", column=[key("age"), key("sex")], role="insensitive", kind="")
    assert {columns(desk)[n]["role"] for n in ("age", "sex")} == {"insensitive"}
    desk.undo()
    assert columns(desk)["age"]["role"] != "insensitive"
    send(desk, "several", which="unsure", right="yes")
    assert doubts(desk.text) == {}
    with pytest.raises(InputError):
        send(desk, "several", role="quasi")
    with pytest.raises(InputError):
        send(desk, "several", column=[key("age")])


def test_whom_the_columns_give_away_follows_the_roles(desk: Desks) -> None:
    page(desk)
    found = look(desk)
    assert found.checked is not None
    assert found.checked["records"] == 120
    assert found.checked["counts"]["q"] == [10, 7]
    shown = page(desk)
    assert "finds" in shown
    send(desk, "column", column=key("age"), role="confidential", kind="")
    assert not look(desk).checked_roles
    assert "Roles were changed since" in page(desk)
    send(desk, "check")
    assert look(desk).checked_roles


def test_an_identifier_gives_nobody_away_since_it_is_left_out(desk: Desks) -> None:
    page(desk)
    checked = look(desk).checked
    assert checked is not None
    assert columns(desk)["id"]["role"] == "identifier"
    assert "id" not in checked["exposure"]["columns"]
    send(desk, "column", column=key("id"), role="insensitive", kind="")
    send(desk, "check")
    checked = look(desk).checked
    assert checked is not None
    assert "refused" in " ".join(checked["exposure"]["columns"]["id"])


def test_the_records_are_fetched_in_slices(desk: Desks) -> None:
    shown = page(desk)
    more = re.search(r'data-more="([^"]+)"', shown)
    assert more is not None
    assert "of=00001-draft&amp;first=100" in more.group(1)
    asked = Asked(desk, {"of": "00001-draft", "first": "100"}, here="")
    rows = ROOM.files["rows"](asked).body.decode()
    assert ">P100</td>" in rows
    assert ">P099</td>" not in rows
    assert "data-more" not in rows
    assert ROOM.files["rows"](Asked(desk, {"of": "../x", "first": "0"})).body == b""
    found = look(desk)
    assert found.job is not None
    assert records(found.job.folder / RECORDS, 5, 1)[0][0] == "P005"
    assert records(found.job.folder / RECORDS, 5, 1)[0][4] is None
    assert len(figures_of(found.job.folder)) == 6


def test_questions_of_the_draft_are_answered_by_edits(tmp_path: Path) -> None:
    rows = [
        [f"A{i}", f"K{i:04d}", [999, *range(1, 40)][i % 40], "abc"[i % 3], "xyz"[i % 3]]
        for i in range(400)
    ]
    head = ["name", "patient_id", "income", "race", "origin"]
    desk = desk_of(written(tmp_path / "q.csv", head, rows))
    page(desk)
    by = {one.about: one for one in look(desk).questions}
    assert {"stand-in", "repeated", "person"} <= {*by}

    def reply(about: str, answer: str, **more: str) -> None:
        found = re.search(r'name="question" value="(\w+)"', page(desk).split(_SAID[about])[1])
        assert found is not None
        send(desk, "answer", question=found.group(1), answer=answer, **more)

    reply("stand-in", "yes")
    said = tomllib.loads(desk.text)
    assert said["input"]["sentinels"]["income"] == [999]
    reply("repeated", "yes")
    said = tomllib.loads(desk.text)
    assert said["steps"][0] == {"use": "drop", "columns": [by["repeated"].columns[0]]}
    reply("person", "yes", person=key("patient_id"))
    assert tomllib.loads(desk.text)["input"]["person"] == "patient_id"
    assert not {"stand-in", "repeated", "person"} & {one.about for one in look(desk).questions}
    desk.undo()
    assert [one.about for one in look(desk).questions].count("person") == 1
    reply("person", "no")
    assert "person" not in tomllib.loads(desk.text)["input"]
    assert "which of" not in desk.text


_SAID = {
    "stand-in": "stand for a missing value?",
    "repeated": "tell nearly the same",
    "person": "from one release to the next?",
}


def test_how_the_file_is_read_is_told_in_a_form(desk: Desks) -> None:
    assert 'name="input.delimiter"' in page(desk)
    form = {
        "input__delimiter": "tab", "input__encoding": "utf-8", "input__header": "0",
        "input__thousands": "2", "input__missing": "-, n/a", "input__sentinels": "-9",
    }  # fmt: skip
    send(desk, "read", **form)
    said = tomllib.loads(desk.text)["input"]
    assert said["delimiter"] == "\t"
    assert said["thousands"] == " "
    assert said["header"] is True
    assert said["missing"] == ["-", "n/a"]
    assert said["sentinels"] == [-9]
    assert 'value="tab" selected' in page(desk)  # after the columns are not found
    send(desk, "read", **dict.fromkeys(form, ""))
    assert tomllib.loads(desk.text)["input"] == {"path": "r.csv"}


def test_columns_that_are_not_in_the_file_are_said_and_drafted_anew(desk: Desks) -> None:
    file = desk.base / "r.csv"
    file.write_text(file.read_text().replace("age", "years", 1))
    shown = page(desk)
    assert look(desk).failed is not None
    assert "age" in shown
    send(desk, "draft")
    assert "Take the new draft" in page(desk)
    assert "years" not in desk.text
    send(desk, "take")
    assert "years" in columns(desk)
    assert desk.undoable == "a new draft"
    shown = page(desk)
    assert "Take the new draft" not in shown
    assert f'id="name-{key("years")}"' in shown


def test_a_failed_draft_can_be_told_how_to_read(tmp_path: Path) -> None:
    file = tmp_path / "two.db"
    with sqlite3.connect(file) as base:
        base.execute("create table people (name text, age int)")
        base.execute("create table visits (id int)")
        base.executemany("insert into people values (?, ?)", [(f"p{i}", i) for i in range(50)])
    base.close()
    desk = desk_of(file)
    waiting = str(opening.drafting(Asked(desk, here=f"/plan/{desk.key}/data")))
    assert '<option value="visits">' in waiting
    send(desk, "draft", input__table="people")
    assert tomllib.loads(desk.text)["input"]["table"] == "people"
    assert f'id="name-{key("age")}"' in page(desk)


def test_a_reading_that_fails_of_a_named_part_says_why(tmp_path: Path) -> None:
    file = tmp_path / "two.db"
    with sqlite3.connect(file) as base:
        base.execute("create table people (name text, age text)")
        base.execute("create table visits (id int)")
        base.executemany("insert into people values (?, ?)", [(f"p{i}", "x") for i in range(50)])
    base.close()
    desk = desk_of(file)
    send(desk, "draft", input__table="people")
    send(desk, "column", column=key("age"), kind="integer")
    page(desk)  # begins to read it
    shown = page(desk)
    assert "record 1 holds" in shown
    assert "Which part of it?" not in shown
    assert '<option value="visits">' in shown


def test_the_page_leads_to_its_parts_and_to_the_next_room(desk: Desks) -> None:
    shown = page(desk)
    inside = re.search(r'<nav class="row contents".*?</nav>', shown)
    assert inside is not None
    for place in re.findall(r'href="#([^"]+)"', inside[0]):
        assert shown.count(f'id="{place}"') == 1, place
    assert f'href="/plan/{desk.key}/protect"' in shown
    assert "still to be looked at" in shown
    send(desk, "several", which="unsure", right="yes")
    assert "still to be looked at:" not in page(desk)


def test_a_draft_that_fails_says_why_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_bytes(b"")
    desk = desk_of(file)
    waiting = str(opening.drafting(Asked(desk, here=f"/plan/{desk.key}/data")))
    assert 'role="alert"' in waiting
    assert "→" in waiting
    assert 'name="input.encoding"' in waiting
    assert "Try again" in waiting


def test_people_and_other_columns(desk: Desks) -> None:
    send(desk, "whole", person=key("id"), input__others="drop", input__reference="0.2")
    said = tomllib.loads(desk.text)["input"]
    assert (said["person"], said["others"], said["reference"]) == ("id", "drop", 0.2)
    send(desk, "whole", person="", input__others="undecided", input__reference="")
    assert tomllib.loads(desk.text)["input"] == {"path": "r.csv"}


def test_files_with_hundreds_of_columns_are_tables(tmp_path: Path) -> None:
    names = [f"v{i}" for i in range(90)]
    desk = desk_of(written(tmp_path / "w.csv", names, [[i % 9 for _ in names] for i in range(30)]))
    shown = page(desk)
    first = [one for one in look(desk).columns if one.doubt is not None][:12]
    assert shown.count("<section") < 30
    assert shown.count('<tr class="column">') == 90 - len(first)
    assert f'id="name-{key("v70")}"' in page(desk, column="70")


def test_a_plan_by_hand_is_shown_with_its_roles(tmp_path: Path) -> None:
    written(tmp_path / "r.csv", ["age", "job"], [[20 + i, "ab"[i % 2]] for i in range(50)])
    path = tmp_path / "mine.toml"
    path.write_text('[input]\npath = "r.csv"\nothers = "drop"\n[columns]\nage = "confidential"\n')
    desk = Desks(path)
    page(desk)
    shown = page(desk)
    assert desk.started == ["columns", "check"]
    assert "you made it confidential" in shown
    assert doubts(desk.text) == {}
    send(desk, "column", column=key("job"), role="quasi", kind="nominal")
    assert columns(desk) == {"age": "confidential", "job": {"role": "quasi"}}


def test_a_wrong_plan_starts_nothing_and_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    for text in ("not toml", '[input]\npath = "gone.csv"\n', 'input = 3\ncolumns = "x"\n', "a = 1"):
        path.write_text(text)
        desk = Desks(path)
        assert "not there" in page(desk)
        assert not hasattr(desk, "started")
    assert reading("not toml") == ""
    assert roles("not toml") == roles("")


def test_the_rooms_page_is_made_for_every_hostile_name(tmp_path: Path) -> None:
    names = [name for name in NAMES if "\r" not in name and name.strip()]
    cells = ["<b>", "=1+1", "\x1b[31m", "a"]
    rows = [[cells[(i + j) % 4] for j in range(len(names))] for i in range(40)]
    desk = desk_of(written(tmp_path / "h.csv", names, rows))
    found = look(desk)
    assert len(found.columns) == len(names)
    send(desk, "several", which="all", role="confidential", kind="")
    known = [one.name for one in found.columns if one.found]
    assert {n: words["role"] for n, words in columns(desk).items()} == dict.fromkeys(
        known, "confidential"
    )
    for one in look(desk).columns[::9]:
        send(desk, "column", column=one.key, role="quasi", kind="")
        assert columns(desk)[one.name]["role"] == "quasi"
        shown = page(desk, column=str(one.number))
        assert not any(sign in shown for sign in SHOWN)
        assert "<script>" not in shown
        assert "<b>" not in shown


def test_a_column_that_is_gone_is_no_fault(desk: Desks) -> None:
    for action in ("column", "right", "order"):
        with pytest.raises(InputError):
            send(desk, action, column="nothing")


def test_opening_a_file_drafts_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.studio.folder.Desk", Desks)
    written(tmp_path / "r.csv", ["a"], [[i] for i in range(30)])
    folder = Folder(tmp_path)
    desk = folder.open(tmp_path / "r.csv")
    assert desk.path == tmp_path / "r.toml"
    assert folder.open(tmp_path / "r.csv") is desk
    assert desk.started == ["draft"]  # type: ignore[attr-defined]
    assert ROOMS[0] is ROOM
