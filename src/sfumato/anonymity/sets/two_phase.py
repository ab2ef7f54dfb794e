"""Two-phase: merge sets by dropping items, then split groups to bring items back."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...kernels.sets.two_phase import two_phase
from ...progress import report
from .base import Sets, SetSearch

_PARTS = 1000


class TwoPhase(SetSearch):
    """Drop items until every set is shared by k, then split groups to bring items back.

    First the smallest cluster of equal sets joins one that differs by one item less, or drops the
    item with the least utility in all records, until every cluster has k. Of clusters of one size
    the one with most items goes first. Then groups of more than k publish all that they share, and
    let records go that share one item more with another group, or k with each other.

    The second phase also runs with all records as one group at the start, and the better result is
    kept: `start = "merged"` is the thesis' algorithm.
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

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
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
