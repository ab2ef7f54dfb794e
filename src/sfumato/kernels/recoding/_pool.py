"""A pool of records, taken from a few groups, and groups formed of them anew.

First groups are grown around random records by adding, again and again, the record that costs
least; what is left over joins the group that it costs least. Under rules (_rules.py) a group's
second record is often the cheapest that helps to keep them, it grows beyond its size by such until
it does, and takes in what is left over only where it still does. Then single records move and pairs
change places between the new groups for as long as that pays. All of it happens on a copy: nothing
outside the pool changes unless the new groups are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..joins.cells import COST, KIND, WIDTH, cost_at, joined, number_at, pair_cost
from ..joins.lub import MANY, ORDER, States
from ..joins.value_sets import with_value, without
from ..random import Random, draw, pick
from ._rules import Rules, alike, broken_by, broken_with, note

BLINK = 0.02
"""Chance that a cheaper record is overlooked when a group grows: not all steps should agree."""
HELP_FIRST = 0.7
"""Chance that a group's second record is one that helps to keep the rules."""
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
    tally: Ints  # (g, codes) of each group's records, under rules
    lists: Ints  # (1,) the first of g lists of values (value_sets.py), one for each group


def make_pool(records: int, groups: int, d: int, codes: int, number: int = 0) -> Pool:
    """Empty scratch of the pool of this number."""

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    def floats(*shape: int) -> Floats:
        return np.zeros(shape, np.float64)

    return Pool(
        record=ints(records),
        states=ints(d, records),
        cell=floats(d, records),
        total=floats(records),
        member=ints(groups, records),
        size=ints(groups),
        cost=floats(groups),
        lub=ints(groups, d),
        rest=ints(records, d),
        rest_cell=floats(records, d),
        rest_cost=floats(records),
        behind=ints(records),
        version=ints(groups),
        seen=ints(groups, groups),
        tally=ints(groups, codes),
        lists=np.array([1 + number * groups]),
    )


@njit(cache=True, nogil=True)
def _with(columns: int, table: int, pool: Pool, f: int, j: int, state: int) -> int:
    """The least upper bound of group f and one record more, in column j."""
    if number_at(columns, 8 * j + KIND) == MANY:
        return with_value(columns, table, j, pool.lists[0] + f, pool.lub[f, j], state)
    return joined(columns, table, j, pool.lub[f, j], state)


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
    random: Random,
    rules: Rules | None,
) -> tuple[int, float]:
    """Form groups of the pool's records: how many, and their cost; it stops when above `bar`.

    Under rules the cost is infinite where no groups were found that keep them.
    """
    record, states, total, count = pool.record, pool.states, pool.total, pool.tally
    member, sizes, costs, lub = pool.member, pool.size, pool.cost, pool.lub
    d = states.shape[0]
    left, formed, now = records, 0, 0.0
    while left >= k and formed < most:
        f, size, broken = formed, 0, 0.0
        if rules is not None:
            count[f] = 0
            broken = 1.0
        while size < k or broken > 0.0:
            if left == 0:
                return formed, np.inf
            # The first record at random, the others as they cost least.
            best = begin = pick(random, left)
            if size > 0:
                lowest = np.inf
                if rules is not None:
                    best = -1
                    helping = broken > 0.0 and (
                        size >= k or (size == 1 and draw(random) < HELP_FIRST)
                    )
                for half in range(2):
                    for c in range(0 if half else begin, begin if half else left):
                        if total[c] >= lowest or draw(random) < BLINK:
                            continue
                        if (
                            rules is not None
                            and helping
                            and broken_with(rules, count[f], record[c], size) >= broken
                        ):
                            continue
                        best, lowest = c, total[c]
                if rules is not None:
                    if best < 0 and size >= k:
                        return formed, np.inf
                    best = max(best, 0)
            left -= 1
            record[best], record[left] = record[left], record[best]
            for j in range(d):
                states[j, best], states[j, left] = states[j, left], states[j, best]
            if rules is None:
                _grow(columns, cost, table, pool, f, size, best, left, size == k - 1)
            else:
                _grow_ruled(columns, cost, table, pool, f, size, left)
                note(rules, count[f], record[left], 1)
                broken = broken_by(rules, count[f], size + 1)
            member[f, size] = left
            size += 1
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
            if rules is not None and broken_with(rules, count[f], record[left], sizes[f]) > 0.0:
                continue
            best, lowest, least = f, rise, one
        if rules is not None:
            if best < 0:
                return formed, np.inf
            note(rules, count[best], record[left], 1)
        for j in range(d):
            lub[best, j] = _with(columns, table, pool, best, j, states[j, left])
        member[best, sizes[best]] = left
        sizes[best] += 1
        costs[best] = least
        now += lowest
        if now > bar:
            break
    return formed, now


