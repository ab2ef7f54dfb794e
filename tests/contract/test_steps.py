"""Every method and every search, on every table: a result that keeps the house rules, or a named
error.

A pair of thing and table is run twice, since the same seed must give the same bytes; every promise
is asserted on the first run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.data.io import write_file
from sfumato.data.partition import Cover, Partition
from sfumato.data.table import Table
from sfumato.protocols import Outcome, Partitioner
from sfumato.registry import Entry, entries
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.step import Step, build
from sfumato.release.records.run import protect
from sfumato.rng import stream
from tests.contract.catalogue import each, needs_sets, parameters, unless_exempt, usual
from tests.contract.conftest import Keeping
from tests.contract.tables import TABLES, arrow, given, untouched

KINDS = ("method", "partitioner")


def step_for(entry: Entry, table: Table) -> Step:
    return Step(build("|".join(KINDS), entry.name, parameters(entry, table)))


def run(entry: Entry, table: Table, seed: int = 0) -> Outcome:
    return step_for(entry, table).run(table, stream(seed, 1, entry.name))


@dataclass(frozen=True)
class Case:
    """One run of one thing on one table."""

    step: Step
    name: str
    table: Table
    outcome: Outcome


def rows_are_kept_or_accounted_for(case: Case) -> None:
    outcome, height = case.outcome, case.table.height
    for copy in outcome.copies:
        assert copy.schema == outcome.table.schema
        assert copy.height == outcome.table.height
    if not outcome.linked:
        assert outcome.rows is None
        assert outcome.partition is None
    elif outcome.rows is None:
        assert outcome.table.height == height
    else:
        assert outcome.rows.size == outcome.table.height
        assert np.unique(outcome.rows).size == outcome.rows.size
        assert np.isin(outcome.rows, np.arange(height)).all()


def only_the_chosen_columns_change(case: Case) -> None:
    table, outcome, use = case.table, case.outcome, case.step.use
    assert set(outcome.table.names) <= set(table.names)
    if not outcome.linked:
        # Records drawn from a model take nothing along from anybody's, and what is gone is named.
        said = " ".join(outcome.warnings)
        assert all(column in said for column in table.names if column not in outcome.table.names)
        return
    allowed = set(use.columns) | set(getattr(use, "levels", {}))
    if not allowed:
        allowed = set(use.targets(table)[0])
    source = table if outcome.rows is None else table.take(outcome.rows)
    for column in table.names:
        if column not in allowed:
            assert outcome.table[column].equals(source[column], null_equal=True), column
            assert outcome.table.schema[column] == table.schema[column]


def missing_stays_missing_or_is_named(case: Case) -> None:
    """A value is never made up for a missing one; suppressed cells are told from missing ones."""
    table, outcome = case.table, case.outcome
    if not outcome.linked:
        return
    rows = np.arange(table.height) if outcome.rows is None else outcome.rows
    for column in outcome.table.names:
        was_missing = table[column].is_null().to_numpy()[rows]
        null = outcome.table[column].is_null().to_numpy()
        starred = outcome.table.suppressed(column)
        if isinstance(outcome.table[column].dtype, pl.List):
            # A published set tells what is there, never what is not: the empty one tells nothing.
            starred = starred | (outcome.table[column].list.len() == 0).fill_null(False).to_numpy()
        if outcome.table.schema[column].generalized:
            # A label that says so leaves open whether there is a value.
            labels = outcome.table[column].cast(pl.String)
            starred = starred | labels.str.ends_with(" or missing").fill_null(False).to_numpy()
        assert (null | starred)[was_missing].all(), f"{column}: a missing value was filled"
        made_null = null & ~was_missing
        assert starred[made_null].all(), f"{column}: a value vanished and is not marked suppressed"


def groups_keep_k(case: Case) -> None:
    if not isinstance(case.step.use, Partitioner):
        return
    found = case.outcome.partition
    assert isinstance(found, Partition | Cover)
    assert len(found) == case.table.height
    assert (found.sizes >= getattr(case.step.use, "k", 1)).all()


PROMISES: tuple[Callable[[Case], None], ...] = (
    rows_are_kept_or_accounted_for,
    only_the_chosen_columns_change,
    missing_stays_missing_or_is_named,
    groups_keep_k,
)


@each(*KINDS)
def test_promises_on_every_table(entry: Entry, keeping: Keeping) -> None:
    with keeping("tables", entry) as promises:
        for name in TABLES:
            table = given(name)
            outcome = promises.run(name, lambda table=table: run(entry, table))
            with promises.keeps("the input is untouched", name):
                assert arrow(table) == untouched(name)
                assert table.schema == TABLES[name]().schema
            if outcome is None:
                continue
            case = Case(step_for(entry, table), name, table, outcome)
            for promise in PROMISES:
                with promises.keeps(promise.__name__.replace("_", " "), name):
                    promise(case)
            with promises.keeps("same seed, same bytes", name):
                assert arrow(run(entry, TABLES[name]()).table) == arrow(outcome.table)


@each(*KINDS)
def test_ordinary_tables_can_be_released(entry: Entry, tmp_path: Path) -> None:
    """Refusing everything would keep every other promise."""
    table = usual(entry)
    step = step_for(entry, table)
    run(entry, usual(entry, missing=True))
    texts = {as_csv(run(entry, table, seed).table, tmp_path / f"{seed}") for seed in range(3)}
    assert len(texts) == (3 if step.random else 1), (
        "a method that draws must draw from its stream; one that does not must not change"
    )
    plan = Plan(steps=(step,))
    assert Plan.parse(plan.to_toml()) == plan, "a plan file says all of it"
    # Through the whole house: touched columns, groups, evidence, bytes, recount, private half.
    release = protect(table, Plan(steps=(step,), measures=()), seed=1)
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    assert (folder / "evidence.json").is_file()
    assert (release.pair.rows is None) != (tmp_path / "out.private/alignment.parquet").is_file()


def as_csv(table: Table, path: Path) -> bytes:
    write_file(table, path, "csv")
    return path.read_bytes()


@each("partitioner")
def test_every_search_meets_every_verb(entry: Entry, keeping: Keeping) -> None:
    table = usual(entry, missing=True)
    use = build("partitioner", entry.name, parameters(entry, table))
    with keeping("verbs", entry) as promises:
        for verb in entries("verb"):
            unless_exempt(entry, f"verb {verb.name}")
            step = Step(use, build("verb", verb.name, {}))
            outcome = promises.run(verb.name, lambda step=step: step.run(table, stream(0, 1, "x")))
            with promises.keeps("sets are intersected, and only sets are", verb.name):
                assert outcome is not None or needs_sets(entry) != (verb.name == "intersect")
            if outcome is not None and needs_sets(entry) == (verb.name == "intersect"):
                with promises.keeps("groups of k are alike, or masked", verb.name):
                    groups_are_masked(step, table, outcome)


def groups_are_masked(step: Step, table: Table, outcome: Outcome) -> None:
    """Records of a group look alike, unless the verb draws values for each of them."""
    assert isinstance(step.use, Partitioner)
    k, chosen = getattr(step.use, "k", 1), step.use.targets(table)[0]
    if isinstance(outcome.partition, Cover):
        assert (outcome.partition.sizes >= k).all()
        return
    assert isinstance(outcome.partition, Partition)
    assert outcome.partition.smallest >= k
    if step.perturbs:
        for name in chosen:
            # Where all of every group have one value there is nothing to exchange.
            values = pl.DataFrame({"g": outcome.partition.labels, "v": table[name]}).drop_nulls()
            several = values.unique().height > values["g"].n_unique()
            assert not several or not outcome.table[name].equals(table[name]), name
    else:
        assert outcome.table.frame.group_by(chosen).len()["len"].min() >= k
