"""(k,k)-anonymity for sets: a (k,1) search, widened until every original fits k published sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from ...data.codec import Matrix
from ...data.partition import Cover, Partition
from ...data.sets.table import item_type
from ...kernels.sets.kk import widened
from ...kernels.sets.rows import common_items
from ...nested import Search, named
from ...protocols import Partitioner
from .base import Sets, SetSearch, checked_start, sets_of
from .k1 import ONLY_K1

ONLY_KK = (
    "each published set is contained in k original ones, and k published sets are contained in "
    "each original one, (k,k)-anonymity: records need not look alike, so that fewer than k may "
    "show the same set"
)


class KKCluster(SetSearch):
    """Sets that fit k originals each, while every original fits k of them, (k,k)-anonymity.

    `start` chooses for each record k records, and what they have in common is published of it:
    (k,1). Then every original that fewer than k published sets lie within takes the k that lose
    least utility by being intersected with it; for a published set that means one record more whose
    items it must share. Published sets only shrink, so that what fitted goes on to fit. An intruder
    who knows all of a person's items finds k records that may be that person's, and each record may
    be one of k people; records need not look alike. Partitions are (k,k)-anonymous as they are.

    Originals are taken in the order of the table, some hundreds at a time. For each, `looked`
    published sets are looked at, in a random order, beside those of the records that stand in its
    own set.
    """

    name: ClassVar[str] = "kk-cluster"
    aliases: ClassVar[tuple[str, ...]] = ("kk",)
    random: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"k": 5}
    paper: ClassVar[str] = (
        "Gionis, Mazza & Tassa (2008), k-anonymization revisited, ICDE (algorithms 4 and 5); B. "
        "Podgursky: Practical k-anonymity on large datasets, 2011 (utilities)"
    )

    start: Search = named("k1-cluster", "the (k,1) search that is widened, with the same k")
    looked: int = Field(
        50_000, ge=1, description="published sets looked at for an original that too few fit"
    )

    @field_validator("start")
    @classmethod
    def _searches_sets(cls, start: Partitioner) -> Partitioner:
        return checked_start(start, "kk-cluster", "k1-cluster")

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        if len(x) < self.k:
            return super().partition(x, rng)
        gone = [x.table[name].is_null().to_numpy() for name in x.names]
        sets = _with_missing(sets_of(x)[0], [one for one in gone if one.any()])
        return self._keeping(self.search(sets, rng), sets, x)

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition | Cover:
        assert isinstance(self.start, SetSearch)
        found = self.start.model_copy(update={"k": self.k}).search(sets, rng)
        if isinstance(found, Partition):
            return found
        shown_starts, shown = common_items(sets.starts, sets.items, found.members, found.starts)
        whose, whom = widened(
            sets.starts, sets.items, sets.utilities, shown_starts, shown, found.starts,
            found.members, self.k, self.looked, rng.permutation(len(sets)),
        )  # fmt: skip
        facts = dict(found.facts)
        changed = np.unique(whose).size
        if min(changed, len(sets) - changed) >= 10:
            facts["sets widened for others"] = round(changed / len(sets), 2)
        return _joined(found, whose, whom, facts)


def _with_missing(sets: Sets, gone: list[np.ndarray]) -> Sets:
    """The sets with one item more for each column that has missing sets: that it is missing.

    What is published as missing fits only those who have no set either, so that it is something
    that a record tells; it is worth as much as other items.
    """
    if not gone:
        return sets
    added = np.sum(gone, axis=0, dtype=np.int64)
    starts = sets.starts + np.concatenate(([0], np.cumsum(added)))
    items = np.empty(int(starts[-1]), dtype=item_type(sets.d + len(gone)))
    at = np.repeat(starts[:-1] - sets.starts[:-1], np.diff(sets.starts))
    items[at + np.arange(sets.items.size)] = sets.items
    place = starts[:-1] + np.diff(sets.starts)
    for j, missing in enumerate(gone):
        items[place[missing]] = sets.d + j
        place = place + missing
    worth = float(sets.utilities.mean()) if sets.d else 1.0
    return Sets(starts, items, np.append(sets.utilities, np.full(len(gone), worth)))


def _joined(found: Cover, whose: np.ndarray, whom: np.ndarray, facts: Mapping[str, Any]) -> Cover:
    """The cover with more members in some sets, behind those that were there."""
    more = np.bincount(whose, minlength=len(found))
    starts = np.concatenate(([0], np.cumsum(found.sizes + more))).astype(np.int64)
    members = np.empty(int(starts[-1]), dtype=np.int64)
    at = np.repeat(starts[:-1] - found.starts[:-1], found.sizes) + np.arange(found.members.size)
    members[at] = found.members
    order = np.argsort(whose, kind="stable")
    place = np.arange(whose.size) - np.repeat(np.cumsum(more) - more, more)
    members[(starts[:-1] + found.sizes)[whose[order]] + place] = whom[order]
    others = (warning for warning in found.warnings if warning != ONLY_K1)
    return Cover(starts, members, facts, (ONLY_KK, *others))
