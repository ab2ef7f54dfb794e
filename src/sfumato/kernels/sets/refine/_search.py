"""Local search over groups of sets: more utility of what each group has in common.

No group need have 2k sets: whatever way it is split, its halves publish no less. So groups of 2k or
more are split first, and all have k to 2k - 1 from then on.

In every epoch the groups are sorted by the items that they publish, in an order of items drawn
anew, and cut into blocks; in each block steps are taken (set_refine_steps). Blocks do not know of
each other: threads take them one after another, and the result depends on the seed and on the
steps, never on the number of threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ...threads import cores
from ..rows import Items, common_items, weights_of
from ._pool import Counts
from ._steps import MOST, improve

STEPS, FEWEST = 3, 256
"""Steps of an epoch for each group, and for each block at least."""
BLOCK = 2048
"""Records of a block, unless k is large."""
LAST = 32_767
"""The greatest rank that a key tells apart: fifteen bits."""
TICK = 0.1
"""Seconds between two looks at the clock while threads work."""


@dataclass(eq=False)
class Search:
    """A local search under way; `rows` lie group by group, `sizes` long."""

    starts: Ints
    items: Items
    utilities: Floats
    k: int
    rng: np.random.Generator
    rows: Ints
    sizes: Ints
    before: float
    """Utility of the groups that were given."""
    steps: int = 0
    kept: int = 0
    won: float = 0.0

    @property
    def bounds(self) -> Ints:
        """Where each group begins."""
        found = np.zeros(self.sizes.size + 1, dtype=np.int64)
        np.cumsum(self.sizes, out=found[1:])
        return found

    def utility(self) -> float:
        """Utility of the groups as they are, counted afresh."""
        return utility_of(self.starts, self.items, self.utilities, self.rows, self.sizes)

    def labels(self) -> Ints:
        """The group of each record, numbered by first appearance; -1 where it has none."""
        found = np.full(self.starts.size - 1, -1, dtype=np.int64)
        found[self.rows] = np.repeat(np.arange(self.sizes.size), self.sizes)
        _renumber(found, np.full(self.sizes.size, -1, dtype=np.int64))
        return found


def begin(
    starts: Ints, items: Items, utilities: Floats, labels: Ints, k: int, rng: np.random.Generator
) -> Search:
    """A local search from groups of k or more; records labelled -1 stay out."""
    counts = np.bincount(labels + 1)
    counts[0] = 0
    if (counts[counts > 0] < k).any():
        raise ValueError(f"a group has fewer than k = {k} records")
    rows = _by_label(labels, counts)
    sizes = counts[counts > 0]
    before = utility_of(starts, items, utilities, rows, sizes)
    frequency = np.bincount(items, minlength=utilities.size)
    rank = np.empty(utilities.size, dtype=np.int64)
    rank[np.argsort(-frequency * utilities, kind="stable")] = np.arange(rank.size)
    _sort_large(starts, items, rank, rows, sizes, 2 * k, np.zeros(rank.size, np.int32))
    parts = sizes // k
    cut = np.full(int(parts.sum()), k, dtype=np.int64)
    cut[np.cumsum(parts) - 1] += sizes - parts * k
    # Compiled here, where it is needed, so that no clock runs meanwhile.
    improve(starts, items, utilities, rows[:0], cut[:0], k, 0, np.zeros(1, np.uint64))
    return Search(starts, items, utilities, k, rng, rows, cut, before)


def utility_of(starts: Ints, items: Items, utilities: Floats, rows: Ints, sizes: Ints) -> float:
    """The utility that groups publish: what each has in common, as often as it has records."""
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    shared = common_items(starts, items, rows, bounds)
    return float(np.dot(weights_of(*shared, utilities), sizes))


@njit(cache=True, nogil=True)
def _renumber(labels: Ints, number: Ints) -> None:
    """Number groups by first appearance: how they were arranged last is nobody's business."""
    groups = 0
    for i in range(labels.size):
        g = labels[i]
        if g >= 0:
            if number[g] < 0:
                number[g] = groups
                groups += 1
            labels[i] = number[g]


@njit(cache=True, nogil=True)
def _by_label(labels: Ints, counts: Ints) -> Ints:
    """The records that have a label, label by label; `counts[0]` is for those without."""
    at = np.zeros(counts.size, np.int64)
    for g in range(1, counts.size):
        at[g] = at[g - 1] + counts[g - 1]
    rows = np.empty(counts.sum(), np.int64)
    for i in range(labels.size):
        if labels[i] >= 0:
            rows[at[labels[i] + 1]] = i
            at[labels[i] + 1] += 1
    return rows


