"""Which records an intruder cannot tell apart by their groups.

Where nothing was drawn at random, these are the records that look alike, and whoever wants to know
them looks at the release. Records whose values were drawn for their group do not look alike; their
groups must be remembered, and so must what can be seen in the columns that nobody perturbed.
"""

from __future__ import annotations

import numpy as np

from ...criteria.classes import equivalence_classes
from ...data.partition import SUPPRESSED_LABEL, Partition
from ...data.schema import Kind
from ...data.table import Table
from ...protocols import Outcome
from ..plan.step import Step


class PerturbedGroups:
    """Follows the steps of a plan: for each perturbed column, the groups it was drawn for."""

    def __init__(self) -> None:
        self._labels: dict[str, np.ndarray | None] = {}

    def follow(self, step: Step, chosen: set[str], outcome: Outcome) -> None:
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
            self._labels |= dict.fromkeys(chosen, labels)
        elif step.regroups and not chosen.isdisjoint(self._labels):
            if left_alone(outcome.table, chosen):
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
