"""`python -m tests.studio.soak --seconds N`: the studio used over and over, and what it keeps.

One server, and somebody who opens every room, changes the plan, takes it back, tries records and a
table, looks at what came of it and ends another try, by plain HTTP. It fails if the server's memory
grew by more than it may, if half of the answers took longer than they may, or if anything was not
answered as it should be.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil

from sfumato.data.generators import hospital
from sfumato.data.io import write
from sfumato.studio.desk import Desk
from tests.studio.browser.driving import ROOMS, Registers, Served

GROWTH = 100 << 20
"""Bytes that the server may keep beyond those after the first round."""
MEDIAN = 0.3
"""Seconds."""
RECORDS = 600
PATIENCE = 300.0
"""Seconds that a try may take on a busy machine."""
LEAVES = ("tables", "tables?show=table", "tables?show=methods", "tables?show=audit")
PLACES = (
    *("hierarchies?column=0", "hierarchies?column=3", "hierarchies?column=5"),
    *("protect?pick=requirement", "protect?pick=step", "protect?pick=method"),
    *("protect?require=t-closeness", "protect?explain=mdav"),
    *("explore?view=lattice", "explore?view=map", "explore?view=trials"),
    *("risk?part=people", "risk?part=people&by=q0", "risk?part=people&alone=before&by=score"),
    *("risk?part=people&record=7", "risk?part=people&column=1&value=1", "risk?part=attacks"),
    *("utility?part=columns", "utility?part=pair&a=0&b=1", "utility?part=pair&a=3&b=5"),
    *("utility?part=correlations", "utility?part=measures", "utility?part=model"),
    *("utility?part=any", "publish", "publish/file/report"),
)
"""What the rooms show of a trial, and where something may be chosen."""
EVERY = 5
"""Rounds after which the records are tried and looked at anew."""


class Failed(Exception):
    """Something was not answered as it should be."""


class User:
    """Somebody who uses the studio without a browser."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.times: list[float] = []
        self.client = httpx.Client(
            base_url=served.origin, follow_redirects=True, timeout=60,
            headers={"origin": served.origin},
        )  # fmt: skip
        self.client.get("/", params={"token": served.token}).raise_for_status()

    def see(self, place: str) -> str:
        """A page."""
        return self._answered(lambda: self.client.get(place), place)

    def page(self, desk: Desk, place: str) -> str:
        """A page of a plan."""
        return self.see(self.served.place(desk, place))

    def send(self, desk: Desk, action: str, back: str, **words: Any) -> str:
        """A form of a plan, as its page would send it."""
        place = self.served.place(desk, action)
        path = place.removeprefix(self.served.origin).removesuffix(action) + back
        data = {"version": desk.version, "back": path, **words}
        return self._answered(lambda: self.client.post(place, data=data), action)

    def _answered(self, ask: Callable[[], httpx.Response], what: str) -> str:
        begun = time.perf_counter()
        answer = ask()
        self.times.append(time.perf_counter() - begun)
        if answer.status_code != 200:
            raise Failed(f"{what}: {answer.status_code}\n{answer.text[-2000:]}")
        return answer.text

    def idle(self, desk: Desk) -> None:
        """Look at the work until it is done, as a page does."""
        until = time.monotonic() + PATIENCE
        while "data-busy" in self.page(desk, "jobs"):
            if time.monotonic() > until:
                raise Failed("work that does not end")
            time.sleep(0.5)


def changed(text: str, turn: int) -> str:
    """The text with another role for a column."""
    role = ("confidential", "insensitive")[turn % 2]
    return re.sub(r'^(sex = \{ role = )"\w+"', rf'\1"{role}"', text, count=1, flags=re.M)


def met(records: Desk) -> None:
    """The drafted plan, so that its trials hold: few records are singled out by three columns."""
    text = re.sub(r"^exposure = .*$", "exposure = false", records.text, flags=re.M)
    records.path.write_text(text, encoding="utf-8")


