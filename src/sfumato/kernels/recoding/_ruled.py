"""Forming the groups of a pool anew when they must keep rules (recoding_rules).

A group begins with a random record. Where a record of its kind alone would break a rule, the next
one is often the cheapest that helps; then it grows by the cheapest records, and on beyond its size
by those that help, until it keeps the rules. What is left over joins the group that it burdens
least, of those that keep the rules with it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..joins.cells import joined, pair_cost
from ..random import draw, pick
from ._pool import BLINK, Pool
from ._rules import Codes, broken_by

HELP_FIRST = 0.7
"""Chance that a group's second record is one that helps to keep the rules."""


@njit(cache=True, nogil=True)
def form_ruled(
    columns: int,
    cost: int,
    table: int,
    pool: Pool,
    records: int,
    k: int,
    most: int,
    bar: float,
    random: NDArray[np.uint64],
    kinds: Ints,
    limits: Floats,
    codes: Codes,
    at: Ints,
    share: Floats,
    counts: Ints,
) -> tuple[int, float]:
    """As `form`, with groups that keep the rules; a cost above `bar` also where there are none.

    `counts` (g, codes) is scratch.
    """
    record, states, total = pool.record, pool.states, pool.total
    member, sizes, costs, lub = pool.member, pool.size, pool.cost, pool.lub
    d, rules = states.shape[0], kinds.size
    left, formed, now = records, 0, 0.0
    while left >= k and formed < most:
        f = formed
        count = counts[f]
        count[:] = 0
        size, broken = 0, 1.0
        while size < k or broken > 0.0:
            if left == 0:
                return formed, np.inf
            begin = pick(random, left)
            best = begin if size == 0 else -1
            if size > 0:
                helping = broken > 0.0 and (size >= k or (size == 1 and draw(random) < HELP_FIRST))
                lowest = np.inf
                for step in range(left):
                    c = begin + step if begin + step < left else begin + step - left
                    if total[c] >= lowest or draw(random) < BLINK:
                        continue
                    if helping:
                        for q in range(rules):
                            count[at[q] + codes[record[c], q]] += 1
                        then = broken_by(kinds, limits, at, share, count, size + 1)
                        for q in range(rules):
                            count[at[q] + codes[record[c], q]] -= 1
                        if then >= broken:
                            continue
                    best, lowest = c, total[c]
                if best < 0 and size >= k:
                    return formed, np.inf
                best = max(best, 0)
            left -= 1
            record[best], record[left] = record[left], record[best]
            for j in range(d):
                state = states[j, best]
                states[j, best] = states[j, left]
                states[j, left] = state
                lub[f, j] = state if size == 0 else joined(columns, table, j, lub[f, j], state)
            for q in range(rules):
                count[at[q] + codes[record[left], q]] += 1
            member[f, size] = left
            size += 1
            broken = broken_by(kinds, limits, at, share, count, size)
            for c in range(left):
                one = 0.0
                for j in range(d):
                    one += pair_cost(columns, cost, table, j, lub[f, j], states[j, c])
                total[c] = one
        sizes[f] = size
        one = 0.0
        for j in range(d):
            one += pair_cost(columns, cost, table, j, lub[f, j], lub[f, j])
        costs[f] = one
        now += size * one
        formed += 1
        if now > bar:
            return formed, now
    while left > 0:
        left -= 1
        best, lowest, least = -1, np.inf, 0.0
        for f in range(formed):
            one = 0.0
            for j in range(d):
                one += pair_cost(columns, cost, table, j, lub[f, j], states[j, left])
            rise = (sizes[f] + 1) * one - sizes[f] * costs[f]
            if rise >= lowest:
                continue
            for q in range(rules):
                counts[f, at[q] + codes[record[left], q]] += 1
            if broken_by(kinds, limits, at, share, counts[f], sizes[f] + 1) == 0.0:
                best, lowest, least = f, rise, one
            for q in range(rules):
                counts[f, at[q] + codes[record[left], q]] -= 1
        if best < 0:
            return formed, np.inf
        for j in range(d):
            lub[best, j] = joined(columns, table, j, lub[best, j], states[j, left])
        for q in range(rules):
            counts[best, at[q] + codes[record[left], q]] += 1
        member[best, sizes[best]] = left
        sizes[best] += 1
        costs[best] = least
        now += lowest
        if now > bar:
            break
    return formed, now
