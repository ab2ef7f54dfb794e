"""The door of the studio: who gets in, what is answered, and what may be opened."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from sfumato.errors import InputError, OutputError
from sfumato.studio.app import Studio
from sfumato.studio.asked import Upload
from sfumato.studio.folder import Folder
from sfumato.studio.guard import Guard
from sfumato.studio.server import _taken

TOKEN, PORT = "t0ken", 8123
HERE = f"127.0.0.1:{PORT}"
OWN = {"origin": f"http://{HERE}"}
COOKIE = {"cookie": f"sfumato-{PORT}={TOKEN}"}


def client(folder: Path) -> TestClient:
    app = Studio(Folder(folder)).app(token=TOKEN, hosts=["127.0.0.1", "localhost"], port=PORT)
    return TestClient(app, base_url=f"http://{HERE}", follow_redirects=False)


@pytest.fixture
def stranger(tmp_path: Path) -> TestClient:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    return client(tmp_path)


@pytest.fixture
def known(stranger: TestClient) -> TestClient:
    stranger.headers.update(COOKIE)
    return stranger


def test_the_right_token_becomes_a_cookie_and_leaves_the_address(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    kept = answer.headers["set-cookie"].lower()
    assert f"sfumato-{PORT}={TOKEN}" in kept
    assert "httponly" in kept
    assert "samesite=strict" in kept
    stranger.cookies.clear()
    assert stranger.get("/files", headers=COOKIE).status_code == 200


@pytest.mark.parametrize(
    "address", ["/", "/?token=wrong", "/?token=", "/files", "/static/studio.js"]
)
def test_without_the_token_there_is_nothing(stranger: TestClient, address: str) -> None:
    answer = stranger.get(address)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "cookie",
    [f"sfumato-{PORT}=wrong", f"sfumato-{PORT + 1}={TOKEN}", f"sfumato-{PORT}", '=;;"', "a=\xff"],
)
def test_another_cookie_is_no_token(stranger: TestClient, cookie: str) -> None:
    headers = {"cookie": cookie.encode("latin-1")}
    assert stranger.get("/files", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "localhost:80", ""]
)
def test_other_names_for_this_machine_are_refused(known: TestClient, host: str) -> None:
    assert known.get("/files", headers={"host": host}).status_code == 403


def test_both_of_its_own_names_are_taken(known: TestClient) -> None:
    assert known.get("/files", headers={"host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"https://{HERE}", "http://127.0.0.1:1"]
)
def test_posts_of_other_origins_are_refused(
    known: TestClient, tmp_path: Path, origin: str | None
) -> None:
    headers = {} if origin is None else {"origin": origin}
    answer = known.post("/open", data={"file": "a.csv"}, headers=headers)
    assert answer.status_code == 403
    assert not (tmp_path / "a.studio").exists()


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)],
)
def test_what_other_sites_show_is_refused(known: TestClient, site: str, status: int) -> None:
    assert known.get("/files", headers={"sec-fetch-site": site}).status_code == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(known: TestClient, method: str) -> None:
    assert known.request(method, "/files", headers=OWN).status_code == 403


@pytest.mark.parametrize("address", ["/files", "/static/studio.css", "/nothing", "/plan/none/data"])
def test_every_answer_says_what_the_browser_may_do(known: TestClient, address: str) -> None:
    headers = known.get(address).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_forms_that_are_sent_without_the_script_tell_where_they_come_from(
    known: TestClient,
) -> None:
    # Under "no-referrer" a browser sends Origin: null with them, which is refused.
    assert known.get("/files").headers["referrer-policy"] == "same-origin"


def test_refusals_are_dressed_too(stranger: TestClient) -> None:
    headers = stranger.get("/").headers
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"].startswith("default-src 'none'")


def _small(most: int) -> TestClient:
    async def taken(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    door = Middleware(Guard, token=TOKEN, hosts=["127.0.0.1"], port=PORT, most=most)
    app = Starlette(routes=[Route("/", taken, methods=["POST"])], middleware=[door])
    return TestClient(app, base_url=f"http://{HERE}", headers={**COOKIE, **OWN})


def test_long_bodies_are_not_taken() -> None:
    small = _small(100)
    assert small.post("/", content=b"x" * 100).text == "100"
    assert small.post("/", content=b"x" * 101).status_code == 413
    # Without a length, or with a wrong one, what comes is counted.
    assert small.post("/", content=iter([b"x" * 60, b"x" * 60])).status_code == 413
    assert (
        small.post(
            "/", content=iter([b"x" * 60, b"x" * 60]), headers={"content-length": "9"}
        ).status_code
        == 413
    )


@pytest.mark.parametrize("length", ["-1", "1e3", "x", "²", "9" * 5000])
def test_lengths_that_are_none_are_refused(length: str) -> None:
    answer = _small(100).post("/", content=b"x", headers={"content-length": length.encode("utf-8")})
    assert answer.status_code == 413


# --- files ---

OUTSIDE = ("..", "../a", "../../etc/passwd", "/etc/passwd", "sub/../../x", "a\0b", "x" * 5000)


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_of_the_folder_is_opened(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "a").write_text("")
    with pytest.raises(InputError):
        Folder(root).inside(name)
    page = client(root)
    page.headers.update(COOKIE)
    answer = page.post("/open", data={"file": name}, headers=OWN)
    assert answer.status_code == 422
    assert page.get("/files", params={"folder": name}).status_code == 422
    assert [*root.iterdir()] == []


def test_links_that_lead_out_are_neither_shown_nor_opened(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (root / "secret.csv").symlink_to(tmp_path / "secret.csv")
    (root / "out").symlink_to(tmp_path)
    folder = Folder(root)
    assert folder.listing() == ("", [], [], [], 0)
    for name in ("secret.csv", "out", "out/secret.csv"):
        with pytest.raises(InputError):
            folder.inside(name)


def test_private_folders_and_rooms_are_not_shown(tmp_path: Path) -> None:
    for name in ("r.private", "p.studio", ".git", "data"):
        (tmp_path / name).mkdir()
    assert Folder(tmp_path).listing().folders == ["data"]


def test_what_is_not_listed_is_counted(tmp_path: Path) -> None:
    for i in range(503):
        (tmp_path / f"{i}.csv").touch()
    found = Folder(tmp_path).listing()
    assert (len(found.data), found.beyond) == (500, 3)


class _Given:
    def __init__(self, tmp_path: Path) -> None:
        self.path = tmp_path.parent / "given"
        self.path.write_bytes(b"a,b\n1,2\n")

    def __call__(self, name: str) -> Upload:
        return Upload(name, self.path.open("rb"))


@pytest.mark.parametrize(
    "name", ["../../x.csv", "/etc/x.csv", "..\\x.csv", "...x.csv", "C:\\y\\x.csv"]
)
def test_dropped_files_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    kept = Folder(tmp_path).keep(_Given(tmp_path)(name))
    assert kept == tmp_path / "x.csv"
    assert kept.read_bytes() == b"a,b\n1,2\n"
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name", ["", "..", "/", "x.exe", "a\nb.csv", "a\0b.csv", "x" * 300 + ".csv", "\x1b[2J.csv"]
)
def test_names_that_cannot_be_kept_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        Folder(tmp_path).keep(_Given(tmp_path)(name))
    assert [*tmp_path.iterdir()] == []


def test_nothing_is_overwritten_by_a_dropped_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("mine")
    with pytest.raises(OutputError):
        Folder(tmp_path).keep(_Given(tmp_path)("x.csv"))
    assert (tmp_path / "x.csv").read_text() == "mine"


def test_the_plan_of_a_file_of_the_same_stem_is_not_taken_for_its_own(tmp_path: Path) -> None:
    for name in ("v.csv", "v.xlsx"):
        (tmp_path / name).write_text("a\n1\n")
    (tmp_path / "v.toml").write_text('[input]\npath = "v.csv"\n')
    (tmp_path / "v.xlsx.toml").write_text('[input]\npath = "v.xlsx"\n')
    folder = Folder(tmp_path)
    assert folder.open(tmp_path / "v.csv").path.name == "v.toml"
    assert folder.open(tmp_path / "v.xlsx").path.name == "v.xlsx.toml"


def test_small_answers_do_not_wait_for_more() -> None:
    with _taken("127.0.0.1", 0) as found:
        # asyncio switches Nagle's algorithm off where it knows that it is TCP: else every answer
        # waits 40 ms for an acknowledgement.
        assert found.proto == socket.IPPROTO_TCP
