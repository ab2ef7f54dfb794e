"""Tabu search over partitions into groups of at least k, window by window.

(Glover 1989.) The best of all moves in a large table would be made in a different place each time,
and nowhere would the search climb out of a valley. So it works on a window of a few neighbouring
groups at a time: two or three of them are formed anew, whatever that costs, and then the best move
or swap within the window is made again and again, even a bad one, except that a record that has
just moved may not move for some turns, unless that gives the best window so far. After some turns
in vain the window is left as it was at its best: the cost never rises from window to window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Ints
from ..joins.prices import ANY, ZERO
from .annealing import Walk, dear_pair, gather, widen
from .moves import Groups, move, move_change, swap_change
from .regroup import reform, regroup

WINDOW = 5
"""Groups of a window at most."""
IN_VAIN = 6
"""Turns without a best window after which the next one is looked at."""


class Memory(NamedTuple):
    """What the search remembers: until which turn each record must stay, and the best window."""

    until: Ints
    turn: Ints  # (1,)
    pool: Ints
    part: Ints
    names: Ints


def memory(groups: Groups) -> Memory:
    """Of a search that has not begun."""
    room = 2 * groups.k * (WINDOW + 1)
    return Memory(*(np.zeros(size, np.int64) for size in (groups.label.size, 1, room, room, room)))


@njit(cache=True, nogil=True, inline="always")
def _note(s: Groups, names: Ints, count: int, pool: Ints, part: Ints) -> int:
    """Write down who is where in the window; how many records it has."""
    total = ZERO
    for f in range(count):
        for m in range(s.size[names[f]]):
            pool[total] = s.member[names[f], m]
            part[total] = f
            total += 1
    return total


@njit(cache=True, nogil=True, inline="always")
def best_step(
    s: Groups, names: Ints, count: int, until: Ints, turn: int, allowed: int
) -> tuple[int, int, int, int]:
    """The best move or swap between the groups `names[:count]`: its change, the record, the group
    it goes to, and the record it changes places with, or -1. Records that must stay until after
    `turn` stay, unless the change is below `allowed`. The change is ANY where there is none."""
    least, who, to, other = ANY, -1, -1, -1
    for f in range(count):
        a = names[f]
        for m in range(s.size[a]):
            i = s.member[a, m]
            stays = until[i] > turn
            for h in range(count):
                b = names[h]
                if h == f:
                    continue
                if s.size[a] > s.k and s.size[b] < 2 * s.k - 1:
                    change = move_change(s, i, b)
                    if change < least and (change < allowed or not stays):
                        least, who, to, other = change, i, b, -1
                if h < f:
                    continue
                for q in range(s.size[b]):
                    r = s.member[b, q]
                    limit = least
                    if stays or until[r] > turn:
                        limit = min(least, allowed)
                    change = swap_change(s, i, r, limit)
                    if change < limit:
                        least, who, to, other = change, i, b, r
    return least, who, to, other


@njit(cache=True, nogil=True, inline="always")
def window(w: Walk, mind: Memory, tenure: int) -> tuple[int, int]:
    """Search in one window; how many turns that took, and how much lower the cost is."""
    s = w.groups
    i, b = dear_pair(w)
    a = s.label[i]
    if a == b:
        return 1, 0
    # A few are formed anew; then the window grows around them.
    count, total, before = gather(w, a, b)
    for f in range(count):
        mind.names[f] = w.names[f]
    best_count = widen(w, mind.names, count, WINDOW + ZERO, 2 * WINDOW + ZERO)
    best_total = _note(s, mind.names, best_count, mind.pool, mind.part)
    wanted, after = reform(s, w.pool, total, w.part, w.random)
    around = best_count - count
    regroup(s, w.names, count, w.pool, total, w.part, wanted)
    for f in range(around):
        w.names[wanted + f] = mind.names[count + f]
    now, best = after - before, 0
    count = wanted + around
    vain, turns = 0, 0
    improved = now < best
    while True:
        if improved:
            best, vain, improved = now, 0, False
            best_count = count
            best_total = _note(s, w.names, count, mind.pool, mind.part)
        if vain >= IN_VAIN:
            break
        mind.turn[0] += 1
        turns += 1
        change, i, b, r = best_step(s, w.names, count, mind.until, mind.turn[0], best - now)
        if i < 0:
            break
        until = mind.turn[0] + tenure
        mind.until[i] = until
        if r >= 0:
            mind.until[r] = until
        move(s, i, b, r)
        now += change
        vain += 1
        improved = now < best
    if now > best:
        regroup(s, w.names, count, mind.pool, best_total, mind.part, best_count)
    return max(turns, 1), best


@njit(cache=True, nogil=True)
def search(w: Walk, mind: Memory, turns: int, tenure: int) -> int:
    """Search windows until so many turns were taken; how many were."""
    taken = 0
    while taken < turns:
        more, _ = window(w, mind, tenure)
        taken += more
    return taken
