"""What every test may use: benchmark data, golden numbers, and Hypothesis profiles.

Two things are added to pytest itself. ``--no-skips`` turns any skipped test into a failure of the
session, because a comparison with the literature that silently did not run proves nothing. And
every number given to ``golden_record`` is printed in one table at the end, expected beside found
(without ``--no-skips``, only those whose test failed).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sfumato.errors import SfumatoError
from sfumato.models.network import library
from sfumato.release.plan.requirement import Gate
from tests.postgres import empty as empty
from tests.postgres import server as server

REPOSITORY = Path(__file__).resolve().parent.parent

# No deadlines and no complaint about slow drawing: a first call may compile a kernel. The everyday
# run draws few examples, always the same ones in CI; `make nightly` draws many, others every time.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=30,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly", settings.get_profile("default"), max_examples=200, derandomize=False
)
settings.register_profile(
    "thorough", settings.get_profile("default"), max_examples=2000, derandomize=False
)
settings.load_profile(os.environ.get("SFUMATO_HYPOTHESIS", "default"))


# Nothing is kept in the folder of whoever runs the tests.
os.environ["SFUMATO_LEDGER_KEY"] = "the key of tests that protect nobody"

CHECKED = Gate.over
# Everybody is singled out in a table of five people: releases of toys are not checked for it.
Gate.over = lambda gate, requirements: tuple(requirements)  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def exposure_check(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests marked `exposure` release as users do."""
    if "exposure" in request.keywords:
        monkeypatch.setattr(Gate, "over", CHECKED)


NETWORKS = (
    *("tests/models/", "models/impute.py", "test_bayes_loss.py", "test_bayes_inference.py"),
    *("test_j_anonymity.py", "[j-anonymity]", "[bayes-loss]", "[bayes-inference]"),
    *("impute", "test_nothing_to_prepare_is_told"),
    "test_labels_of_a_hierarchy_need_the_original",
)
"""What the names of tests have in common that need pyagrum."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of Bayesian networks skip where pyagrum cannot be loaded, and say why."""
    try:
        library()
    except SfumatoError as error:
        skip = pytest.mark.skip(reason=str(error))
        for item in items:
            if any(part in item.nodeid for part in NETWORKS):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """A function from a benchmark folder's name to its path; the test skips if it is absent."""
    named = os.environ.get("SFUMATO_DATA")
    root = Path(named) if named else REPOSITORY.parent / "shared" / "data"

    def find(folder: str) -> Path:
        path = root / folder
        if not path.is_dir():
            pytest.skip(f"benchmark data not found: set SFUMATO_DATA (looked in {path})")
        return path

    return find


GOLDEN = "golden"


@pytest.fixture
def golden_record(request: pytest.FixtureRequest) -> Callable[[str, object, object], None]:
    """Record ``(name, expected, got)`` for the table printed after the session.

    It only records: the test still asserts, with the tolerance its source deserves. Record first,
    so that a number that does not agree is in the table too.
    """

    def record(name: str, expected: object, got: object) -> None:
        # User properties are part of a test's report, which also crosses from xdist's workers.
        request.node.user_properties.append((GOLDEN, [name, _shown(expected), _shown(got)]))

    return record


def _shown(value: object) -> str:
    # Twelve digits show any disagreement that matters and hide the noise of binary fractions.
    return f"{value:.12g}" if isinstance(value, float) else str(value)


class Ledger:
    """Collects, in the process that reports, the skipped tests and the golden numbers."""

    def __init__(self, *, refuse_skips: bool) -> None:
        self.refuse_skips = refuse_skips
        self.skipped: list[tuple[str, str]] = []
        self.golden: list[tuple[str, str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note_skip(report)
        if report.when == "call":
            outcome = "ok" if report.passed else report.outcome.upper()
            for key, value in report.user_properties:
                if key == GOLDEN and isinstance(value, (list, tuple)):
                    name, expected, got = value
                    self.golden.append((name, expected, got, outcome))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        # A file that is skipped whole, and speaks of no such number, leaves none out.
        file = REPOSITORY / report.nodeid.partition("::")[0]
        if not file.is_file() or GOLDEN in file.read_text(encoding="utf-8"):
            self._note_skip(report)

    def _note_skip(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        # An expected failure is reported as skipped too, but it did run.
        if report.skipped and not hasattr(report, "wasxfail"):
            place = report.longrepr
            reason = place[2] if isinstance(place, tuple) else str(place)
            self.skipped.append((report.nodeid, reason.removeprefix("Skipped: ")))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.refuse_skips and self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        # Beside thousands of other tests the table would bury the failures: the disagreeing alone.
        shown = self.golden if self.refuse_skips else [row for row in self.golden if row[3] != "ok"]
        if shown:
            terminalreporter.section("golden numbers")
            table = [("name", "expected", "got", "test"), *sorted(shown)]
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            for name, expected, got, outcome in table:
                terminalreporter.line(
                    f"{name:<{widths[0]}}  {expected:>{widths[1]}}  {got:>{widths[2]}}  {outcome}"
                )
        if self.refuse_skips and self.skipped:
            terminalreporter.section("skipped, and --no-skips forbids it", red=True)
            for nodeid, reason in self.skipped:
                terminalreporter.line(f"{nodeid}: {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips", action="store_true", help="fail the session if any test was skipped"
    )


def pytest_configure(config: pytest.Config) -> None:
    # The workers of xdist send their reports to the main process, which alone keeps the ledger.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Ledger(refuse_skips=config.getoption("--no-skips")))
