"""One studio and one Chromium for all tests of this folder; each has folders, pages and cookies of
its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sfumato.data.generators import hospital
from sfumato.data.io import write
from tests.studio.browser.driving import Registers, Seat, Seats, Served, chromium, flags, missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RECORDS = 600
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here drives a browser."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or another that is installed."""
    if why := missing():
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as made:
        found = made.chromium.launch(executable_path=chromium(), args=[*flags()])
        yield found
        found.close()


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A register of patients who do not exist."""
    path = tmp_path_factory.mktemp("data") / "register.csv"
    write(hospital(RECORDS, seed=3), path)
    return path


@pytest.fixture(scope="session")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The studio that tests share; each works in a folder of its own."""
    made = Served(tmp_path_factory.mktemp("studio"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def registers(served: Served, data: Path) -> Registers:
    """Files and plans in the folder of that studio."""
    return Registers(served.root, data)


@pytest.fixture
def own(browser: Browser, tmp_path: Path) -> Iterator[Served]:
    """A studio that a test has to itself, to kill it for one."""
    made = Served(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def seats(browser: Browser) -> Iterator[Seats]:
    """Pages; a test fails for whatever one of them did that it must not."""
    made = Seats(browser)
    yield made
    made.close()
    made.check()


@pytest.fixture
def seat(seats: Seats, served: Served) -> Seat:
    """A page of the shared studio, let in."""
    return seats.seat(served)
