"""Plans, rooms and files that somebody prepared to harm whoever opens them in the studio."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import OutputError
from sfumato.studio import jobs, trust
from sfumato.studio.app import Studio
from sfumato.studio.desk import Desk
from sfumato.studio.folder import Folder
from sfumato.studio.guard import Guard
from sfumato.studio.rooms import ROOMS
from sfumato.studio.widgets import stored
from tests.studio.conftest import Visitor, words_of
from tests.studio.here import PLAN, answered, people

OWN = '[columns]\nage = "quasi"\n[output]\npath = "out"\n'
SECRET = "the neighbour's secret"
Begun = list[str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a studio, with a file of people and something private beside it."""
    (tmp_path / "secret.csv").write_text(f"age,who\n40,{SECRET}\n")
    (tmp_path / "tree.csv").write_text(f"40;{SECRET};*\n")
    folder = tmp_path / "root"
    folder.mkdir()
    people(folder)
    return folder


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Begun:
    """What work was begun; none of it is done."""
    found: Begun = []

    class Process:
        def poll(self) -> int:
            return 0

    def begin(folder: Path, asked: str) -> Any:
        found.append(folder.name)
        (folder / jobs.ASKED).write_text(asked)
        return Process()

    monkeypatch.setattr(jobs, "_begun", begin)
    return found


def plan(root: Path, text: str) -> tuple[Visitor, Desk]:
    (root / "plan.toml").write_text(text)
    visitor = Visitor(root)
    return visitor, visitor.studio.folder.desk(root / "plan.toml")


def looked(visitor: Visitor, desk: Desk, room: str) -> Any:
    return visitor.client.get(f"/plan/{desk.key}/{room}")


# --- what a plan reads when it is merely opened ---

REACHING = {
    "above": '[input]\npath = "../secret.csv"\n' + OWN,
    "absolute": '[input]\npath = "/etc/passwd"\n' + OWN,
    "home": '[input]\npath = "~/.ssh/config.csv"\n' + OWN,
    "link": '[input]\npath = "link.csv"\n' + OWN,
    "database": '[input]\npath = "postgresql://somewhere.example/db"\ntable = "t"\n' + OWN,
    "hierarchy": '[input]\npath = "people.csv"\n' + OWN
    + '[columns.sex]\nrole = "quasi"\nposet = { kind = "hierarchy", path = "../tree.csv" }\n',
    "reference": '[input]\npath = "people.csv"\nreference = "../secret.csv"\n' + OWN,
    "releases": '[input]\npath = "people.csv"\ngiven = ["../../elsewhere"]\n' + OWN,
    "a step's": '[input]\npath = "people.csv"\n' + OWN
    + '[[steps]]\nuse = "safe-harbor"\nsome-file = "../secret.csv"\n',
    "ledger": '[input]\npath = "people.csv"\n' + OWN + 'ledger = "../secret.csv"\n',
    "cluster": '[input]\npath = "people.csv"\n' + OWN
    + '[engine]\nuse = "spark"\nmaster = "sc://somewhere.example"\n',
    "program": '[input]\npath = "people.csv"\n' + OWN
    + '[engine]\nuse = "spark"\nconf = { "spark.pyspark.python" = "./run-me" }\n',
}  # fmt: skip


@pytest.mark.parametrize("how", REACHING)
def test_a_plan_that_reaches_out_of_the_folder_is_asked_about_first(
    root: Path, begun: Begun, how: str
) -> None:
    (root / "link.csv").symlink_to(root.parent / "secret.csv")
    visitor, desk = plan(root, REACHING[how])
    for room in ROOMS:
        found = looked(visitor, desk, room.key)
        assert found.status_code == 200
        assert "outside of the folder" in words_of(found.text), room.key
        assert SECRET not in found.text
        for name in room.files:
            kept = visitor.client.get(f"/plan/{desk.key}/{room.key}/file/{name}")
            assert kept.status_code == 422, name
    for action in ("data/check", "protect/run", "hierarchies/count", "publish/write"):
        found = visitor.send(desk, action)
        assert found.status_code in (404, 422), action
    assert begun == []


