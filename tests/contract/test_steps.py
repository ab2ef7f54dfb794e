"""Every method and every search, on every table: a result that keeps the house rules, or a named
error."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.data.io import write_file
from sfumato.data.partition import Cover, Partition
from sfumato.data.table import Table
from sfumato.errors import SfumatoError
from sfumato.protocols import Outcome, Partitioner
from sfumato.registry import Entry, entries
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.step import Step, build
from sfumato.release.records.run import protect
from sfumato.rng import stream
from tests.contract.catalogue import each, needs_sets, parameters, unless_exempt, usual
from tests.contract.tables import TABLES

KINDS = ("method", "partitioner")
each_table = pytest.mark.parametrize("name", list(TABLES))


def step_for(entry: Entry, table: Table) -> Step:
    return Step(build("|".join(KINDS), entry.name, parameters(entry, table)))


def attempt(entry: Entry, table: Table, seed: int = 0) -> Outcome | None:
    """The outcome, or None for an error that says what to do."""
    try:
        return step_for(entry, table).run(table, stream(seed, 1, entry.name))
    except SfumatoError as error:
        assert str(error).strip(), "an error must say something"
        return None


def attempt_named(step: Step, table: Table) -> None:
    """Runs, or says what to do."""
    try:
        step.run(table, stream(0, 1, "x"))
    except SfumatoError as error:
        assert str(error).strip(), "an error must say something"


def as_bytes(table: Table, folder: Path, name: str) -> bytes:
    write_file(table, folder / name, "csv")
    return (folder / name).read_bytes()


def arrow(table: Table) -> bytes:
    buffer = io.BytesIO()
    table.frame.write_ipc(buffer)
    return buffer.getvalue()


@each(*KINDS)
@each_table
def test_rows_are_kept_or_accounted_for(entry: Entry, name: str) -> None:
    table = TABLES[name]()
    outcome = attempt(entry, table)
    if outcome is None:
        return
    for copy in outcome.copies:
        assert copy.schema == outcome.table.schema
        assert copy.height == outcome.table.height
    if not outcome.linked:
        assert outcome.rows is None
        assert outcome.partition is None
    elif outcome.rows is None:
        assert outcome.table.height == table.height
    else:
        assert outcome.rows.size == outcome.table.height
        assert np.unique(outcome.rows).size == outcome.rows.size
        assert np.isin(outcome.rows, np.arange(table.height)).all()


@each(*KINDS)
def test_an_ordinary_table_gives_a_result(entry: Entry) -> None:
    """Refusing everything would pass the other tests."""
    assert attempt(entry, usual(entry)) is not None
    assert attempt(entry, usual(entry, missing=True)) is not None


@each(*KINDS)
@each_table
def test_the_input_is_untouched(entry: Entry, name: str) -> None:
    table = TABLES[name]()
    before, schema = arrow(table), table.schema
    attempt(entry, table)
    assert arrow(table) == before
    assert table.schema == schema


@each(*KINDS)
@each_table
def test_only_the_chosen_columns_change(entry: Entry, name: str) -> None:
    table = TABLES[name]()
    outcome = attempt(entry, table)
    if outcome is None:
        return
    if not outcome.linked:
        # Records drawn from a model take nothing along from anybody's, and what is gone is named.
        said = " ".join(outcome.warnings)
        assert all(column in said for column in table.names if column not in outcome.table.names)
        assert set(outcome.table.names) <= set(table.names)
        return
    step = step_for(entry, table)
    allowed = set(step.use.columns) | set(getattr(step.use, "levels", {}))
    if not allowed:
        allowed = set(step.use.targets(table)[0])
    source = table if outcome.rows is None else table.take(outcome.rows)
    for column in table.names:
        if column not in allowed:
            assert outcome.table[column].equals(source[column], null_equal=True), column
            assert outcome.table.schema[column] == table.schema[column]
    assert set(outcome.table.names) <= set(table.names)


@each(*KINDS)
@each_table
def test_missing_stays_missing_or_is_named(entry: Entry, name: str) -> None:
    """A value is never made up for a missing one; suppressed cells are told from missing ones."""
    table = TABLES[name]()
    outcome = attempt(entry, table)
    if outcome is None or not outcome.linked:
        return
    rows = np.arange(table.height) if outcome.rows is None else outcome.rows
    for column in outcome.table.names:
        was_missing = table[column].is_null().to_numpy()[rows]
        null = outcome.table[column].is_null().to_numpy()
        starred = outcome.table.suppressed(column)
        if isinstance(outcome.table[column].dtype, pl.List):
            # A published set tells what is there, never what is not: the empty one tells nothing.
            starred = starred | (outcome.table[column].list.len() == 0).fill_null(False).to_numpy()
        assert (null | starred)[was_missing].all(), f"{column}: a missing value was filled"
        made_null = null & ~was_missing
        assert starred[made_null].all(), f"{column}: a value vanished and is not marked suppressed"


@each(*KINDS)
@each_table
def test_same_seed_same_bytes(entry: Entry, name: str) -> None:
    first, second = attempt(entry, TABLES[name]()), attempt(entry, TABLES[name]())
    assert (first is None) == (second is None)
    if first is None or second is None:
        return
    assert arrow(first.table) == arrow(second.table)


@each(*KINDS)
def test_another_seed_another_draw(entry: Entry, tmp_path: Path) -> None:
    """A method that draws must draw from its stream; one that does not must not change."""
    outcomes = [attempt(entry, usual(entry), seed) for seed in range(3)]
    texts = {as_bytes(o.table, tmp_path, f"{i}") for i, o in enumerate(outcomes) if o is not None}
    assert len(texts) == (3 if step_for(entry, usual(entry)).random else 1)


@each(*KINDS)
def test_a_release_can_be_made_and_read_back(entry: Entry, tmp_path: Path) -> None:
    """Through the whole house: touched columns, groups, evidence, bytes, recount, private half."""
    table = usual(entry)
    release = protect(table, Plan(steps=(step_for(entry, table),), measures=()), seed=1)
    folder = release.save(tmp_path / "out")
    assert (folder / "evidence.json").is_file()
    assert (release.pair.rows is None) != (tmp_path / "out.private/alignment.parquet").is_file()


@each(*KINDS)
def test_plan_round_trip(entry: Entry) -> None:
    plan = Plan(steps=(step_for(entry, usual(entry)),))
    assert Plan.parse(plan.to_toml()) == plan


@each("partitioner")
@each_table
def test_groups_keep_k(entry: Entry, name: str) -> None:
    table = TABLES[name]()
    outcome = attempt(entry, table)
    if outcome is None:
        return
    search = step_for(entry, table).use
    assert isinstance(search, Partitioner)
    found = outcome.partition
    assert isinstance(found, Partition | Cover)
    assert len(found) == table.height
    assert (found.sizes >= getattr(search, "k", 1)).all()


@each("partitioner")
@pytest.mark.parametrize("verb", [entry.name for entry in entries("verb")])
def test_every_search_meets_every_verb(entry: Entry, verb: str) -> None:
    unless_exempt(entry, f"verb {verb}")
    table = usual(entry, missing=True)
    use = build("partitioner", entry.name, parameters(entry, table))
    step = Step(use, build("verb", verb, {}))
    if needs_sets(entry) != (verb == "intersect"):
        # Sets are intersected, and only sets are.
        attempt_named(step, table)
        return
    outcome = step.run(table, stream(0, 1, "x"))
    chosen = use.targets(table)[0]
    if isinstance(outcome.partition, Cover):
        assert (outcome.partition.sizes >= use.k).all()
        return
    assert isinstance(outcome.partition, Partition)
    assert outcome.partition.smallest >= use.k
    masked = outcome.table.frame.select(chosen)
    if step.perturbs:
        # Its records do not look alike, but every column has been masked.
        for name in chosen:
            assert not outcome.table[name].equals(table[name]), name
    else:
        assert masked.group_by(chosen).len()["len"].min() >= use.k
