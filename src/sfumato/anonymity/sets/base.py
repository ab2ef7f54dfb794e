"""What all searches for sets share: the sets as compressed rows with the utilities of their items,
and what becomes of records without a set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...criteria.classes import Grouping
from ...data.codec import Matrix
from ...data.partition import Cover, Partition, require_group
from ...data.sets.items import check_utilities, item_parents, item_utilities
from ...data.sets.table import SetTable, item_type
from ...data.table import Table
from ...errors import MethodError
from ...kernels.sets.joining import best_partners
from ...kernels.sets.lsh import MOST_BITS
from ...kernels.sets.rows import common_items, take_rows
from ...nested import Rule
from ...progress import report
from ...protocols import Criterion, Partitioner

FEW_LOST = (
    "a few records have no set; they are grouped with others as empty sets, since fewer than k "
    "cannot stay apart"
)


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets as kernels see them: `items[starts[i]:starts[i + 1]]` are those of record i, sorted."""

    starts: np.ndarray
    """int64[n + 1]."""
    items: np.ndarray
    """uint16, or int32 where there are more than 65,536 different items."""
    utilities: np.ndarray
    """float64[d]: what an occurrence of each item is worth; never negative."""
    parents: np.ndarray | None = None
    """int64[d]: the item that stands above each one, -1 for none; None where none does."""

    def __len__(self) -> int:
        return int(self.starts.size) - 1

    @property
    def d(self) -> int:
        """How many different items there are."""
        return int(self.utilities.size)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, items and utilities."""
        return self.starts, self.items, self.utilities

    def take(self, rows: np.ndarray) -> Sets:
        """The sets of some records."""
        return Sets(*take_rows(self.starts, self.items, rows), self.utilities, self.parents)


def sets_of(x: Matrix) -> tuple[Sets, np.ndarray]:
    """The columns' sets side by side, with utilities, and which records have no set at all.

    Several columns become one: an item of the second is another than the same item of the first.
    """
    views = [SetTable.of(x.table, name) for name in x.names]
    for name, view in zip(x.names, views, strict=True):
        check_utilities(x.table.schema[name], view.names)
    utilities = [
        item_utilities(x.table.schema[name], view.names)
        for name, view in zip(x.names, views, strict=True)
    ]
    parents = [
        item_parents(x.table.schema[name], view.names)
        for name, view in zip(x.names, views, strict=True)
    ]
    starts, items, missing = side_by_side(views)
    offsets = np.cumsum([0, *(len(view.names) for view in views)])
    above = [
        np.where(own < 0, -1, own + offset)
        for own, offset in zip(parents, offsets[:-1], strict=True)
    ]
    return Sets(starts, items, np.concatenate(utilities), np.concatenate(above)), missing


def side_by_side(views: Sequence[SetTable]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Several columns of sets as one: starts, items, and which records have no set at all."""
    missing = np.logical_and.reduce([view.missing for view in views])
    if len(views) == 1:
        return views[0].starts, views[0].items, missing
    d = sum(len(view.names) for view in views)
    starts = np.sum([view.starts for view in views], axis=0)
    items = np.empty(int(starts[-1]), dtype=item_type(d))
    place, offset = starts[:-1].copy(), 0
    for view in views:
        at = np.repeat(place - view.starts[:-1], view.sizes) + np.arange(view.items.size)
        items[at] = view.items.astype(np.int64) + offset
        place += view.sizes
        offset += len(view.names)
    return starts, items, missing


def checked_start(start: Partitioner, of: str, example: str) -> SetSearch:
    """A nested search for sets, which takes k and criteria from the one around it."""
    if not isinstance(start, SetSearch):
        raise ValueError(f'{start.name} does not search sets: start = "{example}", for example')
    for name in ("k", "criteria"):
        if name in start.model_fields_set:
            raise ValueError(f"{name} of {of} holds for its start as well")
    return start


class SetSearch(Partitioner):
    """A search over set-valued records; `search` is its work."""

    kinds: ClassVar[tuple[str, ...]] = ("set",)
    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    default_verb: ClassVar[str] = "intersect"

    k: int = Field(5, ge=2, description="smallest group")
    criteria: tuple[Rule, ...] = Field(
        (),
        description="criteria on confidential values that every group must keep; groups that "
        "break one are joined with others",
    )

    @abstractmethod
    def search(self, sets: Sets, rng: np.random.Generator) -> Partition | Cover:
        """Groups of at least k records that have much in common. There are at least k records."""

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        require_group(len(x), self.k)
        sets, missing = sets_of(x)
        return self._keeping(self._partition(sets, missing, rng), sets, x)

    def _keeping(self, found: Partition | Cover, sets: Sets, x: Matrix) -> Partition | Cover:
        """The groups, joined where they break the criteria."""
        if not self.criteria:
            return found
        if not isinstance(found, Partition):
            raise MethodError(
                f"{self.name} gives every record its own group of others: criteria on confidential "
                "values hold in groups that all of their members share",
                remedy='use a search such as "set-mondrian", or leave `criteria` out',
            )
        return joined_until_kept(found, sets, x.table, self.criteria)

    def _partition(
        self, sets: Sets, missing: np.ndarray, rng: np.random.Generator
    ) -> Partition | Cover:
        lost = int(missing.sum())
        if not lost:
            return self.search(sets, rng)
        if lost < self.k or len(sets) - lost < self.k:
            # Too few to stay apart: they are published as sets of which nothing is told.
            found = self.search(sets, rng)
            return _with_warnings(found, (*found.warnings, FEW_LOST))
        present = np.flatnonzero(~missing)
        return _apart(self.search(sets.take(present), rng), present, missing)


