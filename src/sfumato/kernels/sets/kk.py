"""The (1,k) half of (k,k)-anonymity for sets: for every original, k published sets within it.

Published sets are compressed rows that only ever shrink: set j is
`items[starts[j]:starts[j] + sizes[j]]`. What a published set loses by being intersected with an
original is the utility of its items that the original lacks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from ...progress import report
from ..arrays import Floats, Ints
from ..threads import cores
from .rows import Items, even_cuts

_AT_ONCE = 256
"""Originals that are looked at before published sets change; it does not depend on the machine."""


@njit(cache=True, nogil=True)
def _loss(
    starts: Ints, sizes: Ints, items: Items, utilities: Floats, has: Items, j: int, most: float
) -> float:
    """What set j loses by an original; where that is more than `most`, something above it."""
    loss = 0.0
    for e in range(starts[j], starts[j] + sizes[j]):
        if not has[items[e]]:
            loss += utilities[items[e]]
            if loss > most:
                break
    return loss


@njit(cache=True, nogil=True)
def _lacks(starts: Ints, sizes: Ints, items: Items, has: Items, j: int) -> bool:
    e, end = starts[j], starts[j] + sizes[j]
    while e < end and has[items[e]]:
        e += 1
    return bool(e < end)


@njit(cache=True, nogil=True)
def _cheapest(
    starts: Ints, items: Items, utilities: Floats, shown_starts: Ints, sizes: Ints, shown: Items,
    cover_starts: Ints, members: Ints, order: Ints, place: Ints, looked: int, k: int,
    chosen: Ints, low: int, high: int, found: Ints,
) -> None:  # fmt: skip
    """Fill `found` with the k published sets that lose least by originals chosen[low:high].

    Looked at are the sets of the records that stand in the original's own, and `looked` of all,
    from the original on in a random order. Of equal ones the first is taken.
    """
    n = order.size
    has = np.zeros(utilities.size, dtype=np.bool_)
    costs = np.empty(k)
    step = max(n // looked, 1)
    for a in range(low, high):
        i = chosen[a]
        for e in range(starts[i], starts[i + 1]):
            has[items[e]] = True
        best, full, free = found[a], 0, 0
        near = cover_starts[i + 1] - cover_starts[i]
        for s in range(near + looked):
            if s < near:
                j = members[cover_starts[i] + s]
            else:
                j = order[(place[i] + (s - near) * step) % n]
            worst = costs[k - 1] if full == k else np.inf
            cost = _loss(shown_starts, sizes, shown, utilities, has, j, worst)
            if cost >= worst:
                continue
            twice = False
            for b in range(full):
                twice = twice or best[b] == j
            if twice:
                continue
            at = full if full < k else k - 1
            while at > 0 and costs[at - 1] > cost:
                costs[at], best[at] = costs[at - 1], best[at - 1]
                at -= 1
            costs[at], best[at] = cost, j
            full = min(full + 1, k)
            free += cost == 0.0
            if free >= k:
                break
        for e in range(starts[i], starts[i + 1]):
            has[items[e]] = False


@njit(cache=True, nogil=True)
def _narrow(
    starts: Ints, items: Items, utilities: Floats, shown_starts: Ints, sizes: Ints, shown: Items,
    chosen: Ints, found: Ints, who: Ints, whom: Ints,
) -> int:  # fmt: skip
    """Intersect what was found with its originals; `who` and `whom` say which had to be."""
    has = np.zeros(utilities.size, dtype=np.bool_)
    used = 0
    for a in range(chosen.size):
        i = chosen[a]
        for e in range(starts[i], starts[i + 1]):
            has[items[e]] = True
        for j in found[a]:
            if not _lacks(shown_starts, sizes, shown, has, j):
                continue
            kept = shown_starts[j]
            for e in range(shown_starts[j], shown_starts[j] + sizes[j]):
                if has[shown[e]]:
                    shown[kept] = shown[e]
                    kept += 1
            sizes[j] = kept - shown_starts[j]
            who[used], whom[used] = j, i
            used += 1
        for e in range(starts[i], starts[i + 1]):
            has[items[e]] = False
    return used


def widened(
    starts: Ints, items: Items, utilities: Floats, shown_starts: Ints, shown: Items,
    cover_starts: Ints, members: Ints, k: int, looked: int, order: Ints,
    *, threads: int | None = None,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Members to add so that k published sets lie within every original: whose, and whom.

    `shown` are the published sets, the intersections of the sets of records in the cover; `order`
    is a random order of the records, in which `looked` published sets are looked at.
    """
    n = starts.size - 1
    sizes, shown = np.diff(shown_starts), shown.copy()
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    looked = min(max(looked, k), n)
    # An original that stands in k records' sets has their published sets within it.
    waiting = np.flatnonzero(np.bincount(members, minlength=n) < k)
    workers = cores(threads)
    whose: list[Ints] = []
    whom: list[Ints] = []
    with ThreadPoolExecutor(workers) as pool:
        for at in range(0, waiting.size, _AT_ONCE):
            chosen = waiting[at : at + _AT_ONCE]
            found = np.zeros((chosen.size, k), dtype=np.int64)

            def look(low: int, high: int, chosen: Ints = chosen, found: Ints = found) -> None:
                _cheapest(
                    starts, items, utilities, shown_starts, sizes, shown, cover_starts, members,
                    order, place, looked, k, chosen, low, high, found,
                )  # fmt: skip

            cuts = even_cuts(chosen.size, workers).tolist()
            list(pool.map(look, cuts[:-1], cuts[1:]))
            who, new = np.empty(found.size, np.int64), np.empty(found.size, np.int64)
            used = _narrow(
                starts, items, utilities, shown_starts, sizes, shown, chosen, found, who, new
            )
            whose.append(who[:used])
            whom.append(new[:used])
            report("widening published sets", at + chosen.size, waiting.size)
    nothing = np.zeros(0, dtype=np.int64)
    return np.concatenate([*whose, nothing]), np.concatenate([*whom, nothing])