def a_round(user: User, records: Desk, table: Desk, turn: int) -> None:
    """Everything once."""
    user.see("/files")
    for name in ("studio.css", "studio.js"):
        user.see(f"/static/{name}")
    for room in ROOMS:
        user.page(records, room)
    before = records.text
    for deed in (changed(before, 0), changed(before, 1)):
        user.send(records, "write", "data", text=deed)
        if records.text != deed:
            raise Failed("a change was not written")
        user.page(records, "data")
    for _ in range(2):
        user.send(records, "undo", "data")
    if records.text != before:
        raise Failed("what was changed was not taken back")
    user.send(records, "redo", "data")
    user.send(records, "undo", "data")
    records_tried(user, records, turn)
    # A table: another method each time, so that nothing is known of it.
    method = ("hypercube", "modular-suppression")[turn % 2]
    user.send(table, "tables/method", "tables", use=method)
    user.send(table, "tables/try", "tables")
    for leaf in LEAVES:
        user.page(table, leaf)
    user.idle(table)
    job = table.current("protect")
    if job is None or job.state != "done":
        raise Failed(f"a try came to nothing: {job and (job.state, job.error)}")
    for leaf in (*LEAVES, "tables?show=table&as=public", "tables?show=table&row=39"):
        user.page(table, leaf)
    user.send(table, "tables/compare", "tables?show=methods", method="hypercube", seconds="5")
    last = table.last("compare-tables")
    if last is None:
        raise Failed("nothing was compared")
    user.send(table, "end", "tables", job=last.name)
    if last.state not in ("ended", "done"):
        raise Failed(f"work that was ended is {last.state}")


def records_tried(user: User, records: Desk, turn: int) -> None:
    """What is done with records: now and then a trial, and the rooms that show what it gave."""
    before = records.text
    user.idle(records)
    user.send(
        records, "protect/add-requirement", "protect?require=l-diversity", name="l-diversity",
        **{"new.at_least": "2", "new.column": "smoker"},
    )  # fmt: skip
    if records.text == before:
        raise Failed("a requirement was not added")
    user.send(records, "undo", "protect")
    if turn % EVERY == 0:
        for action, back in (
            ("data/check", "data"),
            ("risk/assess", "risk"),
            ("hierarchies/count", "hierarchies?column=3"),
            ("protect/run", "protect"),
        ):
            user.send(records, action, back)
            user.idle(records)
        job = records.current("protect")
        if job is None or job.state != "done":
            raise Failed(f"a trial came to nothing: {job and (job.state, job.error)}")
    page = user.page(records, "data")
    if found := re.search(r"data/file/rows\?of=([\w-]+)&amp;first=(\d+)", page):
        user.page(records, f"data/file/rows?of={found[1]}&first={found[2]}")
    for place in PLACES:
        user.page(records, place)


def soak(seconds: float, say: Callable[[str], None] = print) -> bool:
    """Use it for so long; whether it held."""
    with tempfile.TemporaryDirectory(prefix="sfumato-soak-") as folder:
        root = Path(folder)
        write(hospital(RECORDS, seed=3), root / "data.csv")
        (root / "studio").mkdir()
        served = Served(root / "studio")
        try:
            return _soaked(served, root / "data.csv", seconds, say)
        finally:
            served.stop()


def _soaked(served: Served, data: Path, seconds: float, say: Callable[[str], None]) -> bool:
    registers = Registers(served.root, data)
    records, table = registers.plan("records"), registers.table("table")
    met(records)
    user, server = User(served), psutil.Process(served.process.pid)
    a_round(user, records, table, 0)  # what is loaded once
    first = server.memory_info().rss
    say(f"   0 min  {first / 2**20:7.1f} MiB after the first round")
    user.times.clear()
    begun = told = time.monotonic()
    turn, held = 0, first
    while time.monotonic() - begun < seconds:
        turn += 1
        a_round(user, records, table, turn)
        if time.monotonic() - told >= 60:
            told = time.monotonic()
            held = server.memory_info().rss
            say(
                f"{(told - begun) / 60:4.0f} min  {held / 2**20:7.1f} MiB  {turn:5,} rounds  "
                f"{len(user.times):7,} answers, half within "
                f"{1000 * statistics.median(user.times):.0f} ms"
            )
    held = server.memory_info().rss
    grown, median = held - first, statistics.median(user.times or [0.0])
    slow = max(user.times, default=0.0)
    say(
        f"{turn:,} rounds, {len(user.times):,} answers: half within {1000 * median:.0f} ms, the "
        f"slowest {1000 * slow:.0f} ms; grown by {grown / 2**20:.1f} MiB"
    )
    if grown > GROWTH:
        say(f"FAILED: it may grow by {GROWTH / 2**20:.0f} MiB")
    if median > MEDIAN:
        say(f"FAILED: half of the answers have to be there within {1000 * MEDIAN:.0f} ms")
    return grown <= GROWTH and median <= MEDIAN


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    asked = parser.parse_args()
    try:
        return 0 if soak(asked.seconds, lambda text: print(text, flush=True)) else 1
    except (Failed, httpx.HTTPError) as error:
        print(f"FAILED: {error}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