def _with_warnings(found: Partition | Cover, warnings: tuple[str, ...]) -> Partition | Cover:
    if isinstance(found, Partition):
        return Partition(found.labels, found.facts, warnings)
    return Cover(found.starts, found.members, found.facts, warnings)


def _apart(found: Partition | Cover, present: np.ndarray, missing: np.ndarray) -> Partition | Cover:
    """The groups of the records that have sets, and one more of those that have none."""
    without = np.flatnonzero(missing)
    if isinstance(found, Partition):
        labels = np.full(missing.size, found.groups, dtype=np.int64)
        labels[present] = found.labels
        return Partition(labels, found.facts, found.warnings)
    sizes = np.zeros(missing.size, dtype=np.int64)
    sizes[present] = found.sizes
    # One set for each record without: itself and k - 1 others, so that memory stays linear.
    most = int(found.sizes.min(initial=without.size))
    most = min(max(most, 1), without.size)
    sizes[without] = most
    starts = np.concatenate(([0], np.cumsum(sizes)))
    members = np.empty(int(starts[-1]), dtype=np.int64)
    at = np.repeat(starts[present] - found.starts[:-1], found.sizes)
    members[at + np.arange(found.members.size)] = present[found.members]
    around = (np.arange(without.size)[:, None] + np.arange(most)) % without.size
    members[(starts[without][:, None] + np.arange(most)).ravel()] = without[around.ravel()]
    return Cover(starts, members, found.facts, found.warnings)


class HashedSearch(SetSearch):
    """A search whose neighbours are those that share a bucket of a locality-sensitive hash."""

    random: ClassVar[bool] = True

    hashing: Literal["even", "hamming"] = Field(
        "even",
        description="what a bit of a key tells: whether a set holds one of some items that half "
        "of the sets hold (the thesis), or one item drawn at random (Gionis et al. 1999)",
    )
    tables: int = Field(5, ge=1, le=64, description="hash tables")
    sample: float = Field(50.0, gt=0, description="a search looks at about this times log(n) sets")
    bits: int | None = Field(
        None, ge=0, le=MOST_BITS, description="length of the hash keys; fits `sample` if left out"
    )


def joined_until_kept(
    found: Partition, sets: Sets, table: Table, criteria: Sequence[Criterion]
) -> Partition:
    """The partition with every group that breaks a criterion joined with the one it fits best.

    It goes in rounds: joining may break what held, where a criterion is not monotone. One group of
    everybody is the last resort; where even that breaks a criterion, nothing can be done.
    """
    labels = found.labels.copy()
    while True:
        grouping = Grouping.of(table, labels)
        kept = np.logical_and.reduce([criterion.keeps(grouping) for criterion in criteria])
        broken = np.flatnonzero(~kept)
        groups = int(kept.size)
        report("joining groups", groups - broken.size, groups)
        if not broken.size:
            return Partition(labels, found.facts, found.warnings)
        if groups == 1:
            names = ", ".join(str(criterion.name) for criterion in criteria)
            raise MethodError(
                f"even all records together break {names}",
                remedy="loosen the limit, or leave rare confidential values out",
            )
        partition = Partition(labels)
        starts, items = common_items(sets.starts, sets.items, partition.order, partition.starts)
        partner = best_partners(starts, items, sets.utilities, partition.sizes, broken)
        labels = _merged(broken, partner, groups)[labels]


def _merged(broken: np.ndarray, partner: np.ndarray, groups: int) -> np.ndarray:
    """The new number of each group when every broken one goes to its partner's."""
    lead = np.arange(groups)
    for b, p in zip(broken.tolist(), partner.tolist(), strict=True):
        low, high = sorted((_root(lead, b), _root(lead, p)))
        lead[high] = low
    for g in range(groups):
        lead[g] = lead[lead[g]]  # a lead is never above its group: one pass from below is enough
    return np.unique(lead, return_inverse=True)[1].reshape(-1)


def _root(lead: np.ndarray, group: int) -> int:
    while lead[group] != group:
        group = int(lead[group])
    return group
