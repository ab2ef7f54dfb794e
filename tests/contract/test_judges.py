"""Every measure, criterion and poset, on every table."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.data.io import write_file
from sfumato.data.pair import Pair
from sfumato.data.table import Table, as_published
from sfumato.errors import SfumatoError
from sfumato.protocols import Criterion, Measurement
from sfumato.registry import Entry
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.requirement import Requirement
from sfumato.release.plan.step import Step, build
from sfumato.release.records.evidence import take_one
from sfumato.release.recount import written_pairs
from sfumato.rng import stream
from tests.contract.catalogue import each, needs_sets, parameters, usual
from tests.contract.tables import TABLES, ordinary

each_table = pytest.mark.parametrize("name", list(TABLES))


def masked(table: Table, search: str) -> Table | None:
    try:
        return Step(build("partitioner", search, {"k": 3})).run(table, stream(0, 1, "x")).table
    except SfumatoError:
        return None


def strangers(table: Table) -> Table:
    """Nobody of the table, with its columns: every column in an order of its own."""
    draw = np.random.default_rng(1)
    return table.with_columns(
        [table[name].gather(draw.permutation(table.height)) for name in table.names]
    )


def measure(entry: Entry, pair: Pair, seed: int = 0) -> Measurement | None:
    try:
        built = build(entry.kind, entry.name, parameters(entry, pair.original))
        others = strangers(pair.original) if built.needs_reference else None
        return take_one(built, pair, seed=seed, reference=others)
    except SfumatoError as error:
        assert str(error).strip()
        return None


@each("measure", "attack")
@each_table
@pytest.mark.parametrize("search", ["mondrian", "mdav"])
def test_measures_give_a_figure_or_a_named_error(entry: Entry, name: str, search: str) -> None:
    table = TABLES[name]()
    other = masked(table, search)
    if other is None:
        return
    pair = Pair.of(table, other)
    found = measure(entry, pair)
    if found is None:
        return
    low, high = entry.load().bounds
    assert not math.isnan(found.value)
    assert low <= found.value <= high
    if found.interval is not None:
        assert found.interval[0] <= found.value <= found.interval[1]
    if found.per_record is not None:
        assert len(found.per_record) in (table.height, other.height)
    again = measure(entry, pair)
    assert again is not None
    assert again.value == found.value
    assert found.to_dict()["value"] == found.value
    assert "per_record" not in found.to_dict()


@each("measure", "attack")
def test_measures_work_on_an_ordinary_pair(entry: Entry) -> None:
    if needs_sets(entry):
        table = usual(entry)
        other = masked(table, "set-mondrian")
        assert other is not None
        assert measure(entry, Pair.of(table, other)) is not None
        return
    table = ordinary()
    searched = [other for s in ("mondrian", "mdav") if (other := masked(table, s)) is not None]
    suppressed = Step(build("method", "local-suppression", {"k": 3})).run(table, stream(0, 1, "x"))
    pairs = [Pair.of(table, other) for other in (*searched, suppressed.table, table)]
    assert any(measure(entry, pair) is not None for pair in pairs)


@each("measure", "attack")
def test_measures_of_utility_see_no_loss_in_an_identical_table(entry: Entry) -> None:
    cls = entry.load()
    if cls.about != "utility" or entry.name in ("discernibility", "average-class-size"):
        return  # those two count classes, which an untouched table has as well
    table = usual(entry)
    found = measure(entry, Pair.of(table, table))
    assert found is not None
    # Where the figure is what is left, or has a figure before masking, nothing has changed.
    before = found.baseline if found.detail.get("baseline") == "before masking" else 0.0
    assert before is not None
    assert found.value == pytest.approx(before, abs=1e-12)


@each("measure", "attack")
def test_measures_that_need_alignment_refuse_without_it(entry: Entry) -> None:
    table = usual(entry)
    pair = Pair(table, table, None)
    if entry.load().compares == "records":
        with pytest.raises(SfumatoError, match="align"):
            take_one(build(entry.kind, entry.name, parameters(entry, table)), pair, seed=0)
    else:
        assert measure(entry, pair) is not None


@each("measure", "attack")
def test_row_order_does_not_matter(entry: Entry) -> None:
    """The same release, shuffled, with its alignment: the same figure."""
    table = usual(entry)
    other = masked(table, "set-mondrian" if needs_sets(entry) else "mdav")
    assert other is not None
    order = np.random.default_rng(1).permutation(table.height)
    straight = measure(entry, Pair.of(table, other))
    shuffled = measure(entry, Pair(table, other.take(order), order))
    assert (straight is None) == (shuffled is None)
    if straight is not None and shuffled is not None:
        assert shuffled.value == pytest.approx(straight.value, rel=1e-9, abs=1e-12)


@each("criterion")
@each_table
def test_criteria_find_or_name_an_error(entry: Entry, name: str) -> None:
    table = TABLES[name]()
    try:
        found = build("criterion", entry.name, parameters(entry, table)).check(table)
    except SfumatoError as error:
        assert str(error).strip()
        return
    assert found.requirement == entry.name
    assert isinstance(found.met, bool)
    assert 0 <= found.broken <= found.of
    assert found.met == (found.broken == 0)


@each("criterion")
def test_criteria_round_trip_and_judge_a_file(entry: Entry, tmp_path: Path) -> None:
    search = "set-mondrian" if needs_sets(entry) else "mondrian"
    table = as_published(masked(usual(entry), search) or usual(entry))
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
        table = ordinary(60).take(rng.integers(0, 60, 40)).without(["born", "zip", "level"])
        table = table.with_columns([(table["age"] // 50).alias("age")])
        criterion = build("criterion", entry.name, parameters(entry, table))
        before = criterion.check(table)
        after = criterion.check(table.without(["age"]))
        held += before.met
        assert after.met or not before.met
    assert held, "no table met the criterion, so that nothing was tested"


@each("poset")
def test_posets_bind_and_order(entry: Entry) -> None:
    days = [dt.date(1950, 1, 31), dt.date(1978, 2, 13), dt.date(2001, 12, 1)]
    domains: list[list[object]] = [
        [1, 2, 40, 80], ["a", "b", "c"], ["02139", "02141", "10001"], list(days)
    ]  # fmt: skip
    bound = 0
    for domain in domains:
        try:
            poset = build("poset", entry.name, parameters(entry, ordinary())).bind(
                domain, np.ones(len(domain), dtype=np.int64)
            )
            codes = poset.codes(domain)
        except (ValueError, SfumatoError) as error:
            assert str(error).strip()
            continue
        bound += 1
        assert sorted(set(codes.tolist())) == sorted(codes.tolist())
        top = poset.lub(domain)
        assert all(poset.leq(value, top) for value in domain)
        assert all(poset.measure(value) == 0 for value in map(str, domain))
        # What is never generalized costs nothing.
        assert getattr(poset, "unchanged", False) or 0 < poset.measure(top) <= 1
    assert bound
