"""Every measure, criterion and poset, on every table."""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.data.io import write_file
from sfumato.data.pair import Pair
from sfumato.data.table import Table, as_published
from sfumato.protocols import Criterion, Measurement, Poset
from sfumato.registry import Entry
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.requirement import Requirement
from sfumato.release.plan.step import Step, build
from sfumato.release.records.evidence import Measuring
from sfumato.release.recount import written_pairs
from sfumato.rng import stream
from tests.contract.catalogue import each, needs_sets, parameters, suited, unless_exempt
from tests.contract.conftest import Keeping
from tests.contract.tables import TABLES, given

SEARCHES = ("mondrian", "mdav")


@functools.cache
def masked(name: str, search: str) -> Table:
    """A release of the table."""
    step = Step(build("partitioner", search, {"k": 3}))
    return step.run(given(name), stream(0, 1, "x")).table


def strangers(table: Table) -> Table:
    """Nobody of the table, with its columns: every column in an order of its own."""
    draw = np.random.default_rng(1)
    return table.with_columns(
        [table[name].gather(draw.permutation(table.height)) for name in table.names]
    )


def figure(entry: Entry, pair: Pair, seed: int = 0) -> Measurement:
    built = build(entry.kind, entry.name, parameters(entry, pair.original))
    others = strangers(pair.original) if built.needs_reference else None
    return Measuring(seed, reference=others).take(built, pair)


@dataclass(frozen=True)
class Taken:
    """One measurement of one pair."""

    entry: Entry
    pair: Pair
    found: Measurement


def taken(entry: Entry, name: str, search: str) -> Taken:
    pair = Pair.of(given(name), masked(name, search))
    return Taken(entry, pair, figure(entry, pair))


def it_lies_within_its_bounds(case: Taken) -> None:
    low, high = case.entry.load().bounds
    found = case.found
    assert not math.isnan(found.value)
    assert low <= found.value <= high
    if found.interval is not None:
        assert found.interval[0] <= found.value <= found.interval[1]


def records_stay_private(case: Taken) -> None:
    found, pair = case.found, case.pair
    if found.per_record is not None:
        assert len(found.per_record) in (pair.original.height, pair.masked.height)
    assert found.to_dict()["value"] == found.value
    assert "per_record" not in found.to_dict()


def the_same_seed_gives_the_same_figure(case: Taken) -> None:
    assert figure(case.entry, case.pair).value == case.found.value


OF_FIGURES: tuple[Callable[[Taken], None], ...] = (
    it_lies_within_its_bounds,
    records_stay_private,
    the_same_seed_gives_the_same_figure,
)


@each("measure", "attack")
def test_figures_on_every_pair(entry: Entry, keeping: Keeping) -> None:
    with keeping("pairs", entry) as promises:
        for name in TABLES:
            for search in SEARCHES:
                on = f"{name} by {search}"
                case = promises.run(on, lambda name=name, search=search: taken(entry, name, search))
                if case is None:
                    continue
                for promise in OF_FIGURES:
                    with promises.keeps(promise.__name__.replace("_", " "), on):
                        promise(case)


@each("measure", "attack")
def test_figures_of_special_pairs(entry: Entry, keeping: Keeping) -> None:
    """A release of its kind, the same one shuffled, the table itself, and nobody knows who is who.

    A measure that refused every ordinary release would keep every other promise.
    """
    unless_exempt(entry, "special pairs")
    table = given(suited(entry))
    release = as_released(entry)
    order = np.random.default_rng(1).permutation(table.height)
    pairs = {
        "a release": Pair.of(table, release),
        "shuffled": Pair(table, release.take(order), order),
        "itself": Pair.of(table, table),
        "unaligned": Pair(table, table, None),
    }
    if not needs_sets(entry):
        step = Step(build("method", "local-suppression", {"k": 3}))
        pairs["suppressed"] = Pair.of(table, step.run(table, stream(0, 1, "x")).table)
    with keeping("special pairs", entry) as promises:
        found = {
            on: promises.run(on, lambda pair=pair: figure(entry, pair))
            for on, pair in pairs.items()
        }
        with promises.keeps("an ordinary release has a figure", "a release, suppressed or itself"):
            assert any(found.get(on) is not None for on in ("a release", "suppressed", "itself"))
        with promises.keeps("an identical table has lost nothing", "itself"):
            nothing_is_lost(entry, found["itself"])
        with promises.keeps("it refuses without alignment exactly if it needs one", "unaligned"):
            assert (found["unaligned"] is None) == (entry.load().compares == "records")
            assert "align" in promises.said.get("unaligned", "align")
        with promises.keeps("the order of the rows does not matter", "shuffled"):
            straight, shuffled = found["a release"], found["shuffled"]
            assert (straight is None) == (shuffled is None)
            if straight is not None and shuffled is not None:
                assert shuffled.value == pytest.approx(straight.value, rel=1e-9, abs=1e-12)


