"""Moves of records between groups: one set of suppressed columns at a time.

For a given mask, records that would pay less under it are sorted into slots by the values that
would be left of them. A slot whose group is published already takes them in; any other becomes a
group if it gathers k records, filled up if need be with records that their own groups can spare,
and if the total cost falls.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.suppression._groups import State, enter, mask_cost, new_group
from sfumato.kernels.suppression._subsets import Floats
from sfumato.kernels.suppression.matches import Ints, Mask, Words, find, find_or_add, new_table


@njit(cache=True, nogil=True)
def _dearer(
    costs: Floats, missing: int, mask: int, cost: float, old_mask: int, old_cost: float
) -> float:
    """What it adds to move a record of weight one from the old mask to this one."""
    if missing:  # missing cells cost nothing
        cost -= mask_cost(costs, mask & missing)
        old_cost -= mask_cost(costs, old_mask & missing)
    return cost - old_cost


@njit(cache=True, nogil=True)
def _by_slot(slot_of: Ints, count: int) -> tuple[Ints, Ints]:
    """Positions sorted by slot, and where each slot begins."""
    start = np.zeros(count + 1, np.int64)
    for t in range(slot_of.size):
        start[slot_of[t] + 1] += 1
    for s in range(count):
        start[s + 1] += start[s]
    fill = start[:count].copy()
    order = np.empty(slot_of.size, np.int64)
    for t in range(slot_of.size):
        order[fill[slot_of[t]]] = t
        fill[slot_of[t]] += 1
    return order, start


@njit(cache=True, nogil=True)
def _gainers(
    state: State, asked: Ints, mask: int, cost: float, group_cost: Floats, gap: float, slack: float
) -> tuple[Ints, Floats]:
    """Who of those asked would rather be under this mask, and what each would add (below zero)."""
    costs, missing, must, weight = state.costs, state.missing, state.must, state.weight
    group_of, group_mask = state.group, state.mask
    rows = np.empty(asked.size, np.int64)
    change = np.empty(asked.size, np.float64)
    found = 0
    for i in asked:
        if must[i] & ~mask != 0:
            continue
        group = group_of[i]
        add = -gap
        if group >= 0:
            add = _dearer(costs, missing[i], mask, cost, group_mask[group], group_cost[group])
        if add * weight[i] < -slack:
            rows[found], change[found] = i, add * weight[i]
            found += 1
    return rows[:found], change[:found]


@njit(cache=True, nogil=True)
def _hits(
    table: Words, words: Words, rows: Ints, must: Ints, mask: int, keep: Words
) -> tuple[Ints, Ints]:
    """Which of these rows may have this mask and are in the table; their slots.

    A loop of its own: with more in it the compiler counts references to arrays at every turn.
    """
    found = np.empty(rows.size, np.int64)
    slots = np.empty(rows.size, np.int64)
    count = 0
    for i in rows:
        if must[i] & ~mask == 0:
            slot = find(table, words, i, keep)
            if slot >= 0:
                found[count], slots[count] = i, slot
                count += 1
    return found[:count], slots[:count]


@njit(cache=True, nogil=True)
def _fillers(
    state: State,
    mask: int,
    cost: float,
    keep: Words,
    k: int,
    group_cost: Floats,
    worth: Floats,
    gains: Mask,
    table: Words,
) -> tuple[Ints, Ints, Floats]:
    """Who could fill up slots: the slot, the record (or -1 - class, for many), what it adds.

    Nobody who adds as much as the slot is worth.
    """
    active = state.active[: state.used[0]]
    rows, row_slots = _hits(table, state.words, active, state.must, mask, keep)
    # A class with a reserve has only those columns suppressed that its records must have.
    classes, class_slots = _hits(
        table, state.sample, np.arange(state.used[1]), state.mask, mask, keep
    )
    slot_of = np.empty(rows.size + classes.size, np.int64)
    who = np.empty(slot_of.size, np.int64)
    change = np.empty(slot_of.size, np.float64)
    found = 0
    for t in range(rows.size + classes.size):
        if t < rows.size:
            name, i, slot = rows[t], rows[t], row_slots[t]
            group = state.group[i]
            if gains[i] or group < 0 or state.size[group] <= k:
                continue
        else:
            group, slot = classes[t - rows.size], class_slots[t - rows.size]
            at = state.next_reserve[group]
            if state.size[group] <= k or at >= state.end_reserve[group]:
                continue
            name, i = -1 - group, state.reserve[at]
        gone, old_mask, old_cost = state.missing[i], state.mask[group], group_cost[group]
        add = _dearer(state.costs, gone, mask, cost, old_mask, old_cost) * state.weight[i]
        if add < worth[slot]:
            slot_of[found], who[found], change[found] = slot, name, add
            found += 1
    return slot_of[:found], who[:found], change[:found]


@njit(cache=True, nogil=True)
def _take_gainers(
    state: State, rows: Ints, change: Floats, mine: Ints, k: int, leaving: Ints, chosen: Ints
) -> tuple[int, float]:
    """Take those of a slot's gainers whose groups can spare them: a group keeps k or none."""
    got, added = 0, 0.0
    for t in mine:
        if state.group[rows[t]] >= 0:
            leaving[state.group[rows[t]]] += 1
    for t in mine:
        group = state.group[rows[t]]
        if group >= 0:
            if state.size[group] <= k and leaving[group] < state.size[group]:
                continue
            leaving[group] -= 1
            state.size[group] -= 1
        chosen[got] = rows[t]
        got += 1
        added += change[t]
    for t in mine:
        if state.group[rows[t]] >= 0:
            leaving[state.group[rows[t]]] = 0
    return got, added


