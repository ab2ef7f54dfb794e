"""Running the steps of a plan: every step in order, names dropped, records shuffled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from ...criteria.classes import equivalence_classes
from ...data.pair import Pair
from ...data.partition import SUPPRESSED_LABEL, Cover, Partition
from ...data.schema import Kind, Role
from ...data.table import Table, as_published
from ...engines.local import Local
from ...engines.relation import Whole
from ...errors import ParameterError
from ...progress import Listener, listening
from ...protocols import Method, Outcome
from ..plan.plan import Plan
from ..plan.step import Step, step_stream
from .declared import check_declared, locally_recoded
from .randomness import Randomness, shuffle_bits, shuffled
from .stages import Stage

Alone = Callable[[Table, set[str]], bool]


@dataclass(frozen=True, eq=False)
class Draft:
    """A masked table before anything was promised about it."""

    pair: Pair
    partition: Partition | None
    """The groups of the last step that made any."""
    groups: Partition | None
    """Of perturbed records; None where what is published tells which records look alike."""
    steps: tuple[Mapping[str, Any], ...]
    secrets: Mapping[str, Any]
    lineage: Mapping[str, np.ndarray]
    """For each step that grouped records: the group of every original row, -1 where it has none.
    Where sets overlap, a row of several: the original rows that the row's own set holds."""
    notes: tuple[str, ...]
    owner_notes: tuple[str, ...]
    copies: tuple[Table, ...] = ()
    """Further releases of the same records, by multiple imputation."""
    overlapping: str = ""
    """The search whose sets overlap, where quasi-identifiers are published by them: records that
    look alike are then not all that an intruder must choose from."""
    stages: tuple[Stage, ...] = ()
    """What every step made."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The original beside every table that is published."""
        others = (Pair(self.pair.original, copy, self.pair.rows) for copy in self.copies)
        return (self.pair, *others)


def run_steps(
    original: Table,
    plan: Plan,
    seed: int,
    tell: Listener,
    engine: Local,
    reference: Table | None = None,
    randomness: Randomness | None = None,
) -> Draft:
    """Every step in order, then the columns that name people dropped, and the records shuffled."""
    work = Work(original, original)
    random = randomness or Randomness.of(seed, original)
    for index, step in enumerate(plan.steps):
        tell(str(step.use.name), index, len(plan.steps) + 2)
        if work.copies:
            raise ParameterError(
                f"step {index + 1} ({step.use.name}) would mask the first of "
                f"{len(work.copies) + 1} releases alone",
                remedy=f"put {plan.steps[index - 1].use.name} last",
            )
        touched = step.touches(work.table)
        # Non-participants tell nothing of columns that a step before has changed.
        others = None if work.changed & touched else reference
        with listening(tell):
            rng = step_stream(plan.steps, index, work.table, seed)
            doing = step.at(work.rows)
            own = random.step(plan.steps, index, work.rows, work.table, linked=work.linked)
            task = partial(doing.run, reference=others, records=own)
            outcome = engine.run(task, work.table, rng)
        check_declared(step, work.table, outcome, touched)
        work.follow(index, step, touched, outcome)
        work.stages.append(
            Stage(
                number=index + 1,
                step=Step(step.use, step.then),
                original=original,
                tables=(work.table, *work.copies),
                facts=work.steps[-1]["did"],
                secrets=outcome.secrets,
                warnings=(*outcome.warnings, *outcome.owner_warnings),
                taken=work.rows,
                linked=work.linked,
                published=partial(_nameless, kept=frozenset(work.nameless)),
                groups=copy(work.groups).partition,
                reference=reference,
                mechanism=plan.mechanism[: index + 1],
            )
        )
    work.drop_names()
    perturbed = work.groups.partition(work.table)
    if plan.output.shuffle and work.table.height:
        numbers = random.numbers(work.rows, work.table.height)
        whole = Whole(work.table, numbers)
        order = shuffled(numbers, shuffle_bits(seed, plan.steps, original.schema, whole))
        work.shuffle(order)
        perturbed = None if perturbed is None else Partition(perturbed.labels[order])
    return work.draft(perturbed)


