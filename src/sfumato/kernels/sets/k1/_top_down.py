"""(k,1)-anonymity from the top: a trie of item sets, each with the records that contain it.

A node stands for a set of items; its support are the records that contain them all, its owners
those of them whose path comes through it. Each owner chooses its next item, the one whose worth is
greatest for what it costs of the support; owners of the same choice go on together, in the support
of the longer set. Support is what makes the work: a node may have `breadth` records of support for
each owner. Where few owners would take many with them they choose again, and those who find nothing
else go on with a part of the support. Below `pool` records each owner is finished by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...threads import cores
from ..rows import Items
from ._pool import finish

Flags = NDArray[np.bool_]
Rows = NDArray[np.int32]
Progress = Callable[[int, int], None]

ROUNDS = 4
"""How often owners may choose again."""
COMPACT = 1 << 18
"""Nodes of at most so much support are copied without their dead items and descended whole."""


@njit(cache=True, nogil=True)
def _count(starts: Ints, items: Items, at: Rows, owner: Flags, counts: Ints) -> None:
    """How many of the records `at` hold each item; none where no owner does."""
    counts[:] = 0
    owned = np.zeros(counts.size, dtype=np.bool_)
    for r in range(at.size):
        for e in range(starts[at[r]], starts[at[r] + 1]):
            counts[items[e]] += 1
            if owner[r]:
                owned[items[e]] = True
    for a in range(counts.size):
        if not owned[a]:
            counts[a] = 0


@njit(cache=True, nogil=True)
def _compact(
    starts: Ints, items: Items, at: Rows, rows: Rows, counts: Ints, k: int
) -> tuple[Ints, Items, Rows]:
    """The records `at` alone, with the items that k of them hold but not all."""
    size = at.size
    kept, used = np.zeros(size + 1, dtype=np.int64), 0
    for r in range(size):
        for e in range(starts[at[r]], starts[at[r] + 1]):
            used += k <= counts[items[e]] < size
        kept[r + 1] = used
    left, of = np.empty(used, dtype=items.dtype), np.empty(size, dtype=np.int32)
    used = 0
    for r in range(size):
        of[r] = rows[at[r]] if rows.size else at[r]
        for e in range(starts[at[r]], starts[at[r] + 1]):
            if k <= counts[items[e]] < size:
                left[used] = items[e]
                used += 1
    return kept, left, of


@njit(cache=True, nogil=True)
def _choose(
    starts: Ints, items: Items, at: Rows, owner: Flags, counts: Ints, worth: Floats, k: int,
    breadth: int, pool: int, chosen: Ints, owners: Ints,
) -> None:  # fmt: skip
    """`chosen[r]`: the item with which owner r goes on, -1 if it can go no further; `owners[a]`:
    how many go on with item a."""
    size, d = at.size, counts.size
    score = np.zeros(d)
    for a in range(d):
        if k <= counts[a] < size:
            score[a] = worth[a] / np.log(size / counts[a])
    closed = np.zeros(d, dtype=np.bool_)
    owners[:] = 0
    for turn in range(ROUNDS):
        for r in range(size):
            if not owner[r] or (turn > 0 and (chosen[r] < 0 or not closed[chosen[r]])):
                continue
            best, item = -1.0, -1
            for e in range(starts[at[r]], starts[at[r] + 1]):
                a = int(np.int64(items[e]))
                if k <= counts[a] < size and not closed[a] and score[a] > best:
                    best, item = score[a], a
            # Who finds no other stays with the first choice.
            if turn > 0 and item >= 0:
                owners[chosen[r]] -= 1
            if turn == 0 or item >= 0:
                chosen[r] = item
                if item >= 0:
                    owners[item] += 1
        again = False
        for a in range(d):
            if owners[a] > 0 and not closed[a] and counts[a] > max(breadth * owners[a], pool):
                closed[a] = again = True
        if not again:
            break


@njit(cache=True, nogil=True)
def _lead(
    starts: Ints, items: Items, counts: Ints, worth: Floats, k: int, rank: int, chosen: Ints,
    owners: Ints,
) -> None:  # fmt: skip
    """Let every record begin with the item that is its `rank`-th by worth, from 1; of items worth
    the same, the rarer comes first."""
    size, d = chosen.size, counts.size
    score = np.empty(d)
    for a in range(d):
        score[a] = -1.0
        if k <= counts[a] < size:
            score[a] = worth[a] * np.log(size / counts[a]) ** 0.25
    owners[:] = 0
    top, item = np.empty(rank), np.empty(rank, dtype=np.int64)
    for r in range(size):
        used = 0
        for e in range(starts[r], starts[r + 1]):
            a = int(np.int64(items[e]))
            if score[a] < 0.0 or (used == rank and score[a] <= top[rank - 1]):
                continue
            place = min(used, rank - 1)
            while place > 0 and top[place - 1] < score[a]:
                top[place], item[place] = top[place - 1], item[place - 1]
                place -= 1
            top[place], item[place] = score[a], a
            used = min(used + 1, rank)
        chosen[r] = item[rank - 1] if used == rank else -1
        if chosen[r] >= 0:
            owners[chosen[r]] += 1


@njit(cache=True, nogil=True)
def _children(
    starts: Ints, items: Items, at: Rows, owner: Flags, counts: Ints, chosen: Ints, owners: Ints,
    breadth: int, pool: int,
) -> tuple[Ints, Rows, Flags]:  # fmt: skip
    """The support and owners of each child, end to end, and where each begins."""
    d = counts.size
    place, begin = np.full(d, -1, dtype=np.int64), [0]
    used = 0
    # Of a support that is too large, the owners and evenly spaced others.
    spare, seen = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    for a in range(d):
        if owners[a] > 0:
            place[a] = used
            size = min(counts[a], max(breadth * owners[a], pool))
            spare[a] = size - owners[a]
            used += size
            begin.append(used)
    child, flags = np.empty(used, dtype=np.int32), np.zeros(used, dtype=np.bool_)
    for r in range(at.size):
        for e in range(starts[at[r]], starts[at[r] + 1]):
            a = int(np.int64(items[e]))
            if owners[a] == 0:
                continue
            own = owner[r] and chosen[r] == a
            if not own:
                others = counts[a] - owners[a]
                seen[a] += 1
                if seen[a] * spare[a] // others == (seen[a] - 1) * spare[a] // others:
                    continue
            child[place[a]], flags[place[a]] = at[r], own
            place[a] += 1
    return np.array(begin), child, flags


@njit(cache=True, nogil=True)
def _free(counts: Ints, size: int, worth: Floats) -> float:
    total = 0.0
    for a in range(counts.size):
        if counts[a] == size:
            total += worth[a]
    return total


@njit(cache=True, nogil=True)
def _descend(
    starts: Ints, items: Items, rows: Rows, at: Rows, owner: Flags, base: float, worth: Floats,
    k: int, breadth: int, pool: int, steps: int, logs: Floats, values: Floats,
    members: Ints,
) -> None:  # fmt: skip
    """Everything below one node."""
    counts = np.empty(worth.size, dtype=np.int64)
    owners = np.empty(worth.size, dtype=np.int64)
    stack = [(starts, items, rows, at, owner, base)]
    while len(stack) > 0:
        above, above_items, above_rows, at, owner, base = stack.pop()
        if at.size <= pool:
            finish(
                above, above_items, above_rows, at, owner, base, worth, k, steps, logs, values,
                members,
            )  # fmt: skip
            continue
        _count(above, above_items, at, owner, counts)
        base += _free(counts, at.size, worth)
        own, left, of = _compact(above, above_items, at, above_rows, counts, k)
        here = np.arange(at.size).astype(np.int32)
        chosen = np.empty(at.size, dtype=np.int64)
        _choose(own, left, here, owner, counts, worth, k, breadth, pool, chosen, owners)
        _stay(of, owner, chosen, base, k, values, members)
        begin, child, flags = _children(
            own, left, here, owner, counts, chosen, owners, breadth, pool
        )
        for c in range(begin.size - 1):
            low, high = begin[c], begin[c + 1]
            stack.append((own, left, of, child[low:high], flags[low:high], base))


@njit(cache=True, nogil=True)
def _stay(
    rows: Rows, owner: Flags, chosen: Ints, base: float, k: int, values: Floats, members: Ints
) -> None:
    """Owners that can go no further share this node's set with any k of its support."""
    for o in range(rows.size):
        if owner[o] and chosen[o] < 0 and base > values[rows[o]]:
            values[rows[o]] = base
            members[rows[o], 0], used = rows[o], 1
            for step in range(1, k):
                members[rows[o], used] = rows[(o + step) % rows.size]
                used += 1