@njit(cache=True, nogil=True)
def _take_fillers(
    state: State,
    who: Ints,
    change: Floats,
    mine: Ints,
    k: int,
    chosen: Ints,
    got: int,
    added: float,
) -> tuple[int, float]:
    """Fill a slot up to k with the cheapest records that their groups can spare."""
    for at in np.argsort(change[mine], kind="mergesort"):
        t = mine[at]
        if got == k:
            break
        if who[t] >= 0:
            group = state.group[who[t]]
            if state.size[group] > k:
                state.size[group] -= 1
                chosen[got] = who[t]
                got += 1
                added += change[t]
            continue
        group = -1 - who[t]
        each = change[t] / state.weight[state.reserve[state.next_reserve[group]]]
        while got < k and state.size[group] > k:
            if state.next_reserve[group] == state.end_reserve[group]:
                break
            state.size[group] -= 1
            chosen[got] = state.reserve[state.next_reserve[group]]
            added += each * state.weight[chosen[got]]
            state.next_reserve[group] += 1
            got += 1
    return got, added


@njit(cache=True, nogil=True)
def _put_back(state: State, chosen: Ints, got: int) -> None:
    """Undo the taking of these records."""
    for t in range(got):
        group = state.group[chosen[t]]
        if group >= 0:
            state.size[group] += 1
            if not state.is_active[chosen[t]]:
                state.next_reserve[group] -= 1


@njit(cache=True, nogil=True)
def _move(state: State, chosen: Ints, got: int, target: int, mask: int) -> None:
    """Put the records that were taken into the group, or into a new one of this mask."""
    for t in range(got):
        group = state.group[chosen[t]]
        if group >= 0 and state.size[group] == 0:
            state.size[group] = -1  # so that it is retired once
            state.free[state.used[2]] = group
            state.used[2] += 1
    if target < 0:
        target = new_group(state, mask, chosen[0])
    for t in range(got):
        enter(state, chosen[t], target)


@njit(cache=True, nogil=True)
def sweep(
    state: State,
    asked: Ints,
    mask: int,
    keep: Words,
    k: int,
    fill_up: bool,
    gap: float,
    slack: float,
) -> float:
    """Make every move of the records asked into groups of this mask that pays; return the change.

    A group that falls short of k is filled up with others if `fill_up`. A record in limbo is taken
    to gain `gap` times its weight: what it would pay more under the next dearer masks. Changes
    within `slack` of zero are rounding, not gains.
    """
    costs, words, sample = state.costs, state.words, state.sample
    group_mask, size = state.mask, state.size
    cost = mask_cost(costs, mask)
    group_cost = np.empty(state.used[1], np.float64)
    for group in range(state.used[1]):
        group_cost[group] = mask_cost(costs, group_mask[group])
    rows, change = _gainers(state, asked, mask, cost, group_cost, gap, slack)
    if rows.size == 0:
        return 0.0
    gains = np.zeros(state.group.size, np.bool_)
    table = new_table(rows.size, keep.size)
    slot_of = np.empty(rows.size, np.int64)
    count = 0
    for t in range(rows.size):
        slot_of[t] = find_or_add(table, words, rows[t], keep, count)
        count = max(count, slot_of[t] + 1)
        gains[rows[t]] = True
    order, start = _by_slot(slot_of, count)
    published = np.full(count, -1, np.int64)
    for group in range(state.used[1]):
        if group_mask[group] == mask and size[group] > 0:
            slot = find(table, sample, group, keep)
            if slot >= 0:
                published[slot] = group
    worth = np.zeros(count, np.float64)
    for t in range(rows.size if fill_up else 0):
        if published[slot_of[t]] < 0:
            worth[slot_of[t]] -= change[t]
    if fill_up:
        fill_slot, filler, fill_change = _fillers(
            state, mask, cost, keep, k, group_cost, worth, gains, table
        )
    else:
        fill_slot, filler = np.empty(0, np.int64), np.empty(0, np.int64)
        fill_change = np.empty(0, np.float64)
    fill_order, fill_start = _by_slot(fill_slot, count)
    leaving = np.zeros(state.size.size, np.int64)
    chosen = np.empty(rows.size + k, np.int64)
    total = 0.0
    for s in range(count):
        mine = order[start[s] : start[s + 1]]
        got, added = _take_gainers(state, rows, change, mine, k, leaving, chosen)
        if got == 0:
            continue
        if published[s] < 0 and got < k:
            fill = fill_order[fill_start[s] : fill_start[s + 1]]
            got, added = _take_fillers(state, filler, fill_change, fill, k, chosen, got, added)
        if published[s] >= 0 or (got >= k and added < -slack):
            _move(state, chosen, got, published[s], mask)
            total += added
        else:
            _put_back(state, chosen, got)
    return total
