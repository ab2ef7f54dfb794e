"""Simulated annealing over partitions into groups of at least k.

(Kirkpatrick, Gelatt & Vecchi 1983; on k-anonymity, Winkler 2002.) A step picks a record and a group
near it, dear ones rather than cheap ones. Either the record moves there, or it changes places with
that group's member who suits best, or the two groups and perhaps a third nearby are pooled and
formed anew. The change of the cost is exact. It is made when it lowers the cost, and else with
chance exp(-change / heat).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Ints
from ..joins.prices import ANY, NOBODY, ZERO
from ..random import Random, draw, pick
from .moves import POOL, TWO, Groups, move, move_change, swap_change
from .near import Near
from .regroup import reform, regroup

RIVALS = 6
"""Groups of which a step takes the dearest, at most."""
REFORMED = 0.5
"""Chance that a step forms groups anew."""


class Walk(NamedTuple):
    """A partition on its way: where to look, and scratch."""

    groups: Groups
    near: Near
    random: Random
    names: Ints
    pool: Ints
    part: Ints


def walk(groups: Groups, near: Near, seed: int) -> Walk:
    """A walk that starts from these groups."""
    scratch = (np.zeros(2 * groups.k * POOL, np.int64) for _ in range(3))
    return Walk(groups, near, np.array([seed], np.uint64), *scratch)


@njit(cache=True, nogil=True)
def nearby(w: Walk, i: int) -> int:
    """The group of a random record near record i, which may be its own.

    Of a few, drawn at random, it is the one whose group costs most: cheap groups have nothing to
    gain from others.
    """
    random, near, label, cost = w.random, w.near, w.groups.label, w.groups.cost
    best = label[i]
    for _ in range(1 + pick(random, RIVALS)):
        p = near.of[i]
        # One more than there are: its own equals, who may be in other groups.
        t = pick(random, 1 + pick(random, near.lists.shape[1] + 1))
        if t > 0 and near.lists[p, t - 1] >= 0:
            p = near.lists[p, t - 1]
        low, high = near.at[p], near.at[p + 1]
        g = label[near.rows[low + pick(random, high - low)]]
        if g != label[i] and (best == label[i] or cost[g] > cost[best]):
            best = g
    return int(best)


@njit(cache=True, nogil=True, inline="always")
def dear_pair(w: Walk) -> tuple[int, int]:
    """The dearer of two random records, and a group nearby."""
    s = w.groups
    i, rival = pick(w.random, s.label.size), pick(w.random, s.label.size)
    if s.cost[s.label[rival]] > s.cost[s.label[i]]:
        i = rival
    return i, nearby(w, i)


@njit(cache=True, nogil=True)
def widen(w: Walk, names: Ints, count: int, wanted: int, tries: int) -> int:
    """Add groups near those in names[:count] until there are `wanted`; how many there are."""
    s = w.groups
    for _ in range(tries):
        if count == wanted:
            break
        g = names[pick(w.random, count)]
        h = nearby(w, s.member[g, pick(w.random, s.size[g])])
        is_new = True
        for f in range(count):
            is_new = is_new and names[f] != h
        if is_new:
            names[count] = h
            count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def gather(w: Walk, a: int, b: int) -> tuple[int, int, int]:
    """Pool two groups and up to POOL - 2 near them: groups, records, and what they cost."""
    s, names, pool = w.groups, w.names, w.pool
    names[0], names[1] = a, b
    wanted = 2 + pick(w.random, POOL - 1)
    count = widen(w, names, TWO, wanted, 2 * (wanted - 2))
    total, cost = ZERO, 0
    for f in range(count):
        g = names[f]
        cost += s.cost[g]
        for m in range(s.size[g]):
            pool[total] = s.member[g, m]
            total += 1
    return count, total, cost


@njit(cache=True, nogil=True, inline="always")
def step(w: Walk, reformed: float, limit: float) -> int:
    """Take a step that raises the cost by less than `limit`, if the one drawn does; the change."""
    s = w.groups
    i, b = dear_pair(w)
    a, made = s.label[i], 0
    if a == b:
        return made
    if draw(w.random) < reformed:
        count, total, before = gather(w, a, b)
        wanted, after = reform(s, w.pool, total, w.part, w.random)
        if after - before < limit:
            regroup(s, w.names, count, w.pool, total, w.part, wanted)
            made = after - before
        return made
    best, least = NOBODY, ANY
    if s.size[a] > s.k and s.size[b] < 2 * s.k - 1:
        least = move_change(s, i, b)
    if least >= limit:
        least = ANY
        for m in range(s.size[b]):
            change = swap_change(s, i, s.member[b, m], least)
            if change < least:
                best, least = s.member[b, m], change
    if least < limit:
        move(s, i, b, best)
        made = least
    return made


@njit(cache=True, nogil=True)
def anneal(w: Walk, steps: int, heat: float, reformed: float) -> int:
    """Take `steps` steps at one heat, in units of cost, of which about the share `reformed` forms
    groups anew; the change of the cost."""
    change = 0
    for _ in range(steps):
        limit = 0.0
        if heat > 0:
            limit = -heat * np.log(1.0 - draw(w.random))
        change += step(w, reformed, limit)
    return change


def schedule(heat: float, cooling: float, share: float) -> float:
    """The heat when a share of the search is done: `cooling` times less after each hundredth."""
    return float(heat * cooling ** (100.0 * share))
