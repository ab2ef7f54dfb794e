"""What tests of the studio share: rooms asked without a server, and work done at once."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.data.generators import hospital
from sfumato.data.io import write
from sfumato.release.plan.draft import draft_plan
from sfumato.studio import jobs, worker
from sfumato.studio.desk import Desk

RECORDS = 600


class _Ended:
    """The process of work that was done before anybody could ask for it."""

    def poll(self) -> int:
        return 0


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is done in this process, when it is asked for."""

    def begun(folder: Path, asked: str) -> _Ended:
        (folder / jobs.ASKED).write_text(asked, encoding="utf-8")
        worker.work(folder)
        return _Ended()

    monkeypatch.setattr(jobs, "_begun", begun)


@pytest.fixture
def register(tmp_path: Path) -> Desk:
    """The desk of a drafted plan for a register of patients."""
    write(hospital(RECORDS, seed=3), tmp_path / "register.csv")
    text = draft_plan(str(tmp_path / "register.csv"), path="register.csv", output="out")
    (tmp_path / "register.toml").write_text(text, encoding="utf-8")
    return Desk(tmp_path / "register.toml")


class Visitor:
    """A browser without script: pages by their addresses, forms by what they are called."""

    def __init__(self, root: Path) -> None:
        from starlette.testclient import TestClient

        from sfumato.studio.app import Studio
        from sfumato.studio.folder import Folder

        self.studio = Studio(Folder(root))
        app = self.studio.app(token="token", hosts=["studio"], port=8000)
        self.client = TestClient(app, base_url="http://studio:8000", follow_redirects=True)
        self.client.headers["origin"] = "http://studio:8000"
        self.client.cookies.set("sfumato-8000", "token")

    def see(self, desk: Desk, place: str) -> str:
        """A page, as text."""
        self.studio.folder.desk(desk.path)
        found = self.client.get(f"/plan/{desk.key}/{place}")
        assert found.status_code == 200, found.text
        return found.text

    def send(self, desk: Desk, action: str, **words: Any) -> Any:
        """Send a form; what comes of it, with the page that follows."""
        files = words.pop("files", None)
        back = words.pop("back", f"/plan/{desk.key}/{action.partition('/')[0]}")
        data = {"version": desk.version, "back": back, **words}
        self.studio.folder.desk(desk.path)
        return self.client.post(f"/plan/{desk.key}/{action}", data=data, files=files)


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """Somebody who looks at the studio of `tmp_path`."""
    return Visitor(tmp_path)


def words_of(page: str) -> str:
    """What a page says, without its marks."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


Reader = Callable[[str], str]


@pytest.fixture
def read() -> Reader:
    """The words of a page's inside."""

    def inside(page: str) -> str:
        found = re.search(r"<main.*?</main>", page, re.S)
        assert found is not None
        return words_of(found[0])

    return inside
