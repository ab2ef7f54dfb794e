"""(k,1)-anonymity for sets: k - 1 companions for each record."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Cover
from ...kernels.sets.k1 import k1_all, k1_near
from ...kernels.sets.lsh import lsh_bits, lsh_tables
from ...progress import report
from .base import Sets
from .hashed import HashedSearch

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
