"""Small sets of records cut and formed anew: the larger steps of searches over partitions."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Ints
from ..joins.lub import States
from ..joins.prices import ANY, NOBODY, Prices, join_into, joined, units
from ..random import Random, draw, pick
from .moves import Groups, refresh

SWEEPS = 6
"""Times that the farthest record is looked for; Xu et al. found that more change little."""
RESIZED = 0.3
"""Chance that a pool is formed anew into another number of groups than there is room for."""


@njit(cache=True, nogil=True, inline="always")
def farthest_pair(p: Prices, states: States, rows: Ints, sweeps: int) -> tuple[int, int]:
    """Places in `rows` of two records whose bound costs much: from the first record to the farthest
    of all, from there to the farthest again, and so on; the first of equals."""
    u, v, widest = 0, 0, -1
    for _ in range(sweeps):
        best, most = u, -1
        for q in range(rows.size):
            cost = joined(p, states, rows[u], states, rows[q], ANY)
            if q != u and cost > most:
                best, most = q, cost
        if most <= widest:
            break
        u, v, widest = best, u, most
    return u, v


@njit(cache=True, nogil=True)
def cut_in_two(p: Prices, states: States, rows: Ints, room: int, sweeps: int) -> NDArray[np.bool_]:
    """Which of `rows` belong to the second of two parts around a far-apart pair.

    Every other record, in order, goes to the part whose cost it raises less (of equals the smaller,
    or else the first), unless that has `room` records already.
    """
    u, v = farthest_pair(p, states, rows, sweeps)
    second = np.zeros(rows.size, np.bool_)
    bound = np.empty((2, states.shape[1]), np.int64)
    size, cost, raised = np.ones(2, np.int64), np.empty(2, np.int64), np.empty(2, np.int64)
    for part in range(2):
        for j in range(states.shape[1]):
            bound[part, j] = states[rows[v if part else u], j]
        cost[part] = units(p, bound, part)
    second[v] = True
    for q in range(rows.size):
        if q in (u, v):
            continue
        if max(size[0], size[1]) >= room:
            to = 1 if size[0] >= room else 0
        else:
            for part in range(2):
                price = joined(p, bound, part, states, rows[q], ANY)
                raised[part] = (size[part] + 1) * price - size[part] * cost[part]
            even = raised[1] == raised[0]
            to = 1 if raised[1] < raised[0] or (even and size[1] < size[0]) else 0
        second[q] = to == 1
        size[to] += 1
        join_into(p, bound, to, states, rows[q])
        cost[to] = units(p, bound, to)
    return second


def cut_large(prices: Prices, states: States, labels: Ints, k: int) -> Ints:
    """Labels in which every group 0..g-1 of 2k or more has been cut in two until none is left:
    cutting never costs."""
    labels = labels.astype(np.int64)
    sizes = np.bincount(labels)
    order, starts = np.argsort(labels, kind="stable"), np.cumsum(sizes) - sizes
    count = sizes.size
    for g in np.flatnonzero(sizes >= 2 * k).tolist():
        stack, parts = [order[starts[g] :][: sizes[g]]], []
        while stack:
            rows = stack.pop()
            if rows.size < 2 * k:
                parts.append(rows)
                continue
            second = cut_in_two(prices, states, rows, rows.size - k, SWEEPS)
            stack += [rows[second], rows[~second]]
        for rows in parts[1:]:
            labels[rows] = count
            count += 1
    return labels


@njit(cache=True, nogil=True)
def reform(s: Groups, pool: Ints, total: int, part: Ints, random: Random) -> tuple[int, int]:
    """Form pool[:total] anew: how many groups, and what they cost; `part` numbers them.

    Each group grows from a random record by the one that costs least, to k; who is left goes where
    it costs least.
    """
    k, p, x = s.k, s.prices, s.states
    most, least = total // k, (total + 2 * k - 2) // (2 * k - 1)
    wanted = most
    if most > least and draw(random) < RESIZED:
        wanted = least + pick(random, most - least + 1)
    # Bounds of new groups have their place behind those of the others.
    bound, new = s.bound, s.size.size
    size, cost, left = s.scratch[0], s.scratch[1], s.scratch[2]
    for q in range(total):
        left[q] = q
    many, spent = total, 0
    for g in range(wanted):
        at = pick(random, many)
        for m in range(k):
            if m > 0:
                at, cheapest = 0, ANY
                for q in range(many):
                    price = joined(p, bound, new + g, x, pool[left[q]], cheapest)
                    if price < cheapest:
                        at, cheapest = q, price
            chosen = left[at]
            many -= 1
            left[at] = left[many]
            part[chosen] = g
            if m == 0:
                for j in range(x.shape[1]):
                    bound[new + g, j] = x[pool[chosen], j]
            else:
                join_into(p, bound, new + g, x, pool[chosen])
        size[g] = k
        cost[g] = units(p, bound, new + g)
    while many > 0:
        many -= 1
        chosen = left[many]
        best, lowest = NOBODY, ANY
        for g in range(wanted):
            if size[g] < 2 * k - 1:
                price = joined(p, bound, new + g, x, pool[chosen], ANY)
                raised = (size[g] + 1) * price - size[g] * cost[g]
                if raised < lowest:
                    best, lowest = g, raised
        part[chosen] = best
        size[best] += 1
        join_into(p, bound, new + best, x, pool[chosen])
        cost[best] = units(p, bound, new + best)
    for g in range(wanted):
        spent += size[g] * cost[g]
    return wanted, spent


@njit(cache=True, nogil=True)
def regroup(
    s: Groups, names: Ints, groups: int, pool: Ints, total: int, part: Ints, wanted: int
) -> None:
    """Make the groups `names[:groups]` those that `part` numbers, of pool[:total]; `names` gets the
    new ones too, and those that are left over become free."""
    size, free, counts = s.size, s.free, s.counts
    for f in range(groups, wanted):
        counts[0] -= 1
        names[f] = free[counts[0]]
    for f in range(max(groups, wanted)):
        size[names[f]] = 0
    for p in range(total):
        g = names[part[p]]
        s.member[g, size[g]] = pool[p]
        size[g] += 1
    refresh(s, names, wanted)
    for f in range(wanted, groups):
        s.cost[names[f]] = 0
        free[counts[0]] = names[f]
        counts[0] += 1