@njit(cache=True, nogil=True)
def _split(
    starts: Ints, items: Items, at: Rows, owner: Flags, rank: int, worth: Floats, k: int,
    breadth: int, pool: int, values: Floats, members: Ints,
) -> tuple[Ints, Rows, Flags]:  # fmt: skip
    """One large node, without copying it; with a rank, the root of another descent."""
    counts = np.empty(worth.size, dtype=np.int64)
    owners = np.empty(worth.size, dtype=np.int64)
    _count(starts, items, at, owner, counts)
    chosen = np.empty(at.size, dtype=np.int64)
    if rank > 0:
        _lead(starts, items, counts, worth, k, rank, chosen, owners)
    else:
        _choose(starts, items, at, owner, counts, worth, k, breadth, pool, chosen, owners)
    _stay(at, owner, chosen, _free(counts, at.size, worth), k, values, members)
    return _children(starts, items, at, owner, counts, chosen, owners, breadth, pool)


def k1_top_down(
    starts: Ints, items: Items, utilities: Floats, k: int, *, breadth: int = 64, pool: int = 8192,
    steps: int = 64, tries: int = 1, threads: int | None = None, progress: Progress | None = None,
) -> tuple[Ints, Floats]:  # fmt: skip
    """int64[n, k]: each record and k - 1 others, and the utility of what they have in common.

    The first descent begins with the item that costs least for its worth, the others of `tries`
    with the item of greatest worth, the next greatest and so on; each record keeps the best.
    Nothing is left to chance, and `threads` never alters the result.

    >>> k1_top_down(np.array([0, 2, 3, 5]), np.array([0, 1, 1, 0, 1], np.uint16), np.ones(2), 2)[0]
    array([[0, 2],
           [1, 0],
           [2, 0]])
    """
    n = starts.size - 1
    members, values = np.empty((n, k), dtype=np.int64), np.full(n, -1.0)
    room = max(pool, k)
    logs = np.log(np.maximum(np.arange(room + 1), 1))
    none = np.empty(0, dtype=np.int32)
    workers = cores(threads)
    whole = max(room, min(COMPACT, n // 16))
    shared = (utilities, k, breadth, room)

    def split(at: Rows, owner: Flags, rank: int) -> list[tuple[Rows, Flags]]:
        begin, child, flags = _split(starts, items, at, owner, rank, *shared, values, members)
        # The largest last, where they are taken from: so that no core is left with one at the end.
        order = np.argsort(np.diff(begin), kind="stable")
        cuts = [slice(int(begin[c]), int(begin[c + 1])) for c in order]
        return [(child[cut], flags[cut]) for cut in cuts]

    def descend(at: Rows, owner: Flags) -> int:
        _descend(starts, items, none, at, owner, 0.0, *shared, steps, logs, values, members)
        return int(owner.sum())

    with ThreadPoolExecutor(workers) as threads_of:
        for turn in range(tries):
            everybody = (np.arange(n, dtype=np.int32), np.ones(n, dtype=bool))
            waiting = [everybody] if turn == 0 else split(*everybody, turn)
            running: set[Future[Any]] = set()
            done = 0
            while waiting or running:
                while waiting and len(running) < 2 * workers:
                    node = waiting.pop()
                    if node[0].size > whole:
                        running.add(threads_of.submit(split, node[0], node[1], 0))
                    else:
                        running.add(threads_of.submit(descend, *node))
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for task in ended:
                    found = task.result()
                    if isinstance(found, list):
                        waiting.extend(found)
                        continue
                    done += found
                    if progress is not None:
                        progress(turn * n + done, tries * n)
    return members, values
