"""Groups of records that are published alike, on the way to local suppression to k.

A group is a set of suppressed columns (its mask, one bit per column) and the values that its
members share on the others. Records that have no group yet are in limbo. Every change keeps the
promise that a group has no member or at least k of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels._suppression_subsets import Floats
from sfumato.kernels.matches import Ints, Mask, Packed, Words, label


class State(NamedTuple):
    """Everything that the moves read and change; records and groups by number."""

    words: Words
    fields: Words
    costs: Floats
    weight: Floats
    missing: Ints
    """mask of the missing cells of each record"""
    must: Ints
    """mask of the columns that any group of the record must have suppressed"""
    group: Ints
    """group of each record; -1 in limbo"""
    active: Ints
    """the records that are not at rest in their own class, in the order in which they left it"""
    is_active: Mask
    size: Ints
    mask: Ints
    sample: Words
    """the words of one record of each group (a copy: groups are scanned often)"""
    reserve: Ints
    """rows of the classes that need no suppression, class by class, those that cost least first"""
    next_reserve: Ints
    """for each group, where in `reserve` its next recruit stands"""
    end_reserve: Ints
    free: Ints
    """numbers of groups that may be used again (a stack)"""
    used: Ints
    """length of `active`, highest group number used, length of `free`"""


def start(
    packed: Packed, missing: Ints, must: Ints, k: int, costs: Floats, weight: Floats
) -> State:
    """Classes of k records and more stay as they are; all other records are in limbo."""
    n = len(packed.words)
    everything = packed.keep(np.zeros(len(packed.fields), dtype=bool))
    labels, count = label(packed.words, np.arange(n), everything)
    sizes = np.bincount(labels, minlength=count)
    kept = sizes >= k
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    group = number[labels]
    rest = np.flatnonzero(group >= 0)
    reserve = rest[np.lexsort((rest, weight[rest], group[rest]))]
    groups, room = int(kept.sum()), n // k + 1
    size, mask, begin, end, free = (np.zeros(room, np.int64) for _ in range(5))
    sample = np.zeros((room, packed.words.shape[1]), np.uint64)
    size[:groups] = sizes[kept]
    end[:groups] = np.cumsum(size[:groups])
    begin[:groups] = end[:groups] - size[:groups]
    member = reserve[begin[:groups]]
    mask[:groups] = must[member]
    sample[:groups] = packed.words[member]
    is_active = group < 0
    active = np.zeros(n, np.int64)
    needy = np.flatnonzero(is_active)
    active[: needy.size] = needy
    used = np.array([needy.size, groups, 0], np.int64)
    return State(
        words=packed.words,
        fields=packed.fields,
        costs=costs,
        weight=weight,
        missing=missing,
        must=must,
        group=group,
        active=active,
        is_active=is_active,
        size=size,
        mask=mask,
        sample=sample,
        reserve=reserve,
        next_reserve=begin,
        end_reserve=end,
        free=free,
        used=used,
    )


@njit(cache=True, nogil=True, inline="always")
def mask_cost(costs: Floats, mask: int) -> float:
    """Cost of one record's cells in these columns."""
    total = 0.0
    for j in range(costs.size):
        if (mask >> j) & 1:
            total += costs[j]
    return total


@njit(cache=True, nogil=True)
def new_group(state: State, mask: int, member: int) -> int:
    """The number of a new group with no members but the values of one."""
    if state.used[2] > 0:
        state.used[2] -= 1
        group = int(state.free[state.used[2]])
    else:
        group = int(state.used[1])
        state.used[1] += 1
    state.size[group] = 0
    state.mask[group] = mask
    for w in range(state.words.shape[1]):
        state.sample[group, w] = state.words[member, w]
    state.next_reserve[group] = state.end_reserve[group] = 0
    return group


@njit(cache=True, nogil=True)
def enter(state: State, record: int, group: int) -> None:
    """The record joins the group; the group it left has been told already."""
    state.group[record] = group
    state.size[group] += 1
    if not state.is_active[record]:
        state.is_active[record] = True
        state.active[state.used[0]] = record
        state.used[0] += 1


@njit(cache=True, nogil=True)
def total_cost(state: State) -> float:
    """What all suppressed cells cost."""
    total = 0.0
    for i in state.active[: state.used[0]]:
        gone = state.mask[state.group[i]] & ~state.missing[i]
        total += mask_cost(state.costs, gone) * state.weight[i]
    return total


@njit(cache=True, nogil=True)
def hopeful(state: State) -> Ints:
    """Those who pay more than one cell of the cheapest column, or could pay nothing.

    Nobody else gains by a move to a mask that suppresses something in the record.
    """
    costs, missing, group_of, group_mask = state.costs, state.missing, state.group, state.mask
    least = costs.min() * (1 + 1e-9)
    rows = np.empty(state.used[0], np.int64)
    found = 0
    for i in state.active[: state.used[0]]:
        paid = mask_cost(costs, group_mask[group_of[i]] & ~missing[i])
        if paid > least or (missing[i] != 0 and paid > 0):
            rows[found] = i
            found += 1
    return rows[:found]


@njit(cache=True, nogil=True)
def settle(state: State, record: int, k: int) -> None:
    """Give a record in limbo to the group where that costs least, even if more must go there.

    The group loses the columns in which the record differs: the whole group, or if it can spare
    them only k - 1 members, which then form a new group with the record.
    """
    total = np.zeros(state.used[1], np.float64)
    for i in range(state.group.size):
        if state.group[i] >= 0:
            total[state.group[i]] += state.weight[i]
    best, best_mask, best_cost, best_split = -1, 0, np.inf, False
    for group in range(state.used[1]):
        if state.size[group] <= 0:
            continue
        mask = state.mask[group] | state.must[record]
        for j in range(state.costs.size):
            if (mask >> j) & 1 == 0:
                for w in range(state.fields.shape[1]):
                    apart = state.words[record, w] ^ state.sample[group, w]
                    if apart & state.fields[j, w]:
                        mask |= 1 << j
        own = mask_cost(state.costs, mask & ~state.missing[record]) * state.weight[record]
        added = mask_cost(state.costs, mask & ~state.mask[group])
        split = mask != state.mask[group] and state.size[group] >= 2 * k - 1
        share = (k - 1) / state.size[group] if split else 1.0
        if own + added * total[group] * share < best_cost:
            best, best_mask, best_split = group, mask, split
            best_cost = own + added * total[group] * share
    if best_mask == state.mask[best]:
        enter(state, record, best)
        return
    members = np.flatnonzero(state.group == best)
    members = members[np.argsort(state.weight[members], kind="mergesort")]
    # Recruits are no longer taken in order from what is left of this class.
    state.next_reserve[best] = state.end_reserve[best]
    if best_split:
        target = new_group(state, best_mask, record)
        state.size[best] -= k - 1
        for t in range(k - 1):
            enter(state, int(members[t]), target)
    else:
        target = best
        state.mask[best] = best_mask
        state.size[best] = 0
        for t in range(members.size):
            enter(state, int(members[t]), target)
    enter(state, record, target)
