"""Clustering of sets: groups of k grown one after the other."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...kernels.sets.cluster import cluster_sets
from .base import Sets
from .hashed import HashedSearch


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
                rng=rng,
            )
        )
