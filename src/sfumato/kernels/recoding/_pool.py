"""A pool of records, taken from a few groups, and groups formed of them anew.

First groups are grown around random records by adding, again and again, the record that costs
least; what is left over joins the group that it costs least. Then single records move and pairs
change places between the new groups for as long as that pays. All of it happens on a copy: nothing
outside the pool changes unless the new groups are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..joins.cells import COST, KIND, WIDTH, cost_at, joined, number_at, pair_cost
from ..joins.lub import ORDER, States
from ..random import draw, pick
from ._rules import Codes

BLINK = 0.02
"""Chance that a cheaper record is overlooked when a group grows: not all steps should agree."""
LEAST = 1e-9
"""A gain counts when it exceeds this share of the cost: below, it may be rounding."""
PASSES = 64
"""Times that the pairs of a pool are gone through at most; a few are usual."""


class Pool(NamedTuple):
    """Scratch arrays for up to m records and g groups. Records are known by their place here."""

    record: Ints  # (m,)
    states: States  # (d, m)
    cell: Floats  # (d, m) what each cell would cost in the group that grows
    total: Floats  # (m,) sums of these
    member: Ints  # (g, m) places of each group's records
    size: Ints  # (g,)
    cost: Floats  # (g,) of one record
    lub: States  # (g, d)
    rest: States  # (m, d) least upper bound of the group without this record
    rest_cell: Floats  # (m, d) what its cells cost
    rest_cost: Floats  # (m,)
    behind: States  # (m,)
    version: Ints  # (g,) how often a group has changed
    seen: Ints  # (g, g) versions at which two groups were compared


def make_pool(records: int, groups: int, d: int) -> Pool:
    """Empty scratch."""
    ints, floats = np.int64, np.float64
    return Pool(
        record=np.zeros(records, ints),
        states=np.zeros((d, records), ints),
        cell=np.zeros((d, records), floats),
        total=np.zeros(records, floats),
        member=np.zeros((groups, records), ints),
        size=np.zeros(groups, ints),
        cost=np.zeros(groups, floats),
        lub=np.zeros((groups, d), ints),
        rest=np.zeros((records, d), ints),
        rest_cell=np.zeros((records, d), floats),
        rest_cost=np.zeros(records, floats),
        behind=np.zeros(records, ints),
        version=np.zeros(groups, ints),
        seen=np.zeros((groups, groups), ints),
    )


@njit(cache=True, nogil=True)
def form(
    columns: int,
    cost: int,
    table: int,
    pool: Pool,
    records: int,
    k: int,
    most: int,
    bar: float,
    random: NDArray[np.uint64],
) -> tuple[int, float]:
    """Form groups of the pool's records: how many, and their cost; it stops when above `bar`."""
    record, states, cell, total = pool.record, pool.states, pool.cell, pool.total
    member, sizes, costs, lub = pool.member, pool.size, pool.cost, pool.lub
    d = states.shape[0]
    left, formed, now = records, 0, 0.0
    while left >= k and formed < most:
        f = formed
        size = 0
        while size < k:
            # The first record at random, the others as they cost least.
            best = begin = pick(random, left)
            if size > 0:
                lowest = np.inf
                for c in range(begin, left):
                    if total[c] < lowest and draw(random) >= BLINK:
                        best, lowest = c, total[c]
                for c in range(begin):
                    if total[c] < lowest and draw(random) >= BLINK:
                        best, lowest = c, total[c]
            # It changes places with the last one in front.
            left -= 1
            record[best], record[left] = record[left], record[best]
            total[best] = total[left]
            if size == 0:
                for c in range(left):
                    total[c] = 0.0
            for j in range(d):
                state = states[j, best]
                states[j, best] = states[j, left]
                states[j, left] = state
                cell[j, best] = cell[j, left]
                if size == 0:
                    for c in range(left):
                        cell[j, c] = 0.0
                else:
                    before = lub[f, j]
                    state = joined(columns, table, j, before, state)
                    if state == before:
                        continue
                lub[f, j] = state
                if size == k - 1:
                    continue
                if number_at(columns, 8 * j + KIND) == ORDER:
                    row = number_at(columns, 8 * j + WIDTH) * state
                    row += number_at(columns, 8 * j + COST)
                    for c in range(left):
                        one = cost_at(cost, row + states[j, c])
                        total[c] += one - cell[j, c]
                        cell[j, c] = one
                else:
                    for c in range(left):
                        one = pair_cost(columns, cost, table, j, state, states[j, c])
                        total[c] += one - cell[j, c]
                        cell[j, c] = one
            member[f, size] = left
            size += 1
        sizes[f] = k
        one = 0.0
        for j in range(d):
            one += pair_cost(columns, cost, table, j, lub[f, j], lub[f, j])
        costs[f] = one
        now += k * one
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
            if rise < lowest:
                best, lowest, least = f, rise, one
        for j in range(d):
            lub[best, j] = joined(columns, table, j, lub[best, j], states[j, left])
        member[best, sizes[best]] = left
        sizes[best] += 1
        costs[best] = least
        now += lowest
        if now > bar:
            break
    return formed, now


