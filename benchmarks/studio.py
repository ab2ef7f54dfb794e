"""The studio on a file of 1,000,000 records: first view, clicks while a run goes on, memory.

    python benchmarks/studio.py [--records 1000000] [--rounds 5] [--file FILE] [--json FILE]

A server of its own is started on a generated register (22 columns), and asked by HTTP what a
browser would ask. Records are tried once before, so that every room has something to show; another
trial goes on beside whatever is measured. A click is a form with the page that follows. CPU is that
of the server's process alone, so that it tells what a click costs where others use the machine.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import show

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.studio.browser.driving import ROOMS, Served  # noqa: E402

FIRST, CLICK, MEMORY = 5.0, 0.3, 1 << 30
"""The limits: seconds, seconds, bytes."""
PACE = 0.2
"""Seconds between two looks at work under way."""
PATIENCE = 3600.0
TABLE = """[input]
path = "{path}"
others = "drop"

[columns]
sex = {{ role = "quasi", kind = "nominal" }}
zip = {{ role = "quasi", kind = "nominal" }}

[table]
dimensions = ["sex", "zip"]
rules = ["minimum-frequency"]

[table.protect]
use = "hypercube"

[output]
path = "table-release"
"""


class Machine:
    """The server's process, and somebody who asks it."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.process = psutil.Process(served.process.pid)
        self.client = httpx.Client(
            base_url=served.origin, follow_redirects=True, timeout=120,
            headers={"origin": served.origin},
        )  # fmt: skip

    def cpu(self) -> float:
        """CPU seconds of the process so far, those of its ended threads among them."""
        if sys.platform == "linux":  # the clock of another process
            return time.clock_gettime(~self.process.pid << 3 | 2)
        taken = self.process.cpu_times()
        return float(taken.user + taken.system)

    def answered(self, ask: Callable[[], httpx.Response]) -> str:
        """What is answered, which must be a page."""
        found = ask()
        if found.status_code != 200:
            raise SystemExit(f"{found.url}: {found.status_code}\n{found.text[-2000:]}")
        return found.text


class Plan:
    """One plan of the studio, as a browser has it: its pages and its forms."""

    def __init__(self, machine: Machine, key: str) -> None:
        self.machine, self.at = machine, f"/plan/{key}/"

    def see(self, place: str) -> str:
        """A page."""
        return self.machine.answered(lambda: self.machine.client.get(self.at + place))

    def send(self, action: str, back: str, /, **words: Any) -> str:
        """A form, with the version that the page before it told."""
        found = re.search(r'name="version" value="(\w+)"', self.see(back))
        data = {"version": found[1] if found else "", "back": self.at + back, **words}
        place = self.at + action
        return self.machine.answered(lambda: self.machine.client.post(place, data=data))

    def idle(self) -> None:
        """Wait until nothing is under way."""
        until = time.monotonic() + PATIENCE
        while "data-busy" in self.see("jobs"):
            if time.monotonic() > until:
                raise SystemExit("work that does not end")
            time.sleep(PACE)

    def text(self) -> str:
        """The plan, as the page has it to be changed."""
        page = self.see("data")
        found = re.search(r'<textarea[^>]*id="plan-text"[^>]*>(.*?)</textarea>', page, re.S)
        return "" if found is None else html.unescape(found[1])


@dataclass
class Taken:
    """What a request took, each time."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    size: int = 0


class Meter:
    """Asks, and remembers what it took."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.taken: dict[str, Taken] = {}

    def __call__(self, name: str, ask: Callable[[], str]) -> str:
        cpu, wall = self.machine.cpu(), time.perf_counter()
        text = ask()
        one = self.taken.setdefault(name, Taken())
        one.wall.append(time.perf_counter() - wall)
        one.cpu.append(self.machine.cpu() - cpu)
        one.size = len(text)
        return text

    def form(self, click: str, plan: Plan, action: str, back: str, /, **words: Any) -> str:
        """A form alone is timed, not the page before it."""
        found = re.search(r'name="version" value="(\w+)"', plan.see(back))
        data = {"version": found[1] if found else "", "back": plan.at + back, **words}
        client, place = self.machine.client, plan.at + action
        return self(click, lambda: self.machine.answered(lambda: client.post(place, data=data)))

    def rows(self) -> list[list[str]]:
        """A line each, the slowest last."""
        listed = sorted(self.taken.items(), key=lambda one: statistics.median(one[1].wall))
        return [
            [
                name,
                f"{1000 * statistics.median(one.wall):.0f}",
                f"{1000 * max(one.wall):.0f}",
                f"{1000 * statistics.median(one.cpu):.0f}",
                f"{one.size / 1024:.0f}",
            ]
            for name, one in listed
        ]


