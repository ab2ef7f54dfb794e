"""What people do with the studio, from the beginning to the end: tests play it, and the script that
makes the pictures of the docs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from sfumato.data.generators import hospital
from sfumato.data.io import write
from sfumato.studio.desk import Desk
from tests.studio.browser.driving import Seat

RECORDS = 600
NODE = "age 4, sex 0, zip 3, admission_type 1"
"""A node of the lattice of `patients` that keeps what a statistician requires."""
Look = Callable[[str], object]
"""Called with a name wherever there is something to see."""


def nobody(name: str) -> None:
    """Looks at nothing."""


def patients(path: Path, records: int = RECORDS, *, odd: bool = False) -> Path:
    """A small register of patients who do not exist: few columns, so that all ways out of a refusal
    are found soon. An `odd` one has ages of 999, as old systems write them."""
    whole = path.with_name("whole.csv")
    write(hospital(records, seed=3), whole)
    found = pl.read_csv(whole)
    whole.unlink()
    age = 2025 - pl.col("birth_date").str.slice(0, 4).cast(pl.Int64)
    if odd:
        age = pl.when(pl.int_range(pl.len()) % 60 == 7).then(999).otherwise(age)
    chapter = pl.col("diagnoses").str.slice(0, 1)
    found.select(
        "name", age.alias("age"), "sex", "zip", "admission_type",
        chapter.alias("diagnosis"), "charges",
    ).write_csv(path)  # fmt: skip
    return path


def opened(seat: Seat) -> Desk:
    """The plan that the page is of."""
    key = seat.page.url.split("/plan/")[1].split("/")[0]
    plans = seat.served.root.rglob("*.toml")
    return next(desk for path in plans if (desk := Desk(path)).key == key)


def newcomer(seat: Seat, file: Path, look: Look = nobody) -> Desk:
    """Knows the data, not the literature: a file becomes a release, which is refused once."""
    seat.drop(file).idle()
    # The page of the draft asks, and begins to read all records by itself.
    seat.page.locator("#questions").wait_for()
    seat.idle()
    look("dropped")
    seat.click("Yes, missing").idle()
    look("data")
    seat.room("Protect")
    seat.click("Require something more", role="link")
    seat.click("l-diversity", role="link")
    seat.fill("at least", "3").choose("column", "diagnosis")
    seat.click("Require it")
    look("protect")
    seat.click("Try the plan").idle()
    look("refused")
    seat.click("Do this and try again").idle()
    look("released")
    seat.click("publish it", role="link")
    report = seat.page.frame_locator("iframe.report")
    report.get_by_role("heading", level=1).wait_for()
    look("publish")
    seat.click("Write the release").idle()
    look("written")
    return opened(seat)


def statistician(seat: Seat, desk: Desk, look: Look = nobody) -> None:
    """Knows what to look for: levels by hand, another node of the lattice, releases compared."""
    page = seat.page
    seat.go(desk, "explore?view=trials").click("Try the plan as it is").idle()

    # The values of a column in groups: one by the keyboard, one dragged.
    seat.room("Hierarchies").idle()
    seat.click("Take the proposal").idle()
    seat.click("admission_type", role="link")
    seat.click("hierarchy", role="link", exact=True)
    seat.click("Begin with every value on its own").idle()
    group(seat, ("elective",), "planned")
    group(seat, ("emergency",), "not planned")
    into = page.locator("[data-group]").filter(has_text="not planned").last
    seat.drag(page.locator(".chip").filter(has_text="urgent"), into).idle()
    look("hierarchies")

    # Another node than the best, whose groups are larger.
    seat.room("Explore")
    seat.click("The lattice of levels", role="link").click("Search the lattice").idle()
    seat.click(page.locator(f"svg a[aria-label^='{NODE};']"))
    look("explore")
    seat.click("Take this node")
    seat.room("Protect").click("Require something more", role="link")
    seat.click("t-closeness", role="link")
    seat.fill("at most", "0.5").choose("column", "diagnosis").click("Require it")
    seat.click("Try the plan").idle()
    look("t-closeness")

    # The best one all the same; then all three beside one another.
    seat.room("Explore").click("The lattice of levels", role="link").click("Take this node")
    seat.room("Protect").click("Try the plan").idle()
    seat.room("Explore").click("Trials side by side", role="link")
    for box in page.locator("#trials-form input[type=checkbox]").all():
        seat.tick(box)
    seat.click("Compare those that are ticked").idle()
    look("compared")


def group(seat: Seat, values: tuple[str, ...], name: str) -> None:
    """Values into a new group, by the keyboard alone."""
    page = seat.page
    options = page.locator("#values option").all_inner_texts()
    chosen = [text for text in options if text.rsplit(" (", 1)[0] in values]
    seat.actions.append(f"group {name}")
    page.locator("#values").select_option(label=chosen)
    page.locator("#target").select_option("new")
    page.locator("#group-name").fill(name)
    with page.expect_navigation():
        page.locator("#group-name").press("Tab")
        page.get_by_role("button", name="Move", exact=True).press("Enter")
    seat.idle()


def table_maker(seat: Seat, desk: Desk, look: Look = nobody) -> Desk:
    """Publishes tables: from the records to one whose sensitive cells are hidden, and proved."""
    page = seat.page
    seat.go(desk, "tables").tick(page.get_by_label("diagnosis", exact=True))
    seat.tick(page.get_by_label("admission_type", exact=True))
    seat.choose("What its cells tell", "charges")
    seat.click("Draft the table's plan").idle()
    look("rules")
    seat.choose("Another rule", "dominance").click("Add it")
    seat.click("Protect the table").idle()
    page.locator(".peek[aria-label*='sensitive']").nth(2).hover()
    look("tables")
    page.mouse.move(0, 0)
    seat.room("Publish").idle()
    seat.click("Write the release").idle()
    look("written")
    return opened(seat)