@njit(cache=True, nogil=True)
def _renew(columns: int, cost: int, table: int, pool: Pool, f: int) -> None:
    """Of a group: its least upper bound, that without each of its members, and what they cost."""
    states, rest, rest_cell, behind = pool.states, pool.rest, pool.rest_cell, pool.behind
    member, rest_cost = pool.member[f], pool.rest_cost
    size = pool.size[f]
    for m in range(size):
        rest_cost[member[m]] = 0.0
    whole = 0.0
    for j in range(states.shape[0]):
        state = states[j, member[size - 1]]
        same = True
        for m in range(size - 2, -1, -1):
            behind[m] = state
            mine = states[j, member[m]]
            if mine != state:
                state = joined(columns, table, j, state, mine)
                same = False
        pool.lub[f, j] = state
        one = pair_cost(columns, cost, table, j, state, state)
        whole += one
        if same:
            for m in range(size):
                x = member[m]
                rest[x, j] = state
                rest_cell[x, j] = one
                rest_cost[x] += one
            continue
        ahead = states[j, member[0]]
        for m in range(size):
            x = member[m]
            if m == 0:
                left = behind[0]
            elif m == size - 1:
                left = ahead
            else:
                left = joined(columns, table, j, ahead, behind[m])
                ahead = joined(columns, table, j, ahead, states[j, x])
            one = pair_cost(columns, cost, table, j, left, left)
            rest[x, j] = left
            rest_cell[x, j] = one
            rest_cost[x] += one
    pool.cost[f] = whole
    pool.version[f] += 1


@njit(cache=True, nogil=True)
def polish(
    columns: int, cost: int, table: int, pool: Pool, formed: int, k: int, codes: Codes
) -> float:
    """Moves and swaps between the new groups while they pay; by how much the cost changed.

    Where records have `codes` (n, q) that rules count, only records with the same ones are swapped.
    """
    record, ruled = pool.record, codes.shape[1]
    states, rest, rest_cell, rest_cost = pool.states, pool.rest, pool.rest_cell, pool.rest_cost
    member, size, costs, lub = pool.member, pool.size, pool.cost, pool.lub
    version, seen = pool.version, pool.seen
    d = states.shape[0]
    change = 0.0
    for f in range(formed):
        version[f] = 0
        _renew(columns, cost, table, pool, f)
        for g in range(formed):
            seen[f, g] = -1
    for _ in range(PASSES):
        again = False
        for f in range(formed):
            for g in range(formed):
                # Moves from f to g, and (once for each pair) swaps. Versions only grow: the same
                # sum as when the two were last compared means that neither has changed.
                if g == f or seen[f, g] == version[f] + version[g]:
                    continue
                seen[f, g] = version[f] + version[g]
                m, n = size[f], size[g]
                before = m * costs[f] + n * costs[g]
                if before == 0.0:
                    continue
                lowest, best_a, best_b = before * (1.0 - LEAST), -1, -1
                for a in range(m):
                    x = member[f, a]
                    least = rest_cost[x]
                    if ruled == 0 and m > k and (m - 1) * least + (n + 1) * costs[g] < lowest:
                        total = (m - 1) * least
                        for j in range(d):
                            total += (n + 1) * pair_cost(
                                columns, cost, table, j, lub[g, j], states[j, x]
                            )
                            if total >= lowest:
                                break
                        if total < lowest:
                            lowest, best_a, best_b = total, a, -1
                    if g < f:
                        continue
                    for b in range(n):
                        y = member[g, b]
                        total = m * least + n * rest_cost[y]
                        if total >= lowest:
                            continue
                        alike = True
                        for q in range(ruled):
                            alike = alike and codes[record[x], q] == codes[record[y], q]
                        if not alike:
                            continue
                        for j in range(d):
                            one = pair_cost(columns, cost, table, j, rest[x, j], states[j, y])
                            other = pair_cost(columns, cost, table, j, rest[y, j], states[j, x])
                            total += m * (one - rest_cell[x, j]) + n * (other - rest_cell[y, j])
                            if total >= lowest:
                                break
                        if total < lowest:
                            lowest, best_a, best_b = total, a, b
                if best_a < 0:
                    continue
                if best_b < 0:
                    member[g, n] = member[f, best_a]
                    member[f, best_a] = member[f, m - 1]
                    size[f], size[g] = m - 1, n + 1
                else:
                    x, y = member[f, best_a], member[g, best_b]
                    member[f, best_a], member[g, best_b] = y, x
                _renew(columns, cost, table, pool, f)
                _renew(columns, cost, table, pool, g)
                change += size[f] * costs[f] + size[g] * costs[g] - before
                again = True
        if not again:
            break
    return change
