"""Every room when there is something in it: for eyes, for keyboards, for those who are read to, and
on small windows. What a journey comes by is looked at there."""

from __future__ import annotations

import pytest

from tests.studio.browser import journeys
from tests.studio.browser.driving import ROOMS, Registers, Seat, Served


@pytest.fixture(scope="module")
def people(
    served: Served, registers: Registers, tmp_path_factory: pytest.TempPathFactory
) -> Registers:
    """A small register, and plans of it."""
    data = journeys.patients(tmp_path_factory.mktemp("everybody") / "patients.csv")
    return Registers(registers.root, data)


def looked_at(seat: Seat) -> None:
    """All that is folded is opened, in both themes; then the window is made small."""
    page = seat.idle().page
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    seat.accessible()
    page.set_viewport_size({"width": 800, "height": 900})
    over = page.locator("html").evaluate("e => e.scrollWidth - e.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert over <= 0, f"{page.url} scrolls sideways by {over}"


def test_every_room_after_a_trial(seat: Seat, people: Registers) -> None:
    desk = people.plan("everybody-tried")
    seat.go(desk, "protect").click("Try the plan").idle()
    for room in ROOMS:
        looked_at(seat.go(desk, room))
        leaves = seat.page.locator(".tabs a:not([aria-current])")
        for place in leaves.evaluate_all("all => all.map(one => one.href)"):
            seat.page.goto(place)
            looked_at(seat)


def test_what_may_be_chosen(seat: Seat, people: Registers) -> None:
    """The long lists, and what is told of one of them."""
    desk = people.plan("everybody-chooses")
    for query in ("pick=requirement", "pick=step", "pick=method", "require=l-diversity",
                  "explain=mondrian"):  # fmt: skip
        looked_at(seat.go(desk, f"protect?{query}"))


def test_a_map(seat: Seat, people: Registers) -> None:
    seat.go(people.plan("everybody-maps"), "explore")
    wanted = {"methods": ["mondrian", "mdav"], "k": ["5", "10"]}
    seat.page.evaluate(
        "wanted => { for (const name in wanted)"
        " for (const box of document.querySelectorAll(`input[name=${name}]`))"
        " box.checked = wanted[name].includes(box.value); }",
        wanted,
    )
    seat.click("Make the map").idle()
    point = seat.page.locator("#work figure svg a").first
    point.wait_for()
    looked_at(seat)
    seat.click(point)
    seat.page.get_by_role("button", name="Take this plan").wait_for()
    looked_at(seat)
