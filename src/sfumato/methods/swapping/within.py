"""Swapping within the groups of any search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.partition import Cover, Partition, disjoint
from ...data.table import Table
from ...kernels.swapping.within_groups import permute_within
from ...protocols import Outcome, Verb
from ..published_counts import at_least, exact_shares, published_shares
from ..suppression.local import suppress
from .base import absent, alike_in_gaps, gathered, is_moved


class Swap(Verb):
    """Permute each column at random among the records of each group.

    Every group keeps its own values of each column, so that marginals, group means and group
    variances are exact, in the group and in the whole table. Within a group the columns become
    independent of one another and of the columns that are not swapped; between groups all relations
    stay. With `block` the columns of a record move together: relations among them are exact, those
    with other columns are lost within the group.

    All permutations of a group are equally likely, those that leave a record its value included:
    given the group, each of its k values is equally likely to be the record's own.

    A missing or suppressed value stays where it is; as a block, only records that miss the same
    columns are permuted. Records without a group are suppressed.
    """

    name: ClassVar[str] = "swap"
    paper: ClassVar[str] = (
        "Takemura 2002, Local recoding and record swapping by maximum weight matching for "
        "disclosure control of microdata sets, Journal of Official Statistics 18(2)"
    )
    perturbs: ClassVar[bool | None] = True

    block: bool = Field(
        False, description="move a record's columns together; false: each on its own"
    )

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        partition = disjoint(partition, self.name)
        labels = partition.labels
        hidden = labels < 0
        series, marks, moved = [], {}, {}
        if self.block:
            together = alike_in_gaps(labels, table, columns)
            source = permute_within(together, rng.random(labels.size))
        for name in columns:
            if not self.block:
                own = np.where(absent(table, name), -1, labels)
                source = permute_within(own, rng.random(labels.size))
            made = gathered(table[name], source)
            if hidden.any():
                made = suppress(made, hidden, table.schema[name].generalized)
                marks[name] = hidden | table.suppressed(name)
            series.append(made)
            moved[name] = is_moved(source)
        facts: dict[str, Any] = {
            "groups": partition.groups,
            "smallest group": partition.smallest,
            "share of values moved": published_shares(moved),
        }
        if hidden.any():
            facts["suppressed cells"] = {name: int(hidden.sum()) for name in columns}
        return Outcome(
            table.with_columns(series, suppressed=marks),
            partition=partition,
            facts=facts,
            secrets={"share of values moved": exact_shares(moved)},
            warnings=_alone(partition, columns),
        )


def _alone(partition: Partition, columns: Sequence[str]) -> tuple[str, ...]:
    alone = int((partition.sizes == 1).sum())
    if not alone:
        return ()
    return (
        f"{at_least(alone)} records are alone in their group: their values of "
        f"{', '.join(columns)} are published as they are; use larger groups",
    )