def first_view(path: Path) -> tuple[Machine, Plan, dict[str, float]]:
    """Start the studio on a file, and wait for the cards of its columns."""
    begun = time.perf_counter()
    served = Served(path)
    machine = Machine(served)
    found = machine.client.get("/", params={"token": served.token})
    found.raise_for_status()
    taken = {"answers": time.perf_counter() - begun}
    plan = Plan(machine, str(found.url).partition("/plan/")[2].split("/")[0])
    page = found.text
    while 'class="card column' not in page:
        if time.perf_counter() - begun > PATIENCE or "data-busy" not in page:
            raise SystemExit(f"no cards:\n{page[-3000:]}")
        time.sleep(PACE)
        page = plan.see("jobs")
        page = page if "data-busy" in page else plan.see("data")
    taken["cards"] = time.perf_counter() - begun
    taken["cpu"] = machine.cpu()
    return machine, plan, taken


def tried(text: str) -> str:
    """The draft with a step that is soon done, and nothing that a generated register breaks."""
    text = re.sub(r"^exposure = .*$", "exposure = false", text, flags=re.M)
    text = re.sub(r"^admission_type = .*$", 'admission_type = { role = "quasi", kind = "nominal" }',
                  text, flags=re.M)  # fmt: skip
    text += "\n[measures]\nclass-sizes = true\n"
    return re.sub(r"^k = 5$", "k = 50", text, flags=re.M)


def a_round(meter: Meter, plan: Plan, table: Plan) -> None:
    """Every click once. The plan is then as it was."""
    data = plan.see("data")
    for room in ROOMS:
        meter(f"room {room}", lambda room=room: plan.see(room))
    client = meter.machine.client
    for path in ("/static/studio.css", "/static/studio.js", "/files"):
        meter(path, lambda path=path: meter.machine.answered(lambda: client.get(path)))
    meter("work under way", lambda: plan.see("jobs"))
    # data
    keys = re.findall(r'name="column" value="(\w+)"', data)
    assert keys
    meter.form("data: a role", plan, "data/column", "data", column=keys[-1], role="insensitive")
    meter.form("undo", plan, "undo", "data")
    of = re.search(r"data/file/rows\?of=([\w-]+)&amp;first=(\d+)", data)
    if of:
        meter("data: more records", lambda: plan.see(f"data/file/rows?of={of[1]}&first={of[2]}"))
        meter("data: the last records", lambda: plan.see(f"data/file/rows?of={of[1]}&first=9900"))
    for i in (2, 5, 10):
        meter("hierarchies: a column", lambda i=i: plan.see(f"hierarchies?column={i}"))
    # protect
    for name, place in (
        ("protect: requirements", "protect?pick=requirement"),
        ("protect: a requirement", "protect?require=t-closeness"),
        ("protect: search a method", "protect?pick=step"),
        ("protect: a method", "protect?explain=mdav"),
        ("protect: the adviser", "protect?pick=method"),
    ):
        meter(name, lambda place=place: plan.see(place))
    meter.form(
        "protect: require", plan, "protect/add-requirement", "protect?require=l-diversity",
        name="l-diversity", **{"new.at_least": "2", "new.column": "smoker"},
    )  # fmt: skip
    meter.form("undo", plan, "undo", "protect")
    # explore
    for view in ("lattice", "map", "trials"):
        meter(f"explore: {view}", lambda view=view: plan.see(f"explore?view={view}"))
    # risk
    people = "risk?part=people"
    for name, place in (
        ("risk: people", people),
        ("risk: people by another column", f"{people}&by=q0"),
        ("risk: people by SUDA score", f"{people}&by=score&down=yes"),
        ("risk: the last page of people", f"{people}&by=q2&first=900000"),
        ("risk: people of one value", f"{people}&column=1&value=1"),
        ("risk: who is alone", f"{people}&alone=before&by=q5"),
        ("risk: a person", f"{people}&record=0"),
        ("risk: another person", f"{people}&record=777777"),
        ("risk: attacks", "risk?part=attacks"),
    ):
        meter(name, lambda place=place: plan.see(place))
    # utility
    for name, place in (
        ("utility: a pair", "utility?part=pair&a=0&b=1"),
        ("utility: another pair", "utility?part=pair&a=3&b=9"),
        ("utility: a third pair", "utility?part=pair&a=10&b=12"),
        ("utility: correlations", "utility?part=correlations"),
        ("utility: measures", "utility?part=measures"),
        ("utility: a model", "utility?part=model"),
        ("utility: any measure", "utility?part=any"),
    ):
        meter(name, lambda place=place: plan.see(place))
    # tables
    for name, place in (
        ("tables: the cube", "tables?show=table"),
        ("tables: as published", "tables?show=table&as=public"),
        ("tables: further down", "tables?show=table&row=400"),
        ("tables: methods", "tables?show=methods"),
        ("tables: audit", "tables?show=audit"),
    ):
        meter(name, lambda place=place: table.see(place))