def test_what_was_asked_about_is_read_once_it_is_allowed_and_only_that(
    root: Path, begun: Begun
) -> None:
    visitor, desk = plan(root, REACHING["above"])
    page = looked(visitor, desk, "data").text
    assert "../secret.csv" in page
    assert f'action="/plan/{desk.key}/allow"' in page
    # What is allowed is what was looked at: a plan that was changed meanwhile is asked about anew.
    version = desk.version
    desk.path.write_text(REACHING["absolute"])
    assert visitor.send(desk, "allow", version=version).status_code == 422
    assert "outside of the folder" in looked(visitor, desk, "data").text
    desk.path.write_text(REACHING["above"])
    assert visitor.send(desk, "allow", back=f"/plan/{desk.key}/data").status_code == 200
    assert "outside of the folder" not in looked(visitor, desk, "data").text
    assert len(begun) == 1
    desk.path.write_text(REACHING["above"] + 'ledger = "../tree.csv"\n')
    assert "outside of the folder" in looked(visitor, desk, "data").text


def test_nobody_can_allow_it_for_others(root: Path, begun: Begun) -> None:
    """Nothing of it is kept in the folder, which may come from whoever wrote the plan."""
    visitor, desk = plan(root, REACHING["above"])
    visitor.send(desk, "allow")
    assert "outside of the folder" not in looked(visitor, desk, "protect").text
    again = Visitor(root)
    again.studio.folder.desk(desk.path)
    assert "outside of the folder" in looked(again, desk, "protect").text


def test_a_plan_that_stays_inside_is_not_asked_about(root: Path, begun: Begun) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "tree.csv").write_text("f;*\nm;*\n")
    tree = '[columns.sex]\nrole = "quasi"\nposet = { kind = "hierarchy", path = "sub/tree.csv" }\n'
    text = '[input]\npath = "people.csv"\nmissing = ["..", "/", "n/a", "~"]\n' + OWN + tree
    visitor, desk = plan(root, text)
    assert desk.problems == ()
    assert "outside of the folder" not in looked(visitor, desk, "data").text
    assert begun


def test_a_pipe_in_place_of_a_file_holds_nobody_up(root: Path, begun: Begun) -> None:
    os.mkfifo(root.parent / "pipe.csv")
    visitor, desk = plan(root, REACHING["hierarchy"].replace("tree", "pipe"))
    for room in ROOMS:
        assert looked(visitor, desk, room.key).status_code == 200


def test_a_password_is_neither_shown_nor_kept(root: Path, begun: Begun) -> None:
    text = REACHING["database"].replace("//", "//ann:s3cret@") + "# mine\n"
    visitor, desk = plan(root, text)
    for room in ROOMS:
        found = looked(visitor, desk, room.key).text
        assert "s3cret" not in found
        assert "PGPASSWORD" in found
    assert visitor.send(desk, "allow").status_code == 422
    assert visitor.send(desk, "write", text=desk.text + "# more\n").status_code == 422
    assert visitor.send(desk, "data/check").status_code == 422
    assert begun == []
    assert not desk.room.exists()
    # Taken out in an editor, the plan is like any other.
    desk.path.write_text(text.replace(":s3cret", ""))
    assert f'action="/plan/{desk.key}/allow"' in looked(visitor, desk, "data").text


# --- rooms that somebody else prepared ---

Prepare = Callable[[Path, pytest.MonkeyPatch], None]


def _strangers(room: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "geteuid", lambda: room.stat().st_uid + 1)


def _open(room: Path, patch: pytest.MonkeyPatch) -> None:
    room.chmod(0o777)


def _group(room: Path, patch: pytest.MonkeyPatch) -> None:
    (room / "jobs").chmod(0o770)


def _linked(room: Path, patch: pytest.MonkeyPatch) -> None:
    shutil.move(room / "jobs", room.parent / "elsewhere")
    (room / "jobs").symlink_to(room.parent / "elsewhere")


