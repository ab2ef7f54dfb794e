"""Exactly the limit passes, and just beyond fails: every criterion, every measure that a plan may
require, every rule.

What is found is asked for, which must pass; then a little more, which must not. A figure that is
not a number never passes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import Complaint
from sfumato.protocols import Context, Criterion, Finding, Measure, Measurement
from sfumato.registry import Entry, entries, find
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.requirement import Requirement, parse_requirement
from sfumato.release.plan.step import Step, build
from sfumato.release.records.evidence import Measuring
from sfumato.release.records.judging import judge
from sfumato.release.recount import written_pairs
from sfumato.release.remedies import trying
from sfumato.rng import stream
from sfumato.tabular.cells.table import SENSITIVE, CellTable
from tests.contract import limits
from tests.contract.catalogue import (
    each,
    needs_sets,
    parameters,
    people_file,
    suited,
    unless_exempt,
)
from tests.contract.limits import CRITERIA, RULES, Limit
from tests.contract.tables import given
from tests.contract.test_judges import masked, strangers

CASES = [
    pytest.param(name, limit, id=f"{name}-{limit}") for name, of in CRITERIA.items() for limit in of
]


@pytest.mark.parametrize(("kind", "lines"), [("criterion", CRITERIA), ("rule", RULES)])
def test_everything_with_a_limit_has_a_line(kind: str, lines: dict[str, Any]) -> None:
    known = {entry.name for entry in entries(kind) if entry.target.startswith("sfumato.")}
    assert lines.keys() | {"stated"} == known | {"stated"}, (
        "say in tests/contract/limits.py what is at its limit and what is just beyond"
    )


class Tried:
    """A criterion with its limit set to one value after another."""

    def __init__(self, name: str, limit: Limit, table: sf.Table) -> None:
        entry = find(name, "criterion")
        usual = parameters(entry, table)
        if "column" in usual:
            usual["column"] = "illness"
        if "population" in usual:
            usual["population"] = people_file(limits.population(table))
        self.name, self.limit, self.table = name, limit, table
        self.words = {**usual, **limit.also}

    def criterion(self, value: float) -> Criterion:
        changed = {**self.words, self.limit.parameter: value}
        if self.limit.parameter == "p":
            changed["k"] = max(changed["k"], int(value))
        found = build("criterion", self.name, changed)
        assert isinstance(found, Criterion)
        return found

    def check(self, value: float) -> Finding:
        return self.criterion(value).check(self.table)

    def boundary(self) -> tuple[float, float, float]:
        """The figure, the last limit that allows it, and the first that does not."""
        if self.limit.kind == "whole floor":
            last = next(v for v in range(1, 1000) if not self.check(v + 1).met)
            return last, last, last + 1
        found = self.check(self.limit.probe).value
        more, less = found * (1 + 1e-9), found * (1 - 1e-9)
        if self.limit.kind.startswith("open"):
            return found, less if "floor" in self.limit.kind else more, found
        return found, found, more if self.limit.kind == "floor" else less


@pytest.mark.parametrize(("name", "limit"), CASES)
def test_a_criterion_stops_where_it_says(name: str, limit: Limit) -> None:
    for seed in range(4):
        tried = Tried(name, limit, limits.release(name, seed))
        figure, last, beyond = tried.boundary()
        held, broken = tried.check(last), tried.check(beyond)
        assert held.met, f"exactly the limit must pass (seed {seed}): {held}"
        assert held.broken == 0
        assert not broken.met, f"just beyond the limit must fail (seed {seed}): {broken}"
        assert broken.broken > 0
        assert broken.at_least == ("floor" in limit.kind)
        assert (broken.value, broken.limit) == (pytest.approx(figure, rel=1e-12), beyond)


@pytest.mark.parametrize(("name", "limit"), CASES)
def test_the_gate_and_the_recount_stop_at_the_same_place(
    name: str, limit: Limit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "RUNS", 0)  # what would help is not asked here
    tried = Tried(name, limit, limits.release(name, 0))
    _, last, beyond = tried.boundary()
    passes, fails = (
        Plan(requirements=(Requirement(tried.criterion(value)),), measures=())
        for value in (last, beyond)
    )
    release = sf.protect(tried.table, passes, seed=1)
    assert all(finding.met for finding in release.evidence.findings)
    with pytest.raises(sf.ReleaseRefused):
        sf.protect(tried.table, fails, seed=1)
    written = [release.save(tmp_path / "out", allow_guessable_seed=True) / "data.csv"]
    (pair,) = written_pairs(written, release.pair, suppressed="*", escape_formulas=False)
    again = [tried.criterion(value).check_pair(pair) for value in (last, beyond)]
    assert [finding.met for finding in again] == [True, False]


@pytest.mark.parametrize(("name", "limit"), CASES)
def test_a_criterion_has_no_limit_that_is_no_number(name: str, limit: Limit) -> None:
    tried = Tried(name, limit, limits.release(name, 0))
    given = {**tried.words, limit.parameter: math.nan}
    assert find(name, "criterion").load().complaints(given), "nothing would ever break it"


def released(entry: Entry) -> Iterator[Pair]:
    """Releases of several kinds: no measure has a figure for all of them."""
    if needs_sets(entry):
        yield Pair.of(given("sets"), masked("sets", "set-mondrian"))
    if suited(entry) == "homes":
        yield Pair.of(given("homes"), masked("homes", "mdav").without(["home"]))
    table = given("ordinary")
    for search in ("mdav", "mondrian"):
        yield Pair.of(table, masked("ordinary", search))
    yield Pair.of(table.without(["who"]), masked("ordinary", "mondrian").without(["who"]))
    step = Step(build("method", "local-suppression", {"k": 3}))
    yield Pair.of(table, step.run(table, stream(0, 1, "x")).table)
    yield Pair.of(table, table)


class Required:
    """A measure that a plan requires, on the first release that it has a figure for."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.cls = entry, entry.load()
        self.way = "at-most" if self.cls.direction == "lower" else "at-least"
        for self.pair in released(entry):
            try:
                found = self.found(0.0)
            except sf.SfumatoError:
                continue
            # What is refused whatever the limit says nothing about the limit.
            if "names people" not in found.detail:
                self.value = found.value
                return
        pytest.fail(f"{entry.name} has a figure for no release")

    def parsed(self, way: str, limit: float) -> tuple[list[Requirement], list[Complaint]]:
        words = parameters(self.entry, self.pair.original)
        plain = {key.replace("_", "-"): value for key, value in words.items()}
        return parse_requirement(self.entry.name, {**plain, way: limit})

    def found(self, limit: float) -> Finding:
        required, complaints = self.parsed(self.way, limit)
        assert not complaints
        others = strangers(self.pair.original) if self.cls.needs_reference else None
        (finding,) = judge(required, [self.pair], Measuring(0, reference=others))
        return finding


