"""Small sets of records cut and formed anew: the larger steps of searches over partitions."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Ints
from ..joins.lub import States
from ..joins.prices import ANY, Prices, join_into, joined, units
from ..random import draw, pick
from .moves import Groups, refresh

SWEEPS = 6
"""Times that the farthest record is looked for; Xu et al. found that more change little."""
RESIZED = 0.3
"""Chance that a pool is formed anew into another number of groups than there is room for."""


@njit(cache=True, nogil=True)
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
    second[v] = True
    bound = np.empty((2, states.shape[1]), np.int64)
    bound[0], bound[1] = states[rows[u]], states[rows[v]]
    ones, twos = 1, 1
    one_cost, two_cost = units(p, bound, 0), units(p, bound, 1)
    for q in range(rows.size):
        if q in (u, v):
            continue
        if ones >= room:
            to_two = True
        elif twos >= room:
            to_two = False
        else:
            to_one = (ones + 1) * joined(p, bound, 0, states, rows[q], ANY) - ones * one_cost
            raised = (twos + 1) * joined(p, bound, 1, states, rows[q], ANY) - twos * two_cost
            to_two = raised < to_one or (raised == to_one and twos < ones)
        if to_two:
            second[q] = True
            twos += 1
            join_into(p, bound, 1, states, rows[q])
            two_cost = units(p, bound, 1)
        else:
            ones += 1
            join_into(p, bound, 0, states, rows[q])
            one_cost = units(p, bound, 0)
    return second


@njit(cache=True, nogil=True)
def cut_large(p: Prices, states: States, labels: Ints, groups: int, k: int) -> tuple[Ints, int]:
    """Labels in which every group of 2k or more has been cut in two until none is left, and how
    many groups there are: cutting never costs."""
    labels = labels.copy()
    order = np.argsort(labels, kind="mergesort")
    starts = np.searchsorted(labels[order], np.arange(groups + 1))
    count = groups
    for g in range(groups):
        stack = [order[starts[g] : starts[g + 1]].copy()]
        is_first = True
        while len(stack) > 0:
            rows = stack.pop()
            if rows.size < 2 * k:
                name = g
                if not is_first:
                    name = count
                    count += 1
                is_first = False
                for q in range(rows.size):
                    labels[rows[q]] = name
                continue
            second = cut_in_two(p, states, rows, rows.size - k, SWEEPS)
            stack.append(rows[second])
            stack.append(rows[~second])
    return labels, count


@njit(cache=True, nogil=True)
def reform(s: Groups, pool: Ints, part: Ints, random: NDArray[np.uint64]) -> tuple[int, int]:
    """Form the records of a pool anew: how many groups, and what they cost; `part` numbers them.

    Each group grows from a random record by the one that costs least, to k; who is left goes where
    it costs least.
    """
    k, total, d = s.k, pool.size, s.states.shape[1]
    most, least = total // k, (total + 2 * k - 2) // (2 * k - 1)
    wanted = most
    if most > least and draw(random) < RESIZED:
        wanted = least + pick(random, most - least + 1)
    bound = np.empty((wanted, d), np.int64)
    size, cost = np.zeros(wanted, np.int64), np.zeros(wanted, np.int64)
    left = np.arange(total)
    many = total
    for g in range(wanted):
        at = pick(random, many)
        for m in range(k):
            if m > 0:
                at, cheapest = 0, ANY
                for q in range(many):
                    price = joined(s.prices, bound, g, s.states, pool[left[q]], cheapest)
                    if price < cheapest:
                        at, cheapest = q, price
            p = left[at]
            many -= 1
            left[at] = left[many]
            part[p] = g
            if m == 0:
                bound[g] = s.states[pool[p]]
            else:
                join_into(s.prices, bound, g, s.states, pool[p])
        size[g] = k
        cost[g] = units(s.prices, bound, g)
    while many > 0:
        many -= 1
        p = left[many]
        best, lowest = -1, ANY
        for g in range(wanted):
            if size[g] < 2 * k - 1:
                price = joined(s.prices, bound, g, s.states, pool[p], ANY)
                raised = (size[g] + 1) * price - size[g] * cost[g]
                if raised < lowest:
                    best, lowest = g, raised
        part[p] = best
        size[best] += 1
        join_into(s.prices, bound, best, s.states, pool[p])
        cost[best] = units(s.prices, bound, best)
    return wanted, int(np.sum(size * cost))


@njit(cache=True, nogil=True)
def regroup(s: Groups, names: Ints, groups: int, pool: Ints, part: Ints, wanted: int) -> None:
    """Make the groups `names[:groups]` those that `part` numbers; `names` gets the new ones too,
    and those that are left over become free."""
    for f in range(groups, wanted):
        s.counts[0] -= 1
        names[f] = s.free[s.counts[0]]
    for f in range(max(groups, wanted)):
        s.size[names[f]] = 0
    for p in range(pool.size):
        g = names[part[p]]
        s.member[g, s.size[g]] = pool[p]
        s.size[g] += 1
    for f in range(wanted):
        refresh(s, names[f])
    for f in range(wanted, groups):
        s.cost[names[f]] = 0
        s.free[s.counts[0]] = names[f]
        s.counts[0] += 1
