"""Groups of records that are published alike, on the way to local suppression to k.

A group is a set of suppressed columns (its mask, one bit per column) and the values that its
members share on the others. Records that have no group yet are in limbo. Every change keeps the
promise that a group has no member or at least k of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.suppression._subsets import Floats
from sfumato.kernels.suppression.matches import Ints, Mask, Packed, Words, label


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
def _spared(
    words: Words, must: Ints, group: Ints, size: Ints, record: int, mask: int, keep: Words, k: int
) -> Ints:
    """The others who can be spared where they are and agree with the record under this mask."""
    rows = np.empty(group.size, np.int64)
    found = 0
    for i in range(group.size):
        apart = np.uint64(0)
        for w in range(keep.size):
            apart |= (words[i, w] ^ words[record, w]) & keep[w]
        if apart == 0 and must[i] & ~mask == 0 and i != record:
            if group[i] >= 0 and size[group[i]] <= k:
                continue
            rows[found] = i
            found += 1
    return rows[:found]


@njit(cache=True, nogil=True)
def _gather(
    state: State, record: int, mask: int, keep: Words, k: int, least: float
) -> tuple[float, Ints]:
    """The cheapest k - 1 others who can be spared and agree with the record under this mask.

    What they and the record would add, and who they are; nobody if that is not less than `least`.
    Others in limbo count as free: they have to go somewhere.
    """
    chosen = np.empty(k - 1, np.int64)
    total = mask_cost(state.costs, mask & ~state.missing[record]) * state.weight[record]
    if total >= least:
        return np.inf, chosen[:0]
    rows = _spared(state.words, state.must, state.group, state.size, record, mask, keep, k)
    added = np.zeros(rows.size, np.float64)
    for t in range(rows.size):
        group, gone = state.group[rows[t]], state.missing[rows[t]]
        if group >= 0:
            now = mask_cost(state.costs, state.mask[group] & ~gone)
            added[t] = (mask_cost(state.costs, mask & ~gone) - now) * state.weight[rows[t]]
    got = 0
    for t in np.argsort(added, kind="mergesort"):
        group = state.group[rows[t]]
        if got < k - 1 and (group < 0 or state.size[group] > k):
            if group >= 0:
                state.size[group] -= 1
            chosen[got] = rows[t]
            got += 1
            total += added[t]
    for t in range(got):
        if state.group[chosen[t]] >= 0:
            state.size[state.group[chosen[t]]] += 1
    if got < k - 1 or total >= least:
        return np.inf, chosen[:0]
    return total, chosen


@njit(cache=True, nogil=True)
def _merge(state: State, record: int) -> tuple[float, int, int]:
    """The group that the record could join at least cost if the group lost what they differ in.

    What that would add, the group, and its mask then.
    """
    weight = np.zeros(state.used[1], np.float64)
    for i in range(state.group.size):
        if state.group[i] >= 0:
            weight[state.group[i]] += state.weight[i]
    best, best_mask, least = -1, 0, np.inf
    for group in range(state.used[1]):
        if state.size[group] <= 0:
            continue
        mask = state.mask[group] | state.must[record]
        for j in range(state.costs.size):
            for w in range(state.fields.shape[1]):
                apart = state.words[record, w] ^ state.sample[group, w]
                if apart & state.fields[j, w]:
                    mask |= 1 << j
        added = mask_cost(state.costs, mask & ~state.mask[group]) * weight[group]
        added += mask_cost(state.costs, mask & ~state.missing[record]) * state.weight[record]
        if added < least:
            best, best_mask, least = group, mask, added
    return least, best, best_mask


@njit(cache=True, nogil=True)
def settle(state: State, record: int, masks: Ints, keeps: Words, k: int) -> None:
    """Find room for a record in limbo at least cost: a group of its own, or one that it spoils."""
    if state.group[record] >= 0:
        return
    least, target, mask = _merge(state, record)
    chosen = np.empty(0, np.int64)
    for m in range(masks.size):
        added, who = _gather(state, record, masks[m], keeps[m], k, least)
        if added < least:
            least, chosen, mask, target = added, who, masks[m], -1
    if target >= 0:
        # Everyone in the group pays now: nobody is at rest there.
        chosen = np.flatnonzero(state.group == target)
        if mask == state.mask[target]:
            chosen = chosen[:0]
        state.mask[target] = mask
    else:
        target = new_group(state, mask, record)
    for t in range(chosen.size):
        group = state.group[chosen[t]]
        if group >= 0:
            # Recruits can no longer be taken in order from what is left of this class.
            state.next_reserve[group] = state.end_reserve[group]
            state.size[group] -= 1
        enter(state, int(chosen[t]), target)
    enter(state, record, target)
