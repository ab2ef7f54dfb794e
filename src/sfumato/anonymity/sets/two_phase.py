"""Two-phase: merge sets by dropping items, then split groups to bring items back."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...engines.within import FEWEST
from ...kernels.sets.mondrian import cut_sets
from ...kernels.sets.two_phase import two_phase
from ...progress import report
from .base import Sets
from .blocks import SetBlockwise

_PARTS = 1000


class TwoPhase(SetBlockwise):
    """Drop items until every set is shared by k, then split groups to bring items back.

    First the smallest cluster of equal sets joins one that differs by one item less, or drops the
    item with the least utility in all records, until every cluster has k. Of clusters of one size
    the one with most items goes first. Then groups of more than k publish all that they share, and
    let records go that share one item more with another group, or k with each other.

    The second phase also runs with all records as one group at the start, and the better result is
    kept: `start = "merged"` is the thesis' algorithm.

    Which clusters merge depends on all of them, one after the other. `blocks` are cut by the items
    that most records have, and searched one by one.
    """

    name: ClassVar[str] = "two-phase"
    paper: ClassVar[str] = (
        "B. Podgursky: Practical k-anonymity on large datasets, 2011, algorithms 6 to 8"
    )

    start: Literal["better", "merged", "whole"] = Field(
        "better",
        description="what is split: merged sets, all records as one group, or whichever of "
        "both keeps more utility",
    )
    prefer: Literal["union", "loss"] = Field(
        "union",
        description="which cluster to merge with: where the union keeps most utility in sum, "
        "or where least is lost",
    )

    blocks: int = Field(
        0,
        ge=0,
        description="cut the records by their most frequent items into blocks of at most so many, "
        "and search within each; 0: search among all",
    )

    def local_only(self) -> str:
        if not self.blocks:
            return "one cluster merges after the other: blocks = 100000 confines it"
        why = "groups that break `criteria` are joined with any others: leave them to [require]"
        return why if self.criteria else ""

    def cutting(self) -> tuple[int, str, int]:
        return max(self.k, self.blocks // FEWEST), "even", self.blocks

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        if not self.blocks:
            return self._search(sets)
        parts = Partition.of(cut_sets(*sets.arrays, *self.cutting()))
        labels, count = np.empty(len(sets), dtype=np.int64), 0
        for rows in parts:
            found = self._search(sets.take(rows))
            labels[rows], count = found.labels + count, count + found.groups
        return Partition.of(labels)

    def _search(self, sets: Sets) -> Partition:
        def tell(share: float) -> None:
            report("merging and splitting sets", int(_PARTS * share), _PARTS)

        labels = two_phase(
            *sets.arrays,
            self.k,
            start=self.start,
            least_loss=self.prefer == "loss",
            tell=tell,
        )
        tell(1.0)
        return Partition(labels)