@pytest.mark.parametrize("prepare", [_strangers, _open, _group, _linked])
def test_a_room_that_others_can_have_written_is_not_believed(
    root: Path, begun: Begun, prepare: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, desk = plan(root, PLAN)
    answered(desk, "protect", {"findings": [], "requirements": "<p>All is well", "says": "fine"})
    prepare(desk.room, monkeypatch)
    for room in ROOMS:
        found = looked(visitor, desk, room.key)
        assert found.status_code == 422
        assert "plan.studio" in found.text
        assert "All is well" not in found.text
    assert visitor.send(desk, "undo").status_code == 422
    with pytest.raises(OutputError):
        desk.start("protect", "A trial")
    assert begun == []


def test_a_file_whose_room_others_prepared_is_not_drafted(root: Path, begun: Begun) -> None:
    (root / "people.studio" / "jobs").mkdir(parents=True)
    (root / "people.studio").chmod(0o777)
    with pytest.raises(OutputError):
        Folder(root).open(root / "people.csv")
    assert begun == []


def test_where_files_have_no_modes_the_room_is_taken(
    root: Path, begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a stick, say, where everything is everybody's and nothing else can be said."""
    visitor, desk = plan(root, PLAN)
    answered(desk, "protect", {})
    desk.room.chmod(0o777)
    monkeypatch.setattr(trust, "_has_modes", lambda folder: False)
    assert looked(visitor, desk, "data").status_code == 200


HARMFUL = (
    "<script>x()</script>",
    "<SCRIPT src='/x'></SCRIPT>",
    '<p onclick="x()">a</p>',
    '<form action="/plan/k/publish/write" method="post"><button type="submit">Go</button></form>',
    '<a href="https://evil.example/">a</a>',
    '<a href="javascript:x()">a</a>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example/?">',
    '<iframe srcdoc="&lt;p&gt;"></iframe>',
    '<img src="/x">',
    "<base href='https://evil.example/'>",
    '<svg><use href="https://evil.example/x#y"/></svg>',
    '<svg><a href="https://evil.example"><text>a</text></a></svg>',
    '<p style="position:fixed">a</p>',
    '<p class="a"onclick="x()">a</p>',
    "<p class=a>a</p>",
    '<p class="a>a</p><script x="">',
    "<!-- <p>-->",
    "<![CDATA[x]]>",
    "<p",
    "<p/onclick=x>",
    '<input name="text" value="x">',
    "</main><main>",
    "<style>p{}</style>",
    '<button formaction="/x">a</button>',
)


@pytest.mark.parametrize("harmful", HARMFUL)
def test_pages_that_a_job_left_ready_do_nothing_but_show(harmful: str) -> None:
    page = stored(f'<p class="x">before</p>{harmful}')
    assert "<" not in page
    assert "before" in page


def test_what_jobs_leave_is_shown_as_it_was_made() -> None:
    made = (
        '<table class="data"><caption>a &lt; b</caption><thead><tr><th scope="col">c</th></tr>'
        '</thead><tbody><tr><td class="n">1</td></tr></tbody></table>'
        '<figure><svg viewBox="0 0 1 1" role="img" aria-labelledby="t"><title id="t">t</title>'
        '<g fill="none"><path d="M0 0"></path><rect width="1" height="1"/></g></svg></figure>'
    )
    assert stored(made) == made


def test_a_trial_that_somebody_wrote_shows_no_forms(root: Path, begun: Begun) -> None:
    visitor, desk = plan(root, PLAN)
    evil = '<form action="/plan/x/publish/write"><button>Click me</button></form>'
    kept = {"attacks": evil, "exposure": evil, "correlations": evil, "measures": evil}
    told = {"findings": [], "headlines": [], "notes": [], "requirements": evil, "records": {}}
    answered(desk, "protect", {**told, "risk": kept, "utility": kept})
    for room in ROOMS:
        assert "<button>Click me" not in looked(visitor, desk, room.key).text, room.key


# --- errors ---


def _deep(many: int = 20_000) -> str:
    return "[" * many + "]" * many


def test_what_is_nested_without_end_is_told_with_the_plan(root: Path, begun: Begun) -> None:
    visitor, desk = plan(root, f'{PLAN}\n[[steps]]\nuse = "x"\nv = {_deep()}\n')
    for room in ROOMS:
        found = looked(visitor, desk, room.key)
        assert found.status_code in (200, 422), room.key
        assert 'id="plan-text"' in found.text, "it cannot be mended"


def test_names_that_no_file_can_have_are_told_with_the_plan(root: Path, begun: Begun) -> None:
    long = "y" * 5000
    for text in (
        f'[input]\npath = "{long}"\n[output]\npath = "{long}"\n',
        '[input]\npath = "a\\u0000b"\n[output]\npath = "a\\u0000b"\nledger = "\\u0000"\n',
        '[input]\npath = "people.csv"\n[output]\npath = "/"\n',
        '[input]\npath = "people.csv"\n[output]\npath = "."\n',
    ):
        visitor, desk = plan(root, text)
        for room in ROOMS:
            found = looked(visitor, desk, room.key)
            assert found.status_code in (200, 422), (room.key, text[:60])
            assert 'id="plan-text"' in found.text


def test_damaged_notes_of_jobs_stop_no_page(root: Path, begun: Begun) -> None:
    visitor, desk = plan(root, PLAN)
    for name, file, body in (
        ("00001-protect", "asked.json", '{"kind": ["a"], "words": [1], "what": {"a": 1}}'),
        ("00002-draft", "asked.json", '{"kind": "draft", "words": null}'),
        ("00003-protect", "asked.json", _deep()),
        ("00004-map", "asked.json", '{"kind": "map"}'),
        ("00004-map", "progress.json", '{"done": "x", "of": NaN, "seconds": []}'),
    ):
        (desk.room / "jobs" / name).mkdir(parents=True, exist_ok=True)
        (desk.room / "jobs" / name / file).write_text(body)
    (desk.room / "history.json").write_text(f'{{"at": 0, "texts": {_deep()}}}')
    for folder in (desk.room, desk.room / "jobs"):
        folder.chmod(0o700)
    for room in ROOMS:
        found = looked(visitor, desk, room.key)
        assert found.status_code == 200, room.key


def test_the_progress_of_a_job_is_numbers(root: Path) -> None:
    for body in ('{"done": "x", "of": [], "seconds": null}', '{"done": 1e999, "of": NaN}', "[]"):
        (root / jobs.FAR).write_text(body)
        found = jobs.Job(root).progress
        assert (found["done"], found["of"], found["seconds"]) == (0, 0, 0.0)


def test_a_number_that_is_no_process_is_not_signalled(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 would be all processes of this user."""
    sent: list[int] = []
    monkeypatch.setattr(jobs.Job, "_lives", lambda self: not sent)
    monkeypatch.setattr(jobs, "_signal", lambda number, sign: sent.append(number))
    monkeypatch.setattr(jobs.time, "sleep", lambda seconds: None)
    for number in ("0", "1", "-1", "-77", "9" * 400):
        (root / jobs.PID).write_text(number)
        (root / jobs.ENDED).unlink(missing_ok=True)
        jobs.Job(root).end()
    assert sent == []


def test_names_that_are_no_text_are_not_listed(root: Path) -> None:
    for name in (b"/\xff.csv", b"/\xff.toml"):
        os.close(os.open(os.fsencode(root) + name, os.O_CREAT))
    os.mkdir(os.fsencode(root) + b"/\xffdir")
    page = Visitor(root).client.get("/files")
    assert page.status_code == 200
    assert "people.csv" in page.text
    assert "3 more files" in page.text


def test_a_fault_says_what_may_be_done(
    root: Path, begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, desk = plan(root, PLAN)

    def fault(asked: Any) -> Any:
        raise KeyError("a record's name")

    kept = visitor.studio.rooms["risk"]
    visitor.studio.rooms["risk"] = type(kept)(kept.key, kept.title, kept.about, fault)
    found = looked(visitor, desk, "risk")
    assert found.status_code == 500
    assert "a record's name" not in words_of(found.text)
    assert "plan.studio" in found.text


# --- the door ---


def _door(tmp_path: Path) -> Any:
    from starlette.testclient import TestClient

    door = {"token": "printed", "once": "opened", "hosts": ["127.0.0.1"], "port": 8123}
    made = Studio(Folder(tmp_path)).app(**door)
    return TestClient(made, base_url="http://127.0.0.1:8123", follow_redirects=False)


def test_the_address_that_a_browser_is_started_with_opens_once(tmp_path: Path) -> None:
    """It stands in the list of processes, which everybody on the machine can read."""
    visitor = _door(tmp_path)
    assert visitor.get("/?token=opened").status_code == 303
    visitor.cookies.clear()
    second = visitor.get("/?token=opened")
    assert second.status_code == 403
    assert "set-cookie" not in second.headers
    assert visitor.get("/?token=").status_code == 403
    assert visitor.get("/?token=printed").status_code == 303


def test_only_files_may_be_large(tmp_path: Path) -> None:
    visitor = _door(tmp_path)
    visitor.get("/?token=printed")
    own = {"origin": "http://127.0.0.1:8123"}
    sent = visitor.post("/open", data={"file": "x" * (9 << 20)}, headers=own)
    assert sent.status_code == 413
    text = {"file": (None, "x" * (9 << 20))}
    sent = visitor.post("/open", files=text, headers=own)
    assert sent.status_code == 400


def test_the_door_is_shut_to_whoever_has_a_header_twice(tmp_path: Path) -> None:
    visitor = _door(tmp_path)
    cookie = visitor.get("/?token=printed").headers["set-cookie"].partition(";")[0]
    visitor.cookies.clear()
    headers = [("cookie", cookie), ("host", "evil.example"), ("host", "127.0.0.1:8123")]
    assert visitor.get("/files", headers=headers).status_code == 403


def test_guard_takes_no_empty_token() -> None:
    with pytest.raises(ValueError, match="token"):
        Guard(lambda *_: None, token="", hosts=["127.0.0.1"], port=1, most=1)  # type: ignore[arg-type,return-value]


# --- private things ---


def test_the_seed_stands_on_no_page(
    root: Path, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.studio.tasks import protecting

    seed = 987654321 << 90
    monkeypatch.setattr(protecting, "draw_seed", lambda: seed)
    visitor, desk = plan(root, PLAN)
    visitor.send(desk, "protect/run")
    assert desk.current("protect").state == "done", desk.current("protect").error  # type: ignore[union-attr]
    visitor.send(desk, "publish/write")
    assert desk.last("publish").state == "done"  # type: ignore[union-attr]
    public = [one for one in (root / "out").rglob("*") if one.is_file()]
    assert public
    for one in public:
        assert str(seed).encode() not in one.read_bytes(), one
    for room in ROOMS:
        page = looked(visitor, desk, room.key).text
        assert str(seed) not in page, room.key
        for name in room.files:
            kept = visitor.client.get(f"/plan/{desk.key}/{room.key}/file/{name}?release=0&file=0")
            assert str(seed) not in kept.text, name
    # Nor in a note of a job but the one that is there for it, where nobody else can go.
    for folder in (desk.room, desk.room / "jobs", *(desk.room / "jobs").iterdir()):
        assert not folder.stat().st_mode & 0o077, folder
    for one in desk.room.rglob("*"):
        if one.is_file() and one.name not in ("seed", "seed.json"):
            assert str(seed).encode() not in one.read_bytes(), one
    for number in range(40):
        kept = visitor.client.get(f"/plan/{desk.key}/publish/file/public?release=0&file={number}")
        assert "private" not in kept.headers.get("content-disposition", "")


def test_asked_notes_are_their_owners_alone(root: Path, begun: Begun) -> None:
    _, desk = plan(root, PLAN)
    os.umask(os.umask(0))
    job = desk.start("protect", "A trial")
    assert json.loads((job.folder / jobs.ASKED).read_text())["text"] == PLAN
    assert job.folder.stat().st_mode & 0o077 == 0