class PerturbedGroups:
    """Follows the steps of a plan: for each perturbed column, the groups it was drawn for.

    Where nothing was drawn at random, an intruder cannot tell apart the records that look alike.
    Records whose values were drawn for their group do not look alike: their groups must be
    remembered, and so must what can be seen in the columns that nobody perturbed.
    """

    def __init__(self) -> None:
        self._labels: dict[str, np.ndarray | None] = {}

    def follow(self, step: Step, chosen: set[str], outcome: Outcome, alone: Alone) -> None:
        """Note what a step did to its columns."""
        if not outcome.linked:
            # New records: nothing is left of what was known about the old ones.
            self._labels = dict.fromkeys(outcome.table.names, None)
            return
        if outcome.rows is not None:
            self._labels = {
                name: None if labels is None else labels[outcome.rows]
                for name, labels in self._labels.items()
            }
        if step.perturbs:
            found = outcome.partition
            labels = found.labels if isinstance(found, Partition) else None
            # Another dictionary: what is known so far is what an earlier stage goes by.
            self._labels = self._labels | dict.fromkeys(chosen, labels)
        elif step.regroups and not chosen.isdisjoint(self._labels):
            if alone(outcome.table, chosen):
                return
            self._labels = {n: held for n, held in self._labels.items() if n not in chosen}

    def partition(self, table: Table) -> Partition | None:
        """The groups of a release; None where its published values tell them.

        Where a column was perturbed without groups, no record is in any.
        """
        quasi = table.schema.quasi
        perturbed = {name: self._labels[name] for name in quasi if name in self._labels}
        if not perturbed:
            return None
        if any(labels is None for labels in perturbed.values()):
            return Partition(np.full(table.height, SUPPRESSED_LABEL, dtype=np.int64))
        distinct = {id(labels): labels for labels in perturbed.values()}
        parts = [labels for labels in distinct.values() if labels is not None]
        others = [name for name in quasi if name not in perturbed]
        if others:
            parts.append(equivalence_classes(table, others).labels)
        if len(parts) == 1:
            return Partition.of(parts[0])
        combined = np.column_stack(parts)
        _, labels = np.unique(combined, axis=0, return_inverse=True)
        alone = (combined == SUPPRESSED_LABEL).any(axis=1)
        return Partition.of(np.where(alone, SUPPRESSED_LABEL, labels.reshape(-1)))


def left_alone(table: Table, chosen: set[str]) -> bool:
    """Whether the chosen quasi-identifiers still tell a record apart, whatever a step says of its
    groups. A missing cell may match any, and of sets it is not the whole that is grouped."""
    quasi = [n for n in table.schema.quasi if n in chosen and table.schema[n].kind != Kind.SET]
    if not quasi:
        return False
    gaps = [table[name].is_null().to_numpy() | table.suppressed(name) for name in quasi]
    found = equivalence_classes(table, quasi)
    alone = np.append(found.sizes == 1, False)[found.labels]
    return bool((alone & ~np.logical_or.reduce(gaps)).any())


