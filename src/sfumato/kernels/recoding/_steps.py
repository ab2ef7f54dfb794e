"""Steps of the local search: a few neighbouring groups are broken up and formed anew.

A step starts at a record of a dear group and pools 4 to 8 groups: again and again a record that is
already in the pool names the group which it would burden least, of those that hold its cheap
partners. The pool is formed anew (recoding_pool), and the new groups replace the old ones if they
cost less, or by chance if they cost a little more (ruin and recreate, Schrimpf et al. 2000;
simulated annealing, Kirkpatrick, Gelatt & Vecchi 1983).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..joins.cells import Cells, addresses, cost_of, number_at, pair_cost
from ..joins.lub import KIND, MANY, States
from ..joins.value_sets import unlisted
from ..mondrian import borrow
from ..random import Random, draw, pick
from ._pool import Pool, form, polish
from ._rules import Rules

Rows = NDArray[np.int32]

FEWEST, POOL = 4, 8
"""Groups of a pool, at least (where there are neighbours) and at most."""
RIVALS = 5
"""A step starts in the dearest group of 1, 2, 4 ... records, in so many sizes."""
PASSED_OVER = 0.1
"""Chance that a partner is not looked at."""
AIMED = 0.5
"""Chance that, under rules, groups are formed as large as the old ones rather than of k."""
SLACK = 0.25
"""New groups are polished unless they cost more than the old ones by this share."""


class Groups(NamedTuple):
    """Groups as lists of records, in arrays that a search changes in place; `cost[g]` is what one
    record of group g costs, so that the search minimizes the sum of size times cost.

    Groups are dealt out to parts: a part changes nothing but its own groups, their records, and its
    own stretch of free names. Nothing but arrays, so that they can be borrowed.
    """

    states: States  # (u, d) of the distinct records
    distinct: Rows  # (n,) which distinct record each record is
    copy_at: Ints  # (u + 1,) where the copies of each distinct record start in `copy`
    copy: Rows  # (n,)
    near: Rows  # (u, t) cheap partners of each distinct record, cheapest first; -1: none
    label: Rows  # (n,) group of each record
    after: Rows  # (n,) next record of the same group; -1: the last
    first: Rows  # (g,) first record of each group
    size: Ints  # (g,) records; 0 where the name is free
    cost: Floats  # (g,)
    lub: States  # (g, d)
    part: Rows  # (g,) part that owns the name
    free: Rows  # (g,) each part's stretch begins with its free names
    free_at: Ints  # (p + 1,) where the stretches begin
    free_count: Ints  # (p,) free names of each
    active: Rows  # (n,) each part's stretch: records at which its steps begin
    active_at: Ints  # (p + 1,)


@njit(cache=True, nogil=True)
def anneal(
    held_cells: Cells,
    held_groups: Groups,
    held_pool: Pool,
    k: int,
    part: int,
    steps: int,
    heat: float,
    random: Random,
    held_rules: Rules | None,
) -> tuple[float, int]:
    """Take steps within a part's groups; the change of the sum of costs, and how many were kept."""
    s, pool = borrow(held_groups), borrow(held_pool)
    columns, cost, table = addresses(held_cells)
    active, label, costs, size, first = s.active, s.label, s.cost, s.size, s.first
    after, distinct, states, lub = s.after, s.distinct, s.states, s.lub
    near, copy_at, copy, part_of = s.near, s.copy_at, s.copy, s.part
    pool_record, pool_states = pool.record, pool.states
    rules = None if held_rules is None else borrow(held_rules)
    d = s.states.shape[1]
    room = pool.record.size
    name = np.empty(POOL, np.int64)
    begin, end = s.active_at[part], s.active_at[part + 1]
    change, kept = 0.0, 0
    if end == begin:
        return change, kept
    for _ in range(steps):
        r = active[begin + pick(random, end - begin)]
        for _ in range((1 << pick(random, RIVALS)) - 1):
            i = active[begin + pick(random, end - begin)]
            if costs[label[i]] > costs[label[r]]:
                r = i
        g = label[r]
        # Under rules a group that could not be split may be larger than a pool.
        if costs[g] == 0.0 or size[g] > room:
            continue
        name[0], found = g, 1
        count, old = size[g], size[g] * costs[g]
        want = FEWEST + pick(random, POOL - FEWEST + 1)
        t = distinct[r]
        for turn in range(2 * POOL):
            if found == want:
                break
            if turn > 0:
                h = name[pick(random, found)]
                i = first[h]
                for _ in range(pick(random, size[h])):
                    i = after[i]
                t = distinct[i]
            # The group that t would burden least, of those that hold its partners.
            best, lowest = -1, np.inf
            for v in range(-1, near.shape[1]):
                if draw(random) < PASSED_OVER:
                    continue
                u = t if v < 0 else near[t, v]
                if u < 0:
                    break
                copies = copy_at[u + 1] - copy_at[u]
                b = label[copy[copy_at[u] + (pick(random, copies) if copies > 1 else 0)]]
                if part_of[b] != part or size[b] + count > room:
                    continue
                known = False
                for f in range(found):
                    known = known or name[f] == b
                if known:
                    continue
                bound = lowest / size[b]
                rise = -costs[b]
                for j in range(d):
                    if lub[b, j] < 0 and _has(columns, s, b, j, states[t, j]):
                        rise += cost_of(columns, cost, table, j, lub[b, j])
                    else:
                        rise += pair_cost(columns, cost, table, j, lub[b, j], states[t, j])
                    if rise >= bound:
                        break
                if rise < bound:
                    best, lowest = b, rise * size[b]
            b = best
            if b >= 0:
                name[found] = b
                found += 1
                count += size[b]
                old += size[b] * costs[b]
        if found == 1:
            continue
        m = 0
        for f in range(found):
            i = first[name[f]]
            while i >= 0:
                pool_record[m] = i
                u = distinct[i]
                for j in range(d):
                    pool_states[j, m] = states[u, j]
                m += 1
                i = after[i]
        bar = old - heat * np.log(1.0 - draw(random))
        loose = bar + SLACK * old
        most = found + s.free_count[part]
        aim = k
        if held_rules is not None and draw(random) < AIMED:
            aim = max(k, count // found)
        formed, now = form(columns, cost, table, pool, count, aim, most, loose, random, rules)
        if now > loose:
            continue
        now += polish(columns, cost, table, pool, formed, k, rules)
        if now > bar:
            continue
        kept += 1
        change += now - old
        _write(columns, s, pool, name, found, formed, part)
    return change, kept


@njit(cache=True, nogil=True)
def _has(columns: int, s: Groups, g: int, j: int, state: int) -> bool:
    """Whether a set of many values, which a group keeps no list of, holds one of its records."""
    if number_at(columns, 8 * j + KIND) != MANY:
        return False
    i = s.first[g]
    while i >= 0:
        if s.states[s.distinct[i], j] == state:
            return True
        i = s.after[i]
    return False


@njit(cache=True, nogil=True, inline="always")
def _write(
    columns: int, s: Groups, pool: Pool, name: Ints, found: int, formed: int, part: int
) -> None:
    """The pool's new groups take the place of the old ones."""
    for f in range(formed):
        if f < found:
            g = name[f]
        else:
            s.free_count[part] -= 1
            g = s.free[s.free_at[part] + s.free_count[part]]
        s.size[g] = pool.size[f]
        s.cost[g] = pool.cost[f]
        for j in range(s.states.shape[1]):
            many = number_at(columns, 8 * j + KIND) == MANY
            s.lub[g, j] = unlisted(pool.lub[f, j]) if many else pool.lub[f, j]
        follower = -1
        for m in range(pool.size[f]):
            i = pool.record[pool.member[f, m]]
            s.label[i] = g
            s.after[i] = follower
            follower = i
        s.first[g] = follower
    for f in range(formed, found):
        g = name[f]
        s.size[g], s.cost[g], s.first[g] = 0, 0.0, -1
        s.free[s.free_at[part] + s.free_count[part]] = g
        s.free_count[part] += 1
