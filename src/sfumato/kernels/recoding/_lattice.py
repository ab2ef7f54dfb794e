"""Groups of k by visiting the lattice of levels from cheap to dear.

At each node of the lattice (one level for every column) the records that are still open and agree
there are found by hashing; where k or more agree they are closed as groups. So every record is
closed at about the cheapest node at which k open records agree with it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

import numpy as np
from numba import njit

from ..arrays import Ints
from ._levels import Keys, Levels
from ._rules import Rules, group_keeps

MOST_WORK = 400
"""How often each record may be looked at, on average; what is open then agrees at the top only."""


def nodes(levels: Levels) -> Iterator[Ints]:
    """The nodes of the lattice from cheap to dear: for each column a row of `levels.keys`.

    A node's successors raise its last raised column or a later one, so that each comes once.
    """
    at, cost = levels.at[:-1], levels.cost
    sizes = np.diff(levels.at)
    start = (0,) * at.size
    heap: list[tuple[float, tuple[int, ...], int]] = [(float(cost[at].sum()), start, 0)]
    while heap:
        price, node, last = heapq.heappop(heap)
        yield at + np.array(node)
        for j in range(last, at.size):
            level = node[j]
            if level + 1 < sizes[j]:
                more = float(cost[at[j] + level + 1] - cost[at[j] + level])
                raised = (*node[:j], level + 1, *node[j + 1 :])
                heapq.heappush(heap, (price + more, raised, j))


@njit(cache=True, nogil=True)
def _close(
    keys: Keys,
    rows: Ints,
    open_: Ints,
    count: int,
    weight: Ints,
    k: int,
    table: Ints,
    head: Ints,
    total: Ints,
    after: Ints,
    group: Ints,
    next_group: int,
    rules: Rules | None,
) -> tuple[int, int]:
    """Close the open records that agree at a node; how many stay open, and the next group."""
    mask = 1
    while mask < 2 * count:
        mask *= 2
    mask -= 1
    for s in range(mask + 1):
        table[s] = -1
    found = 0
    for o in range(count):
        t = open_[o]
        key = np.uint64(1469598103934665603)
        for j in range(rows.size):
            key = (key ^ np.uint64(keys[rows[j], t])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(mask))
        while True:
            b = table[slot]
            if b < 0:
                table[slot] = found
                head[found] = t
                total[found] = weight[t]
                after[t] = -1
                found += 1
                break
            r = head[b]
            same = True
            for j in range(rows.size):
                if keys[rows[j], t] != keys[rows[j], r]:
                    same = False
                    break
            if same:
                after[t] = after[r]
                after[r] = t
                total[b] += weight[t]
                break
            slot = (slot + 1) & mask
    for b in range(found):
        if total[b] < k:
            continue
        t = head[b]
        if rules is not None:
            found_rows = np.empty(total[b], np.int64)
            for m in range(total[b]):
                found_rows[m] = t
                t = after[t]
            if not group_keeps(rules, found_rows):
                continue
            t = head[b]
        while t >= 0:
            group[t] = next_group
            t = after[t]
        next_group += 1
    left = 0
    for o in range(count):
        t = open_[o]
        if group[t] < 0:
            open_[left] = t
            left += 1
    return left, next_group


def close_groups(
    levels: Levels, weight: Ints, k: int, rules: Rules | None, go_on: Callable[[int], bool]
) -> Ints:
    """The group of each record, -1 where it stayed open; `weight` counts its copies, and is 1 where
    there are rules. `go_on(records open)` says whether to visit another node."""
    n = weight.size
    group = np.full(n, -1, dtype=np.int64)
    open_ = np.arange(n)
    # A table of a power of two places, at least twice as many as there are records.
    size = 1 << (2 * n - 1).bit_length()
    table, head, total, after = (np.empty(room, np.int64) for room in (size, n, n, n))
    left, found, work = n, 0, 0

    def close(rows: Ints) -> tuple[int, int]:
        return _close(
            levels.keys,
            rows,
            open_,
            left,
            weight,
            k,
            table,
            head,
            total,
            after,
            group,
            found,
            rules,
        )

    for rows in nodes(levels):
        if left == 0 or work > MOST_WORK * n or not go_on(left):
            break
        work += left
        left, found = close(rows)
    close(levels.at[1:] - 1)
    return group