@dataclass(eq=False)
class Work:
    """The table between two steps, and what is known of how it came about."""

    original: Table
    table: Table
    rows: np.ndarray | None = None
    """Of the original, one for each record; None: all, in order. At ten million that is 80 MB."""
    linked: bool = True
    vouched: bool = True
    """Whether every step said what it does. Of other rows it is not known whose they are."""
    partition: Partition | None = None
    groups: PerturbedGroups = field(default_factory=PerturbedGroups)
    changed: set[str] = field(default_factory=set)
    covered: dict[str, str] = field(default_factory=dict)
    """By column that was published by overlapping sets: the search that made them."""
    nameless: set[str] = field(default_factory=set)
    copies: tuple[Table, ...] = ()
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    secrets: dict[str, Any] = field(default_factory=dict)
    lineage: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    owner_notes: list[str] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    alone: Alone = left_alone
    recoded: Callable[[Table, Outcome, set[str]], set[str]] = locally_recoded

    def follow(self, index: int, step: Step, touched: set[str], outcome: Outcome) -> None:
        """Take a step's outcome for the table, and note what it did."""
        label = f"{index + 1}-{step.use.name}"
        if outcome.secrets:
            self.secrets[label] = dict(outcome.secrets)
        if isinstance(step.use, Method) and step.use.handles_identifiers:
            self.nameless |= set(step.use.targets(self.table)[0])
        self.vouched = self.vouched and step.vouched
        self.changed |= touched
        self.groups.follow(step, touched, outcome, self.alone)
        self._follow_cover(step, touched, outcome)
        self._follow_records(label, outcome)
        self.table, self.copies = outcome.table, outcome.copies
        acted = {"columns": [name for name in self.table.names if name in touched]}
        self.steps.append({**step.public(), "did": {**acted, **outcome.facts}})
        head = f"step {index + 1} ({step.use.name})"
        self.notes += [f"{head}: {warning}" for warning in outcome.warnings]
        self.owner_notes += [f"{head}: {warning}" for warning in outcome.owner_warnings]

    def _follow_cover(self, step: Step, touched: set[str], outcome: Outcome) -> None:
        if isinstance(outcome.partition, Cover):
            self.covered |= dict.fromkeys(touched, str(step.use.name))
        elif step.regroups or not outcome.linked:
            if outcome.linked and self.covered and self.alone(outcome.table, touched):
                return
            self.covered = {name: by for name, by in self.covered.items() if name not in touched}
        elif not step.perturbs and not step.regroups and outcome.partition is None:
            local = self.recoded(self.table, outcome, touched)
            self.covered |= dict.fromkeys(local, str(step.use.name))

    def _follow_records(self, label: str, outcome: Outcome) -> None:
        """Which original became which record, and which were put together."""
        self.linked = self.linked and outcome.linked and self.vouched
        if not self.linked:
            self.partition = self.rows = None
            return
        found, height = outcome.partition, self.original.height
        if isinstance(found, Partition):
            self.partition = found
            self.lineage[label] = _groups_of_originals(found, self.rows, height)
        elif isinstance(found, Cover):
            self.partition = None
            self.lineage[label] = _sets_of_originals(found, self.rows, height)
        elif outcome.rows is not None:
            self.partition = None
        if outcome.rows is not None:
            self.rows = outcome.rows if self.rows is None else self.rows[outcome.rows]

    @property
    def overlapping(self) -> str:
        """The search whose sets overlap, where quasi-identifiers are published by them."""
        quasi = self.table.schema.quasi
        return next((self.covered[name] for name in quasi if name in self.covered), "")

    def drop_names(self) -> None:
        """Identifiers and households reach a release only through a method made for them."""
        dropped = _pointing(self.table, self.nameless)
        kept = [one.without(dropped) for one in (self.table, *self.copies)]
        used = _categories(kept) if self.copies else None
        self.table, *copies = (as_published(one, used) for one in kept)
        self.copies = tuple(copies)
        if dropped:
            self.notes.append(
                f"dropped, since they point to people and no step masked them: {', '.join(dropped)}"
            )

    def shuffle(self, order: np.ndarray) -> None:
        """Put the records into another order."""
        self.table = self.table.take(order)
        self.rows = order if self.rows is None else self.rows[order]
        self.copies = tuple(copy.take(order) for copy in self.copies)
        if self.partition is not None:
            self.partition = Partition(self.partition.labels[order])

    def draft(self, perturbed: Partition | None) -> Draft:
        """What was made of the original."""
        if not self.linked:
            self.rows = None
            self.notes.append(
                "records were drawn from a model or put together from several people's: nothing is "
                "said of who became which record"
                if self.vouched
                else "a step does not say what it does to records: nothing is said of who became "
                "which record"
            )
        elif self.rows is None:
            self.rows = np.arange(self.original.height)
        if self.copies:
            self.notes.append(
                f"{len(self.copies) + 1} releases of the same records: requirements hold for each, "
                "measures were taken on the first; whoever averages them sees more than one of "
                "them shows"
            )
        return Draft(
            Pair(self.original, self.table, self.rows),
            self.partition,
            perturbed,
            tuple(self.steps),
            self.secrets,
            self.lineage,
            tuple(self.notes),
            tuple(self.owner_notes),
            self.copies,
            self.overlapping,
            tuple(self.stages),
        )


def _pointing(table: Table, kept: Collection[str]) -> list[str]:
    """The columns that point to people and that no method made for them has masked."""
    pointing = table.schema.of_role(Role.IDENTIFIER, Role.HOUSEHOLD)
    return [name for name in pointing if name not in kept]


def _nameless(table: Table, kept: Collection[str]) -> Table:
    """The table without the columns that point to people, as it would be published."""
    return as_published(table.without(_pointing(table, kept)))


def _categories(copies: Sequence[Table]) -> dict[str, list[str]]:
    """The categories that any of several copies holds: their files are read by one schema."""
    used = {}
    for name in copies[0].names:
        dtype = copies[0][name].dtype
        if isinstance(dtype, pl.Enum | pl.Categorical):
            held = {
                value for copy in copies for value in copy[name].drop_nulls().unique().to_list()
            }
            order = dtype.categories.to_list() if isinstance(dtype, pl.Enum) else sorted(held)
            used[name] = [category for category in order if category in held]
    return used


def _groups_of_originals(partition: Partition, rows: np.ndarray | None, height: int) -> np.ndarray:
    """The group of each original record, -1 where it has none."""
    if rows is None:
        return partition.labels
    groups = np.full(height, -1, dtype=np.int64)
    groups[rows] = partition.labels
    return groups


def _sets_of_originals(cover: Cover, rows: np.ndarray | None, height: int) -> np.ndarray:
    """The original rows that each original record was joined with, -1 behind short sets."""
    own = np.arange(len(cover)) if rows is None else rows
    sets = np.full((height, int(cover.sizes.max(initial=0))), -1, dtype=np.int64)
    owner = np.repeat(np.arange(len(cover)), cover.sizes)
    place = np.arange(cover.members.size) - np.repeat(cover.starts[:-1], cover.sizes)
    sets[own[owner], place] = own[cover.members]
    return sets