@each("measure", "attack")
def test_a_required_measure_stops_where_it_says(entry: Entry) -> None:
    unless_exempt(entry, "where it stops")
    tried = Required(entry)
    worse = -math.inf if tried.way == "at-most" else math.inf
    assert tried.found(tried.value).met, "exactly the limit must pass"
    beyond = float(np.nextafter(tried.value, worse))
    assert not tried.found(beyond).met, "just beyond the limit must fail"
    none = Measurement(name=entry.name, value=math.nan)
    for way in ("at-most", "at-least"):
        listed, complaints = tried.parsed(way, 0.0)
        assert listed or (complaints and way != tried.way), "its own limit must be read"
        for required in listed:
            assert not required.judge(none).met, "what is no number must not pass"
        assert tried.parsed(way, math.nan)[1], "a limit that is no number must be refused"


class Unknown(Measure):
    """A measure that found no figure."""

    name: ClassVar[str] = "unknown"
    about: ClassVar[Literal["risk", "utility"]] = "risk"

    def measure(self, context: Context) -> Measurement:
        return self.result(math.nan)


@pytest.mark.parametrize("limit", [{"at_most": 1e300}, {"at_least": -1e300}])
def test_what_is_no_number_never_passes_the_gate(
    limit: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "RUNS", 0)
    plan = Plan(requirements=(Requirement(Unknown(), **limit),), measures=())
    with pytest.raises(sf.ReleaseRefused):
        sf.protect(limits.release("k-anonymity", 0), plan, seed=1)


def cell_of(amounts: tuple[float, ...]) -> CellTable:
    """A cell "a" with these contributions, the largest of whom asked for protection, beside one
    with many equal ones."""
    rows = [("a", amount, float(i == 0)) for i, amount in enumerate(amounts)]
    rows += [("b", 10.0, 0.0)] * 50
    frame = pl.DataFrame(rows, schema=["where", "amount", "asked"], orient="row")
    return sf.tabulate(frame, ["where"], "amount", request="asked", seed=1)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_stops_where_it_says(name: str) -> None:
    case = RULES[name]

    def sensitive(amounts: tuple[float, ...], **changed: Any) -> bool:
        table = cell_of(amounts)
        judged = sf.method(name, **{**case.parameters, **changed}).judge(table)
        cell = table.find(where="a")
        assert not judged.sensitive[table.find(where="b")], "the other cell is far from any limit"
        assert judged.sensitive[cell] == (judged.up[cell] > 0)
        return bool(judged.sensitive[cell])

    assert not sensitive(case.at_limit), "exactly the limit is not sensitive"
    assert sensitive(case.beyond), "just beyond the limit is"
    assert case.stricter
    for changed in case.stricter:
        assert sensitive(case.at_limit, **changed), f"{changed} puts the cell beyond the limit"


def test_stated_cells_are_sensitive_and_no_others() -> None:
    table = cell_of((30.0, 20.0, 10.0))
    cell = table.find(where="a")
    assert not sf.method("stated").judge(table).sensitive.any()
    status = table.status.copy()
    status[cell] = SENSITIVE
    found = sf.method("stated").judge(dataclasses.replace(table, status=status)).sensitive
    assert np.flatnonzero(found).tolist() == [cell]
