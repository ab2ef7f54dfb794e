"""Local disturbances of a partition, from which `refine` descends again."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.micro.refine._state import (
    FREE,
    FREED,
    HERE,
    SEEN,
    SIZE,
    STAMP,
    Search,
    enqueue,
    list_free,
    refresh,
    squared,
    touch,
)
from sfumato.kernels.random import draw, pick

POOL = 4
"""Groups of a pool at most; two at least."""
PASSED_OVER = 0.4
"""Chance that a neighbouring group is not taken into the pool."""
RESIZED = 0.3
"""Chance that a pool is formed anew into another number of groups."""


@njit(cache=True, nogil=True)
def gather(s: Search, r: int) -> int:
    """Put the groups of record r and of some records near it on `s.around`; how many there are."""
    s.counts[STAMP] += 1
    stamp = s.counts[STAMP]
    most = 2 + pick(s.random, POOL - 1)
    g = s.label[r]
    s.group[SEEN, g] = stamp
    s.around[0] = g
    found = 1
    for t in range(s.near.shape[1]):
        if found == most:
            break
        b = s.label[s.near[r, t]]
        if s.group[SEEN, b] != stamp and draw(s.random) >= PASSED_OVER:
            s.group[SEEN, b] = stamp
            s.around[found] = b
            found += 1
    return found


@njit(cache=True, nogil=True)
def regroup(s: Search, groups: int) -> None:
    """Form anew the groups on `s.around`: around random records, each with its nearest."""
    k = s.k
    total = 0
    for f in range(groups):
        g = s.around[f]
        touch(s.group, s.member, s.sse, s.counts, g)
        for m in range(s.group[SIZE, g]):
            s.pool[total] = s.member[HERE, g, m]
            total += 1
    most, least = total // k, (total + 2 * k - 2) // (2 * k - 1)
    wanted = groups
    if most > least and draw(s.random) < RESIZED:
        wanted = least + pick(s.random, most - least + 1)
    for f in range(wanted, groups):
        g = s.around[f]  # its members go elsewhere
        s.group[SIZE, g] = 0
        s.sse[HERE, g] = 0.0
        list_free(s.group, s.counts, g)
    for f in range(groups, wanted):
        s.counts[FREE] -= 1
        s.around[f] = s.group[FREED, s.counts[FREE]]
        touch(s.group, s.member, s.sse, s.counts, s.around[f])
    left = total
    for f in range(wanted):
        g = s.around[f]
        at = pick(s.random, left)
        seed = s.pool[at]
        left -= 1
        s.pool[at] = s.pool[left]
        s.member[HERE, g, 0] = seed
        for u in range(left):
            s.gap[u] = squared(s.x, s.pool[u], s.x, seed) * (0.5 + draw(s.random))
        for m in range(1, k):
            best = 0
            for u in range(1, left):
                if s.gap[u] < s.gap[best]:
                    best = u
            s.member[HERE, g, m] = s.pool[best]
            left -= 1
            s.pool[best] = s.pool[left]
            s.gap[best] = s.gap[left]
        s.group[SIZE, g] = k
        refresh(s, g)
    while left > 0:
        left -= 1
        i = s.pool[left]
        best, lowest = s.around[0], np.inf
        for f in range(wanted):
            g = s.around[f]
            if s.group[SIZE, g] < 2 * k - 1:
                cost = s.group[SIZE, g] / (s.group[SIZE, g] + 1.0) * squared(s.x, i, s.centre, g)
                if cost < lowest:
                    best, lowest = g, cost
        s.member[HERE, best, s.group[SIZE, best]] = i
        s.group[SIZE, best] += 1
        refresh(s, best)
    for f in range(wanted):
        enqueue(s.group, s.counts, s.around[f])
