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
from numpy.typing import NDArray

from ..arrays import Ints
from ..joins.prices import ANY
from ..random import draw, pick
from .moves import Groups, move, move_change, swap, swap_change
from .near import Near
from .regroup import reform, regroup

POOL = 3
"""Groups of a pool at most; two at least."""
RIVALS = 6
"""Groups of which a step takes the dearest, at most."""
REFORMED = 0.5
"""Chance that a step forms groups anew."""


class Walk(NamedTuple):
    """A partition on its way: where to look, and scratch."""

    groups: Groups
    near: Near
    random: NDArray[np.uint64]
    names: Ints
    pool: Ints
    part: Ints


def walk(groups: Groups, near: Near, seed: int) -> Walk:
    """A walk that starts from these groups."""
    room = 2 * groups.k * POOL
    return Walk(
        groups,
        near,
        np.array([seed], np.uint64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
    )


@njit(cache=True, nogil=True)
def nearby(w: Walk, i: int) -> int:
    """The group of a random record near record i, which may be its own.

    Of a few, drawn at random, it is the one whose group costs most: cheap groups have nothing to
    gain from others.
    """
    best = -1
    for _ in range(1 + pick(w.random, RIVALS)):
        p = w.near.of[i]
        # One more than there are: its own equals, who may be in other groups.
        t = pick(w.random, 1 + pick(w.random, w.near.lists.shape[1] + 1))
        if t > 0 and w.near.lists[p, t - 1] >= 0:
            p = w.near.lists[p, t - 1]
        low, high = w.near.at[p], w.near.at[p + 1]
        g = w.groups.label[w.near.rows[low + pick(w.random, high - low)]]
        if g != w.groups.label[i] and (best < 0 or w.groups.cost[g] > w.groups.cost[best]):
            best = g
    return int(w.groups.label[i] if best < 0 else best)


@njit(cache=True, nogil=True)
def gather(w: Walk, a: int, b: int) -> tuple[int, int, int]:
    """Pool two groups and up to POOL - 2 near them: groups, records, and what they cost."""
    s = w.groups
    w.names[0], w.names[1] = a, b
    count, wanted = 2, 2 + pick(w.random, POOL - 1)
    for _ in range(2 * (wanted - 2)):
        if count == wanted:
            break
        g = w.names[pick(w.random, count)]
        h = nearby(w, s.member[g, pick(w.random, s.size[g])])
        is_new = True
        for f in range(count):
            is_new = is_new and w.names[f] != h
        if is_new:
            w.names[count] = h
            count += 1
    total, cost = 0, 0
    for f in range(count):
        g = w.names[f]
        cost += s.cost[g]
        for m in range(s.size[g]):
            w.pool[total] = s.member[g, m]
            total += 1
    return count, total, cost


@njit(cache=True, nogil=True)
def step(w: Walk, reformed: float, limit: float) -> int:
    """Take a step that raises the cost by less than `limit`, if the one drawn does; the change."""
    s = w.groups
    i = pick(w.random, s.label.size)
    rival = pick(w.random, s.label.size)
    if s.cost[s.label[rival]] > s.cost[s.label[i]]:
        i = rival
    a, b = s.label[i], nearby(w, i)
    if a == b:
        return 0
    if draw(w.random) < reformed:
        count, total, before = gather(w, a, b)
        wanted, after = reform(s, w.pool[:total], w.part, w.random)
        change = after - before
        if change < limit:
            regroup(s, w.names, count, w.pool[:total], w.part, wanted)
            return int(change)
        return 0
    if s.size[a] > s.k and s.size[b] < 2 * s.k - 1:
        change = move_change(s, i, b)
        if change < limit:
            move(s, i, b)
            return int(change)
    best, least = -1, ANY
    for m in range(s.size[b]):
        change = swap_change(s, i, s.member[b, m], least)
        if change < least:
            best, least = s.member[b, m], change
    if least < limit:
        swap(s, i, best)
        return int(least)
    return 0


@njit(cache=True, nogil=True)
def anneal(w: Walk, steps: int, heat: float, reformed: float = REFORMED) -> int:
    """Take `steps` steps at one heat, in units of cost; the change of the cost."""
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