def beside(plan: Plan) -> None:
    """See to it that a trial is under way."""
    if "data-busy" not in plan.see("jobs"):
        plan.send("protect/run", "protect")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--starts", type=int, default=3, help="first views to take")
    parser.add_argument("--file", type=Path, help="a register that is there already")
    parser.add_argument("--folder", type=Path, help="where to work; it stays, for another time")
    parser.add_argument("--json", type=Path, help="write every figure to a file, too")
    asked = parser.parse_args()
    if asked.folder is not None:
        asked.folder.mkdir(exist_ok=True)
        print(run(asked.folder, asked))
        return
    with tempfile.TemporaryDirectory(prefix="sfumato-studio-") as folder:
        print(run(Path(folder), asked))


def run(folder: Path, asked: argparse.Namespace) -> str:
    """Everything, as two tables."""
    path = folder / "register.csv"
    if path.exists():
        pass
    elif asked.file is None:
        from sfumato.data.generators import hospital
        from sfumato.data.io import write

        write(hospital(asked.records, seed=1), path)
    else:
        shutil.copy(asked.file, path)
    if path.with_suffix(".toml").exists():  # all was made ready the last time
        machine, plan, taken = first_view(path)
        return ended(machine, asked, path, [taken], lambda: measured(machine, plan, path, asked))
    starts = []
    for i in range(asked.starts):
        machine, plan, taken = first_view(path)
        starts.append(taken)
        if i + 1 < asked.starts:
            machine.served.stop()
            path.with_suffix(".toml").unlink()
            shutil.rmtree(path.with_suffix(".studio"))
    return ended(machine, asked, path, starts, lambda: measured(machine, plan, path, asked))


def ended(
    machine: Machine, asked: argparse.Namespace, path: Path, starts: list[dict[str, float]],
    measure: Callable[[], Meter],
) -> str:  # fmt: skip
    """What was found, and the server ended whatever happens."""
    try:
        meter = measure()
    finally:
        rss, peak = machine.process.memory_info().rss, peak_of(machine.process.pid)
        machine.served.stop()
    return told(asked, path, starts, meter, rss, peak)


def measured(machine: Machine, plan: Plan, path: Path, asked: argparse.Namespace) -> Meter:
    """A trial of the records and one of a table, then all clicks beside another."""
    table = tries(machine, plan, path)
    meter = Meter(machine)
    for _ in range(asked.rounds):  # no trial goes on, or it would be that one's
        meter("publish: the report", lambda: plan.see("publish/file/report"))
    beside(plan)
    a_round(Meter(machine), plan, table)  # what is loaded once
    for _ in range(asked.rounds):
        beside(plan)
        a_round(meter, plan, table)
    return meter


def tries(machine: Machine, plan: Plan, path: Path) -> Plan:
    """Something to look at: a trial of the records, and one of a table, whose plan it is."""
    plan.idle()
    ready = "Nothing to compare yet" not in plan.see("utility")
    if ready:
        return opened(machine)
    plan.send("write", "data", text=tried(plan.text()))
    plan.idle()  # the columns are read anew
    plan.see("data")
    plan.idle()
    (path.parent / "table.toml").write_text(TABLE.format(path=path.name), encoding="utf-8")
    table = opened(machine)
    for one, action, back in ((plan, "protect/run", "protect"), (table, "tables/try", "tables")):
        one.send(action, back)
        one.idle()
    return table


def opened(machine: Machine) -> Plan:
    """The plan of the table."""
    found = machine.client.post("/open", data={"file": "table.toml"})
    return Plan(machine, str(found.url).partition("/plan/")[2].split("/")[0])


def peak_of(pid: int) -> int:
    """The most memory that a process had."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def told(
    asked: argparse.Namespace, path: Path, starts: list[dict[str, float]], meter: Meter,
    rss: int, peak: int,
) -> str:  # fmt: skip
    views = [one["cards"] for one in starts]
    rows = [
        ["answers", f"{statistics.median(one['answers'] for one in starts):.2f} s", ""],
        ["cards are there", f"{statistics.median(views):.2f} s", f"{FIRST:.0f} s"],
        ["cards, the worst", f"{max(views):.2f} s", ""],
        ["the server's CPU until then", f"{statistics.median(o['cpu'] for o in starts):.2f} s", ""],
        ["memory after all clicks", f"{rss / 2**20:.0f} MiB", f"{MEMORY / 2**20:.0f} MiB"],
        ["memory at most", f"{peak / 2**20:.0f} MiB", ""],
    ]
    clicks = meter.rows()
    slow = [row[0] for row in clicks if float(row[1]) > 1000 * CLICK]
    if asked.json:
        every = {name: {"wall": one.wall, "cpu": one.cpu} for name, one in meter.taken.items()}
        asked.json.write_text(json.dumps({"starts": starts, "clicks": every, "rss": rss}))
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    return "\n".join(
        (
            show.table(f"The studio on a file of {size}", ["", "found", "limit"], rows),
            show.table(
                f"Clicks while a trial goes on (limit {1000 * CLICK:.0f} ms)",
                ["click", "wall ms", "worst ms", "CPU ms", "KiB"],
                clicks,
                f"Above the limit: {', '.join(slow) or 'none'}.",
            ),
        )
    )


if __name__ == "__main__":
    main()
