"""From groups that a construction has closed to a partition that the local search can start from.

Large groups are split, for a group is never cheaper than its parts; records that stayed open join
the group that they burden least.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Ints
from ..joins.lub import Joins, States, cell_cost, join, star_cost
from ._rules import Rules, group_keeps

MOST_COMPARED = 4096
"""Groups that a record without one is compared with, at most."""


@njit(cache=True, nogil=True)
def _lubs(joins: Joins, states: States, labels: Ints, lub: States, size: Ints) -> None:
    for i in range(labels.size):
        g = labels[i]
        if g < 0:
            continue
        for j in range(states.shape[1]):
            lub[g, j] = states[i, j] if size[g] == 0 else join(joins, j, lub[g, j], states[i, j])
        size[g] += 1


@njit(cache=True, nogil=True)
def total_cost(joins: Joins, states: States, labels: Ints) -> float:
    """What the records cost at the least upper bounds of their groups; -1 is suppressed whole."""
    groups = 0
    for i in range(labels.size):
        groups = max(groups, labels[i] + 1)
    lub = np.zeros((groups, states.shape[1]), np.int64)
    size = np.zeros(groups, np.int64)
    _lubs(joins, states, labels, lub, size)
    total = 0.0
    for g in range(groups):
        for j in range(states.shape[1]):
            total += size[g] * cell_cost(joins, j, lub[g, j])
    hidden = labels.size - np.sum(size)
    return total + hidden * star_cost(joins)


@njit(cache=True, nogil=True)
def settle_open(joins: Joins, states: States, labels: Ints, groups: int, random: Ints) -> None:
    """Records without a group join the one that they burden least, in place.

    `random` (m,) are groups to compare with where there are too many to try all.
    """
    d = states.shape[1]
    lub = np.zeros((groups, d), np.int64)
    size = np.zeros(groups, np.int64)
    _lubs(joins, states, labels, lub, size)
    cost = np.zeros(groups)
    for g in range(groups):
        for j in range(d):
            cost[g] += cell_cost(joins, j, lub[g, j])
    for i in range(labels.size):
        if labels[i] >= 0:
            continue
        best, lowest = 0, np.inf
        for r in range(random.size):
            g = random[r]
            one = 0.0
            for j in range(d):
                one += cell_cost(joins, j, join(joins, j, lub[g, j], states[i, j]))
            rise = (size[g] + 1) * one - size[g] * cost[g]
            if rise < lowest:
                best, lowest = g, rise
        labels[i] = best
        size[best] += 1
        cost[best] = 0.0
        for j in range(d):
            lub[best, j] = join(joins, j, lub[best, j], states[i, j])
            cost[best] += cell_cost(joins, j, lub[best, j])


@njit(cache=True, nogil=True)
def split_large(order: Ints, labels: Ints, starts: Ints, k: int, rules: Rules) -> Ints:
    """Groups of 2k or more in parts of k and a little more, each keeping the rules.

    `order` has the records group by group, group g from starts[g] on, neighbours side by side.
    Under rules they are sorted by confidential value first and dealt out: all parts look alike.
    """
    found = np.empty(labels.size, np.int64)
    rows = np.empty(labels.size if rules.kind.size > 0 else 1, np.int64)
    count = np.zeros(rules.share.size + 1, np.int64)
    named = 0
    for g in range(starts.size - 1):
        begin, end = starts[g], starts[g + 1]
        size = end - begin
        parts = max(size // k, 1)
        if rules.kind.size == 0:
            for m in range(size):
                found[order[begin + m]] = named + m * parts // size
            named += parts
            continue
        while parts > 1:
            sound = True
            for p in range(parts):
                taken = 0
                for m in range(p, size, parts):
                    rows[taken] = order[begin + m]
                    taken += 1
                if not group_keeps(rules, rows, taken, count):
                    sound = False
                    break
            if sound:
                break
            parts = parts * 3 // 4
        for m in range(size):
            found[order[begin + m]] = named + m % parts
        named += parts
    return found


def partition_from(
    joins: Joins, states: States, labels: Ints, k: int, rules: Rules, place: Ints, seed: int
) -> Ints:
    """Labels 0, 1, ... of groups of k or more from those of a construction; -1 is open.

    `place` sorts records so that neighbours are side by side.
    """
    labels = labels.copy()
    groups = int(labels.max()) + 1
    if groups == 0:
        return np.zeros(labels.size, dtype=np.int64)
    if (labels < 0).any():
        rng = np.random.default_rng(seed)
        few = rng.permutation(groups)[:MOST_COMPARED]
        settle_open(joins, states, labels, groups, few)
    keys = [place, *rules.codes.T[::-1], labels]
    order = np.lexsort(keys)
    starts = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=groups))))
    return split_large(order, labels, starts.astype(np.int64), k, rules)