@njit(cache=True, nogil=True)
def _key(starts: Ints, items: Items, rank: Ints, row: int, count: Counts, common: int) -> int:
    """A row's four first items by rank, as one number; those that `count` says all have are out."""
    a = b = c = d = LAST
    for e in range(starts[row], starts[row + 1]):
        x = min(rank[items[e]], LAST)
        if x >= d or (common > 0 and count[items[e]] == common):
            continue
        d = x
        if d < c:
            c, d = d, c
        if c < b:
            b, c = c, b
        if b < a:
            a, b = b, a
    return (a << 45) | (b << 30) | (c << 15) | d


@njit(cache=True, nogil=True)
def _sort_large(
    starts: Ints, items: Items, rank: Ints, rows: Ints, sizes: Ints, large: int, count: Counts
) -> None:
    """Sort the records of large groups by what they have beyond what all of the group have."""
    low = 0
    for g in range(sizes.size):
        high = low + sizes[g]
        if sizes[g] >= large:
            for i in range(low, high):
                for e in range(starts[rows[i]], starts[rows[i] + 1]):
                    count[items[e]] += 1
            keys = np.empty(sizes[g], np.int64)
            for i in range(low, high):
                keys[i - low] = _key(starts, items, rank, rows[i], count, sizes[g])
            for i in range(low, high):
                for e in range(starts[rows[i]], starts[rows[i] + 1]):
                    count[items[e]] = 0
            rows[low:high] = rows[low:high][np.argsort(keys, kind="mergesort")]
        low = high


@njit(cache=True, nogil=True)
def _keys(starts: Ints, items: Items, rank: Ints, count: Counts) -> Ints:
    found = np.empty(starts.size - 1, np.int64)
    for i in range(found.size):
        found[i] = _key(starts, items, rank, i, count, 0)
    return found


@njit(cache=True, nogil=True)
def _moved(rows: Ints, bounds: Ints, order: Ints) -> Ints:
    """The rows with their groups in this order."""
    found = np.empty(rows.size, np.int64)
    to = 0
    for g in order:
        for i in range(bounds[g], bounds[g + 1]):
            found[to] = rows[i]
            to += 1
    return found


def _arrange(search: Search) -> None:
    """Sort the groups by what they publish, in an order of items drawn anew."""
    rank = search.rng.permutation(search.utilities.size)
    bounds = search.bounds
    shared = common_items(search.starts, search.items, search.rows, bounds)
    keys = _keys(*shared, rank, np.zeros(0, np.int32))
    order = np.roll(np.argsort(keys, kind="stable"), search.rng.integers(keys.size))
    search.rows = _moved(search.rows, bounds, order)
    search.sizes = search.sizes[order]


def block_size(k: int) -> int:
    """Records of a block, roughly."""
    return max(BLOCK, 4 * MOST * k)


def epoch(
    search: Search,
    most: int,
    *,
    deadline: float = np.inf,
    tell: Callable[[float], None] = lambda share: None,
    threads: int | None = None,
    size: int | None = None,
    steps: int = FEWEST,
) -> bool:
    """Arrange the groups in blocks and take steps in each, at most `most` in all.

    No block is begun after the deadline (of time.monotonic): whether it came before the end.
    `tell` hears which share of the blocks is done. A block has about `size` records and takes
    `steps` steps at least. `threads` never alters the result.
    """
    _arrange(search)
    bounds, sizes, k = search.bounds, search.sizes, search.k
    n = search.rows.size
    blocks = max(1, n // (block_size(k) if size is None else size))
    cuts = np.searchsorted(bounds, np.linspace(0, n, blocks + 1).astype(np.int64))
    seeds = search.rng.integers(2**63, size=blocks).astype(np.uint64)
    wanted = np.maximum(STEPS * np.diff(cuts), steps)
    wanted = np.minimum(wanted, np.maximum(most - (np.cumsum(wanted) - wanted), 0))
    found: list[tuple[Ints, float, int] | None] = [None] * blocks
    lock, begun, late = threading.Lock(), 0, False

    def work() -> None:
        nonlocal begun, late
        while True:
            # One after another, so that those done are the first ones whatever the threads.
            with lock:
                late = late or (begun < blocks and time.monotonic() >= deadline)
                if late or begun == blocks:
                    return
                b, begun = begun, begun + 1
            rows = search.rows[bounds[cuts[b]] : bounds[cuts[b + 1]]]
            found[b] = improve(
                search.starts, search.items, search.utilities, rows, sizes[cuts[b] : cuts[b + 1]],
                k, int(wanted[b]), seeds[b : b + 1],
            )  # fmt: skip

    workers = cores(threads)
    with ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(work) for _ in range(workers)]
        try:
            while wait(tasks, TICK).not_done:
                tell(begun / blocks)
        except BaseException:
            deadline = -np.inf
            raise
    for task in tasks:
        task.result()
    search.sizes = np.concatenate(
        [sizes[cuts[b] : cuts[b + 1]] if new is None else new[0] for b, new in enumerate(found)]
    )
    for b, new in enumerate(found):
        if new is not None:
            search.steps += int(wanted[b])
            search.won += new[1]
            search.kept += new[2]
    return late
