"""Every registered thing is declared, documented, reachable, and checked by an oracle or a
golden number."""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.catalogue import FILE, ROOMS, made, mark_of
from sfumato.cli.explain import explain
from sfumato.methods.microaggregation.mdav import Mdav
from sfumato.protocols import Measure
from sfumato.registry import KINDS, Entry, _RuntimeEntry, entries, find
from sfumato.release.plan.facts import facts
from sfumato.release.plan.plan import Plan
from tests.contract.catalogue import EXEMPTIONS, each
from tests.contract.promises import REMAKE, listed

TESTS = Path(__file__).parents[1]
NAME = re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$")


def test_the_catalogue_is_what_the_classes_say() -> None:
    assert FILE.read_text(encoding="utf-8") == made(), "run `make docs`"


def test_a_candidate_says_so_itself() -> None:
    class Heir(Mdav):
        """Not a candidate because its base is one."""

    assert (find("mdav").family, find("mdav").when) == ("averages", Mdav.candidate.when)
    assert _RuntimeEntry.of("partitioner", Mdav).family == "averages"
    assert mark_of(Heir) == ""
    assert not find("md").family


@pytest.mark.parametrize("room", ROOMS)
def test_packages_order_modules_that_exist(room: str) -> None:
    package = importlib.import_module(f"sfumato.{room}")
    below = pkgutil.walk_packages(package.__path__, f"sfumato.{room}.")
    found = [f"sfumato.{room}", *(info.name for info in below)]
    for name in found:
        for part in getattr(importlib.import_module(name), "ORDER", ()):
            assert f"{name}.{part}" in found


@each(*KINDS)
def test_it_is_declared_and_documented(entry: Entry, capsys: pytest.CaptureFixture[str]) -> None:
    cls = entry.load()
    assert cls.name == entry.name
    assert cls.registry_kind == entry.kind
    assert NAME.match(entry.name)
    assert cls.model_config["frozen"] is True, "parameters must be frozen"
    assert cls.model_config["extra"] == "forbid", "unknown parameters must be refused"
    for name, field in cls.model_fields.items():
        assert field.description, f"{entry.name}.{name} has no description"
    if entry.kind in ("method", "partitioner", "criterion", "rule", "table-method"):
        assert cls.paper, f"{entry.name} names no paper"
    if entry.kind in ("measure", "attack"):
        assert issubclass(cls, Measure)
        assert cls.about in ("risk", "utility")
        assert cls.direction in ("lower", "higher")
        assert cls.bounds[0] < cls.bounds[1]
    found = facts(entry)
    assert found["about"]
    Plan.parse(found["example"])  # what the reference shows must work
    explain(entry.name, json=False)
    shown = capsys.readouterr().out
    assert entry.name in shown
    assert "In a plan" in shown


@functools.cache
def proofs() -> list[str]:
    """The tests that compare with tests/oracle or with a number from the literature."""
    proof = re.compile(r"tests\.oracle|from tests import oracle|mark\.golden|pytestmark = .*golden")
    files = (p for p in TESTS.rglob("test_*.py") if "contract" not in p.parts)
    return [text for p in files if proof.search(text := p.read_text("utf-8"))]


@each(*KINDS)
def test_it_has_an_oracle_or_a_golden_number(entry: Entry) -> None:
    """Some test file names it and compares with tests/oracle or a number from the literature."""
    wanted = re.compile(rf'\b{entry.load().__name__}\b|"{re.escape(entry.name)}"')
    found = any(wanted.search(text) for text in proofs())
    assert found, f"no test compares {entry.name} with an oracle or a golden number"


def test_everything_is_reachable_from_the_command_line() -> None:
    run = [sys.executable, "-c", "from sfumato.cli import main; main()"]
    listed = subprocess.run([*run, "methods", "--json"], capture_output=True, text=True, check=True)
    names = {row["name"] for row in json.loads(listed.stdout)}
    assert names == {entry.name for entry in entries()}


def test_names_are_unique_and_aliases_lead_home() -> None:
    names = [entry.name for entry in entries()]
    assert len(set(names)) == len(names)
    for entry in entries():
        for alias in entry.aliases:
            assert find(alias, entry.kind) == entry


def test_exemptions_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """The one list of what is let off, printed with its reasons; each names something that
    exists."""
    with capsys.disabled():
        print(f"\nexemptions from the contract suite: {len(EXEMPTIONS)}")
        for (name, check), reason in EXEMPTIONS.items():
            print(f"  {name}, {check}: {reason}")
    for (name, _), reason in EXEMPTIONS.items():
        assert find(name)
        assert len(reason) > 10


def test_the_list_of_refusals_names_what_exists() -> None:
    """Whatever else stands in it is found by the tests that try the pairs."""
    known = {entry.name for entry in entries()}
    strays = [pair for pair in listed() if pair.entry not in known]
    assert not strays, f"refusals.tsv names what is not registered: {strays}; {REMAKE}"
