"""Iterative clustering of sets: bad groups give way to better ones."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...kernels.sets.cluster import iter_cluster_sets
from .base import Sets
from .hashed import HashedSearch


class IterCluster(HashedSearch):
    """Break up the worst groups of sets and cluster their records anew, again and again.

    Random records open new groups, and every record joins the group in which all records together
    keep most. Groups that stay below k are broken up as well. With four stages three quarters of
    the groups are broken up each time, then half, then a quarter, each as long as that helps.
    The best solution of all is returned.
    """

    name: ClassVar[str] = "iter-cluster"
    paper: ClassVar[str] = (
        "B. Podgursky: Practical k-anonymity on large datasets, 2011, algorithms 5 and 10-13"
    )

    neighbours: Literal["lsh", "all"] = Field(
        "lsh", description="where a record looks for its group: hash buckets, or everywhere"
    )
    stages: int = Field(
        4, ge=2, le=100, description="4: break up 3, 2, then 1 quarter of the groups"
    )
    rounds: int = Field(50, ge=1, description="most rounds within one stage")

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        return Partition(
            iter_cluster_sets(
                *sets.arrays,
                self.k,
                neighbours=self.neighbours,
                stages=self.stages,
                rounds=self.rounds,
                tables=self.tables,
                sample=self.sample,
                bits=self.bits,
                rng=rng,
            )
        )
