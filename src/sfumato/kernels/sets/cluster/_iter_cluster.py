"""ITER_CLUSTER for sets: the worst classes are broken up and their records find new ones, again and
again (Podgursky 2011, algorithm 5)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ....progress import report
from ...arrays import Floats, Ints
from ..lsh import LshTables, lsh_bits, lsh_tables
from ..rows import Items, weights_of
from ._assign import Classes, assign, classes_of
from ._cluster import sample_size
from ._rows import buckets_of, enter_all

_SLICES = 20


class _Search:
    """The records, their classes now, and the steps of a round."""

    def __init__(
        self,
        starts: Ints,
        items: Items,
        utilities: Floats,
        k: int,
        hashed: LshTables | None,
        sample: int,
        rng: np.random.Generator,
    ) -> None:
        self.starts, self.items, self.utilities, self.k = starts, items, utilities, k
        self.sample, self.rng = sample, rng
        self.state = rng.integers(2**62, size=1).astype(np.uint64)
        self.weights = weights_of(starts, items, utilities)
        self.buckets = buckets_of(hashed, full=False)
        self.labels = np.full(starts.size - 1, -1, dtype=np.int64)
        self.groups = 0

    def classes(self, seeds: Ints) -> Classes:
        return classes_of(self.starts, self.items, self.utilities, self.labels, seeds, self.groups)

    def keep(self, kept: np.ndarray) -> None:
        """Break up the other classes, and number those kept anew."""
        number = np.full(self.groups + 1, -1, dtype=np.int64)
        number[:-1][kept] = np.arange(int(kept.sum()))
        self.labels = number[self.labels]
        self.groups = int(kept.sum())

    def place(self, seeds: Ints, what: str) -> Classes:
        """Seeds open classes, and every record without a class joins one."""
        classes = self.classes(seeds)
        self.labels[seeds] = self.groups + np.arange(seeds.size)
        self.groups += seeds.size
        enter_all(self.buckets, np.flatnonzero(self.labels >= 0))
        records = self.rng.permutation(np.flatnonzero(self.labels < 0))
        mark = np.full(max(self.utilities.size, 1), -1, dtype=np.int64)
        seen = np.full(self.groups, -1, dtype=np.int64)
        parts = np.array_split(records, _SLICES)
        for number, part in enumerate(parts):
            report(what, number, len(parts))
            assign(
                self.starts, self.items, self.utilities, part, self.labels, classes, self.buckets,
                self.sample, self.state, mark, seen,
            )  # fmt: skip
        return classes

    def round(self, fraction: float, what: str) -> float:
        """Break up so many of the classes and cluster their records anew; the utility kept."""
        if self.groups:
            classes = self.classes(np.empty(0, dtype=np.int64))
            sums = np.bincount(self.labels, self.weights, self.groups)
            # How far the records of a class are from what is published of them.
            inner = sums / classes.sizes - classes.weights
            worst = np.argsort(-inner, kind="stable")[: int(fraction * self.groups)]
            kept = np.ones(self.groups, dtype=bool)
            kept[worst] = False
            self.keep(kept)
        free = np.flatnonzero(self.labels < 0)
        wanted = max(0, min(self.labels.size // self.k - self.groups, free.size))
        classes = self.place(np.sort(self.rng.choice(free, wanted, replace=False)), what)
        large = classes.sizes >= self.k
        if not large.all():
            self.keep(large)
            classes = self.place(np.empty(0, dtype=np.int64), what)
        return float((classes.sizes * classes.weights).sum())


def iter_cluster_sets(
    starts: Ints,
    items: Items,
    utilities: Floats,
    k: int,
    *,
    neighbours: Literal["lsh", "all"] = "lsh",
    stages: int = 4,
    rounds: int = 50,
    tables: int = 5,
    sample: float = 50.0,
    bits: int | None = None,
    even: bool = True,
    rng: np.random.Generator,
    threads: int | None = None,
) -> Ints:
    """Labels of classes of at least k records, the best found. There are at least k records.

    With 4 stages first three quarters of the classes are broken up, then half, then a quarter, each
    as long as that gains utility, but `rounds` times at most. `threads` never alters the result.

    >>> starts, items = np.array([0, 2, 3, 5, 6]), np.array([0, 1, 2, 0, 1, 2], dtype=np.uint16)
    >>> rng = np.random.default_rng(0)
    >>> np.bincount(iter_cluster_sets(starts, items, np.ones(3), 2, rng=rng)).min() >= 2
    np.True_
    """
    n = starts.size - 1
    hashed = None
    if neighbours == "lsh":
        width = lsh_bits(n, tables, sample) if bits is None else bits
        hashed = lsh_tables(
            starts, items, utilities.size, tables, width, rng=rng, even=even, threads=threads
        )
    search = _Search(starts, items, utilities, k, hashed, sample_size(n, sample), rng)
    best, found = -np.inf, search.labels
    for stage in range(stages - 1, 0, -1):
        before = -np.inf
        for number in range(rounds):
            what = f"clustering, stage {stages - stage} of {stages - 1}, round {number + 1}"
            kept = search.round(stage / stages, what)
            if kept > best:
                best, found = kept, search.labels.copy()
            if kept <= before:
                break
            before = kept
    return found
