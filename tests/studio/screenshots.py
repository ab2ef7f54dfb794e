"""The pictures of docs/studio.md, taken on the journeys that the tests play.

    python -m tests.studio.screenshots docs/images [--width 1280]

The register is generated, and every seed is fixed, so that the same code gives the same pictures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from sfumato.release.plan.draft import draft_plan
from sfumato.studio.desk import Desk
from tests.studio.browser import journeys
from tests.studio.browser.driving import Seat, Seats, Served, chromium, flags, missing

HEIGHT = 900
_SEEDED = "import secrets\nsecrets.randbits = lambda bits: 20260501 << 70\n"
"""What every process of the studio does first: the seeds of trials are not drawn."""


_FRAMES = "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"


class Pictures:
    """Pictures of the pages that a seat is on."""

    def __init__(self, seat: Seat, folder: Path) -> None:
        self.seat, self.folder = seat, folder

    def take(self, name: str, at: str | int | None = 0) -> None:
        """The window as it is, scrolled to what `at` finds, or by as many pixels."""
        page = self.seat.page
        if isinstance(at, str):
            page.locator(at).first.evaluate(
                "e => e.scrollIntoView({block: 'start', behavior: 'instant'})"
            )
        elif at is not None:
            page.evaluate("at => scrollTo({top: at, behavior: 'instant'})", at)
        # What comes into sight is laid out with the next frame.
        page.evaluate(_FRAMES)
        path = self.folder / f"studio-{name}.png"
        page.screenshot(path=path, animations="disabled", caret="hide")
        smaller(path)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def smaller(path: Path) -> None:
    """With 256 colours, where Pillow is there to do it."""
    if find_spec("PIL") is None:
        return
    from PIL import Image

    with Image.open(path) as found:
        made = found.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    made.save(path, optimize=True)


def play(seat: Seat, data: Path, pictures: Pictures) -> None:
    """All journeys; a picture of each room where it shows the most."""

    def look(name: str) -> None:
        if name == "dropped":
            pictures.take("data", "section.card:has(#questions)")
            seat.page.emulate_media(color_scheme="dark")
            pictures.take("dark")
            seat.page.emulate_media(color_scheme="light")
        elif name == "refused":
            pictures.take("protect", "#run")
        elif name == "hierarchies":
            pictures.take("hierarchies", "h2:has-text('Group the values')")
        elif name == "explore":
            pictures.take(name, 150)
        elif name == "tables":
            pictures.take(name, None)
        elif name == "publish":
            pictures.take(name)

    root = seat.served.root
    file = journeys.patients(data / "patients.csv", odd=True)
    journeys.newcomer(seat, file, look)
    for room in ("Risk", "Utility"):
        seat.room(room).idle()
        pictures.take(room.lower())
    journeys.statistician(seat, drafted(root / "levels", data), look)
    journeys.table_maker(seat, drafted(root / "tables", data), look)


def drafted(folder: Path, data: Path) -> Desk:
    """A folder with a register and its plan."""
    folder.mkdir()
    file = journeys.patients(folder / "patients.csv")
    plan = file.with_suffix(".toml")
    plan.write_text(draft_plan(str(file), path=file.name, output="out"), encoding="utf-8")
    return Desk(plan)


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__, prog="tests.studio.screenshots")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=1280)
    given = parser.parse_args()
    if why := missing():
        sys.exit(why)
    from playwright.sync_api import sync_playwright

    given.folder.mkdir(parents=True, exist_ok=True)
    # Pages show where a release will be written: always at the same place.
    root = Path(tempfile.gettempdir()) / "hospital"
    root.mkdir(mode=0o700)
    aside = Path(tempfile.mkdtemp())
    try:
        (aside / "sitecustomize.py").write_text(_SEEDED, encoding="utf-8")
        found = [str(aside), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(found)
        served = Served(root)
        try:
            with sync_playwright() as made:
                browser = made.chromium.launch(executable_path=chromium(), args=[*flags()])
                seats = Seats(browser)
                seat = seats.seat(served, viewport={"width": given.width, "height": HEIGHT})
                play(seat, aside, Pictures(seat, given.folder))
                seats.close()
                seats.check()
                browser.close()
        finally:
            served.stop()
    finally:
        shutil.rmtree(root)
        shutil.rmtree(aside)


if __name__ == "__main__":
    main()
