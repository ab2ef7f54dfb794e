"""Clustering of sets: groups of k grown one after the other; bad ones give way to better ones."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...kernels.sets.cluster import cluster_sets, iter_cluster_sets
from .base import HashedSearch, Sets


class SetCluster(HashedSearch):
    """Grow groups of k sets, each by the sets that leave most in common.

    A group begins with the free set that has most to lose, with a random one, or as in the thesis
    with one far from where the last one began. The next to join is the best of all free sets
    (`all`), of those that share a hash bucket with a set of the group (`lsh`), or of random ones
    (`random`). Equal sets stay together. The last few records join the groups that lose least.
    """

    name: ClassVar[str] = "set-cluster"
    aliases: ClassVar[tuple[str, ...]] = ("cluster",)
    paper: ClassVar[str] = (
        "B. Podgursky: Practical k-anonymity on large datasets, 2011, algorithms 4 and 10-13"
    )

    neighbours: Literal["lsh", "random", "all"] = Field(
        "lsh",
        description="where to look for the next set: hash buckets, a random sample, everywhere",
    )
    seeds: Literal["dear", "random", "far"] = Field(
        "dear",
        description="how a group begins: with the set of most utility, anywhere, or far from "
        "the last one (the thesis)",
    )

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        return Partition(
            cluster_sets(
                *sets.arrays,
                self.k,
                neighbours=self.neighbours,
                seeds=self.seeds,
                tables=self.tables,
                sample=self.sample,
                bits=self.bits,
                even=self.hashing == "even",
                rng=rng,
            )
        )


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
                even=self.hashing == "even",
                rng=rng,
            )
        )
