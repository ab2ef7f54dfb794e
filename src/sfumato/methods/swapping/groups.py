"""Swapping within groups: those that a search found, or that agree on core variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.partition import Cover, Partition, disjoint
from ...data.schema import Role
from ...data.table import Table
from ...errors import MethodError
from ...kernels.swapping.within_groups import pair_within, permute_within
from ...protocols import Method, Outcome, Verb
from ..counts import at_least, exact_shares, published_shares
from ..suppression.cells import suppress
from .base import absent, agreeing, alike_in_gaps, gathered, is_moved


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
            warnings=_warned_of_lone(partition, columns),
        )


def _warned_of_lone(partition: Partition, columns: Sequence[str]) -> tuple[str, ...]:
    alone = int((partition.sizes == 1).sum())
    if not alone:
        return ()
    return (
        f"{at_least(alone)} records are alone in their group: their values of "
        f"{', '.join(columns)} are published as they are; use larger groups",
    )


class CoreSwap(Method):
    """Swap columns only between records that agree on the core columns.

    Pairs of records with the same values of `core` exchange their values of `columns`. The core and
    all other columns stay. What is kept exactly, whatever the rate:

    - as a block (the default): the joint table of the core and all swapped columns, hence every
      statistic that uses these and no others. Lost are relations of the swapped columns with those
      that are neither core nor swapped.
    - with block = false, each column on its own: the joint table of the core and any one swapped
      column (all interactions of one non-core variable with the core, Lasko 2.3.3), and the
      relations among columns that are not swapped. Those between two swapped columns are lost.

    Missing is a value of its own in the core. A missing or suppressed value of a swapped column
    stays where it is: as a block only records that miss the same columns are exchanged, else
    only records that have the value. Each group of s records gets rate * s / 2 pairs, rounded up or
    down at random, as far as it has them; a record alone in its group keeps its values.
    """

    name: ClassVar[str] = "core-swap"
    roles: ClassVar[tuple[str, ...]] = ("confidential",)
    perturbs: ClassVar[bool | None] = True
    example: ClassVar[dict[str, Any]] = {"core": ["sex", "age_group"], "rate": 0.5}
    paper: ClassVar[str] = (
        "Dalenius & Reiss 1982, Data-swapping: a technique for disclosure control; "
        "Fienberg & McIntyre 2004, Data swapping: variations on a theme by Dalenius and Reiss"
    )

    core: tuple[str, ...] = Field(
        min_length=1, description="columns that two records must agree on to be swapped"
    )
    rate: float = Field(1.0, gt=0, le=1, description="share of the records to swap")
    block: bool = Field(
        True, description="move all columns of a record together; false: each on its own"
    )

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        for name in self.core:
            if name in self.columns:
                raise MethodError(
                    f"column {name!r} is core and cannot be swapped",
                    remedy="name it in `core` or in `columns`, not in both",
                )
            table.schema[name]  # raises, if there is no such column
        chosen, left = super().targets(table)
        chosen = [name for name in chosen if name not in self.core]
        if not chosen:
            raise MethodError(
                f"core-swap has no column to swap: {', '.join(self.core)} are core",
                remedy="name others in `columns`",
            )
        return chosen, left

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        core = agreeing(table, self.core)
        if self.block:
            labels = alike_in_gaps(core, table, chosen)
            source = self._pairs(labels, rng)
            sources = dict.fromkeys(chosen, source)
            alone = _alone(labels)
        else:
            sources, alone = {}, 0
            for name in chosen:
                labels = np.where(absent(table, name), -1, core)
                sources[name] = self._pairs(labels, rng)
                alone = max(alone, _alone(labels))
        if not any((found != np.arange(table.height)).any() for found in sources.values()):
            raise MethodError(
                "core-swap exchanged nothing: no two records agree on the core, or too few do",
                remedy="name fewer columns in `core`, recode them more coarsely, or raise `rate`",
            )
        series = [gathered(table[name], sources[name]) for name in chosen]
        moved = {name: is_moved(source) for name, source in sources.items()}
        # Who is alone in the core keeps its values: how many are is for the owner.
        return Outcome(
            table.with_columns(series),
            facts={"columns": chosen, "share of records swapped": published_shares(moved)},
            secrets={
                "share of records swapped": exact_shares(moved),
                "records without a partner": alone,
            },
            warnings=self._warnings(table, chosen, alone),
        )

    def _pairs(self, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        groups = int(labels.max(initial=-1)) + 1
        return pair_within(labels, self.rate, rng.random(labels.size), rng.random(groups))

    def _warnings(self, table: Table, chosen: list[str], alone: int) -> tuple[str, ...]:
        warnings = []
        moving = {*chosen, *self.core}
        rest = [c for c in table.schema if c.name not in moving and c.role != Role.IDENTIFIER]
        if self.block and not rest:
            warnings.append(
                "every column that is not core moved together: the records only changed their "
                "order; name fewer in `columns`, or set block = false"
            )
        if alone:
            warnings.append(
                f"{at_least(alone)} records have no partner that agrees on the core and keep "
                "their values; name fewer core columns, or recode them more coarsely"
            )
        return tuple(warnings)


def _alone(labels: np.ndarray) -> int:
    """Records that are the only ones of their group."""
    return int((np.bincount(labels[labels >= 0]) == 1).sum())
