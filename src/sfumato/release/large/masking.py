"""The steps of a plan, run where the records are.

What promises rest on is followed as in memory (release/records/masking.py), on tables without
records: which columns were perturbed, what overlaps, what still names people. The two questions
that only records answer are asked of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...data.partition import Partition
from ...data.schema import Kind, Role
from ...data.table import Table
from ...engines.blockwise import run_search
from ...engines.relation import Part, Relation
from ...engines.renumbered import NOW, OTHER, Renumbered
from ...engines.spread import Spread, Told
from ...errors import MethodError
from ...progress import Listener, listening
from ...protocols import Outcome, Partitioner
from ...rng import Key, stream
from ..plan.plan import Plan
from ..plan.step import Step, step_key
from ..records.masking import Work
from ..records.randomness import lasting

NOBODY = Partition(np.empty(0, dtype=np.int64))
"""The groups of no records: a search made some, which lie where the records are."""


@dataclass(frozen=True, eq=False)
class Made:
    """What steps made of records, and what is known of how it came about."""

    data: Relation
    work: Work

    @property
    def perturbed(self) -> bool:
        """Whether records look alike by chance in some quasi-identifier."""
        return self.work.groups.partition(self.work.table) is not None

    @property
    def overlapping(self) -> str:
        """The search whose sets overlap, where quasi-identifiers are published by them."""
        return self.work.overlapping


def run_steps_on(
    original: Relation,
    plan: Plan,
    seed: int,
    tell: Listener,
    by_person: tuple[Relation, Key] | None = None,
) -> Made:
    """Every step in order, then the columns that name people dropped. What is drawn for people to
    last goes by the numbers and the key of `by_person`."""
    work = Work(original.empty, original.empty)
    data = original
    for index, step in enumerate(plan.steps):
        known = by_person if lasting(step) else None
        secret = Key.of_seed(seed) if known is None else known[1]
        key = step_key(plan.steps, index, work.table, secret)
        tell(str(step.use.name), index, len(plan.steps) + 4)
        touched = step.touches(work.table)
        with listening(tell):
            rng = stream(seed, index + 1, step.use.name)
            numbers = None if known is None else known[0]
            made, told = _run_on_seen(step, data, numbers, key, rng, touched)
        _check_columns(step, work.table, made.empty, touched)
        work.alone = partial(_left_alone, made)
        work.recoded = partial(_recoded, data, made)
        outcome = Outcome(
            made.empty,
            partition=NOBODY if isinstance(step.use, Partitioner) else None,
            facts=told.facts,
            secrets=told.secrets,
            warnings=told.warnings,
        )
        work.follow(index, step, touched, outcome)
        data = made
    work.drop_names()
    return Made(data.only(work.table.names), work)


def _run_on_seen(
    step: Step,
    data: Relation,
    numbers: Relation | None,
    key: Key,
    rng: np.random.Generator,
    touched: set[str],
) -> tuple[Relation, Told]:
    """The step on the columns that it may look at; the others stay where they are."""
    words = set(_texts(step.to_plan()))
    seen = [
        column.name
        for column in data.schema
        if column.role != Role.INSENSITIVE or column.name in touched or column.name in words
    ]
    given = data.only(seen)
    if numbers is not None:
        given = Renumbered(given.join(numbers, [OTHER]))
    made, told = _run(step, given, key, rng)
    if isinstance(made, Renumbered):  # it is joined and written by its own numbers
        made = made.data.only(made.schema.names)
    if len(seen) == len(data.schema):
        return made, told
    gone = set(seen) - set(made.schema.names)
    kept = data.only([name for name in data.schema.names if name not in gone])
    return kept.join(made, made.schema.names), told


def _texts(words: Any) -> Iterator[str]:
    """The texts among a step's words, which may be columns."""
    if isinstance(words, Mapping):
        yield from _texts([*words, *words.values()])
    elif isinstance(words, list | tuple | set | frozenset):
        for one in words:
            yield from _texts(one)
    else:
        yield str(words)


def _run(step: Step, data: Relation, key: Key, rng: np.random.Generator) -> tuple[Relation, Told]:
    if isinstance(step.use, Spread):
        return step.use.run_on(data, step.use.bound(data, key))
    assert isinstance(step.use, Partitioner)
    assert step.then is not None
    return run_search(step.use, step.then, data, rng)


def _check_columns(step: Step, before: Table, after: Table, touched: set[str]) -> None:
    """Only columns that a step touches may be gone, stored otherwise or have another role."""
    for column in before.schema:
        name = column.name
        same = name in after.schema and after.schema[name] == column
        if name not in touched and not (same and after[name].dtype == before[name].dtype):
            raise MethodError(
                f"{step.use.name} changed column {name!r}, which it does not declare",
                remedy=f"declare it in `touches` ({type(step.use).__name__})",
            )


def _left_alone(data: Relation, table: Table, chosen: set[str]) -> bool:
    """Whether a record is still the only one of its kind in the chosen quasi-identifiers; one with
    gaps counts, which is the safer side."""
    quasi = [n for n in table.schema.quasi if n in chosen and table.schema[n].kind != Kind.SET]
    return bool(quasi) and bool((data.class_sizes(quasi)[:, 0] == 1).any())


def _recoded(
    before: Relation, after: Relation, table: Table, outcome: Outcome, touched: set[str]
) -> set[str]:
    """The quasi-identifiers whose labels are not told by the values that they stand for."""
    schema = after.schema
    local = set()
    for name in schema.quasi:
        if name in touched and schema[name].generalized:
            shown, _ = after.only([name]).map_parts(partial(_renamed, name))
            pairs = shown.join(before, [name]).count_by([name, NOW]).table
            pairs = pairs.take(np.flatnonzero(~pairs.suppressed(NOW)))
            if pairs.height != pairs[name].n_unique():
                local.add(name)
    return local


def _renamed(name: str, part: Table, numbers: np.ndarray) -> Part:
    column = part.schema[name].with_(name=NOW)
    marks = {NOW: part.suppressed(name)}
    return Part(Table(part.frame.rename({name: NOW}), type(part.schema)([column]), marks))
