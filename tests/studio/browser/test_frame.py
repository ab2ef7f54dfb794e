"""The frame of every page in a browser: opening, undoing, two tabs, no script, for everybody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract.hostile import SHOWN
from tests.studio.browser.driving import ROOMS, Registers, Seat, Seats, Served

CHANGE = "Change the text"


def write_text(seat: Seat, text: str) -> None:
    """Change the plan by hand, in the page."""
    box = seat.page.locator("#plan-text")
    if not box.is_visible():
        seat.page.locator("#plan summary").get_by_text(CHANGE).click()
    box.fill(text)
    seat.click("Keep this text")


def test_a_file_is_opened_and_its_plan_drafted(
    seat: Seat, registers: Registers, served: Served
) -> None:
    file = registers.file("opened")
    assert "Which file shall be published?" in seat.words
    seat.page.goto(f"{served.origin}/files")
    seat.click("opened/", role="link").click("register.csv").idle()
    seat.page.locator("#plan ol.code").wait_for()
    text = file.with_suffix(".toml").read_text()
    assert 'path = "register.csv"' in text
    shown = seat.page.locator("#plan ol.code li").all_inner_texts()
    assert [line.rstrip() for line in text.splitlines()] == [line.rstrip() for line in shown]
    assert "token" not in seat.page.url
    assert served.token not in seat.page.content()
    assert len(seat.actions) == 2


def test_a_file_is_dropped(seat: Seat, served: Served, data: Path, tmp_path: Path) -> None:
    mine = tmp_path / "dropped.csv"
    mine.write_bytes(data.read_bytes())
    seat.drop(mine).idle()
    seat.page.locator("#plan ol.code").wait_for()
    assert (served.root / "dropped.csv").read_bytes() == data.read_bytes()
    # It is there now, and is not overwritten.
    seat.allow("status of 422")
    seat.page.goto(f"{served.origin}/files")
    seat.drop(mine)
    assert "is there already" in seat.words


def test_what_was_done_is_taken_back_and_made_again(seat: Seat, registers: Registers) -> None:
    desk = registers.plan("undone")
    before = desk.text
    seat.go(desk)
    assert seat.page.get_by_role("button", name="Undo").is_disabled()
    write_text(seat, before + "\n# one\n")
    write_text(seat, before + "\n# one\n# two\n")
    seat.click("Undo").click("Undo")
    assert desk.text == before
    seat.click("Redo")
    assert desk.text == before + "\n# one\n"
    assert "Made again: the text by hand" in seat.words


def test_two_tabs_do_not_overwrite_each_other(
    seats: Seats, served: Served, registers: Registers
) -> None:
    desk = registers.plan("twice")
    before = desk.text
    one = seats.seat(served).go(desk)
    other = seats.seat(served, one.page.context, enter=False).go(desk)
    write_text(one, before + "\n# of the first tab\n")
    other.allow("status of 422")
    write_text(other, before + "\n# of the second tab\n")
    assert desk.text == before + "\n# of the first tab\n"
    assert "changed elsewhere" in other.words
    assert "+# of the first tab" in other.words, "what happened meanwhile is shown"
    # Whoever has seen that may go on.
    write_text(other, desk.text + "# of the second tab\n")
    assert desk.text == before + "\n# of the first tab\n# of the second tab\n"


def test_a_reload_keeps_everything(seat: Seat, registers: Registers) -> None:
    desk = registers.plan("reloaded")
    seat.go(desk, "tables")
    write_text(seat, desk.text + "\n# kept\n")
    seat.page.reload()
    plan = seat.page.locator("#plan ol.code").inner_text()
    assert "# kept" in plan
    assert seat.page.url.endswith("/tables")
    assert seat.page.get_by_role("button", name="Undo").is_enabled()
    seat.page.go_back()
    seat.page.go_forward()
    assert "# kept" in seat.settled().page.locator("#plan ol.code").inner_text()


def test_what_is_wrong_with_a_plan_is_told(seat: Seat, registers: Registers) -> None:
    desk = registers.plan("wrong")
    before = desk.text
    seat.allow("status of 422")
    write_text(seat.go(desk), before.replace('use = "mondrian"', 'use = "mondrain"'))
    assert "did you mean 'mondrian'" in seat.words
    assert desk.text == before, "a change that breaks the plan is refused"
    assert seat.page.locator("#plan-text").count() == 1


@pytest.mark.parametrize("room", ROOMS)
def test_everybody_can_use_every_room(seat: Seat, registers: Registers, room: str) -> None:
    desk = registers.plan(f"for-all-{room}")
    seat.go(desk, room).idle().accessible()
    assert seat.page.locator("h1").count() == 1
    # A page is as wide as its window: nothing is cut off on a small one.
    seat.page.set_viewport_size({"width": 800, "height": 900})
    wide = seat.page.locator("html").evaluate("e => e.scrollWidth - e.clientWidth")
    assert wide <= 0, "the page itself never scrolls sideways"


def test_everybody_can_open_a_file(seat: Seat) -> None:
    seat.accessible()
    seat.page.keyboard.press("Tab")
    assert seat.page.locator(":focus").count() == 1


def test_the_theme_is_kept(seat: Seat, registers: Registers) -> None:
    seat.go(registers.plan("dark"))
    root = seat.page.locator("html")
    assert root.get_attribute("data-theme") is None
    seat.page.get_by_role("button", name="Light or dark").click()
    assert root.get_attribute("data-theme") == "dark"
    paper = seat.page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert paper == "rgb(18, 23, 30)"
    seat.page.reload()
    assert root.get_attribute("data-theme") == "dark"


def test_it_works_without_script(seats: Seats, served: Served, registers: Registers) -> None:
    desk = registers.plan("scriptless")
    before = desk.text
    seat = seats.seat(served, java_script_enabled=False).go(desk)
    # A role, by hand in the text, since every room has that.
    confidential = before.replace('sex = { role = "quasi"', 'sex = { role = "confidential"')
    assert confidential != before
    write_text(seat, confidential)
    assert desk.plan.columns["sex"].role == "confidential"
    seat.click("Undo")
    assert desk.text == before
    assert "Taken back" in seat.words
    # A form that the script would send by itself has a button.
    table = registers.table("scriptless-table")
    seat.go(table, "tables").click("Add it")
    assert len(table.plan.table.rules) == 2  # type: ignore[union-attr]


def test_files_with_hostile_names_are_text(
    seat: Seat, served: Served, data: Path, registers: Registers
) -> None:
    name = "<img src=x onerror=alert(1)><b>"
    folder = served.root / "names <script>alert(1)<script>"
    folder.mkdir()
    (folder / f"{name}.csv").write_bytes(data.read_bytes())
    (folder / "turned \u202evsc.exe.csv").write_bytes(b"a,b\n1,2\n")
    seat.page.goto(f"{served.origin}/files")
    seat.click("<script>", role="link")
    assert not any(sign in seat.page.content() for sign in SHOWN)
    assert seat.page.locator("main img, main b, main script").count() == 0
    seat.click("<img src=x").idle()
    seat.page.locator("#plan ol.code").wait_for()
    assert seat.page.locator("img, main b, main script").count() == 0
    for room in ROOMS:
        seat.page.goto(re.sub(r"/[a-z]+$", f"/{room}", seat.page.url))
        seat.idle()
        assert seat.page.locator("img, b, main script").count() == 0, room
        assert not any(sign in seat.page.content() for sign in SHOWN), room
