"""A studio of its own process, and somebody before it: what the browser tests drive.

`Served` is `sfumato studio` as it is started from a terminal. `Seat` is one page of the browser: it
counts what is done on it, and remembers everything that a page of the studio must never do.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.release.plan.draft import draft_plan
from sfumato.studio.desk import Desk

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page, Response

ROOMS = ("data", "hierarchies", "protect", "explore", "risk", "utility", "tables", "publish")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SOURCE = Path(__file__).resolve().parents[3] / "src"
WAIT = 60_000
"""Milliseconds after which something is not slow but broken; two busy cores are slow."""
WORK = 300_000
"""The same for work in a process of its own, such as the search for ways out of a refusal."""


def chromium() -> str | None:
    """The browser of this machine."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


# --- the studio ---


class Served:
    """`sfumato studio PATH` in a process of its own."""

    def __init__(self, path: Path, port: int = 0) -> None:
        self.path = path
        self.root = path if path.is_dir() else path.parent
        self.port = port
        self._start()

    def _start(self) -> None:
        paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
        command = "from sfumato.cli import main; main()"
        words = [str(self.path), "--no-open", "--port", str(self.port)]
        # One that ends without telling its address says why on the standard error of the tests.
        self.process = subprocess.Popen(
            [sys.executable, "-c", command, "studio", *words],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self.address = _address(self.process)
        found = re.match(r"(http://[^/]+:(\d+))/", self.address)
        assert found is not None, self.address
        self.origin, self.port = found[1], int(found[2])
        self._wait()

    def _wait(self) -> None:
        """Until it answers: the address is told a moment before."""
        until = time.monotonic() + WAIT / 1000
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    @property
    def token(self) -> str:
        """What opens it."""
        return self.address.partition("token=")[2]

    def kill(self) -> None:
        """End it without a warning, as a crash would."""
        self.process.kill()
        self.process.wait()

    def again(self) -> None:
        """Start it anew at the same port, as its owner would."""
        self.kill()
        self._start()

    def stop(self) -> None:
        """End it as Ctrl-C does, and whatever work it began."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()
        for room in self.root.rglob("*.studio"):
            Desk(room.with_suffix(".toml")).jobs.end()

    def place(self, desk: Desk, place: str = "") -> str:
        """The address of a page of a plan."""
        return f"{self.origin}/plan/{desk.key}/{place}"


def _address(process: subprocess.Popen[str]) -> str:
    """What the terminal says, waited for no longer than a minute."""
    assert process.stdout is not None
    late = threading.Timer(WAIT / 1000, process.kill)
    late.start()
    try:
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                return found[0]
    finally:
        late.cancel()
    raise AssertionError(f"the studio told no address; its exit code is {process.wait()}")


class Registers:
    """Files and drafted plans for tests, each in a folder of its own below that of a studio."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root, self.data = root, data
        self._text = ""

    def file(self, name: str) -> Path:
        """A register of patients in a folder of this name, without a plan."""
        folder = self.root / name
        folder.mkdir()
        return Path(shutil.copy(self.data, folder / "register.csv"))

    def plan(self, name: str) -> Desk:
        """The same with its drafted plan."""
        file = self.file(name)
        self._text = self._text or draft_plan(str(self.data), path="register.csv", output="out")
        plan = file.with_suffix(".toml")
        plan.write_text(self._text, encoding="utf-8")
        return Desk(plan)

    def table(self, name: str, rules: str = 'rules = ["minimum-frequency"]') -> Desk:
        """The plan of a table of the same register."""
        plan = self.file(name).with_name("table.toml")
        plan.write_text(
            '[input]\npath = "register.csv"\n\n'
            f'[table]\ndimensions = ["sex", "ethnicity"]\n{rules}\n'
            '\n[table.protect]\nuse = "hypercube"\n\n[output]\npath = "table-release"\n',
            encoding="utf-8",
        )
        return Desk(plan)


# --- who sits before it ---


class Seat:
    """One page of the browser, and what it must not do."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page, self.served = page, served
        self.actions: list[str] = []
        """What somebody did here: clicks, choices, texts and files; for journeys that count."""
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self._allowed: list[str] = []
        self.watch(page)

    def watch(self, page: Page) -> None:
        """Remember what a page does."""
        page.set_default_timeout(WAIT)
        page.on("request", lambda one: self._asked(one.url))
        page.on("console", lambda one: self._said(one.type, one.text))
        page.on("pageerror", lambda one: self.wrong.append(f"a fault of the page: {one}"))
        page.on("dialog", lambda one: self._dialog(one))
        page.on("popup", lambda one: self.wrong.append(f"a window was opened: {one.url}"))

    def _asked(self, url: str) -> None:
        self.requests.append(url)
        own = url.startswith((f"{self.served.origin}/", "data:", "blob:", "about:"))
        if not own:
            self.wrong.append(f"asked elsewhere: {url}")

    def _said(self, kind: str, text: str) -> None:
        # What the content policy refused is an error of the console, too.
        if kind in ("error", "warning"):
            self.wrong.append(f"{kind} of the console: {text}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def allow(self, text: str) -> None:
        """An error whose text has this is meant, such as "status of 422" of a refused form."""
        self._allowed.append(text)

    def check(self) -> None:
        """Fail for everything that went wrong."""
        left = [one for one in self.wrong if not any(text in one for text in self._allowed)]
        assert not left, "\n".join(left)

    # --- places ---

    def enter(self) -> Seat:
        """Open the address that the terminal printed."""
        self.page.goto(self.served.address)
        return self

    def go(self, desk: Desk, place: str = "data") -> Seat:
        """Open a page of a plan."""
        found = self.page.goto(self.served.place(desk, place))
        assert found is not None
        assert found.ok, f"{place}: {found.status}"
        return self

    def room(self, title: str) -> Seat:
        """Go to a room by the links at the left."""
        self.actions.append(f"go to {title}")
        self.page.locator("#rooms a").filter(has_text=title).click()
        self.page.locator("#work > h1").get_by_text(title, exact=True).wait_for()
        return self.settled()

    # --- deeds that count ---

    def click(self, what: str | Locator, *, role: str = "button", exact: bool = False) -> Seat:
        """Click something: by its name and role, or as it was found."""
        found = what if not isinstance(what, str) else self._named(what, role, exact)
        self.actions.append(f"click {what if isinstance(what, str) else found}")
        found.click()
        return self.settled()

    def _named(self, name: str, role: Any, exact: bool) -> Locator:
        return self.page.get_by_role(role, name=name, exact=exact).first

    def choose(self, label: str | Locator, value: str) -> Seat:
        """Choose one of a list."""
        self.actions.append(f"choose {value} of {label}")
        self._field(label).select_option(value)
        return self.settled()

    def fill(self, label: str | Locator, text: str) -> Seat:
        """Type into a field and leave it."""
        self.actions.append(f"type into {label}")
        field = self._field(label)
        field.fill(text)
        field.dispatch_event("change")
        return self.settled()

    def tick(self, label: str | Locator) -> Seat:
        """Tick a box, or take it away."""
        self.actions.append(f"tick {label}")
        self._field(label).click()
        return self.settled()

    def drag(self, what: Locator, into: Locator) -> Seat:
        """Drag something into something, as a mouse does it."""
        self.actions.append(f"drag {what} into {into}")
        into.scroll_into_view_if_needed()
        what.hover()
        self.page.mouse.down()
        into.hover()
        into.hover()
        with self.page.expect_navigation():
            self.page.mouse.up()
        return self.settled()

    def drop(self, file: Path, selector: str = "[data-drop] input[type=file]") -> Seat:
        """Drop a file on the page."""
        self.actions.append(f"drop {file.name}")
        self.page.set_input_files(selector, file)
        return self.settled()

    def _field(self, label: str | Locator) -> Locator:
        return self.page.get_by_label(label).first if isinstance(label, str) else label

    # --- waiting ---

    def settled(self) -> Seat:
        """Wait until the page is the answer to what was done on it."""
        self.page.wait_for_load_state()
        self.page.locator("html.busy").wait_for(state="detached")
        return self

    def idle(self) -> Seat:
        """Wait until no work is under way, and the page shows what came of it."""
        self.settled()
        self.page.locator("#jobs[data-busy]").wait_for(state="detached", timeout=WORK)
        # What waited for the work is fetched as soon as it is done.
        return self.settled()

    # --- what is there ---

    @property
    def words(self) -> str:
        """What the middle of the page says."""
        return " ".join(self.page.locator("#work").inner_text().split())

    def accessible(self) -> Seat:
        """No serious or critical finding of axe-core, in the light and in the dark."""
        from axe_playwright_python.sync_playwright import Axe

        axe, found = Axe(), []
        for theme in ("light", "dark"):
            self.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            for one in axe.run(self.page).response["violations"]:
                if one["impact"] in ("serious", "critical"):
                    found += [f"{theme}: {told}" for told in _findings(one)]
        self.page.emulate_media(color_scheme="light")
        address = self.page.url.removeprefix(self.served.origin)
        assert not found, "\n".join([address, *found])
        return self


def _findings(one: dict[str, Any]) -> list[str]:
    """The places that break a rule."""
    return [
        f"{one['impact']} {one['id']}: {one['help']}\n    {', '.join(map(str, node['target']))}\n"
        f"    {node['html'][:300]}\n    {node.get('failureSummary', '')}"
        for node in one["nodes"]
    ]


class Seats:
    """Pages of one browser, each watched; `check` them at the end of a test."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.seats: list[Seat] = []
        self.contexts: list[BrowserContext] = []

    def context(self, **options: Any) -> BrowserContext:
        """A browser that knows nothing of the others: no cookie, nothing kept."""
        # What still scrolls is not where it is about to be: nothing glides here.
        usual = {"color_scheme": "light", "reduced_motion": "reduce"}
        given = {"viewport": {"width": 1280, "height": 900}} | usual | options
        made = self.browser.new_context(**given)  # type: ignore[arg-type]
        self.contexts.append(made)
        return made

    def seat(
        self, served: Served, context: BrowserContext | None = None, *, enter: bool = True,
        **options: Any,
    ) -> Seat:  # fmt: skip
        """A page in a context, a new one unless given, let in by the address of the terminal."""
        within = self.context(**options) if context is None else context
        made = Seat(within.new_page(), served)
        self.seats.append(made)
        return made.enter() if enter else made

    def close(self) -> None:
        """Leave everything."""
        for context in self.contexts:
            context.close()

    def check(self) -> None:
        """Fail for everything that any page did wrong."""
        for seat in self.seats:
            seat.check()


def answers(page: Page) -> list[Response]:
    """The answers that a page gets from now on."""
    found: list[Response] = []
    page.on("response", lambda one: found.append(one))
    return found


def missing() -> str:
    """Why there can be no browser here; nothing if there can."""
    from importlib.util import find_spec

    lacking = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
    if lacking:
        return f"{', '.join(lacking)} not installed"
    return "" if chromium() else f"no browser: none of {', '.join(CHROMIUM)} is installed"


def flags() -> Sequence[str]:
    """What Chromium is told: as root it has no sandbox."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return ["--no-sandbox"] if root else []
