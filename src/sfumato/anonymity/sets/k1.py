"""(k,1)-anonymity for sets: k - 1 companions for each record, or cuts from the top."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Cover
from ...kernels.sets.k1 import k1_all, k1_near, k1_top_down
from ...kernels.sets.lsh import lsh_bits, lsh_tables
from ...progress import report
from .base import HashedSearch, Sets, SetSearch

ONLY_K1 = (
    "each published set is contained in k original ones, (k,1)-anonymity: that holds for single "
    "answers; a whole table under (k,1) does not stop somebody who knows a person's items from "
    "linking the person to a record; use a k-anonymous search or (k,k), kk-cluster, for tables"
)


class K1Cluster(HashedSearch):
    """Publish of each set what it has in common with k - 1 sets chosen for it, (k,1)-anonymity.

    The set that leaves most in common joins next, the first of equals; sets may join any number of
    others. It is sought among all sets (`all`), or among those that share a hash bucket (`lsh`).
    The choices of `all` are those of the paper; counting what sets share with their owner, and
    equal sets once, makes them fast.
    """

    name: ClassVar[str] = "k1-cluster"
    aliases: ClassVar[tuple[str, ...]] = ("k1",)
    paper: ClassVar[str] = (
        "Gionis, Mazza & Tassa 2008, k-anonymization revisited; B. Podgursky: Practical "
        "k-anonymity on large datasets, 2011, algorithms 2 and 9"
    )

    neighbours: Literal["lsh", "all"] = Field(
        "lsh", description="where to look for the next set: hash buckets, everywhere"
    )

    def search(self, sets: Sets, rng: np.random.Generator) -> Cover:
        given = (*sets.arrays, self.k)
        if self.neighbours == "all":
            return cover_of(k1_all(*given, progress=_report_done))
        n = len(sets)
        hashed = lsh_tables(
            sets.starts, sets.items, sets.d, self.tables,
            lsh_bits(n, self.tables, self.sample) if self.bits is None else self.bits, rng=rng,
            even=self.hashing == "even",
        )  # fmt: skip
        # Buckets differ in size: twice the aim keeps most of them whole.
        most = int(2 * self.sample * np.log(max(n, 2))) + 1
        return cover_of(k1_near(*given, hashed, most, rng, progress=_report_done))


def cover_of(members: np.ndarray) -> Cover:
    """Rows of k members as a cover."""
    n, k = members.shape
    return Cover(np.arange(n + 1, dtype=np.int64) * k, members.reshape(-1), warnings=(ONLY_K1,))


def _report_done(done: int, of: int) -> None:
    report("finding companions", done, of)


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
