"""A studio that is killed in mid-run, and started again: nothing is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from sfumato.studio.jobs import PID, Job
from tests.studio.browser.driving import Registers, Seat, Seats, Served


def number_of(job: Job) -> int:
    return int((job.folder / PID).read_text())


def test_a_killed_studio_finds_its_work_again(own: Served, seats: Seats, data: Path) -> None:
    desk = Registers(own.root, data).table("killed")
    seat: Seat = seats.seat(own)
    seat.allow("ERR_CONNECTION_REFUSED")  # the page asks how far the work is, and nobody answers
    seat.allow("Failed to load resource")
    seat.go(desk, "tables").click("Add it")
    changed = desk.text
    seat.click("Protect the table")
    job = desk.last("protect")
    assert job is not None
    # The work waits, so that it is under way whenever the studio is back.
    os.kill(number_of(job), signal.SIGSTOP)
    try:
        assert job.state == "running"
        own.again()
        back = seats.seat(own).go(desk, "tables?show=table")
        assert desk.text == changed
        back.page.locator("#jobs .job").get_by_text("Protecting the table").wait_for()
        assert job.state == "running"
    finally:
        os.kill(number_of(job), signal.SIGCONT)
    back.idle()
    assert job.state == "done"
    assert "What the audit says" in back.words
    back.click("Undo")
    assert desk.text != changed, "what was changed before can be taken back after"


def test_work_that_died_with_the_machine_is_told(own: Served, seats: Seats, data: Path) -> None:
    desk = Registers(own.root, data).table("lost")
    seat = seats.seat(own).go(desk, "tables")
    seat.click("Protect the table")
    job = desk.last("protect")
    assert job is not None
    os.killpg(number_of(job), signal.SIGKILL)
    own.again()
    seat.allow("ERR_CONNECTION_REFUSED")
    seat.allow("Failed to load resource")
    back = seats.seat(own).go(desk, "tables?show=table").idle()
    if job.state == "lost":
        assert "ended without a word" in back.words
    assert back.page.get_by_role("button", name="Protect the table").is_enabled()


def test_work_is_ended(seats: Seats, served: Served, registers: Registers) -> None:
    desk = registers.table("ended")
    seat = seats.seat(served).go(desk, "tables")
    seat.click("Protect the table")
    job = desk.last("protect")
    assert job is not None
    os.kill(number_of(job), signal.SIGSTOP)
    try:
        seat.click("End it").idle()
    finally:
        if job.state == "running":
            os.kill(number_of(job), signal.SIGCONT)
    assert job.state == "ended"
    assert "was ended before it was done" in seat.words
