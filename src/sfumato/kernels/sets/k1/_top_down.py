"""(k,1)-anonymity from the top: a trie of item sets, each with the records that contain it.

A node stands for a set of items; its support are the records that contain them all, its owners
those of them whose path comes through it. Each owner chooses its next item, the one whose worth is
greatest for what it costs of the support; owners of the same choice go on together, in the support
of the longer set. Support is what makes the work: a node may have `breadth` records of support for
each owner. Where few owners would take many with them they choose again, and those who find nothing
else go on with a part of the support. Below `pool` records each owner is finished by itself.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from ...arrays import Bools, Codes, Floats, Ints
from ...threads import cores
from ..rows import Items, Progress, frozen
from ._pool import finish

Node = tuple[Ints, Items, Codes, Codes, Bools, float]
"""Compressed rows and the numbers of their records (none where they are the same); which of them
are the support, and which of these are owners; the worth of what all hold that was left out."""

ROUNDS = 4
"""How often owners may choose again."""
COMPACT = 1 << 18
"""Nodes of at most so much support are copied without their dead items and descended whole."""


@njit(cache=True, nogil=True)
def _count(
    starts: Ints, items: Items, at: Codes, owner: Bools, worth: Floats, counts: Ints
) -> float:
    """How many of the records `at` hold each item; none where no owner does. The worth of what all
    of them hold."""
    counts[:] = 0
    owned = np.zeros(counts.size, dtype=np.bool_)
    for r in range(at.size):
        for e in range(starts[at[r]], starts[at[r] + 1]):
            counts[items[e]] += 1
            if owner[r]:
                owned[items[e]] = True
    total = 0.0
    for a in range(counts.size):
        if not owned[a]:
            counts[a] = 0
        elif counts[a] == at.size:
            total += worth[a]
    return total


@njit(cache=True, nogil=True)
def _compact(
    starts: Ints, items: Items, at: Codes, rows: Codes, counts: Ints, k: int
) -> tuple[Ints, Items, Codes]:
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
    starts: Ints, items: Items, at: Codes, owner: Bools, counts: Ints, worth: Floats, k: int,
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
    starts: Ints, items: Items, at: Codes, owner: Bools, counts: Ints, chosen: Ints, owners: Ints,
    breadth: int, pool: int,
) -> tuple[Ints, Codes, Bools]:  # fmt: skip
    """The support and owners of each child, end to end, and where each begins."""
    d = counts.size
    place, begin = np.empty(d, dtype=np.int64), np.zeros(d + 1, dtype=np.int64)
    used, children = 0, 0
    # Of a support that is too large, the owners and evenly spaced others.
    spare, seen = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    for a in range(d):
        if owners[a] > 0:
            place[a] = used
            size = min(counts[a], max(breadth * owners[a], pool))
            spare[a] = size - owners[a]
            used += size
            children += 1
            begin[children] = used
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
    return begin[: children + 1], child, flags


@njit(cache=True, nogil=True)
def _stay(
    rows: Codes, owner: Bools, chosen: Ints, base: float, k: int, values: Floats, members: Ints
) -> None:
    """Owners that can go no further share this node's set with any k of its support."""
    for o in range(rows.size):
        if owner[o] and chosen[o] < 0 and base > values[rows[o]]:
            values[rows[o]] = base
            members[rows[o], 0], used = rows[o], 1
            for step in range(1, k):
                members[rows[o], used] = rows[(o + step) % rows.size]
                used += 1


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
    n, d = starts.size - 1, utilities.size
    members, values = np.empty((n, k), dtype=np.int64), np.full(n, -1.0)
    room = max(pool, k)
    logs = np.log(np.maximum(np.arange(room + 1), 1))
    workers = cores(threads)
    whole = max(room, min(COMPACT, n // 16))
    starts, items, utilities = frozen(starts), frozen(items), frozen(utilities)

    def children(node: Node, rank: int, *, compact: bool) -> list[Node]:
        """Where the owners of a node go on; with a rank, from the root of another descent."""
        above, held, rows, at, owner, base = node
        counts, owners = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
        base += _count(above, held, at, owner, utilities, counts)
        if compact:
            above, held, rows = _compact(above, held, at, rows, counts, k)
            above, held = frozen(above), frozen(held)
            at = np.arange(at.size, dtype=np.int32)
        chosen = np.empty(at.size, dtype=np.int64)
        if rank > 0:
            _lead(above, held, counts, utilities, k, rank, chosen, owners)
        else:
            _choose(
                above, held, at, owner, counts, utilities, k, breadth, room, chosen, owners
            )  # fmt: skip
        _stay(rows if compact else at, owner, chosen, base, k, values, members)
        begin, child, flags = _children(
            above, held, at, owner, counts, chosen, owners, breadth, room
        )
        base = base if compact else 0.0  # of a node that was not copied all is counted again
        cuts = [slice(low, high) for low, high in pairwise(begin.tolist())]
        return [(above, held, rows, child[cut], flags[cut], base) for cut in cuts]

    def split(node: Node, rank: int) -> list[Node]:
        # The largest last, where they are taken from: so that no core is left with one at the end.
        return sorted(children(node, rank, compact=False), key=lambda child: child[3].size)

    def descend(node: Node) -> int:
        """Everything below one node; how many owners it has."""
        waiting = [node]
        while waiting:
            below = waiting.pop()
            if below[3].size > room:
                waiting.extend(children(below, 0, compact=True))
            else:
                finish(*below, utilities, k, steps, logs, values, members)
        return int(node[4].sum())

    with ThreadPoolExecutor(workers) as threads_of:
        for turn in range(tries):
            at, none = np.arange(n, dtype=np.int32), np.empty(0, dtype=np.int32)
            everybody: Node = (starts, items, none, at, np.ones(n, dtype=bool), 0.0)
            waiting = [everybody] if turn == 0 else split(everybody, turn)
            running: set[Future[Any]] = set()
            done = 0
            while waiting or running:
                while waiting and len(running) < 2 * workers:
                    node = waiting.pop()
                    large = node[3].size > whole
                    running.add(
                        threads_of.submit(split, node, 0)
                        if large
                        else threads_of.submit(descend, node)
                    )
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
