"""(k,1)-anonymity for sets from the top."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.partition import Cover
from ...kernels.sets.k1 import k1_top_down
from ...progress import report
from .base import Sets, SetSearch
from .k1_cluster import cover_of


class K1TopDown(SetSearch):
    """Publish of each set the items that k sets contain, found by cutting from the top.

    Each record adds item after item, the one that is worth most for the share of supporting records
    that it costs, as long as k records hold them all; records that choose alike go on together.
    In small pools the search may turn back. Further `tries` begin with each record's items of
    greatest utility. Nothing is left to chance.
    """

    name: ClassVar[str] = "k1-top-down"
    paper: ClassVar[str] = (
        "B. Podgursky: Practical k-anonymity on large datasets, 2011, chapter 6 (open question: "
        "top-down partitioning for (k,1)-anonymity); the algorithm is this project's"
    )

    tries: int = Field(2, ge=1, le=64, description="descents; each record keeps the best")
    breadth: int = Field(
        64, ge=1, description="supporting records per record that go down together; more is slower"
    )
    pool: int = Field(
        8192, ge=64, description="supporting records below which each record goes alone"
    )
    steps: int = Field(
        64, ge=0, description="items tried for a record after the first descent in a pool"
    )

    def search(self, sets: Sets, rng: np.random.Generator) -> Cover:
        members, _ = k1_top_down(
            *sets.arrays,
            self.k,
            breadth=self.breadth,
            pool=self.pool,
            steps=self.steps,
            tries=self.tries,
            progress=lambda done, of: report("cutting from the top", done, of),
        )
        return cover_of(members)