@njit(cache=True, nogil=True, inline="always")
def _grow(
    columns: int,
    cost: int,
    table: int,
    pool: Pool,
    f: int,
    size: int,
    taken: int,
    left: int,
    is_last: bool,
) -> None:
    """Group f takes in the record at `left`, which stood at `taken`: its bound, and what each
    record in front would cost in it, by what has changed."""
    states, cell, total, lub = pool.states, pool.cell, pool.total, pool.lub
    total[taken] = total[left]
    if size == 0:
        for c in range(left):
            total[c] = 0.0
    for j in range(states.shape[0]):
        state = states[j, left]
        cell[j, taken] = cell[j, left]
        if size == 0:
            for c in range(left):
                cell[j, c] = 0.0
        else:
            state = _with(columns, table, pool, f, j, state)
            if state == lub[f, j]:
                continue
        lub[f, j] = state
        if is_last:
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


@njit(cache=True, nogil=True, inline="always")
def _grow_ruled(
    columns: int, cost: int, table: int, pool: Pool, f: int, size: int, left: int
) -> None:
    """The same with sums made afresh, column by column: another order, and so other roundings."""
    states, total, lub = pool.states, pool.total, pool.lub
    for j in range(states.shape[0]):
        state = states[j, left]
        lub[f, j] = state if size == 0 else _with(columns, table, pool, f, j, state)
    for c in range(left):
        one = 0.0
        for j in range(states.shape[0]):
            one += pair_cost(columns, cost, table, j, lub[f, j], states[j, c])
        total[c] = one


@njit(cache=True, nogil=True)
def _renew_listed(columns: int, cost: int, table: int, pool: Pool, f: int, j: int) -> float:
    """`_renew` in a column of sets that are listed; what the group's set costs."""
    states, rest, rest_cell = pool.states, pool.rest, pool.rest_cell
    member, size = pool.member[f], pool.size[f]
    listed, suppressed, hidden = -1, 0, -1
    for m in range(size):
        state = int(states[j, member[m]])
        if state < 0:
            suppressed, hidden = suppressed + 1, state
        elif listed == -1:
            listed = state
        else:
            listed = with_value(columns, table, j, pool.lists[0] + f, listed, state)
    whole = hidden if suppressed else listed
    pool.lub[f, j] = whole
    for m in range(size):
        x = member[m]
        left, state = whole, int(states[j, x])
        if suppressed == 1 and state < 0 and size > 1:
            left = listed
        elif not suppressed and listed < 0:
            copies = 0
            for a in range(size):
                copies += states[j, member[a]] == state
            if copies == 1:
                left = without(columns, table, j, listed, state)
        one = pair_cost(columns, cost, table, j, left, left)
        rest[x, j] = left
        rest_cell[x, j] = one
        pool.rest_cost[x] += one
    return pair_cost(columns, cost, table, j, whole, whole)


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
        if number_at(columns, 8 * j + KIND) == MANY:
            whole += _renew_listed(columns, cost, table, pool, f, j)
            continue
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
    columns: int, cost: int, table: int, pool: Pool, formed: int, k: int, rules: Rules | None
) -> float:
    """Moves and swaps between the new groups while they pay; by how much the cost changed.

    Under rules only records are swapped that these count alike.
    """
    record = pool.record
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
                    if rules is None:
                        total = (m - 1) * least
                        if m > k and total + (n + 1) * costs[g] < lowest:
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
                        if rules is not None and not alike(rules, record[x], record[y]):
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