def as_released(entry: Entry) -> Table:
    """A release that suits a measure: groups of records, or of sets."""
    return masked(suited(entry), "set-mondrian" if needs_sets(entry) else "mdav")


def nothing_is_lost(entry: Entry, found: Measurement | None) -> None:
    if entry.load().about != "utility" or entry.name in ("discernibility", "average-class-size"):
        return  # those two count classes, which an untouched table has as well
    assert found is not None
    # Where the figure is what is left, or has a figure before masking, nothing has changed.
    before = found.baseline if found.detail.get("baseline") == "before masking" else 0.0
    assert before is not None
    assert found.value == pytest.approx(before, abs=1e-12)


@each("criterion")
def test_criteria_on_every_table(entry: Entry, keeping: Keeping) -> None:
    with keeping("tables", entry) as promises:
        for name in TABLES:
            table = given(name)
            found = promises.run(
                name,
                lambda table=table: build("criterion", entry.name, parameters(entry, table)).check(
                    table
                ),
            )
            if found is not None:
                with promises.keeps("what it counts agrees with its verdict", name):
                    assert found.requirement == entry.name
                    assert isinstance(found.met, bool)
                    assert 0 <= found.broken <= found.of
                    assert found.met == (found.broken == 0)


@each("criterion")
def test_criteria_round_trip_and_judge_a_file(entry: Entry, tmp_path: Path) -> None:
    of_sets = needs_sets(entry)
    table = as_published(
        masked("sets", "set-mondrian") if of_sets else masked("ordinary", "mondrian")
    )
    criterion = build("criterion", entry.name, parameters(entry, table))
    assert isinstance(criterion, Criterion)
    plan = Plan(requirements=(Requirement(criterion),))
    assert Plan.parse(plan.to_toml()) == plan
    write_file(table, tmp_path / "data.csv", "csv")
    (read,) = written_pairs(
        [tmp_path / "data.csv"], Pair(table, table, None), suppressed="*", escape_formulas=False
    )
    assert criterion.check(read.masked) == criterion.check(table)
    assert read.masked.height == table.height


@each("criterion")
def test_joining_classes_never_breaks_a_monotone_criterion(entry: Entry) -> None:
    """Dropping a quasi-identifier joins classes: what held before must hold after."""
    if not entry.load().monotone:
        return
    held = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = given("ordinary").take(rng.integers(0, 60, 40)).without(["born", "zip", "level"])
        table = table.with_columns([(table["age"] // 50).alias("age")])
        criterion = build("criterion", entry.name, parameters(entry, table))
        before = criterion.check(table)
        after = criterion.check(table.without(["age"]))
        held += before.met
        assert after.met or not before.met
    assert held, "no table met the criterion, so that nothing was tested"


DOMAINS: dict[str, list[Any]] = {
    "numbers": [1, 2, 40, 80],
    "letters": ["a", "b", "c"],
    "codes": ["02139", "02141", "10001"],
    "dates": [dt.date(1950, 1, 31), dt.date(1978, 2, 13), dt.date(2001, 12, 1)],
}


@each("poset")
def test_posets_bind_and_order(entry: Entry, keeping: Keeping) -> None:
    source = build("poset", entry.name, parameters(entry, given("ordinary")))

    def bound(domain: list[Any]) -> tuple[Poset, np.ndarray]:
        poset = source.bind(domain, np.ones(len(domain), dtype=np.int64))
        return poset, poset.codes(domain)

    with keeping("domains", entry) as promises:
        made = 0
        for name, domain in DOMAINS.items():
            found = promises.run(name, lambda domain=domain: bound(domain), (ValueError,))
            if found is None:
                continue
            made += 1
            with promises.keeps("every value has a code, and the top is above all", name):
                poset, codes = found
                assert sorted(set(codes.tolist())) == sorted(codes.tolist())
                top = poset.lub(domain)
                assert all(poset.leq(value, top) for value in domain)
                assert all(poset.measure(value) == 0 for value in map(str, domain))
                # What is never generalized costs nothing.
                assert poset.structure.unchanged or 0 < poset.measure(top) <= 1
        with promises.keeps("it can be bound", "any domain"):
            assert made
