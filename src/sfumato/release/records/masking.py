"""Running the steps of a plan: every step in order, names dropped, records shuffled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...data.pair import Pair
from ...data.partition import Cover, Partition
from ...data.schema import Role
from ...data.table import Table, as_published
from ...errors import ParameterError
from ...progress import Listener, listening
from ...protocols import Engine, Method, Partitioner
from ...rng import stream
from ..plan.plan import Plan
from .groups import REGROUPS, PerturbedGroups


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
    copies: tuple[Table, ...] = ()
    """Further releases of the same records, by multiple imputation."""
    overlapping: str = ""
    """The search whose sets overlap, where quasi-identifiers are published by them: records that
    look alike are then not all that an intruder must choose from."""

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
    engine: Engine,
    reference: Table | None = None,
) -> Draft:
    """Every step in order, then the columns that name people dropped, and the records shuffled."""
    table = original
    changed: set[str] = set()
    rows: np.ndarray | None = None  # None: all of them, in order; at ten million that is 80 MB
    partition: Partition | None = None
    groups = PerturbedGroups()
    covered: dict[str, str] = {}
    told, secrets, lineage, notes = [], {}, {}, []
    nameless: set[str] = set()
    linked = True
    copies: tuple[Table, ...] = ()
    for index, step in enumerate(plan.steps):
        tell(str(step.use.name), index, len(plan.steps) + 2)
        if copies:
            raise ParameterError(
                f"step {index + 1} ({step.use.name}) would mask the first of {len(copies) + 1} "
                "releases alone",
                remedy=f"put {plan.steps[index - 1].use.name} last",
            )
        rng = stream(seed, index + 1, step.use.name)
        touched = step.touches(table)
        if isinstance(step.use, Method) and step.use.handles_identifiers:
            nameless |= set(step.use.targets(table)[0])
        with listening(tell):
            # Non-participants tell nothing of columns that a step before has changed.
            others = None if changed & touched else reference
            outcome = engine.run(partial(step.run, reference=others), table, rng)
        changed |= touched
        label = f"{index + 1}-{step.use.name}"
        if outcome.secrets:
            secrets[label] = dict(outcome.secrets)
        groups.follow(step, touched, outcome)
        if isinstance(outcome.partition, Cover):
            covered |= dict.fromkeys(touched, str(step.use.name))
        elif isinstance(step.use, Partitioner) or step.use.name in REGROUPS or not outcome.linked:
            covered = {name: by for name, by in covered.items() if name not in touched}
        linked = linked and outcome.linked
        copies = outcome.copies
        if not linked:
            partition, rows = None, None
        elif isinstance(outcome.partition, Partition):
            partition = outcome.partition
            lineage[label] = _groups_of_originals(outcome.partition, rows, original.height)
        elif isinstance(outcome.partition, Cover):
            partition = None
            lineage[label] = _sets_of_originals(outcome.partition, rows, original.height)
        elif outcome.rows is not None:
            partition = None
        if linked and outcome.rows is not None:
            rows = outcome.rows if rows is None else rows[outcome.rows]
        table = outcome.table
        acted = {"columns": [name for name in table.names if name in touched]}
        told.append({**step.public(), "did": {**acted, **outcome.facts}})
        notes += [f"step {index + 1} ({step.use.name}): {warning}" for warning in outcome.warnings]
        del outcome  # it would keep the table of this step in memory to the end
    table, dropped = _drop_names(table, nameless)
    table = as_published(table)
    copies = tuple(as_published(_drop_names(copy, nameless)[0]) for copy in copies)
    if dropped:
        notes.append(
            f"dropped, since they point to people and no step masked them: {', '.join(dropped)}"
        )
    perturbed = groups.partition(table)
    if plan.output.shuffle and table.height:
        order = stream(seed, 0, "shuffle").permutation(table.height)
        table, rows = table.take(order), order if rows is None else rows[order]
        copies = tuple(copy.take(order) for copy in copies)
        partition, perturbed = (
            None if found is None else Partition(found.labels[order])
            for found in (partition, perturbed)
        )
    if not linked:
        rows = None
        notes.append(
            "records were drawn from a model or put together from several people's: nothing is "
            "said of who became which record"
        )
    elif rows is None:
        rows = np.arange(original.height)
    if copies:
        notes.append(
            f"{len(copies) + 1} releases of the same records: requirements hold for each, measures "
            "were taken on the first; whoever averages them sees more than one of them shows"
        )
    pair = Pair(original, table, rows)
    overlapping = next((covered[name] for name in table.schema.quasi if name in covered), "")
    return Draft(
        pair, partition, perturbed, tuple(told), secrets, lineage, tuple(notes), copies, overlapping
    )


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


def _drop_names(table: Table, nameless: set[str]) -> tuple[Table, list[str]]:
    """Identifiers of people and households reach a release only through a method made for them."""
    named = [
        name
        for name in table.schema.of_role(Role.IDENTIFIER, Role.HOUSEHOLD)
        if name not in nameless
    ]
    return table.without(named), named
