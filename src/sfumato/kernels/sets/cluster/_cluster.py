"""CLUSTER for sets: classes of k grown by the sets that leave most in common (Podgursky 2011,
algorithm 4).

Equal sets are counted once, and stay together. The next set of a class is the best of all free
ones, of those that share a hash bucket with a set of the class, or of random ones.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ....progress import report
from ...arrays import Floats, Ints
from ...threads import cores
from ..lsh import lsh_bits, lsh_tables
from ..rows import Items, distinct_sets, take_rows, weights_of
from ._assign import assign, classes_of
from ._grow import (
    CLASSES,
    FREE,
    RECORDS,
    SEED,
    Candidates,
    Growth,
    close_closure,
    drop_used,
    evaluate,
    farthest,
    grow_from_all,
    grow_from_sample,
    next_in_line,
    open_closure,
)
from ._rows import buckets_of

Neighbours = Literal["lsh", "random", "all"]
Seeds = Literal["dear", "random", "far"]

_WORTH_A_THREAD = 20_000
"""Sets that must be looked at before a second thread gains more than it costs."""


def sample_size(n: int, sample: float) -> int:
    """How many records a query looks at: `sample * log(n)`.

    >>> sample_size(30_162, 50)
    515
    """
    return max(1, int(sample * np.log(max(n, 2))))


def cluster_sets(
    starts: Ints,
    items: Items,
    utilities: Floats,
    k: int,
    *,
    neighbours: Neighbours = "lsh",
    seeds: Seeds = "dear",
    tables: int = 5,
    sample: float = 50.0,
    bits: int | None = None,
    even: bool = True,
    rng: np.random.Generator,
    threads: int | None = None,
) -> Ints:
    """Labels of classes of at least k records. There are at least k records.

    A class begins with the record of most utility that is free, with a random one, or with one far
    from where the last one began. There are `tables` hash tables, and about `sample * log(n)`
    records are looked at for each that joins; `bits` overrides the length of the hash keys,
    whose buckets are `even` or those of one item for each bit. `threads` never alters the result.

    >>> starts, items = np.array([0, 2, 3, 5, 6]), np.array([0, 1, 2, 0, 1, 2], dtype=np.uint16)
    >>> cluster_sets(starts, items, np.ones(3), 2, rng=np.random.default_rng(0)).tolist()
    [0, 1, 0, 1]
    """
    first, hashing, sampling, rest = rng.integers(2**62, size=4).tolist()
    g = _begin(starts, items, utilities, first, seeds)
    n, distinct = starts.size - 1, g.left.size
    state = np.array([sampling], dtype=np.uint64)
    if neighbours == "all":
        _from_all(g, k, cores(threads))
    else:
        hashed = None
        if neighbours == "lsh":
            width = lsh_bits(distinct, tables, sample) if bits is None else bits
            chance = np.random.default_rng(hashing)
            hashed = lsh_tables(
                g.starts, g.items, utilities.size, tables, width, rng=chance, even=even,
                threads=threads,
            )  # fmt: skip
        buckets = buckets_of(hashed, full=True)
        most = sample_size(n, sample)
        room = distinct + most
        near = Candidates(
            np.empty(room, dtype=np.int64),
            np.empty(room),
            np.empty(room, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )
        step, far = max(1, n // k // 100), True if seeds == "far" else None
        while g.now[RECORDS] >= k:
            report("clustering", int(n - g.now[RECORDS]), n)
            stop = int(g.now[CLASSES]) + step
            grow_from_sample(g, near, buckets, k, most, state, stop, far)
    leftovers = np.random.default_rng(rest).permutation(np.flatnonzero(g.labels < 0))
    if leftovers.size:
        none = np.empty(0, dtype=np.int64)
        groups = int(g.now[CLASSES])
        classes = classes_of(starts, items, utilities, g.labels, none, groups)
        mark = np.full(max(utilities.size, 1), -1, dtype=np.int64)
        seen = np.full(groups, -1, dtype=np.int64)
        exact = buckets_of(None, full=False)
        assign(starts, items, utilities, leftovers, g.labels, classes, exact, 1, state, mark, seen)
    return g.labels


def _begin(starts: Ints, items: Items, utilities: Floats, first: int, seeds: Seeds) -> Growth:
    """All records free. The first of far seeds is far from a random set."""
    n = starts.size - 1
    chosen, member = distinct_sets(starts, items)
    left = np.bincount(member, minlength=chosen.size)
    starts, items = take_rows(starts, items, chosen)
    width = int(np.diff(starts).max(initial=0))
    weights = weights_of(starts, items, utilities)
    m = chosen.size
    return Growth(
        starts=starts,
        items=items,
        utilities=utilities,
        weights=weights,
        left=left,
        rows=np.argsort(member, kind="stable"),
        ends=np.cumsum(left),
        free=np.arange(m),
        place=np.arange(m),
        inside=np.zeros(max(utilities.size, 1)),
        closure=np.empty(width, dtype=items.dtype),
        value=np.empty(m),
        version=np.full(m, -1, dtype=np.int64),
        met=np.full(m, -1, dtype=np.int64),
        queue=_queue(weights, first, seeds),
        labels=np.full(n, -1, dtype=np.int64),
        now=np.array([m, n, 0, 0, 0, first % m, 0], dtype=np.int64),
    )


def _queue(weights: Floats, first: int, seeds: Seeds) -> Ints:
    if seeds == "far":
        return np.empty(0, dtype=np.int64)
    order = np.random.default_rng(first).permutation(weights.size)
    return order if seeds == "random" else order[np.argsort(-weights[order], kind="stable")]


def _from_all(g: Growth, k: int, threads: int) -> None:
    """The best of all free sets for each place in a class; scans are shared among threads."""
    n = g.labels.size
    step = max(1, n // k // 100)
    with ThreadPoolExecutor(threads) as pool:

        def scan(look: Callable[[Growth, int, int], Any]) -> list[Any]:
            free = int(g.now[FREE])
            parts = min(threads, 1 + free // _WORTH_A_THREAD)
            if parts == 1:
                return [look(g, 0, free)]
            cuts = np.linspace(0, free, parts + 1).astype(np.int64).tolist()
            return list(pool.map(lambda cut: look(g, *cut), pairwise(cuts)))

        gone = 0
        while g.now[RECORDS] >= k:
            if g.now[CLASSES] % step == 0:
                report("clustering", int(n - g.now[RECORDS]), n)
            gone += k
            if 2 * gone > g.now[FREE]:
                drop_used(g)
                gone = 0
            if g.queue.size:
                seed = next_in_line(g)
            else:
                open_closure(g, g.now[SEED])
                # Parts are in order: of equally distant sets the first part has the first.
                seed = max(scan(farthest), key=lambda found: found[0])[1]
                close_closure(g)
            weight = open_closure(g, seed)
            if g.left[seed] < k:
                scan(evaluate)
            grow_from_all(g, seed, weight, k)
