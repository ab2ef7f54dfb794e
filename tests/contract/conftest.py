"""The fixture that every promise is kept with, and the command that writes the refusals anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from sfumato.attacks import trial
from sfumato.registry import Entry
from tests.contract.promises import Pair, Promises, listed, write_list

REFUSALS = "refusals"


@pytest.fixture(autouse=True)
def few_people_show_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables here are small: attacks say what they found even of few people."""
    monkeypatch.setattr(trial, "FEWEST", 1)


Keeping = Callable[[str, Entry], AbstractContextManager[Promises]]


@pytest.fixture
def keeping(request: pytest.FixtureRequest) -> Keeping:
    """``with keeping("tables", entry) as promises``: settled when the block ends."""
    remake = request.config.getoption("--remake-refusals", default=False)

    @contextmanager
    def kept(check: str, entry: Entry) -> Iterator[Promises]:
        promises = Promises(check, entry.name, None if remake else listed())
        yield promises
        # Part of the test's report, which also crosses from xdist's workers.
        refused = [[on, why] for on, why in promises.refused.items() if why]
        request.node.user_properties.append((REFUSALS, [check, entry.name, refused]))
        promises.settle()

    return kept


class Remaking:
    """Gathers every refusal of the session, and writes the list when all tests have run."""

    def __init__(self) -> None:
        # What was not tried keeps its lines.
        self.found = dict(listed())
        self.failed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed += report.failed
        if report.when == "call":
            for key, value in report.user_properties:
                if key == REFUSALS and isinstance(value, (list, tuple)):
                    check, entry, refused = value
                    for pair in [p for p in self.found if p[:2] == (check, entry)]:
                        del self.found[pair]
                    self.found |= {Pair(check, entry, on): why for on, why in refused}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("refusals")
        if self.failed or terminalreporter.stats.get("skipped"):
            terminalreporter.line("not written: tests failed or were skipped")
        else:
            terminalreporter.line(write_list(self.found))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--remake-refusals",
        action="store_true",
        help="write tests/contract/refusals.tsv anew from what refuses now",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--remake-refusals", default=False) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Remaking())
