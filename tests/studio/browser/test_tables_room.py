"""The room Tables in a browser: for everybody, and what is told of a cell that one comes to."""

from __future__ import annotations

from tests.studio.browser.driving import Registers, Seat


def test_a_cell_tells_by_mouse_and_by_keyboard(seat: Seat, registers: Registers) -> None:
    rules = 'rules = [{ use = "minimum-frequency", minimum = 30 }, "p-percent"]'
    desk = registers.table("cells", f'value = "charges"\n{rules}')
    seat.go(desk, "tables").accessible()
    seat.click("Protect the table").idle()
    cell = seat.page.locator(".peek").first
    tip = seat.page.locator(f"#{cell.get_attribute('aria-describedby')}")
    assert not tip.is_visible()
    cell.hover()
    assert tip.is_visible()
    assert "True value" in tip.inner_text()
    seat.page.mouse.move(0, 0)
    assert not tip.is_visible()
    seat.page.locator("#cube-cells").focus()
    seat.page.keyboard.press("Tab")
    assert tip.is_visible(), "whoever has no mouse reads the same"
    seat.accessible()
    seat.choose("As", "public")
    assert seat.page.locator(".peek").count() == 0
    for leaf in ("methods", "audit"):
        seat.go(desk, f"tables?show={leaf}").accessible()
