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

from ...arrays import Codes, Floats, Ints
from ...threads import cores
from ..rows import Items, common_items, frozen, shared_utility
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
        return shared_utility(self.starts, self.items, self.utilities, self.rows, self.bounds)

    def labels(self) -> Ints:
        """The group of each record, numbered by first appearance; -1 where it has none."""
        found = np.full(self.starts.size - 1, -1, dtype=np.int64)
        # How the groups were arranged last is nobody's business.
        number = np.argsort(np.argsort(np.minimum.reduceat(self.rows, self.bounds[:-1])))
        found[self.rows] = np.repeat(number, self.sizes)
        return found


def begin(
    starts: Ints, items: Items, utilities: Floats, labels: Ints, k: int, rng: np.random.Generator
) -> Search:
    """A local search from groups of k or more; records labelled -1 stay out."""
    counts = np.bincount(labels + 1)
    counts[0] = 0
    if (counts[counts > 0] < k).any():
        raise ValueError(f"a group has fewer than k = {k} records")
    rows = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    sizes = counts[counts > 0]
    frequency = np.bincount(items, minlength=utilities.size)
    rank = np.empty(utilities.size, dtype=np.int64)
    rank[np.argsort(-frequency * utilities, kind="stable")] = np.arange(rank.size)
    before = Search(starts, items, utilities, k, rng, rows, sizes, 0.0).utility()
    _sort_large(starts, items, rank, rows, sizes, 2 * k)
    parts = sizes // k
    cut = np.full(int(parts.sum()), k, dtype=np.int64)
    cut[np.cumsum(parts) - 1] += sizes - parts * k
    # Compiled here, where it is needed, so that no clock runs meanwhile.
    some = rows[: int(cut[:2].sum())].copy()
    improve(starts, items, utilities, some, cut[:2], k, 0, np.zeros(1, np.uint64))
    return Search(starts, items, utilities, k, rng, rows, cut, before)


@njit(cache=True, nogil=True)
def _keys(
    starts: Ints, items: Items, rank: Ints, rows: Ints, bounds: Ints, large: int, count: Codes
) -> Ints:
    """The first four items of each row by rank, as one number; in large groups without the items
    that all of the group have, and 0 in others. If `large` is 0, of all that each row has.

    `count`, of each item, comes and goes as zeros.
    """
    found = np.zeros(rows.size, np.int64)
    for g in range(bounds.size - 1):
        low, high = bounds[g], bounds[g + 1]
        if high - low < large:
            continue
        for more in range(1, -2, -1):  # count; make the keys; take back
            for i in range(low, high):
                a = b = c = d = LAST
                for e in range(starts[rows[i]], starts[rows[i] + 1]):
                    if large > 0:
                        count[items[e]] += more
                    x = min(rank[items[e]], LAST)
                    if more != 0 or x >= d or (large > 0 and count[items[e]] == high - low):
                        continue
                    d = x
                    if d < c:
                        c, d = d, c
                    if c < b:
                        b, c = c, b
                    if b < a:
                        a, b = b, a
                if more == 0:
                    found[i] = (a << 45) | (b << 30) | (c << 15) | d
    return found


def _sort_large(
    starts: Ints, items: Items, rank: Ints, rows: Ints, sizes: Ints, large: int
) -> None:
    """Sort the records of large groups by what they have beyond what all of the group have."""
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    at = np.flatnonzero(np.repeat(sizes >= large, sizes))
    count = np.zeros(rank.size, np.int32)
    keys = _keys(frozen(starts), frozen(items), rank, rows, bounds, large, count)
    group = np.repeat(np.arange(sizes.size), sizes)
    rows[at] = rows[at[np.lexsort((keys[at], group[at]))]]


def _arrange(search: Search) -> None:
    """Sort the groups by what they publish, in an order of items drawn anew."""
    rank = search.rng.permutation(search.utilities.size)
    bounds = search.bounds
    shared = common_items(search.starts, search.items, search.rows, bounds)
    each = np.arange(bounds.size)
    starts, items = frozen(shared[0]), frozen(shared[1])
    keys = _keys(starts, items, rank, each[:-1], each, 0, np.zeros(0, np.int32))
    order = np.roll(np.argsort(keys, kind="stable"), search.rng.integers(keys.size))
    first, search.sizes = bounds[order], search.sizes[order]
    moved = np.repeat(first - search.bounds[:-1], search.sizes)
    search.rows = search.rows[moved + np.arange(moved.size)]


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
